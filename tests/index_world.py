"""Shards and indexes that several tests of the index make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import faiss
import numpy as np
import polars as pl
import pytest

from canopy.artefacts import build
from canopy.index.add import run as add
from canopy.index.build import run
from canopy.index.train import run as train
from canopy.settings.index import IndexSettings, IndexTrainSettings
from canopy.shards import ID_SCHEMA, IDS_FILE, VECTORS_FILE

DIM = 16


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads only wait for each other on data as small as this."""
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    yield
    faiss.omp_set_num_threads(threads)


@dataclass
class Encoder:
    fingerprint: str = "f1"
    dim: int = DIM


def vectors(count: int, seed: int = 0) -> np.ndarray:
    raw = np.random.default_rng(seed).normal(size=(count, DIM)).astype(np.float32)
    unit: np.ndarray = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    return unit


def write_shards(root: Path, array: np.ndarray, shards: int, dtype: str = "float32", **facts: object) -> list[Path]:
    """Shards as ``canopy embed`` writes them: items i0000.. of modalities text, table, image in turn."""
    rows = [(f"i{n:04d}", ("text", "table", "image")[n % 3], f"d{n // 3}") for n in range(len(array))]
    directories = []
    for shard in range(shards):
        first, last = len(array) * shard // shards, len(array) * (shard + 1) // shards
        with build(root / f"shard-{shard}", "embed", {}) as artefact:
            np.save(artefact.path / VECTORS_FILE, array[first:last].astype(dtype))
            pl.DataFrame(rows[first:last], schema=ID_SCHEMA, orient="row").write_parquet(artefact.path / IDS_FILE)
            artefact.facts |= {"encoder": "f1", "dim": array.shape[1], "shard": shard, "shards": shards, **facts}
        directories.append(root / f"shard-{shard}")
    return directories


def by_stages(shards: list[Path], settings: IndexSettings, root: Path) -> Path:
    """The index as the workflow makes it from several shards: train, add a shard at a time, merge."""
    how = settings.model_dump(include=set(IndexTrainSettings.model_fields))
    train(shards, IndexTrainSettings(**how), root / "train")
    for number, shard in enumerate(shards):
        add(shard, root / "train", root / f"part-{number}")
    run(shards, settings, root / "index", root / "train", [root / f"part-{n}" for n in range(len(shards))])
    return root / "index"
