"""Articles: facts in varying order among sentences that answer no question."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from canopy.corpora.mini.kinds import KINDS
from canopy.corpora.mini.kinds.generic import LEADS, TAILS, TRIVIA
from canopy.corpora.mini.model import Entity, Fact, Passage, Sentence
from canopy.corpora.mini.world import World

MIN_SENTENCES, MAX_SENTENCES = 5, 12


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def state(world: World, entity: Entity, fact: Fact) -> str:
    """One sentence that states a fact and names its subject."""
    template = world.rng.choice(fact.relation.sentences.of(world.split))
    return capital(template.format(s=entity.mention, v=fact.value))


def article(
    world: World, entity: Entity, *, passages: int = 1, needed: Collection[str] = (), hidden: Collection[str] = ()
) -> list[Passage]:
    """Write the article on an entity.

    Args:
        world: where names and randomness come from.
        entity: a filled entity.
        passages: how many passages the article is cut into; facts are dealt over them.
        needed: relations that must be stated.
        hidden: relations that must not be stated, because a table or a picture holds them.

    Returns:
        Passages of 5 to 12 sentences; each relation is stated at most once in the article.
    """
    rng = world.rng
    facts = [f for name, f in entity.facts.items() if name not in hidden and name not in needed]
    rng.shuffle(facts)
    if passages == 1 and len(facts) + len(needed) > 4:
        facts = facts[: max(3, len(facts) - rng.randint(0, 2))]
    facts += [entity.facts[name] for name in needed if name not in hidden]
    rng.shuffle(facts)
    trivia = [*TRIVIA.of(world.split), *KINDS[entity.kind].trivia.of(world.split)]
    rng.shuffle(trivia)
    return [_passage(world, entity, facts[i::passages], trivia, first=i == 0) for i in range(passages)]


def _passage(world: World, entity: Entity, facts: Sequence[Fact], trivia: list[str], *, first: bool) -> Passage:
    """One passage; takes the trivia templates that it uses off the list."""
    rng = world.rng
    body = [_fact_sentence(world, entity, fact) for fact in facts]
    opening = [Sentence(_introduction(world, entity), "")] if first else []
    fillers = max(MIN_SENTENCES - len(body) - len(opening), rng.randint(1, 4))
    body += [Sentence(_trivia(world, entity, trivia.pop()), "") for _ in range(min(fillers, len(trivia)))]
    rng.shuffle(body)
    return Passage(entity.title, tuple((opening + body)[:MAX_SENTENCES]))


def _introduction(world: World, entity: Entity) -> str:
    template = world.rng.choice(KINDS[entity.kind].intros.of(world.split))
    return _article_fixed(capital(template.format(s=entity.mention, type=entity.type)))


def _fact_sentence(world: World, entity: Entity, fact: Fact) -> Sentence:
    template = _with_pronoun(world, entity, world.rng.choice(fact.relation.sentences.of(world.split)), 0.1)
    template = _framed(world, template)
    return Sentence(_article_fixed(capital(template.format(s=entity.mention, v=fact.value))), fact.relation.name)


def _trivia(world: World, entity: Entity, template: str) -> str:
    template = _framed(world, _with_pronoun(world, entity, template, 0.35))
    years = KINDS[entity.kind].years
    taken = {number for fact in entity.facts.values() for number in re.findall(r"\d+", fact.value)}
    return capital(
        template.format(
            s=entity.mention,
            year=_other_number(world, entity.year + years[0], entity.year + years[1], taken),
            number=_other_number(world, 2, 90, taken),
            person=world.entity("person", entity.year).mention if "{person}" in template else "",
            place=world.entity("place", entity.year).mention if "{place}" in template else "",
        )
    )


def _other_number(world: World, low: int, high: int, taken: Collection[str]) -> int:
    """A number that is part of none of the entity's facts, so that no answer occurs by accident."""
    return world.rng.choice([n for n in range(low, high) if str(n) not in taken])


def _with_pronoun(world: World, entity: Entity, template: str, share: float) -> str:
    if template.startswith("{s} ") and entity.pronouns and world.rng.random() < share:
        return world.rng.choice(entity.pronouns) + template[3:]
    return template


def _framed(world: World, template: str) -> str:
    """The sentence as it is, or reported by someone, or with a remark at its end."""
    chance = world.rng.random()
    if chance < 0.25:
        return f"{world.rng.choice(LEADS.of(world.split))} {template[:1].lower()}{template[1:]}"
    if chance < 0.45:
        return template[:-1] + world.rng.choice(TAILS.of(world.split))
    return template


def _article_fixed(text: str) -> str:
    """The text with "an" instead of "a" before a vowel."""
    return re.sub(r"\b([Aa]) (?=[aeiouAEIOU])", r"\1n ", text)
