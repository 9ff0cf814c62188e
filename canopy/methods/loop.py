"""The loop (DESIGN section 4): route, retrieve, refine, ask what is missing, at last answer.

All questions of a batch go through a round together, so that each step is one batched call. Methods
differ by switches only: :class:`canopy.settings.runs.MethodSettings`.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from canopy.contracts import Item, Question
from canopy.index import Hit
from canopy.methods.course import Course, Row
from canopy.methods.follow_up import SOURCES
from canopy.methods.retrieve import UNROUTED, Index, ItemStore, retrieve
from canopy.reader.engine import Engine, Generation
from canopy.reader.parsing import parse_route
from canopy.reader.prompts import Prompt, build_prompts, evidence_text, question_text
from canopy.regions.render import Region, whole
from canopy.settings.runs import RunSettings

Vectors = NDArray[np.float32]


class QueryEncoder(Protocol):
    """The frozen encoder, for queries."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """[n, d] float32, L2-normalised."""


class ItemRefiner(Protocol):
    """Parent-relative refinement: :class:`canopy.regions.Refiner`."""

    def refine(self, queries: Vectors, requests: Sequence[tuple[int, Item]]) -> list[list[Region]]:
        """The regions kept of each requested item against the query of that row number."""


@dataclass(frozen=True)
class Search:
    """What retrieval needs; methods without rounds have none."""

    store: ItemStore
    index: Index
    encoder: QueryEncoder
    refiner: ItemRefiner | None


@dataclass
class Batch:
    """What a batch of questions leaves behind; plain data, so that a journal can hold it.

    Attributes:
        predictions: a row a question, in the order of the questions.
        trace: a row a question and round, by question.
        counts: events that the rows do not show.
        seconds: wall time, by ``<round>/<stage>``; the final answers are round 0.
    """

    predictions: list[Row] = field(default_factory=list)
    trace: list[Row] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def answer_batch(questions: Sequence[Question], settings: RunSettings, engine: Engine, search: Search | None) -> Batch:
    """Run one method over a batch of questions.

    Args:
        questions: the batch.
        settings: the method's switches, ``k`` and the reader's budgets.
        engine: reader, critic, router and reasoner.
        search: what retrieval needs; None only for a method without rounds.
    """
    # A batch must not depend, to the last bit, on the batches before it: a resumed run has not read those.
    engine.forget()
    loop = _Loop(settings, engine)
    courses = [Course(question) for question in questions]
    for number in range(1, settings.method.rounds + 1):
        active = [course for course in courses if not course.stop]
        if active and search is not None:
            loop.play_round(number, active, search)
    predictions = loop.answer(courses)
    trace = [row for course in courses for row in course.trace]
    return Batch(predictions, trace, dict(loop.counts), dict(loop.seconds))


class _Loop:
    """The steps of one batch, and what they count."""

    def __init__(self, settings: RunSettings, engine: Engine) -> None:
        self.settings = settings
        self.engine = engine
        self.counts: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def play_round(self, number: int, courses: Sequence[Course], search: Search) -> None:
        method = self.settings.method
        routes = self._routes(number, courses)
        with self._timed(number, "retrieve"):
            vectors = search.encoder.encode([course.query for course in courses])
            hits = self._retrieve(vectors, courses, routes, search)
            items = search.store.get(hit.item_id for found in hits for hit in found)
        with self._timed(number, "refine"):
            kept = self._kept(vectors, hits, items, search.refiner)
        for course, route, found, regions in zip(courses, routes, hits, kept, strict=True):
            descended = sum(_descended(items[h.item_id], r) for h, r in zip(found, regions, strict=True))
            course.add_round(route, found, regions, descended)
        self._count_tokens(courses, kept)
        if number == method.rounds or method.follow_up == "none":
            for course in courses:
                course.end("rounds")
        else:
            with self._timed(number, method.follow_up):
                self._follow_up(courses)

    def answer(self, courses: Sequence[Course]) -> list[Row]:
        with self._timed(0, "answer"):
            spoken = self._ask("answer", courses, self.settings.reader.answer_tokens)
        return [course.prediction(*words) for course, words in zip(courses, spoken, strict=True)]

    def _routes(self, number: int, courses: Sequence[Course]) -> list[str]:
        if not self.settings.method.routing:
            return [UNROUTED] * len(courses)
        reader = self.settings.reader
        budget = reader.context_tokens - reader.route_tokens
        with self._timed(number, "route"):
            prompts = build_prompts("route", [c.query for c in courses], [[] for _ in courses], self.engine, budget)
            words = self.engine.generate([prompt.text for prompt in prompts], reader.route_tokens)
        routes = [parse_route(word.text) for word in words]
        self.counts["route_fallbacks"] += sum(not route.parsed for route in routes)
        return [route.label for route in routes]

    def _retrieve(
        self, vectors: Vectors, courses: Sequence[Course], routes: Sequence[str], search: Search
    ) -> list[list[Hit]]:
        hits: list[list[Hit]] = [[] for _ in courses]
        rows = [row for row, route in enumerate(routes) if route != "none"]
        held = [courses[row].held for row in rows]
        found = retrieve(search.index, vectors[rows], [routes[row] for row in rows], held, self.settings.k)
        for row, new in zip(rows, found, strict=True):
            hits[row] = new
            self.counts["searches_without_hits"] += not new
        return hits

    def _kept(
        self, vectors: Vectors, hits: Sequence[Sequence[Hit]], items: dict[str, Item], refiner: ItemRefiner | None
    ) -> list[list[list[Region]]]:
        if refiner is None:
            return [[[whole(items[hit.item_id], hit.score)] for hit in found] for found in hits]
        requests = [(row, items[hit.item_id]) for row, found in enumerate(hits) for hit in found]
        refined = iter(refiner.refine(vectors, requests) if requests else [])
        return [[next(refined) for _ in found] for found in hits]

    def _follow_up(self, courses: Sequence[Course]) -> None:
        source = SOURCES[self.settings.method.follow_up]
        spoken = self._ask(source.prompt, courses, source.new_tokens(self.settings.reader))
        for course, (_, words) in zip(courses, spoken, strict=True):
            course.steer(source.read(words.text))

    def _ask(self, prompt: str, courses: Sequence[Course], new_tokens: int) -> list[tuple[Prompt, Generation]]:
        """One prompt over question and evidence for all courses, in one batched call."""
        budget = self.settings.reader.context_tokens - new_tokens
        questions = [question_text(course.question) for course in courses]
        prompts = build_prompts(prompt, questions, [course.evidence for course in courses], self.engine, budget)
        words = self.engine.generate([p.text for p in prompts], new_tokens)
        for course, built in zip(courses, prompts, strict=True):
            course.evidence_tokens += built.evidence_tokens
            self.counts["prompts_cut"] += built.dropped > 0
        return list(zip(prompts, words, strict=True))

    def _count_tokens(self, courses: Sequence[Course], kept: Sequence[Sequence[Sequence[Region]]]) -> None:
        """Tokens of the evidence added this round, written as in a prompt."""
        texts = [evidence_text([region for regions in items for region in regions]) for items in kept]
        for course, tokens in zip(courses, self.engine.count_tokens(texts), strict=True):
            course.trace[-1]["round_tokens"] = tokens

    @contextmanager
    def _timed(self, number: int, stage: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.seconds[f"{number}/{stage}"] += time.monotonic() - started


def _descended(item: Item, regions: Sequence[Region]) -> bool:
    """Whether refinement went below the root."""
    return [(region.unit_start, region.unit_end) for region in regions] != [(0, len(item.units))]
