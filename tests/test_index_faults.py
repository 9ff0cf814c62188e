from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from index_world import Encoder, by_stages, one_thread, vectors, write_shards  # noqa: F401 (a fixture)

from canopy.artefacts import read_manifest
from canopy.errors import UserError
from canopy.index import VectorIndex
from canopy.index.add import run as add
from canopy.index.build import run
from canopy.index.spec import check_factory
from canopy.index.train import run as train
from canopy.settings.index import IndexSettings, IndexTrainSettings
from canopy.shards import IDS_FILE, VECTORS_FILE


@pytest.mark.parametrize(
    ("array", "fault"),
    [(vectors(5)[:, :8], r"float32 \(5, 8\), not two vectors or more of 16"), (0 * vectors(5), "zero or not numbers")],
)
def test_queries_that_are_none_are_refused(tmp_path: Path, array: np.ndarray, fault: str) -> None:
    np.save(tmp_path / "queries.npy", array)
    shards = write_shards(tmp_path, vectors(50), 1)
    with pytest.raises(UserError, match=f"queries.npy .*{fault}"):
        run(shards, IndexSettings(), tmp_path / "index", queries=tmp_path / "queries.npy")


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


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-5] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("name", [VECTORS_FILE, IDS_FILE])
@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
def test_a_damaged_shard_is_named(tmp_path: Path, damage: Callable[[Path], None], name: str) -> None:
    shards = write_shards(tmp_path, vectors(90), 3)
    train(shards, IndexTrainSettings(), tmp_path / "train")
    damage(shards[1] / name)
    message = f"shard-1/{name} is not as it was written: remove the folder .*shard-1 and run snakemake again"
    with pytest.raises(UserError, match=message):
        run(shards, IndexSettings(), tmp_path / "index")
    with pytest.raises(UserError, match=message):
        add(shards[1], tmp_path / "train", tmp_path / "part-1")


@pytest.mark.parametrize("name", ["lists.ivfdata", "index.faiss", "vectors/000001.npy", "ids/item_ids.npy"])
@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
def test_a_damaged_index_is_named_when_it_is_loaded(tmp_path: Path, name: str, damage: Callable[[Path], None]) -> None:
    run(write_shards(tmp_path, vectors(600), 2), IndexSettings(kind="ivf_sq"), tmp_path / "index")
    damage(tmp_path / "index" / name)
    message = f"{name} is not as it was written: remove the folder .*/index and run snakemake again"
    with pytest.raises(UserError, match=message):
        VectorIndex.load(tmp_path / "index", Encoder())


def test_parts_of_other_shards_or_another_training_are_refused(tmp_path: Path) -> None:
    shards = write_shards(tmp_path, vectors(600), 2)
    settings = IndexSettings(kind="ivf_sq")
    by_stages(shards, settings, tmp_path)
    parts = [tmp_path / "part-0", tmp_path / "part-1"]
    with pytest.raises(UserError, match=r"got parts of shards \[0\]; give one of each of 2"):
        run(shards, settings, tmp_path / "index", tmp_path / "train", parts[:1])
    train(shards, IndexTrainSettings(kind="ivf_sq", seed=14), tmp_path / "train")
    with pytest.raises(UserError, match=r"part-0 was made with another index than .*canopy index-add"):
        run(shards, settings, tmp_path / "index", tmp_path / "train", parts)
    write_shards(tmp_path, vectors(600, seed=5), 2)
    with pytest.raises(UserError, match="from other shards than these: run `canopy index-train`"):
        run(shards, settings, tmp_path / "index", tmp_path / "train", parts)
    with pytest.raises(UserError, match=r"another shard 1 than .*canopy index-train"):
        add(shards[1], tmp_path / "train", tmp_path / "part-1")


@pytest.mark.parametrize("kind", ["exact", "ivf_sq", "HNSW8", "OPQ4,IVF4,PQ4x4"])
@pytest.mark.parametrize(("value", "dtype"), [(np.nan, "float32"), (np.inf, "float16"), (-np.inf, "float32")])
def test_vectors_that_are_not_finite_are_refused_with_file_and_row(
    tmp_path: Path, kind: str, value: float, dtype: str
) -> None:
    array = vectors(700)
    array[350 + 7, 3] = array[350 + 90] = value
    shards = write_shards(tmp_path, array, 2, dtype=dtype)
    message = r"shard-1/vectors.npy: row 7 \(from 0\) holds NaN or infinity: remove the folder .* run snakemake again"
    with pytest.raises(UserError, match=message):
        run(shards, IndexSettings(kind=kind), tmp_path / "index")
    with pytest.raises(UserError, match=r"shard-1/vectors.npy: row .* holds NaN or infinity"):
        by_stages(shards, IndexSettings(kind=kind), tmp_path)
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize("name", ["part-1/000000.lists", "train/trained.faiss"])
@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
def test_damaged_work_of_earlier_stages_is_named(tmp_path: Path, damage: Callable[[Path], None], name: str) -> None:
    shards = write_shards(tmp_path, vectors(600), 2)
    settings = IndexSettings(kind="ivf_sq")
    by_stages(shards, settings, tmp_path)
    damage(tmp_path / name)
    message = f"{name} is not as it was written: remove the folder .* and run snakemake again"
    with pytest.raises(UserError, match=message):
        run(shards, settings, tmp_path / "again", tmp_path / "train", [tmp_path / "part-0", tmp_path / "part-1"])
    if name.startswith("train"):
        with pytest.raises(UserError, match=message):
            add(shards[1], tmp_path / "train", tmp_path / "part-again")


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("IVF0,Flat", r"IVF0 in .* is not within 1\.\.16777216"),
        ("IVF2147483647_HNSW32,PQ4x12", r"IVF2147483647 in .* is not within 1\.\.16777216"),
        ("IVF4_HNSW0,Flat", r"HNSW0 in .* is not within 2\.\.256"),
        ("HNSW100000000", r"HNSW100000000 in .* is not within 2\.\.256"),
        ("OPQ4_100000000,IVF4,Flat", r"100000000 in .* is not within 1\.\.4096"),
        ("PCA999999,IVF4,Flat", r"PCA999999 in .* is not within 1\.\.4096"),
        ("IVF4,PQ4x24", r"x24 in .* is not within 1\.\.16"),
        ("IVF-4,Flat", "could not parse"),
    ],
)
def test_a_factory_string_with_odd_numbers_is_refused_by_the_check_and_by_the_stage(
    tmp_path: Path, kind: str, fault: str
) -> None:
    [line] = check_factory(kind, 16)
    assert re.search(fault, line)
    shards = write_shards(tmp_path, vectors(300), 1)
    with pytest.raises(UserError, match=fault):
        run(shards, IndexSettings(kind=kind), tmp_path / "index")
    with pytest.raises(UserError, match=fault):
        train(shards, IndexTrainSettings(kind=kind), tmp_path / "train")


@pytest.mark.parametrize("kind", ["IVF65536_HNSW32,SQ8", "OPQ48_96,IVF4096,PQ48x8", "PCAR64,IVF16,SQfp16", "HNSW32"])
def test_usual_factory_strings_are_taken(kind: str) -> None:
    assert list(check_factory(kind, 384)) == []


def test_no_memory_for_an_index_is_a_fault_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: object) -> None:
        raise MemoryError("std::bad_alloc")

    monkeypatch.setattr("canopy.index.spec.faiss.index_factory", no_memory)
    assert "FAISS makes no index 'IVF4,PQ48x16'" in next(check_factory("IVF4,PQ48x16", 384))


@pytest.mark.parametrize("kind", ["ivf_sq", "ivf_pq", "IVF4,Flat", "HNSW8"])
def test_one_item_is_searched_exactly_whatever_the_kind(tmp_path: Path, kind: str) -> None:
    run(write_shards(tmp_path, vectors(1), 1), IndexSettings(kind=kind), tmp_path / "index")
    facts = read_manifest(tmp_path / "index")["facts"]
    assert facts["notes"] == ["1 vectors leave none to train an index: exact search instead"]
    assert [h.item_id for h in VectorIndex.load(tmp_path / "index", Encoder()).search(vectors(1), 5)[0]] == ["i0000"]


def edit_facts(directory: Path, name: str, value: object) -> None:
    path = directory / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["facts"][name] = value
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "value"),
    [("shard", "x"), ("shard", None), ("shard", -1), ("shards", 2.0), ("dim", "16"), ("dim", True), ("encoder", 3)],
)
def test_a_manifest_that_is_not_of_a_shard_is_named(tmp_path: Path, name: str, value: object) -> None:
    shards = write_shards(tmp_path, vectors(60), 2)
    train(shards, IndexTrainSettings(), tmp_path / "train")
    edit_facts(shards[1], name, value)
    message = "shard-1/manifest.json is not of a shard of this version: run `canopy embed` again"
    with pytest.raises(UserError, match=re.escape(message)):
        run(shards, IndexSettings(), tmp_path / "index")
    with pytest.raises(UserError, match=re.escape(message)):
        add(shards[1], tmp_path / "train", tmp_path / "part-1")


def test_a_manifest_of_too_many_shards_is_refused(tmp_path: Path) -> None:
    shards = write_shards(tmp_path, vectors(60), 2)
    for shard in shards:
        edit_facts(shard, "shards", 10**12)
    with pytest.raises(UserError, match=r"got shards \[0, 1\] of 1000000000000; give each of them once"):
        run(shards, IndexSettings(), tmp_path / "index")


@pytest.mark.parametrize("kind", ["exact", "ivf_sq"])
def test_a_shard_damaged_after_its_part_was_made_is_named(tmp_path: Path, kind: str) -> None:
    shards = write_shards(tmp_path, vectors(600), 2)
    settings = IndexSettings(kind=kind)
    by_stages(shards, settings, tmp_path)
    flip(shards[1] / VECTORS_FILE)
    with pytest.raises(UserError, match=f"shard-1/{VECTORS_FILE} is not as it was written"):
        run(shards, settings, tmp_path / "again", tmp_path / "train", [tmp_path / "part-0", tmp_path / "part-1"])


@pytest.mark.parametrize("section", ["files", "facts", "settings"])
@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_a_manifest_with_a_section_that_is_no_object_is_named(tmp_path: Path, section: str, value: object) -> None:
    path = write_shards(tmp_path, vectors(5), 1)[0] / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {section: value}))
    with pytest.raises(UserError, match=f"{path} is not a manifest: remove .*shard-0 and rerun its stage"):
        read_manifest(path.parent)
