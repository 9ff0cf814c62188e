from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.contracts import Item, Span
from canopy.regions.refine import Refiner, kept_nodes, stacked
from canopy.regions.tree import Tree, build_tree
from canopy.settings.encoder import TreeSettings


def naive(tree: Tree, scores: np.ndarray, node: int = 0) -> list[int]:
    """The definition, word for word: a node is replaced by every child that scores at least as high."""
    better = [c for c in range(len(tree)) if tree.parents[c] == node and scores[c] >= scores[node]]
    if not better:
        return [node]
    return [kept for child in better for kept in naive(tree, scores, child)]


# Few distinct values, so that ties are common.
scores_of = st.integers(-4, 4).map(lambda n: np.float32(n / 4))


@given(st.data())
def test_kept_nodes_are_those_of_the_definition(data: st.DataObject) -> None:
    trees = [
        build_tree(data.draw(st.integers(0, 12)), (), data.draw(st.integers(2, 4)))
        for _ in range(data.draw(st.integers(1, 4)))
    ]
    scores = [np.array(data.draw(st.lists(scores_of, min_size=len(t), max_size=len(t))), np.float32) for t in trees]
    forest = stacked(trees)
    kept = np.flatnonzero(kept_nodes(forest.tree, np.concatenate(scores)))
    first = 0
    for tree, own in zip(trees, scores, strict=True):
        mine = kept[(kept >= first) & (kept < first + len(tree))] - first
        assert sorted(mine.tolist()) == sorted(naive(tree, own))
        assert len(mine) >= 1
        first += len(tree)


class Letters:
    """A stand-in encoder: a text's vector counts its letters a to d, so that scores can be worked by hand."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.seen += texts
        counts = np.array([[text.count(letter) for letter in "abcd"] for text in texts], np.float32).reshape(-1, 4)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


def item(name: str, sentences: Sequence[str]) -> Item:
    ends = np.cumsum([len(s) for s in sentences]).tolist()
    units = tuple(Span(end - len(s), end) for s, end in zip(sentences, ends, strict=True))
    return Item(name, "nq", name, "text", "", "".join(sentences), units)


A, B = np.eye(4, dtype=np.float32)[:2]


def kept(regions: Sequence[object]) -> list[tuple[int, int]]:
    return [(r.unit_start, r.unit_end) for r in regions]  # type: ignore[attr-defined]


def test_regions_of_different_depth_in_document_order() -> None:
    # Root "aabb bbbb aaab cccc": the query a scores the halves [0,2) and [2,4); each is judged against its own parent.
    refiner = Refiner(Letters(), TreeSettings())
    mixed = item("x", ["aabb ", "bbbb ", "aaab ", "cccc "])
    [regions] = refiner.refine(np.stack([A]), [(0, mixed)])
    # cosine to a: root 5/sqrt(25+49+16)=.527; [0,2) 2/sqrt(4+36)=.316 (out); [2,4) 3/sqrt(9+1+16)=.588;
    # below it [2,3) 3/sqrt(10)=.949, [3,4) 0 (out).
    assert kept(regions) == [(2, 3)]
    assert regions[0].score == pytest.approx(3 / 10**0.5, abs=1e-6)
    assert (regions[0].start, regions[0].end) == (10, 15)
    assert regions[0].body == "aaab"
    [regions] = refiner.refine(np.stack([B]), [(0, mixed)])
    assert kept(regions) == [(1, 2)]


def test_several_branches_and_a_coarse_one() -> None:
    mixed = item("x", ["aabb", "aaaa", "aaab", "aaab"])
    [regions] = Refiner(Letters(), TreeSettings()).refine(np.stack([A]), [(0, mixed)])
    # cosine to a: root 12/sqrt(160)=.949; both halves 6/sqrt(40), the same (twice as little of both letters): ties
    # descend; leaf 0 .707 out, leaf 1 1.0 in, leaves 2 and 3 tie with their parent and replace it.
    assert kept(regions) == [(1, 2), (2, 3), (3, 4)]


def test_the_root_stays_when_nothing_beats_it() -> None:
    [regions] = Refiner(Letters(), TreeSettings()).refine(np.stack([(A + B) / 2**0.5]), [(0, item("x", ["aa", "bb"]))])
    assert kept(regions) == [(0, 2)]


@pytest.mark.parametrize("content", ["", "aab"])
def test_an_item_without_units_is_kept_whole(content: str) -> None:
    bare = Item("x", "nq", "x", "text", "T", content, ())
    [[region]] = Refiner(Letters(), TreeSettings()).refine(np.stack([A]), [(0, bare)])
    assert (region.unit_start, region.unit_end, region.body) == (0, 0, content)
    assert (region.start, region.end) == (0, len(content))


def test_one_unit_is_kept_whole_and_no_request_is_no_work() -> None:
    refiner = Refiner(Letters(), TreeSettings())
    assert kept(refiner.refine(np.stack([B]), [(0, item("x", ["aaaa"]))])[0]) == [(0, 1)]
    assert refiner.refine(np.stack([B]), []) == []


def test_each_item_is_encoded_once_whatever_the_queries() -> None:
    encoder = Letters()
    refiner = Refiner(encoder, TreeSettings())
    one, two = item("1", ["ab", "cd"]), item("2", ["ad", "bc", "a"])
    batch = refiner.refine(np.stack([A, B]), [(0, one), (1, one), (1, two), (0, two)])
    assert len(encoder.seen) == 3 + 5
    assert batch == refiner.refine(np.stack([A, B]), [(0, one), (1, one), (1, two), (0, two)])
    assert len(encoder.seen) == 3 + 5
    alone = [Refiner(Letters(), TreeSettings()).refine(np.stack([q]), [(0, i)])[0] for q, i in ((A, one), (B, one))]
    assert batch[:2] == alone


def test_the_cache_drops_the_least_recently_used_item() -> None:
    encoder = Letters()
    refiner = Refiner(encoder, TreeSettings(), cached_items=2)
    one, two, three = (item(name, ["ab"]) for name in "123")
    for asked in (one, two, one, three, one):
        refiner.refine(np.stack([A]), [(0, asked)])
    assert len(encoder.seen) == 3
    refiner.refine(np.stack([A]), [(0, two)])
    assert len(encoder.seen) == 4


def test_items_that_share_an_id_but_not_their_content_are_not_confused() -> None:
    refiner = Refiner(Letters(), TreeSettings())
    first = refiner.refine(np.stack([A]), [(0, item("x", ["bb", "aa"]))])[0]
    second = refiner.refine(np.stack([A]), [(0, item("x", ["aa", "bb"]))])[0]
    assert [kept(first), kept(second)] == [[(1, 2)], [(0, 1)]]


class Constant:
    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.tile(A, (len(texts), 1))


def test_a_large_item_does_not_recurse() -> None:
    large = item("x", ["ab"] * 20_000)
    [regions] = Refiner(Constant(), TreeSettings()).refine(np.stack([A]), [(0, large)])
    assert kept(regions) == [(n, n + 1) for n in range(20_000)], "all nodes tie, so all leaves are kept"
