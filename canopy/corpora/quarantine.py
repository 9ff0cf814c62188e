"""Bad records: kept apart with a reason, counted, and too many of them stop the stage."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import TextIO

from canopy.errors import StageStopped

EXCERPT = 200
_SHOWN = 3


class Quarantine:
    """Writer of ``quarantine.jsonl`` (bad records) and ``notices.jsonl`` (good records with something to know).

    Each line is ``{file, record, reason, excerpt}``; ``record`` is a line number, a list position or a key.
    """

    def __init__(self, directory: Path) -> None:
        """Open both files for writing in an existing directory."""
        self.path = directory / "quarantine.jsonl"
        self._bad: TextIO = self.path.open("w", buffering=1, encoding="utf-8")
        self._notices: TextIO = (directory / "notices.jsonl").open("w", buffering=1, encoding="utf-8")
        self.records: Counter[str] = Counter()
        self.bad: Counter[str] = Counter()
        self.notices: Counter[str] = Counter()
        self._cut: set[str] = set()
        self._reasons: dict[str, list[str]] = {}

    def read(self, group: str, count: int = 1) -> None:
        """Count native records read from a group of files (a file, or a folder of one-record files)."""
        self.records[group] += count

    def add(self, group: str, file: Path | str, record: int | str, reason: str, excerpt: str = "") -> None:
        """Set one bad record apart."""
        self.bad[group] += 1
        reasons = self._reasons.setdefault(group, [])
        if len(reasons) < _SHOWN:
            reasons.append(f"record {record}: {reason}")
        _write(self._bad, file, record, reason, excerpt)

    def cut(self, group: str, file: Path | str, record: int | str, reason: str, excerpt: str = "") -> None:
        """Note that the rest of a file is lost: an unknown number of records, never within a small tolerance."""
        self._cut.add(group)
        self.add(group, file, record, reason, excerpt)

    def notice(self, kind: str, file: Path | str, record: int | str, excerpt: str = "") -> None:
        """Note something about a record that is kept, or about one that by definition gives no item."""
        self.notices[kind] += 1
        _write(self._notices, file, record, kind, excerpt)

    def close(self) -> None:
        """Close both files."""
        self._bad.close()
        self._notices.close()

    def check(self, max_quarantined: float, keep: Path) -> None:
        """Stop the stage when a group of files has too large a share of bad records.

        Args:
            max_quarantined: largest accepted share, 0 to 1; a file whose rest is lost is accepted at 1 only.
            keep: where to copy ``quarantine.jsonl`` when the stage stops, as the stage's directory goes away.

        Raises:
            StageStopped: names each file, its counts and the first reasons.
        """
        faults = []
        for group, bad in self.bad.items():
            total = max(self.records[group], bad)
            if bad / total > max_quarantined or (group in self._cut and max_quarantined < 1):
                faults.append(f"{group}: {bad} of {total} records ({'; '.join(self._reasons[group])})")
        if faults:
            keep.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.path, keep)
            raise StageStopped(
                f"more bad records than max_quarantined = {max_quarantined:g} allows in {' | '.join(faults)}; "
                f"all are listed in {keep}: mend the file or raise max_quarantined"
            )


class Ignored(Quarantine):
    """A quarantine that keeps nothing: for a second pass over files whose faults the first pass has recorded."""

    def __init__(self) -> None:
        """Nothing to open."""

    def read(self, group: str, count: int = 1) -> None:
        """Keep nothing."""

    def add(self, group: str, file: Path | str, record: int | str, reason: str, excerpt: str = "") -> None:
        """Keep nothing."""

    def cut(self, group: str, file: Path | str, record: int | str, reason: str, excerpt: str = "") -> None:
        """Keep nothing."""

    def notice(self, kind: str, file: Path | str, record: int | str, excerpt: str = "") -> None:
        """Keep nothing."""


def _write(stream: TextIO, file: Path | str, record: int | str, reason: str, excerpt: str) -> None:
    row = {"file": str(file), "record": record, "reason": reason, "excerpt": excerpt[:EXCERPT]}
    # An excerpt may hold bytes that were not UTF-8: ASCII output can carry them.
    stream.write(json.dumps(row) + "\n")
