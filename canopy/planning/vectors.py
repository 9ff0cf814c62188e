"""Bytes of the vectors and of the index over them."""

from __future__ import annotations

import math

from canopy.config import Config

DIMENSIONS = {"minilm": 384}
NUMBER_BYTES = {"float16": 2, "float32": 4}
# Vectors a list that k-means is trained on, as in canopy.index_build.
_TRAINING_PER_LIST = 64


def index_bytes(config: Config, vectors: float) -> float:
    """Bytes of the index on disk: every vector in float32, and its number where there are lists."""
    each = DIMENSIONS[config.encoder.model] * NUMBER_BYTES["float32"]
    return vectors * (each if _exact(config, vectors) else each + 8)


def index_memory(config: Config, vectors: float, id_bytes: float, *, searching: bool = False) -> float:
    """Bytes of memory that building the index takes, or searching it: ids always, vectors only where search is exact.

    Lists of an inverted index are mapped from disk; building it holds the training sample and one shard's vectors.
    """
    each = DIMENSIONS[config.encoder.model] * NUMBER_BYTES["float32"]
    ids = vectors * id_bytes
    if _exact(config, vectors):
        return ids + vectors * each
    if searching:
        return ids
    lists = max(1, min(int(4 * math.sqrt(vectors)), int(vectors) // 39))
    return ids + each * (min(vectors, lists * _TRAINING_PER_LIST) + vectors / config.shards.embeddings)


def _exact(config: Config, vectors: float) -> bool:
    return vectors < config.index.exact_below
