"""The table of official files, for people."""

from __future__ import annotations

from canopy.downloads.benchmark import Downloads
from canopy.downloads.space import in_units
from canopy.downloads.table import FILES, NOTES, OfficialFile


def shown_size(file: OfficialFile) -> str:
    """A file's size, with "about" where it is not exact."""
    if file.size is None:
        return "not known"
    return in_units(file.size) if file.exact else f"about {in_units(file.size)}"


def listing(downloads: Downloads) -> str:
    """All files of a benchmark: place, whether it is there and right, need, size, use, licence, location.

    Raises:
        UserError: the lock file is damaged.
    """
    lines = []
    for file in FILES[downloads.benchmark]:
        try:
            place, state = downloads.present(file) or downloads.folder / file.made, downloads.state(file)
        except OSError as error:
            place, state = downloads.folder / file.made, f"cannot be read: {error.strerror or error}"
        unpacked = f" (unpacked from {file.name})" if file.unpack else ""
        lines += [
            f"{place}: {state}",
            f"    {file.need}; {shown_size(file)}; {file.use}; {file.licence}",
            f"    {file.url}{unpacked}",
        ]
    return "\n".join([*lines, *([NOTES[downloads.benchmark]] if downloads.benchmark in NOTES else [])])
