"""The official files of one benchmark: fetched, checked against the lock file, unpacked."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from canopy.corpora.files import plain_name
from canopy.downloads.fetch import Fetched, FetchError, Unreachable, digest, fetch, forget
from canopy.downloads.lock import Entry, LockFile
from canopy.downloads.space import require_space
from canopy.downloads.table import OfficialFile
from canopy.downloads.unpack import Unpacked, measure, unpack
from canopy.errors import UserError

WORK = ".downloads"
_MOVE = "it is left as it is; move it away"


class MissingFiles(UserError):
    """Files that could not be fetched: one line each with the file, its location, and where to put it."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Keep the lines apart."""
        super().__init__(" ".join(lines))
        self.lines = tuple(lines)


class Downloads:
    """The files of a benchmark under ``<root>/<benchmark>/``.

    Partial files, archives and folders being unpacked lie in ``.downloads/<benchmark>/`` beside that folder, on the
    same disk, where no parser looks.
    """

    def __init__(self, benchmark: str, root: Path, lock: Path) -> None:
        """Set the places; nothing is read or made."""
        self.benchmark = benchmark
        self.folder = root / benchmark
        self.lock = LockFile(lock)
        self.work = self.folder.resolve().parent / WORK / benchmark
        self._unreachable: dict[str, str] = {}

    def present(self, file: OfficialFile) -> Path | None:
        """The file, or an archive's unpacked folder, if it is there; also under another compression suffix."""
        target = self.folder / file.made
        if file.unpack:
            return target if target.is_dir() and any(target.iterdir()) else None
        if target.is_file():
            return target
        plain = target.with_name(plain_name(target))
        others = (plain.with_name(plain.name + suffix) for suffix in ("", ".gz", ".bz2", ".zst", ".zstd"))
        return next((p for p in others if p.is_file()), None)

    def obtain(self, files: Sequence[OfficialFile]) -> Iterator[str]:
        """Make every file present and right, and say for each, in one line, what was done.

        What is there is checked, never replaced. A file that cannot be fetched does not keep the others from being.

        Raises:
            MissingFiles: after the last file, some could not be fetched.
            UserError: a file differs from the lock file or its published digest, an archive is refused, the disk is
                too small or cannot be written, or another process fetches the same benchmark.
        """
        lines = []
        try:
            with self._alone():
                self._require_space(files)
                for file in files:
                    try:
                        yield self._obtain(file)
                    except FetchError as error:
                        lines.append(self._missing(file, str(error)))
                    except UserError as error:
                        if not lines:
                            raise
                        raise MissingFiles([*lines, str(error)]) from error
        except OSError as error:
            raise UserError(
                f"{error.filename or self.folder}: {error.strerror or error}: mend this and rerun"
            ) from error
        if lines:
            raise MissingFiles(lines)

    def _obtain(self, file: OfficialFile) -> str:
        found = self.present(file)
        if found is None:
            return self._unpacked(file) if file.unpack else self._fetched(file)
        if file.unpack:
            return self._check_folder(file, found)
        if found.name != (self.folder / file.name).name:
            return f"{found}: there, in another compression than the official file, so not checked"
        known = self._expected(file)
        self._accept(file, found, digest(found), _MOVE)
        return f"{found}: there and right" if known else f"{found}: there; its sha256 is now in {self.lock.path}"

    def _fetched(self, file: OfficialFile) -> str:
        target = self.folder / file.name
        got = self._fetch(file, target)
        return f"{target}: fetched, {got.bytes:,} bytes, sha256 {got.sha256}"

    def _unpacked(self, file: OfficialFile) -> str:
        assert file.unpack is not None
        target = self.folder / file.unpack.to
        own = self.work / file.name
        archive = self._archive(file) or own
        if archive.is_file():
            got = digest(archive)
            # A copy with nothing to compare it with may be damaged: it is noted once it has been unpacked.
            if self._expected(file):
                self._accept(file, archive, got, _MOVE)
        else:
            got = self._fetch(file, archive)
        size = archive.stat().st_size
        require_space(self.folder, size * file.unpack.factor, f"unpacking {archive}")
        done = unpack(archive, file.unpack, target, self.work / f"{file.unpack.to}.unpacking")
        entry = self.lock.entry(self._key(file)) or Entry(file.url, got.bytes, got.sha256)
        self.lock.record(self._key(file), replace(entry, files=done.files, unpacked_bytes=done.bytes))
        own.unlink(missing_ok=True)
        return f"{target}: unpacked, {done.files:,} files, {done.bytes:,} bytes"

    def _archive(self, file: OfficialFile) -> Path | None:
        """The archive itself, put there by hand or fetched by a run that did not come to unpack it."""
        return next((p for p in (self.folder / file.name, self.work / file.name) if p.is_file()), None)

    def _fetch(self, file: OfficialFile, target: Path) -> Fetched:
        """Fetch to a partial file, check it, and rename it to ``target``."""
        host = urlsplit(file.url).netloc
        if host in self._unreachable:
            raise FetchError(self._unreachable[host])
        part = self.work / f"{file.name.replace('/', '__')}.part"

        def room(total: int, remaining: int) -> None:
            more = total * file.unpack.factor if file.unpack else 0
            require_space(self.work, remaining + more, f"{self.benchmark}/{file.name}")

        try:
            got = fetch(file.url, part, room)
        except Unreachable as error:
            self._unreachable[host] = str(error)
            raise
        try:
            self._accept(file, part, got, "what was fetched has been removed; check the connection")
        except UserError:
            forget(part)
            raise
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(part, target)
        forget(part)
        return got

    def _accept(self, file: OfficialFile, path: Path, got: Fetched, left: str) -> None:
        """Compare a file with the lock file, or with its published digest, and record what is new."""
        key = self._key(file)
        entry = self.lock.entry(key)
        expected = self._expected(file)
        if expected and got.sha256 != expected:
            source = f"{self.lock.path} has" if entry else "the published digest is"
            accept = (
                f"; if the new content is right, remove the entry {key} from {self.lock.path} first" if entry else ""
            )
            raise UserError(
                f"{path} (from {file.url}) has sha256 {got.sha256}, but {source} {expected}: {left}, then run "
                f"`canopy download {self.benchmark}` again{accept}"
            )
        if entry is None:
            self.lock.record(key, Entry(file.url, got.bytes, got.sha256))

    def _expected(self, file: OfficialFile) -> str:
        """The digest that a file must have, empty where none is known."""
        entry = self.lock.entry(self._key(file))
        return entry.sha256 if entry else file.sha256

    def _check_folder(self, file: OfficialFile, found: Path) -> str:
        entry = self.lock.entry(self._key(file))
        if entry is None or entry.files is None:
            return f"{found}: there; unpacked by other means, so not checked"
        now = measure(found)
        if now != Unpacked(entry.files, entry.unpacked_bytes or 0):
            raise UserError(
                f"{found} holds {now.files:,} files of {now.bytes:,} bytes, but {self.lock.path} has "
                f"{entry.files:,} of {entry.unpacked_bytes or 0:,}: {_MOVE}, then run "
                f"`canopy download {self.benchmark}` again"
            )
        return f"{found}: there, as many files and bytes as were unpacked"

    def _missing(self, file: OfficialFile, reason: str) -> str:
        place = self.folder / file.name
        then = f"; the next run unpacks it to {self.folder / file.made}" if file.unpack else ""
        return f"{place} is missing ({reason}): fetch it from {file.url}, on any machine, and put it at {place}{then}"

    def _key(self, file: OfficialFile) -> str:
        return f"{self.benchmark}/{file.name}"

    def _require_space(self, files: Sequence[OfficialFile]) -> None:
        """Check the room for all missing files by the table's figures, before the first is begun."""
        missing = [f for f in files if self.present(f) is None]
        needed = 0.0
        for file in missing:
            needed += (file.size or 0) * (file.unpack.factor if file.unpack else 0)
            needed += (file.size or 0) if self._archive(file) is None else 0
        parts = sum(p.stat().st_size for p in self.work.glob("*.part"))
        require_space(self.folder, max(0, needed - parts), f"{self.benchmark} ({len(missing)} files)")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one process at a time fetch a benchmark, however the last one ended."""
        self.work.mkdir(parents=True, exist_ok=True)
        with self.work.with_name(f"{self.benchmark}.lock").open("w", encoding="utf-8") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UserError(
                    f"another process is fetching {self.benchmark} into {self.folder}: let it end"
                ) from error
            yield
