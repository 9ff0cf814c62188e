"""``canopy run``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    method: Annotated[str, typer.Argument(help="Name of the method; it must be the one that --spec describes.")],
    corpus: Annotated[Path, typer.Option(help="Corpus directory (canopy corpus).")],
    reader: Annotated[Path, typer.Option(help="Reader model directory (canopy reader-model).")],
    spec: Annotated[str, typer.Option(help="Settings as a JSON object, or @FILE; `canopy spec run` prints them.")],
    out: Annotated[Path, typer.Option(help="Directory to write: predictions.parquet, trace.parquet.")],
    index: Annotated[Path | None, typer.Option(help="Index directory; not needed by methods without rounds.")] = None,
    encoder: Annotated[Path | None, typer.Option(help="Encoder directory; only for compression fine_tuned.")] = None,
    shard: Annotated[int, typer.Option(help="Which shard of the test questions, from 0.")] = 0,
    shards: Annotated[int, typer.Option(help="Number of shards.")] = 1,
) -> None:
    """Run one method over one shard of the test questions.

    A job that was killed goes on after its last finished batch of questions when it is started again.
    """
    from canopy.errors import UserError
    from canopy.methods.run import run
    from canopy.methods.tools import Places
    from canopy.settings.runs import RunSettings

    settings = RunSettings.parse(spec)
    if settings.name != method:
        raise UserError(f"method {method}: --spec describes {settings.name!r}")
    run(settings, Places(corpus, reader, index, encoder), out, shard, shards)
