"""Sampling upright frames of a video at given times."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from PIL import Image

from canopy.contracts import Span
from canopy.video.decode import frames_from
from canopy.video.probe import Probe

_TURNS = {90: Image.Transpose.ROTATE_90, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_270}


def sample_times(span: Span, count: int) -> list[int]:
    """The middles of ``count`` equal parts of a span, in milliseconds."""
    length = span.end - span.start
    return [span.start + length * (2 * i + 1) // (2 * count) for i in range(count)]


def sample(path: Path, probe: Probe, times: Sequence[int], width: int) -> Iterator[tuple[int, Image.Image]]:
    """The frame on screen at each of the ascending ``times`` (milliseconds), upright, at most ``width`` pixels wide.

    From the key frame before a time the video is decoded forward to it, once for all times that
    share the key frame. A time at which nothing decodes is left out.
    """
    for index, group in groupby(times, lambda time: bisect_right(probe.keyframes, time)):
        wanted, shown = list(group), None
        for time, frame in frames_from(path, probe.keyframes[index - 1] if index else None):
            while wanted and time > wanted[0]:
                yield wanted.pop(0), upright(shown if shown is not None else frame, width, probe.pixel_aspect)
            if not wanted:
                break
            shown = frame
        if shown is not None:
            for time in wanted:
                yield time, upright(shown, width, probe.pixel_aspect)


def upright(frame: Any, width: int, pixel_aspect: float = 1.0) -> Image.Image:
    """A decoded frame as RGB, turned and stretched as a player shows it, reduced to ``width`` if wider."""
    image: Image.Image = frame.to_image()
    if pixel_aspect != 1:
        image = image.resize((max(1, round(image.width * pixel_aspect)), image.height))
    turn = _TURNS.get(round(frame.rotation) % 360)
    if turn is not None:
        image = image.transpose(turn)
    if image.width > width:
        image = image.resize((width, max(1, round(image.height * width / image.width))), Image.Resampling.LANCZOS)
    return image
