"""What to write in each state of evidence, and the training examples made of it."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from canopy.mini_reader.annotations import Annotated
from canopy.mini_reader.renaming import Renamer
from canopy.mini_reader.states import State, StateMaker, settled
from canopy.reader.engine import TransformersEngine
from canopy.reader.prompts import build_prompts, question_text
from canopy.regions.render import Region

# UniversalRAG's classes: HotpotQA's texts are documents, the others' paragraphs.
ROUTE_OF_BENCHMARK = {"nq": "paragraph", "hotpotqa": "document", "ottqa": "table", "lvbench": "clip"}
ROUTE_OF_MODALITY = {"table": "table", "image": "image", "video": "clip"}
SUFFICIENT = '{"sufficient": true}'
_INSUFFICIENT = '{"sufficient": false'
# Further questions put to the evidence of a state. One may be open where the state's own is settled, so that the
# critic hears both verdicts about equally often.
_GUESTS = 3
# Weights of completion tokens in the loss: the words that decide, against those with many good wordings.
_WEIGHTS = {"answer": 2.0, "critic": 0.5, "reason": 0.5, "route": 1.0}
_DECISION = 5.0


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


def verdict(annotated: Annotated, missing: int | None) -> str:
    """The critic's words when step ``missing`` is the first that the evidence does not settle."""
    if missing is None:
        return SUFFICIENT
    step = annotated.steps[missing]
    # The first step's own query is the question, which would be a repeat.
    query = step.query if missing else step.missing
    return json.dumps({"sufficient": False, "missing": step.missing, "query": query}, ensure_ascii=False)


def reasoning(annotated: Annotated, missing: int | None) -> str:
    """The next reasoning sentence."""
    if missing is None:
        return f"{annotated.steps[-1].sentence} So the answer is: {annotated.answer}."
    if missing == 0:
        return f"The evidence does not tell {annotated.steps[0].missing}."
    return annotated.steps[missing - 1].sentence


def judged(annotated: Annotated, missing: int | None) -> Iterator[Case]:
    """The critic's case, and the answer's where the evidence settles the question."""
    question = question_text(annotated.question)
    yield Case("critic", question, verdict(annotated, missing))
    if missing is None:
        yield Case("answer", question, f"Answer: {annotated.answer}")


def cases(state: State) -> Iterator[Case]:
    """All that a state's own question teaches: verdict, answer, reasoning, and the route of its next query."""
    annotated, missing = state.annotated, state.missing
    yield from judged(annotated, missing)
    yield Case("reason", question_text(annotated.question), reasoning(annotated, missing))
    if missing:
        step = annotated.steps[missing]
        text = "document" if step.item.benchmark == "hotpotqa" else "paragraph"
        yield Case("route", step.query, ROUTE_OF_MODALITY.get(step.item.modality, text))
    elif missing is None:
        yield Case("route", annotated.question.question, annotated.route)


class Guests:
    """Other questions that some evidence settles, half settles, or nearly names: more to learn from one reading."""

    def __init__(self, annotated: Sequence[Annotated], seed: int) -> None:
        """Choose among these questions."""
        self._by_item: dict[str, list[Annotated]] = defaultdict(list)
        for one in annotated:
            for step in one.steps:
                self._by_item[step.item.item_id].append(one)
        self._draw = random.Random(seed)

    def of(self, state: State) -> Iterator[Case]:
        """Cases of up to three other questions about items that are there, or close to those that are."""
        evidence = "\n".join(region.text for region in state.regions).casefold()
        there = {region.item_id for region in state.regions}
        seen = {state.annotated.question.qid}
        guests, open_left = 0, int(state.missing is None)
        for ids in (sorted(there), state.close):
            candidates = [one for item_id in ids for one in self._by_item[item_id]]
            self._draw.shuffle(candidates)
            for one in candidates:
                missing = next((n for n, step in enumerate(one.steps) if not settled(step, state.regions)), None)
                # What is told in another way is not missing.
                told = missing is not None and len(one.answer) > 3 and one.answer.casefold() in evidence
                full = guests == _GUESTS or (missing is not None and not open_left)
                if full or told or one.question.qid in seen:
                    continue
                seen.add(one.question.qid)
                guests += 1
                open_left -= missing is not None
                yield from judged(one, missing)


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
        (completion,) = engine.completion_ids([rename(case.wanted)])
        made.append(Branch(tuple(ids), tuple(completion), tuple(_weights(case, completion, engine))))
    return made


def _weights(case: Case, completion: Sequence[int], engine: TransformersEngine) -> list[float]:
    weights = [_WEIGHTS[case.prompt]] * len(completion)
    if case.prompt == "critic":
        yes, no = engine.completion_ids([SUFFICIENT, _INSUFFICIENT])
        weights[next(n for n, (a, b) in enumerate(zip(yes, no, strict=False)) if a != b)] = _DECISION
    return weights
