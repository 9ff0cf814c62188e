"""Reasoning steps of the mini train questions, joined to the items that hold them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canopy.contracts import Item, Question
from canopy.errors import UserError
from canopy.regions.render import render

ANNOTATIONS = "annotations.train.jsonl"


@dataclass(frozen=True, slots=True)
class Step:
    """One hop: the units that settle it, and what to say before and after it is found.

    Attributes:
        item: the item that holds the fact.
        units: indices of the units that state it.
        query: a question that finds it; for the first hop the question itself.
        missing: noun phrase of the fact.
        sentence: the fact, stated.
    """

    item: Item
    units: tuple[int, ...]
    query: str
    missing: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Annotated:
    """A question with its steps, its answer as it is to be written, and its route."""

    question: Question
    steps: tuple[Step, ...]
    answer: str
    route: str


def read_annotations(path: Path, questions: Iterable[Question], items: Sequence[Item]) -> list[Annotated]:
    """Join the annotations with the questions of the same id; a question that the corpus lacks is left out.

    Raises:
        UserError: the file is missing, a line is not an annotation, or names an item that does not exist.
    """
    if not path.is_file():
        raise UserError(f"{path} does not exist: make the mini corpus first (`canopy mini-raw`)")
    by_qid = {question.qid: question for question in questions}
    found = _Titles(items)
    annotated = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        where = f"{path}, line {number}"
        try:
            raw = json.loads(line)
            question = by_qid.get(f"{raw['benchmark']}:{raw['qid']}")
            if question is None:
                continue
            steps = tuple(_step(step, question, found, where) for step in raw["steps"])
            annotated.append(Annotated(question, steps, answer_text(question), str(raw["route"])))
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise UserError(f"{where}: not an annotation ({error!r}); make the mini corpus again") from error
    return annotated


def answer_text(question: Question) -> str:
    """The answer as the reader is to write it: the first accepted one, or all parts of a list as metrics split it."""
    return "; ".join(question.answers) if question.answer_kind == "list" else question.answers[0]


def words(text: str) -> frozenset[str]:
    """Lower-case words and numbers of a text."""
    return frozenset(re.findall(r"\w+", text.casefold()))


class _Titles:
    """Items by benchmark and title."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.by_id = {item.item_id: item for item in items}
        self.by_title: dict[tuple[str, str], list[Item]] = defaultdict(list)
        for item in self.by_id.values():
            self.by_title[item.benchmark, item.title].append(item)


def _step(raw: Mapping[str, Any], question: Question, found: _Titles, where: str) -> Step:
    title, sentence = str(raw["title"]), str(raw["sentence"])
    item, units = _place(title, sentence, question, found, where)
    return Step(item, units, str(raw["query"]), str(raw["missing"]), _in_the_source(item, units) or sentence)


def _place(title: str, sentence: str, question: Question, found: _Titles, where: str) -> tuple[Item, tuple[int, ...]]:
    for gold in question.gold:
        item = found.by_id.get(gold.item_id)
        if item is not None and item.title == title:
            return item, gold.units
    # Some benchmarks give gold for the last hop alone.
    candidates = found.by_title[question.benchmark, title]
    if not candidates:
        raise UserError(f"{where}: no item of {question.benchmark} is called {title!r}; make the corpus again")
    return candidates[0], (_closest_unit(candidates[0], sentence),)


def _in_the_source(item: Item, units: Sequence[int]) -> str:
    """The sentence of a text that states the fact by name, if one does: better copied than reworded."""
    if item.modality != "text" or len(units) != 1:
        return ""
    span = item.units[units[0]]
    sentence = item.content[span.start : span.end].strip()
    return sentence if item.title in sentence else ""


def _closest_unit(item: Item, sentence: str) -> int:
    wanted = words(sentence)
    shared = [len(wanted & words(render(item, unit, unit + 1))) for unit in range(len(item.units))]
    return shared.index(max(shared)) if shared else 0
