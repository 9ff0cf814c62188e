"""Tokens a second that the reader reads and writes, for `canopy plan`.

    python benchmarks/reader.py --reader results/mini/reader-model [--prompts 16] [--words 400] [--new 64]

Prompts of made-up words share no beginning. Reading is one new token a prompt; writing is what further tokens cost
beyond that, with all prompts decoded together. The best of the repeats counts. Outputs that end early are counted
as they are.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Annotated

import typer

from canopy.reader.engine import TransformersEngine, load_engine
from canopy.settings.runs import ReaderSettings

WORDS = (
    "the", "of", "a", "captain", "harbour", "river", "mill", "wrote", "built", "sailed", "stone", "winter", "museum",
    "founded", "opened", "painter", "valley", "engine", "second", "northern", "between", "years", "letter", "bridge",
)  # fmt: skip


def timed(engine: TransformersEngine, prompts: list[str], new: int) -> tuple[float, int, int]:
    """Seconds of one call, tokens read and tokens written."""
    engine.forget()
    started = time.perf_counter()
    outputs = engine.generate(prompts, new)
    return time.perf_counter() - started, sum(o.prompt_tokens for o in outputs), sum(o.new_tokens for o in outputs)


def main(
    reader: Annotated[Path, typer.Option(help="Directory of the stage reader-model.")],
    prompts: Annotated[int, typer.Option(help="Prompts, decoded together.")] = 16,
    words: Annotated[int, typer.Option(help="Words a prompt.")] = 400,
    new: Annotated[int, typer.Option(help="Most new tokens a prompt.")] = 64,
    repeats: Annotated[int, typer.Option(help="Of each; the best counts.")] = 3,
) -> None:
    """Time reading and writing."""
    rng = random.Random(13)
    texts = [" ".join(rng.choices(WORDS, k=words)) + " Tell a long story about it." for _ in range(prompts)]
    engine = load_engine(ReaderSettings(batch_size=prompts, adapter="none"), reader)
    reading, read, first = min(timed(engine, texts, 1) for _ in range(repeats))
    both, _, written = min(timed(engine, texts, new) for _ in range(repeats))
    print(f"read {read} tokens in {reading:.2f} s: {read / reading:.0f} tokens/s")
    print(
        f"wrote {written - first} tokens in {both - reading:.2f} s: {(written - first) / (both - reading):.0f} tokens/s"
    )


if __name__ == "__main__":
    typer.run(main)
