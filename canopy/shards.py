"""Embedding shards: what ``embed`` writes and ``index`` reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from canopy.artefacts import altered, check_files, read_manifest
from canopy.contracts import read_frame
from canopy.errors import UserError

Floats = NDArray[np.float32]

VECTORS_FILE = "vectors.npy"
IDS_FILE = "ids.parquet"
ID_SCHEMA: dict[str, Any] = {"item_id": pl.String, "modality": pl.String, "doc_id": pl.String}

# Vectors copied out of a memory-mapped shard at a time: 65,536 of 384 floats are 100 MB.
_ROWS_AT_ONCE = 65_536


@dataclass(frozen=True, slots=True)
class Shards:
    """All embedding shards in order: vectors memory-mapped, ids in one frame sorted by item id."""

    vectors: list[NDArray[Any]]
    ids: pl.DataFrame
    encoder: str
    dim: int

    def blocks(self) -> Iterator[Floats]:
        """All vectors in order, float32 [<= 65,536, d] at a time."""
        for shard in self.vectors:
            for at in range(0, len(shard), _ROWS_AT_ONCE):
                yield np.asarray(shard[at : at + _ROWS_AT_ONCE], np.float32)

    def sample(self, count: int, seed: int) -> tuple[NDArray[np.int64], Floats]:
        """Positions (ascending) and vectors of a seeded sample of at most ``count``."""
        total = self.ids.height
        chosen = np.sort(np.random.default_rng(seed).choice(total, min(count, total), replace=False))
        bounds = np.cumsum([0, *(len(shard) for shard in self.vectors)])
        parts = [
            np.asarray(shard[chosen[(chosen >= low) & (chosen < low + len(shard))] - low], np.float32)
            for shard, low in zip(self.vectors, bounds[:-1], strict=True)
        ]
        return chosen, np.concatenate(parts)


def open_shards(directories: Sequence[Path], verify: bool = True) -> Shards:
    """Open shards after checking that they are all there, once each, made alike, and as they were written.

    Args:
        directories: of all shards, in any order.
        verify: compare the files with the checksums in the manifests, for which they are read whole. Where
            several jobs open the same shards, it is enough that one of them does.

    Raises:
        UserError: they are not; the message names the directory or file.
    """
    facts = {directory: read_manifest(directory)["facts"] for directory in directories}
    ordered = sorted(directories, key=lambda directory: int(facts[directory]["shard"]))
    first = facts[ordered[0]]
    numbers = [facts[directory]["shard"] for directory in ordered]
    if numbers != list(range(first["shards"])):
        raise UserError(f"--shard: got shards {numbers} of {first['shards']}; give each of them once")
    vectors, ids = [], []
    for directory in ordered:
        own = facts[directory]
        if (own["encoder"], own["dim"], own["shards"]) != (first["encoder"], first["dim"], first["shards"]):
            raise UserError(
                f"{directory} was made with encoder {own['encoder']} ({own['dim']} dimensions, {own['shards']} shards)"
                f", {ordered[0]} with {first['encoder']} ({first['dim']}, {first['shards']}): run `canopy embed` again"
            )
        if verify:
            check_files(directory, (VECTORS_FILE, IDS_FILE))
        frame = read_frame(directory / IDS_FILE, ID_SCHEMA)
        array = _mapped(directory) if frame.height else np.empty((0, own["dim"]))
        if array.shape != (frame.height, own["dim"]):
            raise UserError(f"{directory}: vectors {array.shape} for {frame.height} ids: run `canopy embed` again")
        vectors.append(array)
        ids.append(frame)
    joined = pl.concat(ids)
    if not joined.height:
        raise UserError(f"{ordered[0]}: there is no item with any text, nothing to index")
    if not (joined["item_id"].is_sorted() and joined["item_id"].is_unique().all()):
        raise UserError(f"the shards from {ordered[0]} on do not hold one corpus sorted by item_id: embed it again")
    return Shards(vectors, joined, first["encoder"], first["dim"])


def _mapped(directory: Path) -> NDArray[Any]:
    """The vectors of a shard, memory-mapped: an array without rows cannot be."""
    try:
        return cast("NDArray[Any]", np.load(directory / VECTORS_FILE, mmap_mode="r"))
    except (OSError, ValueError) as error:  # missing; cut off, or no array
        raise altered(directory / VECTORS_FILE) from error
