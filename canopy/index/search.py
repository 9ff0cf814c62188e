"""Search over all item vectors: candidates from FAISS or from all vectors, scores from the stored vectors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import faiss
import numpy as np

from canopy.artefacts import check_all_files, read_manifest
from canopy.errors import UserError
from canopy.index.candidates import Allowed, Approximate, nearest, selector_of
from canopy.index.ids import ItemIds
from canopy.shards import Floats, Positions, StoredVectors, map_vectors

INDEX_FILE = "index.faiss"
IDS_FOLDER = "ids"
VECTORS_FOLDER = "vectors"

# Candidates beyond k, scored again row by row: scores of a block depend on the batch in the last bits.
_MARGIN = 16
NEARLY_EQUAL = 1e-6


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

    def __init__(
        self,
        vectors: StoredVectors,
        ids: ItemIds,
        approximate: Approximate | None = None,
        exact_below: int = 0,
        rescored: int = 1,
    ) -> None:
        """Put an index together.

        Args:
            vectors: of all items; what every score is computed from.
            ids: of the same items.
            approximate: where candidates come from; without it the search is exact.
            exact_below: modalities of fewer items are searched exactly all the same.
            rescored: candidates of ``approximate`` an item wanted.
        """
        self.vectors = vectors
        self.ids = ids
        self._approximate = approximate
        self._exact_below = exact_below
        self._rescored = rescored
        self._allowed: dict[frozenset[str] | None, Allowed] = {None: Allowed(None, len(vectors))}

    @classmethod
    def load(cls, directory: Path, encoder: Fingerprinted) -> VectorIndex:
        """Load the artefact of the ``index`` stage for queries of ``encoder``. Vectors and lists stay on disk.

        Every file is read once, to compare its checksum.

        Raises:
            UserError: there is no finished index, another encoder made it, or a file of it is damaged.
        """
        facts = read_manifest(directory)["facts"]
        made_by, asked = (facts["encoder"], facts["dim"]), (encoder.fingerprint, encoder.dim)
        if made_by != asked:
            raise UserError(
                f"{directory} was made with encoder {made_by[0]} ({made_by[1]} dimensions), the queries with "
                f"{asked[0]} ({asked[1]}): run `canopy embed` and `canopy index` again with the encoder of this run"
            )
        # A file cut off would crash the process when its missing pages are touched, another byte would change hits.
        check_all_files(directory)
        files = sorted((directory / VECTORS_FOLDER).glob("*.npy"))
        vectors = StoredVectors([map_vectors(file, encoder.dim) for file in files], encoder.dim)
        ids = ItemIds.load(directory / IDS_FOLDER)
        approximate = None
        if facts["factory"]:
            approximate = Approximate(_read_index(directory), facts["nprobe"])
        if not len(vectors) == len(ids) == facts["ntotal"]:
            raise UserError(f"{directory}: {len(vectors)} vectors for {len(ids)} ids: run `canopy index` again")
        return cls(vectors, ids, approximate, facts["exact_below"], facts["rescored"])

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
            for row, ranked in zip(rows, self.ranked(queries[rows], k, modalities), strict=True):
                hits[row] = [Hit(self.ids[position], score) for score, position in ranked]
        return hits

    def siblings(self, item_id: str) -> list[str]:
        """All items of the same document or video, this one among them; numbers in ids count as numbers."""
        return self.ids.siblings(item_id)

    def ranked(
        self, queries: Floats, k: int, modalities: frozenset[str] | None = None
    ) -> list[list[tuple[float, int]]]:
        """As :meth:`search`, with one filter for all queries: scores and positions."""
        allowed = self.allowed(modalities)
        least = min(k, allowed.count)
        answers: list[list[tuple[float, int]]] = [[] for _ in queries]
        pending = list(range(len(queries))) if least else []
        fetch = min(self._candidates(k, allowed), allowed.count)
        while pending:
            again = []
            for row, found in zip(pending, self._find(queries[pending], fetch, least, allowed), strict=True):
                scored = self._scored(queries[row], found)
                answers[row] = scored[:k]
                # A tie may go on past what was fetched: only a full answer, or one that ends lower, is certain.
                if k < len(found) == fetch < allowed.count and scored[k - 1][0] - scored[-1][0] < NEARLY_EQUAL:
                    again.append(row)
            pending, fetch = again, min(2 * fetch, allowed.count)
        return answers

    def allowed(self, modalities: frozenset[str] | None) -> Allowed:
        """What a filter lets through. Few items are searched exactly, many by FAISS with a selector."""
        if modalities not in self._allowed:
            assert modalities is not None
            mask = self.ids.are_of(modalities)
            count = int(mask.sum())
            if self._approximate is None or count < self._exact_below:
                self._allowed[modalities] = Allowed(modalities, count, positions=np.flatnonzero(mask))
            else:
                self._allowed[modalities] = Allowed(modalities, count, selector=selector_of(mask))
        return self._allowed[modalities]

    def probing(self, nprobe: Mapping[str, int]) -> VectorIndex:
        """The same index with other numbers of lists to visit."""
        assert self._approximate is not None
        other = VectorIndex(
            self.vectors, self.ids, Approximate(self._approximate.index, nprobe), self._exact_below, self._rescored
        )
        other._allowed = self._allowed
        return other

    def is_exact(self, allowed: Allowed) -> bool:
        """Whether a search with this filter is exact."""
        return self._approximate is None or allowed.positions is not None

    def _candidates(self, k: int, allowed: Allowed) -> int:
        return k + _MARGIN if self.is_exact(allowed) else max(k + _MARGIN, k * self._rescored)

    def _find(self, queries: Floats, fetch: int, least: int, allowed: Allowed) -> Sequence[Positions]:
        if self._approximate is None or allowed.positions is not None:
            found = nearest(self.vectors, np.ascontiguousarray(queries), fetch, allowed.positions)[1]
            return [row[row >= 0] for row in found]
        return self._approximate.find(queries, fetch, least, allowed)

    def _scored(self, query: Floats, positions: Positions) -> list[tuple[float, int]]:
        scores = np.einsum("nd,d->n", self.vectors.rows(positions), query, dtype=np.float32)
        order = np.lexsort((positions, -scores))
        return [(float(scores[row]), int(positions[row])) for row in order]


def _read_index(directory: Path) -> Any:
    try:
        return faiss.read_index(str(directory / INDEX_FILE), faiss.IO_FLAG_ONDISK_SAME_DIR)
    except (RuntimeError, MemoryError) as error:
        raise UserError(
            f"{directory / INDEX_FILE} cannot be read with FAISS {faiss.__version__}: remove {directory} and run "
            "`canopy index` again"
        ) from error
