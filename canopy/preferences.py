"""Gold preferences: which children of a node hold gold evidence, for every node on a path to it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from canopy.artefacts import MANIFEST, build, check_files, read_manifest
from canopy.balance import question_bounds
from canopy.contracts import ITEM_SCHEMA, Gold, Item, Question, item_from_row, read_frame, read_questions
from canopy.errors import UserError
from canopy.progress import track
from canopy.regions.tree import Tree, item_tree
from canopy.settings.encoder import PreferenceSettings, TreeSettings

PAIRS_FILE = "pairs.parquet"
PAIR_SCHEMA: dict[str, Any] = {
    "split": pl.String,
    "qid": pl.String,
    "item_id": pl.String,
    "parent_start": pl.Int64,
    "parent_end": pl.Int64,
    "child_start": pl.Int64,
    "child_end": pl.Int64,
    "label": pl.String,
}
DESCEND, STAY = "descend", "stay"
# Rows go into frames in between: as Python objects they take several times the memory.
_ROWS_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True)
class Pairs:
    """Labelled parent-child pairs of one gold item: indices of tree nodes, and whether to descend."""

    parents: NDArray[np.int64]
    children: NDArray[np.int64]
    descend: NDArray[np.bool_]


def run(corpus: Path, settings: PreferenceSettings, out: Path, shard: int = 0, shards: int = 1) -> None:
    """Label the pairs of the gold items of the ``shard``-th of ``shards`` contiguous blocks of questions.

    The questions are those of all splits, in the order of the corpus; the gold items of each block have
    about equal numbers of tokens. Only the items of the own block are read.

    Args:
        corpus: directory of the ``corpus`` stage.
        settings: shape of the region trees.
        out: directory for ``pairs.parquet`` (:data:`PAIR_SCHEMA`, unit ranges half-open). The facts
            count, by benchmark and split, gold references by what became of them, and labels.
        shard: from 0.
        shards: number of blocks.

    Raises:
        UserError: the shard does not exist, the corpus is missing, or a gold unit lies outside its item.
    """
    if not 0 <= shard < shards:
        raise UserError(f"--shard {shard} is not one of 0 to {shards - 1} (--shards {shards})")
    questions = read_questions(corpus / "questions.parquet")
    first, last = question_bounds(questions, _items_file(corpus), shards)[shard : shard + 2]
    questions = questions[first:last]
    items = gold_items(corpus, questions)
    rows: list[dict[str, Any]] = []
    blocks: list[pl.DataFrame] = []
    fates: Counter[tuple[str, str, str]] = Counter()
    with build(out, "preferences", settings.model_dump(mode="json"), [corpus]) as artefact:
        for question in track(questions, f"mining preferences, shard {shard + 1} of {shards}"):
            for gold in merged_gold(question):
                item = items.get(gold.item_id)
                own = list(_rows(question, gold, item, settings.tree.fan_out)) if item else []
                fate = "not_in_corpus" if item is None else _fate(gold, item, bool(own))
                fates[question.benchmark, question.split, fate] += 1
                rows += own
            if len(rows) >= _ROWS_AT_ONCE:
                blocks.append(pl.DataFrame(rows, schema=PAIR_SCHEMA))
                rows.clear()
        frame = pl.concat([*blocks, pl.DataFrame(rows, schema=PAIR_SCHEMA)], rechunk=True)
        frame.write_parquet(artefact.path / PAIRS_FILE)
        labels = frame.group_by("split", "label").len().sort("split", "label").rows()
        artefact.facts |= {
            "shard": shard,
            "shards": shards,
            "questions": len(questions),
            "gold_items": [
                {"benchmark": b, "split": s, "fate": f, "count": n} for (b, s, f), n in sorted(fates.items())
            ],
            "pairs": [{"split": split, "label": label, "count": count} for split, label, count in labels],
            "forward_seconds": 0.0,
        }


def in_order(directories: Sequence[Path], tree: TreeSettings) -> list[Path]:
    """The directories of all shards in their order, so that their pairs are those of one job.

    Raises:
        UserError: one is missing, given twice, of another corpus or of other trees, or has been altered.
    """
    manifests = {directory: read_manifest(directory) for directory in directories}
    for directory, manifest in manifests.items():
        facts, made = manifest["facts"], manifest["settings"]
        if not isinstance(facts, dict) or any(type(facts.get(name)) is not int for name in ("shard", "shards")):
            raise UserError(f"{directory / MANIFEST} is not of this version: run `canopy preferences` again")
        if not isinstance(made, dict) or made.get("tree") != tree.model_dump(mode="json"):
            raise UserError(f"{directory} was made with other tree settings: run `canopy preferences` again")
        check_files(directory, [PAIRS_FILE])
    ordered = sorted(directories, key=lambda directory: manifests[directory]["facts"]["shard"])
    numbers = [manifests[directory]["facts"]["shard"] for directory in ordered]
    counts = sorted({manifests[directory]["facts"]["shards"] for directory in ordered})
    if len(counts) != 1 or numbers != list(range(counts[0])):
        of = " and ".join(map(str, counts))
        raise UserError(f"--preferences: got shards {numbers} of {of}; give each of them once")
    if len({json.dumps(list((manifests[directory].get("inputs") or {}).values())) for directory in ordered}) != 1:
        raise UserError(f"--preferences: {', '.join(map(str, ordered))} are not of one corpus: mine them again")
    return ordered


def read_pairs(directories: Sequence[Path], split: str) -> pl.DataFrame:
    """The pairs of one split, in the order of the directories and of their files; one file is held at a time."""
    ours = pl.col("split") == split
    return pl.concat([read_frame(directory / PAIRS_FILE, PAIR_SCHEMA).filter(ours) for directory in directories])


def gold_items(corpus: Path, questions: list[Question]) -> dict[str, Item]:
    """The gold items of the questions, as far as the corpus has them."""
    wanted = sorted({gold.item_id for question in questions for gold in question.gold})
    found = pl.scan_parquet(_items_file(corpus)).filter(pl.col("item_id").is_in(wanted)).select(*ITEM_SCHEMA).collect()
    return {row["item_id"]: item_from_row(row) for row in found.iter_rows(named=True)}


def _items_file(corpus: Path) -> Path:
    path = corpus / "items.parquet"
    if not path.is_file():
        raise UserError(f"{path} does not exist: run `canopy corpus` first")
    return path


def merged_gold(question: Question) -> list[Gold]:
    """The question's gold with one entry an item: references to the same item are joined."""
    units: dict[str, set[int]] = {}
    for gold in question.gold:
        units.setdefault(gold.item_id, set()).update(gold.units)
    return [Gold(item_id, tuple(sorted(own))) for item_id, own in units.items()]


def label_pairs(tree: Tree, gold_units: tuple[int, ...]) -> Pairs:
    """Every (parent, child) pair whose parent holds gold without being gold in full (DESIGN section 4).

    Descend if the child holds gold, stay if it holds none.
    """
    mark = np.zeros(int(tree.ends[0]) + 1, np.int64)
    mark[np.asarray(gold_units, np.int64) + 1] = 1
    before = np.cumsum(mark)
    held = before[tree.ends] - before[tree.starts]
    partly = (held > 0) & (held < tree.ends - tree.starts)
    children = np.arange(1, len(tree))
    children = children[partly[tree.parents[1:]]]
    return Pairs(tree.parents[children].astype(np.int64), children, held[children] > 0)


def _rows(question: Question, gold: Gold, item: Item, fan_out: int) -> Iterator[dict[str, Any]]:
    if any(not 0 <= unit < len(item.units) for unit in gold.units):
        raise UserError(
            f"question {question.qid}: gold units {list(gold.units)} of {item.item_id}, which has {len(item.units)}: "
            "parse the benchmark again"
        )
    tree = item_tree(item, fan_out)
    pairs = label_pairs(tree, gold.units)
    for parent, child, descend in zip(pairs.parents, pairs.children, pairs.descend, strict=True):
        yield {
            "split": question.split,
            "qid": question.qid,
            "item_id": item.item_id,
            "parent_start": int(tree.starts[parent]),
            "parent_end": int(tree.ends[parent]),
            "child_start": int(tree.starts[child]),
            "child_end": int(tree.ends[child]),
            "label": DESCEND if descend else STAY,
        }


def _fate(gold: Gold, item: Item, has_pairs: bool) -> str:
    """What became of a gold item: it gave pairs, or why it gave none."""
    if has_pairs:
        return "pairs"
    if not gold.units:
        return "no_units_named"
    return "one_unit" if len(item.units) == 1 else "gold_in_full"
