"""Answer normalisation and token overlap, as the benchmarks' official scripts define them."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def without_articles(text: str) -> str:
    """``text`` with each English article replaced by a space."""
    return _ARTICLE.sub(" ", text)


def without_punctuation(text: str) -> str:
    """``text`` without ASCII punctuation; nothing takes its place."""
    return text.translate(_NO_PUNCTUATION)


def normalise(text: str) -> str:
    """The normal form of HotpotQA, OTT-QA and SQuAD.

    Lower case, ASCII punctuation dropped, articles replaced by a space, white space collapsed; in that
    order, so that ``the-cat`` becomes ``thecat`` and keeps its article.
    """
    return " ".join(without_articles(without_punctuation(text.lower())).split())


def normalise_nfd(text: str) -> str:
    """The normal form of NQ-open: Unicode NFD first, then as :func:`normalise`; accents stay."""
    return normalise(unicodedata.normalize("NFD", text))


def overlap(predicted: Sequence[str], gold: Sequence[str]) -> tuple[float, float, float]:
    """Precision, recall and F1 of two bags of tokens; all 0 when they share none (also when both are empty)."""
    shared = sum((Counter(predicted) & Counter(gold)).values())
    if shared == 0:
        return 0.0, 0.0, 0.0
    precision, recall = shared / len(predicted), shared / len(gold)
    return precision, recall, harmonic(precision, recall)


def harmonic(precision: float, recall: float) -> float:
    """F1 of a precision and a recall; 0 when both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
