"""The workflow as a user runs it: bad configurations stop it, a finished tree stays, a killed one is completed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
import yaml
from parsing import REAL, needs_real
from workflow import copied, edited, planned, snakemake, tables_of

TABLES = ("main", "ablations", "ablation_no_iteration", "decisions", "evidence", "tokens", "corpus")


@pytest.fixture
def workflow(tmp_path: Path) -> Path:
    return copied(tmp_path / "a folder")


@pytest.mark.parametrize("dry", [["-n"], ["--cores", "1"]], ids=["dry-run", "run"])
def test_a_bad_configuration_stops_before_any_job(workflow: Path, dry: list[str]) -> None:
    edited(workflow / "config" / "tiny.yaml", "k: 2", "k: 0")
    done = snakemake(workflow, *dry)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("canopy: error:")]
    assert len(lines) == 1
    assert "config/tiny.yaml" in lines[0] and "retrieval.k" in lines[0]
    assert "Traceback" not in done.stderr
    assert not (workflow / "results").exists()


def test_a_key_given_twice_is_refused(workflow: Path) -> None:
    edited(workflow / "config" / "tiny.yaml", "seed: 13\n", "seed: 13\nseed: 14\n")
    done = snakemake(workflow, "-n")
    assert done.returncode == 2
    assert "config/tiny.yaml" in done.stderr and "'seed' is given twice" in done.stderr


def test_an_override_on_the_command_line_is_checked(workflow: Path) -> None:
    done = snakemake(workflow, "-n", "--config", "methods=[canopi]")
    assert done.returncode == 2
    assert "canopi" in done.stderr


def test_without_a_configuration_the_mini_corpus_is_planned(workflow: Path) -> None:
    command = [sys.executable, "-m", "snakemake", "-n", "--cores", "1"]
    done = subprocess.run(command, cwd=workflow, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "results/mini/tables/ablation_frozen_encoder.md" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "name", "embeddings"),
    [((), "paper", 256), (("--configfile", "config/tiny.yaml"), "tiny", 2)],
    ids=["the profile's", "the command line's"],
)
def test_the_slurm_profile_has_the_papers_configuration_unless_told_another(
    workflow: Path, arguments: tuple[str, ...], name: str, embeddings: int
) -> None:
    for benchmark in ("nq", "hotpotqa", "ottqa", "mmqa", "lvbench"):
        (workflow / "raw" / benchmark).mkdir(parents=True)
        (workflow / "raw" / benchmark / "file").touch()
    command = [sys.executable, "-m", "snakemake", "-n", "all_tables", "--profile", "slurm", *arguments]
    done = subprocess.run(command, cwd=workflow, capture_output=True, text=True, check=False)
    plan = done.stdout + done.stderr
    assert done.returncode == 0, plan
    assert set(re.findall(r"results/(\w+)/tables/main.md", plan)) == {name}
    assert re.search(rf"^embed +{embeddings}$", plan, re.MULTILINE)


def test_given_raw_files_need_no_generator(workflow: Path) -> None:
    (workflow / "data" / "nq").mkdir(parents=True)
    (workflow / "data" / "nq" / "file.jsonl").touch()
    mine = (
        "name: mine\nconstructed: false\nraw: {root: data}\nbenchmarks: [nq]\nmethods: [vanilla_rag]\n"
        "shards: {embeddings: 3}\n"
    )
    (workflow / "config" / "mine.yaml").write_text(mine)
    done = snakemake(workflow, "-n", config="mine")
    assert done.returncode == 0, done.stderr
    plan = done.stdout + done.stderr
    assert "mini_raw" not in plan and "rule video" not in plan
    assert plan.count("rule embed:") == 3


SLICE = """
name: slice
constructed: false
raw: {root: data, absent: leave_out}
benchmarks: [nq, hotpotqa]
methods: [canopy]
questions: with_gold
node_encoder: elsewhere
"""


def test_benchmarks_without_files_are_left_out_with_a_notice(workflow: Path) -> None:
    (workflow / "config" / "slice.yaml").write_text(SLICE)
    done = snakemake(workflow, "-n", config="slice")
    assert done.returncode == 2 and "no benchmark has files under data/" in done.stderr
    (workflow / "data" / "nq").mkdir(parents=True)
    (workflow / "data" / "nq" / "file.jsonl").touch()
    done = snakemake(workflow, "-n", config="slice")
    assert done.returncode == 2 and "node_encoder: elsewhere is not the folder of a trained encoder" in done.stderr
    (workflow / "elsewhere").mkdir()
    for name in ("manifest.json", "adapter_model.safetensors"):
        (workflow / "elsewhere" / name).touch()
    done = snakemake(workflow, "-n", config="slice")
    assert done.returncode == 0, done.stderr
    assert "canopy: left out, without files in data: hotpotqa" in done.stderr
    plan = done.stdout + done.stderr
    assert "results/slice/parsed/nq" in plan and "results/slice/parsed/hotpotqa" not in plan
    assert "rule encoder:" not in plan and "elsewhere/manifest.json" in plan


@pytest.mark.e2e
def test_tables_are_made_and_say_what_they_are(finished: Path) -> None:
    for table in TABLES:
        stem = finished / "results" / "tiny" / "tables" / table
        words = stem.with_suffix(".md").read_text()
        assert "tiny" in words and "13" in words
        assert "constructed" in words
        assert not pl.read_csv(stem.with_suffix(".csv"), comment_prefix="#").is_empty()
        assert r"\begin{tabular}" in stem.with_suffix(".tex").read_text()


@pytest.mark.e2e
def test_every_test_question_is_answered_once_by_every_method(finished: Path) -> None:
    results = finished / "results" / "tiny"
    questions = pl.read_parquet(results / "corpus" / "questions.parquet").filter(pl.col("split") == "test")
    for method in ("universal_rag", "canopy", "no_iteration"):
        shards = [pl.read_parquet(p) for p in (results / "runs" / method).glob("*/predictions.parquet")]
        assert len(shards) == 2
        assert sorted(pl.concat(shards)["qid"]) == sorted(questions["qid"])


@pytest.mark.e2e
def test_a_finished_tree_plans_nothing(finished: Path) -> None:
    assert planned(finished) == {}
    for path in [*finished.glob("canopy/**/*.py"), *finished.glob("results/tiny/**/*.parquet")]:
        path.touch()
    edited(finished / "config" / "tiny.yaml", "retrieval:", "# a comment\nretrieval:")
    edited(finished / "canopy" / "specs.py", "import json", "import json  # a comment")
    assert planned(finished) == {}


@pytest.mark.e2e
def test_a_deleted_ablation_comes_back_alone_and_the_same_even_when_killed(finished: Path) -> None:
    results = finished / "results" / "tiny"
    tables = tables_of(results)
    shutil.rmtree(results / "runs" / "no_iteration")
    assert planned(finished) == {"run": 2, "metrics": 1, "table": 4}

    killed = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--configfile", "config/tiny.yaml", "--cores", "2"],
        cwd=finished,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    # The first line of a journal is its key, the next two a finished batch of questions.
    journals = "runs/no_iteration/.shard-*.journal"
    while not any(p.read_bytes().count(b"\n") > 2 for p in results.glob(journals)) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()

    assert snakemake(finished, "--unlock", "--cores", "2").returncode == 0
    done = snakemake(finished, "all_tables", "--cores", "2", "--rerun-incomplete", "--show-failed-logs")
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert planned(finished) == {}
    assert tables_of(results) == tables


@needs_real
@pytest.mark.e2e
def test_real_slices_go_through_to_tables(finished: Path) -> None:
    (finished / "raw").symlink_to(REAL.resolve())
    path = finished / "config" / "slice.yaml"
    settings = yaml.safe_load(path.read_text())
    settings |= {
        "methods": ["canopy"],
        "ablations": ["no_compression"],
        "sample": {b: {"questions": 2, "distractors": 30} for b in settings["benchmarks"]},
        "retrieval": {"k": 3, "question_batch": 4},
        "node_encoder": "results/tiny/encoder",
    }
    path.write_text(yaml.safe_dump(settings, sort_keys=False))
    done = snakemake(finished, "all_tables", "--cores", "2", "--show-failed-logs", config="slice")
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    tables = finished / "results" / "slice" / "tables"
    evidence = pl.read_csv(tables / "evidence.csv", comment_prefix="#")
    # Of MMQA one question has its table here, LVBench has no film.
    assert set(evidence["benchmark"]) == {"NQ", "HotpotQA", "OTT-QA", "MMQA", "Average"}
    assert set(evidence["with_gold"]) == {2, 1, 7}
    whole = evidence.filter(pl.col("method") == "without compression")
    assert set(whole["units_kept"].drop_nulls()) == {1.0}
    caption = (tables / "main.md").read_text()
    assert "slice" in caption and "The corpus is constructed" not in caption
    assert planned(finished, config="slice") == {}
