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
) -> None:
    """Score a predictions file by a benchmark's official rules.

    Prints one JSON object: em and f1 (or accuracy for lvbench) as fractions of 1, questions, missing, and
    the benchmark's further figures. In nq files without ids, the id is the question text.
    """
    print(json.dumps(score(benchmark, gold, predictions), ensure_ascii=False))
