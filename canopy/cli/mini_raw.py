"""``canopy mini-raw``: write the constructed corpus in the benchmarks' native raw formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    spec: Annotated[str, typer.Option(help="JSON settings of the stage, or @FILE; `canopy spec mini-raw` prints one")],
    out: Annotated[Path, typer.Option(help="directory to write: nq/, hotpotqa/, ottqa/, mmqa/, lvbench/ and notes")],
) -> None:
    """Write the constructed mini corpus as native raw files of the five benchmarks, from a seed."""
    from canopy.corpora.mini.build import run
    from canopy.settings.corpora import MiniRawSettings

    run(MiniRawSettings.parse(spec), out)
