"""HotpotQA: bridge and comparison questions over two paragraphs among ten."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from canopy.artefacts import write_json
from canopy.contracts import Split
from canopy.corpora.mini.asking import Annotation, Step, annotation, ask, phrase, step
from canopy.corpora.mini.kinds import KINDS
from canopy.corpora.mini.model import Entity, Passage, Relation
from canopy.corpora.mini.prose import article
from canopy.corpora.mini.world import World, answer_of, number_of

_FILES: dict[Split, str] = {
    "train": "hotpot_train_v1.1.json",
    "dev": "hotpot_dev_distractor_v1.json",
    "test": "hotpot_test_v1.json",
}
CONTEXT = 10
_BRIDGES = [(kind.name, r) for kind in KINDS.values() for r in kind.relations if r.value in KINDS]
_ORDERED = [(kind.name, r) for kind in KINDS.values() for r in kind.relations if r.compare]
_SAME = [(kind.name, r) for kind in KINDS.values() for r in kind.relations if r.same]


@dataclass
class _Draft:
    """A question before its context is filled up with distractors."""

    question: str
    answer: str
    type: str
    gold: list[tuple[Passage, int]]  # paragraph and index of its supporting sentence
    steps: list[Step]


@dataclass
class HotpotSplit:
    """The records of one split, and every paragraph in them."""

    split: Split
    records: list[dict[str, Any]] = field(default_factory=list)
    paragraphs: list[Passage] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)

    @property
    def passages(self) -> int:
        """Number of distinct paragraphs."""
        return len(self.paragraphs)


def make(world: World, questions: int) -> HotpotSplit:
    """The questions and paragraphs of one split."""
    out = HotpotSplit(world.split)
    drafts: list[_Draft] = []
    makers = _cycle()
    while len(drafts) < questions:
        kind = next(makers)
        drafts += _bridge(world, out) if kind == "bridge" else [_comparison(world, out, same=kind == "same")]
    drafts = drafts[:questions]
    while len(out.paragraphs) < CONTEXT:
        _add(world, out, world.filled(world.rng.choice(list(KINDS))))
    for draft in drafts:
        _record(world, out, draft)
    # Paragraphs are known through contexts only: those that no record holds are left out.
    held = {title for record in out.records for title, _ in record["context"]}
    out.paragraphs = [p for p in out.paragraphs if p.title in held]
    return out


def write(folder: Path, splits: Iterable[HotpotSplit]) -> None:
    """Write one file a split."""
    folder.mkdir(parents=True)
    for part in splits:
        write_json(folder / _FILES[part.split], part.records)


def _cycle() -> Iterator[str]:
    pattern = ["bridge", "bridge", "order", "bridge", "bridge", "same", "bridge"]
    while True:
        yield from pattern


def _add(
    world: World, out: HotpotSplit, entity: Entity, needed: tuple[str, ...] = (), hidden: tuple[str, ...] = ()
) -> Passage:
    passage = article(world, entity, needed=needed, hidden=hidden)[0]
    out.paragraphs.append(passage)
    return passage


def _bridge(world: World, out: HotpotSplit) -> list[_Draft]:
    """Questions on an entity that is named only in the article on another one."""
    kind, inner = world.rng.choice(_BRIDGES)
    first = world.filled(kind)
    second = first.facts[inner.name].target
    assert second is not None
    world.fill(second)
    # A spouse's article would lead back to the first one, which the question names.
    back = tuple(name for name, fact in second.facts.items() if fact.target is first)
    choices = [r for r in KINDS[second.kind].relations if r.name not in back]
    asked = world.rng.sample(choices, 2 if world.split == "train" else 1)
    one = _add(world, out, first, (inner.name,))
    two = _add(world, out, second, tuple(r.name for r in asked), back)
    if world.rng.random() < 0.5:
        _add(world, out, world.twin(world.rng.choice((first, second))))
    return [_bridge_draft(world, (first, inner, one), (second, outer, two)) for outer in asked]


def _bridge_draft(
    world: World, hop1: tuple[Entity, Relation, Passage], hop2: tuple[Entity, Relation, Passage]
) -> _Draft:
    first, inner, one = hop1
    second, outer, two = hop2
    question = ask(world, outer, phrase(world, inner, first.mention))
    steps = [step(world, first, inner, question), step(world, second, outer)] if world.split == "train" else []
    gold = [(one, one.index_of(inner.name)), (two, two.index_of(outer.name))]
    return _Draft(question, answer_of(second.facts[outer.name]), "bridge", gold, steps)


def _comparison(world: World, out: HotpotSplit, *, same: bool) -> _Draft:
    kind, relation = world.rng.choice(_SAME if same else _ORDERED)
    pair = [world.filled(kind), world.filled(kind)]
    facts = [entity.facts[relation.name] for entity in pair]
    if same:
        if world.rng.random() < 0.5:
            facts[1].value = facts[0].value
        answer = "yes" if facts[0].value == facts[1].value else "no"
    else:
        while number_of(facts[0]) == number_of(facts[1]):
            pair[1] = world.filled(kind)
            facts[1] = pair[1].facts[relation.name]
        first_wins = (number_of(facts[0]) > number_of(facts[1])) == relation.larger
        answer = pair[0 if first_wins else 1].title
    group = relation.same if same else relation.compare
    assert group is not None
    template = world.rng.choice(group.of(world.split))
    question = template.format(a=pair[0].mention, b=pair[1].mention)
    passages = [_add(world, out, entity, (relation.name,)) for entity in pair]
    gold = [(p, p.index_of(relation.name)) for p in passages]
    steps = []
    if world.split == "train":
        steps = [step(world, pair[0], relation, question), step(world, pair[1], relation)]
    return _Draft(question, answer, "comparison", gold, steps)


def _record(world: World, out: HotpotSplit, draft: _Draft) -> None:
    """Add the record of a draft; paragraphs that no earlier record holds come first among its distractors."""
    own = {passage.title for passage, _ in draft.gold}
    held = {title for record in out.records for title, _ in record["context"]}
    others = [p for p in out.paragraphs if p.title not in own]
    world.rng.shuffle(others)
    others.sort(key=lambda p: p.title in held)
    context = [passage for passage, _ in draft.gold] + others[: CONTEXT - len(draft.gold)]
    world.rng.shuffle(context)
    qid = hashlib.md5(f"hotpotqa {draft.question}".encode(), usedforsecurity=False).hexdigest()[:24]
    out.records.append(
        {
            "_id": qid,
            "question": draft.question,
            "answer": draft.answer,
            "supporting_facts": [[passage.title, index] for passage, index in draft.gold],
            "context": [[p.title, _native_sentences(p)] for p in context],
            "type": draft.type,
            "level": world.rng.choice(("easy", "medium", "hard")),
        }
    )
    if draft.steps:
        out.annotations.append(annotation("hotpotqa", qid, draft.question, "document", draft.steps, draft.answer))


def _native_sentences(passage: Passage) -> list[str]:
    return [s.text if i == 0 else f" {s.text}" for i, s in enumerate(passage.sentences)]
