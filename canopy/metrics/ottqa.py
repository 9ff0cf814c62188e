"""OTT-QA: exact match and F1 of its ``evaluate_script.py``, which follows SQuAD v2."""

from __future__ import annotations

from canopy.metrics.normalise import normalise, overlap


def exact_match(prediction: str, gold: str) -> float:
    """1.0 when the normal forms are equal, else 0.0."""
    return float(normalise(prediction) == normalise(gold))


def f1(prediction: str, gold: str) -> float:
    """Token F1 in [0, 1]; when either side has no tokens left, 1 if both have none, else 0."""
    predicted, wanted = normalise(prediction).split(), normalise(gold).split()
    if not predicted or not wanted:
        return float(predicted == wanted)
    return overlap(predicted, wanted)[2]
