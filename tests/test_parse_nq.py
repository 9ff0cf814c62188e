from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from parsing import REAL, needs_real, parse, write

from canopy.contracts import Gold

TSV = "id\ttext\ttitle\n"


def ctx(
    number: str, text: str, title: str = "T", score: Any = 0, key: str = "passage_id", **more: Any
) -> dict[str, Any]:
    return {"title": title, "text": text, "score": score, "title_score": 0, key: number, **more}


def record(question: str, answers: list[str], positive: list[Any], hard: list[Any] = []) -> dict[str, Any]:  # noqa: B006
    return {
        "dataset": "nq_dev_psgs_w100",
        "question": question,
        "answers": answers,
        "positive_ctxs": positive,
        "negative_ctxs": [],
        "hard_negative_ctxs": hard,
    }


def test_gold_is_the_answer_sentences_of_the_gold_passage(tmp_path: Path) -> None:
    gold = ctx("7", "The Marlune sank. Her captain was Dr. Orn. Orn was 40.", score=1000)
    again = {**gold, "score": 13.5}
    other = ctx("8", "Orn is a name.", score=12.0)
    files = {"biencoder-nq-dev.json": [record("who was captain", ["Orn", "Doe"], [gold, again, other])]}
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out")
    (question,) = found.questions.values()
    assert question.gold == (Gold("nq:7", (1, 2)),)
    assert (question.split, question.answers, question.gold_missing) == ("dev", ("Orn", "Doe"), 0)
    assert set(found.items) == {"nq:7", "nq:8"}
    assert found.items["nq:7"].source.endswith("biencoder-nq-dev.json:0")


def test_all_spellings_of_the_passage_id(tmp_path: Path) -> None:
    positive = [ctx("1", "a x.", score="1000", key="psg_id")]
    hard = [ctx("2", "b.", key="id", has_answer=False), ctx("3", "c.", key="passage_id")]
    files = {"biencoder-nq-train.json": [record("q", ["x"], positive, hard)]}
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out")
    assert set(found.items) == {"nq:1", "nq:2", "nq:3"}
    assert next(iter(found.questions.values())).gold == (Gold("nq:1", (0,)),)


def test_gold_without_the_answer_is_missing(tmp_path: Path) -> None:
    files = {
        "biencoder-nq-dev.json": [
            record("one", ["absent"], [ctx("1", "Nothing here.", score=1000)]),
            record("two", ["x"], []),
        ]
    }
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out")
    assert [(q.gold, q.gold_missing) for q in found.questions.values()] == [((), 1), ((), 1)]
    assert found.summary["gold_missing"] == 2


def test_passages_of_the_corpus_file(tmp_path: Path) -> None:
    rows = '1\t"He said ""no"". Then, yes."\tA\n2\t"""Quoted"" start"\tB\n3\tplain\tA\n'
    found = parse("nq", write(tmp_path / "raw", {"psgs_w100.tsv": TSV + rows}), tmp_path / "out")
    assert found.items["nq:1"].content == 'He said "no". Then, yes.'
    assert found.items["nq:2"].content == 'Quoted" start'  # DPR strips quotes at the ends
    assert found.items["nq:1"].doc_id == found.items["nq:3"].doc_id == "nq:A"
    assert found.summary["records"] == 3


def test_bad_passages_are_set_apart(tmp_path: Path) -> None:
    rows = "1\ta\tA\n2\tno title\n1\tagain\tA\n4\t \tEmpty\n"
    found = parse("nq", write(tmp_path / "raw", {"psgs_w100.tsv": TSV + rows}), tmp_path / "out", max_quarantined=1)
    assert list(found.items) == ["nq:1"]
    assert [place for place, _ in found.quarantine] == [3, 4]
    assert found.notices == [(5, "text without visible characters, no item")]


def test_dpr_records_define_their_split_and_nq_open_gives_its_wording(tmp_path: Path) -> None:
    files = {
        "NQ-open.train.jsonl": [
            {"question": "who owns victoria's secret", "answer": ["Roy, R."]},
            {"question": "left out", "answer": ["x"]},
        ],
        "NQ-open.dev.jsonl": [{"question": "tested", "answer": ["November\u00a06"]}],
        "biencoder-nq-train.json": [
            record("who owns victoria 's secret", ["Roy , R ."], [ctx("1", "Roy , R .", score=1000)])
        ],
    }
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out")
    by_split = {q.split: q for q in found.questions.values()}
    assert len(found.questions) == 2
    assert by_split["train"].question == "who owns victoria's secret"
    assert by_split["train"].answers == ("Roy, R.",)
    assert by_split["train"].gold == (Gold("nq:1", (0,)),)
    # NQ-open's dev file is the test set of the open-domain papers.
    assert (by_split["test"].question, by_split["test"].gold) == ("tested", ())


def test_qas_files_hold_python_literals_and_nothing_is_evaluated(tmp_path: Path) -> None:
    rows = [
        "who\t['it''s', \"O'Brien\"]",
        'quoted\t"[\'a ""b""\']"',
        "bad\t__import__('os').getcwd()",
        "no tab",
        "not a list\t'a'",
    ]
    files = {"nq-dev.qa.csv": "\n".join(rows) + "\n"}
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out", max_quarantined=1)
    assert [q.answers for q in found.questions.values()] == [("its", "O'Brien"), ('a "b"',)]
    assert [place for place, _ in found.quarantine] == [3, 4, 5]


def test_questions_without_answers_are_kept(tmp_path: Path) -> None:
    files = {"NQ-open.efficientqa.test.1.1.no-annotations.jsonl": [{"question": "blind"}]}
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out")
    assert [(q.answers, q.split) for q in found.questions.values()] == [((), "test")]


def test_repeated_questions_are_joined_and_counted(tmp_path: Path) -> None:
    files = {"NQ-open.train.jsonl": [{"question": "same", "answer": ["a"]}] * 2}
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out")
    assert len(found.questions) == 1
    assert found.facts["repeated"] == {"repeated questions": 1}


@needs_real
def test_real_slices(tmp_path: Path) -> None:
    found = parse("nq", REAL / "nq", tmp_path / "out")
    assert found.summary["quarantined"] == 0
    assert found.summary["items"] == 751
    assert found.facts["splits"] == {"train": 5, "dev": 5, "test": 500}
    with (REAL / "nq/dpr/psgs_w100.sample.tsv").open(newline="", encoding="utf-8") as stream:
        native = {row[0]: row for row in csv.reader(stream, delimiter="\t")}
    for item in found.items.values():
        row = native[item.item_id.removeprefix("nq:")]
        assert (item.content, item.title) == (row[1].strip('"'), row[2])
    native_questions = {
        r["question"]: r for r in json.loads((REAL / "nq/dpr/biencoder-nq-dev.sample.json").read_text())
    }
    for question in found.questions.values():
        if question.split == "dev":
            (gold,) = question.gold
            assert gold.item_id == "nq:" + native_questions[question.question]["positive_ctxs"][0]["passage_id"]
            item = found.items[gold.item_id]
            for unit in gold.units:
                sentence = item.content[item.units[unit].start : item.units[unit].end].lower().replace(" ", "")
                assert any(a.lower().replace(" ", "") in sentence for a in question.answers)
