"""Preference pairs made ready for the encoder: each distinct node text once, pairs as indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from canopy.contracts import Item, Question
from canopy.errors import UserError
from canopy.preferences import DESCEND
from canopy.regions.render import joined, renderer

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PairSet:
    """Labelled pairs over a list of distinct node texts.

    Attributes:
        texts: node renderings, each once.
        queries: int64 [pairs], position of the pair's question in the list given to :func:`pair_set`.
        parents: int64 [pairs], position of the parent in ``texts``.
        children: int64 [pairs], position of the child in ``texts``.
        descend: bool [pairs], True where the child holds gold.
    """

    texts: list[str]
    queries: Ints
    parents: Ints
    children: Ints
    descend: NDArray[np.bool_]

    def of_queries(self, chosen: Sequence[int]) -> PairSet:
        """The pairs of the questions at these positions, with only the texts that they use."""
        rows = np.flatnonzero(np.isin(self.queries, chosen))
        used, compact = np.unique(np.concatenate((self.parents[rows], self.children[rows])), return_inverse=True)
        return PairSet(
            [self.texts[position] for position in used],
            self.queries[rows],
            compact[: len(rows)],
            compact[len(rows) :],
            self.descend[rows],
        )

    def scores(self, queries: Floats, nodes: Floats) -> tuple[Floats, Floats]:
        """Parent and child scores: float32 [pairs] each, from query vectors and node vectors [n, d]."""
        asked = queries[self.queries]
        parents: Floats = np.einsum("nd,nd->n", asked, nodes[self.parents], dtype=np.float32)
        children: Floats = np.einsum("nd,nd->n", asked, nodes[self.children], dtype=np.float32)
        return parents, children


def pair_set(pairs: pl.DataFrame, questions: Sequence[Question], items: dict[str, Item]) -> PairSet:
    """Render the pairs' nodes.

    Raises:
        UserError: a pair is of a question or an item that is not there.
    """
    position = {question.qid: n for n, question in enumerate(questions)}
    missing = (set(pairs["qid"]) - set(position)) | (set(pairs["item_id"]) - set(items))
    if missing:
        raise UserError(
            f"preferences of {min(missing)}, which the corpus does not have: run `canopy preferences` again"
        )
    parts = {item_id: renderer(items[item_id]) for item_id in pairs["item_id"].unique().to_list()}
    texts: dict[str, int] = {}

    def node(item_id: str, start: int, end: int) -> int:
        return texts.setdefault(joined(*parts[item_id](start, end)), len(texts))

    columns = ("item_id", "parent_start", "parent_end", "child_start", "child_end")
    nodes = [(node(i, ps, pe), node(i, cs, ce)) for i, ps, pe, cs, ce in pairs.select(columns).iter_rows()]
    ends = np.array(nodes, np.int64).reshape(-1, 2)
    asked = np.array([position[qid] for qid in pairs["qid"]], np.int64)
    return PairSet(list(texts), asked, ends[:, 0], ends[:, 1], (pairs["label"] == DESCEND).to_numpy())


def decide(parent_scores: Floats, child_scores: Floats) -> NDArray[np.bool_]:
    """The decision of refinement: descend where the child scores at least as high as its parent."""
    return child_scores >= parent_scores


def accuracy(pairs: PairSet, descends: NDArray[np.bool_]) -> dict[str, float]:
    """Shares of right decisions: of all pairs, of those to descend, of those to stay (nan where none)."""
    right = descends == pairs.descend
    return {
        "accuracy": _share(right),
        "descend_accuracy": _share(right[pairs.descend]),
        "stay_accuracy": _share(right[~pairs.descend]),
    }


def _share(right: NDArray[np.bool_]) -> float:
    return float(right.mean()) if len(right) else float("nan")
