"""``canopy index-add``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    shard: Annotated[Path, typer.Option(help="Embedding shard (canopy embed).")],
    train: Annotated[Path, typer.Option(help="What canopy index-train made of all shards.")],
    out: Annotated[Path, typer.Option(help="Directory to write: the shard's vectors in inverted lists.")],
) -> None:
    """Check one shard against its checksums, and put its vectors into the lists of a trained index."""
    from canopy.index.add import run

    run(shard, train, out)
