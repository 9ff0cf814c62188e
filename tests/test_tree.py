from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.contracts import Item, Span
from canopy.errors import UserError
from canopy.regions.tree import Tree, build_tree, item_tree


def nodes(tree: Tree) -> list[tuple[int, int, int]]:
    return list(zip(tree.starts.tolist(), tree.ends.tolist(), tree.parents.tolist(), strict=True))


def children(tree: Tree, node: int) -> list[int]:
    return np.flatnonzero(tree.parents == node).tolist()


@st.composite
def shapes(draw: st.DrawFn) -> tuple[list[int], list[Span], int]:
    sizes = draw(st.lists(st.integers(0, 300), max_size=60))
    cuts = draw(st.sets(st.integers(1, max(1, len(sizes) - 1)), max_size=6)) if len(sizes) > 1 else set()
    bounds = [0, *sorted(cuts), len(sizes)]
    groups = [Span(a, b) for a, b in itertools.pairwise(bounds)] if cuts else []
    return sizes, groups, draw(st.integers(2, 5))


@given(shapes())
def test_children_partition_their_parent_down_to_single_units(shape: tuple[list[int], list[Span], int]) -> None:
    sizes, groups, fan_out = shape
    tree = build_tree(len(sizes), groups, fan_out, sizes)
    assert nodes(tree)[0] == (0, len(sizes), -1)
    assert (np.diff(tree.levels) >= 0).all()
    for node in range(len(tree)):
        below = children(tree, node)
        start, end = int(tree.starts[node]), int(tree.ends[node])
        if not below:
            assert end - start == 1 or (node == 0 and not sizes)
            continue
        assert below == list(range(below[0], below[-1] + 1)), "children lie next to each other"
        assert len(below) >= 2, "no one-child chain"
        assert len(below) <= fan_out or (node == 0 and len(below) == len(groups))
        assert all(tree.levels[child] == tree.levels[node] + 1 for child in below)
        edges = [start, *(int(tree.ends[child]) for child in below)]
        assert [int(tree.starts[child]) for child in below] == edges[:-1]
        assert edges[-1] == end
        assert all(a < b for a, b in itertools.pairwise(edges)), "no empty node"


@given(shapes())
def test_groups_are_the_children_of_the_root(shape: tuple[list[int], list[Span], int]) -> None:
    sizes, groups, fan_out = shape
    tree = build_tree(len(sizes), groups, fan_out, sizes)
    if groups:
        top = children(tree, 0)
        assert [Span(int(tree.starts[n]), int(tree.ends[n])) for n in top] == groups


@given(st.lists(st.integers(1, 300), min_size=2, max_size=40))
def test_binary_split_is_at_the_boundary_nearest_the_middle_of_the_length(sizes: list[int]) -> None:
    tree = build_tree(len(sizes), (), 2, sizes)
    assert len(tree) == 2 * len(sizes) - 1
    for node in range(len(tree)):
        below = children(tree, node)
        if below:
            start, end = int(tree.starts[node]), int(tree.ends[node])
            distance = {cut: abs(sum(sizes[start:cut]) - sum(sizes[cut:end])) for cut in range(start + 1, end)}
            assert int(tree.ends[below[0]]) == min(distance, key=lambda cut: (distance[cut], cut))


def test_worked_example() -> None:
    # Lengths 10 10 10 30: the middle of 60 is the third boundary.
    assert nodes(build_tree(4, (), 2, [10, 10, 10, 30])) == [
        (0, 4, -1), (0, 3, 0), (3, 4, 0), (0, 1, 1), (1, 3, 1), (1, 2, 4), (2, 3, 4)
    ]  # fmt: skip


@pytest.mark.parametrize("fan_out", [2, 3, 7])
def test_one_hundred_thousand_units(fan_out: int) -> None:
    sizes = np.random.default_rng(5).integers(0, 400, 100_000).tolist()
    tree = build_tree(len(sizes), (), fan_out, sizes)
    assert (np.bincount(tree.parents[1:], minlength=len(tree)) != 1).all()
    assert (tree.ends > tree.starts).all()
    assert int((tree.ends - tree.starts == 1).sum()) == len(sizes)


def test_empty_units_do_not_make_chains() -> None:
    assert build_tree(1000, (), 2, [0] * 1000).levels.max() == 10


@pytest.mark.parametrize("units", [0, 1])
def test_nothing_to_split_is_a_root_alone(units: int) -> None:
    assert nodes(build_tree(units, (), 2)) == [(0, units, -1)]


def test_a_single_group_adds_no_level() -> None:
    assert nodes(build_tree(3, [Span(0, 3)], 2)) == nodes(build_tree(3, (), 2))


@pytest.mark.parametrize("groups", [[Span(0, 2)], [Span(0, 2), Span(3, 4)], [Span(0, 2), Span(2, 2), Span(2, 4)]])
def test_groups_that_do_not_partition_name_the_item(groups: list[Span]) -> None:
    units = tuple(Span(n, n + 1) for n in range(4))
    item = Item("nq:7", "nq", "d", "text", "T", "abcd", units, tuple(groups), source="psgs.tsv:7")
    with pytest.raises(UserError, match=r"nq:7 \(psgs.tsv:7\): groups"):
        item_tree(item, 2)
