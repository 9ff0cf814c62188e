"""Frozen against fine-tuned decisions on the gold items of test questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from transformers import AutoTokenizer

from canopy.artefacts import build
from canopy.contracts import Item, Question, read_questions
from canopy.encoder.dtype import noted
from canopy.encoder.model import TextEncoder
from canopy.encoder.pairs import accuracy, decide, pair_set
from canopy.errors import UserError
from canopy.preferences import PAIR_SCHEMA, gold_items, in_order, merged_gold, read_pairs
from canopy.reader.prompts import evidence_text
from canopy.regions.refine import Floats, Refiner
from canopy.regions.render import Region, whole
from canopy.settings.encoder import DecisionSettings

_ENCODER = {"encoder": pl.String, "qid": pl.String, "benchmark": pl.String}
PAIR_DECISION_SCHEMA: dict[str, Any] = {
    **_ENCODER,
    **{name: kind for name, kind in PAIR_SCHEMA.items() if name not in ("split", "qid")},
    "parent_score": pl.Float32,
    "child_score": pl.Float32,
    "right": pl.Boolean,
}
ITEM_DECISION_SCHEMA: dict[str, Any] = {
    **_ENCODER,
    "item_id": pl.String,
    "modality": pl.String,
    "descended": pl.Boolean,
    "kept_tokens": pl.Int64,
    "whole_tokens": pl.Int64,
}


def run(
    corpus: Path, preferences: Sequence[Path], encoder: Path, reader: Path, settings: DecisionSettings, out: Path
) -> None:
    """Score the labelled test pairs and refine the test questions' gold items with both node encoders.

    A pair is right when refinement would descend into the child and it holds gold, or would not and
    it holds none. An item is ``descended`` when what is kept of it is not the root; an item of one
    unit cannot be. Tokens are the reader's, of the item's evidence text.

    Args:
        corpus: directory of the ``corpus`` stage.
        preferences: directories of all shards of the ``preferences`` stage, in any order.
        encoder: directory of the ``encoder`` stage.
        reader: directory of the ``reader-model`` stage, for its tokenizer.
        settings: encoder and trees; the trees must be those of the preferences.
        out: directory for ``pairs.parquet`` (:data:`PAIR_DECISION_SCHEMA`) and ``items.parquet``
            (:data:`ITEM_DECISION_SCHEMA`), first all rows of the frozen encoder.

    Raises:
        UserError: there is no gold evidence in the test split, the trees differ, or a shard is missing.
    """
    preferences = in_order(preferences, settings.tree)
    questions = read_questions(corpus / "questions.parquet", "test")
    items = gold_items(corpus, questions)
    if not items:
        raise UserError(f"{corpus}: no test question has gold evidence in the corpus, so there is nothing to judge")
    pairs = read_pairs(preferences, "test")
    queries = TextEncoder.load(settings.encoder)
    asked = queries.encode([question.question for question in questions])
    seconds = queries.forward_seconds
    tokenizer = AutoTokenizer.from_pretrained(reader, local_files_only=True)
    pair_frames, item_frames, facts = [], [], {}
    with build(out, "decisions", settings.model_dump(mode="json"), [corpus, *preferences, encoder]) as artefact:
        for name in ("frozen", "fine_tuned"):
            nodes = _load(name, encoder, settings)
            frame, rates = _judged(pairs, questions, items, asked, nodes)
            pair_frames.append(frame.select(pl.lit(name).alias("encoder"), *list(PAIR_DECISION_SCHEMA)[1:]))
            rows = _refined(questions, items, asked, Refiner(nodes, settings.tree), tokenizer)
            item_frames.append(pl.DataFrame([{"encoder": name, **row} for row in rows], schema=ITEM_DECISION_SCHEMA))
            facts[name] = rates | {"dtype": nodes.dtype, "truncated": nodes.truncated}
            seconds += nodes.forward_seconds
        pl.concat(pair_frames).cast(pl.Schema(PAIR_DECISION_SCHEMA)).write_parquet(artefact.path / "pairs.parquet")
        pl.concat(item_frames).write_parquet(artefact.path / "items.parquet")
        artefact.facts |= {"encoders": facts, "forward_seconds": round(seconds, 3)}


def _load(name: str, encoder: Path, settings: DecisionSettings) -> TextEncoder:
    if name == "fine_tuned":
        return TextEncoder.load(settings.encoder, encoder)
    dtype = noted(encoder, "frozen") if settings.encoder.dtype == "auto" else None
    return TextEncoder.load(settings.encoder, dtype=dtype)


def _judged(
    pairs: pl.DataFrame, questions: Sequence[Question], items: dict[str, Item], asked: Floats, nodes: TextEncoder
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The pairs with benchmark, scores and whether each is decided rightly; and the shares of that."""
    ready = pair_set(pairs, questions, items)
    parents, children = ready.scores(asked, nodes.encode(ready.texts))
    descends = decide(parents, children)
    frame = pairs.with_columns(
        pl.Series("benchmark", [questions[row].benchmark for row in ready.queries], pl.String),
        pl.Series("parent_score", parents),
        pl.Series("child_score", children),
        pl.Series("right", descends == ready.descend),
    )
    rates = {key: None if np.isnan(value) else round(value, 4) for key, value in accuracy(ready, descends).items()}
    return frame, {"pairs": pairs.height, **rates}


def _refined(
    questions: Sequence[Question], items: dict[str, Item], asked: Floats, refiner: Refiner, tokenizer: Any
) -> list[dict[str, Any]]:
    """One row a gold item of a question: whether it was refined, and tokens before and after."""
    requests = [
        (row, items[gold.item_id])
        for row, question in enumerate(questions)
        for gold in merged_gold(question)
        if gold.item_id in items
    ]
    kept = refiner.refine(asked, requests)
    kept_tokens = _tokens(tokenizer, kept)
    whole_tokens = _tokens(tokenizer, [[whole(item, 0.0)] for _, item in requests])
    return [
        {
            "qid": questions[row].qid,
            "benchmark": questions[row].benchmark,
            "item_id": item.item_id,
            "modality": item.modality,
            "descended": regions[0].unit_end - regions[0].unit_start < len(item.units),
            "kept_tokens": small,
            "whole_tokens": large,
        }
        for (row, item), regions, small, large in zip(requests, kept, kept_tokens, whole_tokens, strict=True)
    ]


def _tokens(tokenizer: Any, evidence: Sequence[Sequence[Region]]) -> list[int]:
    texts = [evidence_text(regions) for regions in evidence]
    return [len(ids) for ids in tokenizer(texts, add_special_tokens=False)["input_ids"]] if texts else []
