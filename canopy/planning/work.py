"""How much there is to do in one configuration: items, questions, and the reader's work a question."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from canopy.errors import ConfigError
from canopy.planning.figures import Figure, Sizes
from canopy.settings.project import Config
from canopy.settings.runs import MethodSettings

_MADE = "the configuration's `raw.generate`"
_NEW_TOKENS = {"critic": "verdict_tokens", "reasoning": "reason_tokens"}


@dataclass(frozen=True)
class ReaderWork:
    """What one question of a method costs on average.

    Attributes:
        read: reader tokens read; beginnings that prompts share are counted each time.
        written: reader tokens written, each output as long as it may be.
        refined: items refined.
        searches: retrieval rounds.
    """

    read: float
    written: float
    refined: float
    searches: float


def constructed_sizes(config: Config) -> dict[str, Any]:
    """The sizes that a configuration gives of the corpus it makes, as a user's file would; none for given raw files."""
    made = config.raw.generate
    if made is None:
        return {}
    minutes = sum(made.video_minutes) / 2
    clips = made.videos * math.ceil(minutes * 60 / config.video.clip_seconds)
    items: dict[str, dict[str, float]] = {
        "nq": {"text": made.passages / 4},
        "hotpotqa": {"text": made.passages / 4},
        "ottqa": {"text": made.passages / 4, "table": made.tables / 2},
        "mmqa": {"text": made.passages / 4, "table": made.tables / 2, "image": made.images},
        "lvbench": {"video": clips},
    }
    learnt = (made.train_questions + made.dev_questions) / len(items)
    return {
        "items": {b: {m: _figure(n, _MADE) for m, n in counts.items()} for b, counts in items.items()},
        "test_questions": dict.fromkeys(items, _figure(made.test_questions, _MADE)),
        "train_questions": dict.fromkeys(items, _figure(learnt, _MADE)),
    }


def used_sizes(config: Config, sizes: Sizes) -> Sizes:
    """The sizes of a configuration's own benchmarks, no more of each than its sample keeps.

    Raises:
        ConfigError: a benchmark of the configuration has no sizes.
    """
    items, test, train = {}, {}, {}
    for benchmark in config.benchmarks:
        for key in ("items", "test_questions", "train_questions"):
            if benchmark not in getattr(sizes, key):
                raise ConfigError(f"sizes: {key} has no figure for {benchmark}")
        counts, asked = sizes.items[benchmark], [sizes.test_questions[benchmark], sizes.train_questions[benchmark]]
        sample = config.sample.get(benchmark)
        if sample is not None:
            # A sample holds so many questions of each split.
            asked = [_at_most(asked[0], sample.questions), _at_most(asked[1], 2 * sample.questions)]
            most = sample.distractors + sum(figure.value for figure in asked) * sizes.gold_a_question.value
            share = min(1.0, most / max(1.0, sum(figure.value for figure in counts.values())))
            counts = {modality: _at_most(figure, figure.value * share) for modality, figure in counts.items()}
        items[benchmark], (test[benchmark], train[benchmark]) = counts, asked
    return sizes.model_copy(update={"items": items, "test_questions": test, "train_questions": train})


def reader_work(config: Config, name: str, method: MethodSettings, sizes: Sizes) -> ReaderWork:
    """What a question of a method costs if it goes through ``mean_rounds``, or all of the method's rounds.

    A prompt holds all evidence so far, as far as the context has room beside the output.
    """
    reader, mean = config.reader, sizes.mean_rounds.get(name)
    rounds = min(mean.value, method.rounds) if mean is not None else float(method.rounds)
    kept = 1.0 if method.compression == "none" else sizes.kept_share.value
    a_round = config.retrieval.k * sizes.item_tokens.value * kept
    prompt = sizes.prompt_tokens.value

    def held(after: float, new: int) -> float:
        return min(prompt + after * a_round, reader.context_tokens - new)

    read, written = held(rounds, reader.answer_tokens), float(reader.answer_tokens)
    for number in range(1, method.rounds + 1):
        share = min(1.0, max(0.0, rounds - (number - 1)))
        if method.routing:
            read, written = read + share * prompt, written + share * reader.route_tokens
        if method.follow_up != "none" and number < method.rounds:
            new: int = getattr(reader, _NEW_TOKENS[method.follow_up])
            read, written = read + share * held(number, new), written + share * new
    refined = 0.0 if method.compression == "none" else rounds * config.retrieval.k
    return ReaderWork(read, written, refined, rounds)


def _figure(value: float, source: str) -> dict[str, Any]:
    return {"value": value, "source": source}


def _at_most(figure: Figure, most: float) -> Figure:
    if figure.value <= most:
        return figure
    return Figure(value=most, source="the configuration's `sample`")
