"""Settings of the stages that make and read raw files: mini-raw, parse, corpus."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from canopy.settings.base import Settings, Split

Questions = Literal["all", "with_gold"]
"""All, or those whose gold evidence is all in the corpus."""


class MiniRawSettings(Settings):
    """The constructed corpus (DESIGN section 6); counts are lower bounds."""

    seed: int = 13
    passages: int = Field(640, ge=40, description="text passages over all benchmarks")
    tables: int = Field(60, ge=4)
    images: int = Field(60, ge=4)
    videos: int = Field(6, ge=3)
    video_minutes: tuple[int, int] = Field((2, 6), description="shortest and longest video")
    train_questions: int = Field(400, ge=10, description="over all benchmarks")
    dev_questions: int = Field(50, ge=5, description="over all benchmarks")
    test_questions: int = Field(8, ge=1, description="per benchmark")


class SampleSettings(Settings):
    """A part of a benchmark that fits a small machine; every gold item of its questions stays."""

    questions: int = Field(ge=1, description="most questions of a split")
    distractors: int = Field(ge=0, description="items without gold that stay, drawn from the seed; 0 keeps gold alone")


class ParseSettings(Settings):
    """Raw native files to items and questions."""

    max_quarantined: float = Field(0.001, ge=0, le=1, description="share of bad records above which the stage stops")
    splits: dict[Split, Split] = Field({}, description="native split -> the split it is used as; others keep their own")
    segment_seconds: int = Field(30, ge=1, description="LVBench: length of a minimal video unit")
    clip_seconds: int = Field(300, ge=1, description="LVBench: length of an item, a whole number of segments")
    sample: SampleSettings | None = Field(None, description="keep a part of the benchmark")
    questions: Questions = Field("all", description="which questions a sample is drawn from")
    seed: int = Field(13, description="of what the sample keeps")


class CorpusSettings(Settings):
    """Merging the benchmarks' items and questions."""

    benchmarks: tuple[str, ...]
    questions: Questions = "all"
