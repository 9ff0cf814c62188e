"""Snakemake's locks in a folder, and whether a Snakemake is at work there."""

from __future__ import annotations

import os
import shlex
from itertools import pairwise
from pathlib import Path

# Snakemake's own processes inside jobs have one of these modes; the main one has none of them.
_JOB_MODES = frozenset({"remote", "subprocess"})


def has_locks(folder: Path) -> bool:
    """Whether Snakemake has locked the folder, or a killed one has left its locks.

    Raises:
        OSError: the locks cannot be looked at.
    """
    locks = folder / ".snakemake" / "locks"
    return locks.is_dir() and any(locks.glob("*.lock"))


def running_snakemakes(folder: Path, processes: Path = Path("/proc")) -> tuple[int, ...]:
    """Process ids of the main Snakemakes that run in a folder on this machine; other machines are not seen."""
    found = []
    for process in processes.iterdir():
        if not process.name.isdigit():
            continue
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            here = os.path.realpath(process / "cwd") == os.path.realpath(folder)
        except OSError:  # it has ended, or is another user's
            continue
        if here and _is_main(words):
            found.append(int(process.name))
    return tuple(sorted(found))


def _is_main(words: list[str]) -> bool:
    """Whether a command line is ``snakemake ...`` or ``python -m snakemake ...``, and not that of a job."""
    program = any(Path(word).name == "snakemake" for word in words[:2])
    module = ("-m", "snakemake") in pairwise(words)
    inside = any(name == "--mode" and mode in _JOB_MODES for name, mode in pairwise(words))
    return (program or module) and not inside


def unlock_command(config: Path) -> str:
    """The command that removes the locks of a killed Snakemake."""
    return shlex.join(["snakemake", "--unlock", "--configfile", str(config)])
