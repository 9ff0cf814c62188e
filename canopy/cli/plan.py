"""``canopy plan``: what will a run take?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    config: Annotated[str, typer.Option(help="Configuration: a YAML file, or a name in config/.")] = "mini",
    sizes: Annotated[
        Path | None, typer.Option(help="YAML file with other corpus sizes than the paper's; the keys that differ.")
    ] = None,
    throughput: Annotated[
        Path | None, typer.Option(help="YAML file with other throughputs than the device's; the keys that differ.")
    ] = None,
    measured: Annotated[
        Path | None, typer.Option(help="Results of a finished run, like results/mini, to take throughputs from.")
    ] = None,
    device: Annotated[
        str, typer.Option(help="Whose throughputs: cpu or h100; h100 when jobs of the configuration have GPUs.")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Estimate jobs, GPU hours, CPU hours, disk and peak memory of each stage, before anything runs.

    Every figure that the estimate is computed from is printed with its source: measured, assumed, or your file. Each
    question is taken through all rounds of its method, and each output as long as it may be, unless you say otherwise.
    """
    from json import dumps

    from canopy.config import load_config, named_config
    from canopy.planning.estimate import estimates
    from canopy.planning.figures import load_sizes, load_throughput
    from canopy.planning.measured import read_measured
    from canopy.planning.show import as_data, as_text
    from canopy.planning.work import constructed_sizes, used_sizes

    project = load_config(named_config(config))
    rates, rounds = read_measured(measured) if measured is not None else ({}, {})
    used = device or ("h100" if project.config.jobs.gpus else "cpu")
    amounts = used_sizes(project.config, load_sizes(sizes, constructed_sizes(project.config) | rounds))
    speeds = load_throughput(used, throughput, rates)
    plan = as_data(project.config.name, estimates(project, amounts, speeds), amounts, speeds)
    print(dumps(plan, ensure_ascii=False, indent=1) if json else as_text(plan))
