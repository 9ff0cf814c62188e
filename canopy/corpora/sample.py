"""A part of a parsed benchmark: some questions, the items with their gold, and some items without."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from heapq import nsmallest
from pathlib import Path

import polars as pl

from canopy.corpora.sink import ROWS
from canopy.settings.corpora import SampleSettings

_IDS = 100_000

log = logging.getLogger(__name__)


def take_sample(directory: Path, settings: SampleSettings, seed: int, with_gold: bool) -> dict[str, int]:
    """Replace `items.parquet` and `questions.parquet` of a directory by their sample.

    What is drawn depends on the seed and the ids alone, so that a larger sample holds a smaller one. Memory grows with
    the sample, not with the benchmark.

    Args:
        directory: what the parser wrote.
        settings: questions of each split, and items without gold.
        seed: of the draw.
        with_gold: draw among the questions whose gold evidence is all there.

    Returns:
        What is left: `items`, `questions`, `gold` (references of its questions) and `gold_missing`; and the number of
        `questions_without_evidence` that were left out before the draw.
    """
    questions, left_out = _sampled_questions(directory / "questions.parquet", settings.questions, seed, with_gold)
    gold = {one["item_id"] for row in questions["gold"] for one in row}
    videos = _videos(directory / "items.parquet")
    # Gold of a video names a clip, which the video stage makes of the whole.
    gold |= {item_id.rpartition("#")[0] for item_id in gold} & videos
    others = (item_id for item_id in _ids(directory / "items.parquet") if item_id not in gold)
    wanted = gold.union(nsmallest(settings.distractors, others, key=_rank(seed)))
    items = _keep(directory / "items.parquet", wanted)
    questions.write_parquet(directory / "questions.parquet", compression="zstd")
    return {
        "items": items,
        "questions": questions.height,
        "questions_without_evidence": left_out,
        "gold": int(questions["gold"].list.len().sum()),
        "gold_missing": int(questions["gold_missing"].sum()),
    }


def _sampled_questions(path: Path, count: int, seed: int, with_gold: bool) -> tuple[pl.DataFrame, int]:
    questions = pl.read_parquet(path)
    whole = questions.height
    if with_gold:
        incomplete = int((questions["gold_missing"] > 0).sum())
        questions = questions.filter(pl.col("gold").list.len() > 0, pl.col("gold_missing") == 0)
        if whole and questions.is_empty():
            log.warning(
                "no question is left for the sample: with `questions: with_gold`, all %d were left out, %d as gold "
                "evidence of theirs was not found, %d as their files name none",
                whole,
                incomplete,
                whole - incomplete,
            )
    left_out = whole - questions.height
    chosen: set[str] = set()
    for split in questions["split"].unique():
        chosen.update(nsmallest(count, questions.filter(pl.col("split") == split)["qid"], key=_rank(seed)))
    return questions.filter(pl.col("qid").is_in(sorted(chosen))), left_out


def _rank(seed: int) -> Callable[[str], bytes]:
    """An order of ids that is the same on every machine."""
    return lambda id_: hashlib.blake2b(f"{seed} {id_}".encode(), digest_size=16).digest()


def _ids(path: Path) -> Iterator[str]:
    for batch in pl.scan_parquet(path).select("item_id").collect_batches(chunk_size=_IDS):
        yield from batch["item_id"]


def _videos(path: Path) -> set[str]:
    return set(pl.scan_parquet(path).filter(pl.col("modality") == "video").select("item_id").collect()["item_id"])


def _keep(path: Path, wanted: set[str]) -> int:
    """Rewrite a file of items with the wanted ones alone, in their order; returns how many there are."""
    whole = path.rename(path.with_name(f".{path.name}.whole"))
    ids = pl.LazyFrame({"item_id": sorted(wanted)}, schema={"item_id": pl.String})
    kept = pl.scan_parquet(whole).join(ids, on="item_id", how="semi", maintain_order="left")
    kept.sink_parquet(path, row_group_size=ROWS, compression="zstd", maintain_order=True)
    whole.unlink()
    return int(pl.scan_parquet(path).select(pl.len()).collect().item())
