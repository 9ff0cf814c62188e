"""``canopy spec``: the settings of one stage, as the workflow passes them."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    stage: Annotated[str, typer.Argument(help="Stage, as its sub-command is called: parse, encoder, run, ...")],
    config: Annotated[str, typer.Option(help="Configuration: a YAML file, or a name in config/.")] = "mini",
    name: Annotated[
        str, typer.Option(help="Benchmark of parse, method of run and metrics, table of table; else left out.")
    ] = "",
) -> None:
    """Print the settings of one stage of a configuration, for `--spec`.

    Example: canopy run canopy --spec "$(canopy spec run --name canopy --config mini)" ...
    """
    from canopy.config import load_config, named_config
    from canopy.specs import stage_spec

    print(stage_spec(load_config(named_config(config)), stage, name))
