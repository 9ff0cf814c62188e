"""Is there room on the disk?"""

from __future__ import annotations

import shutil
from pathlib import Path

from canopy.errors import UserError

RESERVE = 1_000_000_000  # bytes that a file of unknown size leaves free


def free_bytes(folder: Path) -> int:
    """Free bytes on the disk of a folder, which need not exist yet."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def require_reserve(folder: Path, what: str, part: Path) -> None:
    """Check that a folder's disk has :data:`RESERVE` bytes left, while a file of unknown size is written.

    Raises:
        UserError: it has not; the message says that ``part`` is kept.
    """
    free = free_bytes(folder)
    if free < RESERVE:
        raise UserError(
            f"{what}: only {in_units(free)} are left on the disk of {folder}, and {in_units(RESERVE)} are kept free: "
            f"free some, or give another --root; what has come is kept as {part}"
        )


def in_units(size: float) -> str:
    """A number of bytes for people, in B, kB, MB or GB (powers of 1,000)."""
    for unit, factor, digits in (("GB", 1e9, 2), ("MB", 1e6, 1), ("kB", 1e3, 1)):
        if size >= factor:
            return f"{size / factor:.{digits}f} {unit}"
    return f"{size:.0f} B"


def require_space(folder: Path, needed: float, what: str) -> None:
    """Check that a folder's disk has ``needed`` bytes left for ``what``.

    Raises:
        UserError: it has not; the message gives both.
    """
    free = free_bytes(folder)
    if needed > free:
        raise UserError(
            f"{what}: {in_units(needed)} more are needed on the disk of {folder}, where {in_units(free)} are free: "
            "free some, or give another --root"
        )
