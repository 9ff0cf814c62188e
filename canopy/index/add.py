"""The ``index-add`` stage: the vectors of one shard in inverted lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from canopy.artefacts import build, check_all_files, check_files, content_id, read_manifest
from canopy.errors import UserError
from canopy.index.train import TRAINED_FILE, on_gpus, transformed, transforms_of
from canopy.progress import track
from canopy.shards import IDS_FILE, VECTORS_FILE, Floats, StoredVectors, map_vectors, shard_facts

# Vectors a file of lists: what memory holds besides one block of float32.
_ROWS_A_PART = 32_768


def run(shard: Path, trained: Path, out: Path) -> None:
    """Check one shard against its checksums and, where the index has inverted lists, fill lists with its vectors.

    Args:
        shard: directory of one embedding shard.
        trained: directory of the ``index-train`` stage over all shards.
        out: directory for ``<n>.lists``, of 32,768 vectors each.

    Raises:
        UserError: the shard or the training is damaged, a vector is not finite, or the index was trained for others.
    """
    facts, number = read_manifest(trained)["facts"], shard_facts(shard)["shard"]
    if facts["shards"][number : number + 1] != [content_id(shard)]:
        raise UserError(f"{trained} was made from another shard {number} than {shard}: run `canopy index-train` again")
    check_files(shard, (VECTORS_FILE, IDS_FILE))
    vectors = StoredVectors([map_vectors(shard / VECTORS_FILE, facts["dim"])], facts["dim"])
    vectors.check_finite()
    check_all_files(trained)
    with build(out, "index-add", {}, [shard, trained]) as artefact:
        if (trained / TRAINED_FILE).is_file():
            index = faiss.read_index(str(trained / TRAINED_FILE))
            for _ in fill(index, vectors, facts["first"][number], artefact.path):
                pass
        artefact.facts |= {"shard": number, "trained": content_id(trained), "vectors": len(vectors)}


def fill(index: Any, vectors: StoredVectors, first: int, directory: Path) -> Iterator[Path]:
    """Write ``<n>.lists`` files to a directory, in order.

    Args:
        index: trained, with inverted lists, without vectors.
        vectors: what is added.
        first: position of the first of them in the whole corpus.
        directory: it exists.

    Yields:
        the files.
    """
    ivf: Any = faiss.extract_index_ivf(index)
    coarse = on_gpus(ivf.quantizer)
    number = 0
    for positions, block in track(vectors.blocks(), "indexing"):
        _add(index, ivf, coarse, block, positions + first)
        if ivf.ntotal >= _ROWS_A_PART or positions[-1] + 1 == len(vectors):
            path = directory / f"{number:06d}.lists"
            writer = faiss.FileIOWriter(str(path))
            faiss.write_InvertedLists(ivf.invlists, writer)
            del writer  # closes the file
            ivf.reset()
            number += 1
            yield path


def _add(index: Any, ivf: Any, coarse: Any, block: Floats, positions: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    block = np.ascontiguousarray(transformed(block, transforms_of(index)))
    lists = np.ascontiguousarray(coarse.search(block, 1)[1][:, 0])
    ivf.add_core(len(block), faiss.swig_ptr(block), faiss.swig_ptr(positions), faiss.swig_ptr(lists))
