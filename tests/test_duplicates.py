from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from canopy import artefacts
from canopy.contracts import (
    ITEM_SCHEMA,
    QUESTION_SCHEMA,
    Gold,
    Item,
    Question,
    Span,
    Table,
    frame_of,
    read_items,
    read_questions,
)
from canopy.corpora.duplicates import find_joins
from canopy.corpora.merge import run
from canopy.metrics.unified import predictions_of
from canopy.settings.corpora import CorpusSettings
from canopy.text.sentences import spans_of


def text(item_id: str, *sentences: str, title: str = "Oslo") -> Item:
    units = tuple(spans_of(sentences))
    return Item(item_id, item_id.partition(":")[0], item_id, "text", title, "".join(sentences), units)


def table(item_id: str, *rows: tuple[str, ...]) -> Item:
    units = tuple(Span(n, n + 1) for n in range(len(rows)))
    content = Table(("Town", "River"), rows).to_json()
    return Item(item_id, item_id.partition(":")[0], item_id, "table", "Towns", content, units)


def film(item_id: str, sha: str, *starts: int) -> Item:
    units = tuple(Span(start, start + 30_000) for start in starts)
    blank = ("",) * len(units)
    return Item(item_id, "lvbench", "v", "video", "v", "v.mp4", units, (), blank, ((),) * len(units), sha)


def asked(qid: str, *gold: Gold, native: str = "{}") -> Question:
    return Question(qid, qid.partition(":")[0], "test", "Q?", (), ("a",), "span", gold, native=native)


def merged(path: Path, items: list[Item], questions: list[Question]) -> tuple[list[Item], dict[str, Question], dict]:
    video = [i for i in items if i.modality in ("image", "video")]
    for name, rows in (("parsed", [i for i in items if i not in video]), ("video", video)):
        with artefacts.build(path / name, name, {"benchmark": "of several"}) as artefact:
            artefact.facts |= {"items": len(rows), "questions": len(questions), "quarantined": 0, "notices": {}}
            frame_of(rows, ITEM_SCHEMA).write_parquet(artefact.path / "items.parquet")
            frame_of(questions, QUESTION_SCHEMA).write_parquet(artefact.path / "questions.parquet")
    benchmarks = tuple(sorted({q.benchmark for q in questions}))
    facts = run([path / "parsed"], path / "video", CorpusSettings(benchmarks=benchmarks), path / "out")
    found = {q.qid: q for q in read_questions(path / "out" / "questions.parquet")}
    return list(read_items(path / "out" / "items.parquet")), found, facts


def test_the_same_passage_in_two_benchmarks_is_one_item_with_the_gold_of_both(tmp_path: Path) -> None:
    hotpot = text("hotpotqa:Oslo", "Oslo is a city.", " It lies by a fjord.", " It is old.")
    # Another cut into sentences, other spaces, case and a full-width letter.
    nq = text("nq:7", "OSLO is a city.  It lies by a \uff46jord.", "\nIt is old.")
    items, questions, facts = merged(
        tmp_path,
        [hotpot, nq, text("nq:8", "Oslo is a town.")],
        [asked("hotpotqa:a", Gold("hotpotqa:Oslo", (2,))), asked("nq:b", Gold("nq:7", (0,)), Gold("nq:8", (0,)))],
    )
    assert [i.item_id for i in items] == ["hotpotqa:Oslo", "nq:8"]
    assert questions["hotpotqa:a"].gold == (Gold("hotpotqa:Oslo", (2,)),)
    assert questions["nq:b"].gold == (Gold("hotpotqa:Oslo", (0, 1)), Gold("nq:8", (0,)))
    assert facts["joined"] == {"hotpotqa": 0, "nq": 1}
    assert facts["gold_missing"] == {"hotpotqa": 0, "nq": 0}
    assert facts["items"] == {"hotpotqa": {"text": 1}, "nq": {"text": 1}}


def test_what_differs_in_title_words_or_kind_stays_apart(tmp_path: Path) -> None:
    items = [
        text("nq:1", "Oslo is a city."),
        text("nq:2", "Oslo is a city.", title="Norway"),
        text("nq:3", "Oslo is a city"),
        table("ottqa:1", ("Oslo", "Aker")),
        table("ottqa:2", ("Oslo Aker", "")),
    ]
    kept, _, facts = merged(tmp_path, items, [asked("nq:q"), asked("ottqa:q")])
    assert len(kept) == 5 and facts["joined"] == {"nq": 0, "ottqa": 0}


def test_tables_join_by_their_cells(tmp_path: Path) -> None:
    here = table("ottqa:1", ("Oslo", "Aker"), ("Bergen", "-"))
    there = table("mmqa:9", (" oslo", "AKER "), ("Bergen", "-"))
    other = table("mmqa:10", ("Oslo Aker", ""), ("Bergen", "-"))
    gold = asked("ottqa:q", Gold("ottqa:1", (1,)))
    items, questions, facts = merged(tmp_path, [here, there, other], [asked("mmqa:q"), gold])
    assert [i.item_id for i in items] == ["mmqa:10", "mmqa:9"]
    assert questions["ottqa:q"].gold == (Gold("mmqa:9", (1,)),)
    assert facts["joined"] == {"mmqa": 0, "ottqa": 1}


def test_films_join_by_content_hash_and_grid(tmp_path: Path) -> None:
    films = [film("lvbench:a", "s", 0, 30_000), film("lvbench:b", "s", 0, 30_000), film("lvbench:c", "s", 60_000)]
    unhashed = [film("lvbench:d", "", 0), film("lvbench:e", "", 0)]
    items, questions, _ = merged(tmp_path, [*films, *unhashed], [asked("lvbench:q", Gold("lvbench:b", (1,)))])
    assert [i.item_id for i in items] == ["lvbench:a", "lvbench:c", "lvbench:d", "lvbench:e"]
    assert questions["lvbench:q"].gold == (Gold("lvbench:a", (1,)),)


def test_gold_in_two_copies_is_gold_once(tmp_path: Path) -> None:
    pair = [text("nq:1", "A.", " B."), text("nq:2", "A.", " B.")]
    _, questions, facts = merged(tmp_path, pair, [asked("nq:q", Gold("nq:2", (0,)), Gold("nq:1", (0, 1)))])
    assert questions["nq:q"].gold == (Gold("nq:1", (0, 1)),)
    assert facts["gold_total"] == {"nq": 1}


def test_supporting_facts_of_a_joined_paragraph_keep_their_sentence_numbers(tmp_path: Path) -> None:
    # The record's paragraph has an empty sentence, so that unit 1 is sentence 2; the copy is kept.
    note = {"supporting_facts": [["O&amp;O", 2]], "items": {"hotpotqa:O#1": {"title": "O&amp;O", "sentences": [0, 2]}}}
    items = [text("hotpotqa:O", "Oslo is.", " It lies."), text("hotpotqa:O#1", "Oslo is.", "", " It lies.")]
    question = asked("hotpotqa:q", Gold("hotpotqa:O#1", (1,)), native=json.dumps(note))
    _, questions, _ = merged(tmp_path, items, [question])
    moved = questions["hotpotqa:q"]
    assert moved.gold == (Gold("hotpotqa:O", (1,)),)
    row = {"answer": "a", "kept": [{"item_id": "hotpotqa:O", "unit_start": 1, "unit_end": 2}]}
    found = predictions_of("hotpotqa", [moved], {moved.qid: row}, tmp_path / "out" / "items.parquet")
    assert found.supporting == {"hotpotqa:q": [("O&amp;O", 2)]}


def test_a_kept_unit_that_holds_two_sentences_keeps_both_numbers(tmp_path: Path) -> None:
    note = {"supporting_facts": [["O", 0]], "items": {"hotpotqa:O#1": {"title": "O", "sentences": [0, 1, 2]}}}
    items = [text("hotpotqa:O", "A is b. C is d.", " E."), text("hotpotqa:O#1", "A is b.", " C is d.", " E.")]
    question = asked("hotpotqa:q", Gold("hotpotqa:O#1", (0,)), native=json.dumps(note))
    _, questions, _ = merged(tmp_path, items, [question])
    moved = questions["hotpotqa:q"]
    row = {"answer": "a", "kept": [{"item_id": "hotpotqa:O", "unit_start": 0, "unit_end": 1}]}
    found = predictions_of("hotpotqa", [moved], {moved.qid: row}, tmp_path / "out" / "items.parquet")
    assert found.supporting == {"hotpotqa:q": [("O", 0), ("O", 1)]}


def test_the_title_ends_where_it_ends() -> None:
    items = [text("nq:1", "Hilton is a hotel.", title="Paris"), text("nq:2", "is a hotel.", title="Paris Hilton")]
    assert find_joins(frame_of(items, ITEM_SCHEMA).lazy()) == {}


_LETTERS = st.text("abA \u00e9\ufb01\u0130", min_size=1, max_size=12)


@given(_LETTERS, st.sets(st.integers(1, 11)), st.sets(st.integers(1, 11)))
def test_units_are_mapped_to_those_that_share_a_character(content: str, ours: set[int], theirs: set[int]) -> None:
    def cut(item_id: str, at: set[int]) -> Item:
        places = [0, *sorted(p for p in at if p < len(content)), len(content)]
        parts = [content[a:b] for a, b in pairwise(places)]
        return text(item_id, *parts)

    kept, joined = cut("nq:1", ours), cut("nq:2", theirs)
    join = find_joins(frame_of([joined, kept], ITEM_SCHEMA).lazy())["nq:2"]
    assert join.kept == "nq:1"
    for unit, mapped in zip(joined.units, join.units, strict=True):
        visible = {p for p in range(unit.start, unit.end) if not content[p].isspace()}
        expected = [n for n, u in enumerate(kept.units) if visible & set(range(u.start, u.end))]
        assert list(mapped) == expected


def test_only_repeated_content_is_compared(tmp_path: Path) -> None:
    frame = frame_of([text(f"nq:{n}", f"Sentence {n}.") for n in range(50)], ITEM_SCHEMA)
    assert find_joins(frame.lazy()) == {}
    twice = pl.concat([frame, frame.with_columns(item_id=pl.lit("ottqa:") + pl.col("item_id"))])
    assert {item_id: join.kept for item_id, join in find_joins(twice.lazy()).items()} == {
        f"ottqa:nq:{n}": f"nq:{n}" for n in range(50)
    }
