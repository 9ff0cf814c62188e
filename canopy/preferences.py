"""Gold preferences: which children of a node hold gold evidence, for every node on a path to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from canopy.artefacts import build
from canopy.contracts import ITEM_SCHEMA, Gold, Item, Question, item_from_row, read_questions
from canopy.errors import UserError
from canopy.progress import track
from canopy.regions.tree import Tree, item_tree
from canopy.settings.encoder import PreferenceSettings

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


def run(corpus: Path, settings: PreferenceSettings, out: Path) -> None:
    """Label the pairs of the gold items of all questions, of all splits.

    Args:
        corpus: directory of the ``corpus`` stage.
        settings: shape of the region trees.
        out: directory for ``pairs.parquet`` (:data:`PAIR_SCHEMA`, unit ranges half-open). The facts
            count, by benchmark and split, gold references by what became of them, and labels.

    Raises:
        UserError: the corpus is missing, or a gold unit lies outside its item.
    """
    questions = read_questions(corpus / "questions.parquet")
    items = gold_items(corpus, questions)
    rows: list[dict[str, Any]] = []
    blocks: list[pl.DataFrame] = []
    fates: Counter[tuple[str, str, str]] = Counter()
    with build(out, "preferences", settings.model_dump(mode="json"), [corpus]) as artefact:
        for question in track(questions, "mining preferences"):
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
            "gold_items": [
                {"benchmark": b, "split": s, "fate": f, "count": n} for (b, s, f), n in sorted(fates.items())
            ],
            "pairs": [{"split": split, "label": label, "count": count} for split, label, count in labels],
            "forward_seconds": 0.0,
        }


def gold_items(corpus: Path, questions: list[Question]) -> dict[str, Item]:
    """The gold items of the questions, as far as the corpus has them."""
    wanted = sorted({gold.item_id for question in questions for gold in question.gold})
    path = corpus / "items.parquet"
    if not path.is_file():
        raise UserError(f"{path} does not exist: run `canopy corpus` first")
    found = pl.scan_parquet(path).filter(pl.col("item_id").is_in(wanted)).select(*ITEM_SCHEMA).collect()
    return {row["item_id"]: item_from_row(row) for row in found.iter_rows(named=True)}


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
