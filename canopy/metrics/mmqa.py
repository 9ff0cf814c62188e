"""MultimodalQA: list exact match and list F1 of ``baselines/evaluate.py``, which follows DROP."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment
from word2number.w2n import word_to_num

from canopy.metrics.normalise import harmonic, without_articles, without_punctuation

Answer = str | Sequence[str]
"""One string, or the parts of a list answer."""

# The official groups by number of hops, from the question types of the dataset.
_SINGLE_HOP = frozenset({"TextQ", "TableQ", "ImageQ", "ImageListQ"})


def hops(question_type: str) -> str:
    """``single-hop`` or ``multi-hop``, from the native ``metadata.type``."""
    return "single-hop" if question_type in _SINGLE_HOP else "multi-hop"


def labels(modality: str, question_type: str) -> tuple[tuple[str, str], ...]:
    """The official breakdowns of a question: modality of its answer, hops, type; without those it lacks."""
    found = [("modality", modality), ("hops", hops(question_type) if question_type else ""), ("type", question_type)]
    return tuple(label for label in found if label[1])


def exact_match(prediction: Answer, gold: Answer) -> float:
    """1.0 when both have the same *set* of normal forms and the same number of parts, else 0.0."""
    predicted, wanted = _normal_forms(prediction), _normal_forms(gold)
    return float(set(predicted) == set(wanted) and len(predicted) == len(wanted))


def f1(prediction: Answer, gold: Answer) -> float:
    """Mean F1 over the best one-to-one alignment of parts, rounded to 2 decimals.

    The mean is over the longer of the two lists. Each part is a *set* of tokens; a pair scores 0 when
    the gold part has numbers and the predicted part has none of them.
    """
    predicted = [frozenset(part.split()) for part in _normal_forms(prediction)]
    wanted = [frozenset(part.split()) for part in _normal_forms(gold)]
    longer = max(len(predicted), len(wanted))
    if longer == 0:
        return 0.0
    scores = np.array([[_pair_f1(p, w) for p in predicted] for w in wanted]).reshape(len(wanted), len(predicted))
    # The official script pads the aligned scores with zeros and rounds numpy's mean: its sum order matters at x.xx5.
    aligned = np.zeros(longer)
    rows, columns = linear_sum_assignment(-scores)
    aligned[rows] = scores[rows, columns]
    return float(round(np.mean(aligned), 2))


def normalise(text: str) -> str:
    """The normal form of one part.

    Split at spaces and hyphens; each token is lowered, loses its punctuation unless it parses as a
    float, becomes ``str(float)`` when it is a number or an English number word, and loses articles.
    """
    return " ".join(form for token in re.split("[ -]", text) if (form := _normal_token(token)))


def _normal_forms(answer: Answer) -> list[str]:
    return [normalise(part) for part in ([answer] if isinstance(answer, str) else answer)]


def _normal_token(token: str) -> str:
    token = token.lower()
    if not _is_number(token):
        token = without_punctuation(token)
    return " ".join(without_articles(_number_form(token)).split())


def _number_form(token: str) -> str:
    if _is_number(token):
        return str(float(token))
    try:
        return str(float(word_to_num(token)))
    # An IndexError comes of tokens like "thousand<tab>five", on which the official script ends with a traceback.
    except (ValueError, IndexError):
        return token


def _is_number(token: str) -> bool:
    # "nan", "inf" and "1_000" are numbers to the official script as well.
    try:
        float(token)
    except ValueError:
        return False
    return True


def _pair_f1(predicted: frozenset[str], gold: frozenset[str]) -> float:
    numbers = {token for token in gold if _is_number(token)}
    if numbers and not numbers & predicted:
        return 0.0
    shared = len(gold & predicted)
    precision = shared / len(predicted) if predicted else 1.0
    recall = shared / len(gold) if gold else 1.0
    return harmonic(precision, recall)
