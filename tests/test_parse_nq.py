from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
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
    rows = "1\ta\tA\n2\tno title\n1\tagain\tA\n4\t \tEmpty\n\tno id\tA\n"
    found = parse("nq", write(tmp_path / "raw", {"psgs_w100.tsv": TSV + rows}), tmp_path / "out", max_quarantined=1)
    assert list(found.items) == ["nq:1"]
    assert [place for place, _ in found.quarantine] == [3, 4, 6]
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
        "a tuple\t('a', 'b')",
        "numbers\t['a', 1]",
        "none\t[None]",
        "half a pair\t['\\ud800']",
        "bytes\t[b'a']",
        "digits\t[" + "1" * 5000 + "]",
        "deep\t" + "[" * 5000 + "]" * 5000,
        "a dictionary\t{[]: 1}",
        "three\t['a']\tcolumns",
        "good\t['a\\d']",
    ]
    files = {"nq-dev.qa.csv": "\n".join(rows) + "\n"}
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out", max_quarantined=1)
    assert [q.answers for q in found.questions.values()] == [("its", "O'Brien"), ('a "b"',), ("a\\d",)]
    assert [place for place, _ in found.quarantine] == list(range(3, 15))


def test_questions_without_answers_are_kept(tmp_path: Path) -> None:
    files = {"NQ-open.efficientqa.test.1.1.no-annotations.jsonl": [{"question": "blind"}]}
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out")
    assert [(q.answers, q.split) for q in found.questions.values()] == [((), "test")]


def test_repeated_questions_are_joined_and_counted(tmp_path: Path) -> None:
    files = {"NQ-open.train.jsonl": [{"question": "same", "answer": ["a"]}] * 2}
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out")
    assert len(found.questions) == 1
    assert found.facts["repeated"] == {"repeated questions": 1}


def test_punctuation_tells_questions_apart(tmp_path: Path) -> None:
    names = ["c", "c++", "c#", "1.5", "15", "-15"]
    files = {"NQ-open.train.jsonl": [{"question": f"who made {name}", "answer": [name]} for name in names]}
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out")
    assert [q.answers for q in found.questions.values()] == [(name,) for name in names]


@pytest.mark.parametrize(
    ("native", "tokenized"),
    [
        ("who sang \u201clet it be\u201d", "who sang `` let it be ''"),
        ("Who can't swim (well)?", "who ca n't swim -lrb- well -rrb-"),
        ("victoria\u2019s secret in 1939\u20131945", "victoria 's secret in 1939 - 1945"),
        ("july 5, 2018", "July 5 , 2018"),
    ],
)
def test_a_tokenized_question_is_the_same_question(tmp_path: Path, native: str, tokenized: str) -> None:
    files = {
        "NQ-open.train.jsonl": [{"question": native, "answer": ["x"]}],
        "biencoder-nq-dev.json": [record(tokenized, ["x"], [ctx("1", "x.", score=1000)])],
    }
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out")
    assert [(q.question, q.split) for q in found.questions.values()] == [(native, "dev")]


GOLD = ctx("1", "a x.", score=1000)


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("NQ-open.train.jsonl", {"question": "q", "answer": ["a"]}, {"question": "q", "answer": ["b"]}),
        ("NQ-open.train.jsonl", {"id": 7, "question": "q", "answer": []}, {"id": 7, "question": "q", "answer": ["b"]}),
        ("biencoder-nq-dev.json", record("q", ["x"], [GOLD]), record("q", ["y"], [GOLD])),
        ("biencoder-nq-dev.json", record("q", ["x"], [GOLD]), record("q", ["x"], [{**GOLD, "passage_id": "2"}])),
    ],
)
def test_a_repeated_question_that_says_something_else_is_set_apart(
    tmp_path: Path, name: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    raw = write(tmp_path / "raw", {name: [first, second]})
    found = parse("nq", raw, tmp_path / "out", max_quarantined=1)
    assert len(found.questions) == 1
    ((_, reason),) = found.quarantine
    assert reason == "the question is repeated with other answers or other gold passages"


def test_a_file_without_annotations_repeats_the_annotated_one(tmp_path: Path) -> None:
    name = "NQ-open.efficientqa.dev.1.1"
    files = {
        f"{name}.jsonl": [{"question": "q", "answer": ["a"]}],
        f"{name}.no-annotations.jsonl": [{"question": "q"}],
    }
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out")
    assert [q.answers for q in found.questions.values()] == [("a",)]
    assert found.quarantine == found.notices == []


def test_other_answers_in_a_file_of_another_kind_are_noticed(tmp_path: Path) -> None:
    files = {"NQ-open.train.jsonl": [{"question": "q", "answer": ["a"]}], "nq-train.qa.csv": "q\t['b']\n"}
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out")
    assert [q.answers for q in found.questions.values()] == [("a",)]
    assert found.notices == [(1, "repeated question with other answers, those of the first file stand")]


def test_a_number_and_its_digits_are_one_id(tmp_path: Path) -> None:
    rows = [{"id": 7, "question": "one", "answer": ["a"]}, {"id": "7", "question": "two", "answer": ["b"]}]
    raw = write(tmp_path / "raw", {"NQ-open.train.jsonl": [*rows, {"question": "three", "answer": ["c"]}]})
    found = parse("nq", raw, tmp_path / "out", max_quarantined=1)
    assert [q.question for q in found.questions.values()] == ["one", "three"]
    assert found.quarantine == [(2, "the id nq:7 is used by another question")]


@pytest.mark.parametrize(
    ("part", "value", "reason"),
    [
        ("hard_negative_ctxs", "NaN", "`hard_negative_ctxs` is not a list"),
        ("negative_ctxs", '"none"', "`negative_ctxs` is not a list"),
        ("positive_ctxs", "1e400", "`positive_ctxs` is not a list"),
        ("positive_ctxs", "[7]", "a context is not a JSON object"),
        ("positive_ctxs", '[{"id": "1", "text": "x", "title": ["T"]}]', "`title` is not a string"),
        ("id", "NaN", "`id` is not a string"),
    ],
)
def test_bad_contexts_are_set_apart(tmp_path: Path, part: str, value: str, reason: str) -> None:
    bad = json.dumps({**record("q", ["x"], []), part: "?"}).replace('"?"', value)
    good = json.dumps(record("r", ["x"], [GOLD]))
    raw = write(tmp_path / "raw", {"biencoder-nq-dev.json": f"[{bad}, {good}]"})
    found = parse("nq", raw, tmp_path / "out", max_quarantined=1)
    assert [q.question for q in found.questions.values()] == ["r"]
    assert found.quarantine == [(0, reason)]


@pytest.mark.parametrize("score", ["NaN", "1e400", "-1e400", "1" + "0" * 400, '"?"', "null", "[1000]"])
def test_a_score_that_is_no_number_marks_no_gold(tmp_path: Path, score: str) -> None:
    odd, gold = ctx("1", "x.", score="SCORE"), ctx("2", "x.", score=1000)
    data = json.dumps([record("q", ["x"], [odd, gold])]).replace('"SCORE"', score)
    found = parse("nq", write(tmp_path / "raw", {"biencoder-nq-dev.json": data}), tmp_path / "out")
    assert [q.gold for q in found.questions.values()] == [(Gold("nq:2", (0,)),)]


ANOTHER = {**GOLD, "text": "Some other words. Then x."}


@pytest.mark.parametrize("gold", [ANOTHER, {**GOLD, "title": "Another title"}])
def test_a_gold_passage_under_the_id_of_another_is_set_apart(tmp_path: Path, gold: dict[str, Any]) -> None:
    files = {"biencoder-nq-dev.json": [record("q", ["x"], [GOLD]), record("r", ["x"], [gold])]}
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out", max_quarantined=1)
    assert [(q.question, q.gold) for q in found.questions.values()] == [("q", (Gold("nq:1", (0,)),))]
    assert found.quarantine == [(1, "the id nq:1 of a gold passage is used by another passage")]
    assert found.items["nq:1"].content == "a x."


@pytest.mark.parametrize("part", ["positive_ctxs", "hard_negative_ctxs"])
def test_another_text_of_a_passage_that_is_not_counted_as_gold_is_noticed(tmp_path: Path, part: str) -> None:
    native = record("q", ["x"], [GOLD])
    native[part] = [*native[part], ANOTHER]
    found = parse("nq", write(tmp_path / "raw", {"biencoder-nq-dev.json": [native]}), tmp_path / "out")
    assert [q.gold for q in found.questions.values()] == [(Gold("nq:1", (0,)),)]
    assert found.items["nq:1"].content == "a x."
    assert found.notices == [(0, "passage differs from an earlier one with its id, which stands")]


def test_a_corpus_row_that_differs_from_the_dpr_record_is_noticed(tmp_path: Path) -> None:
    given = [GOLD, ctx("2", "b.")]
    files = {
        "biencoder-nq-dev.json": [record("q", ["x"], given)],
        "psgs_w100.tsv": TSV + "1\tSome other words.\tT\n2\tb.\tT\n3\tc.\tT\n",
    }
    found = parse("nq", write(tmp_path / "raw", files), tmp_path / "out")
    assert {i: item.content for i, item in found.items.items()} == {"nq:1": "a x.", "nq:2": "b.", "nq:3": "c."}
    assert found.notices == [(2, "passage differs from the one in the DPR records, which stands")]


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
