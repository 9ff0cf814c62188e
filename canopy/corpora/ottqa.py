"""OTT-QA: questions over tables and the Wikipedia passages that their cells link to.

Source: wenhuchen/OTT-QA (`released_data`, `data/traindev_tables_tok`, `data/traindev_request_tok`,
`all_plain_tables.json`, `all_passages.json`). Gold, from the traced questions' answer nodes: the table row, then,
for nodes in a passage, the answer-bearing sentences of the linked passage.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from canopy.contracts import Question, Table
from canopy.corpora.files import Found, Kind, plain_name, split_of, used_split
from canopy.corpora.json_records import json_elements, records
from canopy.corpora.native import (
    AnswerPlaces,
    Fault,
    GoldList,
    guarded,
    is_first,
    is_index,
    listed,
    obj,
    optional_list,
    optional_text,
    question_text,
    table_item,
    text,
    text_item,
    to_json,
)
from canopy.corpora.quarantine import Ignored, Quarantine
from canopy.corpora.raw import RawFile, Record
from canopy.corpora.seen import Seen, Verdict
from canopy.corpora.sink import Sink
from canopy.settings.corpora import ParseSettings

log = logging.getLogger(__name__)

KINDS = (
    Kind("tables", r"[^/]*tables_tok/.*\.json$", "data/traindev_tables_tok/*.json", by_folder=True),
    Kind("passages", r"[^/]*request_tok/.*\.json$", "data/traindev_request_tok/*.json", by_folder=True),
    Kind(
        "questions",
        r"(train|dev|test)(\.\w+)*\.json$",
        "{train,dev}.traced.json, {train,dev}.json, test.blind.json",
        keys=("question_id",),
    ),
    Kind("all_tables", r".*tables.*\.json$", "all_plain_tables.json"),
    Kind("all_passages", r".*(passages|requests?).*\.json$", "all_passages.json"),
)


def parse(found: Found, settings: ParseSettings, sink: Sink) -> None:
    """Read all files of the benchmark into the sink: note what gold refers to, read the corpus, write questions."""
    found.kinds["all_tables"] = [f for f in found.of("all_tables") if "table_ids" not in plain_name(f.path)]
    _Parser(settings, sink).run(found)


class _Parser:
    def __init__(self, settings: ParseSettings, sink: Sink) -> None:
        self.settings = settings
        self.sink = sink
        self.seen = Seen()
        self.qids = Seen()
        self.places = AnswerPlaces()
        self.untraced = 0

    def run(self, found: Found) -> None:
        # Traced files first: they hold the plain files' questions together with the answer nodes.
        questions = sorted(found.of("questions"), key=lambda f: ("traced" not in f.path.name, str(f.path)))
        for file in questions:
            guarded(file, records(file, self.sink.quarantine), self.sink, self._ask)
        for file in found.of("tables"):
            guarded(file, _whole(file, self.sink.quarantine), self.sink, self._table)
        for file in found.of("all_tables"):
            guarded(file, json_elements(file, self.sink.quarantine), self.sink, self._table)
        for file in (*found.of("passages"), *found.of("all_passages")):
            guarded(file, json_elements(file, self.sink.quarantine), self.sink, self._passage)
        for file in questions:
            for record in records(file, Ignored()):
                self._question(file, record)
        if self.untraced:
            log.warning(
                "ottqa: %s questions with an answer have no answer nodes, so no gold: *.traced.json files have them",
                f"{self.untraced:,}",
            )

    def _ask(self, _file: RawFile, record: Record) -> None:
        raw = obj(record.value)
        _, _, answer = _checked(raw)
        for node in _nodes(raw):
            self.places.ask(_table_id(raw))
            if node.link is not None and answer is not None:
                self.places.ask(f"ottqa:{node.link}", answer)

    def _table(self, file: RawFile, record: Record) -> None:
        raw = obj(record.value)
        uid = str(record.place) if raw.get("uid") is None else text(raw, "uid")
        title = optional_text(raw, "title") or uid
        table = Table(
            tuple(_cell(c) for c in listed(raw, "header")),
            tuple(tuple(_cell(c) for c in _row(r)) for r in listed(raw, "data")),
            optional_text(raw, "section_title"),
        )
        page = unquote(optional_text(raw, "url")).rpartition("/wiki/")[2]
        item_id = f"ottqa:{uid}"
        verdict = self.seen.add(item_id, title)
        if verdict == "different":
            raise Fault(f"the id {uid} is used by another table")
        # A table may be there tokenised and plain; the first one read stands.
        cells = self.seen.add(f"{item_id}\0cells", table.to_json())
        if verdict == "same":
            self.sink.facts[f"repeated tables{_other_text(cells)}"] += 1
            return
        doc_id = f"ottqa:/wiki/{page}" if page else item_id
        item = table_item(self.sink, file, record, item_id, title, table, doc_id)
        if item is not None:
            self.places.meet(item)

    def _passage(self, file: RawFile, record: Record) -> None:
        link, content = str(record.place), record.value
        if not isinstance(content, str):
            raise Fault("the passage is not a string")
        item_id = f"ottqa:{link}"
        # The same page is linked from many tables; where its text differs, the first one read stands.
        verdict = self.seen.add(item_id, content)
        if verdict != "new":
            self.sink.facts[f"repeated passages{_other_text(verdict)}"] += 1
            return
        item = text_item(self.sink, file, record, item_id, link.removeprefix("/wiki/").replace("_", " "), content)
        if item is not None:
            self.places.meet(item)

    def _question(self, file: RawFile, record: Record) -> None:
        try:
            raw = obj(record.value)
            qid, question, answer = _checked(raw)
            nodes = _nodes(raw)
        except Fault:
            return  # recorded by the first pass
        contents = {
            "question": question,
            "table": optional_text(raw, "table_id"),
            "answer": answer or "",
            "answer nodes": to_json(sorted({(n.row, n.link or "") for n in nodes})) if nodes else "",
        }
        if not is_first(self.qids, self.sink, file, record, qid, **contents):
            return
        self.untraced += answer is not None and not nodes
        gold = self._gold(raw, nodes, answer)
        sources = sorted({"table" if node.link is None else "passage" for node in nodes}, reverse=True)
        self.sink.question(
            Question(
                qid=f"ottqa:{qid}",
                benchmark="ottqa",
                split=used_split(split_of(file.path), self.settings.splits),
                question=question,
                choices=(),
                answers=() if answer is None else (answer,),
                answer_kind="span",
                gold=gold.gold(),
                gold_missing=gold.missing,
                question_type="|".join(sources),
                native=to_json({"table_id": contents["table"]} if contents["table"] else {}),
            )
        )

    def _gold(self, raw: dict[str, Any], nodes: list[_Node], answer: str | None) -> GoldList:
        gold = GoldList()
        if not nodes:
            return gold
        table_id = _table_id(raw)
        rows = self.places.count(table_id)
        for row in dict.fromkeys(node.row for node in nodes):
            gold.add(table_id, (row,) if 0 <= row < rows else ())
        for link in dict.fromkeys(node.link for node in nodes if node.link is not None):
            item_id = f"ottqa:{link}"
            gold.add(item_id, self.places.units(item_id, answer or ""))
        return gold


class _Node:
    """An answer node: its table row, and the linked page when the answer is in a passage."""

    __slots__ = ("link", "row")

    def __init__(self, raw: Any) -> None:
        if not isinstance(raw, list) or len(raw) != 4:
            raise Fault("an answer node is not [cell, [row, column], link, kind]")
        _, position, link, kind = raw
        if not isinstance(position, list) or len(position) != 2 or not all(is_index(n) for n in position):
            raise Fault("the position of an answer node is not [row, column]")
        if kind not in ("table", "passage"):
            raise Fault("an answer node is neither in the table nor in a passage")
        if kind == "passage" and not isinstance(link, str):
            raise Fault("an answer node in a passage has no link")
        self.row: int = position[0]
        self.link: str | None = link if kind == "passage" else None


def _nodes(raw: dict[str, Any]) -> list[_Node]:
    nodes = optional_list(raw, "answer-node")
    if nodes:
        _table_id(raw)
    return [_Node(node) for node in nodes]


def _table_id(raw: dict[str, Any]) -> str:
    return f"ottqa:{text(raw, 'table_id')}"


def _checked(raw: dict[str, Any]) -> tuple[str, str, str | None]:
    answer = raw.get("answer-text")
    if answer is not None and not isinstance(answer, str):
        raise Fault("`answer-text` is not a string")
    optional_text(raw, "table_id")
    return text(raw, "question_id"), question_text(raw), answer


def _cell(raw: Any) -> str:
    """A cell's text; linked tables hold `[text, links]`, plain ones the text alone."""
    value = raw[0] if isinstance(raw, list) and raw else raw
    if not isinstance(value, str):
        raise Fault("a cell is neither a string nor [text, links]")
    return value


def _other_text(verdict: Verdict) -> str:
    return " with another text" if verdict == "different" else ""


def _row(raw: Any) -> list[Any]:
    if not isinstance(raw, list):
        raise Fault("a row is not a list of cells")
    return raw


def _whole(file: RawFile, quarantine: Quarantine) -> Iterator[Record]:
    """The one record of a one-record file, named by the file."""
    fields: dict[str, Any] = {}
    before = quarantine.bad[file.group]
    for record in json_elements(file, _Uncounted(quarantine)):
        fields[str(record.place)] = record.value
    quarantine.read(file.group)
    if quarantine.bad[file.group] == before:
        yield Record(plain_name(file.path).removesuffix(".json"), fields)


class _Uncounted(Ignored):
    """Passes faults on, but does not count the fields of a record as records; null fields are fine."""

    def __init__(self, inner: Quarantine) -> None:
        self._inner = inner

    def add(self, *args: Any, **kwargs: Any) -> None:
        self._inner.add(*args, **kwargs)

    cut = add
