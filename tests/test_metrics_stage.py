"""The metrics stage on a small corpus whose figures are worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from metric_world import ANSWERS, make_corpus, make_run

from canopy.errors import UserError
from canopy.metrics.records import SCORES_SCHEMA
from canopy.metrics.stage import run
from canopy.metrics.unified import split_list
from canopy.settings.tables import MetricsSettings

SETTINGS = MetricsSettings(name="canopy")


@pytest.fixture
def made(tmp_path: Path) -> Path:
    half = len(ANSWERS) // 2
    parts = [dict(list(ANSWERS.items())[half:]), dict(list(ANSWERS.items())[:half])]
    shards = [make_run(tmp_path / f"shard-{i}", "canopy", part) for i, part in enumerate(parts)]
    run(SETTINGS, shards, make_corpus(tmp_path / "corpus"), tmp_path / "metrics")
    return tmp_path / "metrics"


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_scores_a_question(made: Path) -> None:
    frame = pl.read_parquet(made / "scores.parquet")
    assert dict(frame.schema) == dict(pl.Schema(SCORES_SCHEMA))
    scores = {row["qid"]: (row["em"], row["f1"], row["accuracy"]) for row in frame.iter_rows(named=True)}
    assert scores == {
        "nq:n1": (1, 1, None),
        "nq:n2": (1, 0, None),  # both normalise to nothing
        "hotpotqa:h1": (0, pytest.approx(0.5), None),
        "ottqa:o1": (1, 1, None),
        "mmqa:m1": (0, 0.5, None),
        "lvbench:1": (None, None, 1),
        "lvbench:2": (None, None, 0),  # unanswered counts as wrong
    }
    assert set(frame["method"]) == {"canopy"}
    assert frame.filter(pl.col("qid") == "lvbench:2")["answered"].to_list() == [False]


def test_gold_evidence_a_question(made: Path) -> None:
    frame = pl.read_parquet(made / "scores.parquet")
    names = ("recall_first", "recall", "units_kept", "units_shown")
    shares = {row["qid"]: tuple(row[n] for n in names) for row in frame.iter_rows(named=True)}
    # Gold: A & B, retrieved in round 2 and kept whole, and two sentences of C, never retrieved.
    assert shares.pop("hotpotqa:h1") == (0, 0.5, 1, pytest.approx(1 / 3))
    assert set(shares.values()) == {(None, None, None, None)}


def test_summary(made: Path) -> None:
    summary = _json(made / "summary.json")
    assert summary["average"] == pytest.approx((1 + 0 + 1 + 0 + 0.5) / 5)
    assert summary["average_over"] == ["nq", "hotpotqa", "ottqa", "mmqa", "lvbench"]
    by_benchmark = summary["benchmarks"]
    assert by_benchmark["nq"]["empty_gold"] == ["nq:n2"]
    assert by_benchmark["hotpotqa"]["questions"] == 1
    assert by_benchmark["hotpotqa"]["without_gold"] == 1
    lvbench = by_benchmark["lvbench"]
    assert (lvbench["accuracy"], lvbench["official"]["accuracy"], lvbench["answered"]) == (0.5, 1, 0.5)
    assert lvbench["official"]["missing"] == 1
    assert lvbench["rounds"] == 2


def test_supporting_facts_come_from_what_was_kept(made: Path) -> None:
    # Kept: sentences 0 and 2 of the gold paragraph (the record numbers them so), and one of paragraph Z.
    official = _json(made / "summary.json")["benchmarks"]["hotpotqa"]["official"]
    assert (official["sp_prec"], official["sp_recall"]) == pytest.approx((1 / 3, 1 / 2))
    sp = _json(made / "submissions" / "hotpotqa.json")["sp"]
    assert sp["h1"] == [["A &amp; B", 0], ["A &amp; B", 2], ["Z", 1]]


def test_submissions_in_native_formats(made: Path) -> None:
    files = {path.stem: _json(path) for path in (made / "submissions").iterdir()}
    assert files["nq"] == [
        {"question": "question nq:n1", "prediction": "Bob Russell"},
        {"question": "question nq:n2", "prediction": "a"},
    ]
    assert files["hotpotqa"]["answer"] == {"h1": "Kingdom of England", "h2": "x"}
    assert files["ottqa"] == [{"question_id": "o1", "pred": "1996"}]
    assert files["mmqa"] == {"m1": ["London", "Rome"]}
    assert files["lvbench"] == {"1": "A"}


def test_shards_in_any_order_give_the_same_bytes(tmp_path: Path, made: Path) -> None:
    shards = [tmp_path / "shard-1", tmp_path / "shard-0"]
    run(SETTINGS, shards, tmp_path / "corpus", tmp_path / "again")
    for name in ("scores.parquet", "summary.json", "submissions/hotpotqa.json"):
        assert (tmp_path / "again" / name).read_bytes() == (made / name).read_bytes()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([{k: v for k, v in ANSWERS.items() if k[0] != "n"}], r"2 questions \(nq:n1, nq:n2\) .* have no prediction"),
        ([ANSWERS, {"nq:n1": "x"}], r"1 questions \(nq:n1\) .* more than one prediction"),
        ([ANSWERS | {"nq:t1": "x"}], r"1 questions \(nq:t1\) .* are not test questions"),
        ([], "no run of canopy was given"),
    ],
)
def test_every_test_question_once(tmp_path: Path, parts: list[dict[str, str]], message: str) -> None:
    shards = [make_run(tmp_path / f"shard-{i}", "canopy", part) for i, part in enumerate(parts)]
    with pytest.raises(UserError, match=message):
        run(SETTINGS, shards, make_corpus(tmp_path / "corpus"), tmp_path / "metrics")
    assert not (tmp_path / "metrics").exists()


def test_a_run_of_another_method_is_refused(tmp_path: Path) -> None:
    shard = make_run(tmp_path / "shard", "ircot", ANSWERS)
    with pytest.raises(UserError, match="is a run of ircot, not of canopy"):
        run(SETTINGS, [shard], make_corpus(tmp_path / "corpus"), tmp_path / "metrics")


@pytest.mark.parametrize(
    ("text", "parts"),
    [("London; Paris", ("London", "Paris")), ("Paris;", "Paris;"), ("Paris, Texas", "Paris, Texas"), ("", ""),
     ("a;;b", ("a", "b"))],
)  # fmt: skip
def test_list_answers(text: str, parts: str | tuple[str, ...]) -> None:
    assert split_list(text) == parts
