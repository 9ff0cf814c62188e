"""The ``canopy table`` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from canopy.settings.tables import TableSettings
from canopy.tables.stage import run


def command(
    name: Annotated[str, typer.Argument(help="main, ablations, ablation_NAME, decisions, tokens or corpus.")],
    spec: Annotated[str, typer.Option(help="Settings as a JSON object, or @FILE.")],
    out: Annotated[Path, typer.Option(help="Path of the table without its ending.")],
    metrics: Annotated[
        list[Path] | None, typer.Option(help="Metrics directory of a method; give one a method.")
    ] = None,
    decisions: Annotated[Path | None, typer.Option(help="Decisions directory, for the table decisions.")] = None,
    corpus: Annotated[Path | None, typer.Option(help="Corpus directory, for the table corpus.")] = None,
) -> None:
    """Write one table.

    Writes OUT.md, OUT.csv and OUT.tex. Shown are percentages with one decimal; the CSV has the unrounded fractions.
    """
    run(name, TableSettings.parse(spec), out, metrics or (), decisions, corpus)
