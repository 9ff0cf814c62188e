"""One GPU a job where several jobs share a machine: Snakemake counts GPUs and does not say which is whose.

A job takes an exclusive lock on a file a device, held for as long as its process lives, however it ends, and
sees no other device. Nothing is chosen where a job sees as many devices as it wants, as under Slurm, which
gives each job its own. Only jobs of one user on one machine, started with the same CUDA_VISIBLE_DEVICES, know
of each other. Must run before torch is imported.
"""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
import tempfile
import time
from io import TextIOWrapper
from pathlib import Path

from canopy.errors import UserError

# Set by the workflow: `jobs.gpus` of the configuration.
WANTED = "CANOPY_GPUS_A_JOB"
VISIBLE = "CUDA_VISIBLE_DEVICES"
_POLL_SECONDS = 1.0
# Open for as long as the process lives: closing a file gives up its lock.
_HELD: list[TextIOWrapper] = []


def claim_wanted() -> None:
    """Claim the number of devices that the workflow asks for, if it asks for any.

    Raises:
        UserError: that is not a number, or the locks cannot be written.
    """
    wanted = os.environ.get(WANTED, "0")
    if not re.fullmatch(r"\d{1,4}", wanted):
        raise UserError(f"{WANTED}={wanted}: give a number of GPUs a job, or unset it")
    claim(int(wanted))


def claim(wanted: int) -> tuple[str, ...]:
    """Lock devices that no other job holds and let this process see only those; wait until there are enough.

    Args:
        wanted: devices; 0 changes nothing.

    Returns:
        The devices claimed, as CUDA_VISIBLE_DEVICES now names them; none where there is nothing to choose.

    Raises:
        UserError: the locks cannot be written.
    """
    devices = visible_devices()
    if wanted == 0 or len(devices) <= wanted:
        return ()
    waiting = False
    while len(claimed := _claimed(devices, wanted)) < wanted:
        if not waiting:
            print(f"canopy: all of {len(devices)} GPUs are held by other jobs: waiting", file=sys.stderr, flush=True)
        waiting = True
        time.sleep(_POLL_SECONDS)
    if VISIBLE not in os.environ:  # nvidia-smi numbers devices in this order, CUDA by its own in another
        os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    os.environ[VISIBLE] = ",".join(claimed)
    return claimed


def visible_devices() -> tuple[str, ...]:
    """The devices that CUDA would show this process: of CUDA_VISIBLE_DEVICES if it is set, else all."""
    given = os.environ.get(VISIBLE)
    if given is None:
        return _all_devices()
    devices: list[str] = []
    for device in (d.strip() for d in given.split(",")):
        if not re.fullmatch(r"[A-Za-z0-9/-]+", device) or device.startswith("-"):
            break  # CUDA stops at the first invalid one, too
        if device not in devices:
            devices.append(device)
    return tuple(devices)


def _all_devices() -> tuple[str, ...]:
    command = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    lines = done.stdout.split() if done.returncode == 0 else []
    return tuple(lines) if all(line.isdigit() for line in lines) else ()


def _claimed(devices: tuple[str, ...], wanted: int) -> tuple[str, ...]:
    """As many free devices as are wanted, or none: half a claim would block another job for ever."""
    taken: list[tuple[str, TextIOWrapper]] = []
    for device in devices:
        lock = _locked(device)
        if lock is not None:
            taken.append((device, lock))
        if len(taken) == wanted:
            _HELD.extend(lock for _, lock in taken)
            return tuple(device for device, _ in taken)
    for _, lock in taken:
        lock.close()
    return ()


def _locked(device: str) -> TextIOWrapper | None:
    folder = Path(tempfile.gettempdir()) / f"canopy-gpus-{os.getuid()}"
    path = folder / f"{device.replace('/', '_')}.lock"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            raise UserError(f"{folder} belongs to another user: set TMPDIR to a folder of your own")
        stream = path.open("a", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot lock a GPU: {error.strerror}: set TMPDIR to a folder of your own") from error
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        return None
    return stream
