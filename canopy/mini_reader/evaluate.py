"""Scores of the reader on the mini dev split, one prompt at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from canopy.contracts import Item, Question
from canopy.metrics.normalise import normalise
from canopy.mini_reader.annotations import Annotated, Step, answer_text
from canopy.mini_reader.examples import ROUTE_OF_BENCHMARK, ROUTE_OF_MODALITY
from canopy.mini_reader.states import State, StateMaker
from canopy.reader.engine import TransformersEngine
from canopy.reader.parsing import parse_answer, parse_reasoning, parse_route, parse_verdict
from canopy.reader.prompts import build_prompts, question_text
from canopy.settings.encoder import TreeSettings

Scores = dict[str, Any]


def annotated_by_gold(questions: Iterable[Question], items: Sequence[Item]) -> list[Annotated]:
    """Questions with their gold items as steps, for splits that have no annotations.

    Left out are questions whose gold evidence is not all there: no gold at all, and OTT-QA questions that name
    the node of the last hop alone.
    """
    by_id = {item.item_id: item for item in items}
    found = []
    for question in questions:
        golds = [gold for gold in question.gold if gold.item_id in by_id]
        if not golds or (question.benchmark == "ottqa" and len(golds) == 1):
            continue
        steps = tuple(
            Step(by_id[gold.item_id], gold.units, _query(question, by_id[gold.item_id], number), "", "")
            for number, gold in enumerate(golds)
        )
        last = steps[-1].item.modality
        route = ROUTE_OF_BENCHMARK.get(question.benchmark) or ROUTE_OF_MODALITY.get(last, "paragraph")
        found.append(Annotated(question, steps, answer_text(question), route))
    return found


def evaluate(engine: TransformersEngine, annotated: Sequence[Annotated], items: Sequence[Item], seed: int) -> Scores:
    """Each prompt on states of evidence drawn from a seed.

    Returns:
        Shares in [0, 1] with the number of cases of each: ``answer`` (exact match of the normalised answer, with all
        facts among distractors), ``critic`` (right verdicts; insufficient states alternate with sufficient ones; a
        follow-up query after the first hop names the item that is missing), ``reason`` (ends, and rightly, where all
        facts are there; goes on where not), ``route``.
    """
    maker = StateMaker(items, TreeSettings().fan_out, seed)
    full = [maker.full(one) for one in annotated]
    short = [maker.partial(one, len(one.steps) - 1) for one in annotated]
    mixed = [(short if n % 2 else full)[n] for n in range(len(annotated))]
    return {
        "answer": _answers(engine, full),
        "critic": _verdicts(engine, mixed),
        "reason": _reasoning(engine, mixed[: max(2, len(mixed) // 2)]),
        "route": _routes(engine, annotated),
    }


def _answers(engine: TransformersEngine, states: Sequence[State]) -> Scores:
    parsed = [parse_answer(text) for text in _ask(engine, "answer", states, engine.settings.answer_tokens)]
    right: defaultdict[str, list[bool]] = defaultdict(list)
    for state, answer in zip(states, parsed, strict=True):
        right[state.annotated.question.benchmark].append(_same(answer.answer, state.annotated.answer))
    every = [value for values in right.values() for value in values]
    return {
        "exact_match": _share(every),
        "by_benchmark": {name: _share(values) for name, values in sorted(right.items())},
        "marked": _share([answer.marked for answer in parsed]),
        "cases": len(every),
    }


def _verdicts(engine: TransformersEngine, states: Sequence[State]) -> Scores:
    verdicts = [parse_verdict(text) for text in _ask(engine, "critic", states, engine.settings.verdict_tokens)]
    pairs = list(zip(states, verdicts, strict=True))
    after_first = [(s, v) for s, v in pairs if s.missing and not v.sufficient]
    named = [s.annotated.steps[s.missing or 0].item.title.casefold() in v.query.casefold() for s, v in after_first]
    return {
        "accuracy": _share([v.parsed and v.sufficient == (s.missing is None) for s, v in pairs]),
        "sufficient_recognised": _share([v.sufficient for s, v in pairs if s.missing is None]),
        "insufficient_recognised": _share([v.parsed and not v.sufficient for s, v in pairs if s.missing is not None]),
        "query_names_missing_item": _share(named),
        "queries": len(named),
        "parsed": _share([v.parsed for v in verdicts]),
        "cases": len(pairs),
    }


def _reasoning(engine: TransformersEngine, states: Sequence[State]) -> Scores:
    parsed = [parse_reasoning(text) for text in _ask(engine, "reason", states, engine.settings.reason_tokens)]
    pairs = list(zip(states, parsed, strict=True))
    ended = [_same(r.answer or "", s.annotated.answer) for s, r in pairs if s.missing is None]
    return {
        "ends_with_answer": _share(ended),
        "goes_on_when_insufficient": _share([r.answer is None for s, r in pairs if s.missing is not None]),
        "cases": len(pairs),
    }


def _routes(engine: TransformersEngine, annotated: Sequence[Annotated]) -> Scores:
    settings = engine.settings
    questions = [one.question.question for one in annotated]
    budget = settings.context_tokens - settings.route_tokens
    prompts = build_prompts("route", questions, [[] for _ in questions], engine, budget)
    routes = [parse_route(g.text) for g in engine.generate([p.text for p in prompts], settings.route_tokens)]
    right = [route.label == one.route for route, one in zip(routes, annotated, strict=True)]
    return {"accuracy": _share(right), "parsed": _share([route.parsed for route in routes]), "cases": len(right)}


def _ask(engine: TransformersEngine, name: str, states: Sequence[State], new_tokens: int) -> list[str]:
    questions = [question_text(state.annotated.question) for state in states]
    budget = engine.settings.context_tokens - new_tokens
    prompts = build_prompts(name, questions, [state.regions for state in states], engine, budget)
    return [generation.text for generation in engine.generate([p.text for p in prompts], new_tokens)]


def _query(question: Question, item: Item, number: int) -> str:
    return f"{item.title} {question.question}" if number else question.question


def _same(answer: str, gold: str) -> bool:
    return normalise(answer) == normalise(gold)


def _share(values: Sequence[bool]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
