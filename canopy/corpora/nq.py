"""Natural Questions, open-domain: NQ-open questions, DPR retriever records and DPR's Wikipedia passages.

Sources: google-research-datasets/natural-questions `nq_open`, facebookresearch/DPR `biencoder-nq-*.json`,
`nq-*.qa.csv`, `psgs_w100.tsv`. Gold: the answer-bearing sentences of DPR's gold passage.
"""

from __future__ import annotations

import ast
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

from canopy.contracts import Question, Split
from canopy.corpora.files import Found, Kind, plain_name, split_of, used_split
from canopy.corpora.json_records import records
from canopy.corpora.native import Fault, GoldList, guarded, listed, obj, strings, text, text_item, to_json
from canopy.corpora.quarantine import Ignored
from canopy.corpora.raw import RawFile, Record, lines, tsv_rows
from canopy.corpora.seen import Seen, SeenNumbers
from canopy.corpora.sink import Sink
from canopy.settings.corpora import ParseSettings
from canopy.text.answers import units_with_answer
from canopy.text.sentences import sentence_spans

KINDS = (
    Kind("biencoder", r"biencoder-nq.*\.jsonl?$", "biencoder-nq-{train,dev}.json", keys=("question", "positive_ctxs")),
    Kind("passages", r"psgs_w100.*\.tsv$", "psgs_w100.tsv"),
    Kind("open", r"nq[-_]open.*\.jsonl$", "NQ-open.{train,dev}.jsonl", keys=("question", "answer")),
    Kind("qas", r"nq-(train|dev|test).*\.(csv|tsv)$", "nq-{train,dev,test}.qa.csv"),
)
_HEADER = ["id", "text", "title"]
_GOLD_SCORE = 1000


def parse(found: Found, settings: ParseSettings, sink: Sink) -> None:
    """Read all files of the benchmark into the sink."""
    _Parser(settings, sink).run(found)


class _Parser:
    def __init__(self, settings: ParseSettings, sink: Sink) -> None:
        self.settings = settings
        self.sink = sink
        self.passages = _Passages()
        self.questions = Seen()
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
            self._plain_questions(file, records(file, Ignored()), with_gold)
        for file in found.of("qas"):
            self._plain_questions(file, _qas(file, self.sink), with_gold)
        for file in found.of("passages"):
            self._tsv(file)

    def _collect_open(self, _file: RawFile, record: Record) -> None:
        question, answers = _open_question(record)
        self.open.setdefault(_signature(question), (question, answers))

    def _biencoder(self, file: RawFile, record: Record) -> None:
        raw = obj(record.value)
        question = text(raw, "question")
        answers = strings(listed(raw, "answers"), "`answers`")
        contexts = {
            part: [_context(c) for c in raw.get(part) or ()]
            for part in ("positive_ctxs", "negative_ctxs", "hard_negative_ctxs")
        }
        gold = GoldList()
        for native, _, content in _gold_contexts(raw.get("positive_ctxs") or []):
            units = units_with_answer(content, sentence_spans(content), answers)
            gold.add(f"nq:{native}", units if content.strip() else ())
        if not contexts["positive_ctxs"]:
            gold.missing += 1
        for native, title, content in (c for part in contexts.values() for c in part):
            self._passage(file, record, native, title, content)
        written = self.open.get(_signature(question), (question, answers))
        self._question(raw, *written, split_of(file.path), gold)

    def _passage(self, file: RawFile, record: Record, native: str, title: str, content: str) -> None:
        if self.passages.add(native):
            text_item(self.sink, file, record, f"nq:{native}", title, content, doc_id=f"nq:{title or native}")

    def _plain_questions(self, file: RawFile, rows: Iterable[Record], with_gold: set[Split]) -> None:
        # The open-domain papers test on NQ-open's dev file (DPR's nq-test.qa.csv holds the same 3,610 questions);
        # their dev questions are a part of NQ-open's train file.
        name = plain_name(file.path).lower()
        split: Split = "test" if re.match(r"nq[-_]open\.dev", name) else split_of(file.path)
        for record in rows:
            try:
                question, answers = _open_question(record)
            except Fault:
                continue
            if split in with_gold:
                self.sink.facts["questions left out, their split is defined by DPR records"] += 1
            else:
                self._question(record.value, question, answers, split, GoldList())

    def _question(self, raw: dict[str, Any], question: str, answers: list[str], split: Split, gold: GoldList) -> None:
        if self.questions.add(_signature(question)) != "new":
            self.sink.facts["repeated questions"] += 1
            return
        native = raw.get("id") or raw.get("qid") or raw.get("question_id")
        qid = f"nq:{native or hashlib.sha256(question.encode()).hexdigest()[:16]}"
        if qid in self.qids:
            raise Fault(f"the id {qid} is used by another question")
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
                native=to_json({"question": raw["question"]}),
            )
        )

    def _tsv(self, file: RawFile) -> None:
        inside = _Passages()
        for number, row in tsv_rows(file, self.sink.quarantine, header=_HEADER):
            record = Record(number, "\t".join(row))
            if len(row) != len(_HEADER):
                reason = f"{len(row)} columns instead of id, text, title"
                self.sink.quarantine.add(file.group, file.path, number, reason, record.value)
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
    return text(context, "passage_id", "psg_id", "id"), str(context.get("title") or ""), content.strip('"')


def _gold_contexts(positive: list[Any]) -> list[tuple[str, str, str]]:
    """The gold passages of a record, each once: score 1000, else the gold title, else the first positive one."""
    marked = [c for c in positive if _number(c, "score") == _GOLD_SCORE]
    marked = marked or [c for c in positive if _number(c, "title_score") == 1] or positive[:1]
    by_id = {context[0]: context for context in (_context(c) for c in marked)}
    return list(by_id.values())


def _number(context: Any, key: str) -> float | None:
    try:
        return float(obj(context, "a context").get(key))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _open_question(record: Record) -> tuple[str, list[str]]:
    raw = obj(record.value)
    question = text(raw, "question")
    answers = raw.get("answer", raw.get("answers", []))
    return question, strings([answers] if isinstance(answers, str) else answers, "`answer`")


def _qas(file: RawFile, sink: Sink) -> Iterator[Record]:
    """Questions of DPR's two-column files: question, tab, Python list literal of answers."""
    for number, line in lines(file, sink.quarantine):
        sink.quarantine.read(file.group)
        question, tab, literal = line.partition("\t")
        try:
            if not tab:
                raise ValueError("no tab between question and answers")
            # The column may be quoted as CSV, inner quotes doubled.
            if literal.startswith('"') and literal.endswith('"'):
                literal = literal[1:-1].replace('""', '"')
            answers = ast.literal_eval(literal.strip())
            if not question.strip() or not isinstance(answers, list):
                raise ValueError("an empty question, or answers that are not a list")
        except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
            sink.quarantine.add(file.group, file.path, number, f"not a question and a list literal: {error}", line)
            continue
        yield Record(number, {"question": question, "answer": [str(a) for a in answers]})


def _signature(question: str) -> str:
    """A question without case, spaces, punctuation: DPR's tokenized questions and NQ-open's agree in it."""
    return "".join(c for c in unicodedata.normalize("NFKC", question).casefold() if c.isalnum())
