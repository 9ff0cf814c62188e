"""Gold answers out of the benchmarks' native question files, for ``canopy score``."""

from __future__ import annotations

import ast
import csv
import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from canopy.errors import UserError
from canopy.metrics import mmqa
from canopy.metrics.files import read_json, read_text
from canopy.metrics.hotpotqa import Fact
from canopy.metrics.records import GoldAnswer


def read_gold(benchmark: str, path: Path) -> list[GoldAnswer]:
    """The gold answers of one native file.

    nq: NQ-open JSON Lines, DPR JSON, or DPR ``*.qa.csv``; ids are the question texts, as in the official
    script. hotpotqa: the official list or the Hugging Face columnar records. ottqa: the released question
    list, or a reference file. mmqa: JSON Lines. lvbench: ``video_info.meta.jsonl``.

    Raises:
        UserError: the file cannot be read, a record lacks its id, or an id occurs twice.
    """
    if benchmark == "nq" and path.suffix == ".csv":
        records: list[Any] = _qa_csv(path)
    else:
        value = read_json(path)
        records = value if isinstance(value, list) else [value]
    golds: dict[str, GoldAnswer] = {}
    for number, record in enumerate(records, 1):
        where = f"{path}, record {number}"
        if not isinstance(record, dict):
            raise UserError(f"{where}: not a JSON object, so not a {benchmark} question file")
        try:
            found = list(_READERS[benchmark](record))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UserError(f"{where}: not a native {benchmark} record ({type(error).__name__}: {error})") from error
        for gold in found:
            if gold.qid in golds:
                raise UserError(f"{where}: question id {gold.qid!r} occurs twice")
            golds[gold.qid] = gold
    return list(golds.values())


def _nq(record: dict[str, Any]) -> Iterator[GoldAnswer]:
    answers = record["answer"] if "answer" in record else record.get("answers", [])
    answers = [answers] if isinstance(answers, str) else answers
    question = record["question"]
    if "supporting_facts" in record:
        raise ValueError("it has supporting_facts, as hotpotqa's have")
    if not (isinstance(question, str) and isinstance(answers, list) and all(isinstance(a, str) for a in answers)):
        raise TypeError("the question must be a string and the answers strings")
    # The parser's ids: the native one, and for records that have none, a hash of the question.
    aliases = [str(record[key]) for key in ("id", "qid", "question_id") if record.get(key)]
    aliases.append(hashlib.sha256(question.encode()).hexdigest()[:16])
    yield GoldAnswer(question, tuple(answers), aliases=tuple(aliases))


def _hotpotqa(record: dict[str, Any]) -> Iterator[GoldAnswer]:
    facts = record.get("supporting_facts", [])
    pairs = zip(facts["title"], facts["sent_id"], strict=True) if isinstance(facts, dict) else facts
    supporting: frozenset[Fact] = frozenset((str(title), int(sentence)) for title, sentence in pairs)
    labels = tuple((key, record[key]) for key in ("type", "level") if record.get(key))
    answers = (record["answer"],) if record.get("answer") is not None else ()
    yield GoldAnswer(record["_id"] if "_id" in record else record["id"], answers, labels, supporting)


def _ottqa(record: dict[str, Any]) -> Iterator[GoldAnswer]:
    if "reference" in record:
        parts = {part: frozenset(record.get(part, ())) for part in ("table", "passage")}
        for qid, answer in record["reference"].items():
            labels = tuple(("source", part) for part, qids in parts.items() if qid in qids)
            yield GoldAnswer(qid, (answer,), labels)
        return
    answer = record.get("answer-text")
    yield GoldAnswer(record["question_id"], () if answer is None else (answer,))


def _mmqa(record: dict[str, Any]) -> Iterator[GoldAnswer]:
    answers = record.get("answers") or []
    modality = answers[0].get("modality", "") if answers else ""
    labels = mmqa.labels(modality, record.get("metadata", {}).get("type", ""))
    yield GoldAnswer(record["qid"], tuple(str(answer["answer"]) for answer in answers), labels)


def _lvbench(record: dict[str, Any]) -> Iterator[GoldAnswer]:
    for qa in record["qa"]:
        types = qa.get("question_type") or []
        labels = tuple(("type", label) for label in ([types] if isinstance(types, str) else types))
        yield GoldAnswer(str(qa["uid"]), (qa["answer"],) if qa.get("answer") else (), labels)


def _qa_csv(path: Path) -> list[dict[str, Any]]:
    rows = csv.reader(io.StringIO(read_text(path), newline=""), delimiter="\t")
    records = []
    for number, row in enumerate(rows, 1):
        try:
            question, answers = row
            records.append({"question": question, "answers": [str(a) for a in ast.literal_eval(answers)]})
        except (ValueError, SyntaxError, TypeError) as error:
            raise UserError(f"{path}, line {number}: not a question, a tab and a list of answers ({error})") from error
    return records


_READERS = {"nq": _nq, "hotpotqa": _hotpotqa, "ottqa": _ottqa, "mmqa": _mmqa, "lvbench": _lvbench}
