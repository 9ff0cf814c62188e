"""Tables from small metrics whose values are worked out by hand."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from metric_world import ANSWERS, make_corpus, make_run

from canopy.cli import main
from canopy.errors import UserError
from canopy.metrics.bootstrap import Interval
from canopy.metrics.stage import run as run_metrics
from canopy.settings.tables import MetricsSettings, TableSettings
from canopy.tables.layout import Column, Table, show
from canopy.tables.stage import run
from canopy.tables.write import latex, markdown, raw

METHODS = {"vanilla_rag": "Vanilla RAG", "canopy": "CANOPY"}
CONSTRUCTED = "The corpus is constructed, an invented world made from a seed: these numbers are not the paper's."


def _settings(**changes: Any) -> TableSettings:
    values: dict[str, Any] = {
        "config": "mini_1", "seed": 13, "k": 3, "constructed": True, "methods": METHODS, "bootstrap": 500,
    }  # fmt: skip
    return TableSettings(**(values | changes))


ABLATED = _settings(
    methods={"canopy": "CANOPY", "no_compression": "without compression"}, ablations={"no_compression": "canopy"}
)


@pytest.fixture
def metrics(tmp_path: Path) -> list[Path]:
    corpus = make_corpus(tmp_path / "corpus")
    worse = ANSWERS | {"nq:n1": "x", "mmqa:m1": "Paris;London", "lvbench:2": "B"}
    made = []
    for method, answers, tokens in (
        ("canopy", ANSWERS, 100),
        ("vanilla_rag", worse, 100),
        ("no_compression", worse, 200),
    ):
        shard = make_run(tmp_path / f"run-{method}", method, answers, tokens)
        run_metrics(MetricsSettings(name=method), [shard], corpus, tmp_path / method)
        made.append(tmp_path / method)
    return made


def _table(name: str, settings: TableSettings, out: Path, **inputs: Any) -> list[dict[str, str]]:
    run(name, settings, out / name, **inputs)
    with (out / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_main_table(tmp_path: Path, metrics: list[Path]) -> None:
    rows = _table("main", _settings(), tmp_path / "tables", metrics=metrics)
    vanilla, canopy = rows
    assert (vanilla["method"], canopy["method"]) == ("Vanilla RAG", "CANOPY")
    assert float(canopy["nq_em"]) == 1
    assert float(canopy["nq_f1"]) == 0.5
    assert float(canopy["lvbench_accuracy"]) == 0.5
    # EM of nq, hotpotqa, ottqa, mmqa, and accuracy: canopy 1, 0, 1, 0, 0.5; vanilla 0.5, 0, 1, 1, 1
    assert float(canopy["average"]) == pytest.approx(0.5)
    assert float(vanilla["average"]) == pytest.approx(0.7)
    assert float(vanilla["average_difference"]) == pytest.approx(0.2)
    # Of three benchmarks one question alone was asked: how far another would move the average is not known.
    assert (vanilla["average_difference_low"], vanilla["average_difference_high"]) == ("", "")
    assert canopy["average_difference"] == ""
    assert (canopy["config"], canopy["seed"], canopy["k"], canopy["corpus"]) == ("mini_1", "13", "3", "constructed")


def test_main_table_is_in_the_papers_layout(tmp_path: Path, metrics: list[Path]) -> None:
    run("main", _settings(), tmp_path / "t" / "main", metrics=metrics)
    lines = (tmp_path / "t" / "main.md").read_text(encoding="utf-8").splitlines()
    assert lines[2] == (
        "| Method | NQ EM | NQ F1 | HotpotQA EM | HotpotQA F1 | OTT-QA EM | OTT-QA F1 | MMQA EM | MMQA F1 "
        "| LVBench Acc. | Avg. | Avg. minus CANOPY |"
    )
    assert lines[5].startswith("| CANOPY | 100.0 | 50.0 | 0.0 | 50.0 | 100.0 | 100.0 | 0.0 | 50.0 | 50.0 | 50.0 | ")
    for part in (
        "mini\\_1",
        "seed 13",
        "k = 3",
        "NQ 2, HotpotQA 1, OTT-QA 1, MMQA 1, LVBench 2 (7 in all)",
        CONSTRUCTED,
    ):
        assert part in lines[0]
    text = (tmp_path / "t" / "main.tex").read_text(encoding="utf-8")
    assert r"& \multicolumn{2}{c}{NQ} & \multicolumn{2}{c}{HotpotQA}" in text
    assert r"\cmidrule(lr){2-3}" in text
    assert r"mini\_1" in text
    assert text.count("{") == text.count("}")


def test_a_real_corpus_is_not_called_constructed(tmp_path: Path, metrics: list[Path]) -> None:
    run("main", _settings(constructed=False), tmp_path / "main", metrics=metrics)
    for ending in ("md", "csv", "tex"):
        assert "constructed" not in (tmp_path / f"main.{ending}").read_text(encoding="utf-8")


def test_ablations(tmp_path: Path, metrics: list[Path]) -> None:
    rows = _table("ablations", ABLATED, tmp_path, metrics=metrics)
    assert [row["benchmark"] for row in rows] == ["NQ", "HotpotQA", "OTT-QA", "MMQA", "LVBench", "Average"]
    by_benchmark = {row["benchmark"]: row for row in rows}
    assert float(by_benchmark["NQ"]["difference"]) == pytest.approx(-0.5)
    assert float(by_benchmark["MMQA"]["difference"]) == 1
    assert float(by_benchmark["MMQA"]["f1_difference"]) == pytest.approx(0.5)
    assert by_benchmark["LVBench"]["f1_difference"] == ""
    assert float(by_benchmark["Average"]["difference"]) == pytest.approx(0.2)
    # The two NQ questions are answered with 105 and 106 tokens, uncompressed 205 and 206.
    assert float(by_benchmark["NQ"]["tokens_change"]) == pytest.approx(411 / 211 - 1)
    assert "[" in (tmp_path / "ablations.md").read_text(encoding="utf-8")


def test_one_ablation(tmp_path: Path, metrics: list[Path]) -> None:
    rows = _table("ablation_no_compression", ABLATED, tmp_path, metrics=metrics)
    nq, average = rows[0], rows[-1]
    assert [float(nq[k]) for k in ("reference_score", "ablation_score", "difference")] == [1, 0.5, -0.5]
    assert [float(nq[k]) for k in ("reference_tokens", "ablation_tokens")] == [105.5, 205.5]
    assert float(nq["tokens_ratio"]) == pytest.approx(205.5 / 105.5)
    assert float(nq["tokens_ratio_low"]) <= 205.5 / 105.5 <= float(nq["tokens_ratio_high"])
    assert (average["benchmark"], average["score"]) == ("Average", "mean")


def test_tokens(tmp_path: Path, metrics: list[Path]) -> None:
    settings = _settings(methods=METHODS | {"no_compression": "whole items"}, ablations={"no_compression": "canopy"})
    rows = {(row["method"], row["benchmark"]): row for row in _table("tokens", settings, tmp_path, metrics=metrics)}
    assert len(rows) == 3 * 6
    nq = rows["CANOPY", "NQ"]
    assert [float(nq[k]) for k in ("held_tokens", "evidence_tokens", "cut", "total_evidence_tokens")] == [
        205.5, 105.5, 0.5, 200,
    ]  # fmt: skip
    assert [float(nq[k]) for k in ("prompt_tokens", "rounds")] == [155.5, 2]
    assert float(nq["reduction_evidence_tokens_no_compression"]) == pytest.approx(1 - 105.5 / 205.5)
    assert float(nq["reduction_held_tokens_no_compression"]) == pytest.approx(1 - 205.5 / 405.5)
    assert float(nq["reduction_evidence_tokens_vanilla_rag"]) == 0
    assert rows["whole items", "NQ"]["reduction_evidence_tokens_no_compression"] == ""
    reduction = "reduction_evidence_tokens_no_compression"
    assert float(nq[f"{reduction}_low"]) <= 1 - 105.5 / 205.5 <= float(nq[f"{reduction}_high"])


def test_evidence(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path / "corpus")
    shard = make_run(tmp_path / "run", "canopy", ANSWERS)
    run_metrics(MetricsSettings(name="canopy"), [shard], corpus, tmp_path / "metrics")
    settings = TableSettings(config="mini", seed=1, k=3, constructed=True, methods={"canopy": "CANOPY"})
    rows = {row["benchmark"]: row for row in _table("evidence", settings, tmp_path, metrics=[tmp_path / "metrics"])}
    hotpotqa = rows["HotpotQA"]
    assert [hotpotqa[k] for k in ("with_gold", "recall_first", "recall", "units_kept")] == ["1", "0.0", "0.5", "1.0"]
    assert (rows["NQ"]["with_gold"], rows["NQ"]["recall"]) == ("0", "")
    assert (rows["Average"]["with_gold"], rows["Average"]["recall"]) == ("1", "0.5")


def test_corpus(tmp_path: Path) -> None:
    rows = _table("corpus", _settings(), tmp_path, corpus=make_corpus(tmp_path / "corpus"))
    by_name = {row["benchmark"]: row for row in rows}
    assert list(by_name) == ["NQ", "HotpotQA", "All", "Paper"]
    hotpotqa = by_name["HotpotQA"]
    assert [hotpotqa[k] for k in ("text", "items", "test", "without_gold", "gold_total", "gold_missing")] == [
        "2", "2", "2", "1", "8", "2",
    ]  # fmt: skip
    assert float(hotpotqa["miss_rate"]) == 0.25
    lost = ("left_out", "raw_items", "raw_questions", "quarantined", "media_missing", "media_unreadable")
    assert [hotpotqa[k] for k in lost] == ["4", "30", "10", "1", "2", "3"]
    assert [by_name["All"][k] for k in lost] == ["4", "70", "20", "2", "4", "6"]
    assert by_name["NQ"]["miss_rate"] == ""
    assert by_name["All"]["train"] == "1"
    assert [by_name["Paper"][k] for k in ("text", "table", "image", "video")] == ["32400000", "429000", "57000", "1500"]


def _decisions(directory: Path) -> Path:
    """Two questions. Node (0, 4) of q1 has two children; fine-tuned decides all but one pair rightly."""
    pairs = [
        # encoder, qid, parent, child, label, right
        ("fine_tuned", "nq:q1", (0, 4), (0, 2), "descend", True),
        ("fine_tuned", "nq:q1", (0, 4), (2, 4), "stay", True),
        ("fine_tuned", "nq:q1", (0, 2), (0, 1), "descend", True),
        ("fine_tuned", "nq:q1", (0, 2), (1, 2), "stay", False),
        ("fine_tuned", "ottqa:q2", (0, 2), (0, 1), "descend", True),
        ("frozen", "nq:q1", (0, 4), (0, 2), "descend", False),
        ("frozen", "nq:q1", (0, 4), (2, 4), "stay", True),
        ("frozen", "nq:q1", (0, 2), (0, 1), "descend", False),
        ("frozen", "nq:q1", (0, 2), (1, 2), "stay", True),
        ("frozen", "ottqa:q2", (0, 2), (0, 1), "descend", True),
    ]
    items = [
        ("fine_tuned", "nq:q1", True, 40, 100),
        ("fine_tuned", "ottqa:q2", True, 10, 20),
        ("frozen", "nq:q1", False, 100, 100),
        ("frozen", "ottqa:q2", True, 10, 20),
    ]
    directory.mkdir()
    pl.DataFrame(
        [
            {"encoder": e, "qid": q, "benchmark": q.split(":")[0], "item_id": f"{q}-item", "parent_start": p[0],
             "parent_end": p[1], "child_start": c[0], "child_end": c[1], "label": label, "right": right}
            for e, q, p, c, label, right in pairs
        ]
    ).write_parquet(directory / "pairs.parquet")  # fmt: skip
    pl.DataFrame(
        [
            {"encoder": e, "qid": q, "benchmark": q.split(":")[0], "item_id": f"{q}-item", "modality": "text",
             "descended": d, "kept_tokens": kept, "whole_tokens": whole}
            for e, q, d, kept, whole in items
        ]
    ).write_parquet(directory / "items.parquet")  # fmt: skip
    return directory


def test_decisions(tmp_path: Path) -> None:
    rows = _table("decisions", _settings(), tmp_path / "t", decisions=_decisions(tmp_path / "d"))
    found = {(row["scope"], row["measure"]): row for row in rows}

    def shares(scope: str, measure: str) -> tuple[float, ...]:
        row = found[scope, measure]
        return tuple(float(row[key]) for key in ("count", "frozen", "fine_tuned", "difference"))

    assert shares("All", "Decision accuracy, pairs") == pytest.approx((5, 3 / 5, 4 / 5, 1 / 5))
    # Nodes: fine-tuned is wrong on one child of (0, 2) only; frozen has both nodes of q1 wrong.
    assert shares("All", "Decision accuracy, nodes") == pytest.approx((3, 1 / 3, 2 / 3, 1 / 3))
    assert shares("All", "Rightly descended, pairs") == pytest.approx((3, 1 / 3, 1, 2 / 3))
    assert shares("All", "Rightly stayed, pairs") == pytest.approx((2, 1, 1 / 2, -1 / 2))
    assert shares("All", "Descend rate, items") == pytest.approx((2, 1 / 2, 1, 1 / 2))
    assert shares("All", "Tokens left out") == pytest.approx((120, 10 / 120, 70 / 120, 60 / 120))
    assert shares("NQ", "Decision accuracy, pairs") == pytest.approx((4, 1 / 2, 3 / 4, 1 / 4))
    # Nothing to stay at: no value, no interval.
    assert found["OTT-QA", "Rightly stayed, pairs"]["count"] == "0"
    assert found["OTT-QA", "Rightly stayed, pairs"]["difference"] == ""
    # One question a benchmark has no interval, however many pairs it has.
    assert found["NQ", "Decision accuracy, pairs"]["difference_low"] == ""


def test_pairs_of_a_question_are_drawn_together(tmp_path: Path) -> None:
    directory = _decisions(tmp_path / "d")
    for name in ("pairs.parquet", "items.parquet"):
        frame = pl.read_parquet(directory / name)
        again = frame.with_columns(pl.col("qid").str.replace("q1", "q3"), pl.col("item_id").str.replace("q1", "q3"))
        frame.vstack(again.filter(pl.col("benchmark") == "nq")).write_parquet(directory / name)
    rows = _table("decisions", _settings(), tmp_path / "t", decisions=directory)
    row = next(r for r in rows if (r["scope"], r["measure"]) == ("NQ", "Decision accuracy, pairs"))
    # Two questions with the same decisions: whichever is drawn, the shares are the same.
    assert float(row["difference_low"]) == float(row["difference_high"]) == pytest.approx(0.25)


def test_decisions_need_both_encoders(tmp_path: Path) -> None:
    directory = _decisions(tmp_path / "d")
    pairs = pl.read_parquet(directory / "pairs.parquet").filter(pl.col("encoder") == "frozen")
    pairs.write_parquet(directory / "pairs.parquet")
    with pytest.raises(UserError, match=r"pairs\.parquet has no rows of encoder fine_tuned"):
        run("decisions", _settings(), tmp_path / "t", decisions=directory)


@pytest.mark.parametrize(
    ("name", "settings", "inputs", "message"),
    [
        ("main", _settings(), (), "the table main is made from metrics"),
        ("main", _settings(), ("vanilla_rag",), "no metrics of canopy were given"),
        ("main", _settings(), ("vanilla_rag", "canopy", "canopy"), "both metrics of canopy"),
        ("main", _settings(methods={}), ("canopy",), "needs `methods`"),
        ("ablations", _settings(), ("canopy",), "has no ablations"),
        ("ablation_no_compression", _settings(), ("canopy",), "no_compression is not an ablation"),
        ("decisions", _settings(), (), "needs --decisions"),
        ("corpus", _settings(), (), "needs --corpus"),
        ("figures", _settings(), (), "unknown table 'figures'"),
    ],
)
def test_missing_inputs(
    tmp_path: Path, metrics: list[Path], name: str, settings: TableSettings, inputs: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        run(name, settings, tmp_path / "t" / name, metrics=[tmp_path / method for method in inputs])
    assert not (tmp_path / "t").exists()


def test_methods_scored_on_other_questions_are_refused(tmp_path: Path, metrics: list[Path]) -> None:
    path = tmp_path / "canopy" / "scores.parquet"
    pl.read_parquet(path).head(3).write_parquet(path)
    with pytest.raises(UserError, match="not scored on the same questions"):
        run("main", _settings(), tmp_path / "t", metrics=metrics)


def test_command_writes_three_files_and_repeats_them(tmp_path: Path, metrics: list[Path]) -> None:
    arguments = ["table", "main", "--spec", _settings().model_dump_json(), *(f"--metrics={m}" for m in metrics)]
    assert main([*arguments, "--out", str(tmp_path / "a" / "main")]) == 0
    assert main([*arguments, "--out", str(tmp_path / "b" / "main")]) == 0
    made = sorted(p.name for p in (tmp_path / "a").iterdir() if not p.name.startswith("."))
    assert made == ["main.csv", "main.md", "main.tex"]
    for ending in ("md", "csv", "tex"):
        first, second = ((tmp_path / d / f"main.{ending}").read_bytes() for d in "ab")
        assert first == second


def test_escaping() -> None:
    row = {"method": "a|b_c & 50% <x>\n$\\", "score": Interval(-0.0123, -0.05, 0.02)}
    table = Table("t", "50% of a_b", (Column("method", "M|ethod"), Column("score", "S", "signed")), [row])
    assert markdown(table).splitlines()[-1] == "| a\\|b\\_c & 50% \\<x\\> $\\\\ | -1.2 [-5.0, +2.0] |"
    assert "M\\|ethod" in markdown(table)
    assert r"a|b\_c \& 50\% \textless{}x\textgreater{} \$\textbackslash{} & $-$1.2 [$-$5.0, +2.0] \\" in latex(table)
    assert r"\caption{50\% of a\_b}" in latex(table)
    (cells,) = list(csv.DictReader(raw(table, _settings()).splitlines(keepends=True)))
    assert cells["method"] == row["method"]
    assert (cells["score"], cells["score_low"], cells["score_high"]) == ("-0.0123", "-0.05", "0.02")


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [
        (0.12345, "percent", "12.3"),
        (-0.0001, "signed", "0.0"),
        (0.0124, "signed", "+1.2"),
        (32_400_000, "count", "32,400,000"),
        (1234.56, "mean", "1,234.6"),
        (2.0, "ratio", "2.00"),
        (None, "percent", ""),
        (float("nan"), "percent", ""),
        (Interval(float("nan"), float("nan"), float("nan")), "signed", ""),
        (Interval(0.5, float("nan"), float("nan")), "signed", "+50.0"),
    ],
)
def test_show(value: Any, kind: Any, shown: str) -> None:
    assert show(value, kind) == shown
