"""``canopy parse``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from canopy.settings.corpora import ParseSettings


def command(
    benchmark: Annotated[str, typer.Argument(help="nq, hotpotqa, ottqa, mmqa or lvbench.")],
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Native files, or folders that hold them, plain or .gz/.bz2/.zst; recognised by official names."
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Directory to make: items.parquet, questions.parquet, quarantine.jsonl, notices.jsonl.")
    ],
    spec: Annotated[
        str,
        typer.Option(
            help="JSON or @FILE: max_quarantined (0.001, a share of the records of each file), splits ({}, native "
            "split to used split), segment_seconds (30 s), clip_seconds (300 s), sample ({questions: most of a split, "
            "distractors: items without gold that stay, no default}; all is kept without it), questions (what a "
            "sample is drawn from: all or with_gold), seed (13, of the sample)."
        ),
    ] = "{}",
) -> None:
    """Read one benchmark's native files into items and questions.

    Prints one JSON object: records, items, questions, quarantined, gold_missing (gold references that could not be
    located), missing_media (image and video files that records name and that are not there), seconds; of a
    sample also questions_without_evidence (left out before the draw) and sampled_from (what was drawn from).
    """
    from canopy.corpora.parse import run

    print(json.dumps(run(benchmark, paths, ParseSettings.parse(spec), out)))
