"""Routes and retrieval: the new items of a round for a batch of queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from canopy.contracts import ITEM_SCHEMA, Item, item_from_row
from canopy.errors import UserError
from canopy.index import Hit


@dataclass(frozen=True, slots=True)
class Route:
    """What a query may retrieve; with ``whole_document``, a hit stands for its whole document."""

    modalities: frozenset[str]
    whole_document: bool = False


# The granularities of UniversalRAG. A clip is one video item; a video is all clips of one file.
ROUTES: dict[str, Route] = {
    "none": Route(frozenset()),
    "paragraph": Route(frozenset({"text"})),
    "document": Route(frozenset({"text"}), whole_document=True),
    "table": Route(frozenset({"table"})),
    "image": Route(frozenset({"image"})),
    "clip": Route(frozenset({"video"})),
    "video": Route(frozenset({"video"}), whole_document=True),
}
UNROUTED = ""


class Index(Protocol):
    """The part of :class:`canopy.index.VectorIndex` that retrieval uses."""

    def search(
        self, queries: NDArray[np.float32], k: int, allowed: Sequence[frozenset[str] | None] | None = None
    ) -> list[list[Hit]]:
        """The best ``k`` items a query among its allowed modalities, best first."""

    def siblings(self, item_id: str) -> list[str]:
        """All items of the same document, in document order."""


def retrieve(
    index: Index, vectors: NDArray[np.float32], routes: Sequence[str], held: Sequence[AbstractSet[str]], k: int
) -> list[list[Hit]]:
    """New hits for each query, best first: one search for the whole batch.

    The search goes as deep as ``k`` plus what the question already holds, so that held items never
    crowd out new ones. On a whole-document route each of the (at most) ``k`` hits is replaced by all
    items of its document, in document order and with the hit's score; a document comes once.

    Args:
        index: what to search.
        vectors: [q, d] float32, a row a query.
        routes: a label of :data:`ROUTES` for each query, or :data:`UNROUTED` for all items. Queries
            with the label ``none`` must not be passed.
        held: the item ids that each query's question already holds; they are never returned.
        k: most hits a query. Fewer come back where the corpus has no more.
    """
    if not routes:
        return []
    depth = k + max(len(h) for h in held)
    allowed = [None if label == UNROUTED else ROUTES[label].modalities for label in routes]
    found = index.search(vectors, depth, allowed)
    return [_new_hits(index, *arguments, k) for arguments in zip(found, routes, held, strict=True)]


def _new_hits(index: Index, ranked: list[Hit], label: str, held: AbstractSet[str], k: int) -> list[Hit]:
    hits = [hit for hit in ranked if hit.item_id not in held][:k]
    if label == UNROUTED or not ROUTES[label].whole_document:
        return hits
    expanded: dict[str, Hit] = {}
    for hit in hits:
        if hit.item_id not in expanded:
            expanded |= {item_id: Hit(item_id, hit.score) for item_id in index.siblings(hit.item_id)}
    return [hit for item_id, hit in expanded.items() if item_id not in held]


class ItemStore:
    """Items of a corpus by id, read when asked for, so that memory does not grow with the corpus.

    Raises:
        UserError: the corpus has no readable items.parquet with the expected columns.
    """

    def __init__(self, corpus: Path) -> None:
        """Open ``corpus``/items.parquet; only its columns are checked here."""
        self._path = corpus / "items.parquet"
        if not self._path.is_file():
            raise UserError(f"{self._path} does not exist: run `canopy corpus` first")
        try:
            schema = dict(pl.read_parquet_schema(self._path))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise UserError(f"{self._path} is not readable ({error}): remove it and run `canopy corpus`") from error
        if schema != dict(pl.Schema(ITEM_SCHEMA)):
            raise UserError(f"{self._path} has columns {list(schema)}, expected {list(ITEM_SCHEMA)}: rebuild it")

    def get(self, item_ids: Iterable[str]) -> dict[str, Item]:
        """The items of these ids: one scan of the file.

        Raises:
            UserError: an id is not in the corpus, so index and corpus do not belong together.
        """
        wanted = sorted(set(item_ids))
        if not wanted:
            return {}
        rows = pl.scan_parquet(self._path).filter(pl.col("item_id").is_in(wanted)).collect()
        items = {row["item_id"]: item_from_row(row) for row in rows.iter_rows(named=True)}
        missing = [item_id for item_id in wanted if item_id not in items]
        if missing:
            raise UserError(
                f"{self._path} lacks {missing[0]} ({len(missing)} items), which the index holds: the index was made"
                " from another corpus; rerun `canopy embed` and `canopy index`"
            )
        return items
