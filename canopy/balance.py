"""Where items and questions are cut into shards that cost about the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from canopy.contracts import Question

# Measured with the encoder's tokenizer on passages of NQ, HotpotQA and OTT-QA: 4.4 to 4.7; on tables 4.4.
_CHARACTERS_PER_TOKEN = 4.4
# Texts are padded to whole multiples of this width, so a shorter one costs as much.
_LEAST_TOKENS = 16


def shard_bounds(path: Path, shards: int, max_tokens: int) -> list[int]:
    """Cut the items, in their order, into contiguous blocks of about equal numbers of tokens.

    The characters of an item's title and text stand for its tokens, with the encoder's cut at ``max_tokens``.
    Nothing else counts, so all shards of one corpus find the same cuts. The file is read twice as a
    stream: memory does not grow with it.

    Args:
        path: ``items.parquet`` of the corpus.
        shards: number of blocks.
        max_tokens: longer texts cost no more.

    Returns:
        ``shards + 1`` row numbers, ascending from 0 to the number of items: block ``i`` is from the
        ``i``-th up to the next.
    """
    if shards == 1:
        return [0, int(pl.scan_parquet(path).select(pl.len()).collect().item())]
    return _bounds(lambda: _costs(path, max_tokens), shards)


def question_bounds(questions: Sequence[Question], path: Path, shards: int) -> list[int]:
    """Cut questions, in their order, into contiguous blocks whose gold items have about equal numbers of tokens.

    As in :func:`shard_bounds` characters stand for tokens; a question without gold costs one.

    Args:
        questions: all questions.
        path: ``items.parquet`` of the corpus.
        shards: number of blocks.

    Returns:
        ``shards + 1`` positions, ascending from 0 to the number of questions.
    """
    if shards == 1:
        return [0, len(questions)]
    gold = [{reference.item_id for reference in question.gold} for question in questions]
    wanted = pl.col("item_id").is_in(sorted(set().union(*gold)))
    found = dict(pl.scan_parquet(path).filter(wanted).select("item_id", _length()).collect().iter_rows())
    costs = np.array([1 + sum(found.get(item_id, 0) for item_id in own) for own in gold], np.int64)
    return _bounds(lambda: [costs], shards)


def _bounds(costs: Callable[[], Iterable[NDArray[np.int64]]], shards: int) -> list[int]:
    """Where rows are cut, from their costs in blocks; goes through them twice."""
    total = sum(int(block.sum()) for block in costs())
    # In units of 1 / shards, so that the cuts are whole numbers.
    cuts = np.arange(1, shards, dtype=np.int64) * total
    rows, before = 0, 0
    bounds = np.zeros(len(cuts), np.int64)
    for block in costs():
        starts = (before + np.concatenate(([0], np.cumsum(block)[:-1]))) * shards
        bounds += np.searchsorted(starts, cuts)
        rows += len(block)
        before += int(block.sum())
    return [0, *bounds.tolist(), rows]


def _costs(path: Path, max_tokens: int) -> Iterator[NDArray[np.int64]]:
    """Cost of each item in characters, in the order of the file, in blocks."""
    most = int(max_tokens * _CHARACTERS_PER_TOKEN)
    least = min(most, int(_LEAST_TOKENS * _CHARACTERS_PER_TOKEN))
    cost = _length().clip(least, most).alias("cost")
    for frame in pl.scan_parquet(path).select(cost).collect_batches(maintain_order=True):
        if frame.height:
            yield frame["cost"].to_numpy()


def _length() -> pl.Expr:
    """Characters of an item's title and text."""
    return (pl.col("title").str.len_chars() + item_text().str.len_chars()).cast(pl.Int64)


def item_text() -> pl.Expr:
    """What an item says besides its title: its text, its table as JSON, or the text recognised on its frames."""
    own = pl.col("modality").is_in(["text", "table"])
    return pl.when(own).then("content").otherwise(pl.col("unit_texts").list.join(""))
