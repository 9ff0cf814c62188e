"""Every field of every native record with a value of another JSON type: set apart and counted, never a crash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from json_places import places, put
from parsing import Parsed, parse, write

DEEP: Any = json.loads("[" * 600 + "]" * 600)
ODD: dict[str, Any] = {
    "null": None,
    "true": True,
    "false": False,
    "number": 1,
    "infinity": float("inf"),
    "nan": float("nan"),
    "huge": 10**400,
    "blank": "",
    "lists": [[[]]],
    "empty list": [],
    "object": {"a": {}},
    "empty object": {},
    "surrogate": "\ud800",
    "deep": DEEP,
}

HOTPOTQA = {
    "hotpot_train_v1.1.json": {
        "_id": "id",
        "question": "Who?",
        "answer": "Orn",
        "supporting_facts": [["T", 0], ["Absent", 0]],
        "context": [["T", ["One.", " Two."]]],
        "type": "bridge",
        "level": "hard",
    },
    "hotpot_dev.jsonl": {
        "id": "columns",
        "question": "Who?",
        "answer": "Orn",
        "supporting_facts": {"title": ["T"], "sent_id": [0]},
        "context": {"title": ["T"], "sentences": [["One.", " Two."]]},
    },
    "wiki_00.jsonl": {"title": "id", "text": [["One.", " Two."], ["Three."]]},
}
OTTQA = {
    "dev.traced.json": {
        "question_id": "id",
        "question": "Who ?",
        "table_id": "B",
        "answer-text": "Orn",
        "answer-node": [["Orn", [0, 0], "/wiki/Orn", "passage"], ["Orn", [0, 0], None, "table"]],
    },
    "all_plain_tables.json": {
        "uid": "id",
        "title": "T",
        "url": "https://en.wikipedia.org/wiki/T",
        "header": [["Name", []], ["Ship", []]],
        "data": [[["Orn", []], ["Arla", []]]],
        "section_title": "S",
    },
    "all_passages.json": "Orn is a captain .",
}
MMQA = {
    "MMQA_dev.jsonl": {
        "qid": "id",
        "question": "Who?",
        "answers": [
            {
                "answer": "Orn",
                "modality": "text",
                "table_indices": [[0, 0]],
                "text_instances": [{"doc_id": "t", "text": "Orn"}],
                "image_instances": [{"doc_id": "i"}],
            }
        ],
        "metadata": {"type": "TextQ", "table_id": "b", "intermediate_answers": [[{"answer": 1.5}]]},
        "supporting_context": [{"doc_id": "t", "doc_part": "text"}],
    },
    "MMQA_texts.jsonl": {"id": "id", "title": "T", "text": "Orn is a captain."},
    "MMQA_tables.jsonl": {
        "id": "id",
        "title": "T",
        "table": {
            "table_name": "Fleet",
            "header": [{"column_name": "Name"}],
            "table_rows": [[{"text": "Orn", "links": []}]],
        },
    },
    "MMQA_images.jsonl": {"id": "id", "title": "T", "path": "absent.jpg"},
}
VIDEO = {"key": "id", "qa": [], "video_info": {"duration_minutes": 9}}
QUESTION = {
    "uid": "id",
    "question": "What?\n(A) x\n(B) y",
    "answer": "A",
    "question_type": ["reasoning"],
    "time_reference": "00:15-00:19",
}
_IDS = ("_id", "id", "question_id", "qid", "title", "uid", "key")


def variants(record: Any, odd: Any) -> list[Any]:
    """The record with the odd value at each of its places, under an id of its own, and unchanged."""
    changed = []
    for number, path in enumerate([None, *places(record)]):
        named = record
        if isinstance(record, dict):
            named = {key: f"id{number}" if value == "id" and key in _IDS else value for key, value in record.items()}
        changed.append(named if path is None else put(named, path, odd))
    return changed


def native(name: str, records: list[Any]) -> str:
    """The text of a native file; escapes can hold half of a surrogate pair."""
    if name.endswith(".jsonl"):
        return "".join(json.dumps(r) + "\n" for r in records)
    return json.dumps({f"id{n}": r for n, r in enumerate(records)} if name.startswith("all_") else records)


CORPUS = {"wiki_00.jsonl", "all_plain_tables.json", "all_passages.json"} | {
    f"MMQA_{kind}.jsonl" for kind in ("texts", "tables", "images")
}


def accounted(found: Parsed, out: Path) -> int:
    """Records that are a question or an item, repeat one, are without content by a notice, or in the quarantine."""
    items = sum(Path(item.source.rpartition(":")[0]).name in CORPUS for item in found.items.values())
    notices = [json.loads(line) for line in (out / "notices.jsonl").read_text().splitlines()]
    without = sum("no item" in n["reason"] and Path(n["file"]).name in CORPUS for n in notices)
    repeated = sum(found.facts["repeated"].values())
    return len(found.questions) + items + repeated + without + len(found.quarantine)


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize(
    ("benchmark", "files"),
    [("hotpotqa", HOTPOTQA), ("ottqa", OTTQA), ("mmqa", MMQA)],
    ids=["hotpotqa", "ottqa", "mmqa"],
)
def test_records_are_kept_or_set_apart(tmp_path: Path, benchmark: str, files: dict[str, Any], odd: Any) -> None:
    changed = {name: variants(record, odd) for name, record in files.items()}
    raw = write(tmp_path / "raw", {name: native(name, records) for name, records in changed.items()})
    found = parse(benchmark, raw, tmp_path / "out", max_quarantined=1)
    assert found.summary["records"] == sum(map(len, changed.values()))
    assert accounted(found, tmp_path / "out") == found.summary["records"], (found.quarantine, found.notices)
    for question in found.questions.values():
        json.loads(question.native, parse_constant=pytest.fail)  # NaN and Infinity are no JSON


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_videos_and_their_questions_are_kept_or_set_apart(tmp_path: Path, odd: Any) -> None:
    questions = variants(QUESTION, odd)
    lines = [{**VIDEO, "key": f"video{n}", "qa": [q]} for n, q in enumerate(questions)] + variants(VIDEO, odd)
    raw = write(tmp_path / "raw", {"video_info.meta.jsonl": native(".jsonl", lines), "video0.mp4": b"film"})
    found = parse("lvbench", raw, tmp_path / "out", max_quarantined=1)
    # A line counts from 1; what is wrong in a question is said of "LINE, question NUMBER".
    bad = {int(str(place).partition(",")[0]) for place, _ in found.quarantine}
    assert len(found.questions) + len(bad & set(range(1, len(questions) + 1))) == len(questions)
    shown = {int(item.source.rpartition(":")[2]) for item in found.items.values()}
    without = {place for place, kind in found.notices if "no item" in kind}
    assert shown == {1}
    assert shown | without | bad == set(range(1, len(lines) + 1))
    for question in found.questions.values():
        json.loads(question.native, parse_constant=pytest.fail)


@pytest.mark.parametrize(
    ("benchmark", "name", "record"),
    [
        ("nq", "NQ-open.dev.jsonl", {"question": 7, "answer": ["Orn"]}),
        ("hotpotqa", "hotpot_dev.jsonl", {**HOTPOTQA["hotpot_dev.jsonl"], "question": 7}),
        ("ottqa", "dev.traced.json", {**OTTQA["dev.traced.json"], "question": 7}),
        ("mmqa", "MMQA_dev.jsonl", {**MMQA["MMQA_dev.jsonl"], "question": 7}),
    ],
    ids=["nq", "hotpotqa", "ottqa", "mmqa"],
)
def test_a_number_is_no_question(tmp_path: Path, benchmark: str, name: str, record: dict[str, Any]) -> None:
    raw = write(tmp_path / "raw", {name: native(name, [record])})
    found = parse(benchmark, raw, tmp_path / "out", max_quarantined=1)
    assert [reason for _, reason in found.quarantine] == ["`question` is not a string"]
