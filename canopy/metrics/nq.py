"""NQ-open: exact match as in google-research/language ``orqa/utils/eval_utils.py``.

NQ-open has no official F1. The one here is the token F1 of SQuAD v1.1 over the NQ-open normal form,
as open-domain papers report it.
"""

from __future__ import annotations

from collections.abc import Sequence

from canopy.metrics.normalise import normalise_nfd, overlap


def exact_match(prediction: str, answers: Sequence[str]) -> float:
    """1.0 when the normal form of ``prediction`` equals that of any accepted answer, else 0.0."""
    return float(normalise_nfd(prediction) in {normalise_nfd(answer) for answer in answers})


def squad_f1(prediction: str, answers: Sequence[str]) -> float:
    """Token F1 in [0, 1], the largest over the accepted answers; ``answers`` must not be empty."""
    predicted = normalise_nfd(prediction).split()
    return max(overlap(predicted, normalise_nfd(answer).split())[2] for answer in answers)
