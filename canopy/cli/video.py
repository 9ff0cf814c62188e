"""``canopy video``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from canopy.settings.video import VideoSettings


def command(
    items: Annotated[
        list[Path],
        typer.Option(
            help="items.parquet of a parsed benchmark; give it once a benchmark. Only images and videos in it are used."
        ),
    ],
    cache: Annotated[
        Path,
        typer.Option(
            help="Directory for frames and recognised texts, kept over runs by content hash. Items "
            "name the frames in it."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Directory to make: items.parquet, quarantine.jsonl, notices.jsonl.")],
    spec: Annotated[
        str,
        typer.Option(
            help="JSON or @FILE: segment_seconds (30 s), clip_seconds (300 s), frames_per_segment (2), frame_width "
            "(640 pixels at most), text (rapidocr or none), min_confidence (0.5), max_quarantined (0.001, a share)."
        ),
    ] = "{}",
) -> None:
    """Segment videos, sample their frames, and read the text on frames and images.

    Unreadable files are listed in quarantine.jsonl; videos of which only a part decodes are kept and
    listed in notices.jsonl.
    """
    # The media libraries are slow to import; only this command pays for them.
    from canopy.video.stage import run

    run(VideoSettings.parse(spec), items, cache, out)
