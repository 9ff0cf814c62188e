"""What refinement costs beyond the encoder: milliseconds a question, and the ratio to bare forward passes.

    python benchmarks/refine.py [--questions 16] [--items 10] [--repeats 3] [--dtype float32 --dtype bfloat16]
    python benchmarks/refine.py --corpus results/mini/corpus

Both sides are timed in one run, in turn, and the best of the repeats is taken: (a) refinement of all
items of all questions with nothing cached: trees, renderings, tokens, forward passes, scores, regions;
(b) forward passes alone over the same token batches, already tokenised. "Python" is the time of (a) outside
forward passes. The last column is a second refinement of the same items, when their node vectors are cached.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from canopy.contracts import Item, Span, read_items
from canopy.encoder.model import TextEncoder
from canopy.regions.refine import Refiner, node_texts
from canopy.regions.tree import item_tree
from canopy.settings.encoder import EncoderSettings, TreeSettings

WORDS = (
    "the", "of", "a", "captain", "harbour", "river", "mill", "wrote", "built", "sailed", "stone", "winter", "museum",
    "founded", "opened", "painter", "valley", "engine", "second", "northern", "between", "years", "letter", "bridge",
)  # fmt: skip


def synthetic_item(number: int, rng: random.Random) -> Item:
    """A text of 5-12 sentences of 8-20 words."""
    text, units = "", []
    for _ in range(rng.randint(5, 12)):
        sentence = " ".join(rng.choices(WORDS, k=rng.randint(8, 20))).capitalize() + ". "
        units.append(Span(len(text), len(text) + len(sentence)))
        text += sentence
    return Item(f"x:{number}", "nq", f"x:{number}", "text", f"Title {number}", text, tuple(units))


def main(
    questions: Annotated[int, typer.Option(help="Questions refined in one call.")] = 16,
    items: Annotated[int, typer.Option(help="Items a question, all different.")] = 10,
    repeats: Annotated[int, typer.Option(help="Of each side; the best counts.")] = 3,
    dtype: Annotated[list[str], typer.Option(help="float32, bfloat16 or both.")] = ["float32", "bfloat16"],  # noqa: B006
    corpus: Annotated[Path | None, typer.Option(help="Take items from this corpus instead of made-up ones.")] = None,
) -> None:
    """Time refinement against bare encoder passes."""
    rng = random.Random(13)
    wanted = questions * items
    pool = (
        list(islice(read_items(corpus / "items.parquet"), wanted))
        if corpus
        else [synthetic_item(number, rng) for number in range(wanted)]
    )
    requests = [(n // items, item) for n, item in enumerate(pool)]
    print("dtype     questions items nodes  tokens   ms/question  bare ms/question  ratio  python  cached ms/question")
    for name in dtype:
        encoder = TextEncoder.load(EncoderSettings(), dtype=name)
        queries = encoder.encode([f"{item.title}?" for item in pool[:questions]])
        texts = list(dict.fromkeys(text for item in pool for text in node_texts(item, item_tree(item, 2))))
        batches = [batch for _, batch in encoder.batches(texts)]
        tokens = sum(int(batch["attention_mask"].sum()) for batch in batches)
        refined, bare, cached, python = [], [], [], []
        for _ in range(repeats):
            refiner = Refiner(encoder, TreeSettings())
            before = encoder.forward_seconds
            refined.append(seconds(lambda: refiner.refine(queries, requests)))  # noqa: B023
            python.append(1 - (encoder.forward_seconds - before) / refined[-1])
            bare.append(seconds(lambda: [encoder.forward(batch) for batch in batches]))  # noqa: B023
            cached.append(seconds(lambda: refiner.refine(queries, requests)))  # noqa: B023
        each = 1000 / questions
        print(
            f"{name:9} {questions:9} {len(pool):5} {len(texts):6} {tokens:7} {min(refined) * each:12.1f} "
            f"{min(bare) * each:17.1f} {min(refined) / min(bare):6.3f} {min(python):7.1%} {min(cached) * each:19.2f}"
        )


def seconds(work: Callable[[], Any]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    typer.run(main)
