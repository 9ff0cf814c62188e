"""``canopy score``: official figures of a predictions file, without the workflow."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from canopy.contracts import BENCHMARKS
from canopy.errors import UserError
from canopy.metrics.fields import shown
from canopy.metrics.gold import read_gold
from canopy.metrics.official import report
from canopy.metrics.predictions import read_predictions
from canopy.metrics.records import GoldAnswer, Predictions


def score(benchmark: str, gold: Path, predictions: Path, only_predicted: bool = False) -> dict[str, Any]:
    """Figures as fractions of 1, counts, and the benchmark's own breakdowns; see :func:`report`.

    Predictions for ids that the gold does not have are counted as ``unknown``, with a warning on standard error.

    Args:
        benchmark: one of :data:`canopy.contracts.BENCHMARKS`.
        gold: the benchmark's native question file.
        predictions: an object from id to answer, or the benchmark's submission format.
        only_predicted: leave the questions without a predicted answer out of every figure, and count them as
            ``left_out``; supporting facts alone (HotpotQA) are no answer.

    Raises:
        UserError: a file is missing or malformed, an id occurs twice, or nothing can be scored.
    """
    if benchmark not in BENCHMARKS:
        raise UserError(f"unknown benchmark {benchmark!r}: one of {', '.join(BENCHMARKS)}")
    golds = read_gold(benchmark, gold)
    answerable = sum(bool(g.answers) for g in golds)
    if not answerable:
        raise UserError(f"{gold}: none of the {len(golds)} questions has a gold answer, so nothing can be scored")
    predicted = read_predictions(benchmark, predictions, golds)
    _warn_of_unknown(golds, predicted, gold, predictions)
    if not only_predicted:
        return report(benchmark, golds, predicted)
    kept = [g for g in golds if g.qid in predicted.answers]
    remaining = sum(bool(g.answers) for g in kept)
    if not remaining:
        raise UserError(f"{predictions} has no answer for any of the {answerable} questions of {gold}")
    return report(benchmark, kept, _known_to(golds, kept, predicted)) | {
        "only_predicted": True,
        "left_out": answerable - remaining,
    }


def _known_to(golds: Sequence[GoldAnswer], kept: Sequence[GoldAnswer], predicted: Predictions) -> Predictions:
    """The predictions without the supporting facts of questions that are left out: their ids are not unknown."""
    if predicted.supporting is None:
        return predicted
    left_out = {g.qid for g in golds} - {g.qid for g in kept}
    return replace(predicted, supporting={q: f for q, f in predicted.supporting.items() if q not in left_out})


def _warn_of_unknown(golds: Sequence[GoldAnswer], predicted: Predictions, gold: Path, predictions: Path) -> None:
    ids, known = _predicted_ids(predicted), {g.qid for g in golds}
    unknown = [qid for qid in ids if qid not in known]
    if not unknown:
        return
    if len(ids) == 1:
        share = f"the only id in {predictions} is not one of {gold}: it counts for nothing"
    else:
        right = len(ids) - len(unknown)
        share = f"{f'only {right:,}' if right else 'none'} of the {len(ids):,} ids in {predictions} "
        share += f"{'is' if right == 1 else 'are'} in {gold}: "
        share += f"{len(unknown):,} {'counts' if len(unknown) == 1 else 'count'} for nothing"
    print(
        f"canopy: warning: {share}. Is it the right file? Its ids are like {shown(unknown[0])}, those of the gold "
        f"like {shown(golds[0].qid)}",
        file=sys.stderr,
    )


def _predicted_ids(predicted: Predictions) -> dict[str, None]:
    """Ids with an answer or supporting facts, in order."""
    return dict.fromkeys([*predicted.answers, *(predicted.supporting or {})])
