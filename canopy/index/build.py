"""The ``index`` stage: one index over all shards, tuned and measured."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import faiss

from canopy.artefacts import build, check_all_files, check_files, content_id, read_manifest
from canopy.errors import UserError
from canopy.index.add import fill
from canopy.index.candidates import Approximate
from canopy.index.ids import ItemIds, write_ids
from canopy.index.measure import Queries, measure, read_queries
from canopy.index.search import IDS_FOLDER, INDEX_FILE, VECTORS_FOLDER, VectorIndex
from canopy.index.spec import Plan
from canopy.index.train import TRAINED_FILE, held_out, planned, trained
from canopy.progress import track
from canopy.settings.index import IndexSettings
from canopy.shards import IDS_FILE, VECTORS_FILE, Shards, StoredVectors, open_shards

_LISTS_FILE = "lists.ivfdata"
_ID_BYTES = 8
# Its type stubs lack some of it.
_FAISS: Any = faiss


def run(
    shards: Sequence[Path],
    settings: IndexSettings,
    out: Path,
    train: Path | None = None,
    parts: Sequence[Path] = (),
    queries: Path | None = None,
) -> None:
    """Index all shards: merge what ``index-train`` and ``index-add`` have made, or do it all here.

    Memory holds one block of vectors, and a few dozen bytes an item for ids.

    Args:
        shards: the directories of all shards of one ``embed`` stage, in any order.
        settings: the kind of index and the recall wanted of it.
        out: directory for ``vectors/`` (links to the shards' files, or copies where the file system has none),
            ``ids/`` and, unless search is exact, ``index.faiss`` (with ``lists.ivfdata``).
        train: directory of ``index-train``; without it, it is done here.
        parts: directories of ``index-add``, one a shard, in any order; with ``train`` only.
        queries: a .npy file of query vectors [q, d] to measure recall with, instead of held-out items.

    Raises:
        UserError: shards are missing, damaged, belong to different encoders or hold ids twice; parts are damaged or
            not of these shards; the disk is too small.
        StageStopped: every sampled query has the same best item, so the vectors are useless.
    """
    for shard in shards:  # after index-add too: its files are linked and copied from here on
        check_files(shard, (VECTORS_FILE, IDS_FILE))
    loaded = open_shards(shards)
    if train is None:
        loaded.vectors.check_finite()
    asked = read_queries(queries, loaded.vectors.dim) if queries else None
    inputs = [*shards, *([train] if train else []), *parts, *([queries] if queries else [])]
    with build(out, "index", settings.model_dump(mode="json"), inputs) as artefact:
        clock = _Clock()
        with clock.timed("ids"):
            write_ids(loaded.ids(), artefact.path / IDS_FOLDER)
        made, index = (
            _merged(loaded, train, parts, settings, artefact.path, clock)
            if train
            else _made_here(loaded, settings, artefact.path, clock)
        )
        vectors = _linked(loaded, artefact.path / VECTORS_FOLDER)
        if index is not None:
            faiss.write_index(index, str(artefact.path / INDEX_FILE))
        taken = _bytes_a_vector(artefact.path, len(vectors))
        lists = faiss.extract_index_ivf(index).nlist if made.has_lists else 0
        with clock.timed("measure"):
            held = held_out(len(vectors), settings)
            found = VectorIndex(
                vectors,
                ItemIds.load(artefact.path / IDS_FOLDER),
                Approximate(index) if index is not None else None,
                settings.exact_below,
                _rescored(made, settings),
            )
            measured = measure(found, asked or Queries(vectors.rows(held), held), settings, lists)
        if not measured["wanted_recall_reached"]:
            print(f"canopy: recall@10 of {measured['recall_at_10']} is below {settings.wanted_recall}", file=sys.stderr)
        artefact.facts |= {
            "encoder": loaded.encoder,
            "dim": vectors.dim,
            "metric": "inner product of unit vectors (cosine)",
            "factory": made.factory,
            "notes": made.notes,
            "nlist": lists,
            "ntotal": len(vectors),
            "exact_below": settings.exact_below,
            "rescored": _rescored(made, settings),
            "queries": "given" if asked else "held-out items",
            **measured,
            "bytes_a_vector": taken,
            "stages": clock.stages,
        }


class _Clock:
    """What the stages took; those of other jobs are read from their manifests."""

    def __init__(self) -> None:
        self.stages: dict[str, dict[str, float]] = {}

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.stages[stage] = {"seconds": round(time.monotonic() - started, 3)}

    def took(self, stage: str, directories: Sequence[Path]) -> None:
        manifests = [read_manifest(directory) for directory in directories]
        self.stages[stage] = {
            "jobs": len(manifests),
            "seconds": round(sum(m["wall_seconds"] for m in manifests), 3),
            "peak_rss_mb": max(m["peak_rss_mb"] for m in manifests),
        }


def _made_here(shards: Shards, settings: IndexSettings, directory: Path, clock: _Clock) -> tuple[Plan, Any]:
    made = planned(shards, settings)
    if not made.has_lists:
        return made, _without_lists(shards, made, settings, directory, clock)
    with clock.timed("train"):
        index = trained(shards.vectors, made, settings, directory)
    parts = directory / "parts"
    parts.mkdir()
    with clock.timed("add"):
        files = list(fill(index, shards.vectors, 0, parts))
    with clock.timed("merge"):
        _merge_lists(index, files, len(shards.vectors), directory)
    shutil.rmtree(parts)
    return made, index


def _merged(
    shards: Shards, train: Path, parts: Sequence[Path], settings: IndexSettings, directory: Path, clock: _Clock
) -> tuple[Plan, Any]:
    facts = read_manifest(train)["facts"]
    made = Plan(facts["factory"], facts["notes"])
    ordered = _ordered(shards, train, facts, parts)
    clock.took("train", [train])
    clock.took("add", ordered)
    if not made.has_lists:
        return made, _without_lists(shards, made, settings, directory, clock)
    check_all_files(train)
    index = faiss.read_index(str(train / TRAINED_FILE))
    files = [part / name for part in ordered for name in sorted(check_all_files(part))]
    with clock.timed("merge"):
        _merge_lists(index, files, len(shards.vectors), directory)
    return made, index


def _without_lists(shards: Shards, made: Plan, settings: IndexSettings, directory: Path, clock: _Clock) -> Any:
    """Nothing for exact search, else an index that is made in memory as a whole."""
    if not made.factory:
        return None
    with clock.timed("build"):
        index = trained(shards.vectors, made, settings, directory)
        for _, block in track(shards.vectors.blocks(), "indexing"):
            index.add(block)
    return index


def _ordered(shards: Shards, train: Path, facts: dict[str, Any], parts: Sequence[Path]) -> list[Path]:
    """The parts in the order of their shards, after a check that they are of these shards and this training."""
    if facts["shards"] != [content_id(directory) for directory in shards.directories]:
        raise UserError(f"{train} was made from other shards than these: run `canopy index-train` again")
    trained_id = content_id(train)
    by_shard: dict[int, Path] = {}
    for part in parts:
        own = read_manifest(part)["facts"]
        if own["trained"] != trained_id:
            raise UserError(f"{part} was made with another index than {train}: run `canopy index-add` again")
        by_shard[own["shard"]] = part
    if len(parts) != len(by_shard) or sorted(by_shard) != list(range(len(shards.directories))):
        raise UserError(f"--part: got parts of shards {sorted(by_shard)}; give one of each of {len(facts['shards'])}")
    return [by_shard[shard] for shard in range(len(by_shard))]


def _merge_lists(index: Any, files: Sequence[Path], total: int, directory: Path) -> None:
    """Put the lists of all files, one after the other, into one file that the index refers to."""
    ivf = faiss.extract_index_ivf(index)
    needed = total * (ivf.code_size + _ID_BYTES)
    free = shutil.disk_usage(directory).free
    if needed > free:
        raise UserError(
            f"{directory.parent} has {free / 1e9:.1f} GB free, the index needs {needed / 1e9:.1f} GB: free some space"
        )
    # Mapped, so that the lists may be larger than memory.
    mapped = [faiss.read_InvertedLists(faiss.FileIOReader(str(file)), faiss.IO_FLAG_MMAP) for file in files]
    pointers = _FAISS.InvertedListsPtrVector()
    for lists in mapped:
        pointers.push_back(lists)
    merged = _FAISS.OnDiskInvertedLists(ivf.nlist, ivf.code_size, str(directory / _LISTS_FILE))
    found = merged.merge_from_multiple(pointers.data(), pointers.size(), False)
    if found != total:
        raise UserError(f"the parts hold {found} vectors, the shards {total}: run `canopy index-add` again")
    ivf.replace_invlists(merged, True)
    merged.this.disown()
    index.ntotal = ivf.ntotal = total


def _linked(shards: Shards, directory: Path) -> StoredVectors:
    """The shards' vectors under the index's own directory: hard links, so that they take no space twice."""
    directory.mkdir()
    for number, shard in enumerate(shards.directories):
        source, target = shard / VECTORS_FILE, directory / f"{number:06d}.npy"
        try:
            os.link(source, target)
        except OSError:  # another file system, or one without links
            shutil.copyfile(source, target)
    return shards.vectors


def _rescored(made: Plan, settings: IndexSettings) -> int:
    """Codes of 16 bits a number rank as the vectors do."""
    return 1 if made.factory.endswith(("SQfp16", "Flat")) else settings.rescored


def _bytes_a_vector(directory: Path, total: int) -> dict[str, float]:
    """Of the stored vectors, of their ids, and of all else, which is the index."""
    found = {"vectors": 0, "ids": 0, "index": 0}
    groups = {VECTORS_FOLDER: "vectors", IDS_FOLDER: "ids"}
    for file in directory.rglob("*"):
        if file.is_file():
            found[groups.get(file.relative_to(directory).parts[0], "index")] += file.stat().st_size
    return {name: round(size / total, 1) for name, size in found.items()}
