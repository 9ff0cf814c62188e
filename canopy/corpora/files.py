"""Finding a benchmark's native files by their official names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from canopy.contracts import Split
from canopy.corpora.json_records import records
from canopy.corpora.quarantine import Ignored
from canopy.corpora.raw import RawFile
from canopy.errors import UserError

_COMPRESSED = re.compile(r"\.(gz|bz2|zst|zstd)$")
_DATA = (".json", ".jsonl", ".tsv", ".csv", ".gz", ".bz2", ".zst", ".zstd", ".parquet")
_SPLIT_WORDS: dict[str, Split] = {
    "train": "train",
    "dev": "dev",
    "valid": "dev",
    "validation": "dev",
    "val": "dev",
    "test": "test",
}


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
    """The native files under the given paths, by kind, and every file by its plain name."""

    kinds: dict[str, list[RawFile]] = field(default_factory=dict)
    by_name: dict[str, Path] = field(default_factory=dict)

    def of(self, kind: str) -> list[RawFile]:
        """Files of one kind, sorted by path."""
        return self.kinds.get(kind, [])


def find(benchmark: str, paths: Sequence[Path], kinds: Sequence[Kind]) -> Found:
    """Recognise files; a folder is searched through, sorted by path.

    Raises:
        UserError: a path does not exist, a file given by itself is not recognised, or nothing matches.
    """
    found = Found()
    seen: set[tuple[str, RawFile]] = set()  # folders of one-record files hold ten thousand
    for path in paths:
        if not path.exists():
            raise UserError(f"{path} does not exist: give files or folders of {benchmark} ({_looked_for(kinds)})")
        for file in _walk(path):
            found.by_name.setdefault(file.name, file)
            kind = _kind_by_name(file, kinds)
            if kind is None and file == path and file.suffix.lower() in _DATA:
                kind = _kind_by_content(benchmark, file, kinds)
            if kind is not None:
                group = str(file.parent if kind.by_folder else file)
                raw = RawFile(file, group)
                if (kind.name, raw) not in seen:
                    seen.add((kind.name, raw))
                    found.kinds.setdefault(kind.name, []).append(raw)
    if not found.kinds:
        where = ", ".join(str(p) for p in paths)
        raise UserError(f"no {benchmark} files in {where}: looked for {_looked_for(kinds)}, plain or .gz/.bz2/.zst")
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
    if path.is_dir():
        yield from sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
    else:
        yield path


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
