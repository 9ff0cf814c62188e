"""Size and training of the index over all vectors, as :mod:`canopy.index` makes it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import faiss

from canopy.index.spec import make, plan
from canopy.settings.encoder import DIMENSIONS
from canopy.settings.project import Config

NUMBER_BYTES = {"float16": 2, "float32": 4}
# As in canopy.index.train: vectors a list that k-means is trained on, and its iterations.
_TRAINING_PER_LIST = 40
_ITERATIONS = 10


@dataclass(frozen=True)
class Layout:
    """How vectors lie in the index.

    Attributes:
        vectors: how many there are.
        dim: their dimension.
        lists: inverted lists, mapped from disk in a search; 0 where there are none.
        code_bytes: bytes of a vector in the index, with its number; 0 for exact search, which reads the embeddings.
    """

    vectors: float
    dim: int
    lists: int
    code_bytes: int

    @property
    def centroid_bytes(self) -> float:
        """Bytes of the lists' centroids."""
        return self.lists * self.dim * NUMBER_BYTES["float32"]

    @property
    def index_bytes(self) -> float:
        """Bytes of all codes and centroids."""
        return self.vectors * self.code_bytes + self.centroid_bytes

    @property
    def search_bytes(self) -> float:
        """Memory of the index in a search: everything where there are no lists to be mapped."""
        return self.centroid_bytes if self.lists else self.index_bytes

    @property
    def training_gflop(self) -> float:
        """Multiplications and additions of k-means, in billions."""
        sample = min(self.vectors, self.lists * _TRAINING_PER_LIST)
        return 2 * _ITERATIONS * sample * self.lists * self.dim / 1e9


def layout(config: Config, vectors: float) -> Layout:
    """What the configuration's index makes of so many vectors."""
    dim = DIMENSIONS[config.encoder.model]
    factory = plan(config.index, int(vectors), dim, int(vectors)).factory
    if not factory:
        return Layout(vectors, dim, 0, 0)
    made: Any = make(factory, dim)
    inner: Any = faiss.downcast_index(made.index) if isinstance(made, faiss.IndexPreTransform) else made
    lists = re.search(r"IVF(\d+)", factory)
    code: int = getattr(inner, "code_size", dim * NUMBER_BYTES["float32"])
    return Layout(vectors, dim, int(lists[1]) if lists else 0, code + (8 if lists else 0))


def in_parts(config: Config) -> bool:
    """Whether the index is made by several jobs, as rules/common.smk decides."""
    return config.shards.embeddings > 1 and config.index.kind not in ("exact", "Flat")
