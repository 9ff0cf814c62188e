"""``canopy index``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    shard: Annotated[list[Path], typer.Option(help="Embedding shard (canopy embed); give all of them.")],
    spec: Annotated[str, typer.Option(help="Settings as a JSON object, or @FILE; `canopy spec index` prints them.")],
    out: Annotated[Path, typer.Option(help="Directory to write: index.faiss, ids.parquet.")],
) -> None:
    """Build the search index over all shards and measure its recall@10 against exact search.

    Exact for small corpora, inverted lists (IVF) from `exact_below` items on, 100,000 by default.
    """
    from canopy.index_build import run
    from canopy.settings.encoder import IndexSettings

    run(shard, IndexSettings.parse(spec), out)
