"""``canopy download``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def command(
    benchmark: Annotated[str, typer.Argument(help="nq, hotpotqa, ottqa, mmqa or lvbench.")],
    root: Annotated[Path, typer.Option(help="Folder of raw files; the benchmark's go to a folder of its name.")] = Path(
        "raw"
    ),
    lock: Annotated[
        Path | None, typer.Option(help="Lock file with the files' sha256 (default: downloads.lock.json in --root).")
    ] = None,
    file: Annotated[
        list[str] | None, typer.Option(help="Only this file, by its official name; may be repeated.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Show the files and which are right; fetch nothing.")] = False,
) -> None:
    """Fetch a benchmark's official raw files, all but the optional ones, and check those that are there.

    A fetch that was broken off is gone on from. The first fetch of a file writes its sha256 to the lock file; later
    ones, and copies made by hand, must agree with it. Exit code 2 when files are missing, different or refused: all
    are told, a line each.
    """
    from canopy.downloads.benchmark import Downloads, NotObtained
    from canopy.downloads.listing import listing
    from canopy.downloads.lock import lock_in
    from canopy.downloads.table import NOTES, files_of

    files = files_of(benchmark, tuple(file or ()))
    downloads = Downloads(benchmark, root, lock or lock_in(root))
    if list_:
        print(listing(downloads))
        return
    try:
        for line in downloads.obtain(files):
            print(line, flush=True)
    except NotObtained as error:
        for line in error.lines:
            print(f"canopy: error: {line}", file=sys.stderr)
        raise typer.Exit(2) from error
    if benchmark in NOTES:
        print(NOTES[benchmark])
