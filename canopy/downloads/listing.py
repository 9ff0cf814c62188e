"""The table of official files, for people."""

from __future__ import annotations

from canopy.downloads.benchmark import Downloads
from canopy.downloads.table import FILES, NOTES, OfficialFile


def shown_size(file: OfficialFile) -> str:
    """A file's size in MB or GB (powers of 1,000), with "about" where it is not exact."""
    if file.size is None:
        return "not known"
    size = f"{file.size / 1e9:.2f} GB" if file.size >= 1e9 else f"{file.size / 1e6:.1f} MB"
    return size if file.exact else f"about {size}"


def listing(downloads: Downloads) -> str:
    """All files of a benchmark: place, whether it is there, need, size, use, licence, location."""
    lines = []
    for file in FILES[downloads.benchmark]:
        found = downloads.present(file)
        place = downloads.folder / file.made if found is None else found
        state = "missing" if found is None else "there"
        unpacked = f" (unpacked from {file.name})" if file.unpack else ""
        lines += [
            f"{place}: {state}",
            f"    {file.need}; {shown_size(file)}; {file.use}; {file.licence}",
            f"    {file.url}{unpacked}",
        ]
    return "\n".join([*lines, *([NOTES[downloads.benchmark]] if downloads.benchmark in NOTES else [])])
