"""How much of the gold evidence a run retrieved, kept and showed to the reader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from canopy.contracts import Question

FIGURES = ("recall_first", "recall", "units_kept", "units_shown")


def evidence_scores(
    question: Question, rounds: Sequence[Iterable[str]], kept: Sequence[Mapping[str, Any]], dropped: int
) -> dict[str, float | None]:
    """Shares of a question's gold evidence; all None where the corpus has none for it.

    Args:
        question: with its gold items and their units.
        rounds: item ids of the hits, round by round.
        kept: regions in order of arrival, with `item_id`, `unit_start`, `unit_end`.
        dropped: how many of the last regions were not in the prompt in full.

    Returns:
        `recall_first`: gold items among the hits of the first round (recall@k); `recall`: among those of all rounds;
        `units_kept`: of the gold units of retrieved items, those in a kept region (None if no gold item was retrieved);
        `units_shown`: of all gold units, those in a region that the reader was given.
    """
    if not question.gold:
        return dict.fromkeys(FIGURES)
    wanted = {(gold.item_id, unit) for gold in question.gold for unit in gold.units}
    items = {gold.item_id for gold in question.gold}
    hits = [set(found) for found in rounds]
    first, found = hits[0] if hits else set(), set().union(*hits)
    within = {(item_id, unit) for item_id, unit in wanted if item_id in found}
    shown = kept[: len(kept) - dropped]
    return {
        "recall_first": len(items & first) / len(items),
        "recall": len(items & found) / len(items),
        "units_kept": len(within & _units(kept)) / len(within) if within else None,
        "units_shown": len(wanted & _units(shown)) / len(wanted),
    }


def _units(regions: Iterable[Mapping[str, Any]]) -> set[tuple[str, int]]:
    return {(r["item_id"], unit) for r in regions for unit in range(r["unit_start"], r["unit_end"])}
