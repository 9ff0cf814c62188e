"""``canopy mini-reader``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from canopy.settings.runs import MiniReaderSettings


def command(
    corpus: Annotated[Path, typer.Option(help="Merged corpus: items.parquet, questions.parquet.")],
    raw: Annotated[Path, typer.Option(help="Raw mini corpus, with annotations.train.jsonl.")],
    reader: Annotated[Path, typer.Option(help="Converted reader weights (`canopy reader-model`).")],
    out: Annotated[Path, typer.Option(help="Folder to write: LoRA adapter (<= 4 MB), card.md, scores.json.")],
    spec: Annotated[str, typer.Option(help="MiniReaderSettings as JSON, or @FILE.")] = "{}",
) -> None:
    """Train the small reader's adapter on the mini train split (about 20 minutes on 2 cores)."""
    settings = MiniReaderSettings.parse(spec)
    from canopy.mini_reader.train import run

    run(settings, corpus, raw, reader, out)
