"""What a video file really holds: how long it decodes, and where its key frames are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canopy.video.decode import MediaError, Source, frames_from, opened, packets

# Containers round their durations, and sound may end a little after the picture.
_TOLERANCE_MS = 250


@dataclass(frozen=True, slots=True)
class Probe:
    """Times in milliseconds since the start of the video, from the container's time stamps.

    Attributes:
        duration_ms: end of the last frame that decodes.
        announced_ms: duration that the header gives; None when it gives none.
        keyframes: times of the key frames, ascending, from packets (nothing is decoded for them).
        pixel_aspect: width of a stored pixel over its height.
        partial: the file was cut or is damaged: less decodes than the header announces.
    """

    duration_ms: int
    announced_ms: int | None
    keyframes: tuple[int, ...]
    pixel_aspect: float
    partial: bool


def probe(path: Path) -> Probe:
    """Read all packets of a video, and decode from its last key frame on.

    Raises:
        MediaError: the file cannot be opened, has no video stream, or no frame of it decodes.
    """
    with opened(path) as source:
        keyframes, end_of_all = _scan(source)
        header = source.container.duration
        header_ms = None if header is None else round(header / 1000)
        own = source.stream.duration
        pixel_aspect = float(source.stream.sample_aspect_ratio or 1)
        own_ms = None if own is None else round(float(own * source.stream.time_base) * 1000)
    duration = _decodable_end(path, keyframes)
    # A video stream may end before the sound does. The header counts for it only if the file as a whole was cut.
    expected = own_ms if own_ms is not None else header_ms
    if own_ms is None and header_ms is not None and end_of_all >= header_ms - _TOLERANCE_MS:
        expected = duration
    return Probe(
        duration_ms=duration,
        announced_ms=expected if own_ms is not None else header_ms,
        keyframes=keyframes,
        pixel_aspect=pixel_aspect,
        partial=expected is not None and duration < expected - _TOLERANCE_MS,
    )


def _scan(source: Source) -> tuple[tuple[int, ...], int]:
    """Times of the video's key frames, and the end of the last packet of any stream."""
    keyframes, end = set(), 0
    for packet in packets(source):
        time = packet.pts if packet.pts is not None else packet.dts
        if not packet.size or time is None:
            continue
        until = float((time + (packet.duration or 0)) * packet.time_base) - source.origin
        end = max(end, round(until * 1000))
        if packet.stream is source.stream and packet.is_keyframe and not packet.is_corrupt:
            keyframes.add(source.milliseconds(time))
    return tuple(sorted(keyframes)), end


def _decodable_end(path: Path, keyframes: tuple[int, ...]) -> int:
    """End in milliseconds of the last frame that decodes; damage at the end is stepped over backwards."""
    for keyframe in (*reversed(keyframes), None):
        end = max((time + _shown_ms(frame) for time, frame in frames_from(path, keyframe)), default=0)
        if end > 0:
            return end
    raise MediaError("no frame with a time stamp can be decoded")


def _shown_ms(frame: Any) -> int:
    """How long a frame is shown; one millisecond where the container does not say."""
    return max(1, round(float((frame.duration or 0) * frame.time_base) * 1000))
