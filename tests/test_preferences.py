from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.artefacts import build, read_manifest
from canopy.contracts import ITEM_SCHEMA, QUESTION_SCHEMA, Gold, Item, Question, Span, frame_of
from canopy.errors import UserError
from canopy.preferences import label_pairs, run
from canopy.regions.tree import build_tree
from canopy.settings.encoder import PreferenceSettings


def item(name: str, units: int) -> Item:
    text = "".join(f"Sentence {n}. " for n in range(units))
    return Item(f"nq:{name}", "nq", name, "text", name, text, tuple(Span(12 * n, 12 * n + 12) for n in range(units)))


def question(name: str, *gold: Gold, split: str = "train") -> Question:
    return Question(f"nq:{name}", "nq", split, f"{name}?", (), ("x",), "span", gold)  # type: ignore[arg-type]


def corpus(root: Path, items: list[Item], questions: list[Question]) -> Path:
    with build(root / "corpus", "corpus", {}) as artefact:
        frame_of(items, ITEM_SCHEMA).write_parquet(artefact.path / "items.parquet")
        frame_of(questions, QUESTION_SCHEMA).write_parquet(artefact.path / "questions.parquet")
    return root / "corpus"


def test_worked_example() -> None:
    # Units 0-3 with gold 2 and 3: the root is partly gold; [2,4) is gold in full, so nothing below it is asked.
    pairs = label_pairs(build_tree(4, (), 2), (2, 3))
    assert list(zip(pairs.parents, pairs.children, pairs.descend, strict=True)) == [(0, 1, False), (0, 2, True)]
    # Gold 1: root -> [0,2) descend, [2,4) stay; [0,2) -> 0 stay, 1 descend.
    pairs = label_pairs(build_tree(4, (), 2), (1,))
    assert list(zip(pairs.parents, pairs.children, pairs.descend, strict=True)) == [
        (0, 1, True), (0, 2, False), (1, 3, False), (1, 4, True)
    ]  # fmt: skip


@given(st.data())
def test_pairs_are_those_of_the_definition(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 20))
    gold = data.draw(st.sets(st.integers(0, n - 1)))
    tree = build_tree(n, (), data.draw(st.integers(2, 4)))
    ranges = [set(range(a, b)) for a, b in zip(tree.starts.tolist(), tree.ends.tolist(), strict=True)]
    expected = {
        (parent, child, bool(ranges[child] & gold))
        for child, parent in enumerate(tree.parents.tolist())
        if parent >= 0 and ranges[parent] & gold and not ranges[parent] <= gold
    }
    pairs = label_pairs(tree, tuple(sorted(gold)))
    found = list(zip(pairs.parents.tolist(), pairs.children.tolist(), pairs.descend.tolist(), strict=True))
    assert set(found) == expected and len(found) == len(expected)
    for parent in np.unique(pairs.parents):
        assert pairs.descend[pairs.parents == parent].any(), "a parent that holds gold has a child that does"


def test_stage_writes_unit_ranges_of_all_splits(tmp_path: Path) -> None:
    where = corpus(tmp_path, [item("a", 4)], [question("q", Gold("nq:a", (1,))), question("t", split="test")])
    run(where, PreferenceSettings(), tmp_path / "out")
    frame = pl.read_parquet(tmp_path / "out" / "pairs.parquet")
    columns = ["split", "qid", "parent_start", "parent_end", "child_start", "child_end", "label"]
    assert frame.select(columns).rows() == [
        ("train", "nq:q", 0, 4, 0, 2, "descend"),
        ("train", "nq:q", 0, 4, 2, 4, "stay"),
        ("train", "nq:q", 0, 2, 0, 1, "stay"),
        ("train", "nq:q", 0, 2, 1, 2, "descend"),
    ]


def test_gold_that_gives_no_pairs_is_counted_by_its_reason(tmp_path: Path) -> None:
    gold = [Gold("nq:a", (0, 1)), Gold("nq:b", (0,)), Gold("nq:c", ()), Gold("nq:gone", (0,)), Gold("nq:d", (2,))]
    where = corpus(tmp_path, [item("a", 2), item("b", 1), item("c", 3), item("d", 3)], [question("q", *gold)])
    run(where, PreferenceSettings(), tmp_path / "out")
    fates = {row["fate"]: row["count"] for row in read_manifest(tmp_path / "out")["facts"]["gold_items"]}
    assert fates == {"gold_in_full": 1, "one_unit": 1, "no_units_named": 1, "not_in_corpus": 1, "pairs": 1}


def test_two_references_to_one_item_are_one_gold_item(tmp_path: Path) -> None:
    where = corpus(tmp_path, [item("a", 2)], [question("q", Gold("nq:a", (0,)), Gold("nq:a", (1,)))])
    run(where, PreferenceSettings(), tmp_path / "out")
    assert pl.read_parquet(tmp_path / "out" / "pairs.parquet").height == 0, "together they are gold in full"


def test_a_gold_unit_outside_its_item_is_refused(tmp_path: Path) -> None:
    where = corpus(tmp_path, [item("a", 2)], [question("q", Gold("nq:a", (2,)))])
    with pytest.raises(UserError, match=r"nq:q: gold units \[2\] of nq:a, which has 2"):
        run(where, PreferenceSettings(), tmp_path / "out")
