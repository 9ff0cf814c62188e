"""Settings of the video stage: images and videos to items with units."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from canopy.settings.base import Settings


class VideoSettings(Settings):
    """Probing, segmentation, sampled frames, on-screen text."""

    segment_seconds: int = Field(30, ge=1, description="length of a minimal unit")
    clip_seconds: int = Field(300, ge=1, description="length of an item, a whole number of segments")
    frames_per_segment: int = Field(2, ge=1)
    frame_width: int = Field(640, ge=32, description="pixels; frames are never enlarged")
    text: Literal["rapidocr", "none"] = "rapidocr"
    min_confidence: float = Field(0.5, ge=0, le=1, description="recognised lines below this are dropped")
    max_quarantined: float = Field(0.001, ge=0, le=1)
