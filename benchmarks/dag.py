"""How long Snakemake takes to plan a run with many shards, and what it plans.

    python benchmarks/dag.py [--embeddings 256] [--runs 16] [--repeats 3]

The workflow is copied to a temporary folder with config/paper.yaml: all benchmarks, methods and ablations. Wall
seconds are medians. Processor seconds are of this process's children alone, so that other work on
the machine changes them less. `snakemake --version` is the part that is not the plan.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
import yaml

ROOT = Path(__file__).parents[1]


def made_folder(folder: Path, embeddings: int, runs: int) -> None:
    """A copy of the workflow with so many shards, and one empty raw file a benchmark."""
    for part in ("canopy", "config", "envs", "rules"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Snakefile", folder)
    file = folder / "config" / "paper.yaml"
    config = yaml.safe_load(file.read_text(encoding="utf-8"))
    config["shards"] |= {"embeddings": embeddings, "runs": runs}
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    for benchmark in config["benchmarks"]:
        (folder / "raw" / benchmark).mkdir(parents=True)
        (folder / "raw" / benchmark / "file").touch()


def measured(command: Sequence[str], folder: Path, repeats: int) -> tuple[float, float, str]:
    """Median wall seconds and processor seconds of a command, and what it printed."""
    wall, processor, printed = [], [], ""
    for _ in range(repeats):
        before, started = os.times(), time.perf_counter()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        wall.append(time.perf_counter() - started)
        after = os.times()
        printed = done.stdout + done.stderr
        if done.returncode:
            raise SystemExit(printed)
        processor.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return statistics.median(wall), statistics.median(processor), printed


def main(
    embeddings: Annotated[int, typer.Option(help="Shards of the embeddings.")] = 256,
    runs: Annotated[int, typer.Option(help="Shards of each method's run.")] = 16,
    repeats: Annotated[int, typer.Option(help="Of each command; the median counts.")] = 3,
) -> None:
    """Time `snakemake -n`."""
    snakemake = [sys.executable, "-m", "snakemake"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        made_folder(folder, embeddings, runs)
        plan = [*snakemake, "-n", "--quiet", "rules", "--configfile", "config/paper.yaml"]
        measured(plan, folder, 1)  # writes byte code
        start_up = measured([*snakemake, "--version"], folder, repeats)
        whole = measured(plan, folder, repeats)
    jobs = re.search(r"^total\s+(\d+)$", whole[2], re.MULTILINE)
    print(f"jobs {jobs[1] if jobs else '?'}")
    for name, (wall, processor, _) in (("snakemake --version", start_up), ("snakemake -n", whole)):
        print(f"{name:20} {wall:6.2f} s, of one processor {processor:6.2f} s")


if __name__ == "__main__":
    typer.run(main)
