"""Jobs that a killed Snakemake left in Slurm's queue, and how to be rid of them before the folder is unlocked."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from canopy.doctor.commands import ask
from canopy.doctor.folder import has_locks, running_snakemakes, unlock_command
from canopy.errors import UserError

# slurm/config.yaml: slurm-jobname-prefix; the executor puts the id of its run behind it.
_NAME = re.compile(r"canopy_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_NUMBER = re.compile(r"(\d+(?:_\d+)?)(?:_\[[\d,%-]+\])?\Z")
# Number, name, state, comment (rule and wildcards), folder: the last may hold any character.
_FIELDS = "%i|%j|%T|%k|%Z"
_SHOWN = 500  # characters of what squeue says


@dataclass(frozen=True)
class Job:
    """A job in Slurm's queue.

    Attributes:
        number: what ``scancel`` takes; an array by its first number.
        run: the name, of one Snakemake run.
        state: RUNNING, PENDING, ...
        comment: rule and wildcards.
    """

    number: str
    run: str
    state: str
    comment: str


def jobs_of(folder: Path) -> list[Job]:
    """This user's unfinished jobs that a Snakemake with the profile ``slurm`` submitted from a folder.

    Raises:
        UserError: there is no Slurm here, it does not answer, or its answer cannot be read.
    """
    if shutil.which("squeue") is None:
        raise UserError("there is no Slurm on this machine (no squeue on PATH): run this where jobs are submitted")
    command = ["squeue", "--me", "--noheader", "--format", _FIELDS]
    answer = ask(command)
    if answer.code:
        said = answer.err.strip()[:_SHOWN] or "it says nothing"
        raise UserError(f"squeue failed with code {answer.code}: {said}")
    return _parsed(answer.out, folder)


def advice(folder: Path, config: Path) -> tuple[bool, list[str]]:
    """Whether a folder may be run in at once, and what to tell the user.

    Args:
        folder: where Snakemake was started.
        config: the configuration, for the commands.

    Raises:
        UserError: as :func:`jobs_of`.
    """
    jobs, main, locked = jobs_of(folder), running_snakemakes(folder), has_locks(folder)
    listed = [f"  {job.number} {job.state} {job.comment}" for job in jobs]
    if main:
        ids = " ".join(map(str, main))
        head = f"Snakemake runs in {folder} (process {ids}) and has jobs in Slurm. Leave them, or stop it:"
        return False, [head, *listed, f"  kill -INT {ids}", "It cancels its jobs, and unlocks the folder, by itself."]
    if not jobs:
        lines = [f"No job of {folder} is in Slurm's queue."]
        if locked:
            lines += ["The folder is locked. If no Snakemake runs in it on another machine:", "", *_again(config)]
        return not locked, lines
    runs = sorted({job.run for job in jobs})
    numbers = sorted({job.number for job in jobs}, key=lambda number: [int(part) for part in number.split("_")])
    return False, [
        f"Jobs of {', '.join(runs)} come from {folder}, and no Snakemake runs there on this machine:",
        *listed,
        "If none runs there on another machine either, they are orphans. Cancel them before you unlock the folder,",
        "or two jobs write the same files:",
        "",
        "  " + shlex.join(["scancel", *numbers]),
        "  " + shlex.join(["squeue", "--noheader", "--jobs", ",".join(numbers)]) + "      # wait until it lists none",
        *_again(config),
    ]


def _again(config: Path) -> list[str]:
    rerun = ["snakemake", "all_tables", "--profile", "slurm", "--configfile", str(config)]
    return [f"  {unlock_command(config)}", f"  {shlex.join(rerun)}"]


def _parsed(printed: str, folder: Path) -> list[Job]:
    jobs = []
    here = os.path.realpath(folder)
    for line in printed.splitlines():
        fields: Sequence[str] = line.split("|", 4)
        if len(fields) != 5:
            raise UserError(f"squeue printed a line that is not {_FIELDS}: {line[:_SHOWN]!r}")
        number, name, state, comment, directory = fields
        if not _NAME.match(name) or os.path.realpath(directory) != here:
            continue
        matched = _NUMBER.match(number)
        if matched is None or not re.fullmatch(r"[A-Z_]+", state):
            raise UserError(f"squeue printed a job whose number or state cannot be read: {line[:_SHOWN]!r}")
        jobs.append(Job(matched[1], name, state, comment))
    return jobs
