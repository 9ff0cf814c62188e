from __future__ import annotations

import bz2
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from parsing import REAL, Parsed, needs_real, parse, write

from canopy.contracts import Gold, Span
from canopy.corpora.hotpotqa import unit_of_sentence

RECORD: dict[str, Any] = {
    "_id": "5a",
    "question": "Who wrote Lilo & Stitch?",
    "answer": "Orn",
    "supporting_facts": [["Lilo &amp; Stitch", 2], ["Tessaly Orn", 0], ["Lilo &amp; Stitch", 0]],
    "context": [
        ["Tessaly Orn", ["Orn is a writer.", " She lives in Dr. Hale's house."]],
        ["Lilo &amp; Stitch", ["A film.", "", " Orn wrote it."]],
        ["Other", ["Only one sentence."]],
    ],
    "type": "bridge",
    "level": "hard",
}


def columnar(record: dict[str, Any]) -> dict[str, Any]:
    facts, context = record["supporting_facts"], record["context"]
    return {
        "id": record["_id"],
        **{k: record[k] for k in ("question", "answer", "type", "level")},
        "supporting_facts": {"title": [t for t, _ in facts], "sent_id": [i for _, i in facts]},
        "context": {"title": [t for t, _ in context], "sentences": [s for _, s in context]},
    }


def test_official_layout(tmp_path: Path) -> None:
    found = parse("hotpotqa", write(tmp_path / "raw", {"hotpot_train_v1.1.json": [RECORD]}), tmp_path / "out")
    film = found.items["hotpotqa:Lilo & Stitch"]
    assert film.title == "Lilo & Stitch"
    assert film.content == "A film. Orn wrote it."
    assert film.units == (Span(0, 7), Span(7, 21))
    (question,) = found.questions.values()
    # The empty second sentence is no unit, so that native sentence 2 is unit 1; order is that of the facts.
    assert question.gold == (Gold("hotpotqa:Lilo & Stitch", (0, 1)), Gold("hotpotqa:Tessaly Orn", (0,)))
    assert (question.qid, question.split, question.answers) == ("hotpotqa:5a", "train", ("Orn",))
    assert question.question_type == "bridge|hard"
    native = json.loads(question.native)
    assert native["supporting_facts"] == RECORD["supporting_facts"]
    assert native["items"]["hotpotqa:Lilo & Stitch"] == {"title": "Lilo &amp; Stitch", "sentences": [0, 2]}


def test_columnar_layout_gives_the_same(tmp_path: Path) -> None:
    official = parse("hotpotqa", write(tmp_path / "a", {"hotpot_dev_distractor_v1.json": [RECORD]}), tmp_path / "o1")
    lines = parse("hotpotqa", write(tmp_path / "b", {"hotpot_dev.jsonl": [columnar(RECORD)]}), tmp_path / "o2")
    (tmp_path / "c").mkdir()
    pl.DataFrame([columnar(RECORD)]).write_parquet(tmp_path / "c" / "validation-00000-of-00001.parquet")
    parquet = parse("hotpotqa", tmp_path / "c", tmp_path / "o3")
    assert official.questions == lines.questions == parquet.questions


@pytest.mark.parametrize("fact", [["Other", 5], ["Other", -1], ["Lilo &amp; Stitch", 1], ["Nowhere", 0]])
def test_gold_out_of_range_or_absent_is_counted(tmp_path: Path, fact: list[Any]) -> None:
    record = {**RECORD, "supporting_facts": [["Tessaly Orn", 0], fact]}
    found = parse("hotpotqa", write(tmp_path / "raw", {"hotpot_train.json": [record]}), tmp_path / "out")
    (question,) = found.questions.values()
    assert question.gold == (Gold("hotpotqa:Tessaly Orn", (0,)),)
    assert question.gold_missing == found.summary["gold_missing"] == 1


def test_blind_questions(tmp_path: Path) -> None:
    blind = {k: RECORD[k] for k in ("_id", "question", "context")}
    found = parse("hotpotqa", write(tmp_path / "raw", {"hotpot_test_fullwiki_v1.json": [blind]}), tmp_path / "out")
    (question,) = found.questions.values()
    assert (question.answers, question.gold, question.gold_missing, question.split) == ((), (), 0, "test")


def test_equal_titles_with_other_texts_are_items_of_their_own(tmp_path: Path) -> None:
    other = {
        **RECORD,
        "_id": "5b",
        "context": [["Other", ["Another text."]], RECORD["context"][0]],
        "supporting_facts": [["Other", 0]],
    }
    found = parse("hotpotqa", write(tmp_path / "raw", {"hotpot_train.json": [RECORD, other]}), tmp_path / "out")
    assert len(found.items) == 4
    (gold,) = found.questions["hotpotqa:5b"].gold
    assert gold.item_id.startswith("hotpotqa:Other#")
    assert found.items[gold.item_id].content == "Another text."
    assert found.items["hotpotqa:Other"].content == "Only one sentence."


def test_dump_adds_articles_and_finds_gold_outside_the_context(tmp_path: Path) -> None:
    record = {**RECORD, "supporting_facts": [["Q &amp; A", 1], ["Tessaly Orn", 0]]}
    articles = [
        {"id": "1", "url": "u", "title": "Q &amp; A", "text": ["First.", " Second."]},
        {"id": "2", "url": "u", "title": "Tessaly Orn", "text": ["Another wording."]},
        {"id": "3", "url": "u", "title": "Empty", "text": []},
        {"id": "4", "url": "u", "title": "Paragraphs", "text": [["One.", " Two."], [], ["Three."]]},
    ]
    dump = bz2.compress("\n".join(json.dumps(a) for a in articles).encode())
    files = {"hotpot_dev_fullwiki_v1.json": [record], "wiki/AA/wiki_00.bz2": dump}
    found = parse("hotpotqa", write(tmp_path / "raw", files), tmp_path / "out")
    (question,) = found.questions.values()
    assert question.gold == (Gold("hotpotqa:Q & A", (1,)), Gold("hotpotqa:Tessaly Orn", (0,)))
    assert found.items["hotpotqa:Tessaly Orn"].content.startswith("Orn is a writer.")
    assert found.items["hotpotqa:Paragraphs"].groups == (Span(0, 2), Span(2, 3))
    assert found.facts["repeated"] == {"dump articles already in contexts": 1}
    assert found.notices == [(3, "text without visible characters, no item")]
    assert len(found.items) == 5


def wanting(title: str, sentence: int, qid: str = "5b") -> dict[str, Any]:
    """A question whose own context lacks its supporting paragraph."""
    context = [["Elsewhere", ["Nothing."]]]
    return {**RECORD, "_id": qid, "context": context, "supporting_facts": [[title, sentence]]}


def gold_text(found: Parsed, qid: str) -> list[str]:
    """What the gold units of a question say, in the items as they are stored."""
    items = [(found.items[gold.item_id], gold.units) for gold in found.questions[qid].gold]
    return [item.content[item.units[u].start : item.units[u].end] for item, units in items for u in units]


@pytest.mark.parametrize("reversed_", [False, True])
def test_gold_in_the_context_of_another_question(tmp_path: Path, reversed_: bool) -> None:
    questions = [wanting("Lilo &amp; Stitch", 2), RECORD]
    files = {"hotpot_dev_fullwiki_v1.json": questions[::-1] if reversed_ else questions}
    found = parse("hotpotqa", write(tmp_path / "raw", files), tmp_path / "out")
    assert gold_text(found, "hotpotqa:5b") == [" Orn wrote it."]
    assert found.summary["gold_missing"] == 0
    assert json.loads(found.questions["hotpotqa:5b"].native)["items"] == {
        "hotpotqa:Lilo & Stitch": {"title": "Lilo &amp; Stitch", "sentences": [0, 2]}
    }


def test_gold_counts_the_sentences_of_the_item_that_is_stored(tmp_path: Path) -> None:
    held = {**RECORD, "context": [*RECORD["context"], ["Port", ["", "One. Two.", " Three."]]]}
    articles = [
        {"title": "Port", "text": ["One.", " Two.", " Three."]},  # the context's paragraph is stored
        {"title": "Quay", "text": ["First. Second.", " Third."]},
        {"title": "Quay", "text": ["First.", " Second.", " Third."]},  # an item of its own, not the title's
    ]
    files = {
        "hotpot_dev_fullwiki_v1.json": [held, wanting("Port", 2), wanting("Quay", 1, "5c"), wanting("Quay", 2, "5d")],
        "wiki_00.jsonl": articles,
    }
    found = parse("hotpotqa", write(tmp_path / "raw", files), tmp_path / "out")
    assert gold_text(found, "hotpotqa:5b") == [" Three."]
    assert gold_text(found, "hotpotqa:5c") == [" Third."]
    assert (gold_text(found, "hotpotqa:5d"), found.summary["gold_missing"]) == ([], 1)
    assert found.questions["hotpotqa:5c"].gold == (Gold("hotpotqa:Quay", (1,)),)
    assert len([i for i in found.items.values() if i.title == "Quay"]) == 2
    assert found.facts["repeated"] == {"dump articles already in contexts": 1}


def test_the_same_text_in_other_sentences_is_an_item_of_its_own(tmp_path: Path) -> None:
    context = [["Other", ["Only one", " sentence."]]]
    other = {**RECORD, "_id": "5b", "context": context, "supporting_facts": [["Other", 1]]}
    found = parse("hotpotqa", write(tmp_path / "raw", {"hotpot_train.json": [RECORD, other]}), tmp_path / "out")
    assert gold_text(found, "hotpotqa:5b") == [" sentence."]


@pytest.mark.parametrize(
    ("title", "sentences", "quarantined", "noticed"),
    [
        ("Tessaly Orn", ["Another Orn."], 1, 0),
        ("Other", ["Another sentence."], 0, 1),
        ("Tessaly Orn", RECORD["context"][0][1], 0, 0),
    ],
)
def test_a_title_used_twice_in_one_context(
    tmp_path: Path, title: str, sentences: list[str], quarantined: int, noticed: int
) -> None:
    twice = {**RECORD, "context": [*RECORD["context"], [title, sentences]]}
    files = {"hotpot_train.json": [twice, {**RECORD, "_id": "5b"}]}
    found = parse("hotpotqa", write(tmp_path / "raw", files), tmp_path / "out", max_quarantined=1)
    assert len(found.questions) == 2 - quarantined
    assert all(q.gold_missing == 0 for q in found.questions.values())
    reason = "a supporting fact names 'Tessaly Orn', the title of two paragraphs of its context"
    assert found.quarantine == [(0, reason)] * quarantined
    assert found.notices == [(0, "title used twice in one context with other texts, no fact names it")] * noticed


def test_repeated_articles_are_counted(tmp_path: Path) -> None:
    article = {"title": "Quay", "text": ["First."]}
    files = {"hotpot_train.json": [RECORD], "wiki_00.jsonl": [article, article]}
    found = parse("hotpotqa", write(tmp_path / "raw", files), tmp_path / "out")
    assert found.facts["repeated"] == {"repeated dump articles": 1}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"answer": "Else"}, "answer"),
        ({"supporting_facts": [["Tessaly Orn", 1]]}, "supporting facts"),
        ({"question": "Who?"}, "question"),
        ({"question": "Who?", "answer": "Else"}, "question and answer"),
        ({"context": [["Else", ["Text."]]]}, None),  # the fullwiki files give the same questions other paragraphs
        ({"answer": None, "supporting_facts": None}, None),
    ],
)
def test_a_question_that_is_used_twice_must_be_the_same(
    tmp_path: Path, change: dict[str, Any], reason: str | None
) -> None:
    files = {"hotpot_train.json": [RECORD, {**RECORD, **change}]}
    found = parse("hotpotqa", write(tmp_path / "raw", files), tmp_path / "out", max_quarantined=1)
    assert found.questions["hotpotqa:5a"].answers == ("Orn",)
    assert found.quarantine == ([(1, f"the id 5a is repeated and differs in its {reason}")] if reason else [])
    assert found.facts["repeated"] == ({} if reason else {"repeated questions": 1})


def test_bad_records_are_set_apart_and_the_others_kept(tmp_path: Path) -> None:
    bad: list[Any] = [
        5,
        {**RECORD, "_id": "1", "question": " "},
        {**RECORD, "_id": "2", "context": [["T", "not a list"]]},
        {**RECORD, "_id": "3", "supporting_facts": [["T"]]},
        {**RECORD, "_id": "4", "answer": 7},
        {k: v for k, v in RECORD.items() if k != "_id"},
        {**RECORD, "question": "another question under a used id"},
        RECORD,
        {**RECORD, "_id": "9", "supporting_facts": [["Tessaly Orn", True]]},
    ]
    files = {"hotpot_train_v1.1.json": [RECORD, *bad]}
    found = parse("hotpotqa", write(tmp_path / "raw", files), tmp_path / "out", max_quarantined=1)
    assert list(found.questions) == ["hotpotqa:5a"]
    assert [place for place, _ in found.quarantine] == [1, 2, 3, 4, 5, 6, 9, 7]
    assert found.facts["repeated"] == {"repeated questions": 1}
    assert found.summary["records"] == 10


def test_units_of_sentences() -> None:
    assert unit_of_sentence(["", "a", " ", "b", "c"]) == [None, 0, None, 1, 2]


@needs_real
def test_real_slice(tmp_path: Path) -> None:
    found = parse("hotpotqa", REAL / "hotpotqa", tmp_path / "out")
    assert {k: found.summary[k] for k in ("records", "questions", "quarantined", "gold_missing")} == {
        "records": 50,
        "questions": 50,
        "quarantined": 0,
        "gold_missing": 0,
    }
    native = json.loads((REAL / "hotpotqa/hotpot_train_v1.1.slice.json").read_text(encoding="utf-8"))
    for record in native:
        context = dict(record["context"])
        question = found.questions["hotpotqa:" + record["_id"]]
        wanted = {context[title][index] for title, index in record["supporting_facts"]}
        got = set()
        for gold in question.gold:
            item = found.items[gold.item_id]
            got |= {item.content[item.units[u].start : item.units[u].end] for u in gold.units}
        assert got == wanted
