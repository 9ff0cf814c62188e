"""``canopy decisions``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    corpus: Annotated[Path, typer.Option(help="Corpus directory (canopy corpus).")],
    preferences: Annotated[
        list[Path], typer.Option(help="Preferences directory (canopy preferences); once for each shard.")
    ],
    encoder: Annotated[Path, typer.Option(help="Directory of the fine-tuned encoder (canopy encoder).")],
    reader: Annotated[Path, typer.Option(help="Reader model directory (canopy reader-model), to count tokens.")],
    spec: Annotated[
        str, typer.Option(help="Settings as a JSON object, or @FILE; `canopy spec decisions` prints them.")
    ],
    out: Annotated[Path, typer.Option(help="Directory to write: pairs.parquet, items.parquet.")],
) -> None:
    """Judge the decisions of frozen and fine-tuned node encoder on the gold items of test questions."""
    from canopy.decisions import run
    from canopy.settings.encoder import DecisionSettings

    run(corpus, preferences, encoder, reader, DecisionSettings.parse(spec), out)
