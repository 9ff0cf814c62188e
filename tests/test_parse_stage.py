from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from parsing import parse, write

from canopy.cli import main
from canopy.contracts import Item, Span, read_items
from canopy.corpora.parse import run
from canopy.corpora.sink import Sink
from canopy.errors import StageStopped, UserError
from canopy.settings.corpora import ParseSettings

QUESTIONS = [{"question": f"question {i}", "answer": ["a"]} for i in range(100)]


def test_summary_is_one_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, {"raw/NQ-open.train.jsonl": QUESTIONS})
    assert main(["parse", "nq", str(tmp_path / "raw"), "--out", str(tmp_path / "out")]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary.pop("seconds") >= 0
    kept = {"records": 100, "items": 0, "questions": 100}
    assert summary == {**kept, "quarantined": 0, "gold_missing": 0, "missing_media": 0}


def test_kinds_of_files_that_are_absent_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    raw = write(tmp_path / "raw", {"NQ-open.train.jsonl": QUESTIONS})
    run("nq", [raw], ParseSettings(), tmp_path / "out")
    assert caplog.messages == ["nq: no files biencoder-nq-{train,dev}.json, psgs_w100.tsv, nq-{train,dev,test}.qa.csv"]


@pytest.mark.parametrize("suffix", ["gz", "bz2", "zst"])
def test_compressed_names_are_recognised(tmp_path: Path, suffix: str) -> None:
    pack: Any = {"gz": gzip.compress, "bz2": bz2.compress, "zst": zstandard.compress}[suffix]
    data = "".join(json.dumps(q) + "\n" for q in QUESTIONS).encode()
    raw = write(tmp_path / "raw", {f"NQ-open.train.jsonl.{suffix}": pack(data)})
    assert parse("nq", raw, tmp_path / "out").summary["questions"] == 100


def test_files_can_be_given_by_name_and_twice(tmp_path: Path) -> None:
    raw = write(tmp_path / "raw", {"NQ-open.train.jsonl": QUESTIONS})
    summary = run("nq", [raw / "NQ-open.train.jsonl", raw], ParseSettings(), tmp_path / "out")
    assert summary["records"] == 100


def test_a_file_of_another_name_is_known_by_its_first_record(tmp_path: Path) -> None:
    raw = write(tmp_path / "raw", {"mine-dev.jsonl": QUESTIONS, "mine.jsonl": QUESTIONS})
    assert run("nq", [raw / "mine-dev.jsonl"], ParseSettings(), tmp_path / "out")["questions"] == 100
    with pytest.raises(UserError, match=r"mine\.jsonl: no split in the file's name"):
        run("nq", [raw / "mine.jsonl"], ParseSettings(), tmp_path / "out")


@pytest.mark.parametrize(
    ("benchmark", "path", "message"),
    [
        ("nq", "absent", "does not exist"),
        ("nq", "empty", r"no nq files in .*NQ-open\.\{train,dev\}\.jsonl"),
        ("nq", "empty/notes.jsonl", r"notes\.jsonl has neither a name nor a first record of nq"),
        ("squad", "empty", "unknown benchmark 'squad'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, benchmark: str, path: str, message: str) -> None:
    write(tmp_path, {"empty/notes.jsonl": []})
    with pytest.raises(UserError, match=message):
        run(benchmark, [tmp_path / path], ParseSettings(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_too_many_bad_records_stop_the_stage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = write(tmp_path / "raw", {"NQ-open.train.jsonl": [*QUESTIONS, {"answer": ["a"]}]})
    with pytest.raises(StageStopped, match="101"):
        run("nq", [raw], ParseSettings(), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    kept = json.loads((tmp_path / "out.quarantine.jsonl").read_text())
    assert (kept["record"], kept["reason"]) == (101, "`question` is missing")
    assert parse("nq", raw, tmp_path / "out", max_quarantined=0.01).summary["quarantined"] == 1
    assert main(["parse", "nq", str(raw), "--out", str(tmp_path / "out")]) == 2
    assert "NQ-open.train.jsonl: 1 of 101 records" in capsys.readouterr().err


def test_splits_are_mapped(tmp_path: Path) -> None:
    raw = write(tmp_path / "raw", {"NQ-open.train.jsonl": QUESTIONS[:1]})
    found = parse("nq", raw, tmp_path / "out", splits={"train": "test"})
    assert [q.split for q in found.questions.values()] == ["test"]


def test_same_input_same_bytes(tmp_path: Path) -> None:
    raw = write(tmp_path / "raw", {"NQ-open.train.jsonl": QUESTIONS, "psgs_w100.tsv": "id\ttext\ttitle\n1\tA. B.\tT\n"})
    for out in ("a", "b"):
        run("nq", [raw], ParseSettings(), tmp_path / out)
    for name in ("items.parquet", "questions.parquet"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_many_items_go_through_part_files(tmp_path: Path) -> None:
    rows = "".join(f"{i}\tText {i}. End.\tT{i}\n" for i in range(1, 9001))
    found = parse("nq", write(tmp_path / "raw", {"psgs_w100.tsv": "id\ttext\ttitle\n" + rows}), tmp_path / "out")
    assert [i.item_id for i in found.items.values()] == [f"nq:{i}" for i in range(1, 9001)]
    assert sorted(p.name for p in (tmp_path / "out").iterdir() if not p.name.startswith(".")) == [
        "items.parquet",
        "manifest.json",
        "notices.jsonl",
        "quarantine.jsonl",
        "questions.parquet",
    ]


_ITEMS = st.builds(
    Item,
    item_id=st.text(),
    benchmark=st.just("nq"),
    doc_id=st.text(),
    modality=st.just("image"),
    title=st.text(),
    content=st.text(),
    units=st.lists(st.builds(Span, st.integers(0, 2**40), st.integers(0, 2**40)), max_size=3).map(tuple),
    unit_texts=st.lists(st.text(), max_size=2).map(tuple),
    unit_frames=st.lists(st.lists(st.text(), max_size=2).map(tuple), max_size=2).map(tuple),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(_ITEMS, max_size=4))
def test_any_item_survives_the_file(tmp_path_factory: pytest.TempPathFactory, items: list[Item]) -> None:
    directory = tmp_path_factory.mktemp("sink")
    sink = Sink(directory)
    for item in items:
        sink.item(item)
    sink.close()
    assert list(read_items(directory / "items.parquet")) == items
