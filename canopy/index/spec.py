"""Which FAISS index a corpus gets."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import faiss

from canopy.settings.index import KINDS, IndexTrainSettings

# FAISS wants 39 vectors or more a k-means centroid.
LEAST_PER_CENTROID = 39
_CODES = 256
_LISTS = re.compile(r"IVF(\d+)")
# Bounds on the numbers of a factory string by the letters before them: FAISS aborts, or takes all memory, on others.
_NUMBERS = re.compile(r"([A-Za-z]*)(\d+)")
_BOUNDS = {"IVF": (1, 2**24), "HNSW": (2, 256), "NSG": (2, 256), "x": (1, 16)}
_OTHER_BOUNDS = (1, 4096)
_SEARCHABLE = (faiss.IndexIVF, faiss.IndexFlatCodes, faiss.IndexHNSW)
# Lists laid out in blocks cannot be merged on disk; product quantisation without lists takes no filter.
_REFUSED = (faiss.IndexIVFFastScan, faiss.IndexFastScan, faiss.IndexPQ)


@dataclass(frozen=True)
class Plan:
    """The FAISS index to make.

    Attributes:
        factory: FAISS factory string; empty for exact search over the stored vectors.
        notes: where the corpus is too small for what was asked.
    """

    factory: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def has_lists(self) -> bool:
        """Whether it has inverted lists, which are filled a shard at a time and merged on disk."""
        return "IVF" in self.factory


def plan(settings: IndexTrainSettings, total: int, dim: int, trainable: int) -> Plan:
    """What is made of ``total`` vectors, ``trainable`` of which may be used to train it."""
    kind = settings.kind
    if kind == "auto":
        large = "ivf_sq" if total < settings.compressed_from else "ivf_pq"
        kind = "exact" if total < settings.exact_below else large
    if kind in ("exact", "Flat"):
        return Plan()
    if not trainable:
        return Plan("", [f"{total} vectors leave none to train an index: exact search instead"])
    notes = []
    if kind == "ivf_pq" and trainable < LEAST_PER_CENTROID * _CODES:
        notes.append(f"{trainable} vectors cannot train product quantisation: float16 instead")
        kind = "ivf_sq"
    lists = int(4 * math.sqrt(total))
    parts = _sub_quantisers(dim)
    factory = {"ivf_sq": f"IVF{lists},SQfp16", "ivf_pq": f"OPQ{parts},IVF{lists},PQ{parts}"}.get(kind, kind)
    return Plan(_fitted(factory, trainable, notes), notes)


def check_factory(kind: str, dim: int) -> Iterator[str]:
    """What is wrong with ``kind``, a FAISS factory string, for vectors of ``dim``: at most one line."""
    names = f"give {', '.join(KINDS)} or a FAISS factory string like IVF65536_HNSW32,SQ8"
    for letters, digits in _NUMBERS.findall(kind):
        low, high = _BOUNDS.get(letters, _OTHER_BOUNDS)
        if not digits.isascii() or len(digits) > 9 or not low <= int(digits) <= high:
            yield f"index.kind: {letters}{digits} in {kind!r} is not within {low}..{high}: {names}"
            return
    try:
        made = make(kind, dim)
    except (RuntimeError, MemoryError) as error:
        yield f"index.kind: FAISS makes no index {kind!r} for {dim} dimensions ({reason(error)}): {names}"
        return
    inner = faiss.downcast_index(made.index) if isinstance(made, faiss.IndexPreTransform) else made
    if not isinstance(inner, _SEARCHABLE) or isinstance(inner, _REFUSED):
        yield (
            f"index.kind: {kind!r} makes a {type(inner).__name__}, which cannot be filtered by modality or merged on "
            f"disk, or refines scores that canopy takes from the stored vectors anyway: {names}"
        )


def reason(error: RuntimeError | MemoryError) -> str:
    """FAISS's own words, without where in its code they come from."""
    return str(error).rsplit("cpp:", 1)[-1].partition(":")[2].strip() or str(error)


def make(factory: str, dim: int) -> Any:
    """An empty index for inner products.

    Raises:
        RuntimeError: FAISS does not know the factory string.
    """
    return faiss.index_factory(dim, factory, faiss.METRIC_INNER_PRODUCT)


def _fitted(factory: str, trainable: int, notes: list[str]) -> str:
    """The factory string with no more lists than the vectors can train."""
    found = _LISTS.search(factory)
    most = max(1, trainable // LEAST_PER_CENTROID)
    if found is None or int(found[1]) <= most:
        return factory
    notes.append(f"{trainable} vectors can train {most} lists, not {found[1]}")
    return factory.replace(found[0], f"IVF{most}")


def _sub_quantisers(dim: int) -> int:
    """Bytes a code: the largest divisor of the dimension up to 64 and to a quarter of it."""
    return max(m for m in range(1, max(1, min(64, dim // 4)) + 1) if dim % m == 0)
