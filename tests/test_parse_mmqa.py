from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from parsing import REAL, needs_real, parse, write

from canopy.contracts import Gold, Span, Table
from canopy.corpora.mmqa import without_markers

TEXT = {"title": "Orn", "url": "u", "id": "t1", "text": "Orn is a captain. She was born in Vathel. The end."}
TABLE = {
    "title": "Ships",
    "url": "u",
    "id": "b1",
    "table": {
        "table_name": "Fleet",
        "header": [{"column_name": "[[List of ships|Ship  name]]", "metadata": {}}, {"column_name": ""}],
        "table_rows": [
            [{"text": "Arla", "links": []}, {"text": "Orn", "links": [{"text": "Orn"}]}],
            [{"text": "[[Marlune]]", "links": []}, {"text": "N/A", "links": []}],
        ],
    },
}
IMAGE = {"title": "Arla", "url": "u", "id": "i1", "path": "i1.JPG"}


def answer(value: Any, modality: str = "text", texts: Any = (), rows: Any = (), images: Any = ()) -> dict[str, Any]:
    return {
        "answer": value,
        "type": "string",
        "modality": modality,
        "text_instances": [{"doc_id": d, "part": "text", "start_byte": 0, "text": t} for d, t in texts],
        "table_indices": [[r, 0] for r in rows],
        "image_instances": [{"doc_id": d, "doc_part": "image"} for d in images],
    }


def question(answers: list[Any], hops: Any = (), supporting: Any = (), qid: str = "q1") -> dict[str, Any]:
    return {
        "qid": qid,
        "question": "What?",
        "answers": answers,
        "metadata": {
            "type": "Compose(TableQ,TextQ)",
            "modalities": ["table", "table"],
            "image_doc_ids": [],
            "text_doc_ids": [],
            "intermediate_answers": [[h] for h in hops],
            "table_id": "b1",
        },
        "supporting_context": [{"doc_id": d, "doc_part": p} for d, p in supporting],
    }


def files(questions: list[Any], **more: Any) -> dict[str, Any]:
    return {
        "MMQA_dev.jsonl": questions,
        "MMQA_texts.jsonl": [TEXT],
        "MMQA_tables.jsonl": [TABLE],
        "MMQA_images.jsonl": [IMAGE],
        "final_dataset_images/i1.JPG": b"picture",
        **more,
    }


def gold_of(tmp_path: Path, record: dict[str, Any]) -> tuple[tuple[Gold, ...], int]:
    found = parse("mmqa", write(tmp_path / "raw", files([record])), tmp_path / "out")
    q = found.questions["mmqa:q1"]
    return q.gold, q.gold_missing


def test_items_of_three_modalities(tmp_path: Path) -> None:
    raw = write(tmp_path / "raw", files([]) | {"MMQA_dev.jsonl": [question([answer("x")])]})
    found = parse("mmqa", raw, tmp_path / "out")
    table = Table.from_json(found.items["mmqa:b1"].content)
    assert table == Table(("Ship  name", ""), (("Arla", "Orn"), ("Marlune", "N/A")), "Fleet")
    image = found.items["mmqa:i1"]
    assert (image.modality, image.units, image.unit_texts) == ("image", (Span(0, 1),), ())
    assert Path(image.content).read_bytes() == b"picture"
    assert len(found.items["mmqa:t1"].units) == 3


def test_intermediate_answers_come_first(tmp_path: Path) -> None:
    record = question(
        [answer("Vathel", texts=[("t1", "Vathel")])],
        hops=[answer("Orn", "table", rows=[0])],
        supporting=[("t1", "text"), ("b1", "table")],
    )
    assert gold_of(tmp_path, record) == ((Gold("mmqa:b1", (0,)), Gold("mmqa:t1", (1,))), 0)


def test_images_and_supporting_context(tmp_path: Path) -> None:
    record = question(
        [answer("Arla", "image", images=["i1"])], supporting=[("i1", "image"), ("b1", "table"), ("b1", "table")]
    )
    # The table bears no instance: its rows that hold an answer are gold.
    assert gold_of(tmp_path, record) == ((Gold("mmqa:i1", (0,)), Gold("mmqa:b1", (0,))), 0)


@pytest.mark.parametrize(
    "record",
    [
        question([answer("yes", "text")], supporting=[("t1", "text")]),  # the text does not say "yes"
        question([answer("x", "table", rows=[7])]),
        question([answer("x", "image", images=["absent"])]),
        question([answer("Paris", texts=[("t1", "")])]),
    ],
)
def test_gold_that_cannot_be_located_is_counted(tmp_path: Path, record: dict[str, Any]) -> None:
    assert gold_of(tmp_path, record) == ((), 1)


def test_lists_and_floats(tmp_path: Path) -> None:
    record = question([answer(300.0, "table", rows=[0, 1]), answer("Orn", "table", rows=[0])])
    found = parse("mmqa", write(tmp_path / "raw", files([record])), tmp_path / "out")
    q = found.questions["mmqa:q1"]
    assert (q.answers, q.answer_kind) == (("300.0", "Orn"), "list")
    assert q.gold == (Gold("mmqa:b1", (0, 1)),)
    assert json.loads(q.native) == {"modality": "table"}


def test_test_split_without_answers(tmp_path: Path) -> None:
    blind = {"qid": "q9", "question": "Q?", "metadata": {"image_doc_ids": [], "text_doc_ids": [], "table_id": "b1"}}
    found = parse(
        "mmqa",
        write(tmp_path / "raw", files([question([answer("x")])], **{"MMQA_test.jsonl": [blind]})),
        tmp_path / "out",
    )
    q = found.questions["mmqa:q9"]
    assert (q.answers, q.gold, q.gold_missing, q.split) == ((), (), 0, "test")


def test_missing_image_files_are_listed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    images = [{**IMAGE, "id": f"i{n}", "path": f"i{n}.JPG"} for n in range(6)]
    wanted = files([question([answer("Arla", "image", images=["i0"])])], **{"MMQA_images.jsonl": images})
    found = parse("mmqa", write(tmp_path / "raw", wanted), tmp_path / "out")
    assert found.notices == [(n, "image file not found, no item") for n in (1, 3, 4, 5, 6)]
    assert found.facts["notices"] == {"image file not found, no item": 5}
    assert found.summary["missing_media"] == found.facts["missing_media"] == 5
    (warning,) = caplog.messages
    assert "5 of 6 image files are missing" in warning
    assert "(i0.JPG, i2.JPG, i3.JPG, ...): put them into a folder final_dataset_images" in warning
    assert found.summary["gold_missing"] == 1
    assert found.summary["quarantined"] == 0


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (question([answer("y", "table", rows=[0])]), "answer"),
        (question([answer("x", "table", rows=[1])]), "evidence"),
        ({**question([answer("x", "table", rows=[0])]), "question": "Who?"}, "question"),
        (question([answer("x", "table", rows=[0])]), None),
        ({**question([]), "metadata": {"table_id": "b1"}}, None),  # a file without answers says nothing of them
    ],
)
def test_a_question_that_is_used_twice_must_be_the_same(
    tmp_path: Path, second: dict[str, Any], reason: str | None
) -> None:
    raw = write(tmp_path / "raw", files([question([answer("x", "table", rows=[0])]), second]))
    found = parse("mmqa", raw, tmp_path / "out", max_quarantined=1)
    assert found.questions["mmqa:q1"].gold == (Gold("mmqa:b1", (0,)),)
    assert found.quarantine == ([(2, f"the id q1 is repeated and differs in its {reason}")] if reason else [])
    assert found.facts["repeated"] == ({} if reason else {"repeated questions": 1})


def test_table_indices_are_numbers(tmp_path: Path) -> None:
    bad = question([answer("x", "table", rows=[True])], qid="q2")
    found = parse("mmqa", write(tmp_path / "raw", files([question([]), bad])), tmp_path / "out", max_quarantined=1)
    assert found.quarantine == [(2, "an entry of `table_indices` is not [row, column]")]


def test_an_id_with_two_contents_is_set_apart(tmp_path: Path) -> None:
    texts = [TEXT, TEXT, {**TEXT, "text": "Another."}, {**TEXT, "id": "t2", "text": None}, {**TEXT, "title": "B"}]
    found = parse(
        "mmqa",
        write(tmp_path / "raw", files([question([])], **{"MMQA_texts.jsonl": texts})),
        tmp_path / "out",
        max_quarantined=1,
    )
    assert [place for place, _ in found.quarantine] == [3, 4, 5]
    assert found.items["mmqa:t1"].content == TEXT["text"]


@pytest.mark.parametrize(
    ("native", "shown"),
    [
        ("[[List of A|North  America]]", "North  America"),
        ("[[Page]] and [[B|b]]", "Page and b"),
        ("[1] [[open", "[1] [[open"),
        ("[[a|]]", ""),
    ],
)
def test_markers(native: str, shown: str) -> None:
    assert without_markers(native) == shown


@needs_real
def test_real_slices(tmp_path: Path) -> None:
    found = parse("mmqa", REAL / "mmqa", tmp_path / "out")
    assert found.summary["quarantined"] == 0
    assert found.facts["splits"] == {"dev": 400, "test": 20}
    assert found.summary["missing_media"] == 1164
    (table,) = found.items.values()
    content = Table.from_json(table.content)
    assert (len(content.rows), len(content.header), content.header[:2]) == (12, 10, ("", "Team"))
    with gzip.open(REAL / "mmqa/MMQA_dev.slice.jsonl.gz", "rt", encoding="utf-8") as stream:
        for record in map(json.loads, stream):
            got = found.questions["mmqa:" + record["qid"]]
            assert got.answers == tuple(str(a["answer"]) for a in record["answers"])
            assert got.question_type == record["metadata"]["type"]
