"""Shares of gold evidence against counting by hand, unit by unit."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from canopy.contracts import Gold, Question
from canopy.metrics.evidence import evidence_scores

_ITEMS = ("a", "b", "c")
_GOLD = st.dictionaries(st.sampled_from(_ITEMS), st.sets(st.integers(0, 4), min_size=1), min_size=1)
_REGION = st.tuples(st.sampled_from(_ITEMS), st.integers(0, 4), st.integers(1, 3))


def asked(gold: dict[str, set[int]]) -> Question:
    golds = tuple(Gold(item_id, tuple(sorted(units))) for item_id, units in gold.items())
    return Question("nq:q", "nq", "test", "Q?", (), ("a",), "span", golds)


@given(_GOLD, st.lists(st.sets(st.sampled_from(_ITEMS)), max_size=3), st.lists(_REGION, max_size=6), st.integers(0, 6))
def test_shares(gold: dict[str, set[int]], rounds: list[set[str]], drawn: list[tuple[str, int, int]], cut: int) -> None:
    kept: list[dict[str, Any]] = [{"item_id": i, "unit_start": a, "unit_end": a + n} for i, a, n in drawn]
    dropped = min(cut, len(kept))
    got = evidence_scores(asked(gold), rounds, kept, dropped)

    def holds(regions: list[dict[str, Any]], item_id: str, unit: int) -> bool:
        return any(r["item_id"] == item_id and r["unit_start"] <= unit < r["unit_end"] for r in regions)

    def share(right: list[bool]) -> float | None:
        return sum(right) / len(right) if right else None

    shown = kept[: len(kept) - dropped]
    units = [(item_id, unit) for item_id, some in gold.items() for unit in some]
    assert got == {
        "recall_first": share([bool(rounds) and item_id in rounds[0] for item_id in gold]),
        "recall": share([any(item_id in hits for hits in rounds) for item_id in gold]),
        "units_kept": share([holds(kept, i, u) for i, u in units if any(i in hits for hits in rounds)]),
        "units_shown": share([holds(shown, i, u) for i, u in units]),
    }


def test_a_question_without_gold_evidence_has_no_shares() -> None:
    assert set(evidence_scores(asked({}), [["a"]], [], 0).values()) == {None}
