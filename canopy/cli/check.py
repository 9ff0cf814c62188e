"""``canopy check``: is a configuration right?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    config: Annotated[str, typer.Option(help="Configuration: a YAML file, or a name in config/.")] = "mini",
    write_schema: Annotated[
        Path | None, typer.Option(help="Write the JSON schema of configurations to this file instead.")
    ] = None,
) -> None:
    """Check a configuration: keys, types, ranges, names of methods, raw files. Exit code 2 when it is wrong."""
    from canopy.artefacts import write_json
    from canopy.config import load_config, named_config, schema

    if write_schema is not None:
        write_json(write_schema, schema())
        return
    path = named_config(config)
    project = load_config(path)
    benchmarks = ", ".join(project.config.benchmarks)
    print(f"{path} is right: {len(project.methods)} methods and ablations on {benchmarks}")
