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
from canopy.corpora.native import Fault, GoldList, guarded, is_first, listed, obj, place_of, strings, text, to_json
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
        "hotpot_{train_v1.1,dev_distractor_v1,dev_fullwiki_v1}.json",
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


class _Parser:
    def __init__(self, settings: ParseSettings, sink: Sink) -> None:
        self.settings = settings
        self.sink = sink
        self.seen = Seen()
        self.qids = Seen()
        self.wanted: dict[str, tuple[str, list[int | None]] | None] = {}

    def run(self, found: Found) -> None:
        for file in found.of("questions"):
            guarded(file, records(file, self.sink.quarantine), self.sink, self._contexts)
        for file in found.of("dump"):
            guarded(file, json_lines(file, self.sink.quarantine), self.sink, self._article)
        for file in found.of("questions"):
            split = used_split(split_of(file.path), self.settings.splits)
            for record in records(file, Ignored()):
                self._question(file, record, split)

    def _contexts(self, file: RawFile, record: Record) -> None:
        raw = obj(record.value)
        paragraphs = _paragraphs(raw)
        _checked(raw)
        for paragraph in paragraphs:
            self._write(file, record, paragraph)
        inside = {p.title for p in paragraphs}
        for title, _ in _facts(raw):
            if title not in inside:
                self.wanted.setdefault(html.unescape(title), None)

    def _write(self, file: RawFile, record: Record, paragraph: Paragraph, groups: tuple[Span, ...] = ()) -> None:
        content = paragraph.content
        if not content.strip():
            self.sink.quarantine.notice(
                "text without visible characters, no item", file.path, record.place, paragraph.title
            )
            return
        item_id, new = self._item_id(paragraph)
        if not new:
            return
        units = tuple(spans_of(paragraph.sentences))
        source = place_of(file, record)
        self.sink.item(
            Item(item_id, "hotpotqa", item_id, "text", paragraph.shown, content, units, groups=groups, source=source)
        )

    def _item_id(self, paragraph: Paragraph) -> tuple[str, bool]:
        """Item id, and whether it is new; a second text under a title gets the title and a hash of the text."""
        item_id = f"hotpotqa:{paragraph.shown}"
        content = paragraph.content
        verdict = self.seen.add(item_id, content)
        if verdict == "different":
            item_id += "#" + hashlib.blake2b(content.encode(), digest_size=4).hexdigest()
            verdict = self.seen.add(item_id, content)
        return item_id, verdict == "new"

    def _article(self, file: RawFile, record: Record) -> None:
        raw = obj(record.value)
        paragraph, groups = _article(raw)
        item_id = f"hotpotqa:{paragraph.shown}"
        if paragraph.shown in self.wanted:
            self.wanted[paragraph.shown] = (item_id, unit_of_sentence(paragraph.sentences))
        if self.seen.has(item_id):
            # The contexts hold this abstract already, and gold refers to their sentences.
            self.sink.facts["dump articles already in contexts"] += 1
            return
        self._write(file, record, paragraph, groups)

    def _question(self, file: RawFile, record: Record, split: Split) -> None:
        try:
            raw = obj(record.value)
            paragraphs = {p.title: p for p in _paragraphs(raw)}
            qid, question, answers = _checked(raw)
        except Fault:
            return  # recorded by the first pass
        if not is_first(self.qids, self.sink, file, record, qid, question):
            return
        gold = GoldList()
        native_ids: dict[str, dict[str, Any]] = {}
        for title, index in _facts(raw):
            item_id, units = self._gold_item(paragraphs, title)
            unit = units[index] if 0 <= index < len(units) else None
            if gold.add(item_id, () if unit is None else (unit,)):
                native_ids[item_id] = {"title": title, "sentences": [i for i, u in enumerate(units) if u is not None]}
        native = {"supporting_facts": _facts(raw), "items": native_ids} if gold.gold() else {}
        kinds = [str(raw[key]) for key in ("type", "level") if raw.get(key)]
        self.sink.question(
            Question(
                qid=f"hotpotqa:{qid}",
                benchmark="hotpotqa",
                split=split,
                question=question,
                choices=(),
                answers=answers,
                answer_kind="span",
                gold=gold.gold(),
                gold_missing=gold.missing,
                question_type="|".join(kinds),
                native=to_json(native),
            )
        )

    def _gold_item(self, paragraphs: dict[str, Paragraph], title: str) -> tuple[str, Sequence[int | None]]:
        paragraph = paragraphs.get(title)
        if paragraph is not None:
            return self._item_id(paragraph)[0], unit_of_sentence(paragraph.sentences)
        return self.wanted.get(html.unescape(title)) or ("", [])


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
    facts = raw.get("supporting_facts") or []
    if isinstance(facts, dict):
        titles, indices = listed(facts, "title"), listed(facts, "sent_id")
        if len(titles) != len(indices):
            raise Fault("`supporting_facts` has columns of different lengths")
        facts = list(zip(titles, indices, strict=True))
    if not isinstance(facts, list):
        raise Fault("`supporting_facts` is not a list")
    found = []
    for fact in facts:
        if not isinstance(fact, (list, tuple)) or len(fact) != 2:
            raise Fault("a supporting fact is not [title, sentence]")
        if not isinstance(fact[0], str) or not isinstance(fact[1], int):
            raise Fault("a supporting fact is not [title, sentence]")
        found.append((fact[0], fact[1]))
    return found


def _checked(raw: dict[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    """Id, question and answers of a record; also checks that its supporting facts can be read."""
    _facts(raw)
    answer = raw.get("answer")
    if answer is not None and not isinstance(answer, str):
        raise Fault("`answer` is not a string")
    return text(raw, "_id", "id"), text(raw, "question"), () if answer is None else (answer,)


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
