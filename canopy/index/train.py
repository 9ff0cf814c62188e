"""The ``index-train`` stage: what kind of index the corpus gets, trained on a sample."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from canopy.artefacts import build, content_id
from canopy.errors import UserError
from canopy.index.spec import Plan, check_factory, make, plan, reason
from canopy.settings.index import KINDS, IndexTrainSettings
from canopy.shards import ROWS_AT_ONCE, Floats, Positions, Shards, StoredVectors, open_shards

TRAINED_FILE = "trained.faiss"

# FAISS asks for 39 to 256 vectors a centroid. The time of k-means goes with it, recall hardly does.
_TRAINING_PER_LIST = 40
# FAISS's own number of k-means iterations for inverted lists.
_ITERATIONS = 10
# Vectors that codes and rotations are trained on: 64 for each of the 256 codes of a byte.
_CODE_TRAINING = 16_384
# Rounds of training a rotation for product quantisation, and of k-means in the first and in each later round. FAISS has
# 50, 40 and 4, six times the time; hits are ranked by their exact scores afterwards, which makes up for it.
_ROTATION_ROUNDS = 8
_FIRST_ROUND, _LATER_ROUNDS = 10, 4


def run(shards: Sequence[Path], settings: IndexTrainSettings, out: Path) -> None:
    """Decide how the vectors of all shards are indexed, and train it on a seeded sample.

    Args:
        shards: the directories of all shards of one ``embed`` stage, in any order.
        settings: the kind of index.
        out: directory for ``trained.faiss``, an index without vectors; exact search has none.

    Raises:
        UserError: shards are missing, damaged or belong to different encoders, or FAISS cannot train the index.
    """
    loaded = open_shards(shards)
    with build(out, "index-train", settings.model_dump(mode="json"), shards) as artefact:
        made = planned(loaded, settings)
        if made.has_lists:
            faiss.write_index(trained(loaded.vectors, made, settings, artefact.path), str(artefact.path / TRAINED_FILE))
        artefact.facts |= {
            "encoder": loaded.encoder,
            "dim": loaded.vectors.dim,
            "factory": made.factory,
            "notes": made.notes,
            "shards": [content_id(directory) for directory in loaded.directories],
            "first": loaded.vectors.first[:-1].tolist(),
        }


def planned(shards: Shards, settings: IndexTrainSettings) -> Plan:
    """The kind of index for these shards.

    Raises:
        UserError: there is no such index.
    """
    for fault in () if settings.kind in KINDS else check_factory(settings.kind, shards.vectors.dim):
        raise UserError(fault)
    total = len(shards.vectors)
    return plan(settings, total, shards.vectors.dim, total - len(held_out(total, settings)))


def held_out(total: int, settings: IndexTrainSettings) -> Positions:
    """Positions of the items that are left out of training, ascending: at most a quarter of all."""
    count = min(settings.recall_sample, max(1, total // 4))
    return np.sort(np.random.default_rng(settings.seed).choice(total, count, replace=False))


def trained(vectors: StoredVectors, made: Plan, settings: IndexTrainSettings, scratch: Path) -> Any:
    """An empty FAISS index trained on a seeded sample without the held-out items.

    The coarse k-means reads the sample as float16 from a file, so that memory holds a block of it.

    Args:
        vectors: all vectors.
        made: the index wanted.
        settings: seed and size of the held-out sample.
        scratch: a directory for the sample while it is used.

    Raises:
        UserError: FAISS cannot train such an index on these vectors, or one of the sample is not finite.
    """
    try:
        index = make(made.factory, vectors.dim)
        ivf = faiss.try_extract_index_ivf(index)
        wanted = _TRAINING_PER_LIST * ivf.nlist if ivf is not None else _CODE_TRAINING
        positions = _training_positions(len(vectors), wanted, settings)
        vectors.check_finite(positions)
        if ivf is None:
            index.train(vectors.rows(positions))
        else:
            _train_lists(index, ivf, vectors, positions, settings.seed, scratch)
    except (RuntimeError, MemoryError) as error:
        raise UserError(
            f"FAISS cannot train {made.factory} on {len(vectors)} vectors ({reason(error)}): "
            "set index.kind to auto, or to a smaller index"
        ) from error
    return index


def on_gpus(index: Any) -> Any:
    """The index on all GPUs where this FAISS has some, else as it is."""
    return faiss.index_cpu_to_all_gpus(index) if faiss.get_num_gpus() else index


def _train_lists(index: Any, ivf: Any, vectors: StoredVectors, positions: Positions, seed: int, scratch: Path) -> None:
    spread = positions[np.unique(np.linspace(0, len(positions) - 1, _CODE_TRAINING).astype(np.int64))]
    transforms = _trained_transforms(index, vectors, spread)
    centroids = _centroids(ivf.d, ivf.nlist, vectors, positions, transforms, seed, scratch)
    ivf.quantizer.train(centroids)
    ivf.quantizer.add(centroids)
    if _is_float(ivf):
        ivf.is_trained = True
    else:
        ivf.train(transformed(vectors.rows(spread), transforms))
    index.is_trained = True


def _is_float(ivf: Any) -> bool:
    """Whether the codes are the numbers themselves, so that there is nothing to train."""
    own: Any = faiss.downcast_index(ivf)
    if not isinstance(own, faiss.IndexIVFScalarQuantizer | faiss.IndexIVFFlat):
        return False
    return isinstance(own, faiss.IndexIVFFlat) or own.sq.qtype == faiss.ScalarQuantizer.QT_fp16


def _trained_transforms(index: Any, vectors: StoredVectors, positions: Positions) -> list[Any]:
    """The rotations before an index, trained one after the other."""
    transforms = transforms_of(index)
    rows = vectors.rows(positions) if transforms else np.empty((0, vectors.dim), np.float32)
    for transform in transforms:
        if isinstance(transform, faiss.OPQMatrix):
            transform.niter, transform.niter_pq_0, transform.niter_pq = _ROTATION_ROUNDS, _FIRST_ROUND, _LATER_ROUNDS
        if not transform.is_trained:
            transform.train(rows)
        rows = transform.apply(rows)
    return transforms


def transforms_of(index: Any) -> list[Any]:
    """The rotations before an index, in order; none where it has none."""
    if not isinstance(index, faiss.IndexPreTransform):
        return []
    chain: Any = index.chain
    return [faiss.downcast_VectorTransform(chain.at(i)) for i in range(chain.size())]


def transformed(rows: Floats, transforms: Sequence[Any]) -> Floats:
    """Vectors after all rotations, float32 [n, d]."""
    for transform in transforms:
        rows = transform.apply(rows)
    return rows


def _centroids(
    dim: int,
    count: int,
    vectors: StoredVectors,
    positions: Positions,
    transforms: Sequence[Any],
    seed: int,
    scratch: Path,
) -> Floats:
    """Spherical k-means over the sample, float32 [count, dim]."""
    path = scratch / "sample.npy"
    sample = np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=(len(positions), dim))
    for at in range(0, len(positions), ROWS_AT_ONCE):
        sample[at : at + ROWS_AT_ONCE] = transformed(vectors.rows(positions[at : at + ROWS_AT_ONCE]), transforms)
    clustering = faiss.Clustering(dim, count)
    clustering.niter, clustering.seed, clustering.spherical = _ITERATIONS, seed, True
    clustering.min_points_per_centroid, clustering.max_points_per_centroid = 1, len(positions)
    clustering.decode_block_size = ROWS_AT_ONCE
    codec = faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16)
    clustering.train_encoded(sample.view(np.uint8), codec, on_gpus(faiss.IndexFlatIP(dim)))
    path.unlink()
    return faiss.vector_to_array(clustering.centroids).reshape(count, dim)


def _training_positions(total: int, wanted: int, settings: IndexTrainSettings) -> Positions:
    held = held_out(total, settings)
    drawn = np.random.default_rng([settings.seed, 1]).choice(total, min(total, wanted + len(held)), replace=False)
    kept = drawn[~np.isin(drawn, held)]
    return np.sort(kept[:wanted])
