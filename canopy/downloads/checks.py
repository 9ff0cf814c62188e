"""Is a file that is there the official one? By the lock file, else its published digest, else its known size."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from canopy.downloads.fetch import Fetched, digest
from canopy.downloads.lock import Entry, LockFile
from canopy.downloads.space import in_units
from canopy.downloads.table import OfficialFile
from canopy.downloads.unpack import Unpacked, measure

_ROUNDED = 0.1  # how far a size may be from one that is known roughly


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found.

    Attributes:
        text: the state of a file with no fault, in a few words.
        fault: what is wrong, beginning with a verb; empty if nothing is known to be.
        way_out: what to do where the fault is the reference's; begins with a semicolon.
    """

    text: str = ""
    fault: str = ""
    way_out: str = ""


class Checks:
    """The checks of one benchmark's files."""

    def __init__(self, benchmark: str, lock: LockFile) -> None:
        """Read nothing yet."""
        self._benchmark = benchmark
        self._lock = lock

    def key(self, file: OfficialFile) -> str:
        """The file's key in the lock file."""
        return f"{self._benchmark}/{file.name}"

    def expected(self, file: OfficialFile) -> str:
        """The digest that a file must have, empty where none is known."""
        entry = self._lock.entry(self.key(file))
        return entry.sha256 if entry else file.sha256

    def record(self, file: OfficialFile, got: Fetched) -> None:
        """Note a file's size and digest in the lock file, if it has no entry there."""
        if self._lock.entry(self.key(file)) is None:
            self._lock.record(self.key(file), Entry(file.url, got.bytes, got.sha256))

    def of(self, file: OfficialFile, found: Path, record: bool) -> Checked:
        """Check a file, or an archive's folder, that is there.

        Args:
            file: the official file.
            found: where it, or its unpacked folder, or a copy in another compression is.
            record: note the digest of a right file that has no entry in the lock file yet.
        """
        if file.unpack:
            return self._folder(file, found)
        if found.name != Path(file.name).name:
            return Checked("there, in another compression than the official file, so not checked")
        known = self.expected(file)
        if not (known or record):
            odd = self.odd_size(file, found.stat().st_size)
            return Checked(fault=odd) if odd else Checked("there, not checked: its sha256 is not known yet")
        got = digest(found)
        checked = self.compare(file, got, by_hand=True)
        if checked.fault:
            return checked
        if record:
            self.record(file, got)
        return Checked("there and right" if known else f"there; its sha256 is now in {self._lock.path}")

    def compare(self, file: OfficialFile, got: Fetched, by_hand: bool) -> Checked:
        """Compare a size and digest with what is known.

        Args:
            file: the official file.
            got: what there is.
            by_hand: it did not come from the official location, so that its size must be near the known one.
        """
        key, known = self.key(file), self.expected(file)
        if known and got.sha256 != known:
            entry = self._lock.entry(key)
            source = f"{self._lock.path} has" if entry else "the published digest is"
            way_out = f"; if the new content is right, remove the entry {key} from {self._lock.path} first"
            return Checked(
                fault=f"has sha256 {got.sha256}, but {source} {known}",
                way_out=way_out if entry else "",
            )
        odd = "" if known or not by_hand else self.odd_size(file, got.bytes)
        entry_text = json.dumps({key: {"bytes": got.bytes, "sha256": got.sha256, "url": file.url}})
        return Checked(fault=odd, way_out=f"; if it is right, put {entry_text} into {self._lock.path}" if odd else "")

    def odd_size(self, file: OfficialFile, size: int) -> str:
        """What is wrong with a size, beginning with a verb; empty if nothing is, or no size is known."""
        allowed = 0 if file.exact else _ROUNDED * (file.size or 0)
        if file.size is None or abs(size - file.size) <= allowed:
            return ""
        about = "" if file.exact else "about "
        return f"has {in_units(size)} ({size:,} bytes), but the official file {about}{in_units(file.size)}"

    def _folder(self, file: OfficialFile, found: Path) -> Checked:
        entry = self._lock.entry(self.key(file))
        if entry is None or entry.files is None:
            return Checked("there; unpacked by other means, so not checked")
        now = measure(found)
        if now != Unpacked(entry.files, entry.unpacked_bytes or 0):
            return Checked(
                fault=f"holds {now.files:,} files of {now.bytes:,} bytes, but {self._lock.path} has "
                f"{entry.files:,} of {entry.unpacked_bytes or 0:,}"
            )
        return Checked("there, as many files and bytes as were unpacked")
