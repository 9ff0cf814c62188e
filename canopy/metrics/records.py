"""Gold answers and predictions, as every benchmark's scores take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from canopy.metrics.evidence import FIGURES
from canopy.metrics.hotpotqa import Fact

Prediction = str | tuple[str, ...]
"""A predicted answer: one string, or (MultimodalQA only) the parts of a list."""

SCORES_SCHEMA: dict[str, Any] = {
    "method": pl.String,
    "qid": pl.String,
    "benchmark": pl.String,
    "em": pl.Float64,
    "f1": pl.Float64,
    "accuracy": pl.Float64,
    "evidence_tokens": pl.Int64,
    "held_tokens": pl.Int64,
    "total_evidence_tokens": pl.Int64,
    "prompt_tokens": pl.Int64,
    "rounds": pl.Int64,
    "answered": pl.Boolean,
    "cut": pl.Boolean,
    **dict.fromkeys(FIGURES, pl.Float64),
}
"""``scores.parquet``: a row a question; em and f1 are null for LVBench, accuracy for all others, and the shares of
:mod:`canopy.metrics.evidence` where there is no gold evidence."""


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """What the official metric needs of one question.

    Attributes:
        qid: the id under which its prediction is looked up.
        answers: accepted answers; for MultimodalQA the parts of the one answer. Empty without gold.
        labels: (breakdown, label) pairs that the scores are also given by, such as
            ``("type", "bridge")``; a question may have several labels of one breakdown.
        supporting: gold supporting facts (HotpotQA).
        aliases: other ids that a predictions file may use for it.
    """

    qid: str
    answers: tuple[str, ...]
    labels: tuple[tuple[str, str], ...] = ()
    supporting: frozenset[Fact] = frozenset()
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Predictions:
    """Predicted answers by id; ``supporting`` is None when no supporting facts are predicted at all."""

    answers: Mapping[str, Prediction]
    supporting: Mapping[str, Sequence[Fact]] | None = field(default=None)
