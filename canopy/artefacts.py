"""Artefact directories: written under a temporary name, renamed when complete, each with a manifest."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from canopy import __version__
from canopy.errors import UserError

MANIFEST = "manifest.json"
# Says that a directory is an artefact, also where Snakemake has removed its manifest for a rerun.
MARK = ".canopy-artefact"
_SECTIONS = ("files", "facts", "settings")
_PACKAGES = ("torch", "transformers", "peft", "faiss-cpu", "faiss-gpu", "polars", "numpy")


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_json(path: Path, value: Any) -> None:
    """Write JSON under a temporary name and rename it, so that a reader never sees half a file."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(partial, path)


@dataclass
class Artefact:
    """A directory being built. Files go under :attr:`path`; :attr:`facts` goes into the manifest."""

    path: Path
    facts: dict[str, Any] = field(default_factory=dict)


@contextmanager
def build(out: Path, stage: str, settings: Mapping[str, Any], inputs: Sequence[Path] = ()) -> Iterator[Artefact]:
    """Build the directory ``out``: yields an :class:`Artefact` whose path is a temporary sibling.

    On a clean exit the manifest is written and the directory renamed to ``out`` (an older artefact there is
    replaced); on an error the temporary directory is removed and nothing else has changed.

    Args:
        out: the final directory.
        stage: name of the stage, for the manifest.
        settings: the section of the configuration that the stage used.
        inputs: files or artefact directories (judged by their manifest) to be named by content hash.

    Raises:
        UserError: ``out`` is a file, holds an input or the working directory, or holds files and is no artefact.
    """
    partial, replaced = out.with_name(f".{out.name}.partial"), out.with_name(f".{out.name}.replaced")
    _put_back(replaced, out)  # after a killed job
    _check_replaceable(out, inputs)
    started = time.monotonic()
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    artefact = Artefact(partial)
    try:
        yield artefact
        write_json(partial / MANIFEST, _manifest(stage, settings, inputs, artefact, time.monotonic() - started))
        (partial / MARK).touch()
        # Moved away before it is removed, so that a kill never leaves part of an artefact.
        if out.exists():
            os.replace(out, replaced)
        os.replace(partial, out)
        shutil.rmtree(replaced, ignore_errors=True)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        _put_back(replaced, out)
        raise


def _put_back(replaced: Path, out: Path) -> None:
    """The old artefact where it was, unless a new one is there."""
    if replaced.exists() and not out.exists():
        os.replace(replaced, out)
    shutil.rmtree(replaced, ignore_errors=True)


def _check_replaceable(out: Path, inputs: Sequence[Path]) -> None:
    """Refuse to replace a file, a directory with the inputs or the working directory in it, or someone's files."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file: give another directory to make")
    for kept in (Path.cwd(), *inputs):
        if kept.resolve().is_relative_to(out.resolve()):
            raise UserError(f"{out} would be replaced with {kept} in it: give another directory to make")
    if not _is_artefact(out) and any(not found.is_dir() for found in out.rglob("*")):
        raise UserError(f"{out} holds files that canopy did not make: give another directory to make, or empty it")


def _is_artefact(directory: Path) -> bool:
    if (directory / MARK).is_file():
        return True
    try:
        return bool(read_manifest(directory))
    except UserError:
        return False


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of a finished artefact.

    Raises:
        UserError: there is none, so the artefact is missing or was never finished.
    """
    path = directory / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{directory} has no {MANIFEST}: the stage that makes it has not finished, run it") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}: give the directory of a finished stage") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}): remove {directory} and rerun its stage") from error
    if not isinstance(manifest, dict) or not all(isinstance(manifest.get(name), dict) for name in _SECTIONS):
        raise UserError(f"{path} is not a manifest: remove {directory} and rerun its stage")
    return manifest


def check_files(directory: Path, names: Sequence[str]) -> None:
    """Check files of a finished artefact against the checksums in its manifest; reads them whole.

    Raises:
        UserError: a file is missing, cut off or altered.
    """
    noted = read_manifest(directory)["files"]
    for name in names:
        path = directory / name
        if not path.is_file() or sha256_file(path) != noted.get(name):
            raise altered(path, directory)


def check_all_files(directory: Path) -> list[str]:
    """Check all files of a finished artefact, as :func:`check_files` does; their names are returned.

    Raises:
        UserError: a file is missing, cut off or altered.
    """
    names = list(read_manifest(directory)["files"])
    check_files(directory, names)
    return names


def altered(path: Path, directory: Path) -> UserError:
    """The error to raise for a file of an artefact directory that is not as its stage wrote it."""
    return UserError(f"{path} is not as it was written: remove the folder {directory} and run snakemake again")


def content_id(path: Path) -> str:
    """Content hash of a file, or, for an artefact directory, the hash of its files' hashes."""
    if path.is_dir():
        files = read_manifest(path)["files"]
        return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    return sha256_file(path)


def _manifest(
    stage: str, settings: Mapping[str, Any], inputs: Sequence[Path], artefact: Artefact, seconds: float
) -> dict[str, Any]:
    files = sorted(p for p in artefact.path.rglob("*") if p.is_file() and p.name not in (MANIFEST, MARK))
    return {
        "stage": stage,
        "settings": dict(settings),
        "inputs": {str(p): content_id(p) for p in inputs},
        "files": {str(p.relative_to(artefact.path)): sha256_file(p) for p in files},
        "facts": artefact.facts,
        "canopy": __version__,
        "python": sys.version.split()[0],
        "packages": _versions(),
        "git": _git_revision(),
        "wall_seconds": round(seconds, 3),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _git_revision() -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
