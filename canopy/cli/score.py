"""The ``canopy score`` command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from canopy.metrics.score import score


def command(
    benchmark: Annotated[str, typer.Argument(help="nq, hotpotqa, ottqa, mmqa or lvbench.")],
    gold: Annotated[Path, typer.Argument(help="The benchmark's own question file, plain, gzip, bzip2 or zstd.")],
    predictions: Annotated[Path, typer.Argument(help="JSON object id -> answer, or the submission format.")],
    only_predicted: Annotated[
        bool,
        typer.Option(
            "--only-predicted",
            help="Score only the questions with a prediction, for a run on a sample; the others count as left_out.",
        ),
    ] = False,
) -> None:
    """Score a predictions file by a benchmark's official rules.

    Prints one JSON object: em and f1 (accuracy for lvbench) as fractions of 1,
    the benchmark's further figures, and counts:

    questions: with a gold answer; the figures are over these.
    missing: of these, without a prediction. They score 0; only lvbench's
    accuracy leaves them out.
    unknown: predictions for ids that GOLD does not have. They count for
    nothing, and a warning says so.
    without_gold: questions of GOLD without an answer, left out.
    empty_gold: ids whose gold answers hold nothing after normalisation.

    In nq files without ids, the id is the question text.
    """
    print(json.dumps(score(benchmark, gold, predictions, only_predicted)))
