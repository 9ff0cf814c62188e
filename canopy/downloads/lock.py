"""The lock file: the digest of every file as it was first fetched, against which later copies are checked."""

from __future__ import annotations

import fcntl
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from canopy.artefacts import write_json
from canopy.errors import UserError

LOCK_FILE = "downloads.lock.json"
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one file.

    Attributes:
        url: where it came from.
        bytes: its size.
        sha256: of its bytes, in hexadecimal.
        files: of an archive that has been unpacked, the files it gave.
        unpacked_bytes: their size together.
    """

    url: str
    bytes: int
    sha256: str
    files: int | None = None
    unpacked_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class LockFile:
    """A lock file: JSON, sorted, ``<benchmark>/<file>`` to :class:`Entry` in it, without dates."""

    path: Path

    def entry(self, key: str) -> Entry | None:
        """The entry of a file, None if there is none.

        Raises:
            UserError: the lock file is not what this program writes.
        """
        return self._read().get(key)

    def check(self) -> None:
        """See that the lock file can be read, before anything is fetched that would have to be noted in it.

        Raises:
            UserError: the lock file is not what this program writes.
        """
        self._read()

    def record(self, key: str, entry: Entry) -> None:
        """Write an entry. Other processes may write theirs at the same time."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_name(f".{self.path.name}.lock").open("w", encoding="utf-8") as guard:
            fcntl.flock(guard, fcntl.LOCK_EX)
            entries = self._read()
            if entries.get(key) != entry:
                plain = {k: _plain(e) for k, e in {**entries, key: entry}.items()}
                write_json(self.path, plain)

    def _read(self) -> dict[str, Entry]:
        try:
            raw = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise UserError(f"{self.path} cannot be read as a lock file: {error}: restore or remove it") from error
        if not isinstance(raw, dict):
            raise UserError(f"{self.path} is not a lock file: restore or remove it")
        return {key: self._checked(key, value) for key, value in raw.items()}

    def _checked(self, key: str, value: Any) -> Entry:
        try:
            entry = Entry(**value)
            counts = [n for n in (entry.bytes, entry.files, entry.unpacked_bytes) if n is not None]
            if isinstance(entry.url, str) and _SHA256.fullmatch(entry.sha256) and all(type(n) is int for n in counts):
                return entry
        except TypeError:
            pass
        raise UserError(f"{self.path}: the entry {key!r} needs url, bytes and sha256: restore or remove it")


def lock_in(root: Path) -> Path:
    """Where the lock file is unless another is named: in the raw root, with the files that it is about."""
    return root / LOCK_FILE


def _plain(entry: Entry) -> dict[str, Any]:
    return {name: value for name, value in asdict(entry).items() if value is not None}
