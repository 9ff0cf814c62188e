"""The time grid of videos: minimal units of fixed length, grouped into clips that are retrieved as items."""

from __future__ import annotations

from canopy.contracts import Gold
from canopy.errors import ConfigError


def clip_id(video_item_id: str, clip: int) -> str:
    """Item id of a video's clip; clips count from 0."""
    return f"{video_item_id}#{clip}"


def units_per_clip(segment_seconds: int, clip_seconds: int) -> int:
    """Minimal units in a full clip.

    Raises:
        ConfigError: the clip is not a whole number of segments.
    """
    if clip_seconds % segment_seconds:
        raise ConfigError(
            f"clip_seconds ({clip_seconds}) must be a multiple of segment_seconds ({segment_seconds}): change either"
        )
    return clip_seconds // segment_seconds


def clip_of(video_item_id: str, start_ms: int, end_ms: int, segment_seconds: int, clip_seconds: int) -> list[Gold]:
    """Clips and units that a time reference overlaps.

    Units are half-open, so that a reference that ends on a boundary does not reach into the next unit; a reference
    of no length belongs to the unit that holds its instant.

    Args:
        video_item_id: item id of the whole video.
        start_ms: start of the reference, milliseconds from the start of the video.
        end_ms: its end, not before the start.
        segment_seconds: length of a unit.
        clip_seconds: length of a clip, a whole number of units.

    Returns:
        One entry a clip, in order; unit indices count from 0 inside the clip.

    Raises:
        ValueError: the reference is negative or ends before it starts.
        ConfigError: the clip is not a whole number of segments.
    """
    if start_ms < 0 or end_ms < start_ms:
        raise ValueError(f"not a time span: {start_ms} to {end_ms} ms")
    per_clip = units_per_clip(segment_seconds, clip_seconds)
    length = segment_seconds * 1000
    first, last = start_ms // length, max(end_ms - 1, start_ms) // length
    clips: dict[int, list[int]] = {}
    for unit in range(first, last + 1):
        clips.setdefault(unit // per_clip, []).append(unit % per_clip)
    return [Gold(clip_id(video_item_id, clip), tuple(units)) for clip, units in clips.items()]
