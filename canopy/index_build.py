"""The ``index`` stage: embedding shards to one FAISS index whose recall has been measured."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from faiss.contrib.ondisk import merge_ondisk
from numpy.typing import NDArray

from canopy.artefacts import build
from canopy.errors import StageStopped
from canopy.index import INDEX_FILE, Hit, VectorIndex
from canopy.progress import track
from canopy.settings.encoder import IndexSettings
from canopy.shards import IDS_FILE, Floats, Shards, open_shards

_LISTS_FILE = "lists.ivfdata"
_RECALL_AT = 10
# FAISS trains k-means on 39 to 256 vectors a list; 64 is autofaiss's choice too.
_TRAINING_PER_LIST = 64


def run(shards: Sequence[Path], settings: IndexSettings, out: Path) -> None:
    """Build the index over all shards: exact below ``exact_below`` items, inverted lists (IVF) from there on.

    IVF lists are filled shard by shard and merged on disk, so memory holds one shard. Recall@10 against
    exact search is measured on a seeded sample of items as queries, for exact indexes as well.

    Args:
        shards: the directories of all shards of one ``embed`` stage, in any order.
        settings: when to go over to IVF, and how it is searched and checked.
        out: directory for ``index.faiss`` (and ``lists.ivfdata``) and ``ids.parquet``.

    Raises:
        UserError: shards are missing, belong to different encoders, or hold ids twice.
        StageStopped: every sampled query has the same best item, so the vectors are useless.
    """
    loaded = open_shards(shards)
    with build(out, "index", settings.model_dump(mode="json"), shards) as artefact:
        loaded.ids.write_parquet(artefact.path / IDS_FILE)
        exact = loaded.ids.height < settings.exact_below
        index = _exact(loaded) if exact else _inverted(loaded, settings, artefact.path)
        faiss.write_index(index, str(artefact.path / INDEX_FILE))
        measured = _measure(loaded, VectorIndex(index, loaded.ids, settings.nprobe), settings)
        artefact.facts |= {
            "encoder": loaded.encoder,
            "dim": loaded.dim,
            "metric": "inner product of unit vectors (cosine)",
            "type": "exact" if exact else "IVF",
            "nlist": 1 if exact else index.nlist,
            "nprobe": settings.nprobe,
            "ntotal": int(index.ntotal),
            **measured,
        }


def _exact(shards: Shards) -> Any:
    index = faiss.IndexFlatIP(shards.dim)
    for block in track(shards.blocks(), "indexing"):
        index.add(block)
    return index


def _inverted(shards: Shards, settings: IndexSettings, directory: Path) -> Any:
    """An IVF index with about 4 sqrt(n) lists, which lie in a file of ``directory``."""
    total = shards.ids.height
    nlist = max(1, min(int(4 * math.sqrt(total)), total // 39))
    trained = faiss.IndexIVFFlat(faiss.IndexFlatIP(shards.dim), shards.dim, nlist, faiss.METRIC_INNER_PRODUCT)
    trained.cp.seed = settings.seed
    trained.train(shards.sample(_TRAINING_PER_LIST * nlist, settings.seed)[1])
    parts = directory / "parts"
    parts.mkdir()
    empty = str(parts / "empty.faiss")
    names: list[str] = []
    at = 0
    faiss.write_index(trained, empty)
    for block in track(shards.blocks(), "indexing"):
        part = faiss.read_index(empty)
        part.add_with_ids(block, np.arange(at, at + len(block)))
        names.append(str(parts / f"{len(names)}.faiss"))
        faiss.write_index(part, names[-1])
        at += len(block)
    merge_ondisk(trained, names, str(directory / _LISTS_FILE))
    shutil.rmtree(parts)
    return trained


def _measure(shards: Shards, index: VectorIndex, settings: IndexSettings) -> dict[str, float]:
    positions, queries = shards.sample(settings.recall_sample, settings.seed)
    ids = shards.ids["item_id"]
    found = index.search(queries, _RECALL_AT)
    best = {hits[0].item_id for hits in found}
    if len(queries) > 1 and len(best) == 1:
        raise StageStopped(f"all of {len(queries)} sampled queries find the same item, {best.pop()}: check the encoder")
    exact = [[ids[int(row)] for row in rows] for rows in _exact_search(shards, queries)]
    return {
        "recall_at_10": round(float(np.mean([_overlap(f, e) for f, e in zip(found, exact, strict=True)])), 4),
        "recall_queries": len(positions),
        "distinct_top1": round(len(best) / len(queries), 4),
    }


def _overlap(found: Sequence[Hit], exact: Sequence[str]) -> float:
    return len({hit.item_id for hit in found} & set(exact)) / len(exact)


def _exact_search(shards: Shards, queries: Floats) -> NDArray[np.int64]:
    """Positions of the 10 best of each query by brute force over memory-mapped blocks."""
    width = min(_RECALL_AT, shards.ids.height)
    scores, positions = np.full((len(queries), 0), 0, np.float32), np.zeros((len(queries), 0), np.int64)
    at = 0
    for block in shards.blocks():
        scores = np.hstack((scores, queries @ block.T))
        positions = np.hstack((positions, np.broadcast_to(np.arange(at, at + len(block)), (len(queries), len(block)))))
        best = np.argsort(-scores, axis=1, kind="stable")[:, :width]
        scores, positions = np.take_along_axis(scores, best, 1), np.take_along_axis(positions, best, 1)
        at += len(block)
    return positions
