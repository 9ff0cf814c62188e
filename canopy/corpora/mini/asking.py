"""Questions and the written-out reasoning behind train questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from canopy.corpora.mini.kinds import KINDS
from canopy.corpora.mini.kinds.generic import TABLE_FINDINGS, TABLE_REFERENCES
from canopy.corpora.mini.model import Entity, Fact, Relation
from canopy.corpora.mini.prose import capital, state
from canopy.corpora.mini.world import World


class Step(TypedDict):
    """One hop: the gold item, how to ask for it, what it says, and what was missing before it."""

    title: str
    query: str
    sentence: str
    missing: str


class Annotation(TypedDict):
    """The reasoning behind one train question."""

    benchmark: str
    qid: str
    question: str
    route: str
    steps: list[Step]
    answer: str


def ask(world: World, relation: Relation, subject: str) -> str:
    """A question for a relation's value."""
    return tidy(world.rng.choice(relation.questions.of(world.split)).format(s=subject))


def phrase(world: World, relation: Relation, subject: str) -> str:
    """A noun phrase for a relation's value."""
    return tidy(world.rng.choice(relation.phrases.of(world.split)).format(s=subject))


def clause(world: World, fact: Fact) -> str:
    """What picks an entity out by one of its facts: "launched in 1861"."""
    assert fact.relation.clauses is not None
    return world.rng.choice(fact.relation.clauses.of(world.split)).format(v=fact.value)


def row_reference(world: World, entity: Entity, picked: str, table: str) -> str:
    """A noun phrase for the row of a table that a clause picks out, without the name of its entity."""
    template = world.rng.choice(TABLE_REFERENCES.of(world.split))
    return template.format(noun=noun_of(entity), clause=picked, table=table)


def noun_of(entity: Entity) -> str:
    """What the entity is called without its name; all rows of a table share it."""
    return KINDS[entity.kind].name


def tidy(text: str) -> str:
    """Take out the comma that a phrase leaves before the end of a question or another comma."""
    return text.replace(",?", "?").replace(",,", ",").replace(",'", "'")


def step(world: World, entity: Entity, relation: Relation, query: str | None = None) -> Step:
    """The hop that reads one fact off an entity's article."""
    fact = entity.facts[relation.name]
    return Step(
        title=entity.title,
        query=query or ask(world, relation, entity.mention),
        sentence=state(world, entity, fact),
        missing=phrase(world, relation, entity.mention),
    )


def row_step(world: World, entity: Entity, picked: str, table: str, query: str) -> Step:
    """The hop that finds the row of a table."""
    template = world.rng.choice(TABLE_FINDINGS)
    noun = noun_of(entity)
    return Step(
        title=table,
        query=query,
        sentence=capital(template.format(table=table, noun=noun, clause=picked, s=entity.mention)),
        missing=f"the {noun} {picked}",
    )


def cell_step(world: World, entity: Entity, fact: Fact, table: str, query: str) -> Step:
    """The hop that reads a cell of a table."""
    return Step(
        title=table,
        query=query,
        sentence=f"In {table}, the entry under {fact.relation.column} for {entity.mention} is {fact.value}.",
        missing=phrase(world, fact.relation, entity.mention),
    )


def annotation(benchmark: str, qid: str, question: str, route: str, steps: Sequence[Step], answer: str) -> Annotation:
    """The annotation of one question."""
    return Annotation(benchmark=benchmark, qid=qid, question=question, route=route, steps=list(steps), answer=answer)
