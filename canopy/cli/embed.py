"""``canopy embed``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    corpus: Annotated[Path, typer.Option(help="Corpus directory (canopy corpus).")],
    spec: Annotated[str, typer.Option(help="Settings as a JSON object, or @FILE; `canopy spec embed` prints them.")],
    out: Annotated[Path, typer.Option(help="Directory to write: vectors.npy, ids.parquet.")],
    shard: Annotated[int, typer.Option(help="Which contiguous block of the items, from 0.")] = 0,
    shards: Annotated[int, typer.Option(help="Number of blocks.")] = 1,
) -> None:
    """Embed one shard of the corpus: one vector of L2 norm 1 an item, by the frozen encoder."""
    from canopy.embeddings import run
    from canopy.settings.encoder import EmbedSettings

    run(corpus, shard, shards, EmbedSettings.parse(spec), out)
