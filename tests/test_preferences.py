from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.artefacts import build, read_manifest
from canopy.balance import question_bounds
from canopy.contracts import ITEM_SCHEMA, QUESTION_SCHEMA, Gold, Item, Question, Span, frame_of, read_questions
from canopy.errors import UserError
from canopy.preferences import in_order, label_pairs, read_pairs, run
from canopy.regions.tree import build_tree
from canopy.settings.encoder import PreferenceSettings, TreeSettings


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


def many(root: Path) -> Path:
    """Forty questions, the last ten of which have gold in an item ten times as long, or none."""
    items = [item("short", 10), item("long", 100)]
    gold = [("short",)] * 30 + [("long",)] * 8 + [(), ("gone",)]
    asked = [
        question(f"q{n:02d}", *(Gold(f"nq:{name}", (n % 10,)) for name in names), split=("train", "test")[n % 2])
        for n, names in enumerate(gold)
    ]
    return corpus(root, items, asked)


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 40, 45])
def test_shards_together_are_one_job_for_all(tmp_path: Path, shards: int) -> None:
    where = many(tmp_path)
    run(where, PreferenceSettings(), tmp_path / "whole")
    parts = [tmp_path / f"shard-{n}" for n in range(shards)]
    for n, out in enumerate(parts):
        run(where, PreferenceSettings(), out, n, shards)
    gathered = in_order([*parts[1:], parts[0]], TreeSettings())
    assert gathered == parts
    whole = pl.read_parquet(tmp_path / "whole" / "pairs.parquet")
    assert whole.height > 0
    for split in ("train", "dev", "test"):
        assert read_pairs(gathered, split).equals(whole.filter(pl.col("split") == split))
    facts = [read_manifest(part)["facts"] for part in parts]
    assert sum(f["questions"] for f in facts) == 40
    fates: dict[tuple[str, str], int] = {}
    for row in (row for f in facts for row in f["gold_items"]):
        fates[row["split"], row["fate"]] = fates.get((row["split"], row["fate"]), 0) + row["count"]
    expected = read_manifest(tmp_path / "whole")["facts"]["gold_items"]
    assert fates == {(row["split"], row["fate"]): row["count"] for row in expected}


def test_shards_are_balanced_by_the_length_of_gold_items_not_by_questions(tmp_path: Path) -> None:
    where = many(tmp_path)
    # Thirty questions of about 120 characters and eight of about 1,200: half of all is among the long ones.
    asked = read_questions(where / "questions.parquet")
    bounds = question_bounds(asked, where / "items.parquet", 2)
    assert bounds[0] == 0 and bounds[2] == 40 and 31 <= bounds[1] <= 33
    assert question_bounds(asked, where / "items.parquet", 1) == [0, 40]


def test_shards_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    where = many(tmp_path)
    parts = [tmp_path / f"shard-{n}" for n in range(3)]
    for n, out in enumerate(parts):
        run(where, PreferenceSettings(), out, n, 3)
    with pytest.raises(UserError, match=r"got shards \[0, 2\] of 3"):
        in_order([parts[0], parts[2]], TreeSettings())
    with pytest.raises(UserError, match=r"got shards \[0, 1, 1, 2\] of 3"):
        in_order([*parts, parts[1]], TreeSettings())
    with pytest.raises(UserError, match=r"shard-0 was made with other tree settings"):
        in_order(parts, TreeSettings(fan_out=3))
    with pytest.raises(UserError, match=r"--shard 3 is not one of 0 to 2"):
        run(where, PreferenceSettings(), tmp_path / "out", 3, 3)
    run(where, PreferenceSettings(), parts[2], 2, 4)
    with pytest.raises(UserError, match=r"got shards \[0, 1, 2\] of 3 and 4"):
        in_order(parts, TreeSettings())
    other = corpus(tmp_path / "other", [item("a", 4)], [question(f"q{n}", Gold("nq:a", (1,))) for n in range(9)])
    run(other, PreferenceSettings(), parts[2], 2, 3)
    with pytest.raises(UserError, match=r"are not of one corpus"):
        in_order(parts, TreeSettings())


def test_a_shard_altered_after_it_was_written_is_named(tmp_path: Path) -> None:
    where = many(tmp_path)
    run(where, PreferenceSettings(), tmp_path / "shard-0")
    file = tmp_path / "shard-0" / "pairs.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(UserError, match=r"shard-0/pairs.parquet is not as it was written"):
        in_order([tmp_path / "shard-0"], TreeSettings())


@pytest.mark.parametrize("facts", [{}, {"shard": "0", "shards": 1}, {"shard": 0}, {"shard": True, "shards": 1}])
def test_a_manifest_of_another_version_is_named(tmp_path: Path, facts: object) -> None:
    run(many(tmp_path), PreferenceSettings(), tmp_path / "shard-0")
    manifest = tmp_path / "shard-0" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"facts": facts}))
    with pytest.raises(UserError, match=r"manifest.json is not of this version"):
        in_order([tmp_path / "shard-0"], TreeSettings())
