"""HotpotQA: distractor and fullwiki records (official and Hugging Face layout) and the Wikipedia abstracts dump.

Source: hotpotqa.github.io. Items are the distinct paragraphs of the contexts and of the dump, units their native
sentences. Gold: the supporting facts, in their order.
"""

from __future__ import annotations

import hashlib
import html
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from canopy.contracts import Item, Question, Span, Split
from canopy.corpora.files import Found, Kind, split_of, used_split
from canopy.corpora.json_records import json_lines, records
from canopy.corpora.native import (
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
    strings,
    text,
    to_json,
)
from canopy.corpora.quarantine import Ignored
from canopy.corpora.raw import RawFile, Record
from canopy.corpora.seen import Seen
from canopy.corpora.sink import Sink
from canopy.settings.corpora import ParseSettings
from canopy.text.sentences import spans_of

KINDS = (
    Kind(
        "questions",
        r"hotpot.*\.jsonl?$",
        "hotpot_{train_v1.1,dev_distractor_v1,dev_fullwiki_v1,test_fullwiki_v1}.json",
        keys=("question", "context"),
    ),
    Kind("questions", r"(train|validation|test)-\d+-of-\d+\.parquet$", "train-00000-of-00002.parquet (Hugging Face)"),
    Kind("dump", r"wiki_\d+(\.jsonl?)?$", "*/wiki_00.bz2", keys=("title", "text")),
)


def parse(found: Found, settings: ParseSettings, sink: Sink) -> None:
    """Read all files of the benchmark into the sink: paragraphs first, then the questions against them."""
    _Parser(settings, sink).run(found)


class Paragraph(NamedTuple):
    """A native paragraph: escaped title as it stands in the file, and its sentences."""

    title: str
    sentences: tuple[str, ...]

    @property
    def content(self) -> str:
        """The paragraph's text; native sentences hold their own spaces."""
        return "".join(self.sentences)

    @property
    def shown(self) -> str:
        """The title without HTML entities."""
        return html.unescape(self.title)

    @property
    def item_id(self) -> str:
        """Id of the first item with this title."""
        return f"hotpotqa:{self.shown}"


class _Parser:
    def __init__(self, settings: ParseSettings, sink: Sink) -> None:
        self.settings = settings
        self.sink = sink
        self.contexts = Seen()
        self.articles = Seen()
        self.qids = Seen()
        # Gold titles outside their question's context: the item that bears the title, and the units of its sentences.
        self.wanted: dict[str, tuple[str, list[int | None]] | None] = {}

    def run(self, found: Found) -> None:
        questions = [(f, used_split(split_of(f.path), self.settings.splits)) for f in found.of("questions")]
        for file, _ in questions:
            guarded(file, records(file, self.sink.quarantine), self.sink, self._contexts)
        for file, _ in questions if self.wanted else ():
            for record in records(file, Ignored()):
                self._find_wanted(record)
        for file in found.of("dump"):
            guarded(file, json_lines(file, self.sink.quarantine), self.sink, self._article)
        for file, split in questions:
            for record in records(file, Ignored()):
                self._question(file, record, split)

    def _contexts(self, file: RawFile, record: Record) -> None:
        native = _Native(record)
        for paragraph in native.paragraphs:
            self._write(file, record, paragraph, self.contexts)
        for title in native.twice:
            kept = "title used twice in one context with other texts, no fact names it"
            self.sink.quarantine.notice(kept, file.path, record.place, title)
        for title, _ in native.facts:
            if title not in native.by_title:
                self.wanted.setdefault(html.unescape(title), None)

    def _find_wanted(self, record: Record) -> None:
        """Look for wanted titles in the contexts of other questions, which have been written in this order."""
        try:
            native = _Native(record)
        except Fault:
            return
        for paragraph in native.paragraphs:
            self._meet(paragraph)

    def _meet(self, paragraph: Paragraph) -> None:
        if self.wanted.get(paragraph.shown, ...) is None and paragraph.content.strip():
            self.wanted[paragraph.shown] = (paragraph.item_id, unit_of_sentence(paragraph.sentences))

    def _write(
        self, file: RawFile, record: Record, paragraph: Paragraph, seen: Seen, groups: tuple[Span, ...] = ()
    ) -> bool:
        """Write a paragraph as an item if it has visible text; False for one that was written before."""
        content = paragraph.content
        if not content.strip():
            self.sink.quarantine.notice(
                "text without visible characters, no item", file.path, record.place, paragraph.title
            )
            return True
        item_id, new = _item_id(paragraph, seen)
        if new:
            units = tuple(spans_of(paragraph.sentences))
            source = place_of(file, record)
            self.sink.item(
                Item(
                    item_id, "hotpotqa", item_id, "text", paragraph.shown, content, units, groups=groups, source=source
                )
            )
        return new

    def _article(self, file: RawFile, record: Record) -> None:
        paragraph, groups = _article(obj(record.value))
        if self.contexts.has(paragraph.item_id):
            # The contexts hold this abstract already, and gold refers to their sentences.
            self.sink.facts["dump articles already in contexts"] += 1
            return
        if not self._write(file, record, paragraph, self.articles, groups):
            self.sink.facts["repeated dump articles"] += 1
        self._meet(paragraph)

    def _question(self, file: RawFile, record: Record, split: Split) -> None:
        try:
            native = _Native(record)
        except Fault:
            return  # recorded by the first pass
        contents = {
            "question": native.question,
            "answer": "".join(native.answers),
            "supporting facts": to_json(sorted(native.facts)) if native.facts else "",
        }
        if not is_first(self.qids, self.sink, file, record, native.qid, **contents):
            return
        gold = GoldList()
        items: dict[str, dict[str, Any]] = {}
        for title, index in native.facts:
            item_id, units = self._gold_item(native, title)
            unit = units[index] if 0 <= index < len(units) else None
            if gold.add(item_id, () if unit is None else (unit,)):
                items[item_id] = {"title": title, "sentences": [i for i, u in enumerate(units) if u is not None]}
        self.sink.question(
            Question(
                qid=f"hotpotqa:{native.qid}",
                benchmark="hotpotqa",
                split=split,
                question=native.question,
                choices=(),
                answers=native.answers,
                answer_kind="span",
                gold=gold.gold(),
                gold_missing=gold.missing,
                question_type="|".join(native.kinds),
                native=to_json({"supporting_facts": native.facts, "items": items} if items else {}),
            )
        )

    def _gold_item(self, native: _Native, title: str) -> tuple[str, Sequence[int | None]]:
        paragraph = native.by_title.get(title)
        if paragraph is not None:
            return _item_id(paragraph, self.contexts)[0], unit_of_sentence(paragraph.sentences)
        return self.wanted.get(html.unescape(title)) or (f"hotpotqa:{html.unescape(title)}", [])


class _Native:
    """A question record, checked."""

    def __init__(self, record: Record) -> None:
        raw = obj(record.value)
        self.paragraphs = _paragraphs(raw)
        self.by_title: dict[str, Paragraph] = {}
        self.twice = [p.title for p in self.paragraphs if self.by_title.setdefault(p.title, p) != p]
        self.facts = _facts(raw)
        for title, _ in self.facts:
            if title in self.twice:
                raise Fault(f"a supporting fact names {title!r}, the title of two paragraphs of its context")
        self.qid = text(raw, "_id", "id")
        self.question = question_text(raw)
        self.answers = _answers(raw)
        self.kinds = [kind for key in ("type", "level") if (kind := optional_text(raw, key))]


def _item_id(paragraph: Paragraph, seen: Seen) -> tuple[str, bool]:
    """Item id, and whether it is new; a second text under a title gets the title and a hash of the text.

    The same text in other sentences is another text, since gold counts sentences.
    """
    content = "\x1f".join(s for s in paragraph.sentences if s)
    verdict = seen.add(paragraph.item_id, content)
    if verdict != "different":
        return paragraph.item_id, verdict == "new"
    item_id = f"{paragraph.item_id}#{hashlib.blake2b(content.encode(), digest_size=4).hexdigest()}"
    return item_id, seen.add(item_id, content) == "new"


def unit_of_sentence(sentences: Sequence[str]) -> list[int | None]:
    """Unit index of each native sentence; None for sentences without a visible character, which are no units."""
    units: list[int | None] = []
    count = 0
    for sentence in sentences:
        visible = bool(sentence.strip())
        units.append(count if visible else None)
        count += visible
    return units


def _paragraphs(raw: dict[str, Any]) -> list[Paragraph]:
    context = raw.get("context")
    if isinstance(context, dict):  # Hugging Face, by columns
        titles, sentences = listed(context, "title"), listed(context, "sentences")
        if len(titles) != len(sentences):
            raise Fault("`context` has columns of different lengths")
        context = list(zip(titles, sentences, strict=True))
    if not isinstance(context, list):
        raise Fault("`context` is missing or not a list")
    paragraphs = []
    for pair in context:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not isinstance(pair[0], str):
            raise Fault("an entry of `context` is not [title, sentences]")
        paragraphs.append(Paragraph(pair[0], tuple(strings(pair[1], "sentences of a context"))))
    return paragraphs


def _facts(raw: dict[str, Any]) -> list[tuple[str, int]]:
    facts = raw.get("supporting_facts")
    if isinstance(facts, dict):
        titles, indices = listed(facts, "title"), listed(facts, "sent_id")
        if len(titles) != len(indices):
            raise Fault("`supporting_facts` has columns of different lengths")
        facts = list(zip(titles, indices, strict=True))
    else:
        facts = optional_list(raw, "supporting_facts")
    found = []
    for fact in facts:
        if not isinstance(fact, (list, tuple)) or len(fact) != 2:
            raise Fault("a supporting fact is not [title, sentence]")
        if not isinstance(fact[0], str) or not is_index(fact[1]):
            raise Fault("a supporting fact is not [title, sentence]")
        found.append((fact[0], fact[1]))
    return found


def _answers(raw: dict[str, Any]) -> tuple[str, ...]:
    answer = raw.get("answer")
    if answer is not None and not isinstance(answer, str):
        raise Fault("`answer` is not a string")
    return () if answer is None else (answer,)


def _article(raw: dict[str, Any]) -> tuple[Paragraph, tuple[Span, ...]]:
    """An article of the dump: a list of sentences, or, in the full dump, a list of paragraphs of sentences."""
    title, body = text(raw, "title"), listed(raw, "text")
    if all(isinstance(s, str) for s in body):
        return Paragraph(title, tuple(body)), ()
    sentences: list[str] = []
    bounds = [0]
    for part in body:
        sentences += strings(part, "a paragraph of `text`")
        units = sum(bool(s.strip()) for s in sentences)
        if units > bounds[-1]:
            bounds.append(units)
    groups = tuple(Span(a, b) for a, b in pairwise(bounds))
    return Paragraph(title, tuple(sentences)), groups if len(groups) > 1 else ()
