"""The official files of one benchmark: fetched, checked against the lock file, unpacked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from canopy.corpora.files import plain_name
from canopy.downloads.checks import Checks
from canopy.downloads.fetch import Fetched, FetchError, Unreachable, digest, fetch
from canopy.downloads.guard import Guard
from canopy.downloads.lock import Entry, LockFile
from canopy.downloads.parts import forget
from canopy.downloads.space import in_units, require_reserve, require_space
from canopy.downloads.table import OfficialFile
from canopy.downloads.unpack import unpack
from canopy.errors import UserError

WORK = ".downloads"
_MOST = 2  # times a file's known size
_MOVE = "it is left as it is: move it away"


class NotObtained(UserError):
    """Files that are missing or wrong: one line each that says which, why, and what to do."""

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
        self.checks = Checks(benchmark, self.lock)
        self.work = self.folder.resolve().parent / WORK / benchmark
        self._again = f"run `canopy download {benchmark} --root {root}` again"
        self._guard = Guard(self.work, self.folder)
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

    def state(self, file: OfficialFile) -> str:
        """Whether a file is there and right, in a few words; nothing is changed."""
        found = self.present(file)
        if found is None:
            return "missing"
        checked = self.checks.of(file, found, record=False)
        return f"wrong: it {checked.fault}" if checked.fault else checked.text

    def obtain(self, files: Sequence[OfficialFile]) -> Iterator[str]:
        """Make every file present and right, and say for each, in one line, what was done.

        What is there is checked, never replaced. A file that cannot be fetched, or is wrong, does not keep the others
        from being fetched and checked.

        Raises:
            NotObtained: after the last file, some are missing, differ from the lock file, their published digest or
                their known size, or are archives that are refused.
            UserError: the lock file is damaged, the disk is too small or cannot be written, or another process
                fetches the same benchmark. Nothing has been fetched.
        """
        self.lock.check()
        lines = []
        try:
            with self._guard:
                self._require_space(files)
                for file in files:
                    try:
                        yield self._obtain(file)
                    except FetchError as error:
                        lines.append(self._missing(file, str(error)))
                    except UserError as error:
                        lines.append(str(error))
                    except OSError as error:
                        lines.append(f"{self.folder / file.name}: {_said(error)}: mend this and rerun")
        except OSError as error:
            raise UserError(f"{self.folder}: {_said(error)}: mend this and rerun") from error
        if lines:
            raise NotObtained(lines)

    def _obtain(self, file: OfficialFile) -> str:
        found = self.present(file)
        if found is None:
            return self._unpacked(file) if file.unpack else self._fetched(file)
        checked = self.checks.of(file, found, record=True)
        if checked.fault:
            raise UserError(f"{found} {checked.fault}: {_MOVE}, then {self._again}{checked.way_out} ({file.url})")
        return f"{found}: {checked.text}"

    def _fetched(self, file: OfficialFile) -> str:
        target = self.folder / file.name
        got = self._fetch(file, target)
        odd = self.checks.odd_size(file, got.bytes)
        return f"{target}: fetched, {got.bytes:,} bytes, sha256 {got.sha256}{f'; note that it {odd}' if odd else ''}"

    def _unpacked(self, file: OfficialFile) -> str:
        assert file.unpack is not None
        target = self.folder / file.unpack.to
        own = self.work / file.name
        archive = self._archive(file) or own
        if archive.is_file():
            got = digest(archive)
            # A copy with nothing to compare it with may be damaged: it is noted once it has been unpacked.
            checked = self.checks.compare(file, got, by_hand=archive != own)
            if checked.fault:
                raise UserError(f"{archive} {checked.fault}: {_MOVE}, then {self._again}{checked.way_out}")
        else:
            got = self._fetch(file, archive)
        self._guard.take()
        size = archive.stat().st_size
        require_space(self.folder, size * file.unpack.factor, f"unpacking {archive}")
        done = unpack(archive, file.unpack, target, self.work / f"{file.unpack.to}.unpacking")
        key = self.checks.key(file)
        entry = self.lock.entry(key) or Entry(file.url, got.bytes, got.sha256)
        self.lock.record(key, replace(entry, files=done.files, unpacked_bytes=done.bytes))
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

        def begin(total: int | None, remaining: int) -> None:
            if total is not None:
                self._check_size(file, total)
                more = total * file.unpack.factor if file.unpack else 0
                require_space(self.work, remaining + more, str(self.folder / file.name))
            if self._guard.take() and self.present(file) is not None:
                raise UserError(f"{target} was put there by another process meanwhile: {self._again}")

        def watch(size: int) -> None:
            self._check_size(file, size)
            require_reserve(self.work, f"{self.folder / file.name}, of a size that {host} does not say", part)

        try:
            got = fetch(file.url, part, begin, watch, self.checks.expected(file))
        except Unreachable as error:
            self._unreachable[host] = str(error)
            raise
        checked = self.checks.compare(file, got, by_hand=False)
        if checked.fault:
            raise UserError(
                f"what was fetched from {file.url} {checked.fault}: it is kept as {part}; remove that to fetch "
                f"{self.folder / file.name} anew, then {self._again}{checked.way_out}"
            )
        self.checks.record(file, got)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(part, target)
        forget(part)
        return got

    def _check_size(self, file: OfficialFile, size: int) -> None:
        """Refuse more bytes than a rounded or outdated figure may explain."""
        if file.size is not None and size > _MOST * file.size:
            raise FetchError(f"the server sends more than {_MOST} times the file's known size, {in_units(file.size)}")

    def _missing(self, file: OfficialFile, reason: str) -> str:
        place = self.folder / file.name
        then = f"; the next run unpacks it to {self.folder / file.made}" if file.unpack else ""
        return f"{place} is missing ({reason}): fetch it from {file.url}, on any machine, and put it at {place}{then}"

    def _require_space(self, files: Sequence[OfficialFile]) -> None:
        """Check the room for all missing files by the table's figures, before the first is begun."""
        missing = [f for f in files if self.present(f) is None]
        needed = 0.0
        for file in missing:
            needed += (file.size or 0) * (file.unpack.factor if file.unpack else 0)
            needed += (file.size or 0) if self._archive(file) is None else 0
        parts = sum(p.stat().st_size for p in self.work.glob("*.part"))
        named = ", ".join(str(self.folder / f.name) for f in missing if f.size)
        require_space(self.folder, max(0, needed - parts), named)


def _said(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason
