"""States of evidence that a run can reach, drawn for training and evaluation.

A state is a question with some of its facts and some items that do not help, whole or refined. What to write
in each state is known from the annotations.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from canopy.contracts import Item
from canopy.mini_reader.annotations import Annotated, Step, words
from canopy.regions.refine import kept_nodes
from canopy.regions.render import Region, region, render, renderer, whole
from canopy.regions.tree import item_tree

# Items a round, as in config/mini.yaml; a state holds one to three rounds of them.
ROUND = 3
# Distractors are drawn from this many of the closest items.
_CLOSEST = 12
_COMPRESSED = 0.7
_GOLD_PRUNED = 0.25
_FULL_ROUND = 0.6


@dataclass(frozen=True, slots=True)
class State:
    """A question with evidence.

    Attributes:
        annotated: the question.
        regions: the evidence, in order of arrival.
        missing: index of the first step that it does not settle; None when it settles all.
    """

    annotated: Annotated
    regions: tuple[Region, ...]
    missing: int | None


class Distractors:
    """Items close to a text by their words, weighted by rarity: near-identical names, same relations."""

    def __init__(self, items: Sequence[Item]) -> None:
        """Index the items; a few hundred to a few thousand."""
        self._items = items
        self._words = [words(render(item, 0, len(item.units))) for item in items]
        counts = Counter(word for bag in self._words for word in bag)
        self._weight = {word: math.log(len(items) / count) for word, count in counts.items()}

    def closest(self, text: str, without: Collection[str]) -> list[Item]:
        """The closest items, best first, none of them in ``without`` (item ids)."""
        wanted = words(text)
        scored = [
            (-sum(self._weight[word] for word in sorted(wanted & bag)), n)
            for n, bag in enumerate(self._words)
            if self._items[n].item_id not in without
        ]
        return [self._items[n] for _, n in sorted(scored)[:_CLOSEST]]


class StateMaker:
    """Draws states of annotated questions; everything comes from one seed."""

    def __init__(self, items: Sequence[Item], fan_out: int, seed: int, others: Iterable[Annotated] = ()) -> None:
        """Use these items as distractors and this shape of tree for refined evidence.

        Half of the refined distractors keep a fact that one of the ``others`` asks for, as they would in a run
        that asks for it.
        """
        self._facts: dict[str, list[frozenset[int]]] = defaultdict(list)
        for step in (step for one in others for step in one.steps):
            self._facts[step.item.item_id].append(frozenset(step.units))
        self._distractors = Distractors(items)
        self._fan_out = fan_out
        self._draw = random.Random(seed)

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self._draw.random() < probability

    def full(self, annotated: Annotated) -> State:
        """All facts are there: found in one round, or over the rounds that the steps take."""
        steps = annotated.steps
        golds = [(step.item, frozenset(step.units)) for step in steps]
        together = self.chance(0.5)
        rounds = [golds] if together else [[gold] for gold in golds]
        queries = [step.query for step in steps]
        return self._state(annotated, rounds, queries, None)

    def partial(self, annotated: Annotated, found: int) -> State:
        """The first ``found`` steps are settled, the next one is not (or its item lost the fact in refinement)."""
        steps = annotated.steps
        rounds = [[(step.item, frozenset(step.units))] for step in steps[:found]] or [[]]
        queries = [step.query for step in steps[: max(found, 1)]]
        return self._state(annotated, rounds, queries, found, steps[found] if self.chance(_GOLD_PRUNED) else None)

    def second_only(self, annotated: Annotated) -> State:
        """Only the last of two steps is settled, as it happens with comparisons."""
        last = annotated.steps[-1]
        rounds = [[(last.item, frozenset(last.units))]]
        return self._state(annotated, rounds, [annotated.question.question], 0)

    def _state(
        self,
        annotated: Annotated,
        rounds: Sequence[Sequence[tuple[Item, frozenset[int]]]],
        queries: Sequence[str],
        missing: int | None,
        pruned: Step | None = None,
    ) -> State:
        draw = self._draw
        compressed = self.chance(_COMPRESSED)
        held = {step.item.item_id for step in annotated.steps}
        evidence: list[Region] = []
        for number, golds in enumerate(rounds):
            chosen = [(item, units, True) for item, units in golds]
            if pruned is not None and compressed and number == len(rounds) - 1:
                chosen.append((pruned.item, frozenset(pruned.units), False))
            extra = max(0, (ROUND if self.chance(_FULL_ROUND) else ROUND - 1) - len(chosen))
            close = self._unhelpful(annotated, queries[min(number, len(queries) - 1)], held)
            picked = draw.sample(close, min(extra, len(close)))
            held.update(item.item_id for item in picked)
            chosen += [(item, self._fact(item), True) for item in picked]
            draw.shuffle(chosen)
            for item, units, keep in chosen:
                evidence += self._refined(item, units, keep) if compressed else [whole(item, 0.0)]
        return State(annotated, tuple(evidence), missing)

    def _fact(self, item: Item) -> frozenset[int]:
        facts = self._facts.get(item.item_id)
        return self._draw.choice(facts) if facts and self.chance(0.5) else frozenset()

    def _unhelpful(self, annotated: Annotated, query: str, held: Collection[str]) -> list[Item]:
        """Close items that tell neither the answer nor a bridge by another way."""
        titles = {step.item.title for step in annotated.steps}
        answer = annotated.answer.casefold()
        telling = len(answer) > 3
        return [
            item
            for item in self._distractors.closest(query, held)
            if item.title not in titles and not (telling and answer in render(item, 0, len(item.units)).casefold())
        ]

    def _refined(self, item: Item, units: frozenset[int], keep: bool) -> list[Region]:
        """An item as refinement leaves it under random scores, with its fact kept or pruned away."""
        tree = item_tree(item, self._fan_out)
        scores = np.array([self._draw.random() for _ in range(len(tree))], np.float32)
        for node in range(len(tree)):
            holds = any(tree.starts[node] <= unit < tree.ends[node] for unit in units)
            if holds:
                scores[node] = 1 + tree.levels[node] if keep else -1 - tree.levels[node]
        parts = renderer(item)
        kept = np.flatnonzero(kept_nodes(tree, scores)).tolist()
        regions = [region(item, parts, int(tree.starts[n]), int(tree.ends[n]), 0.0) for n in kept]
        regions.sort(key=lambda one: one.unit_start)
        if not keep:
            regions = [r for r in regions if not any(r.unit_start <= unit < r.unit_end for unit in units)]
        return regions
