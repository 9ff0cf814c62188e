"""Opening videos and decoding them forward from a key frame, past damage where there is some."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
from av.stream import Disposition

from canopy.errors import UserError


class MediaError(UserError):
    """A media file cannot be used; the message says why, without the file's name."""


@dataclass(frozen=True, slots=True)
class Source:
    """An opened video: the container, its best video stream, and the time of its start in seconds."""

    container: Any
    stream: Any
    origin: float

    def milliseconds(self, timestamp: int) -> int:
        """A time stamp of the stream as milliseconds since the start of the video."""
        return round((float(timestamp * self.stream.time_base) - self.origin) * 1000)

    def timestamp(self, milliseconds: int) -> int:
        """The inverse of :meth:`milliseconds`."""
        return round((milliseconds / 1000 + self.origin) / float(self.stream.time_base))


@contextmanager
def opened(path: Path) -> Iterator[Source]:
    """Open a video file at its start.

    Raises:
        MediaError: missing, empty, not a video, or without a video stream.
    """
    if not path.is_file():
        raise MediaError("the file does not exist")
    if path.stat().st_size == 0:
        raise MediaError("the file is empty (0 bytes)")
    try:
        # `file:` and the whitelist: a name is never read as an option or an address, and a playlist fetches nothing.
        container: Any = av.open(f"file:{path}", options={"protocol_whitelist": "file"})
    except (av.FFmpegError, OSError, ValueError) as error:
        raise MediaError(f"cannot be opened as a video ({_why(error)})") from error
    with container:
        stream = _best(container.streams.video)
        if stream is None:
            raise MediaError("has no video stream that can be decoded")
        stream.thread_type = "AUTO"
        if container.start_time is not None:
            origin = container.start_time / av.time_base
        else:
            origin = float((stream.start_time or 0) * stream.time_base)
        yield Source(container, stream, origin)


def frames_from(path: Path, keyframe_ms: int | None) -> Iterator[tuple[int, Any]]:
    """Frames with their times in milliseconds, from the key frame at ``keyframe_ms`` on (None: the start).

    Damaged packets are left out. Where seeking does not lead to the key frame, the video is decoded
    from its start and the frames before the key frame are dropped.
    """
    if keyframe_ms is not None:
        with opened(path) as source:
            frames = _decoded(source, keyframe_ms)
            first = next(frames, None)
            if first is not None and first[0] <= keyframe_ms + 1:
                yield first
                yield from frames
                return
    with opened(path) as source:
        yield from (f for f in _decoded(source, None) if keyframe_ms is None or f[0] >= keyframe_ms - 1)


def _decoded(source: Source, seek_ms: int | None) -> Iterator[tuple[int, Any]]:
    if seek_ms is not None:
        try:
            source.container.seek(source.timestamp(seek_ms), stream=source.stream)
        except av.FFmpegError:
            return
    for packet in packets(source, source.stream):
        if packet.is_corrupt:
            continue
        try:
            frames = packet.decode()
        except av.FFmpegError:
            continue
        yield from ((source.milliseconds(f.pts), f) for f in frames if f.pts is not None and not f.is_corrupt)


def packets(source: Source, *streams: Any) -> Iterator[Any]:
    """Packets in file order up to the end of the file or to where it is cut."""
    try:
        yield from source.container.demux(*streams)
    except av.FFmpegError:
        return


def _best(streams: Sequence[Any]) -> Any:
    """The stream a player shows, as ffmpeg chooses: marked as default before others, then the largest picture."""
    usable = [s for s in streams if s.codec_context is not None and not s.disposition & Disposition.attached_pic]
    return max(
        usable, key=lambda s: (bool(s.disposition & Disposition.default), s.width * s.height, -s.index), default=None
    )


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
