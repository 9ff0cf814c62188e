"""The invented world of one split: entities and their facts, made when they are asked for."""

from __future__ import annotations

import random

from canopy.contracts import Split
from canopy.corpora.mini.kinds import KINDS
from canopy.corpora.mini.model import Entity, Fact, Relation
from canopy.corpora.mini.names import Names
from canopy.corpora.mini.values import WORDS, literal

_STYLE = {"place": "place", "person": "surname"}


class World:
    """Makes entities of one split; all names in it belong to that split."""

    def __init__(self, split: Split, seed: int) -> None:
        """The world of ``split`` for a seed of the whole corpus."""
        self.split: Split = split
        self.rng = random.Random(f"canopy mini corpus, seed {seed}, {split}")
        self.names = Names(split, self.rng)

    def entity(self, kind: str, year: int | None = None, role: str = "") -> Entity:
        """A new entity that is only a name so far."""
        year = self.rng.randint(1825, 1925) if year is None else year
        kind_type = self.rng.choice(KINDS[kind].types)
        return self._named(kind, kind_type, self.names.word(_STYLE.get(kind, "thing")), year, role)

    def filled(self, kind: str, year: int | None = None) -> Entity:
        """A new entity with facts."""
        return self.fill(self.entity(kind, year))

    def fill(self, entity: Entity) -> Entity:
        """Give an entity its facts, once; the entities they point to stay names."""
        for relation in KINDS[entity.kind].relations:
            if relation.name not in entity.facts:
                entity.facts[relation.name] = self._fact(entity, relation)
        return entity

    def twin(self, entity: Entity) -> Entity:
        """A filled entity of the same kind with a near-identical name and facts of its own."""
        style = _STYLE.get(entity.kind, "thing")
        *before, word = entity.name.split(" ")
        near = self.names.near(word, style)
        year = entity.year + self.rng.choice((-9, -7, -6, 6, 7, 9))
        if entity.kind == "person":
            return self.fill(self._person(before[0], near, year, entity.role, entity.pronouns))
        title = entity.title.replace(word, near)
        mention = entity.mention.replace(word, near)
        return self.fill(Entity(entity.kind, title, mention, entity.type, near, year, entity.pronouns))

    def literal(self, value: str, year: int) -> str:
        """A literal value that belongs to no entity, for pictures, films and wrong options."""
        return literal(value, year, "", self.names, self.rng)

    def _named(self, kind: str, kind_type: str, word: str, year: int, role: str) -> Entity:
        if kind == "person":
            feminine = self.rng.random() < 0.5
            pronouns = ("She",) if feminine else ("He",)
            return self._person(self.names.first_name(feminine), word, year, role, pronouns)
        pick = self.rng.choice
        parts = {"n": word, "Type": kind_type, "adjective": pick(WORDS["adjective"]), "thing": pick(WORDS["thing"])}
        title = KINDS[kind].title.format(**parts)
        mention = KINDS[kind].mention.format(t=title, **parts)
        return Entity(kind, title, mention, kind_type, word, year, KINDS[kind].pronouns)

    def _person(self, first: str, surname: str, year: int, role: str, pronouns: tuple[str, ...]) -> Entity:
        name = f"{first} {surname}"
        return Entity("person", name, name, "person", name, year, pronouns, role)

    def _fact(self, entity: Entity, relation: Relation) -> Fact:
        if relation.value in KINDS:
            year = int(entity.facts[relation.anchor].value) if relation.anchor else entity.year
            target = self.entity(relation.value, year, relation.role)
            fact = Fact(relation, target.mention, target)
            if relation.name == "spouse":  # holds both ways
                target.facts["spouse"] = Fact(relation, entity.mention, entity)
            return fact
        return Fact(relation, literal(relation.value, entity.year, entity.role, self.names, self.rng))


def answer_of(fact: Fact) -> str:
    """The short answer to a question for the fact's value; it occurs literally in every statement of it."""
    return fact.target.title if fact.target else fact.value.removeprefix("the ")


def number_of(fact: Fact) -> int:
    """The number in a fact's value, for comparisons."""
    return int(fact.value.split(" ")[0].replace(",", ""))
