"""``canopy reader-model``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from canopy.settings.runs import ReaderModelSettings


def command(
    out: Annotated[Path, typer.Option(help="Folder to write: bfloat16 safetensors and tokenizer (270 MB).")],
    spec: Annotated[str, typer.Option(help="ReaderModelSettings as JSON, or @FILE.")] = "{}",
) -> None:
    """Convert the embedded GGUF reader weights to safetensors (about 15 s)."""
    settings = ReaderModelSettings.parse(spec)
    from canopy.reader.convert import run

    run(settings, out)
