from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from index_world import DIM, Encoder, by_stages, one_thread, vectors, write_shards  # noqa: F401 (a fixture)

from canopy.artefacts import build, read_manifest
from canopy.errors import StageStopped
from canopy.index import Hit, VectorIndex
from canopy.index.build import run
from canopy.index.measure import fewest_lists
from canopy.index.spec import plan
from canopy.settings.index import IndexSettings
from canopy.shards import ID_SCHEMA, IDS_FILE, VECTORS_FILE


def brute_force(array: np.ndarray, query: np.ndarray, k: int, among: list[int] | None = None) -> list[str]:
    among = list(range(len(array))) if among is None else among
    return [f"i{n:04d}" for n in sorted(among, key=lambda n: (-float(array[n] @ query), n))[:k]]


def ids(hits: list[list[Hit]]) -> list[list[str]]:
    return [[hit.item_id for hit in row] for row in hits]


@pytest.mark.parametrize("kind", ["auto", "ivf_sq", "IVF9,Flat", "HNSW8", "SQ8"])
def test_sharded_equals_unsharded_also_by_stages(tmp_path: Path, kind: str) -> None:
    array, queries = vectors(700), vectors(40, seed=1)
    settings = IndexSettings(kind=kind, nprobe=8)
    run(write_shards(tmp_path / "one", array, 1), settings, tmp_path / "index-one")
    five = write_shards(tmp_path / "five", array, 5)
    run(five, settings, tmp_path / "index-five")
    found = [
        VectorIndex.load(index, Encoder()).search(queries, 10)
        for index in (tmp_path / "index-one", tmp_path / "index-five", by_stages(five, settings, tmp_path))
    ]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("kind", ["exact", "ivf_sq", "ivf_pq", "OPQ4,IVF16,PQ4x4", "IVF16_HNSW8,SQ8", "HNSW8", "SQ8"])
def test_scores_are_cosines_of_the_stored_vectors_whatever_the_index(tmp_path: Path, kind: str) -> None:
    array, queries = vectors(1200).astype(np.float16), vectors(9, seed=1)
    run(write_shards(tmp_path, array, 3, dtype="float16"), IndexSettings(kind=kind), tmp_path / "index")
    expected = queries.astype(np.float64) @ array.astype(np.float64).T
    for modalities in (None, frozenset({"table"})):
        found = VectorIndex.load(tmp_path / "index", Encoder()).search(queries, 10, [modalities] * 9)
        for row, hits in enumerate(found):
            positions = [int(hit.item_id[1:]) for hit in hits]
            assert len(hits) == 10
            assert [hit.score for hit in hits] == pytest.approx(expected[row, positions], abs=1e-6)
            assert [(-hit.score, hit.item_id) for hit in hits] == sorted((-hit.score, hit.item_id) for hit in hits)
            assert modalities is None or all(position % 3 == 1 for position in positions)


def test_exact_search_is_exact_and_scores_are_cosines(tmp_path: Path) -> None:
    array, queries = vectors(300), vectors(20, seed=1)
    run(write_shards(tmp_path, array, 2), IndexSettings(), tmp_path / "index")
    hits = VectorIndex.load(tmp_path / "index", Encoder()).search(queries, 7)
    assert ids(hits) == [brute_force(array, query, 7) for query in queries]
    assert hits[3][0].score == pytest.approx(float((array @ queries[3]).max()), abs=1e-6)
    facts = read_manifest(tmp_path / "index")["facts"]
    assert (facts["recall_at_10"], facts["ntotal"], facts["distinct_top1"]) == (1.0, 300, 1.0)


def test_recall_of_an_inverted_index_is_measured(tmp_path: Path) -> None:
    shards = write_shards(tmp_path, vectors(2000), 2)
    recalls = []
    for nprobe in (1, 99):
        run(shards, IndexSettings(kind="ivf_sq", nprobe=nprobe, recall_sample=100), tmp_path / f"index-{nprobe}")
        facts = read_manifest(tmp_path / f"index-{nprobe}")["facts"]
        recalls.append(facts["recall_at_10"])
        assert facts["nlist"] == 48, "1,900 vectors that are not held out, 39 a list"
        assert facts["notes"] == ["1900 vectors can train 48 lists, not 178"]
    assert recalls[0] < 0.9, "one list of 48 misses neighbours of random vectors, and says so"
    assert recalls[1] == 1.0, "all lists are an exact search"


def test_nprobe_is_tuned_to_the_wanted_recall_for_each_modality_that_is_not_searched_exactly(tmp_path: Path) -> None:
    array = vectors(1200)
    settings = IndexSettings(kind="ivf_sq", wanted_recall=0.8, exact_below=100, recall_sample=200)
    run(write_shards(tmp_path, array, 2), settings, tmp_path / "index")
    facts = read_manifest(tmp_path / "index")["facts"]
    assert set(facts["nprobe"]) == {"all", "text", "table", "image"}, "there is no video"
    assert 1 < facts["nprobe"]["all"] < facts["nlist"]
    queries = vectors(100, seed=2)
    found = ids(VectorIndex.load(tmp_path / "index", Encoder()).search(queries, 10))
    share = np.mean([len(set(f) & set(brute_force(array, q, 10))) / 10 for f, q in zip(found, queries, strict=True)])
    assert share == pytest.approx(facts["recall_at_10"], abs=0.08)
    assert share > 0.72


@pytest.mark.parametrize(
    ("wanted", "recalls", "fewest"),
    [
        (0.9, {n: n / 100 for n in range(1, 101)}, 90),
        (0.01, {n: n / 100 for n in range(1, 101)}, 1),
        (1.0, {n: n / 100 for n in range(1, 101)}, 100),
        (0.9, {n: min(n, 8) / 10 for n in range(1, 101)}, 8),  # never reached: no more lists than help
    ],
)
def test_the_fewest_lists_that_reach_a_recall(wanted: float, recalls: dict[int, float], fewest: int) -> None:
    assert fewest_lists(recalls.__getitem__, 100, wanted) == fewest


def test_given_queries_measure_recall(tmp_path: Path) -> None:
    array, asked = vectors(600), vectors(30, seed=1)
    np.save(tmp_path / "queries.npy", 5 * asked)
    settings = IndexSettings(kind="IVF8,Flat", nprobe=1)
    run(write_shards(tmp_path, array, 1), settings, tmp_path / "index", queries=tmp_path / "queries.npy")
    facts = read_manifest(tmp_path / "index")["facts"]
    found = ids(VectorIndex.load(tmp_path / "index", Encoder()).search(asked, 10))
    share = np.mean([len(set(f) & set(brute_force(array, q, 10))) / 10 for f, q in zip(found, asked, strict=True)])
    assert (facts["queries"], facts["recall_queries"]) == ("given", 30)
    assert facts["recall_at_10"] == pytest.approx(share, abs=0.02), "it counts one item more when it looks for itself"


def test_an_index_moves_with_its_directory(tmp_path: Path) -> None:
    array = vectors(500)
    run(write_shards(tmp_path, array, 1), IndexSettings(kind="ivf_sq", nprobe=99), tmp_path / "index")
    for shard in tmp_path.glob("shard-*"):
        shutil.rmtree(shard)
    (tmp_path / "index").rename(tmp_path / "moved")
    index = VectorIndex.load(tmp_path / "moved", Encoder())
    assert ids(index.search(array[:5], 1)) == [[f"i{n:04d}"] for n in range(5)]


@pytest.mark.parametrize(("kind", "exact_below"), [("exact", 10), ("ivf_sq", 10), ("ivf_sq", 10_000)])
def test_allowed_modalities(tmp_path: Path, kind: str, exact_below: int) -> None:
    array, queries = vectors(200), vectors(4, seed=1)
    settings = IndexSettings(kind=kind, exact_below=exact_below, nprobe=99)
    run(write_shards(tmp_path, array, 1), settings, tmp_path / "index")
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


def test_more_lists_are_visited_until_there_are_k_items(tmp_path: Path) -> None:
    array = vectors(800)
    run(write_shards(tmp_path, array, 1), IndexSettings(kind="IVF15,Flat", nprobe=1), tmp_path / "index")
    [hits] = VectorIndex.load(tmp_path / "index", Encoder()).search(array[:1], 500)
    assert len(hits) == 500


def test_a_modality_of_few_items_is_searched_exactly(tmp_path: Path) -> None:
    array, queries = vectors(2000), vectors(20, seed=1)
    settings = IndexSettings(kind="ivf_sq", exact_below=700, nprobe=1)
    run(write_shards(tmp_path, array, 1), settings, tmp_path / "index")
    found = VectorIndex.load(tmp_path / "index", Encoder()).search(queries, 10, [frozenset({"image"})] * 20)
    assert ids(found) == [brute_force(array, query, 10, list(range(2, 2000, 3))) for query in queries]


def test_ties_come_in_the_order_of_ids_also_across_the_cut(tmp_path: Path) -> None:
    array = np.repeat(vectors(2), [90, 10], axis=0)
    run(write_shards(tmp_path, array, 3), IndexSettings(), tmp_path / "index")
    index = VectorIndex.load(tmp_path / "index", Encoder())
    assert ids(index.search(array[:1], 5)) == [[f"i{n:04d}" for n in range(5)]]
    assert ids(index.search(array[95:96], 12)) == [[f"i{n:04d}" for n in [*range(90, 100), 0, 1]]]


@pytest.mark.parametrize("kind", ["exact", "ivf_sq", "PCA8,IVF8,SQ8"])
def test_results_do_not_depend_on_the_batch_of_queries(tmp_path: Path, kind: str) -> None:
    array, queries = vectors(500), vectors(30, seed=1)
    run(write_shards(tmp_path, array, 1), IndexSettings(kind=kind, nprobe=2), tmp_path / "index")
    index = VectorIndex.load(tmp_path / "index", Encoder())
    together = index.search(queries, 10)
    assert [index.search(queries[n : n + 1], 10)[0] for n in range(30)] == together


def test_vectors_that_are_all_alike_stop_the_stage(tmp_path: Path) -> None:
    with pytest.raises(StageStopped, match="same item, i0000: check the encoder"):
        run(write_shards(tmp_path, np.repeat(vectors(1), 50, axis=0), 1), IndexSettings(), tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_half_precision_shards(tmp_path: Path) -> None:
    array = vectors(100)
    run(write_shards(tmp_path, array, 2, dtype="float16"), IndexSettings(), tmp_path / "index")
    assert ids(VectorIndex.load(tmp_path / "index", Encoder()).search(array[7:8], 1)) == [["i0007"]]


@pytest.mark.parametrize(
    ("settings", "total", "factory", "note"),
    [
        (IndexSettings(), 99_999, "", ""),
        (IndexSettings(), 100_000, "IVF1264,SQfp16", ""),
        (IndexSettings(), 10_000_000, "OPQ64,IVF12649,PQ64", ""),
        (IndexSettings(kind="exact"), 10**9, "", ""),
        (IndexSettings(kind="ivf_pq"), 5_000, "IVF128,SQfp16", "cannot train product quantisation"),
        (IndexSettings(kind="IVF65536_HNSW32,SQ8"), 10**8, "IVF65536_HNSW32,SQ8", ""),
        (IndexSettings(kind="IVF65536_HNSW32,SQ8"), 39_000, "IVF1000_HNSW32,SQ8", "can train 1000 lists, not 65536"),
    ],
)
def test_the_corpus_size_decides_on_the_index(settings: IndexSettings, total: int, factory: str, note: str) -> None:
    made = plan(settings, total, 384, total)
    assert made.factory == factory
    assert note in " ".join(made.notes) and bool(made.notes) == bool(note)


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
