"""Cutting a video's time into segments (minimal units) and clips (items)."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.contracts import Span

# A shorter rest is a rounding of the container or a last frame, not evidence of its own.
MIN_TAIL_MS = 500


def segment_spans(duration_ms: int, segment_seconds: int) -> list[Span]:
    """Consecutive spans of ``segment_seconds`` that cover ``[0, duration_ms)``, in milliseconds.

    The last one is shorter when the duration is no multiple; a rest below :data:`MIN_TAIL_MS` is
    added to the segment before it. A video of any positive duration has at least one segment.
    """
    step = segment_seconds * 1000
    starts = [s for s in range(0, duration_ms, step) if s == 0 or duration_ms - s >= MIN_TAIL_MS]
    return [Span(a, b) for a, b in zip(starts, [*starts[1:], duration_ms], strict=True)]


def clip_ranges(segments: Sequence[Span], per_clip: int) -> list[range]:
    """Indices of the segments of each clip of ``per_clip`` segments, in order; the last clip may have fewer."""
    return [range(i, min(i + per_clip, len(segments))) for i in range(0, len(segments), per_clip)]
