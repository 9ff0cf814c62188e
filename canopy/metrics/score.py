"""``canopy score``: official figures of a predictions file, without the workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from canopy.contracts import BENCHMARKS
from canopy.errors import UserError
from canopy.metrics.gold import read_gold
from canopy.metrics.official import report
from canopy.metrics.predictions import read_predictions


def score(benchmark: str, gold: Path, predictions: Path) -> dict[str, Any]:
    """Figures as fractions of 1, counts, and the benchmark's own breakdowns; see :func:`report`.

    Raises:
        UserError: a file is missing or malformed, an id occurs twice, or nothing can be scored.
    """
    if benchmark not in BENCHMARKS:
        raise UserError(f"unknown benchmark {benchmark!r}: one of {', '.join(BENCHMARKS)}")
    golds = read_gold(benchmark, gold)
    return report(benchmark, golds, read_predictions(benchmark, predictions, golds))
