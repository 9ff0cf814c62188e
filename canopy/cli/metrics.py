"""The ``canopy metrics`` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from canopy.errors import UserError
from canopy.metrics.stage import run
from canopy.settings.tables import MetricsSettings


def command(
    method: Annotated[str, typer.Argument(help="Name of the method that was run.")],
    corpus: Annotated[Path, typer.Option(help="Corpus directory, with the questions and gold answers.")],
    spec: Annotated[str, typer.Option(help="Settings as a JSON object, or @FILE.")],
    out: Annotated[Path, typer.Option(help="Directory to make.")],
    run_: Annotated[list[Path], typer.Option("--run", help="A shard of the run; give all of them.")],
) -> None:
    """Score one method's answers by the official rules.

    Writes scores.parquet (a row a question, scores as fractions of 1, tokens of the reader), summary.json and
    submissions/BENCHMARK.json in the benchmarks' own formats.
    """
    settings = MetricsSettings.parse(spec)
    if settings.name != method:
        raise UserError(f"--spec is for {settings.name}, the argument says {method}")
    run(settings, run_, corpus, out)
