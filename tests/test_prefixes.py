from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from tiny_reader import tiny_model

from canopy.reader.decode import greedy
from canopy.reader.prefixes import Prefixes

NEW = 6


class Counting(torch.nn.Module):
    """Counts the tokens that a model reads."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.tokens = 0

    def forward(self, input_ids: torch.Tensor, **others: Any) -> Any:
        self.tokens += input_ids.numel()
        return self.model(input_ids=input_ids, **others)


def growing(draw: random.Random, questions: int) -> list[list[list[int]]]:
    """Rounds of prompts as the loop makes them: evidence that grows, then a question that stays."""
    evidence: list[list[int]] = [[] for _ in range(questions)]
    asked = [[draw.randrange(3, 259) for _ in range(9)] for _ in range(questions)]
    rounds = []
    for _ in range(3):
        for one in evidence:
            one += [draw.randrange(3, 259) for _ in range(draw.randrange(20, 60))]
        rounds.append([[*one, *question] for one, question in zip(evidence, asked, strict=True)])
    return rounds


@pytest.mark.parametrize("seed", range(3))
def test_what_was_read_before_changes_the_work_and_not_the_words(seed: int) -> None:
    draw, model = random.Random(seed), tiny_model(seed)
    reading, anew, kept = Counting(model), Counting(model), Prefixes(10_000)
    for prompts in growing(draw, 5):
        expected = greedy(anew, prompts, NEW, set(), Prefixes(0))  # type: ignore[arg-type]
        assert greedy(reading, prompts, NEW, set(), kept) == expected  # type: ignore[arg-type]
    assert anew.tokens - reading.tokens == kept.reused_tokens > 400


def test_the_same_prompt_again_reads_one_token() -> None:
    prompt = list(range(3, 103))
    model, kept = Counting(tiny_model(0)), Prefixes(1000)
    first = greedy(model, [prompt], 1, set(), kept)  # type: ignore[arg-type]
    assert model.tokens == 100
    assert greedy(model, [prompt], 1, set(), kept) == first  # type: ignore[arg-type]
    assert model.tokens == 101


def test_short_beginnings_and_forgotten_prompts_are_read_anew() -> None:
    start, kept = list(range(3, 23)), Prefixes(1000)
    model = tiny_model(0)
    long = [*start, *range(30, 90)]
    greedy(model, [long, [*start, *range(90, 150)]], 1, set(), kept)
    assert kept.reused_tokens == 0
    kept.forget()
    greedy(model, [long], 1, set(), kept)
    assert kept.reused_tokens == 0


def test_prompts_beyond_the_limit_are_not_kept() -> None:
    draw, model, kept = random.Random(0), tiny_model(0), Prefixes(100)
    first, second = ([draw.randrange(3, 259) for _ in range(70)] for _ in range(2))
    greedy(model, [first, second], 1, set(), kept)
    greedy(model, [second], 1, set(), kept)
    assert kept.reused_tokens == 0
    # What mostly continues a kept prompt takes its place, also when there is no room for both.
    longer = [*first, *range(3, 23)]
    greedy(model, [longer], 1, set(), kept)
    assert kept.reused_tokens == 70
    greedy(model, [longer], 1, set(), kept)
    assert kept.reused_tokens == 70 + 89
