"""``canopy preferences``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    corpus: Annotated[Path, typer.Option(help="Corpus directory (canopy corpus).")],
    spec: Annotated[
        str, typer.Option(help="Settings as a JSON object, or @FILE; `canopy spec preferences` prints them.")
    ],
    out: Annotated[Path, typer.Option(help="Directory to write: pairs.parquet.")],
    shard: Annotated[int, typer.Option(help="Which contiguous block of the questions, from 0.")] = 0,
    shards: Annotated[int, typer.Option(help="Number of blocks.")] = 1,
) -> None:
    """Label the parent-child pairs of gold items, all splits: descend (the child holds gold) or stay."""
    from canopy.preferences import run
    from canopy.settings.encoder import PreferenceSettings

    run(corpus, PreferenceSettings.parse(spec), out, shard, shards)
