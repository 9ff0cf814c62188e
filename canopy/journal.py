"""The journal of a stage: finished parts of its work, so that a killed job goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class _Record:
    """Where the bytes of a finished part lie in the file, and their checksum."""

    start: int
    size: int
    digest: str


class Journal:
    """Finished parts, each a number and its bytes, in a file beside the output directory.

    It lies outside the directory because both a failed build and the workflow remove that. The
    first line holds a key; a journal of another key is started anew, so that nothing is ever taken
    over from other settings, models, inputs or code. Each part follows a line with its number, size
    and SHA-256. A last part that was cut off by a kill is dropped, one whose bytes do not have its
    checksum counts as not finished; both are told on standard error.

    Attributes:
        path: the file.
        resumed: parts found when it was opened.
    """

    def __init__(self, out: Path, key: Mapping[str, Any]) -> None:
        """Open the journal of the output directory ``out``; ``key`` is JSON data."""
        self.path = out.with_name(f".{out.name}.journal")
        self._key = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        self._records: dict[int, _Record] = {}
        out.parent.mkdir(parents=True, exist_ok=True)
        self._end = self._read() if self.path.is_file() else 0
        # Without a buffer, so that a failed write leaves nothing to be written later.
        self._stream = self.path.open("r+b" if self._end else "wb", buffering=0)
        self._stream.truncate(self._end)
        if not self._end:
            self._write(_line({"key": self._key}))
        self.resumed = len(self._records)

    def __contains__(self, number: int) -> bool:
        """Whether part ``number`` is finished."""
        return number in self._records

    def add(self, number: int, data: bytes) -> None:
        """Note that part ``number`` is finished; on disk when this returns."""
        digest = _digest(number, data)
        header = _line({"number": number, "size": len(data), "sha256": digest})
        start = self._end + len(header)
        self._write(header + data + b"\n")
        self._records[number] = _Record(start, len(data), digest)

    def get(self, number: int) -> bytes:
        """The bytes of a finished part.

        Raises:
            KeyError: the part is not finished.
        """
        record = self._records[number]
        with self.path.open("rb") as stream:
            stream.seek(record.start)
            return stream.read(record.size)

    def remove(self) -> None:
        """Delete the file: the artefact is complete."""
        self.close()
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file and leave it."""
        self._stream.close()

    def _read(self) -> int:
        """Note the parts of a journal with this key; returns the length in bytes of what is whole."""
        size = self.path.stat().st_size
        with self.path.open("rb") as stream:
            if stream.readline() != _line({"key": self._key}):
                return 0
            while True:
                end = stream.tell()
                header = _header(stream.readline())
                if header is None or stream.tell() + header[1] >= size:
                    if end < size:
                        print(f"canopy: {self.path}: dropped what is cut off from byte {end} on", file=sys.stderr)
                    return end
                number, length, digest = header
                start, data = stream.tell(), stream.read(length)
                if stream.read(1) == b"\n" and _digest(number, data) == digest:
                    self._records[number] = _Record(start, length, digest)
                else:
                    print(f"canopy: {self.path}: part {number} is damaged, it is made again", file=sys.stderr)

    def _write(self, data: bytes) -> None:
        """Append; a write that fails leaves the journal as it was."""
        self._stream.seek(self._end)
        left = memoryview(data)
        try:
            while left:
                left = left[self._stream.write(left) :]
            os.fsync(self._stream.fileno())
        except OSError:
            self._stream.truncate(self._end)
            raise
        self._end += len(data)


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _digest(number: int, data: bytes) -> str:
    return hashlib.sha256(f"{number}\n".encode() + data).hexdigest()


def _header(line: bytes) -> tuple[int, int, str] | None:
    """Number, size and checksum of the part that follows a line; None when it is cut off or damaged."""
    if not line.endswith(b"\n"):
        return None
    try:
        row = json.loads(line)
        return int(row["number"]), max(0, int(row["size"])), str(row["sha256"])
    except (ValueError, TypeError, KeyError):
        return None
