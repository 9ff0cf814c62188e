"""One process at a time writes the files of a benchmark."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from canopy.errors import UserError


class Guard:
    """A lock on a benchmark's folder of partial files, taken by :meth:`take`, or at once where that folder exists.

    So nothing is made on the disk before there is something to write. However the last holder ended, the lock is free.
    At the end, folders that were made for it and are empty are removed.
    """

    def __init__(self, work: Path, target: Path) -> None:
        """Set the places: the folder of partial files, and the one that messages name."""
        self._work = work
        self._target = target
        self._lock = work.with_name(f"{work.name}.lock")
        self._stream: IO[str] | None = None
        self._made: list[Path] = []

    def __enter__(self) -> Self:
        """Take the lock if no folder has to be made."""
        if self._work.is_dir():
            self.take()
        return self

    def take(self) -> bool:
        """Take the lock, if that has not been done, and say whether it was; make its folder.

        Raises:
            UserError: another process holds it.
            OSError: the disk cannot be written.
        """
        if self._stream is not None:
            return False
        made = [folder for folder in (self._work, *self._work.parents) if not folder.exists()]
        self._work.mkdir(parents=True, exist_ok=True)
        stream = self._lock.open("w", encoding="utf-8")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.fstat(stream.fileno()).st_nlink:  # removed by its last holder
                raise BlockingIOError
        except BlockingIOError as error:
            stream.close()
            raise UserError(f"another process is fetching {self._work.name} into {self._target}: let it end") from error
        self._stream, self._made = stream, made
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the lock and remove the empty folders that were made for it."""
        if self._stream is None:
            return
        if self._made:
            self._lock.unlink(missing_ok=True)
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()
        self._stream.close()
        self._stream = None
