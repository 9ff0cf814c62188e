"""``canopy check``: is a configuration right?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_PICTURES = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff")


def command(
    config: Annotated[str, typer.Option(help="Configuration: a YAML file, or a name in config/.")] = "mini",
    write_schema: Annotated[
        Path | None, typer.Option(help="Write the JSON schema of configurations to this file instead.")
    ] = None,
) -> None:
    """Check a configuration: keys, types, ranges, names of methods, raw files. Exit code 2 when it is wrong.

    Given raw files are looked for by name, not read: each kind is listed with the number of files found, or as missing.
    """
    from canopy.artefacts import write_json
    from canopy.config import check_encoder_folder, load_config, named_config
    from canopy.downloads.folders import check_raw_folders
    from canopy.errors import UserError
    from canopy.settings.shared import schema

    if write_schema is not None:
        write_json(write_schema, schema())
        return
    path = named_config(config)
    project = load_config(path)
    check_encoder_folder(project.config)
    benchmarks, root = project.config.benchmarks, project.config.raw.root
    if root is not None:
        try:
            check_raw_folders(root, benchmarks)
        except UserError as error:
            raise UserError(f"{path}: {error}") from error
    files = [_raw_files(b, Path(root) / b) for b in benchmarks] if root is not None else []
    for benchmark in project.left_out:
        print(f"{path}: {benchmark} is left out: no files in {Path(root or '') / benchmark}")
    print(f"{path} is right: {len(project.methods)} methods and ablations on {', '.join(benchmarks)}", *files, sep="\n")


def _raw_files(benchmark: str, folder: Path) -> str:
    """A line for each kind of file, and for the media that they name: how many there are, or that they are missing."""
    from canopy.corpora.files import counts_by_kind, find
    from canopy.corpora.lvbench import VIDEO_SUFFIXES
    from canopy.corpora.parse import PARSERS

    kinds, _ = PARSERS[benchmark]
    found = find(benchmark, [folder], kinds)
    counts = counts_by_kind(found, kinds)
    media = {"mmqa": ("pictures, in images/", _PICTURES), "lvbench": ("videos, <key>.mp4", VIDEO_SUFFIXES)}
    if benchmark in media:
        shown, suffixes = media[benchmark]
        counts[shown] = sum(Path(name).suffix.lower() in suffixes for name in found.by_name)
    lines = (f"  {f'{count:,}' if count else 'missing':>7}  {shown}" for shown, count in counts.items())
    return "\n".join([f"{folder}: files found", *lines])
