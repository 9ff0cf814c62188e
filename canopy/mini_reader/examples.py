"""What to write in each state, and the packed training examples made of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from canopy.mini_reader.annotations import Annotated
from canopy.mini_reader.states import State, StateMaker
from canopy.reader.engine import TransformersEngine
from canopy.reader.prompts import build_prompts, question_text
from canopy.regions.render import Region

# UniversalRAG's classes: HotpotQA's texts are documents, the others' paragraphs.
ROUTE_OF_BENCHMARK = {"nq": "paragraph", "hotpotqa": "document", "ottqa": "table", "lvbench": "clip"}
ROUTE_OF_MODALITY = {"table": "table", "image": "image", "video": "clip"}
SUFFICIENT = '{"sufficient": true}'


@dataclass(frozen=True, slots=True)
class Branch:
    """One prompt and its completion, in token ids."""

    prompt: tuple[int, ...]
    completion: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """A state with the words wanted of each prompt; ``route_query`` is what the router is shown."""

    state: State
    wanted: Mapping[str, str]
    route_query: str


def training_states(annotated: Sequence[Annotated], maker: StateMaker) -> Iterator[State]:
    """States of each question: all facts twice, each missing fact once."""
    for one in annotated:
        yield maker.full(one)
        yield maker.full(one)
        for found in range(len(one.steps)):
            # The first fact of two is rarely what is missing, but the reader must say so when it is.
            if found or len(one.steps) == 1 or maker.chance(0.35):
                yield maker.partial(one, found)
        if "comparison" in one.question.question_type and len(one.steps) == 2 and maker.chance(0.5):
            yield maker.second_only(one)


def verdict(state: State) -> str:
    """The critic's words for a state."""
    if state.missing is None:
        return SUFFICIENT
    step = state.annotated.steps[state.missing]
    # The first step's own query is the question, which would be a repeat.
    query = step.query if state.missing else step.missing
    return json.dumps({"sufficient": False, "missing": step.missing, "query": query}, ensure_ascii=False)


def reasoning(state: State) -> str:
    """The next reasoning sentence for a state."""
    steps = state.annotated.steps
    if state.missing is None:
        return f"{steps[-1].sentence} So the answer is: {state.annotated.answer}."
    if state.missing == 0:
        return f"The evidence does not tell {steps[0].missing}."
    return steps[state.missing - 1].sentence


def task(state: State) -> Task:
    """Everything to be written in a state; an answer only where the evidence settles it."""
    wanted = {"critic": verdict(state), "reason": reasoning(state)}
    annotated = state.annotated
    if state.missing is None:
        wanted["answer"] = f"Answer: {annotated.answer}"
    if state.missing:
        step = annotated.steps[state.missing]
        text = "document" if step.item.benchmark == "hotpotqa" else "paragraph"
        wanted["route"] = ROUTE_OF_MODALITY.get(step.item.modality, text)
        return Task(state, wanted, step.query)
    wanted["route"] = annotated.route
    return Task(state, wanted, annotated.question.question)


def branches(tasks: Sequence[Task], engine: TransformersEngine, max_tokens: int) -> list[list[Branch]]:
    """The prompts and completions of each task, rendered as a run renders them."""
    made: list[list[Branch]] = [[] for _ in tasks]
    for name in ("critic", "answer", "reason", "route"):
        rows = [row for row, one in enumerate(tasks) if name in one.wanted]
        if not rows:
            continue
        if name == "route":
            questions = [tasks[row].route_query for row in rows]
            evidence: list[tuple[Region, ...]] = [()] * len(rows)
        else:
            questions = [question_text(tasks[row].state.annotated.question) for row in rows]
            evidence = [tasks[row].state.regions for row in rows]
        prompts = engine.chat_ids([p.text for p in build_prompts(name, questions, evidence, engine, max_tokens)])
        completions = engine.completion_ids([tasks[row].wanted[name] for row in rows])
        for row, prompt, completion in zip(rows, prompts, completions, strict=True):
            made[row].append(Branch(tuple(prompt), tuple(completion)))
    return made
