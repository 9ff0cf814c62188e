"""How many questions each benchmark gets in each split."""

from __future__ import annotations

from canopy.contracts import BENCHMARKS, Split
from canopy.settings.corpora import MiniRawSettings

#: Shares of the train questions. Films are dear to read, so there are few questions on them.
_TRAIN_SHARES = {"nq": 0.25, "hotpotqa": 0.28, "ottqa": 0.19, "mmqa": 0.19, "lvbench": 0.09}


def question_counts(settings: MiniRawSettings) -> dict[tuple[Split, str], int]:
    """Questions a split and benchmark: at least the settings' train and dev counts, exactly the test count."""
    counts: dict[tuple[Split, str], int] = {}
    for benchmark in BENCHMARKS:
        counts["train", benchmark] = max(1, int(_TRAIN_SHARES[benchmark] * settings.train_questions))
        counts["dev", benchmark] = -(-settings.dev_questions // len(BENCHMARKS))
        counts["test", benchmark] = settings.test_questions
    rest = settings.train_questions - sum(counts["train", b] for b in BENCHMARKS)
    counts["train", "hotpotqa"] += max(0, rest)
    return counts
