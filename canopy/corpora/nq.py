"""Natural Questions, open-domain: NQ-open questions, DPR retriever records and DPR's Wikipedia passages.

Sources: google-research-datasets/natural-questions `nq_open`, facebookresearch/DPR `biencoder-nq-*.json`,
`nq-*.qa.csv`, `psgs_w100.tsv`. Gold: the answer-bearing sentences of DPR's gold passage.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from functools import partial
from typing import Any

from canopy.contracts import Question, Split
from canopy.corpora.files import Found, Kind, plain_name, split_of, used_split
from canopy.corpora.json_records import records
from canopy.corpora.native import (
    Fault,
    GoldList,
    guarded,
    listed,
    obj,
    question_text,
    strings,
    text,
    text_item,
    to_json,
)
from canopy.corpora.quarantine import Ignored
from canopy.corpora.raw import RawFile, Record
from canopy.corpora.seen import Seen, SeenNumbers
from canopy.corpora.sink import Sink
from canopy.corpora.tsv import tsv_rows
from canopy.settings.corpora import ParseSettings
from canopy.text.answers import answers_of_literal, units_with_answer
from canopy.text.sentences import sentence_spans

KINDS = (
    Kind("biencoder", r"biencoder-nq.*\.jsonl?$", "biencoder-nq-{train,dev}.json", keys=("question", "positive_ctxs")),
    Kind("passages", r"psgs_w100.*\.tsv$", "psgs_w100.tsv"),
    Kind("open", r"nq[-_]open.*\.jsonl$", "NQ-open.{train,dev}.jsonl", keys=("question", "answer")),
    Kind("qas", r"nq-(train|dev|test).*\.(csv|tsv)$", "nq-{train,dev,test}.qa.csv"),
)
_HEADER = ["id", "text", "title"]
_GOLD_SCORE = 1000
_CONTEXTS = ("positive_ctxs", "negative_ctxs", "hard_negative_ctxs")
# Spellings of quotes, dashes and brackets, the Penn Treebank's among them: to one.
_SPELLINGS = str.maketrans("‘’`´“”‐‑–—", "'" * 4 + '"' * 2 + "-" * 4)  # noqa: RUF001
_TOKENS = (("''", '"'), ("-lrb-", "("), ("-rrb-", ")"))


def parse(found: Found, settings: ParseSettings, sink: Sink) -> None:
    """Read all files of the benchmark into the sink."""
    _Parser(settings, sink).run(found)


class _Parser:
    def __init__(self, settings: ParseSettings, sink: Sink) -> None:
        self.settings = settings
        self.sink = sink
        self.passages = _Passages()
        self.given = Seen()  # passages of the DPR records, with their title and text
        self.questions = Seen()
        self.inside = {kind.name: Seen() for kind in KINDS}  # questions of one kind of file with answers and gold
        self.qids: set[str] = set()
        self.open: dict[str, tuple[str, list[str]]] = {}

    def run(self, found: Found) -> None:
        for file in found.of("open"):
            guarded(file, records(file, self.sink.quarantine), self.sink, self._collect_open)
        with_gold = set()
        for file in found.of("biencoder"):
            with_gold.add(split_of(file.path))
            guarded(file, records(file, self.sink.quarantine), self.sink, self._biencoder)
        for file in found.of("open"):  # its faults are known from collecting the answers
            use = partial(self._plain, "open", with_gold)
            guarded(file, records(file, Ignored()), self.sink, use)
        for file in found.of("qas"):
            use = partial(self._plain, "qas", with_gold)
            guarded(file, _qas(file, self.sink), self.sink, use)
        for file in found.of("passages"):
            self._tsv(file)

    def _collect_open(self, _file: RawFile, record: Record) -> None:
        question, answers = _open_question(record)
        self.open.setdefault(_signature(question), (question, answers))

    def _biencoder(self, file: RawFile, record: Record) -> None:
        raw = obj(record.value)
        question = question_text(raw)
        answers = strings(listed(raw, "answers"), "`answers`")
        contexts = {part: [_context(c) for c in _contexts(raw, part)] for part in _CONTEXTS}
        gold = GoldList()
        gold_contexts = _gold_contexts(_contexts(raw, "positive_ctxs"))
        for native, _, content in gold_contexts:
            units = units_with_answer(content, sentence_spans(content), answers)
            gold.add(f"nq:{native}", units if content.strip() else ())
        if not contexts["positive_ctxs"]:
            gold.add("", ())
        for native, title, content in (c for part in contexts.values() for c in part):
            self._given_passage(file, record, native, title, content)
        for native, title, content in gold_contexts:  # gold counts the sentences of the text that is stored
            if self.given.add(native, _passage_said(title, content)) == "different":
                raise Fault(f"the id nq:{native} of a gold passage is used by another passage")
        written = self.open.get(_signature(question), (question, answers))
        self._question("biencoder", file, record, *written, split_of(file.path), gold)

    def _given_passage(self, file: RawFile, record: Record, native: str, title: str, content: str) -> None:
        verdict = self.given.add(native, _passage_said(title, content))
        if verdict == "new":
            self._passage(file, record, native, title, content)
        elif verdict == "different":
            kept = "passage differs from an earlier one with its id, which stands"
            self.sink.quarantine.notice(kept, file.path, record.place, f"nq:{native}: {content}")

    def _passage(self, file: RawFile, record: Record, native: str, title: str, content: str) -> None:
        if self.passages.add(native):
            text_item(self.sink, file, record, f"nq:{native}", title, content, doc_id=f"nq:{title or native}")
        elif self.given.has(native) and self.given.add(native, _passage_said(title, content)) == "different":
            kept = "passage differs from the one in the DPR records, which stands"
            self.sink.quarantine.notice(kept, file.path, record.place, f"nq:{native}: {content}")

    def _plain(self, kind: str, with_gold: set[Split], file: RawFile, record: Record) -> None:
        try:
            question, answers = _open_question(record)
        except Fault:
            return  # recorded by the first pass
        split = _split(file)
        if split in with_gold:
            self.sink.facts["questions left out, their split is defined by DPR records"] += 1
        else:
            self._question(kind, file, record, question, answers, split, GoldList())

    def _question(
        self, kind: str, file: RawFile, record: Record, question: str, answers: list[str], split: Split, gold: GoldList
    ) -> None:
        native = _native_id(record.value)
        qid = f"nq:{native or hashlib.sha256(question.encode()).hexdigest()[:16]}"
        if not self._is_first(kind, file, record, question, answers, gold):
            self.sink.facts["repeated questions"] += 1
            return
        if qid in self.qids:
            raise Fault(f"the id {qid} is used by another question")
        self.questions.add(_signature(question), _said(answers))
        self.qids.add(qid)
        self.sink.question(
            Question(
                qid=qid,
                benchmark="nq",
                split=used_split(split, self.settings.splits),
                question=question,
                choices=(),
                answers=tuple(answers),
                answer_kind="span",
                gold=gold.gold(),
                gold_missing=gold.missing,
                native=to_json({"question": record.value["question"]}),
            )
        )

    def _is_first(
        self, kind: str, file: RawFile, record: Record, question: str, answers: list[str], gold: GoldList
    ) -> bool:
        """Whether a question is new; a file of another kind may know other answers, the first ones read stand."""
        signature, said = _signature(question), _said(answers)
        inside = self.inside[kind]
        unanswered = not answers and inside.has(signature)  # EfficientQA's files without annotations repeat the others
        evidence = sorted((g.item_id, g.units) for g in gold.gold())
        if not unanswered and inside.add(signature, to_json([said, evidence])) == "different":
            raise Fault("the question is repeated with other answers or other gold passages")
        if not self.questions.has(signature):
            return True
        if answers and self.questions.add(signature, said) == "different":
            kept = "repeated question with other answers, those of the first file stand"
            self.sink.quarantine.notice(kept, file.path, record.place, question)
        return False

    def _tsv(self, file: RawFile) -> None:
        inside = _Passages()
        for number, row in tsv_rows(file, self.sink.quarantine, header=_HEADER):
            record = Record(number, "\t".join(row))
            if len(row) != len(_HEADER):
                reason = f"{len(row)} columns instead of id, text, title"
                self.sink.quarantine.add(file.group, file.path, number, reason, record.value)
            elif not row[0].strip():
                self.sink.quarantine.add(file.group, file.path, number, "`id` is empty", record.value)
            elif not inside.add(row[0]):
                self.sink.quarantine.add(file.group, file.path, number, f"the id {row[0]} is repeated", record.value)
            else:
                self._passage(file, record, row[0], row[2], row[1].strip('"'))


class _Passages:
    """Ids of passages read: numbers as bits, others as hashes."""

    def __init__(self) -> None:
        self._numbers = SeenNumbers()
        self._others = Seen()

    def add(self, native: str) -> bool:
        if native.isascii() and native.isdigit() and len(native) <= 9 and str(int(native)) == native:
            return self._numbers.add(int(native))
        return self._others.add(native) == "new"


def _context(raw: Any) -> tuple[str, str, str]:
    context = obj(raw, "a context")
    content = context.get("text")
    if not isinstance(content, str):
        raise Fault("`text` of a context is not a string")
    title = context.get("title") or ""
    title = title if isinstance(title, str) else text(context, "title")
    return text(context, "passage_id", "psg_id", "id"), title, content.strip('"')


def _contexts(raw: dict[str, Any], part: str) -> list[Any]:
    return [] if raw.get(part) is None else listed(raw, part)


def _native_id(raw: dict[str, Any]) -> str:
    """The record's own id, or an empty string."""
    return next((text(raw, key) for key in ("id", "qid", "question_id") if raw.get(key)), "")


def _gold_contexts(positive: list[Any]) -> list[tuple[str, str, str]]:
    """The gold passages of a record, each once: score 1000, else the gold title, else the first positive one."""
    marked = [c for c in positive if _number(c, "score") == _GOLD_SCORE]
    marked = marked or [c for c in positive if _number(c, "title_score") == 1] or positive[:1]
    by_id: dict[str, tuple[str, str, str]] = {}
    for context in map(_context, marked):
        by_id.setdefault(context[0], context)
    return list(by_id.values())


def _number(context: Any, key: str) -> float | None:
    try:
        return float(obj(context, "a context").get(key))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def _open_question(record: Record) -> tuple[str, list[str]]:
    raw = obj(record.value)
    question = question_text(raw)
    answers = raw.get("answer", raw.get("answers", []))
    return question, strings([answers] if isinstance(answers, str) else answers, "`answer`")


def _qas(file: RawFile, sink: Sink) -> Iterator[Record]:
    """Questions of DPR's two-column files: question, tab, Python list literal of answers."""
    for number, row in tsv_rows(file, sink.quarantine):
        try:
            if len(row) != 2 or not row[0].strip():
                raise ValueError(f"not a question, a tab and a list of answers, but {len(row)} columns")
            yield Record(number, {"question": row[0], "answer": answers_of_literal(row[1])})
        except ValueError as error:
            sink.quarantine.add(file.group, file.path, number, str(error), "\t".join(row))


def _split(file: RawFile) -> Split:
    # The open-domain papers test on NQ-open's dev file (DPR's nq-test.qa.csv holds the same 3,610 questions);
    # their dev questions are a part of NQ-open's train file.
    return "test" if re.match(r"nq[-_]open\.dev", plain_name(file.path).lower()) else split_of(file.path)


def _passage_said(title: str, content: str) -> str:
    return to_json([title, content])


def _said(answers: list[str]) -> str:
    return to_json(sorted({_signature(answer) for answer in answers}))


def _signature(question: str) -> str:
    """A question without case, spaces and its question mark: DPR's tokenized questions and NQ-open's agree in it."""
    plain = unicodedata.normalize("NFKC", question.translate(_SPELLINGS)).casefold()
    plain = "".join(c for c in plain if c.isprintable() and not c.isspace())
    for token, sign in _TOKENS:
        plain = plain.replace(token, sign)
    return plain.rstrip("?") or plain
