"""recall@10 against exact search, and the number of inverted lists that reaches a wanted one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from canopy.contracts import MODALITIES
from canopy.errors import StageStopped, UserError
from canopy.index.candidates import nearest
from canopy.index.search import NEARLY_EQUAL, VectorIndex
from canopy.settings.index import IndexSettings
from canopy.shards import Floats, Positions

_RECALL_AT = 10
# Scores nearer than this count as equal: other items of the same score are as good.
# Doubling the lists visited that gains less than this, twice, will not gain more.
_NO_GAIN = 0.0005


@dataclass(frozen=True)
class Queries:
    """Queries that recall is measured with.

    Attributes:
        vectors: float32 [q, d].
        own: the position of the item that each query is, which is not counted as found; -1 where it is none.
    """

    vectors: Floats
    own: Positions


def read_queries(path: Path, dim: int) -> Queries:
    """Queries from a file of float vectors [q, ``dim``]; they are L2-normalised here.

    Raises:
        UserError: it is no such file.
    """
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"--queries {path} cannot be read as .npy ({error})") from error
    if array.ndim != 2 or array.shape[1] != dim or array.dtype.kind != "f" or len(array) < 2:
        raise UserError(f"--queries {path} holds {array.dtype} {array.shape}, not two vectors or more of {dim}")
    lengths = np.linalg.norm(array.astype(np.float32), axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise UserError(f"--queries {path} has rows that are zero or not numbers")
    return Queries(array.astype(np.float32) / lengths, np.full(len(array), -1))


def measure(index: VectorIndex, queries: Queries, settings: IndexSettings, lists: int) -> dict[str, Any]:
    """Tune the lists visited on one half of the queries, and measure recall@10 on the other.

    Without inverted lists, or with a given nprobe, nothing is tuned and all queries are measured with. Modalities that
    are not searched exactly get a number of lists of their own.

    Args:
        index: what is measured.
        queries: held-out items or given queries.
        settings: the wanted recall, or the number of lists.
        lists: how many inverted lists there are; 0 where the index has none.

    Returns:
        facts for the manifest; ``nprobe`` is by modality, ``all`` without a filter.

    Raises:
        StageStopped: every query has the same best item, so the vectors are useless.
    """
    filters = {"all": None} | {name: frozenset({name}) for name in MODALITIES}
    kept = {n: f for n, f in filters.items() if f is None or not index.is_exact(index.allowed(f))}
    truths = {name: Truth(index, queries, modalities) for name, modalities in kept.items()}
    distinct = 0.0
    tuned = lists > 0 and settings.nprobe is None
    tune, report = (slice(0, None, 2), slice(1, None, 2)) if tuned else (slice(None), slice(None))
    nprobe: dict[str, int] = {}
    recalls: dict[str, float] = {}
    for name, truth in truths.items():
        if lists:
            best = settings.nprobe or fewest_lists(_by_lists(index, truth, tune), lists, settings.wanted_recall)
            nprobe[name] = min(best, lists)
        found = truth.found_by(index.probing(nprobe) if lists else index, report)
        recalls[name] = round(truth.recall_of(found, report), 4)
        distinct = _distinct(index, found) if name == "all" else distinct
    return {
        "nprobe": nprobe,
        "nprobe_tuned": tuned,
        "recall_at_10": recalls["all"],
        "recall_at_10_by_modality": {n: r for n, r in recalls.items() if n != "all"},
        "recall_queries": len(queries.own[report]),
        "wanted_recall_reached": min(recalls.values()) >= settings.wanted_recall,
        "distinct_top1": distinct,
    }


class Truth:
    """What exact search finds for some queries, among the items of some modalities."""

    def __init__(self, index: VectorIndex, queries: Queries, modalities: frozenset[str] | None) -> None:
        """Search exactly, once."""
        only = None if modalities is None else np.flatnonzero(index.ids.are_of(modalities))
        self._queries = queries
        self._modalities = modalities
        self.scores, self.positions = nearest(index.vectors, queries.vectors, _RECALL_AT + 1, only)

    def found_by(self, index: VectorIndex, part: slice) -> list[list[tuple[float, int]]]:
        """What an index finds for some of the queries, with one item more for the query itself."""
        return index.ranked(self._queries.vectors[part], _RECALL_AT + 1, self._modalities)

    def recall_of(self, found: list[list[tuple[float, int]]], part: slice) -> float:
        """The share of the 10 best of some of the queries that were found, or others of the same score."""
        shares = []
        for ranked, own, row in zip(found, self._queries.own[part], range(len(self._queries.own))[part], strict=True):
            others = (self.positions[row] >= 0) & (self.positions[row] != own)
            wanted = self.scores[row][others][:_RECALL_AT]
            if len(wanted):
                good = sum(score >= wanted[-1] - NEARLY_EQUAL for score, position in ranked if position != own)
                shares.append(min(good, len(wanted)) / len(wanted))
        return float(np.mean(shares)) if shares else 1.0


def _distinct(index: VectorIndex, found: list[list[tuple[float, int]]]) -> float:
    """The share of queries with a best item of their own."""
    best = {ranked[0][1] for ranked in found}
    if len(found) > 1 and len(best) == 1:
        item = index.ids[best.pop()]
        raise StageStopped(f"all of {len(found)} sampled queries find the same item, {item}: check the encoder")
    return round(len(best) / len(found), 4)


def _by_lists(index: VectorIndex, truth: Truth, part: slice) -> Callable[[int], float]:
    return lambda nprobe: truth.recall_of(truth.found_by(index.probing({"all": nprobe}), part), part)


def fewest_lists(recall: Callable[[int], float], lists: int, wanted: float) -> int:
    """The fewest lists that reach the wanted recall, by powers of 2, then bisection; else the fewest of the best."""
    tried: list[tuple[int, float]] = []
    for nprobe in _powers(lists):
        tried.append((nprobe, recall(nprobe)))
        if tried[-1][1] >= wanted:
            return _bisected(recall, tried, wanted)
        if len(tried) > 2 and tried[-1][1] - tried[-3][1] < _NO_GAIN:
            break
    most = max(found for _, found in tried)
    return next(nprobe for nprobe, found in tried if found >= most - _NO_GAIN)


def _bisected(recall: Callable[[int], float], tried: Sequence[tuple[int, float]], wanted: float) -> int:
    low, high = (tried[-2][0] if len(tried) > 1 else 0), tried[-1][0]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if recall(middle) >= wanted else (middle, high)
    return high


def _powers(lists: int) -> list[int]:
    return [*(1 << n for n in range(lists.bit_length()) if 1 << n < lists), lists]
