"""``canopy encoder``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    corpus: Annotated[Path, typer.Option(help="Corpus directory (canopy corpus).")],
    preferences: Annotated[
        list[Path], typer.Option(help="Preferences directory (canopy preferences); once for each shard.")
    ],
    spec: Annotated[str, typer.Option(help="Settings as a JSON object, or @FILE; `canopy spec encoder` prints them.")],
    out: Annotated[Path, typer.Option(help="Directory to write: adapter_model.safetensors and config, curve.csv.")],
) -> None:
    """Fine-tune the node encoder: a LoRA adapter on train preferences, the best one on dev kept.

    Also measures whether bfloat16 decides like float32 (at least 99.5% of dev decisions), and notes the
    dtype to use.
    """
    from canopy.encoder.train import run
    from canopy.settings.encoder import TrainingSettings

    run(corpus, preferences, TrainingSettings.parse(spec), out)
