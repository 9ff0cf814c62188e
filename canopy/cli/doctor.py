"""``canopy doctor``: what is wrong here?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    slurm: Annotated[
        bool, typer.Option("--slurm", help="Look for jobs that a killed Snakemake left in Slurm's queue instead.")
    ] = False,
    config: Annotated[
        str, typer.Option(help="Configuration that the commands name: a YAML file, or a name in config/.")
    ] = "mini",
) -> None:
    """Check this machine and this folder; cancels, unlocks and repairs nothing, but prints the commands.

    Exit code 0: all is right; 1: something is not, or jobs are in the queue; 2: it could not be found out.
    """
    from canopy.config import named_config
    from canopy.doctor.environment import findings
    from canopy.doctor.slurm import advice

    folder, file = Path.cwd(), named_config(config)
    if slurm:
        right, lines = advice(folder, file)
        print("\n".join(lines))
    else:
        right = True
        for finding in findings(folder, file):
            print("ok   " if finding.right else "WRONG", finding.words, flush=True)
            right = right and finding.right
    if not right:
        raise typer.Exit(1)
