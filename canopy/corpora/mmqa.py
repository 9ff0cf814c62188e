"""MultimodalQA: questions over Wikipedia texts, tables and images.

Source: allenai/multimodalqa (`MMQA_{train,dev,test}.jsonl`, `MMQA_{texts,tables,images}.jsonl`, the folder
`final_dataset_images`). Gold: table rows by `table_indices`, sentences of `text_instances`, `image_instances`, for
the intermediate answers first, then for the answers, then what `supporting_context` names besides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from canopy.contracts import Item, Question, Span, Table
from canopy.corpora.files import Found, Kind, split_of, used_split
from canopy.corpora.json_records import records
from canopy.corpora.media import MediaFiles
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
    place_of,
    question_text,
    table_item,
    text,
    text_item,
    to_json,
)
from canopy.corpora.quarantine import Ignored
from canopy.corpora.raw import RawFile, Record
from canopy.corpora.seen import Seen
from canopy.corpora.sink import Sink
from canopy.settings.corpora import ParseSettings

_PREFIX = r"(MMQA|MultiModalQA)_"
KINDS = (
    Kind("texts", _PREFIX + r"texts.*\.jsonl?$", "MMQA_texts.jsonl", keys=("id", "text")),
    Kind("tables", _PREFIX + r"tables.*\.jsonl?$", "MMQA_tables.jsonl", keys=("id", "table")),
    Kind("images", _PREFIX + r"images.*\.jsonl?$", "MMQA_images.jsonl", keys=("id", "path")),
    Kind(
        "questions", _PREFIX + r"(train|dev|test).*\.jsonl?$", "MMQA_{train,dev,test}.jsonl", keys=("qid", "question")
    ),
)
_MARKER = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]")


def parse(found: Found, settings: ParseSettings, sink: Sink) -> None:
    """Read all files of the benchmark into the sink: note what gold refers to, read the corpus, write questions."""
    _Parser(settings, sink, found.by_name).run(found)


class _Parser:
    def __init__(self, settings: ParseSettings, sink: Sink, files: dict[str, Path]) -> None:
        self.settings = settings
        self.sink = sink
        self.files = files
        self.media = MediaFiles(sink, "image")
        self.seen = Seen()
        self.qids = Seen()
        self.places = AnswerPlaces()

    def run(self, found: Found) -> None:
        for file in found.of("questions"):
            guarded(file, records(file, self.sink.quarantine), self.sink, self._ask)
        for kind, use in (("texts", self._text), ("tables", self._table), ("images", self._image)):
            for file in found.of(kind):
                guarded(file, records(file, self.sink.quarantine), self.sink, use)
        self.media.warn("mmqa", "into a folder final_dataset_images beside MMQA_images.jsonl")
        for file in found.of("questions"):
            for record in records(file, Ignored()):
                self._question(file, record)

    def _ask(self, _file: RawFile, record: Record) -> None:
        native = _Native(obj(record.value))
        words = [a["answer"] for a in (*native.hops, *native.answers) if isinstance(a["answer"], str)]
        for answer in (*native.hops, *native.answers):
            if answer.get("table_indices"):
                self.places.ask(native.table)
            for doc_id, part in _instances(answer, "text_instances"):
                self.places.ask(_item_id(doc_id), str(answer["answer"]), *([part] if part else []))
            for doc_id, _ in _instances(answer, "image_instances"):
                self.places.ask(_item_id(doc_id))
        for doc_id, part in native.supporting:
            self.places.ask(_item_id(doc_id), *(words if part != "image" else ()))

    def _new(self, native: str, title: str, content: str) -> bool:
        verdict = self.seen.add(native, f"{title}\0{content}")
        if verdict == "different":
            raise Fault(f"the id {native} is used by another text, table or image")
        if verdict == "same":
            self.sink.facts["repeated items"] += 1
        return verdict == "new"

    def _text(self, file: RawFile, record: Record) -> None:
        raw = obj(record.value)
        native, title, content = text(raw, "id"), optional_text(raw, "title"), raw.get("text")
        if not isinstance(content, str):
            raise Fault("`text` is missing or not a string")
        if self._new(native, title, content):
            item = text_item(self.sink, file, record, _item_id(native), title, content)
            if item is not None:
                self.places.meet(item)

    def _table(self, file: RawFile, record: Record) -> None:
        raw = obj(record.value)
        native, title, inner = text(raw, "id"), optional_text(raw, "title"), obj(raw.get("table"), "`table`")
        header = tuple(
            without_markers(optional_text(obj(c, "a column"), "column_name")) for c in listed(inner, "header")
        )
        rows = tuple(tuple(without_markers(_cell(c)) for c in _row(r)) for r in listed(inner, "table_rows"))
        table = Table(header, rows, optional_text(inner, "table_name"))
        if self._new(native, title, table.to_json()):
            item = table_item(self.sink, file, record, _item_id(native), title, table)
            if item is not None:
                self.places.meet(item)

    def _image(self, file: RawFile, record: Record) -> None:
        raw = obj(record.value)
        native, title, name = text(raw, "id"), optional_text(raw, "title"), text(raw, "path")
        if not self._new(native, title, name):
            return
        path = self.media.path(self.files.get(Path(name).name), file, record, name)
        if path is None:
            return
        item = Item(
            item_id=_item_id(native),
            benchmark="mmqa",
            doc_id=_item_id(native),
            modality="image",
            title=title,
            content=path,
            units=(Span(0, 1),),
            source=place_of(file, record),
        )
        self.sink.item(item)
        self.places.meet(item)

    def _question(self, file: RawFile, record: Record) -> None:
        try:
            native = _Native(obj(record.value))
        except Fault:
            return  # recorded by the first pass
        if not is_first(self.qids, self.sink, file, record, native.qid, **native.contents()):
            return
        gold = self._gold(native)
        modality = optional_text(native.answers[0], "modality") if native.answers else ""
        self.sink.question(
            Question(
                qid=f"mmqa:{native.qid}",
                benchmark="mmqa",
                split=used_split(split_of(file.path), self.settings.splits),
                question=native.question,
                choices=(),
                answers=tuple(str(a["answer"]) for a in native.answers),
                answer_kind="list",
                gold=gold.gold(),
                gold_missing=gold.missing,
                question_type=native.type,
                native=to_json({"modality": modality} if modality else {}),
            )
        )

    def _gold(self, native: _Native) -> GoldList:
        gold = GoldList()
        for answer in (*native.hops, *native.answers):
            for row in dict.fromkeys(r for r, _ in _cells(answer)):
                gold.add(native.table, (row,) if 0 <= row < self.places.count(native.table) else ())
            for doc_id, part in _instances(answer, "text_instances"):
                item_id = _item_id(doc_id)
                units = self.places.units(item_id, part) if part else ()
                gold.add(item_id, units or self.places.units(item_id, str(answer["answer"])))
            for doc_id, _ in _instances(answer, "image_instances"):
                gold.add(_item_id(doc_id), range(self.places.count(_item_id(doc_id))))
        for doc_id, part in dict.fromkeys(native.supporting):
            item_id = _item_id(doc_id)
            if item_id in gold:
                continue
            if part == "image":
                gold.add(item_id, range(self.places.count(item_id)))
                continue
            words = [a["answer"] for a in (*native.hops, *native.answers) if isinstance(a["answer"], str)]
            gold.add(item_id, [u for word in words for u in self.places.units(item_id, word)])
        return gold


class _Native:
    """A question record, checked."""

    def __init__(self, raw: dict[str, Any]) -> None:
        metadata = {} if raw.get("metadata") is None else obj(raw["metadata"], "`metadata`")
        self.qid = text(raw, "qid")
        self.question = question_text(raw)
        self.answers = [_answer(a) for a in optional_list(raw, "answers")]
        self.type = optional_text(metadata, "type")
        self.hops = [_answer(a) for group in optional_list(metadata, "intermediate_answers") for a in _group(group)]
        self.table = _item_id(optional_text(metadata, "table_id"))
        self.supporting = [
            (text(obj(s, "a supporting context"), "doc_id"), optional_text(s, "doc_part"))
            for s in optional_list(raw, "supporting_context")
        ]

    def contents(self) -> dict[str, str]:
        """What two records of one question must agree in."""
        instances = [
            [list(_cells(a)), list(_instances(a, "text_instances")), list(_instances(a, "image_instances"))]
            for a in (*self.hops, *self.answers)
        ]
        return {
            "question": self.question,
            "table": self.table,
            "answer": to_json([a["answer"] for a in self.answers]) if self.answers else "",
            "evidence": to_json([instances, self.supporting]) if instances or self.supporting else "",
        }


def without_markers(value: str) -> str:
    """A header or cell text with wiki links `[[target|shown]]` replaced by what is shown."""
    return _MARKER.sub(r"\1", value)


def _answer(raw: Any) -> dict[str, Any]:
    answer = obj(raw, "an answer")
    value = answer.get("answer")
    number = is_index(value) or (isinstance(value, float) and math.isfinite(value))
    if not number and not isinstance(value, str):
        raise Fault("`answer` of an answer is neither a string nor a number")
    optional_text(answer, "modality")
    list(_cells(answer))
    list(_instances(answer, "text_instances"))
    list(_instances(answer, "image_instances"))
    return answer


def _cells(answer: dict[str, Any]) -> Iterator[tuple[int, int]]:
    for pair in optional_list(answer, "table_indices"):
        if not isinstance(pair, list) or len(pair) != 2 or not all(is_index(v) for v in pair):
            raise Fault("an entry of `table_indices` is not [row, column]")
        yield pair[0], pair[1]


def _instances(answer: dict[str, Any], key: str) -> Iterator[tuple[str, str]]:
    for instance in optional_list(answer, key):
        yield text(obj(instance, f"an entry of `{key}`"), "doc_id"), optional_text(instance, "text")


def _group(raw: Any) -> list[Any]:
    return raw if isinstance(raw, list) else [raw]


def _row(raw: Any) -> list[Any]:
    if not isinstance(raw, list):
        raise Fault("a row is not a list of cells")
    return raw


def _name(raw: Any) -> str:
    return optional_text(obj(raw, "a column"), "column_name")


def _cell(raw: Any) -> str:
    return optional_text(obj(raw, "a cell"), "text")


def _item_id(native: str) -> str:
    return f"mmqa:{native}"
