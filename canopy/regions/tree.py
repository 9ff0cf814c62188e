"""Region trees: one hierarchy of unit ranges per item, the same procedure for every modality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from canopy.contracts import Item, Span
from canopy.errors import UserError

Ints = NDArray[np.int32]
_Long = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tree:
    """A hierarchy of half-open unit ranges in breadth-first order; node 0 is the root (the whole item).

    The children of a node lie next to each other, in document order, and partition it. Leaves are
    single units, except that an item without units has a root with the empty range and nothing else.

    Attributes:
        starts: int32 [nodes], first unit of each node.
        ends: int32 [nodes], unit after the last.
        parents: int32 [nodes], index of the parent; -1 for the root.
        levels: int32 [nodes], distance from the root; never decreasing.
    """

    starts: Ints
    ends: Ints
    parents: Ints
    levels: Ints

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self.starts)


def item_tree(item: Item, fan_out: int) -> Tree:
    """The region tree of an item, split by the native lengths of its units.

    Raises:
        UserError: the item's groups do not partition its units.
    """
    sizes = [unit.end - unit.start for unit in item.units]
    try:
        return build_tree(len(item.units), item.groups, fan_out, sizes)
    except ValueError as error:
        raise UserError(f"item {item.item_id} ({item.source}): {error}; parse it again") from error


def build_tree(n_units: int, groups: Sequence[Span], fan_out: int, sizes: Sequence[int] | None = None) -> Tree:
    """Build a tree level by level; 100,000 units take well under a second and no recursion.

    The groups, where there are any, are the root's children. Below them (or below the root) a range
    is split at the unit boundaries nearest to the ``i / fan_out`` points of its length, so in two
    at the boundary nearest the middle; of two equally near boundaries the left one is taken. No
    child is empty, no node has a single child: a binary tree without groups has ``2 n - 1`` nodes.

    Args:
        n_units: number of minimal units, 0 or more.
        groups: half-open unit ranges that partition the units in order, or none.
        fan_out: children of a split range, 2 or more; ranges with fewer units split into all of them.
        sizes: native length of each unit (characters, rows, milliseconds); all equal when None.
            An empty unit counts as length 1.

    Raises:
        ValueError: the groups do not partition the units, or there are not ``n_units`` sizes.
    """
    lengths = np.ones(n_units, np.int64) if sizes is None else np.maximum(np.asarray(sizes, np.int64), 1)
    if len(lengths) != n_units:
        raise ValueError(f"{len(lengths)} unit sizes for {n_units} units")
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    _check_groups(groups, n_units)

    starts, ends, parents = [np.array([0])], [np.array([n_units])], [np.array([-1])]
    first_of_level = 0
    if len(groups) > 1:
        starts.append(np.array([g.start for g in groups]))
        ends.append(np.array([g.end for g in groups]))
        parents.append(np.zeros(len(groups), np.int64))
        first_of_level = 1
    while True:
        split = np.flatnonzero(ends[-1] - starts[-1] > 1)
        if not len(split):
            break
        child_starts, child_ends, owners = _split(starts[-1][split], ends[-1][split], offsets, fan_out)
        parents.append(first_of_level + split[owners])
        first_of_level += len(starts[-1])
        starts.append(child_starts)
        ends.append(child_ends)
    levels = np.repeat(np.arange(len(starts)), [len(level) for level in starts])
    return Tree(_ints(starts), _ints(ends), _ints(parents), levels.astype(np.int32))


def _ints(parts: Sequence[_Long]) -> Ints:
    return np.concatenate(parts).astype(np.int32)


def _check_groups(groups: Sequence[Span], n_units: int) -> None:
    at = 0
    for group in groups:
        if group.start != at or group.end <= at:
            raise ValueError(f"groups do not partition {n_units} units: {group} does not go on from {at}")
        at = group.end
    if groups and at != n_units:
        raise ValueError(f"groups cover {at} of {n_units} units")


def _split(starts: _Long, ends: _Long, offsets: _Long, fan_out: int) -> tuple[_Long, _Long, _Long]:
    """Children of ranges of two or more units: their starts, ends, and the range each belongs to."""
    parts = np.minimum(fan_out, ends - starts)
    bounds = np.empty((len(starts), fan_out + 1), np.int64)
    bounds[:, 0] = starts
    for column in range(1, fan_out + 1):
        part = np.minimum(column, parts)  # a range with fewer parts repeats its end
        cut = _nearest(offsets, offsets[starts] * (parts - part) + offsets[ends] * part, parts)
        # At least one unit for this child and for each of those to the right.
        bounds[:, column] = np.minimum(np.maximum(cut, bounds[:, column - 1] + 1), ends - (parts - part))
    child_starts, child_ends = bounds[:, :-1], bounds[:, 1:]
    real = child_ends > child_starts
    return child_starts[real], child_ends[real], np.nonzero(real)[0]


def _nearest(offsets: _Long, target: _Long, scale: _Long) -> _Long:
    """Index of the boundary nearest to ``target / scale``, the left one of two as near (exact integers)."""
    right = np.searchsorted(offsets, -(-target // scale))
    left = np.maximum(right - 1, 0)
    return np.where(target - offsets[left] * scale <= offsets[right] * scale - target, left, right)
