"""What the constructed world is made of: kinds of entity, their relations and the texts that state them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from canopy.contracts import Split

SPLITS: tuple[Split, ...] = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Texts:
    """Paraphrase templates, apart for each split, so that no split has seen another's wording."""

    train: tuple[str, ...]
    dev: tuple[str, ...]
    test: tuple[str, ...]

    def of(self, split: Split) -> tuple[str, ...]:
        """The templates of one split."""
        return {"train": self.train, "dev": self.dev, "test": self.test}[split]


def texts(train: str, dev: str, test: str) -> Texts:
    """Templates written one a line."""
    return Texts(*(tuple(line.strip() for line in block.strip().splitlines()) for block in (train, dev, test)))


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation of a kind of entity.

    Attributes:
        name: unique within the kind.
        value: an entity kind, a literal kind (see ``values.py``), or ``year LOW HIGH`` (an offset
            from the entity's own year).
        column: its header in tables.
        sentences: declarative sentences with ``{s}`` (subject) and ``{v}`` (value).
        questions: questions for the value, with ``{s}``.
        phrases: noun phrases for the value ("the captain of {s}").
        clauses: what picks an entity out by the value ("launched in {v}"); None when never used so.
        compare: questions on which of ``{a}`` and ``{b}`` has the smaller or larger value.
        larger: whether ``compare`` asks for the larger value.
        same: yes/no questions on whether ``{a}`` and ``{b}`` have the same value.
        role: what a person in this relation does for a living.
        anchor: the relation, earlier in the kind's list, around whose year the target lived.
    """

    name: str
    value: str
    column: str
    sentences: Texts
    questions: Texts
    phrases: Texts
    clauses: Texts | None = None
    compare: Texts | None = None
    larger: bool = False
    same: Texts | None = None
    role: str = ""
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of entity: how it is called and what is said of it.

    ``trivia`` are sentences that no question asks about, with ``{year}``, ``{number}``, ``{person}``
    and ``{place}``: the distractors of a passage. ``years`` bounds their years, as offsets from the
    entity's own year: a ship is not refitted before her launch.
    """

    name: str
    title: str
    mention: str
    pronouns: tuple[str, ...]
    types: tuple[str, ...]
    intros: Texts
    trivia: Texts
    relations: tuple[Relation, ...]
    years: tuple[int, int] = (4, 34)

    def relation(self, name: str) -> Relation:
        """The relation of that name."""
        return next(r for r in self.relations if r.name == name)


@dataclass(slots=True, eq=False)
class Entity:
    """Something in the world. It has facts once it has been filled; until then it is only a name."""

    kind: str
    title: str
    mention: str
    type: str
    name: str
    year: int
    pronouns: tuple[str, ...]
    role: str = ""
    facts: dict[str, Fact] = field(default_factory=dict, repr=False)


@dataclass(slots=True, eq=False)
class Fact:
    """A relation's value for one entity; ``target`` is set when the value is itself an entity."""

    relation: Relation
    value: str
    target: Entity | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage and the relation that it states, "" for introductions and trivia."""

    text: str
    relation: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of an entity's article."""

    title: str
    sentences: tuple[Sentence, ...]

    @property
    def text(self) -> str:
        """The sentences joined by single spaces."""
        return " ".join(s.text for s in self.sentences)

    def index_of(self, relation: str) -> int:
        """Index of the sentence that states a relation, -1 when none does."""
        return next((i for i, s in enumerate(self.sentences) if s.relation == relation), -1)


def all_texts(kind: Kind) -> Iterator[tuple[str, Texts]]:
    """Every group of templates of a kind, with a name for it."""
    yield f"{kind.name}.intros", kind.intros
    yield f"{kind.name}.trivia", kind.trivia
    for relation in kind.relations:
        for name in ("sentences", "questions", "phrases", "clauses", "compare", "same"):
            group = getattr(relation, name)
            if group is not None:
                yield f"{kind.name}.{relation.name}.{name}", group
