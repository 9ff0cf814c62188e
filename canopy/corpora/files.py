"""Finding a benchmark's native files by their official names."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from canopy.contracts import Split
from canopy.corpora.json_records import records
from canopy.corpora.quarantine import Ignored
from canopy.corpora.raw import RawFile, kind_of_path
from canopy.errors import UserError

_COMPRESSED = re.compile(r"\.(gz|bz2|zst|zstd)$")
_SHOWN = 3
_DATA = (".json", ".jsonl", ".tsv", ".csv", ".gz", ".bz2", ".zst", ".zstd", ".parquet")
_SPLIT_WORDS: dict[str, Split] = {
    "train": "train",
    "dev": "dev",
    "valid": "dev",
    "validation": "dev",
    "val": "dev",
    "test": "test",
}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of native file.

    Attributes:
        name: what the parser calls it.
        pattern: regular expression for the file's name (without a compression suffix) or, when it holds a ``/``,
            for its last two path parts; matched from the start, case ignored.
        shown: the official name, for messages.
        by_folder: counted under its folder (folders of one-record files) instead of under its own name.
        keys: a file given by a name of its own is of this kind when its first record has all these keys.
    """

    name: str
    pattern: str
    shown: str
    by_folder: bool = False
    keys: tuple[str, ...] = ()


@dataclass
class Found:
    """The native files under the given paths, by kind, and every file by its plain name.

    Attributes:
        copies: files left out because the same file, compressed in another way or not at all, lies beside them; each
            with the one that is read: the plain one, else the first by name.
    """

    kinds: dict[str, list[RawFile]] = field(default_factory=dict)
    by_name: dict[str, Path] = field(default_factory=dict)
    copies: dict[Path, Path] = field(default_factory=dict)

    def of(self, kind: str) -> list[RawFile]:
        """Files of one kind, sorted by path."""
        return self.kinds.get(kind, [])


def find(benchmark: str, paths: Sequence[Path], kinds: Sequence[Kind]) -> Found:
    """Recognise files; a folder is searched through, links followed, sorted by path.

    Raises:
        UserError: a path does not exist or is neither a file nor a folder, a folder cannot be read, a name is not
            UTF-8, a file given by itself is not recognised, a recognised one is a link to nothing, or nothing matches.
    """
    found = Found()
    seen: set[tuple[str, str]] = set()  # folders of one-record files hold ten thousand
    broken: list[Path] = []
    for path in paths:
        if not os.path.lexists(path):
            raise UserError(f"{path} does not exist: give files or folders of {benchmark} ({_looked_for(kinds)})")
        for file in _walk(path):
            kind = _kind_by_name(file, kinds)
            if not os.path.isfile(file):
                if kind is not None or file == path:
                    raise _no_file(file)
                broken.append(file)
                continue
            found.by_name.setdefault(file.name, file)
            if kind is None and file == path and file.suffix.lower() in _DATA:
                kind = _kind_by_content(benchmark, file, kinds)
            if kind is not None:
                known = (kind.name, os.path.realpath(file))
                if known not in seen:
                    seen.add(known)
                    group = str(file.parent if kind.by_folder else file)
                    found.kinds.setdefault(kind.name, []).append(RawFile(file, group))
    if not found.kinds:
        where = ", ".join(str(p) for p in paths)
        raise UserError(f"no {benchmark} files in {where}: looked for {_looked_for(kinds)}, plain or .gz/.bz2/.zst")
    _leave_copies_out(found)
    _warn(benchmark, "left out, as the same file lies beside it", [f"{c} ({k.name})" for c, k in found.copies.items()])
    _warn(benchmark, "left out, as they are not files or link to nothing", [str(file) for file in broken])
    return found


def counts_by_kind(found: Found, kinds: Sequence[Kind]) -> dict[str, int]:
    """Number of files found of each kind, under the kind's official names; kinds without a file count 0."""
    names: dict[str, list[str]] = {}
    for kind in kinds:
        names.setdefault(kind.name, []).append(kind.shown)
    return {" or ".join(shown): len(found.of(name)) for name, shown in names.items()}


def split_of(path: Path, default: Split | None = None) -> Split:
    """The split that a file's name says.

    Raises:
        UserError: the name holds no split word and there is no default.
    """
    for word in re.split(r"[^a-z]+", path.name.lower()):
        if word in _SPLIT_WORDS:
            return _SPLIT_WORDS[word]
    if default is not None:
        return default
    raise UserError(f"{path}: no split in the file's name: it must hold the word train, dev, validation or test")


def used_split(native: Split, splits: Mapping[Split, Split]) -> Split:
    """The split that a native split is used as."""
    return splits.get(native, native)


def plain_name(path: Path) -> str:
    """A file's name without a compression suffix."""
    return _COMPRESSED.sub("", path.name)


def _walk(path: Path) -> Iterator[Path]:
    """Visible files under a path, sorted, with whatever is no file; a folder that links lead to twice only once."""
    if not path.is_dir():
        yield _utf8(path)
        return
    files: list[Path] = []
    start = os.path.realpath(path)
    visited = {start}
    for root, folders, names in os.walk(path, onerror=_unreadable, followlinks=True):
        _utf8(Path(root))
        for folder in sorted(folders):
            real = os.path.realpath(os.path.join(root, folder))
            if real in visited or start.startswith(real + os.sep):
                folders.remove(folder)
            visited.add(real)
        files += [_utf8(Path(root, name)) for name in names if not name.startswith(".")]
    yield from sorted(files)


def _unreadable(error: OSError) -> None:
    raise UserError(f"cannot read the folder {error.filename}: {error.strerror or error}") from error


def _utf8(path: Path) -> Path:
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        shown = str(path).encode("utf-8", "backslashreplace").decode()
        raise UserError(f"the name {shown} is not UTF-8, and items name their files: rename it") from error
    return path


def _no_file(path: Path) -> UserError:
    try:
        return UserError(f"{path} is {kind_of_path(path)}, not a file: write its content to a file first")
    except OSError as error:
        if os.path.islink(path):
            return UserError(f"{path} links to {os.readlink(path)}, which is not there: fetch it or remove the link")
        return UserError(f"cannot read {path}: {error.strerror or error}")


def _leave_copies_out(found: Found) -> None:
    """Keep one of the files that differ in their compression suffix alone."""
    for name, files in found.kinds.items():
        kept: dict[Path, RawFile] = {}
        for file in sorted(files, key=lambda f: (plain_name(f.path) != f.path.name, f.path)):
            first = kept.setdefault(file.path.with_name(plain_name(file.path)), file)
            if first is not file:
                found.copies[file.path] = first.path
        found.kinds[name] = [file for file in files if file.path not in found.copies]


def _warn(benchmark: str, what: str, names: list[str]) -> None:
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        log.warning("%s: %s: %s%s", benchmark, what, ", ".join(names[:_SHOWN]), more)


def _kind_by_name(file: Path, kinds: Sequence[Kind]) -> Kind | None:
    name = plain_name(file)
    for kind in kinds:
        subject = f"{file.parent.name}/{name}" if "/" in kind.pattern else name
        if re.match(kind.pattern, subject, re.IGNORECASE):
            return kind
    return None


def _kind_by_content(benchmark: str, file: Path, kinds: Sequence[Kind]) -> Kind:
    first = next(records(RawFile(file, str(file)), Ignored()), None)
    if first is not None and isinstance(first.value, dict):
        for kind in kinds:
            if kind.keys and all(key in first.value for key in kind.keys):
                return kind
    raise UserError(f"{file} has neither a name nor a first record of {benchmark}: looked for {_looked_for(kinds)}")


def _looked_for(kinds: Sequence[Kind]) -> str:
    return ", ".join(kind.shown for kind in kinds)
