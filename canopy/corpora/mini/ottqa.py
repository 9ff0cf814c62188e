"""OTT-QA: questions that need a row of a table together with the passage linked from one of its cells."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from canopy.artefacts import write_json
from canopy.contracts import Split
from canopy.corpora.mini.asking import (
    Annotation,
    Step,
    annotation,
    ask,
    cell_step,
    clause,
    phrase,
    row_reference,
    row_step,
    step,
)
from canopy.corpora.mini.kinds import KINDS, LISTED
from canopy.corpora.mini.model import Entity, Fact, Passage
from canopy.corpora.mini.prose import article
from canopy.corpora.mini.world import World, answer_of

_PLURALS = {
    "ship": "Ships",
    "work": "Works",
    "company": "Companies",
    "building": "Buildings",
    "expedition": "Expeditions",
}
_OWNERS = ("Register", "Society", "Almanac", "Museum", "Gazette")
_QUESTIONS_A_TABLE: dict[Split, int] = {"train": 5, "dev": 3, "test": 3}


@dataclass
class ListTable:
    """A table of entities of one kind: the columns are some of their facts, their articles state others."""

    title: str
    kind: str
    rows: list[Entity]
    columns: list[str]  # relation names, after the first column with the names
    linked: str = ""  # the column whose entities have articles too

    def unique(self, name: str) -> list[Entity]:
        """The rows whose value of a relation no other row has."""
        counts = Counter(row.facts[name].value for row in self.rows)
        return [row for row in self.rows if counts[row.facts[name].value] == 1]

    def distinct(self) -> bool:
        """Whether each row can be told by a cell and by its article, and each relation tells some row."""
        every = {name: self.unique(name) for name in (*self.columns, *self.told)}
        rows = all(
            any(row in every[name] for name in names) for row in self.rows for names in (self.columns, self.told)
        )
        return rows and all(every.values())

    @property
    def told(self) -> list[str]:
        """The relations that only the articles state."""
        return [r.name for r in KINDS[self.kind].relations if r.name not in self.columns]


@dataclass
class OttSplit:
    """The tables, linked passages and questions of one split."""

    split: Split
    tables: list[ListTable] = field(default_factory=list)
    linked: dict[str, Passage] = field(default_factory=dict)  # by title
    questions: list[dict[str, Any]] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)

    @property
    def passages(self) -> int:
        """Number of linked passages."""
        return len(self.linked)


def list_table(
    world: World, rows: tuple[int, int], columns: tuple[int, int], like: ListTable | None = None
) -> ListTable:
    """A table with a random number of rows and columns (besides the names) between two bounds.

    ``like``: a table whose kind it has, and whose title it has but for two letters.
    """
    rng = world.rng
    kind = like.kind if like else rng.choice(LISTED)
    title = f"{_PLURALS[kind]} of the {world.names.word('place')} {rng.choice(_OWNERS)}"
    if like:
        word = like.title.split(" ")[-2]
        title = like.title.replace(word, world.names.near(word, "place"))
    names = [r.name for r in KINDS[kind].relations]
    chosen = rng.sample(names, rng.randint(*columns))
    count = rng.randint(*rows)
    while True:
        year = rng.randint(1840, 1910)
        entities = [world.filled(kind, year + rng.randint(-15, 15)) for _ in range(count)]
        table = ListTable(title, kind, entities, [n for n in names if n in chosen])
        if table.distinct():
            return table


def make(world: World, questions: int) -> OttSplit:
    """Tables until there are enough questions."""
    out = OttSplit(world.split)
    while len(out.questions) < questions:
        table = add_table(world, out)
        makers = [_answer_in_passage, _answer_in_table, _answer_behind_cell]
        world.rng.shuffle(makers)
        for turn in range(min(_QUESTIONS_A_TABLE[world.split], questions - len(out.questions))):
            makers[turn % len(makers)](world, out, table)
    return out


def add_twin(world: World, out: OttSplit) -> ListTable:
    """Add a table whose title is nearly that of another one."""
    return add_table(world, out, world.rng.choice(out.tables))


def add_table(world: World, out: OttSplit, like: ListTable | None = None) -> ListTable:
    """Add a table and the passages that it links to."""
    table = list_table(world, (4, 7), (2, 3), like)
    entities = [n for n in table.columns if KINDS[table.kind].relation(n).value in KINDS]
    if entities and len(out.tables) % 2 == 0:
        table.linked = world.rng.choice(entities)
    out.tables.append(table)
    for row in table.rows:
        out.linked[row.title] = article(world, row, needed=table.told, hidden=table.columns)[0]
        if table.linked:
            target = row.facts[table.linked].target
            assert target is not None
            world.fill(target)
            needed = [r.name for r in KINDS[target.kind].relations]
            out.linked[target.title] = article(world, target, needed=needed)[0]
    return table


def _answer_in_passage(world: World, out: OttSplit, table: ListTable) -> None:
    """The row is found by another cell; the answer is in the article on the row's entity."""
    column, row = _pick(world, table, table.columns)
    fact = row.facts[world.rng.choice(table.told)]
    picked = clause(world, row.facts[column])
    question = ask(world, fact.relation, row_reference(world, row, picked, table.title))
    steps = [row_step(world, row, picked, table.title, question), step(world, row, fact.relation)]
    node = [row.title, [table.rows.index(row), 0], wiki(row.title), "passage"]
    _add(world, out, table, question, answer_of(fact), [node], steps)


def _answer_in_table(world: World, out: OttSplit, table: ListTable) -> None:
    """The row is found by what a linked article says; the answer is another cell of the row."""
    name, row = _pick(world, table, table.told)
    column = world.rng.choice(table.columns)
    fact = row.facts[column]
    picked = clause(world, row.facts[name])
    question = ask(world, fact.relation, row_reference(world, row, picked, table.title))
    found = step(world, row, row.facts[name].relation, question)
    found["missing"] = f"the {KINDS[row.kind].name} {picked}"
    query = f"{ask(world, fact.relation, row.mention)[:-1]}, in the list {table.title}?"
    steps = [found, cell_step(world, row, fact, table.title, query)]
    position = [table.rows.index(row), table.columns.index(column) + 1]
    node = [cell_text(fact), position, _link(table, fact), "table"]
    _add(world, out, table, question, answer_of(fact), [node], steps)


def _answer_behind_cell(world: World, out: OttSplit, table: ListTable) -> None:
    """The answer is in the article on an entity which a cell of the row names; else as the first kind."""
    others = [n for n in table.columns if n != table.linked]
    if not table.linked or not others:
        _answer_in_passage(world, out, table)
        return
    column, row = _pick(world, table, others)
    cell = row.facts[table.linked]
    target = cell.target
    assert target is not None
    fact = target.facts[world.rng.choice(KINDS[target.kind].relations).name]
    picked = clause(world, row.facts[column])
    inner = phrase(world, cell.relation, row_reference(world, row, picked, table.title))
    question = ask(world, fact.relation, inner)
    steps = [
        cell_step(world, row, cell, table.title, question),
        step(world, target, fact.relation),
    ]
    node = [
        cell_text(cell),
        [table.rows.index(row), table.columns.index(table.linked) + 1],
        wiki(target.title),
        "passage",
    ]
    _add(world, out, table, question, answer_of(fact), [node], steps)


def _pick(world: World, table: ListTable, names: list[str]) -> tuple[str, Entity]:
    """A relation and a row that its value picks out alone."""
    choices = [(name, row) for name in names for row in table.unique(name)]
    return world.rng.choice(choices)


def _add(
    world: World,
    out: OttSplit,
    table: ListTable,
    question: str,
    answer: str,
    nodes: list[list[Any]],
    steps: list[Step],
) -> None:
    written = tokenized(question)
    qid = hashlib.md5(f"ottqa {written}".encode(), usedforsecurity=False).hexdigest()[:16]
    if any(known["question_id"] == qid for known in out.questions):
        return  # the same question was drawn again
    out.questions.append(
        {
            "question_id": qid,
            "question": written,
            "table_id": uid(table),
            "answer-text": answer,
            "question_postag": "",
            "answer-node": nodes,
        }
    )
    if world.split == "train":
        out.annotations.append(annotation("ottqa", qid, written, "table", steps, answer))


def write(folder: Path, splits: Iterable[OttSplit]) -> None:
    """Write the traced questions of each split, and all tables and linked passages."""
    released = folder / "released_data"
    tables = folder / "data" / "traindev_tables_tok"
    requests = folder / "data" / "traindev_request_tok"
    for path in (released, tables, requests):
        path.mkdir(parents=True)
    for part in splits:
        write_json(released / f"{part.split}.traced.json", part.questions)
        for table in part.tables:
            name = f"{uid(table)}.json"
            write_json(tables / name, _native_table(table))
            write_json(requests / name, {wiki(t): tokenized(part.linked[t].text) for t in _links(table)})


def _native_table(table: ListTable) -> dict[str, Any]:
    kind = KINDS[table.kind]
    rows = []
    for row in table.rows:
        cells = [[row.title, [wiki(row.title)]]]
        for name in table.columns:
            link = _link(table, row.facts[name])
            cells.append([cell_text(row.facts[name]), [link] if link else []])
        rows.append(cells)
    header = [[h, []] for h in (kind.name.capitalize(), *(kind.relation(n).column for n in table.columns))]
    return {
        "url": f"https://canopy.invalid{wiki(table.title)}",
        "title": table.title,
        "header": header,
        "data": rows,
        "section_title": "",
        "section_text": "",
        "uid": uid(table),
        "intro": "",
    }


def _links(table: ListTable) -> list[str]:
    titles = [row.title for row in table.rows]
    if table.linked:
        titles += [t.title for row in table.rows if (t := row.facts[table.linked].target)]
    return titles


def _link(table: ListTable, fact: Fact) -> str | None:
    return wiki(fact.target.title) if fact.target and fact.relation.name == table.linked else None


def cell_text(fact: Fact) -> str:
    """A fact's value as it stands in a cell."""
    return answer_of(fact)


def wiki(title: str) -> str:
    """The link of a page: ``/wiki/Title_With_Underscores``."""
    return "/wiki/" + title.replace(" ", "_")


def uid(table: ListTable) -> str:
    """The native id of a table, and its file name."""
    return table.title.replace(" ", "_") + "_0"


def tokenized(text: str) -> str:
    """Text as the official files have it: a space before each mark that ends a word."""
    return re.sub(r"(?<=\w)([.,?;:])(?=\s|$)", r" \1", text)
