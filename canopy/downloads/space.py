"""Is there room on the disk?"""

from __future__ import annotations

import shutil
from pathlib import Path

from canopy.errors import UserError


def free_bytes(folder: Path) -> int:
    """Free bytes on the disk of a folder, which need not exist yet."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def require_space(folder: Path, needed: float, what: str) -> None:
    """Check that a folder's disk has ``needed`` bytes left for ``what``.

    Raises:
        UserError: it has not; the message gives both in GB (10^9 bytes).
    """
    free = free_bytes(folder)
    if needed > free:
        raise UserError(
            f"{what} needs {needed / 1e9:.2f} GB on the disk of {folder}, where {free / 1e9:.2f} GB are free: "
            "free some, or give another --root"
        )
