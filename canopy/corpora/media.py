"""Image and video files that native records name: found, or missing and told to the user."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Literal

from canopy.corpora.raw import RawFile, Record
from canopy.corpora.sink import Sink

_KINDS = ("image", "video")
_SHOWN = 3

log = logging.getLogger(__name__)


class MediaFiles:
    """Looks files up and keeps count of those that are not there."""

    def __init__(self, sink: Sink, kind: Literal["image", "video"]) -> None:
        """Nothing looked up yet; notices of missing files go to the sink."""
        self._sink = sink
        self._kind = kind
        self._asked = 0
        self._missing = 0
        self._first: list[str] = []

    def path(self, path: Path | None, file: RawFile, record: Record, name: str) -> str | None:
        """The path as items hold it: as given, with forward slashes; None, with a notice, where there is no file."""
        self._asked += 1
        if path is not None:
            return path.as_posix()
        self._missing += 1
        self._first += [name] if self._missing <= _SHOWN else []
        self._sink.quarantine.notice(_notice(self._kind), file.path, record.place, name)
        return None

    def warn(self, benchmark: str, where: str) -> None:
        """Say how many files are missing, which are the first of them, and where they belong."""
        if self._missing:
            names = ", ".join([*self._first, *(["..."] if self._missing > _SHOWN else [])])
            log.warning(
                f"{benchmark}: {self._missing:,} of {self._asked:,} {self._kind} files are missing and give no items "
                f"({names}): put them {where}; notices.jsonl names all"
            )


def missing_media(sink: Sink) -> int:
    """Number of media files that were not found."""
    return sum(sink.quarantine.notices[_notice(kind)] for kind in _KINDS)


def _notice(kind: str) -> str:
    return f"{kind} file not found, no item"
