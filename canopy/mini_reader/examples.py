"""What to write in each state of evidence, and the training examples made of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from canopy.mini_reader.annotations import Annotated, words
from canopy.mini_reader.renaming import Renamer
from canopy.mini_reader.states import State, StateMaker
from canopy.reader.engine import TransformersEngine
from canopy.reader.prompts import build_prompts, question_text
from canopy.regions.render import Region
from canopy.text.sentences import sentence_spans

# UniversalRAG's classes: HotpotQA's texts are documents, the others' paragraphs.
ROUTE_OF_BENCHMARK = {"nq": "paragraph", "hotpotqa": "document", "ottqa": "table", "lvbench": "clip"}
ROUTE_OF_MODALITY = {"table": "table", "image": "image", "video": "clip"}
# Weights of completion tokens in the loss: the words that decide, against those with many good wordings.
_WEIGHTS = {"answer": 2.0, "critic": 0.5, "reason": 0.5, "route": 1.0}
_DECISION = 5.0
ENDING = " So the answer is:"  # what sets the last reasoning sentence apart from the others
_LONGEST_SENTENCE = 200  # characters; longer ones are rows and pages


@dataclass(frozen=True, slots=True)
class Branch:
    """One prompt and its completion in token ids, with the weight of each completion token in the loss."""

    prompt: tuple[int, ...]
    completion: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A prompt to be put to some evidence: the question that it shows, and the words wanted."""

    prompt: str
    question: str
    wanted: str


def training_states(annotated: Sequence[Annotated], maker: StateMaker) -> Iterator[State]:
    """States of each question: all facts, and each missing fact once."""
    for one in annotated:
        yield maker.full(one)
        for found in range(len(one.steps)):
            # The first fact of two is rarely what is missing, but the reader must say so when it is.
            if found or len(one.steps) == 1 or maker.chance(0.35):
                yield maker.partial(one, found)
        if "comparison" in one.question.question_type and len(one.steps) == 2 and maker.chance(0.5):
            yield maker.second_only(one)


def verdict(state: State) -> str:
    """The critic's words: the fact that takes the question furthest, whether it is enough, and what to ask next.

    A small model finds a sentence more surely than it judges a page; the verdict then only has to compare the
    sentence with the question.
    """
    annotated, missing = state.annotated, state.missing
    if missing is None:
        return _json({"found": annotated.steps[-1].sentence, "sufficient": True})
    step = annotated.steps[missing]
    # The first step's own query is the question, which would be a repeat.
    query = step.query if missing else step.missing
    found = annotated.steps[missing - 1].sentence if missing else closest_sentence(state)
    return _json({"found": found, "sufficient": False, "missing": step.missing, "query": query})


def closest_sentence(state: State) -> str:
    """The sentence of the evidence that shares most with the question, counted in letters of shared words."""
    wanted = words(state.annotated.question.question)
    best, most = "", 0.0
    for region in state.regions:
        for span in sentence_spans(region.body):
            sentence = region.body[span.start : span.end].strip()
            there = words(sentence)
            shared = sum(map(len, wanted & there)) - len(there) / 50  # of equal sentences the shorter
            if shared > most and len(sentence) <= _LONGEST_SENTENCE:
                best, most = sentence, shared
    return best


def reasoning(annotated: Annotated, missing: int | None) -> str:
    """The next reasoning sentence."""
    if missing is None:
        return f"{annotated.steps[-1].sentence}{ENDING} {annotated.answer}."
    if missing == 0:
        return f"The evidence does not tell {annotated.steps[0].missing}."
    return annotated.steps[missing - 1].sentence


def cases(state: State) -> Iterator[Case]:
    """All that a state teaches: verdict, answer where it is settled, reasoning, and the route of its next query."""
    annotated, missing = state.annotated, state.missing
    question = question_text(annotated.question)
    yield Case("critic", question, verdict(state))
    if missing is None:
        yield Case("answer", question, f"Answer: {annotated.answer}")
    yield Case("reason", question, reasoning(annotated, missing))
    if missing:
        step = annotated.steps[missing]
        text = "document" if step.item.benchmark == "hotpotqa" else "paragraph"
        yield Case("route", step.query, ROUTE_OF_MODALITY.get(step.item.modality, text))
    elif missing is None:
        yield Case("route", annotated.question.question, annotated.route)


def branches(
    state: State, wanted: Sequence[Case], engine: TransformersEngine, max_tokens: int, renamer: Renamer
) -> list[Branch]:
    """Prompts and completions, rendered as a run renders them, under one renaming of all names."""
    rename = renamer.draw()
    made = []
    for case in wanted:
        regions: Sequence[Region] = () if case.prompt == "route" else state.regions
        (prompt,) = build_prompts(case.prompt, [case.question], [regions], engine, max_tokens)
        (ids,) = engine.chat_ids([rename(prompt.text)])
        wanted_words = rename(case.wanted)
        (completion,) = engine.completion_ids([wanted_words])
        weights = _weights(case.prompt, wanted_words, completion, engine)
        made.append(Branch(tuple(ids), tuple(completion), tuple(weights)))
    return made


def _weights(prompt: str, wanted: str, completion: Sequence[int], engine: TransformersEngine) -> list[float]:
    """Weights of a completion's tokens: most on the token that decides, more on the answer than on what leads to it."""
    weights = [_WEIGHTS[prompt]] * len(completion)
    if prompt == "critic":
        yes, no = '"sufficient": true', '"sufficient": false'
        opposite = wanted.replace(yes, no) if yes in wanted else wanted.replace(no, yes)
        weights[_parting(completion, opposite, engine)] = _DECISION
    elif prompt == "reason":
        sentence, ends, _ = wanted.partition(ENDING)
        last = _parting(completion, sentence, engine) if ends else len(completion) - 1
        weights[last:] = [_DECISION] + [_WEIGHTS["answer"]] * (len(completion) - last - 1)
    return weights


def _parting(completion: Sequence[int], other: str, engine: TransformersEngine) -> int:
    """Where a completion's tokens part from those of another text."""
    (ids,) = engine.completion_ids([other])
    return next(n for n, (a, b) in enumerate(zip(completion, ids, strict=False)) if a != b)


def _json(value: dict[str, str | bool]) -> str:
    return json.dumps(value, ensure_ascii=False)
