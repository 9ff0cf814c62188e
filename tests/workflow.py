"""A copy of the workflow in a folder of its own, and Snakemake run in it as a user runs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("canopy", "config", "envs", "rules", "slurm", "Snakefile")


def snakemake(folder: Path, *arguments: str, config: str = "tiny") -> subprocess.CompletedProcess[str]:
    """Run the copy of the workflow in ``folder``, with a clean environment of its own."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "SNAKEMAKE_PROFILE")}
    # --configfile takes all words that follow it, so it comes last.
    command = [sys.executable, "-m", "snakemake", *arguments, "--configfile", f"config/{config}.yaml"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def planned(folder: Path, *arguments: str, config: str = "tiny") -> dict[str, int]:
    """Jobs that a dry run plans, by rule; the target rule itself is left out."""
    done = snakemake(folder, "-n", *arguments, config=config)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {m[1]: int(m[2]) for m in re.finditer(r"^(\w+)\s+(\d+)$", done.stdout + done.stderr, re.MULTILINE)}
    return {rule: n for rule, n in counts.items() if rule not in ("all_tables", "total")}


def copied(folder: Path) -> Path:
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / part)
    return folder


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def tables_of(results: Path) -> dict[str, str]:
    return {p.name: p.read_text() for p in (results / "tables").iterdir()}
