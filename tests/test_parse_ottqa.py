from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from parsing import REAL, needs_real, parse, write

from canopy.contracts import Gold, Table

LINK = "/wiki/Señor_Ship_(vessel)"
TABLE: dict[str, Any] = {
    "url": "https://en.wikipedia.org/wiki/List_of_ships",
    "title": "List of ships",
    "header": [["Name", []], ["", []], ["Name", []]],
    "data": [
        [["Arla", []], ["", []], ["-", []]],
        [["Señor Ship", [LINK]], ["1902 [ 1 ]", []], ["Orn", []]],
    ],
    "section_title": "Ships",
    "section_text": "",
    "uid": "List_of_ships_0",
    "intro": "",
}
PASSAGES = {LINK: "The Señor Ship is a ship . Its captain was Tessaly Orn . It sank .", "/wiki/Other": "Nothing ."}


def question(nodes: list[Any] | None, answer: str | None = "Tessaly Orn", **more: Any) -> dict[str, Any]:
    record = {"question_id": "q1", "question": "Who ?", "table_id": "List_of_ships_0", "question_postag": "", **more}
    if answer is not None:
        record["answer-text"] = answer
    if nodes is not None:
        record["answer-node"] = nodes
    return record


def files(questions: list[Any], name: str = "dev.traced.json", **tables: Any) -> dict[str, Any]:
    found: dict[str, Any] = {f"released_data/{name}": questions}
    for key, table in (tables or {"List_of_ships_0": TABLE}).items():
        found[f"data/traindev_tables_tok/{key}.json"] = table
    found["data/traindev_request_tok/List_of_ships_0.json"] = PASSAGES
    return found


IN_PASSAGE = ["Señor Ship", [1, 0], LINK, "passage"]
IN_TABLE = ["Orn", [1, 2], None, "table"]


def test_table_row_comes_before_the_linked_passage(tmp_path: Path) -> None:
    found = parse("ottqa", write(tmp_path / "raw", files([question([IN_PASSAGE])])), tmp_path / "out")
    (q,) = found.questions.values()
    assert q.gold == (Gold("ottqa:List_of_ships_0", (1,)), Gold("ottqa:" + LINK, (1,)))
    assert (q.split, q.answers, q.gold_missing, q.question_type) == ("dev", ("Tessaly Orn",), 0, "passage")
    passage = found.items["ottqa:" + LINK]
    assert passage.title == "Señor Ship (vessel)"
    table = found.items["ottqa:List_of_ships_0"]
    assert table.doc_id == "ottqa:/wiki/List_of_ships"
    content = Table.from_json(table.content)
    assert content.header == ("Name", "", "Name")  # empty and repeated names stay as they are
    assert content.rows[1] == ("Señor Ship", "1902 [ 1 ]", "Orn")
    assert content.section == "Ships"


def test_answer_in_the_table_has_only_the_row(tmp_path: Path) -> None:
    nodes = [IN_TABLE, ["Orn", [0, 2], "/wiki/Other", "table"]]
    found = parse("ottqa", write(tmp_path / "raw", files([question(nodes, "Orn")])), tmp_path / "out")
    (q,) = found.questions.values()
    assert q.gold == (Gold("ottqa:List_of_ships_0", (0, 1)),)
    assert q.question_type == "table"


@pytest.mark.parametrize(
    ("node", "answer"),
    [
        (["x", [9, 0], None, "table"], "x"),  # no such row
        (["x", [1, 0], "/wiki/Absent", "passage"], "x"),  # no such page
        (IN_PASSAGE, "not said there"),
    ],
)
def test_gold_that_is_not_there_is_counted(tmp_path: Path, node: list[Any], answer: str) -> None:
    found = parse("ottqa", write(tmp_path / "raw", files([question([node], answer)])), tmp_path / "out")
    assert found.summary["gold_missing"] == 1
    assert len(next(iter(found.questions.values())).gold) == (node[3] == "passage")


def test_table_absent(tmp_path: Path) -> None:
    record = question([IN_TABLE], table_id="Absent_0")
    found = parse("ottqa", write(tmp_path / "raw", files([record])), tmp_path / "out")
    assert next(iter(found.questions.values())).gold_missing == 1


def test_a_table_that_is_absent_is_one_missing_item_however_often_it_is_named(tmp_path: Path) -> None:
    record = question([IN_TABLE, [*IN_TABLE[:1], [1, 0], *IN_TABLE[2:]]], table_id="Absent_0")
    found = parse("ottqa", write(tmp_path / "raw", files([record])), tmp_path / "out")
    assert found.summary["gold_missing"] == 1


def test_questions_without_answer_nodes_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    parse("ottqa", write(tmp_path / "raw", files([question(None)], name="dev.json")), tmp_path / "out")
    assert [m for m in caplog.messages if "1 questions with an answer have no answer nodes" in m]


def test_plain_and_blind_questions(tmp_path: Path) -> None:
    raw = write(tmp_path / "raw", files([question(None)], name="dev.json"))
    blind = {"question_id": "b1", "question": "What ?", "question_postag": ""}
    write(raw, {"released_data/test.blind.json": [blind]})
    found = parse("ottqa", raw, tmp_path / "out")
    assert found.questions["ottqa:q1"].gold == ()
    assert (found.questions["ottqa:b1"].answers, found.questions["ottqa:b1"].split) == ((), "test")


def test_traced_questions_win_over_plain_ones(tmp_path: Path) -> None:
    raw = write(tmp_path / "raw", files([question([IN_TABLE])]))
    write(raw, {"released_data/dev.json": [question(None)]})
    found = parse("ottqa", raw, tmp_path / "out")
    assert len(found.questions["ottqa:q1"].gold) == 1
    assert found.facts["repeated"] == {"repeated questions": 1}


def test_other_files_of_the_release_are_left_alone(tmp_path: Path) -> None:
    raw = write(tmp_path / "raw", files([question([IN_TABLE])]))
    write(
        raw, {"released_data/dev_reference.json": {"reference": {}}, "released_data/train_dev_test_table_ids.json": {}}
    )
    assert parse("ottqa", raw, tmp_path / "out").summary["quarantined"] == 0


def test_whole_corpus_files(tmp_path: Path) -> None:
    plain = {**TABLE, "header": ["Name", "", "Name"], "data": [["a", "b", "c"], ["d", "e", "f"]]}
    raw = write(
        tmp_path / "raw",
        {
            "all_plain_tables.json": {"List_of_ships_0": plain, "Second_1": {**plain, "uid": "Second_1"}},
            "all_passages.json": PASSAGES,
            "dev.traced.json": [question([IN_PASSAGE])],
        },
    )
    found = parse("ottqa", raw, tmp_path / "out")
    assert Table.from_json(found.items["ottqa:Second_1"].content).rows[1] == ("d", "e", "f")
    assert len(found.items) == 4
    assert next(iter(found.questions.values())).gold == (
        Gold("ottqa:List_of_ships_0", (1,)),
        Gold("ottqa:" + LINK, (1,)),
    )
    assert found.summary["records"] == 5


def test_odd_tables(tmp_path: Path) -> None:
    tables = {
        "ragged": {**TABLE, "uid": "ragged", "data": [[["a", []]], [["b", []]] * 5]},
        "norows": {**TABLE, "uid": "norows", "data": []},
        "nonames": {**TABLE, "uid": "nonames", "header": [["", []]] * 3},
        "broken": {**TABLE, "uid": "broken", "data": "x"},
        "number": {**TABLE, "uid": "number", "data": [[5]]},
        "cut": b'{"uid": "cut", "header": [["a',
    }
    raw = write(tmp_path / "raw", files([question([IN_TABLE], table_id="ragged")], **tables))
    found = parse("ottqa", raw, tmp_path / "out", max_quarantined=1)
    ragged = Table.from_json(found.items["ottqa:ragged"].content)
    assert ragged.header == ("Name", "", "Name", "", "")
    assert ragged.rows == (("a", "", "", "", ""), ("b",) * 5)
    assert Table.from_json(found.items["ottqa:nonames"].content).header == ("", "", "")
    assert "ottqa:norows" not in found.items
    assert sorted(place for place, _ in found.notices) == ["norows", "ragged"]
    assert [place for place, _ in found.quarantine if place in ("broken", "number")] == ["broken", "number"]
    assert len(found.quarantine) == 3
    assert found.facts["records_by_file"][str(raw / "data/traindev_tables_tok")] == 6


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (question([IN_TABLE], "Else"), "answer"),
        (question([["Orn", [0, 2], None, "table"]], "Orn"), "answer nodes"),
        (question([IN_TABLE], "Orn", table_id="Second_0"), "table"),
        (question([IN_TABLE], "Orn", question="What ?"), "question"),
        (question([IN_TABLE], "Orn"), None),
        (question(None, None), None),
    ],
)
def test_a_question_that_is_used_twice_must_be_the_same(
    tmp_path: Path, second: dict[str, Any], reason: str | None
) -> None:
    raw = write(tmp_path / "raw", files([question([IN_TABLE], "Orn"), second]))
    found = parse("ottqa", raw, tmp_path / "out", max_quarantined=1)
    assert found.questions["ottqa:q1"].gold == (Gold("ottqa:List_of_ships_0", (1,)),)
    assert found.quarantine == ([(1, f"the id q1 is repeated and differs in its {reason}")] if reason else [])
    assert found.facts["repeated"] == ({} if reason else {"repeated questions": 1})


@pytest.mark.parametrize("title", [True, {"a": 1}, ["List of ships"]])
def test_a_title_that_is_no_string_sets_its_table_apart(tmp_path: Path, title: Any) -> None:
    tables = {"List_of_ships_0": TABLE, "odd": {**TABLE, "uid": "odd", "title": title}}
    raw = write(tmp_path / "raw", files([question([IN_TABLE])], **tables))
    found = parse("ottqa", raw, tmp_path / "out", max_quarantined=1)
    assert found.quarantine == [("odd", "`title` is not a string")]
    assert "ottqa:List_of_ships_0" in found.items


def test_repeats_with_another_text_are_counted_by_themselves(tmp_path: Path) -> None:
    raw = write(tmp_path / "raw", files([question([IN_TABLE])]))
    plain = {**TABLE, "header": ["Name", "", "Name"], "data": [["a", "b", "c"]]}
    passages = {LINK: PASSAGES[LINK], "/wiki/Other": "Something else ."}
    write(raw, {"all_plain_tables.json": {"List_of_ships_0": plain}, "all_passages.json": passages})
    found = parse("ottqa", raw, tmp_path / "out")
    assert found.items["ottqa:/wiki/Other"].content == "Nothing ."
    assert found.facts["repeated"] == {
        "repeated tables with another text": 1,
        "repeated passages": 1,
        "repeated passages with another text": 1,
    }


def test_malformed_nodes_are_set_apart(tmp_path: Path) -> None:
    bad = [
        question([[1, 2]], question_id="a"),
        question([["x", [0, 0], None, "passage"]], question_id="b"),
        question([["x", [True, 0], None, "table"]], question_id="c"),
        question([["x", [0, False], None, "table"]], question_id="d"),
    ]
    found = parse(
        "ottqa", write(tmp_path / "raw", files([question([IN_TABLE]), *bad])), tmp_path / "out", max_quarantined=1
    )
    assert list(found.questions) == ["ottqa:q1"]
    assert [place for place, _ in found.quarantine] == [1, 2, 3, 4]


@needs_real
def test_real_slice(tmp_path: Path) -> None:
    found = parse("ottqa", REAL / "ottqa", tmp_path / "out")
    assert found.summary["quarantined"] == 0
    assert found.facts["splits"] == {"dev": 539, "test": 40}
    assert found.facts["modalities"]["table"] == 150
    native = json.loads((REAL / "ottqa/released_data/dev.traced.json").read_text(encoding="utf-8"))
    for record in native:
        q = found.questions["ottqa:" + record["question_id"]]
        rows = {position[0] for _, position, _, _ in record["answer-node"]}
        assert q.gold[0] == Gold("ottqa:" + record["table_id"], tuple(sorted(rows)))
        answer = "".join(record["answer-text"].lower().split())
        for gold in q.gold[1:]:
            item = found.items[gold.item_id]
            text = item.content[item.units[gold.units[0]].start : item.units[gold.units[-1]].end]
            assert answer in "".join(text.lower().split())
