"""Has this machine what the stages need?"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from canopy.doctor.commands import ask
from canopy.doctor.folder import has_locks, running_snakemakes, unlock_command
from canopy.downloads.space import free_bytes
from canopy.errors import UserError
from canopy.pinned import MINILM, SMOLLM2, pinned_file

# Of the tiny configuration's results and the converted reader, with room; `canopy plan` says what others need.
_LEAST_GB = 2.0
_OLDEST_PYTHON = (3, 11)
_PROJECT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: right, or wrong with what to do."""

    right: bool
    words: str


def findings(folder: Path, config: Path) -> Iterator[Finding]:
    """Python, packages, weights, ffmpeg, disk, GPUs and Snakemake's locks, one after another."""
    found = ".".join(map(str, sys.version_info[:3]))
    oldest = ".".join(map(str, _OLDEST_PYTHON))
    yield Finding(sys.version_info >= _OLDEST_PYTHON, f"Python {found} (needs {oldest} or newer)")
    yield from _packages(_PROJECT)
    yield from _weights()
    yield _ffmpeg()
    free = free_bytes(folder / "results") / 1e9
    yield Finding(
        free >= _LEAST_GB, f"disk: {free:.1f} GB free for {folder / 'results'} (`canopy plan` says what it takes)"
    )
    yield _gpus()
    yield _locks(folder, config)


def _packages(project: Path) -> Iterator[Finding]:
    """The project's packages at their pinned versions."""
    try:
        pins = _pins(project / "constraints.txt")
        declared = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    except FileNotFoundError as error:
        yield Finding(True, f"packages: not compared, {error.filename} is not there (canopy was installed without it)")
        return
    names = [*(re.split(r"[^A-Za-z0-9._-]", d)[0] for d in declared), MINILM.distribution, SMOLLM2.distribution]
    wrong = []
    for name in names:
        installed, pinned = _version(name), pins.get(_normal(name))
        if installed is None:
            wrong.append(f"{name} is missing")
        elif pinned is not None and installed.split("+")[0] != pinned:
            wrong.append(f"{name} is {installed}, not {pinned}")
    if wrong:
        yield Finding(False, f"packages: {', '.join(wrong)}: run `make venv` and use .venv/bin")
    else:
        yield Finding(True, f"packages: {len(names)} at their pinned versions")


def _weights() -> Iterator[Finding]:
    for weights in (MINILM, SMOLLM2):
        try:
            pinned_file(weights)
            yield Finding(True, f"weights of {weights.distribution}: the pinned content")
        except UserError as error:
            yield Finding(False, f"weights: {error}")


def _ffmpeg() -> Finding:
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        program = get_ffmpeg_exe()
        done = ask([program, "-version"])
    except (ImportError, OSError, RuntimeError, UserError) as error:
        return Finding(False, f"ffmpeg: {error}: install imageio-ffmpeg again (`make venv`)")
    version = done.out.split("\n")[0][:60]
    if done.code or not version.startswith("ffmpeg"):
        return Finding(False, f"ffmpeg: {program} does not run: install imageio-ffmpeg again (`make venv`)")
    return Finding(True, version)


def _gpus() -> Finding:
    try:
        import torch

        names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    except (ImportError, OSError, RuntimeError) as error:
        return Finding(False, f"torch: {error}: install it again (`make venv`)")
    return Finding(True, f"GPUs: {', '.join(names) if names else 'none seen, jobs run on the CPU'}")


def _locks(folder: Path, config: Path) -> Finding:
    try:
        locked = has_locks(folder)
    except OSError as error:
        return Finding(False, f"Snakemake's locks in {folder} cannot be looked at: {error.strerror}")
    if not locked:
        return Finding(True, f"{folder} is not locked")
    main = running_snakemakes(folder)
    if main:
        return Finding(True, f"{folder} is locked by the Snakemake that runs in it (process {main[0]})")
    return Finding(
        False,
        f"{folder} is locked, and no Snakemake runs in it on this machine. On a cluster first `canopy doctor --slurm`;"
        f" then: {unlock_command(config)}",
    )


def _pins(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==", 1) for line in lines if "==" in line and not line.startswith("#"))
    return {_normal(name): version.strip() for name, version in pairs}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
