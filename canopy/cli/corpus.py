"""``canopy corpus``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from canopy.settings.corpora import CorpusSettings


def command(
    parsed: Annotated[list[Path], typer.Option(help="Directory of a parsed benchmark; give it once a benchmark.")],
    out: Annotated[Path, typer.Option(help="Directory to make: items.parquet, questions.parquet.")],
    spec: Annotated[str, typer.Option(help="JSON or @FILE: benchmarks (a list; all must have questions).")],
    video: Annotated[
        Path | None, typer.Option(help="Directory of the video stage; its items replace parsed images and videos.")
    ] = None,
) -> None:
    """Merge all benchmarks into one corpus.

    Prints one JSON object: items by benchmark and modality, questions by split, gold total and missing.
    """
    from canopy.corpora.merge import run

    print(json.dumps(run(parsed, video, CorpusSettings.parse(spec), out)))
