"""Parent-relative refinement: which regions of each retrieved item stand out against their parents."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from canopy.contracts import Item
from canopy.regions.render import Region, joined, region, renderer
from canopy.regions.tree import Tree, item_tree
from canopy.settings.encoder import TreeSettings

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]

# Node vectors gathered at a time: 65,536 of 384 floats are 100 MB.
_NODES_AT_ONCE = 65_536


class NodeEncoder(Protocol):
    """What refinement needs of an encoder."""

    def encode(self, texts: Sequence[str]) -> Floats:
        """Texts to float32 [n, d] of L2 norm 1."""
        ...


@dataclass(frozen=True, slots=True)
class EncodedItem:
    """A region tree with the vector of each of its nodes, float32 [nodes, d]; the query plays no part."""

    tree: Tree
    vectors: Floats


class Refiner:
    """Refines retrieved items against queries; node vectors are kept for items that come back."""

    def __init__(self, encoder: NodeEncoder, tree: TreeSettings, cached_items: int = 20_000) -> None:
        """Use one encoder and one shape of tree.

        Args:
            encoder: the node encoder.
            tree: shape of the region trees.
            cached_items: items whose node vectors are kept, least recently used out first.
        """
        self._encoder = encoder
        self._fan_out = tree.fan_out
        self._limit = cached_items
        self._cache: OrderedDict[Item, EncodedItem] = OrderedDict()

    def refine(self, queries: Floats, requests: Sequence[tuple[int, Item]]) -> list[list[Region]]:
        """Refine all requests of a batch together.

        From the root, a node is replaced by every child with s(child) >= s(parent), and kept whole
        where there is none (DESIGN section 4). s is the cosine in float32.

        Args:
            queries: float32 [q, d], L2-normalised, from the frozen query encoder.
            requests: (row of ``queries``, item).

        Returns:
            For each request the kept regions in document order, never none: the root stays when
            nothing beats it.
        """
        if not requests:
            return []
        # Hashing an item reads all of it, so it is done once a request.
        number: dict[Item, int] = {}
        asked = [(query, number.setdefault(item, len(number))) for query, item in requests]
        encoded = self._encode(list(number))
        forest = stacked([encoded[item].tree for _, item in asked])
        step = max(1, _NODES_AT_ONCE // max(len(item.tree) for item in encoded))
        scores = np.concatenate(
            [_cosines(queries, asked[at : at + step], encoded) for at in range(0, len(asked), step)]
        )
        kept = np.flatnonzero(kept_nodes(forest.tree, scores))
        kept = kept[np.lexsort((forest.tree.starts[kept], forest.owners[kept]))]
        return _regions(forest, kept, scores, [item for _, item in requests])

    def _encode(self, items: Sequence[Item]) -> list[EncodedItem]:
        """Trees and node vectors of distinct items; those not in the cache are encoded in one call."""
        found = [self._cache.get(item) for item in items]
        missing = [item for item, encoded in zip(items, found, strict=True) if encoded is None]
        new = iter(encode_items(self._encoder, missing, self._fan_out))
        complete = [encoded or next(new) for encoded in found]
        for item, encoded in zip(items, complete, strict=True):
            self._cache[item] = encoded
            self._cache.move_to_end(item)
        while len(self._cache) > self._limit:
            self._cache.popitem(last=False)
        return complete


def node_texts(item: Item, tree: Tree) -> list[str]:
    """The rendering of each node, in node order."""
    parts = renderer(item)
    return [joined(*parts(start, end)) for start, end in zip(tree.starts.tolist(), tree.ends.tolist(), strict=True)]


def encode_items(encoder: NodeEncoder, items: Sequence[Item], fan_out: int) -> list[EncodedItem]:
    """Build the items' trees and encode all of their nodes in one call."""
    trees = [item_tree(item, fan_out) for item in items]
    texts = [text for item, tree in zip(items, trees, strict=True) for text in node_texts(item, tree)]
    if not texts:
        return []
    bounds = np.cumsum([len(tree) for tree in trees])[:-1]
    # Copies, so that an item that leaves the cache frees its memory.
    parts = [part.copy() for part in np.split(encoder.encode(texts), bounds)]
    return [EncodedItem(tree, vectors) for tree, vectors in zip(trees, parts, strict=True)]


@dataclass(frozen=True, slots=True)
class Forest:
    """The trees of all requests one behind the other; int64 ``owners`` [nodes] gives each node's request."""

    tree: Tree
    owners: NDArray[np.int64]


def stacked(trees: Sequence[Tree]) -> Forest:
    """Join trees; parents point into the joined arrays, roots keep -1."""
    counts = np.array([len(tree) for tree in trees])
    firsts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    parents = np.concatenate([tree.parents for tree in trees])
    shifted = np.where(parents < 0, -1, parents + np.repeat(firsts, counts)).astype(np.int32)
    starts, ends, levels = (np.concatenate([getattr(t, name) for t in trees]) for name in ("starts", "ends", "levels"))
    return Forest(Tree(starts, ends, shifted, levels), np.repeat(np.arange(len(trees)), counts))


def kept_nodes(tree: Tree, scores: Floats) -> Bools:
    """Mark the nodes that refinement keeps, over a tree or a stack of trees, level by level.

    A child is reached when its parent is and its score is at least as high; a reached node without a
    reached child is kept.

    Args:
        tree: nodes with their parents and levels.
        scores: float32 [nodes].

    Returns:
        bool [nodes].
    """
    reached = tree.parents < 0
    replaced = np.zeros(len(tree), np.bool_)
    by_level = np.argsort(tree.levels, kind="stable")
    bounds = np.cumsum(np.bincount(tree.levels))
    for level in range(1, len(bounds)):
        nodes = by_level[bounds[level - 1] : bounds[level]]
        parents = tree.parents[nodes]
        reached[nodes] = reached[parents] & (scores[nodes] >= scores[parents])
        replaced[parents[reached[nodes]]] = True
    return reached & ~replaced


def _cosines(queries: Floats, asked: Sequence[tuple[int, int]], encoded: Sequence[EncodedItem]) -> Floats:
    """Score of every node of every (query, item) asked for: float32 [nodes].

    The dot products are taken row by row, not by a matrix product, whose last bits depend on the
    number of rows.
    """
    vectors = np.concatenate([encoded[item].vectors for _, item in asked])
    rows = np.repeat([query for query, _ in asked], [len(encoded[item].tree) for _, item in asked])
    scores: Floats = np.einsum("nd,nd->n", vectors, queries[rows], dtype=np.float32)
    return scores


def _regions(forest: Forest, kept: NDArray[np.int64], scores: Floats, items: Sequence[Item]) -> list[list[Region]]:
    """The kept nodes, sorted by request and start, as regions: one list a request."""
    regions: list[list[Region]] = [[] for _ in items]
    columns = [part[kept].tolist() for part in (forest.owners, forest.tree.starts, forest.tree.ends, scores)]
    ranges = zip(*columns, strict=True)
    for owner, nodes in groupby(ranges, key=itemgetter(0)):
        parts = renderer(items[owner])
        regions[owner] = [region(items[owner], parts, start, end, score) for _, start, end, score in nodes]
    return regions
