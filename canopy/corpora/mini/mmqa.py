"""MultimodalQA: questions over tables, texts and pictures, alone and composed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from canopy.contracts import Split
from canopy.corpora.mini.asking import Annotation, Step, annotation, ask, cell_step, clause, row_reference, row_step
from canopy.corpora.mini.asking import step as text_step
from canopy.corpora.mini.kinds import KINDS
from canopy.corpora.mini.kinds.generic import TABLE_QUESTIONS
from canopy.corpora.mini.model import Entity, Fact, Passage
from canopy.corpora.mini.ottqa import ListTable, list_table
from canopy.corpora.mini.pictures import PICTURES
from canopy.corpora.mini.prose import article
from canopy.corpora.mini.show import ask_shown, clause_shown, shown_value, step_shown
from canopy.corpora.mini.world import World, answer_of

IMAGES_A_TABLE = 3
QUESTIONS_A_TABLE: dict[Split, int] = {"train": 5, "dev": 5, "test": 4}
_CANDIDATES = 10
_ROUTES = {"table": "table", "text": "paragraph", "image": "image"}


@dataclass
class Drawn:
    """The picture of one entity."""

    entity: Entity
    values: dict[str, str]  # shown name -> value
    bars: list[tuple[str, int]] = field(default_factory=list)
    year: str = ""  # the bar that is asked for

    @property
    def id(self) -> str:
        """Native id."""
        return native_id("image", self.entity.title)


@dataclass
class Page:
    """A table with the texts and pictures of its rows."""

    table: ListTable
    texts: dict[str, Passage]  # by title
    images: dict[str, Drawn]  # by title

    @property
    def id(self) -> str:
        """Native id of the table."""
        return native_id("table", self.table.title)


@dataclass
class MmqaSplit:
    """The pages and questions of one split."""

    split: Split
    pages: list[Page] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)

    @property
    def passages(self) -> int:
        """Number of texts."""
        return sum(len(page.texts) for page in self.pages)

    @property
    def images(self) -> int:
        """Number of pictures."""
        return sum(len(page.images) for page in self.pages)


def native_id(*parts: str) -> str:
    """A native id: 32 hexadecimal digits."""
    return hashlib.md5(" ".join(("mmqa", *parts)).encode(), usedforsecurity=False).hexdigest()


def make(world: World, questions: int) -> MmqaSplit:
    """Pages until there are enough questions; the kinds of question take turns."""
    out = MmqaSplit(world.split)
    makers = [_image, _text_table, _table, _image_table, _text, _table_image, _table_text]
    turn = 0
    while len(out.questions) < questions:
        page = add_page(world, out)
        for _ in range(min(QUESTIONS_A_TABLE[world.split], questions - len(out.questions))):
            makers[turn % len(makers)](world, out, page)
            turn += 1
    return out


def add_page(world: World, out: MmqaSplit) -> Page:
    """Add a table, a text for each of its rows and pictures for some."""
    table = list_table(world, (4, 6), (2, 3))
    texts = {row.title: article(world, row, needed=table.told, hidden=table.columns)[0] for row in table.rows}
    shown = world.rng.sample(table.rows, IMAGES_A_TABLE)
    page = Page(table, texts, {})
    for row in shown:
        page.images[row.title] = add_image(world, row, page)
    out.pages.append(page)
    return page


def add_image(world: World, entity: Entity, page: Page) -> Drawn:
    """The picture of an entity; its values differ from those of the page's other pictures."""
    picture = PICTURES[entity.kind]
    others = list(page.images.values())
    if picture.chart:
        first = entity.year - world.rng.randint(2, 6)
        bars = [(str(first + i), n) for i, n in enumerate(world.rng.sample(range(210, 980), 4))]
        year, output = world.rng.choice(bars)
        return Drawn(entity, {picture.shown[0].name: str(output)}, bars, year)
    values = {}
    for shown in picture.shown:
        taken = {other.values[shown.name] for other in others}
        value = shown_value(world, shown)
        while value in taken:
            value = shown_value(world, shown)
        values[shown.name] = value
    return Drawn(entity, values)


def _pick_row(world: World, page: Page, names: list[str], *, drawn: bool = False) -> tuple[str, Entity]:
    """A relation and a row that its value picks out alone; ``drawn``: a row that has a picture."""
    choices = [(n, row) for n in names for row in page.table.unique(n) if not drawn or row.title in page.images]
    return world.rng.choice(choices)


def _image(world: World, out: MmqaSplit, page: Page) -> None:
    drawn = world.rng.choice(list(page.images.values()))
    shown = world.rng.choice(PICTURES[drawn.entity.kind].shown)
    mention, value = drawn.entity.mention, drawn.values[shown.name]
    question = ask_shown(world, shown, mention, drawn.year)
    steps = [step_shown(world, shown, drawn.entity.title, mention, value, question, drawn.year)]
    _add(world, out, page, "ImageQ", question, _image_answer(drawn, value), steps, image=drawn)


def _image_table(world: World, out: MmqaSplit, page: Page) -> None:
    """The row is found in the table; the answer is drawn in the picture of its entity."""
    name, row = _pick_row(world, page, page.table.columns, drawn=True)
    drawn = page.images[row.title]
    shown = world.rng.choice(PICTURES[row.kind].shown)
    value = drawn.values[shown.name]
    picked = clause(world, row.facts[name])
    question = ask_shown(world, shown, row_reference(world, row, picked, page.table.title), drawn.year)
    query = ask_shown(world, shown, row.mention, drawn.year)
    steps = [
        row_step(world, row, picked, page.table.title, question),
        step_shown(world, shown, row.title, row.mention, value, query, drawn.year),
    ]
    between = _table_answer(page, row, 0, row.title)
    _add(world, out, page, "Compose(ImageQ,TableQ)", question, _image_answer(drawn, value), steps, between, image=drawn)


def _table_image(world: World, out: MmqaSplit, page: Page) -> None:
    """The entity is found by its picture; the answer is a cell of its row."""
    drawn = world.rng.choice(list(page.images.values()))
    row = drawn.entity
    shown = world.rng.choice(PICTURES[row.kind].shown)
    value = drawn.values[shown.name]
    picked = clause_shown(world, shown, value, drawn.year)
    column = world.rng.choice(page.table.columns)
    fact = row.facts[column]
    question = ask(world, fact.relation, row_reference(world, row, picked, page.table.title))
    found = step_shown(world, shown, row.title, row.mention, value, question, drawn.year)
    found["missing"] = f"the {KINDS[row.kind].name} {picked}"
    steps = [found, _cell_step(world, page, row, fact)]
    answer = _table_answer(page, row, page.table.columns.index(column) + 1, answer_of(fact))
    between = _image_answer(drawn, row.title)
    _add(world, out, page, "Compose(TableQ,ImageListQ)", question, answer, steps, between, image=drawn)


def _text(world: World, out: MmqaSplit, page: Page) -> None:
    row = world.rng.choice(page.table.rows)
    fact = row.facts[world.rng.choice(page.table.told)]
    question = ask(world, fact.relation, row.mention)
    steps = [text_step(world, row, fact.relation, question)]
    _add(world, out, page, "TextQ", question, _text_answer(page, row, fact), steps, text=row)


def _text_table(world: World, out: MmqaSplit, page: Page) -> None:
    """The row is found in the table; the answer is in the text on its entity."""
    name, row = _pick_row(world, page, page.table.columns)
    fact = row.facts[world.rng.choice(page.table.told)]
    picked = clause(world, row.facts[name])
    question = ask(world, fact.relation, row_reference(world, row, picked, page.table.title))
    steps = [row_step(world, row, picked, page.table.title, question), text_step(world, row, fact.relation)]
    between = _table_answer(page, row, 0, row.title)
    _add(world, out, page, "Compose(TextQ,TableQ)", question, _text_answer(page, row, fact), steps, between, text=row)


def _table(world: World, out: MmqaSplit, page: Page) -> None:
    row = world.rng.choice(page.table.rows)
    column = world.rng.choice(page.table.columns)
    fact = row.facts[column]
    template = world.rng.choice(TABLE_QUESTIONS.of(world.split))
    question = template.format(table=page.table.title, column=fact.relation.column, s=row.mention)
    answer = _table_answer(page, row, page.table.columns.index(column) + 1, answer_of(fact))
    steps = [cell_step(world, row, fact, page.table.title, question)]
    _add(world, out, page, "TableQ", question, answer, steps)


def _table_text(world: World, out: MmqaSplit, page: Page) -> None:
    """The entity is found by its text; the answer is a cell of its row."""
    name, row = _pick_row(world, page, page.table.told)
    column = world.rng.choice(page.table.columns)
    fact = row.facts[column]
    picked = clause(world, row.facts[name])
    question = ask(world, fact.relation, row_reference(world, row, picked, page.table.title))
    found = text_step(world, row, row.facts[name].relation, question)
    found["missing"] = f"the {KINDS[row.kind].name} {picked}"
    steps = [found, _cell_step(world, page, row, fact)]
    answer = _table_answer(page, row, page.table.columns.index(column) + 1, answer_of(fact))
    between = _text_answer(page, row, row.facts[name]) | {"answer": row.title}
    _add(world, out, page, "Compose(TableQ,TextQ)", question, answer, steps, between, text=row)


def _cell_step(world: World, page: Page, row: Entity, fact: Fact) -> Step:
    query = f"{ask(world, fact.relation, row.mention)[:-1]}, in the list {page.table.title}?"
    return cell_step(world, row, fact, page.table.title, query)


def _answer(text: str, modality: str, **where: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"text_instances": [], "table_indices": [], "image_instances": []}
    return {"answer": text, "type": "string", "modality": modality, **empty, **where}


def _table_answer(page: Page, row: Entity, column: int, text: str) -> dict[str, Any]:
    return _answer(text, "table", table_indices=[[page.table.rows.index(row), column]])


def _image_answer(drawn: Drawn, text: str) -> dict[str, Any]:
    return _answer(text, "image", image_instances=[{"doc_id": drawn.id, "doc_part": "image"}])


def _text_answer(page: Page, row: Entity, fact: Fact) -> dict[str, Any]:
    """The answer with its place in the text: a byte offset, inside the sentence that states the fact."""
    passage = page.texts[row.title]
    index = passage.index_of(fact.relation.name)
    before = sum(len(s.text) + 1 for s in passage.sentences[:index])
    text = answer_of(fact)
    start = len(passage.text[: passage.text.index(text, before)].encode())
    instance = {"doc_id": native_id("text", row.title), "part": "text", "start_byte": start, "text": text}
    return _answer(text, "text", text_instances=[instance])


def _add(
    world: World,
    out: MmqaSplit,
    page: Page,
    kind: str,
    question: str,
    answer: dict[str, Any],
    steps: list[Step],
    between: dict[str, Any] | None = None,
    *,
    text: Entity | None = None,
    image: Drawn | None = None,
) -> None:
    qid = native_id("question", question)
    if any(known["qid"] == qid for known in out.questions):
        return  # the same question was drawn again
    support = [] if kind in ("ImageQ", "TextQ") else [{"doc_id": page.id, "doc_part": "table"}]
    if text:
        support.append({"doc_id": native_id("text", text.title), "doc_part": "text"})
    if image:
        support.append({"doc_id": image.id, "doc_part": "image"})
    texts = [native_id("text", title) for p in (page, *out.pages) for title in p.texts]
    images = [drawn.id for p in (page, *out.pages) for drawn in p.images.values()]
    metadata = {
        "type": kind,
        "modalities": sorted({part["doc_part"] for part in support}),
        "wiki_entities_in_question": [],
        "wiki_entities_in_answers": [],
        "image_doc_ids": list(dict.fromkeys(images))[:_CANDIDATES],
        "text_doc_ids": list(dict.fromkeys(texts))[:_CANDIDATES],
        "intermediate_answers": [[between]] if between else [],
        "table_id": page.id,
    }
    record = {"qid": qid, "question": question, "answers": [answer], "metadata": metadata}
    out.questions.append(record | {"supporting_context": support})
    if world.split == "train":
        route = _ROUTES[answer["modality"]]
        out.annotations.append(annotation("mmqa", qid, question, route, steps, answer["answer"]))
