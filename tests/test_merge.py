from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from canopy import artefacts
from canopy.artefacts import read_manifest
from canopy.cli import main
from canopy.contracts import (
    ITEM_SCHEMA,
    QUESTION_SCHEMA,
    Gold,
    Item,
    Question,
    Span,
    frame_of,
    read_items,
    read_questions,
)
from canopy.corpora.merge import run
from canopy.errors import UserError
from canopy.settings.corpora import CorpusSettings


def item(name: str, modality: str = "text", units: int = 2) -> Item:
    benchmark = name.partition(":")[0]
    spans = tuple(Span(i, i + 1) for i in range(units))
    content = f"ab of {name}"
    return Item(name, benchmark, name, modality, "T", content, spans, source=f"{benchmark}.json:1")  # type: ignore[arg-type]


def question(name: str, *gold: Gold, missing: int = 0) -> Question:
    benchmark = name.partition(":")[0]
    return Question(name, benchmark, "test", "Q?", (), ("a",), "span", gold, missing)


def stage(path: Path, items: list[Item], questions: list[Question]) -> Path:
    with artefacts.build(path, "parse", {"benchmark": path.name}) as artefact:
        artefact.facts |= {"items": len(items), "questions": len(questions), "quarantined": 0, "notices": {}}
        frame_of(items, ITEM_SCHEMA).write_parquet(artefact.path / "items.parquet")
        frame_of(questions, QUESTION_SCHEMA).write_parquet(artefact.path / "questions.parquet")
    return path


def test_media_come_from_the_video_stage(tmp_path: Path) -> None:
    nq = stage(tmp_path / "nq", [item("nq:2"), item("nq:1")], [question("nq:q", Gold("nq:1", (0, 1)))])
    films = stage(
        tmp_path / "lvbench", [item("lvbench:v", "video", 0)], [question("lvbench:q", Gold("lvbench:v#1", (0,)))]
    )
    video = stage(tmp_path / "video", [item("lvbench:v#0", "video"), item("lvbench:v#1", "video")], [])
    facts = run([nq, films], video, CorpusSettings(benchmarks=("nq", "lvbench")), tmp_path / "out")
    assert [i.item_id for i in read_items(tmp_path / "out/items.parquet")] == [
        "lvbench:v#0",
        "lvbench:v#1",
        "nq:1",
        "nq:2",
    ]
    assert [q.qid for q in read_questions(tmp_path / "out/questions.parquet")] == ["lvbench:q", "nq:q"]
    assert facts == read_manifest(tmp_path / "out")["facts"]
    assert facts["items"] == {"nq": {"text": 2}, "lvbench": {"video": 2}}
    assert facts["gold_total"] == {"nq": 1, "lvbench": 1}
    assert facts["gold_missing"] == {"nq": 0, "lvbench": 0}


def test_gold_that_the_corpus_lacks_is_dropped_and_counted(tmp_path: Path) -> None:
    asked = question("nq:q", Gold("nq:1", (1, 2, 7)), Gold("nq:absent", (0,)), Gold("nq:1x", (0,)), missing=1)
    nq = stage(tmp_path / "nq", [item("nq:1")], [asked, question("nq:r", Gold("nq:1", (5,)))])
    facts = run([nq], None, CorpusSettings(benchmarks=("nq",)), tmp_path / "out")
    found = {q.qid: q for q in read_questions(tmp_path / "out/questions.parquet")}
    assert found["nq:q"] == replace(asked, gold=(Gold("nq:1", (1,)),), gold_missing=3)
    assert (found["nq:r"].gold, found["nq:r"].gold_missing) == ((), 1)
    assert (facts["gold_total"]["nq"], facts["gold_missing"]["nq"], facts["questions_without_gold"]["nq"]) == (5, 4, 1)


def test_questions_without_all_their_gold_can_be_left_out(tmp_path: Path) -> None:
    whole = question("nq:1", Gold("nq:1", (1,)))
    others = [
        question("nq:2", Gold("nq:1", (1,)), Gold("nq:absent", (0,))),
        question("nq:3"),
        question("nq:4", missing=1),
    ]
    nq = stage(tmp_path / "nq", [item("nq:1")], [whole, *others])
    # A benchmark with no such question at all is no error.
    mmqa = stage(tmp_path / "mmqa", [item("mmqa:1")], [question("mmqa:1")])
    ottqa = stage(tmp_path / "ottqa", [], [])
    wanted = CorpusSettings(benchmarks=("nq", "mmqa", "ottqa"), questions="with_gold")
    facts = run([nq, mmqa, ottqa], None, wanted, tmp_path / "out")
    assert read_questions(tmp_path / "out/questions.parquet") == [whole]
    assert facts["questions_left_out"] == {"nq": 3, "mmqa": 1, "ottqa": 0}
    assert facts["gold_missing"] == {"nq": 0, "mmqa": 0, "ottqa": 0}


def test_only_wanted_benchmarks(tmp_path: Path) -> None:
    nq = stage(tmp_path / "nq", [item("nq:1")], [question("nq:q")])
    ottqa = stage(tmp_path / "ottqa", [item("ottqa:1")], [question("ottqa:q")])
    run([nq, ottqa], None, CorpusSettings(benchmarks=("ottqa",)), tmp_path / "out")
    assert [i.item_id for i in read_items(tmp_path / "out/items.parquet")] == ["ottqa:1"]
    assert [q.qid for q in read_questions(tmp_path / "out/questions.parquet")] == ["ottqa:q"]


def test_repeated_ids_and_absent_benchmarks_are_errors(tmp_path: Path) -> None:
    a = stage(tmp_path / "a", [item("nq:1")], [question("nq:q")])
    b = stage(tmp_path / "b", [item("nq:1")], [question("nq:r")])
    c = stage(tmp_path / "c", [item("nq:2")], [question("nq:q")])
    wanted = CorpusSettings(benchmarks=("nq",))
    with pytest.raises(UserError, match=r"item_id occurs more than once: nq:1 in nq\.json:1"):
        run([a, b], None, wanted, tmp_path / "out")
    with pytest.raises(UserError, match="qid occurs more than once: nq:q"):
        run([a, c], None, wanted, tmp_path / "out")
    with pytest.raises(UserError, match="no questions of mmqa"):
        run([a], None, CorpusSettings(benchmarks=("nq", "mmqa")), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_one_id_in_two_benchmarks_is_two_items(tmp_path: Path) -> None:
    a = stage(tmp_path / "a", [item("nq:1")], [question("nq:q")])
    b = stage(tmp_path / "b", [item("mmqa:1")], [question("mmqa:q")])
    facts = run([a, b], None, CorpusSettings(benchmarks=("nq", "mmqa")), tmp_path / "out")
    assert facts["items"] == {"nq": {"text": 1}, "mmqa": {"text": 1}}


def test_damaged_input_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = stage(tmp_path / "a", [item("nq:1")], [question("nq:q")])
    (a / "items.parquet").write_bytes(b"PAR1 no more")
    arguments = ["corpus", "--parsed", str(a), "--spec", '{"benchmarks": ["nq"]}', "--out", str(tmp_path / "out")]
    assert main(arguments) == 2
    message = capsys.readouterr().err
    assert "a/items.parquet" in message and len(message.splitlines()) == 1


def test_command_prints_the_facts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = stage(tmp_path / "a", [item("nq:1")], [question("nq:q")])
    arguments = ["corpus", "--parsed", str(a), "--spec", '{"benchmarks": ["nq"]}', "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["items"] == {"nq": {"text": 1}}
