"""HotpotQA: the answer, supporting-fact and joint scores of ``hotpot_evaluate_v1.py``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from canopy.metrics.normalise import harmonic, normalise, overlap

Fact = tuple[str, int]
"""A supporting fact: paragraph title as the native record spells it, and sentence index."""

_CLOSED = frozenset({"yes", "no", "noanswer"})


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of one question, each in [0, 1]."""

    em: float
    f1: float
    precision: float
    recall: float


ZERO = Scores(0.0, 0.0, 0.0, 0.0)
"""What a missing prediction scores."""


def answer_scores(prediction: str, gold: str) -> Scores:
    """Exact match and token F1.

    When either normal form is ``yes``, ``no`` or ``noanswer`` and the two differ, everything is 0.
    Two answers that both normalise to nothing match exactly but have F1 0, as in the official script.
    """
    predicted, wanted = normalise(prediction), normalise(gold)
    em = float(predicted == wanted)
    if predicted != wanted and (predicted in _CLOSED or wanted in _CLOSED):
        return ZERO
    precision, recall, f1 = overlap(predicted.split(), wanted.split())
    return Scores(em, f1, precision, recall)


def supporting_scores(prediction: Iterable[Fact], gold: Iterable[Fact]) -> Scores:
    """Scores of two *sets* of supporting facts; exact match needs the same set."""
    predicted, wanted = set(prediction), set(gold)
    right = len(predicted & wanted)
    precision = right / len(predicted) if predicted else 0.0
    recall = right / len(wanted) if wanted else 0.0
    return Scores(float(predicted == wanted), harmonic(precision, recall), precision, recall)


def joint_scores(answer: Scores, supporting: Scores) -> Scores:
    """Products of precisions, recalls and exact matches; F1 from the joint precision and recall."""
    precision, recall = answer.precision * supporting.precision, answer.recall * supporting.recall
    return Scores(answer.em * supporting.em, harmonic(precision, recall), precision, recall)
