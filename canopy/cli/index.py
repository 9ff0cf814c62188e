"""``canopy index``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    shard: Annotated[list[Path], typer.Option(help="Embedding shard (canopy embed); give all of them.")],
    spec: Annotated[str, typer.Option(help="Settings as a JSON object, or @FILE; `canopy spec index` prints them.")],
    out: Annotated[Path, typer.Option(help="Directory to write: vectors/, ids/, index.faiss.")],
    train: Annotated[
        Path | None, typer.Option(help="What canopy index-train made; without it, all is done here.")
    ] = None,
    part: Annotated[list[Path], typer.Option(help="With --train: what canopy index-add made, one a shard.")] = [],  # noqa: B006
    queries: Annotated[
        Path | None, typer.Option(help="Query vectors, .npy [q, d], to measure recall with instead of held-out items.")
    ] = None,
) -> None:
    """Build the search index over all shards, tuned to a wanted recall@10 against exact search.

    Exact for small corpora; inverted lists from `exact_below` items on, compressed from `compressed_from`.
    """
    from canopy.index.build import run
    from canopy.settings.index import IndexSettings

    run(shard, IndexSettings.parse(spec), out, train, part, queries)
