"""Gold answers out of the benchmarks' native question files, for ``canopy score``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from canopy.corpora.files import plain_name
from canopy.corpora.lvbench import options
from canopy.corpora.native import Fault
from canopy.errors import UserError
from canopy.metrics import mmqa
from canopy.metrics.fields import (
    FieldError,
    entries,
    identifier,
    mapping,
    number_or_text,
    required,
    shown,
    supporting_facts,
    text,
)
from canopy.metrics.files import read_json
from canopy.metrics.hotpotqa import Fact
from canopy.metrics.qa_csv import read_qa_csv
from canopy.metrics.records import GoldAnswer

Record = dict[str, Any]


def read_gold(benchmark: str, path: Path) -> list[GoldAnswer]:
    """The gold answers of one native file.

    nq: NQ-open JSON Lines, DPR JSON, or DPR ``*.qa.csv``; ids are the question texts, as in the official
    script. hotpotqa: the official list or the Hugging Face columnar records. ottqa: the released question
    list, or a reference file. mmqa: JSON Lines. lvbench: ``video_info.meta.jsonl``.

    Raises:
        UserError: the file cannot be read, a field that is used has the wrong form, or an id occurs twice.
    """
    golds: dict[str, GoldAnswer] = {}
    for where, record in _records(benchmark, path):
        if not isinstance(record, dict):
            raise UserError(f"{where}: not a JSON object, so not a {benchmark} question file")
        try:
            found = list(_READERS[benchmark](record))
        except FieldError as error:
            raise UserError(f"{where}: not a native {benchmark} record ({error})") from error
        for gold in found:
            if gold.qid in golds:
                raise UserError(f"{where}: question id {shown(gold.qid)} occurs twice")
            golds[gold.qid] = gold
    return list(golds.values())


def _records(benchmark: str, path: Path) -> Iterable[tuple[str, Any]]:
    if benchmark == "nq" and plain_name(path).lower().endswith((".csv", ".tsv")):
        return read_qa_csv(path)
    value = read_json(path)
    records = value if isinstance(value, list) else [value]
    return ((f"{path}, record {number}", record) for number, record in enumerate(records, 1))


def _nq(record: Record) -> Iterator[GoldAnswer]:
    question = identifier(required(record, "question"), "`question`")
    if "supporting_facts" in record:
        raise FieldError("it has `supporting_facts`, as hotpotqa's have")
    key = "answer" if "answer" in record else "answers"
    answers = record.get(key, [])
    answers = [answers] if isinstance(answers, str) else entries(answers, f"`{key}`")
    # The parser's ids: the native one, and for records that have none, a hash of the question.
    aliases = [_whole_or_text(record[key], f"`{key}`") for key in ("id", "qid", "question_id") if record.get(key)]
    aliases.append(hashlib.sha256(question.encode()).hexdigest()[:16])
    yield GoldAnswer(question, tuple(text(a, f"an entry of `{key}`") for a in answers), aliases=tuple(aliases))


def _hotpotqa(record: Record) -> Iterator[GoldAnswer]:
    key = "id" if "id" in record and "_id" not in record else "_id"
    qid = identifier(required(record, key), f"`{key}`")
    answer = record.get("answer")
    answers = () if answer is None else (text(answer, "`answer`"),)
    labels = tuple((name, text(record[name], f"`{name}`")) for name in ("type", "level") if _given(record.get(name)))
    yield GoldAnswer(qid, answers, labels, _supporting(record.get("supporting_facts")))


def _supporting(facts: Any) -> frozenset[Fact]:
    if isinstance(facts, dict):  # Hugging Face, by columns
        titles, sentences = (entries(required(facts, name), f"`{name}`") for name in ("title", "sent_id"))
        if len(titles) != len(sentences):
            raise FieldError("`supporting_facts` has columns of different lengths")
        facts = [list(pair) for pair in zip(titles, sentences, strict=True)]
    return frozenset(supporting_facts([] if facts is None else facts, "`supporting_facts`"))


def _ottqa(record: Record) -> Iterator[GoldAnswer]:
    if "reference" in record:
        yield from _ottqa_reference(record)
        return
    answer = record.get("answer-text")
    qid = identifier(required(record, "question_id"), "`question_id`")
    yield GoldAnswer(qid, () if answer is None else (text(answer, "`answer-text`"),))


def _ottqa_reference(record: Record) -> Iterator[GoldAnswer]:
    parts = {
        part: frozenset(text(qid, f"an entry of `{part}`") for qid in entries(record.get(part, []), f"`{part}`"))
        for part in ("table", "passage")
    }
    for qid, answer in mapping(record["reference"], "`reference`").items():
        labels = tuple(("source", part) for part, qids in parts.items() if qid in qids)
        yield GoldAnswer(identifier(qid, "an id"), (text(answer, f"the answer of {shown(qid)}"),), labels)


def _mmqa(record: Record) -> Iterator[GoldAnswer]:
    qid = identifier(required(record, "qid"), "`qid`")
    answers = [mapping(a, "an entry of `answers`") for a in entries(_default(record, "answers", []), "`answers`")]
    metadata = mapping(record.get("metadata", {}), "`metadata`")
    modality = text(_default(answers[0], "modality", ""), "`modality`") if answers else ""
    labels = mmqa.labels(modality, text(_default(metadata, "type", ""), "`type` of `metadata`"))
    parts = tuple(number_or_text(required(a, "answer"), "`answer` of an entry of `answers`") for a in answers)
    yield GoldAnswer(qid, parts, labels)


def _lvbench(record: Record) -> Iterator[GoldAnswer]:
    for number, entry in enumerate(entries(required(record, "qa"), "`qa`"), 1):
        where = f"question {number}"
        qa = mapping(entry, where)
        # The official script calls str() on ids.
        uid = _whole_or_text(required(qa, "uid"), f"`uid` of {where}")
        types = _default(qa, "question_type", [])
        types = [types] if isinstance(types, str) else entries(types, f"`question_type` of {where}")
        labels = tuple(("type", text(label, f"`question_type` of {where}")) for label in types if label != "")
        letters = _letters(qa.get("question"))
        yield GoldAnswer(uid, _letter(qa.get("answer"), letters, f"`answer` of {where}"), labels)


def _letters(question: Any) -> str:
    """The letters of a question's options; any, where none can be found in it."""
    try:
        _, choices = options(question if isinstance(question, str) else "")
    except Fault:
        return ascii_uppercase
    return ascii_uppercase[: len(choices)]


def _letter(answer: Any, letters: str, what: str) -> tuple[str, ...]:
    if not _given(answer):
        return ()
    if re.fullmatch("[A-Z]", text(answer, what)) is None:
        raise FieldError(f"{what} is {shown(answer)}, not the capital letter of an option")
    if answer not in letters:
        raise FieldError(f"{what} is {shown(answer)}, but the question's options are {', '.join(letters)}")
    return (answer,)


def _whole_or_text(value: Any, what: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return identifier(value, what)


def _default(record: Record, key: str, default: Any) -> Any:
    """The value under a key, where null is as good as no value."""
    value = record.get(key)
    return default if value is None else value


def _given(value: Any) -> bool:
    return value is not None and value != ""


_READERS = {"nq": _nq, "hotpotqa": _hotpotqa, "ottqa": _ottqa, "mmqa": _mmqa, "lvbench": _lvbench}
