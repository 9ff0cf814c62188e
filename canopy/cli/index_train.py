"""``canopy index-train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    shard: Annotated[list[Path], typer.Option(help="Embedding shard (canopy embed); give all of them.")],
    spec: Annotated[
        str, typer.Option(help="Settings as a JSON object, or @FILE; `canopy spec index-train` prints them.")
    ],
    out: Annotated[Path, typer.Option(help="Directory to write: trained.faiss, where there is something to train.")],
) -> None:
    """Decide what kind of index the vectors get, and train it on a sample of them."""
    from canopy.index.train import run
    from canopy.settings.index import IndexTrainSettings

    run(shard, IndexTrainSettings.parse(spec), out)
