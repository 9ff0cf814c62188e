from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from canopy.artefacts import build, read_manifest
from canopy.errors import StageStopped, UserError
from canopy.index import Hit, VectorIndex
from canopy.index_build import run
from canopy.settings.encoder import IndexSettings
from canopy.shards import ID_SCHEMA, IDS_FILE, VECTORS_FILE

DIM = 16


@dataclass
class Encoder:
    fingerprint: str = "f1"
    dim: int = DIM


def vectors(count: int, seed: int = 0) -> np.ndarray:
    raw = np.random.default_rng(seed).normal(size=(count, DIM)).astype(np.float32)
    return raw / np.linalg.norm(raw, axis=1, keepdims=True)


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


def brute_force(array: np.ndarray, query: np.ndarray, k: int, among: list[int] | None = None) -> list[str]:
    among = list(range(len(array))) if among is None else among
    return [f"i{n:04d}" for n in sorted(among, key=lambda n: (-float(array[n] @ query), n))[:k]]


def ids(hits: list[list[Hit]]) -> list[list[str]]:
    return [[hit.item_id for hit in row] for row in hits]


@pytest.mark.parametrize("exact_below", [10_000, 100])
def test_sharded_equals_unsharded(tmp_path: Path, exact_below: int) -> None:
    array, queries = vectors(700), vectors(40, seed=1)
    settings = IndexSettings(exact_below=exact_below, nprobe=8)
    found = []
    for name, shards in (("one", 1), ("five", 5)):
        run(write_shards(tmp_path / name, array, shards), settings, tmp_path / f"index-{name}")
        found.append(VectorIndex.load(tmp_path / f"index-{name}", Encoder()).search(queries, 10))
    assert found[0] == found[1]
    assert read_manifest(tmp_path / "index-one")["facts"]["type"] == ("exact" if exact_below > 700 else "IVF")


def test_exact_search_is_exact_and_scores_are_cosines(tmp_path: Path) -> None:
    array, queries = vectors(300), vectors(20, seed=1)
    run(write_shards(tmp_path, array, 2), IndexSettings(), tmp_path / "index")
    hits = VectorIndex.load(tmp_path / "index", Encoder()).search(queries, 7)
    assert ids(hits) == [brute_force(array, query, 7) for query in queries]
    assert hits[3][0].score == pytest.approx(float((array @ queries[3]).max()), abs=1e-6)
    facts = read_manifest(tmp_path / "index")["facts"]
    assert (facts["recall_at_10"], facts["ntotal"], facts["distinct_top1"]) == (1.0, 300, 1.0)


def test_recall_of_an_inverted_index_is_measured(tmp_path: Path) -> None:
    array = vectors(2000)
    shards = write_shards(tmp_path, array, 2)
    recalls = []
    for nprobe in (1, 51):
        run(shards, IndexSettings(exact_below=10, nprobe=nprobe), tmp_path / f"index-{nprobe}")
        facts = read_manifest(tmp_path / f"index-{nprobe}")["facts"]
        recalls.append(facts["recall_at_10"])
        assert facts["nlist"] == 51, "no more lists than the vectors can train"
    assert recalls[0] < 0.9, "one list of 51 misses neighbours of random vectors, and says so"
    assert recalls[1] == 1.0, "all lists are an exact search"


def test_an_index_moves_with_its_directory(tmp_path: Path) -> None:
    array = vectors(500)
    run(write_shards(tmp_path, array, 1), IndexSettings(exact_below=10, nprobe=99), tmp_path / "index")
    (tmp_path / "index").rename(tmp_path / "moved")
    index = VectorIndex.load(tmp_path / "moved", Encoder())
    assert ids(index.search(array[:5], 1)) == [[f"i{n:04d}"] for n in range(5)]


@pytest.mark.parametrize("exact_below", [10_000, 10])
def test_allowed_modalities(tmp_path: Path, exact_below: int) -> None:
    array, queries = vectors(200), vectors(4, seed=1)
    run(write_shards(tmp_path, array, 1), IndexSettings(exact_below=exact_below, nprobe=99), tmp_path / "index")
    index = VectorIndex.load(tmp_path / "index", Encoder())
    allowed = [None, frozenset({"table"}), frozenset({"text", "image"}), frozenset({"video"})]
    among = [None, [n for n in range(200) if n % 3 == 1], [n for n in range(200) if n % 3 != 1], []]
    expected = [brute_force(array, query, 5, some) for query, some in zip(queries, among, strict=True)]
    assert ids(index.search(queries, 5, allowed)) == expected


def test_fewer_items_than_k_gives_them_all_and_no_minus_one(tmp_path: Path) -> None:
    run(write_shards(tmp_path, vectors(4), 2), IndexSettings(), tmp_path / "index")
    index = VectorIndex.load(tmp_path / "index", Encoder())
    assert [len(hits) for hits in index.search(vectors(3, seed=1), 10)] == [4, 4, 4]
    assert [len(hits) for hits in index.search(vectors(1, seed=1), 10, [frozenset({"table"})])] == [1]


def test_ties_come_in_the_order_of_ids_also_across_the_cut(tmp_path: Path) -> None:
    array = np.repeat(vectors(2), [90, 10], axis=0)
    run(write_shards(tmp_path, array, 3), IndexSettings(), tmp_path / "index")
    index = VectorIndex.load(tmp_path / "index", Encoder())
    assert ids(index.search(array[:1], 5)) == [[f"i{n:04d}" for n in range(5)]]
    assert ids(index.search(array[95:96], 12)) == [[f"i{n:04d}" for n in [*range(90, 100), 0, 1]]]


def test_results_do_not_depend_on_the_batch_of_queries(tmp_path: Path) -> None:
    array, queries = vectors(500), vectors(30, seed=1)
    run(write_shards(tmp_path, array, 1), IndexSettings(), tmp_path / "index")
    index = VectorIndex.load(tmp_path / "index", Encoder())
    together = index.search(queries, 10)
    assert [index.search(queries[n : n + 1], 10)[0] for n in range(30)] == together


def test_vectors_that_are_all_alike_stop_the_stage(tmp_path: Path) -> None:
    with pytest.raises(StageStopped, match="same item, i0000"):
        run(write_shards(tmp_path, np.repeat(vectors(1), 50, axis=0), 1), IndexSettings(), tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_half_precision_shards(tmp_path: Path) -> None:
    array = vectors(100)
    run(write_shards(tmp_path, array, 2, dtype="float16"), IndexSettings(), tmp_path / "index")
    assert ids(VectorIndex.load(tmp_path / "index", Encoder()).search(array[7:8], 1)) == [["i0007"]]


@pytest.mark.parametrize("encoder", [Encoder(fingerprint="f2"), Encoder(dim=8)])
def test_another_encoder_is_refused_with_both_named(tmp_path: Path, encoder: Encoder) -> None:
    run(write_shards(tmp_path, vectors(5), 1), IndexSettings(), tmp_path / "index")
    message = rf"encoder f1 \(16 dimensions\).*{encoder.fingerprint} \({encoder.dim}\).*canopy embed.*canopy index"
    with pytest.raises(UserError, match=message):
        VectorIndex.load(tmp_path / "index", encoder)


def test_missing_repeated_and_foreign_shards_are_refused(tmp_path: Path) -> None:
    shards = write_shards(tmp_path, vectors(9), 3)
    with pytest.raises(UserError, match=r"shards \[0, 2\] of 3"):
        run([shards[0], shards[2]], IndexSettings(), tmp_path / "index")
    with pytest.raises(UserError, match=r"shards \[0, 1, 1\] of 3"):
        run([shards[0], shards[1], shards[1]], IndexSettings(), tmp_path / "index")
    other = write_shards(tmp_path / "other", vectors(9), 3, encoder="f2")
    with pytest.raises(UserError, match="shard-1 was made with encoder f2"):
        run([shards[0], other[1], shards[2]], IndexSettings(), tmp_path / "index")


def test_siblings_are_the_items_of_a_document_with_numbers_in_order(tmp_path: Path) -> None:
    rows = [(f"lvbench:v#{n}", "video", "lvbench:v") for n in (0, 1, 10, 2)] + [("nq:1", "text", "nq:1")]
    with build(tmp_path / "shard", "embed", {}) as artefact:
        np.save(artefact.path / VECTORS_FILE, vectors(5))
        pl.DataFrame(rows, schema=ID_SCHEMA, orient="row").write_parquet(artefact.path / IDS_FILE)
        artefact.facts |= {"encoder": "f1", "dim": DIM, "shard": 0, "shards": 1}
    run([tmp_path / "shard"], IndexSettings(), tmp_path / "index")
    index = VectorIndex.load(tmp_path / "index", Encoder())
    assert index.siblings("lvbench:v#2") == [f"lvbench:v#{n}" for n in (0, 1, 2, 10)]
    assert index.siblings("nq:1") == ["nq:1"]
