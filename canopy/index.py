"""Search in the FAISS index over all item vectors."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import faiss
import numpy as np
import polars as pl
from numpy.typing import NDArray

from canopy.artefacts import read_manifest
from canopy.contracts import read_frame
from canopy.errors import UserError
from canopy.shards import ID_SCHEMA, IDS_FILE, Floats

INDEX_FILE = "index.faiss"

# Candidates asked of FAISS beyond k, rescored row by row: its own scores depend on the batch in the last bits.
_MARGIN = 16


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved item with its cosine to the query."""

    item_id: str
    score: float


class Fingerprinted(Protocol):
    """What the index must know of an encoder."""

    fingerprint: str
    dim: int


class VectorIndex:
    """A loaded index. Positions in it follow the order of item ids, so position order breaks ties."""

    def __init__(self, index: Any, ids: pl.DataFrame, nprobe: int) -> None:
        """Wrap a FAISS index and its ids in the same order; ``nprobe`` counts for IVF only."""
        self._index = index
        self._nprobe = nprobe
        self._ids: list[str] = ids["item_id"].to_list()
        self._doc_of = dict(zip(self._ids, ids["doc_id"].to_list(), strict=True))
        self._members: dict[str, list[str]] = defaultdict(list)
        for item_id, doc_id in self._doc_of.items():
            self._members[doc_id].append(item_id)
        modality = ids["modality"]
        self._positions = {name: np.flatnonzero((modality == name).to_numpy()) for name in modality.unique().to_list()}
        if isinstance(index, faiss.IndexIVF):
            index.make_direct_map()

    @classmethod
    def load(cls, directory: Path, encoder: Fingerprinted) -> VectorIndex:
        """Load the artefact of the ``index`` stage for queries of ``encoder``.

        Raises:
            UserError: there is no finished index, or another encoder made it.
        """
        facts = read_manifest(directory)["facts"]
        made_by, asked = (facts["encoder"], facts["dim"]), (encoder.fingerprint, encoder.dim)
        if made_by != asked:
            raise UserError(
                f"{directory} was made with encoder {made_by[0]} ({made_by[1]} dimensions), the queries with "
                f"{asked[0]} ({asked[1]}): run `canopy embed` and `canopy index` again with the encoder of this run"
            )
        ids = read_frame(directory / IDS_FILE, ID_SCHEMA)
        index = faiss.read_index(str(directory / INDEX_FILE), faiss.IO_FLAG_ONDISK_SAME_DIR)
        if index.ntotal != ids.height:
            raise UserError(f"{directory}: {index.ntotal} vectors for {ids.height} ids: run `canopy index` again")
        return cls(index, ids, facts["nprobe"])

    def search(
        self, queries: Floats, k: int, allowed: Sequence[frozenset[str] | None] | None = None
    ) -> list[list[Hit]]:
        """The best items of each query, best first; equal scores in the order of item ids.

        Args:
            queries: float32 [q, d], L2-normalised.
            k: most items a query; fewer come back where the index or the allowed modalities have fewer.
            allowed: for each query the modalities it may return; None for all.
        """
        hits: list[list[Hit]] = [[] for _ in range(len(queries))]
        groups: dict[frozenset[str] | None, list[int]] = defaultdict(list)
        for row, modalities in enumerate(allowed or [None] * len(queries)):
            groups[modalities].append(row)
        for modalities, rows in groups.items():
            for row, found in zip(rows, self._search(queries[rows], k, modalities), strict=True):
                hits[row] = found
        return hits

    def siblings(self, item_id: str) -> list[str]:
        """All items of the same document or video, this one among them; numbers in ids count as numbers."""
        return sorted(self._members[self._doc_of[item_id]], key=_natural)

    def _search(self, queries: Floats, k: int, modalities: frozenset[str] | None) -> list[list[Hit]]:
        parameters, available = self._parameters(modalities)
        fetch = min(k + _MARGIN, available)
        if not fetch:
            return [[] for _ in queries]
        while True:
            positions = self._index.search(np.ascontiguousarray(queries), fetch, params=parameters)[1]
            ranked = [self._rescored(query, row[row >= 0]) for query, row in zip(queries, positions, strict=True)]
            # A tie may go on past what was fetched: only a full answer, or one that ends lower, is certain.
            tied = any(len(r) > k and r[k - 1][0] - r[-1][0] < 1e-6 for r in ranked)
            if not tied or fetch == available:
                break
            fetch = min(2 * fetch, available)
        return [[Hit(self._ids[position], score) for score, position in row[:k]] for row in ranked]

    def _rescored(self, query: Floats, positions: NDArray[np.int64]) -> list[tuple[float, int]]:
        vectors = self._index.reconstruct_batch(positions)
        scores = np.einsum("nd,d->n", vectors, query, dtype=np.float32)
        order = np.lexsort((positions, -scores))
        return [(float(scores[row]), int(positions[row])) for row in order]

    def _parameters(self, modalities: frozenset[str] | None) -> tuple[Any, int]:
        """FAISS search parameters, and how many items the query may return."""
        options: dict[str, Any] = {"nprobe": self._nprobe} if isinstance(self._index, faiss.IndexIVF) else {}
        available = self._index.ntotal
        if modalities is not None:
            positions = [self._positions[name] for name in sorted(modalities) if name in self._positions]
            wanted = np.concatenate([np.empty(0, np.int64), *positions])
            available = len(wanted)
            options["sel"] = faiss.IDSelectorBatch(wanted)
        make = faiss.SearchParametersIVF if isinstance(self._index, faiss.IndexIVF) else faiss.SearchParameters
        return make(**options) if options else None, available


def _natural(item_id: str) -> list[tuple[int, str]]:
    """Sort key: runs of digits as numbers, so that ``#2`` comes before ``#10``."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", item_id)]
