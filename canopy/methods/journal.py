"""The journal of a run: finished question batches, so that a killed job goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from canopy.methods.loop import Batch


class Journal:
    """Finished batches in a file of JSON lines beside the output directory.

    It lies outside the directory because both a failed build and the workflow remove that. The
    first line holds a key; a journal of another key is started anew, so that nothing is ever taken
    over from other settings, models, inputs or code. A last line that was cut off by a kill is dropped.
    A batch is the unit because what a model computes for a question may differ in the last bits with
    the questions beside it: whole batches give the same bytes as an unbroken run.
    """

    def __init__(self, out: Path, key: Mapping[str, Any]) -> None:
        """Open the journal of the output directory ``out``; ``key`` is JSON data."""
        self.path = out.with_name(f".{out.name}.journal.jsonl")
        self._key = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        self.batches: dict[int, Batch] = {}
        out.parent.mkdir(parents=True, exist_ok=True)
        end = self._read()
        self._stream = self.path.open("r+b" if end else "wb")
        if end:
            self._stream.truncate(end)
            self._stream.seek(end)
        else:
            self._write({"key": self._key})

    def add(self, number: int, batch: Batch) -> None:
        """Note that batch ``number`` is finished; on disk when this returns."""
        self.batches[number] = batch
        self._write({"batch": number, **asdict(batch)})

    def remove(self) -> None:
        """Delete the file: the artefact is complete."""
        self.close()
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file and leave it."""
        self._stream.close()

    def _read(self) -> int:
        """Read the batches of a journal with this key; returns the length in bytes of what is whole."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return 0
        end = 0
        for line in data.splitlines(keepends=True):
            try:
                row = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                break
            if end == 0 and row != {"key": self._key}:
                return 0
            if not isinstance(row, dict):
                break
            if end:
                number = row.pop("batch")
                self.batches[number] = Batch(**row)
            end += len(line)
        return end

    def _write(self, row: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps(row).encode() + b"\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())
