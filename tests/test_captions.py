"""What captions say of a configuration: all that sets its numbers apart from those of whole benchmarks."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from metric_world import ANSWERS, make_corpus, make_run

from canopy.config import check_config, methods_file
from canopy.metrics.stage import run as run_metrics
from canopy.settings.project import Project
from canopy.settings.tables import MetricsSettings, TableSettings
from canopy.specs import STAGES, stage_spec, table_names
from canopy.tables.layout import caption
from canopy.tables.stage import run

ROOT = Path(__file__).parents[1]
SCORED = ("main", "ablations", "ablation_no_compression", "evidence", "tokens")
OF_CORPUS = (
    "The corpus is a sample, easier to retrieve from than the whole: at most 50 questions a split and 5,000 "
    "distractors of NQ and HotpotQA; at most 50 questions a split and 0 distractors of LVBench.",
    "Only questions whose gold evidence is all in the corpus.",
    "Native train and dev questions serve as test questions.",
    "Left out, without raw files: OTT-QA and MMQA.",
    "There is no such question of LVBench.",
)
READER = "Reader: smollm2-135m-instruct with the adapter package:mini_reader, trained on the constructed mini corpus."
ZERO_SHOT = (
    "Node encoder: zero-shot, fine-tuned in another configuration on a constructed corpus (results/mini/encoder)."
)
QUESTIONS = {"nq": 50, "hotpotqa": 33, "lvbench": 0}


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """config/slice.yaml beside files of three benchmarks."""
    for benchmark in ("nq", "hotpotqa", "lvbench"):
        (tmp_path / "raw" / benchmark).mkdir(parents=True)
        (tmp_path / "raw" / benchmark / "file.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    made: dict[str, Any] = yaml.safe_load((ROOT / "config" / "slice.yaml").read_text())
    return made


def project(raw: dict[str, Any], **sections: Any) -> Project:
    return check_config({**copy.deepcopy(raw), **sections}, "test", methods_file(None))


def settings(project: Project, table: str) -> TableSettings:
    return TableSettings.parse(stage_spec(project, "table", table))


def said(project: Project, table: str, questions: dict[str, int]) -> str:
    return caption("Scores.", settings(project, table), questions, averages=table in SCORED)


@pytest.mark.parametrize("table", [*SCORED, "decisions", "corpus"])
def test_a_sampled_real_corpus_is_told_as_such(raw: dict[str, Any], table: str) -> None:
    words = said(project(raw), table, QUESTIONS)
    for sentence in OF_CORPUS:
        assert sentence in words
    assert "Test questions: NQ 50, HotpotQA 33 (83 in all)." in words
    assert ("Averages are over 2 of 5 benchmarks" in words) == (table in SCORED)
    assert (READER in words) == (table in SCORED)
    assert ("Frozen encoder: minilm." in words and ZERO_SHOT in words) == (table != "corpus")
    assert "The corpus is constructed" not in words


@pytest.mark.parametrize("table", ["main", "decisions", "corpus"])
def test_the_whole_mini_corpus_needs_no_such_words(table: str) -> None:
    mini = project(yaml.safe_load((ROOT / "config" / "mini.yaml").read_text()))
    words = said(mini, table, dict.fromkeys(mini.config.benchmarks, 6))
    for word in ("sample", "distractors", "Only questions", "serve as", "Left out", "no such", "zero-shot", " of 5 "):
        assert word not in words
    assert "The corpus is constructed" in words
    trained = "Node encoder: fine-tuned on this configuration's train questions."
    assert (trained in words) == (table != "corpus")
    assert ("Averages are over 5 benchmarks" in words) == (table == "main")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sample": {"nq": {"questions": 2, "distractors": 0}}}, "0 distractors of NQ; HotpotQA and LVBench whole."),
        ({"reader": {"adapter": "none"}}, "Reader: smollm2-135m-instruct without an adapter."),
        ({"reader": {"adapter": "raw/nq"}}, "Reader: smollm2-135m-instruct with the adapter in raw/nq."),
        ({"parsing": {"splits": {"dev": "train"}}}, "Native dev questions serve as train questions."),
        (
            {"node_encoder": "results/big/encoder"},
            "Node encoder: fine-tuned in another configuration (results/big/encoder), so zero-shot here unless the two "
            "share questions.",
        ),
        (
            {"node_encoder": "results/slice/encoder"},
            "Node encoder: fine-tuned on this configuration's train questions.",
        ),
        ({"benchmarks": ["nq"], "sample": {}}, "Averages are over 1 benchmark,"),
    ],
)
def test_other_configurations(raw: dict[str, Any], changes: dict[str, Any], sentence: str) -> None:
    assert sentence in said(project(raw, **changes), "main", {"nq": 5})


def test_models_that_no_row_uses_are_not_named(raw: dict[str, Any]) -> None:
    without = project(raw, methods=["vanilla_rag"], ablations=[])
    words = said(without, "main", QUESTIONS)
    assert "Frozen encoder: minilm." in words and "Node encoder" not in words
    words = said(project(raw, methods=["no_retrieval"], ablations=[]), "main", QUESTIONS)
    assert READER in words and "encoder" not in words


@pytest.mark.parametrize(
    ("changes", "tables", "others"),
    [
        ({"node_encoder": "results/small/encoder"}, {*SCORED, "decisions"}, set()),
        ({"reader": {"adapter": "none"}}, set(SCORED), {"run"}),
        ({"questions": "all"}, {*SCORED, "decisions", "corpus"}, {"parse", "corpus"}),
    ],
)
def test_what_a_caption_says_reruns_the_tables_that_say_it(
    raw: dict[str, Any], changes: dict[str, Any], tables: set[str], others: set[str]
) -> None:
    raw["ablations"] = ["no_compression"]

    def specs(checked: Project) -> dict[tuple[str, str], str]:
        names = {
            "parse": checked.config.benchmarks,
            "run": tuple(checked.methods),
            "metrics": tuple(checked.methods),
            "table": table_names(checked),
        }
        stages = [s for s in STAGES if s != "mini-raw"]
        return {(s, n): stage_spec(checked, s, n) for s in stages for n in names.get(s, ("",))}

    before, after = specs(project(raw)), specs(project(raw, **changes))
    changed = {job for job in before if before[job] != after[job]}
    assert {name for stage, name in changed if stage == "table"} == tables
    assert {stage for stage, _ in changed if stage != "table"} == others


def test_a_benchmark_without_a_scored_question_is_missed(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path / "corpus")
    methods = {"vanilla_rag": "Vanilla RAG", "canopy": "CANOPY"}
    for method, answers in (("canopy", ANSWERS), ("vanilla_rag", ANSWERS | {"nq:n1": "x"})):
        shard = make_run(tmp_path / f"run-{method}", method, answers)
        run_metrics(MetricsSettings(name=method), [shard], corpus, tmp_path / method)
        scores = pl.read_parquet(tmp_path / method / "scores.parquet")
        scores.filter(pl.col("benchmark").is_in(["nq", "lvbench"])).write_parquet(tmp_path / method / "scores.parquet")
    shown = TableSettings(
        config="x", seed=1, k=3, constructed=False, methods=methods, bootstrap=500,
        benchmarks=("nq", "mmqa", "lvbench"), left_out=("ottqa",),
    )  # fmt: skip
    run("main", shown, tmp_path / "main", metrics=[tmp_path / m for m in methods])
    words, _, _, _, vanilla, _ = (tmp_path / "main.md").read_text().splitlines()
    assert "Test questions: NQ 2, LVBench 2 (4 in all). There is no such question of MMQA." in words
    assert "Averages are over 2 of 4 benchmarks" in words
    assert "none where a benchmark has fewer than 2 questions" in words
    # One of two NQ answers is lost, none of LVBench's: EM falls by 0.5, its mean with the accuracy by 0.25.
    assert re.search(r"\| -25\.0 \[-50\.0, 0\.0\] \|$", vanilla)
