"""Where the candidates of a search come from: all stored vectors, or a FAISS index."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from canopy.shards import Floats, Positions, StoredVectors

# Its type stubs lack keywords that it has.
_FAISS: Any = faiss


@dataclass(frozen=True)
class Allowed:
    """The items that a query may return.

    Attributes:
        modalities: of these; None is all items.
        count: how many items that are.
        positions: where they are, ascending, if they are to be searched exactly; None is everywhere.
        selector: what FAISS filters by; None is everything.
    """

    modalities: frozenset[str] | None
    count: int
    positions: Positions | None = None
    selector: Any = None


def selector_of(mask: NDArray[np.bool_]) -> Any:
    """A FAISS selector of the positions where ``mask`` is true: one bit an item."""
    return _FAISS.IDSelectorBitmap(np.packbits(mask, bitorder="little"))


def nearest(
    vectors: StoredVectors, queries: Floats, k: int, only: Positions | None = None
) -> tuple[Floats, NDArray[np.int64]]:
    """Exact search, block by block.

    Args:
        vectors: what is searched.
        queries: float32 [q, d].
        k: how many a query.
        only: the positions that may be found, ascending; all without it.

    Returns:
        Inner products and positions, [q, k], best first; position -1 where there are fewer.
    """
    heap = faiss.ResultHeap(len(queries), k, keep_max=True)
    for positions, block in vectors.blocks(only):
        scores, rows = faiss.knn(queries, block, min(k, len(block)), metric=faiss.METRIC_INNER_PRODUCT)
        heap.add_result(scores, np.where(rows >= 0, positions[rows], -1))
    heap.finalize()
    return heap.D, heap.I


@dataclass(frozen=True)
class Approximate:
    """Search in a FAISS index whose positions are those of the stored vectors."""

    index: Any
    nprobe: Mapping[str, int] = field(default_factory=dict)
    """Inverted lists visited, by modality, ``all`` without a filter; empty where the index has no lists."""

    def find(self, queries: Floats, fetch: int, least: int, allowed: Allowed) -> list[Positions]:
        """Positions of ``fetch`` candidates a query, fewer where there are fewer.

        Each query is searched alone: in a batch, the last bits of its scores would depend on the others.

        Args:
            queries: float32 [q, d].
            fetch: candidates wanted.
            least: candidates that there must be; more lists are visited until there are.
            allowed: which items.
        """
        rows = [np.ascontiguousarray(query[None]) for query in queries]
        threads = min(len(rows), faiss.omp_get_max_threads())
        if threads == 1:
            return [self._one(row, fetch, least, allowed) for row in rows]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda row: self._one(row, fetch, least, allowed), rows))

    def _one(self, query: Floats, fetch: int, least: int, allowed: Allowed) -> Positions:
        ivf = faiss.try_extract_index_ivf(self.index)
        nprobe = self._nprobe(allowed.modalities) if ivf is not None else 0
        while True:
            parameters = _parameters(self.index, nprobe, fetch, allowed.selector)
            found = self.index.search(query, fetch, params=parameters)[1][0]
            positions: Positions = found[found >= 0]
            if len(positions) >= least or ivf is None or nprobe >= ivf.nlist:
                return positions
            nprobe = min(4 * nprobe, ivf.nlist)

    def _nprobe(self, modalities: frozenset[str] | None) -> int:
        """Of several modalities the largest."""
        return max(self.nprobe.get(name, self.nprobe["all"]) for name in modalities or ("all",))


def _parameters(index: Any, nprobe: int, fetch: int, selector: Any) -> Any:
    options = {"sel": selector} if selector is not None else {}
    index = faiss.downcast_index(index)
    if isinstance(index, faiss.IndexPreTransform):
        return _FAISS.SearchParametersPreTransform(index_params=_parameters(index.index, nprobe, fetch, selector))
    if isinstance(index, faiss.IndexIVF):
        return _FAISS.SearchParametersIVF(nprobe=nprobe, **options)
    if isinstance(index, faiss.IndexHNSW):
        return _FAISS.SearchParametersHNSW(efSearch=max(2 * fetch, 64), **options)
    return _FAISS.SearchParameters(**options)
