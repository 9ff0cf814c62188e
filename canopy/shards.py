"""Embedding shards: what ``embed`` writes and the index stages read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from canopy.artefacts import MANIFEST, altered, read_manifest
from canopy.contracts import read_frame
from canopy.errors import UserError

Floats = NDArray[np.float32]
Positions = NDArray[np.int64]

VECTORS_FILE = "vectors.npy"
IDS_FILE = "ids.parquet"
ID_SCHEMA: dict[str, Any] = {"item_id": pl.String, "modality": pl.String, "doc_id": pl.String}

# Vectors copied out of a memory-mapped file at a time: 8,192 of 384 floats are 13 MB.
ROWS_AT_ONCE = 8_192


class StoredVectors:
    """Vectors in memory-mapped files, numbered on from file to file; handed out as float32."""

    def __init__(self, arrays: Sequence[NDArray[Any]], dim: int) -> None:
        """Wrap arrays [n, d] of any float type; ``dim`` is d, also where there is no array."""
        self.arrays = list(arrays)
        self.dim = dim
        self.first = np.cumsum([0, *(len(array) for array in self.arrays)])

    def __len__(self) -> int:
        """The number of vectors."""
        return int(self.first[-1])

    def blocks(self, only: Positions | None = None) -> Iterator[tuple[Positions, Floats]]:
        """Positions (ascending) and vectors, float32 [<= 8,192, d] at a time.

        Args:
            only: the positions wanted, ascending; all without it.
        """
        for low, array in zip(self.first[:-1], self.arrays, strict=True):
            for at in range(0, len(array), ROWS_AT_ONCE):
                start, stop = low + at, low + min(at + ROWS_AT_ONCE, len(array))
                if only is None:
                    yield np.arange(start, stop), np.ascontiguousarray(array[start - low : stop - low], np.float32)
                    continue
                chosen = only[slice(*np.searchsorted(only, (start, stop)))]
                if len(chosen):
                    yield chosen, np.ascontiguousarray(array[chosen - low], np.float32)

    def rows(self, positions: Positions) -> Floats:
        """The vectors at these positions, in the order given: float32 [n, d]."""
        found = np.empty((len(positions), self.dim), np.float32)
        files = np.searchsorted(self.first, positions, side="right") - 1
        for file in np.unique(files):
            here = files == file
            found[here] = self.arrays[file][positions[here] - self.first[file]]
        return found

    def check_finite(self, positions: Positions | None = None) -> None:
        """Check that these vectors, or all without ``positions``, are of finite numbers: FAISS aborts on others.

        Raises:
            UserError: one is not; the message names the file and the row.
        """
        for at, block in self.blocks(positions):
            bad = at[~np.isfinite(block).all(axis=1)]
            if len(bad):
                file = int(np.searchsorted(self.first, bad[0], side="right")) - 1
                path = Path(getattr(self.arrays[file], "filename", VECTORS_FILE))
                raise UserError(
                    f"{path}: row {bad[0] - self.first[file]} (from 0) holds NaN or infinity: "
                    f"remove the folder {path.parent} and run snakemake again"
                )


@dataclass(frozen=True, slots=True)
class Shards:
    """All embedding shards in order, their vectors memory-mapped."""

    directories: list[Path]
    vectors: StoredVectors
    encoder: str

    def ids(self) -> Iterator[pl.DataFrame]:
        """The ids of one shard after the other, which are those of one corpus sorted by item id.

        Raises:
            UserError: they are not; the message names the shard.
        """
        last = ""
        for directory, vectors in zip(self.directories, self.vectors.arrays, strict=True):
            frame = read_frame(directory / IDS_FILE, ID_SCHEMA)
            if frame.height != len(vectors):
                raise UserError(f"{directory}: {len(vectors)} vectors for {frame.height} ids: run `canopy embed` again")
            items = frame["item_id"]
            if frame.height and not (items.is_sorted() and items.is_unique().all() and items[0] > last):
                raise UserError(f"{directory} does not go on with a corpus sorted by item_id: embed all shards again")
            last = items[-1] if frame.height else last
            yield frame


def open_shards(directories: Sequence[Path]) -> Shards:
    """Open shards after checking that they are all there, once each, and made alike.

    Raises:
        UserError: they are not, or a file of vectors cannot be read; the message names the directory.
    """
    facts = {directory: shard_facts(directory) for directory in directories}
    ordered = sorted(directories, key=lambda directory: facts[directory]["shard"])
    first = facts[ordered[0]]
    numbers = [facts[directory]["shard"] for directory in ordered]
    if len(numbers) != first["shards"] or numbers != list(range(len(numbers))):
        raise UserError(f"--shard: got shards {numbers} of {first['shards']}; give each of them once")
    for directory in ordered:
        own = facts[directory]
        if (own["encoder"], own["dim"], own["shards"]) != (first["encoder"], first["dim"], first["shards"]):
            raise UserError(
                f"{directory} was made with encoder {own['encoder']} ({own['dim']} dimensions, {own['shards']} shards)"
                f", {ordered[0]} with {first['encoder']} ({first['dim']}, {first['shards']}): run `canopy embed` again"
            )
    vectors = StoredVectors([map_vectors(d / VECTORS_FILE, first["dim"]) for d in ordered], first["dim"])
    if not len(vectors):
        raise UserError(f"{ordered[0]}: there is no item with any text, nothing to index")
    return Shards(ordered, vectors, first["encoder"])


def shard_facts(directory: Path) -> dict[str, Any]:
    """The facts of one shard: ``encoder``, and ``dim``, ``shard`` and ``shards`` as numbers that can be.

    Raises:
        UserError: there is no manifest, or it lacks one of them.
    """
    facts: dict[str, Any] = read_manifest(directory)["facts"]
    least = {"dim": 1, "shard": 0, "shards": 1}
    if (
        not isinstance(facts, dict)
        or not isinstance(facts.get("encoder"), str)
        or any(type(facts.get(name)) is not int or facts[name] < low for name, low in least.items())
    ):
        raise UserError(f"{directory / MANIFEST} is not of a shard of this version: run `canopy embed` again")
    return facts


def map_vectors(path: Path, dim: int) -> NDArray[Any]:
    """A file of vectors as a memory-mapped array [n, ``dim``].

    Raises:
        UserError: it is missing, cut off or not such an array, or is of another dimension.
    """
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:  # missing; cut off, or no array
        raise altered(path, path.parent) from error
    if array.ndim != 2 or array.shape[1] != dim or array.dtype.kind != "f":
        raise UserError(f"{path} holds {array.dtype} {array.shape}, not vectors of {dim}: run `canopy embed` again")
    return array
