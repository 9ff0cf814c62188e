"""Are the folders of raw files there?"""

from __future__ import annotations

from pathlib import Path

from canopy.downloads.table import NOTES, files_of
from canopy.errors import UserError


def check_raw_folders(root: str, benchmarks: tuple[str, ...]) -> None:
    """Check that each benchmark's raw folder holds something that is not hidden.

    Raises:
        UserError: a folder is missing or empty; one line with the folder, its files, their locations and the commands
            that fetch them.
    """
    missing = without_files(root, benchmarks)
    if not missing:
        return
    first, *others = missing
    files = ", ".join(f"{f.name} ({f.url})" for f in files_of(first))
    also = f"; also without files: {', '.join(str(Path(root) / b) for b in others)}" if others else ""
    note = f"; {NOTES[first]}" if first in NOTES else ""
    raise UserError(
        f"raw.root: the raw files of {first} are missing: {Path(root) / first} is empty or not a folder; "
        f"`canopy download {first} --root {root}` fetches its files (`snakemake download_all` with your configuration: "
        "all benchmarks'), or copy them there: "
        f"{files}{note}{also} (docs/raw.md)"
    )


def without_files(root: str, benchmarks: tuple[str, ...]) -> tuple[str, ...]:
    """The benchmarks whose raw folder is missing or holds nothing but hidden files."""
    return tuple(b for b in benchmarks if not _has_files(Path(root) / b))


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(not p.name.startswith(".") for p in folder.iterdir())
