"""`canopy plan`: figures worked out by hand, jobs as Snakemake plans them, faults of its files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from workflow import ROOT, copied, edited, planned

from canopy.artefacts import build
from canopy.cli import main
from canopy.planning.figures import DEFAULTS, load_sizes, load_throughput

CONFIG = """
name: mine
constructed: false
raw: {root: raw}
benchmarks: [nq, mmqa]
methods: [no_retrieval, vanilla_rag, canopy]
shards: {embeddings: 4, runs: 2}
retrieval: {k: 5, question_batch: 50}
reader: {context_tokens: 2048, answer_tokens: 20, verdict_tokens: 100}
training: {epochs: 2, max_questions: 400}
embed: {store: float16}
jobs: {gpus: 1, threads: 2, training_threads: 4, mem_mb: 3000, runtime: 60}
"""
SIZES = """
items: {nq: {text: 900_000}, mmqa: {text: 80_000, table: 10_000, image: 10_000}}
test_questions: {nq: 600, mmqa: 400}
train_questions: {nq: 1_000, mmqa: 1_000}
gold_a_question: 2
raw_bytes: {text: 500, table: 3_000, image: 200}
stored_bytes: {text: 400, table: 1_000, image: 500}
run_bytes: 4_000
item_tokens: 100
kept_share: 0.8
prompt_tokens: 100
"""
RATES = """
{parse_mb_s: 10, ocr_images_s: 5, corpus_items_s: 10_000, embed_items_s: 1_000, index_vectors_s: 2_000,
train_gflop_s: 100, merge_vectors_s: 50_000, index_id_bytes: 50,
preferences_questions_s: 100, train_questions_s: 8, refine_items_s: 50, prefill_tokens_s: 10_000, decode_tokens_s: 100,
search_queries_s: 10, scan_items_s: 1_000_000, metrics_questions_s: 100, start_s: 10, convert_s: 60, id_bytes: 100,
memory_mb: {run: 2_000, embed: 700, index: 200, corpus: 150}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text(CONFIG)
    (tmp_path / "sizes.yaml").write_text(SIZES)
    (tmp_path / "rates.yaml").write_text(RATES)
    return tmp_path


def plan(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    files = ["--config", str(folder / "mine.yaml"), "--sizes", str(folder / "sizes.yaml")]
    assert main(["plan", *files, "--throughput", str(folder / "rates.yaml"), "--json", *arguments]) == 0
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    return made


def test_each_stage_takes_what_its_work_by_its_rate_takes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stages = {s["stage"]: s for s in plan(folder, capsys)["stages"]}
    hours = {
        "parse": 2 * (980_000 * 500 + 10_000 * 3_000 + 10_000 * 200) / 1e6 / 10 / 3600,
        "video": 4 * 10_000 / 5 / 3600,
        "corpus": 2 * 1_000_000 / 10_000 / 3600,
        "embed": 4 * (1_000_000 / 1_000 + 4 * 10) / 3600,
        # 4 sqrt(n) = 4,000 lists; 10 passes of k-means over 40 vectors a list, of 384 dimensions.
        "index_train": 4 * 2 * 10 * 160_000 * 4_000 * 384 / 1e9 / 100 / 3600,
        "index_add": 4 * 1_000_000 / 2_000 / 3600,
        "index": 4 * 1_000_000 / 50_000 / 3600,
        "preferences": 2 * (1_000 + 2_000) / 100 / 3600,
        "encoder": 4 * (2 * 400 / 8 + 10) / 3600,
        "decisions": 2 * (2 * 1_000 * 2 / 50 + 10) / 3600,
        "reader_model": 2 * 60 / 3600,
        # 120 tokens read and 20 written a question; two jobs that start in 10 s.
        "run no_retrieval": 2 * (1_000 * 100 / 10_000 + 1_000 * 20 / 100 + 2 * 10) / 3600,
        # One round of 5 items of 100 tokens; 20 batches of 50 questions pass a million rows each.
        "run vanilla_rag": 2 * (1_000 * 600 / 10_000 + 200 + 1_000 / 10 + 20 * 1 + 20) / 3600,
        # Three rounds of 5 items of 80 tokens: critics read 500 and 900, the answer 1,300.
        "run canopy": 2 * (1_000 * 2_700 / 10_000 + 1_000 * 220 / 100 + 15_000 / 50 + 300 + 60 + 20) / 3600,
        "metrics": 2 * 3 * 1_000 / 100 / 3600,
    }
    for stage, expected in hours.items():
        assert stages[stage]["cpu_hours"] == pytest.approx(expected, rel=1e-3), stage
    with_gpu = {"embed": 1040, "encoder": 110, "decisions": 90, "run vanilla_rag": 400}
    for stage, seconds in with_gpu.items():
        assert stages[stage]["gpu_hours"] == pytest.approx(seconds / 3600, rel=1e-3), stage
    assert all(stages[s]["gpu_hours"] == 0 for s in ("parse", "video", "corpus", "index_add", "metrics", "table"))
    assert stages["embed"]["longest_job_hours"] == pytest.approx(1040 / 4 / 3600, rel=1e-3)
    assert stages["parse"]["longest_job_hours"] == pytest.approx(45 / 3600, rel=1e-3)


def test_disk_and_memory_grow_with_the_corpus(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = plan(folder, capsys)
    stages = {s["stage"]: s for s in made["stages"]}
    assert stages["embed"]["disk_gb"] == pytest.approx(1_000_000 * 384 * 2 / 1e9)
    assert stages["corpus"]["disk_gb"] == pytest.approx((980_000 * 400 + 10_000 * 1_000 + 10_000 * 500) / 1e9)
    assert stages["run canopy"]["disk_gb"] == pytest.approx(1_000 * 4_000 / 1e9)
    assert stages["corpus"]["peak_memory_gb"] == pytest.approx(0.15 + 0.1)
    centroids = 4_000 * 384 * 4 / 1e9
    assert stages["index"]["disk_gb"] == pytest.approx(1e6 * (384 * 2 + 8 + 50) / 1e9 + centroids), (
        "float16 and numbers"
    )
    assert stages["index"]["peak_memory_gb"] == pytest.approx(0.2 + 0.05 + centroids)
    assert stages["run canopy"]["peak_memory_gb"] == pytest.approx(2.0 + centroids), "lists are mapped from disk"
    assert stages["run no_retrieval"]["peak_memory_gb"] == pytest.approx(2.0)
    assert made["total"]["disk_gb"] == pytest.approx(sum(s["disk_gb"] for s in made["stages"]))
    assert made["total"]["peak_memory_gb"] == max(s["peak_memory_gb"] for s in made["stages"])


@pytest.mark.parametrize(
    ("index", "jobs", "code_bytes", "in_memory"),
    [
        ("{exact_below: 2_000_000}", 4 + 2, 0, 0),
        ("{kind: exact}", 1, 0, 0),
        ("{kind: ivf_pq}", 4 + 2, 64 + 8, 4_000 * 384 * 4),
        ("{kind: 'SQ8'}", 4 + 2, 384, 384 * 1_000_000),
    ],
    ids=["auto", "exact", "codes", "no lists"],
)
def test_each_kind_of_index_has_its_jobs_disk_and_memory(
    folder: Path, capsys: pytest.CaptureFixture[str], index: str, jobs: int, code_bytes: int, in_memory: int
) -> None:
    (folder / "mine.yaml").write_text(CONFIG + f"index: {index}\n")
    stages = {s["stage"]: s for s in plan(folder, capsys)["stages"]}
    assert sum(s["jobs"] for name, s in stages.items() if name.startswith("index")) == jobs
    centroids = 4_000 * 384 * 4 if "pq" in index else 0
    disk = 1_000_000 * (code_bytes + 50) + centroids
    assert stages["index"]["disk_gb"] == pytest.approx(disk / 1e9)
    assert stages["run canopy"]["peak_memory_gb"] == pytest.approx(2.0 + in_memory / 1e9)


def test_a_prompt_is_never_longer_than_the_context(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = (folder / "sizes.yaml").read_text().replace("item_tokens: 100", "item_tokens: 1_000")
    (folder / "sizes.yaml").write_text(sizes)
    stages = {s["stage"]: s for s in plan(folder, capsys)["stages"]}
    seconds = 1_000 * (2048 - 20) / 10_000 + 200 + 100 + 20 + 20
    assert stages["run vanilla_rag"]["gpu_hours"] == pytest.approx(seconds / 3600, rel=1e-3)


def test_mean_rounds_below_the_most_are_taken_as_given(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (folder / "sizes.yaml").open("a") as sizes:
        sizes.write("mean_rounds: {canopy: 1.5}\n")
    stages = {s["stage"]: s for s in plan(folder, capsys)["stages"]}
    # A critic after round 1 (500 tokens) and after half of rounds 2 (900); the answer reads 1.5 rounds.
    seconds = 1_000 * (500 + 450 + 700) / 10_000 + 1_000 * (20 + 150) / 100 + 7_500 / 50 + 150 + 30 + 20
    assert stages["run canopy"]["gpu_hours"] == pytest.approx(seconds / 3600, rel=1e-3)


def test_a_sample_keeps_its_questions_their_gold_and_distractors(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "mine.yaml").write_text(CONFIG + "sample: {nq: {questions: 50, distractors: 1_000}}\n")
    figures = plan(folder, capsys)["figures"]
    assert figures["test_questions.nq"]["value"] == 50
    assert figures["train_questions.nq"]["value"] == 100
    assert figures["items.nq.text"] == {"value": 1_000 + 2 * 150, "source": "the configuration's `sample`"}
    assert figures["items.mmqa.text"]["value"] == 80_000
    assert "items.lvbench.video" not in figures, "not a benchmark of the configuration"


def test_it_says_which_settings_are_too_small(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rates = (folder / "rates.yaml").read_text().replace("embed_items_s: 1_000", "embed_items_s: 10")
    (folder / "rates.yaml").write_text(rates.replace("run: 2_000", "run: 8_000"))
    advice = "\n".join(plan(folder, capsys, "--device", "cpu")["advice"])
    # A quarter of 100,000 s and 10 s to start, and half as much again: 626 min.
    assert "a job of embed may take 6.9 h and asks for 60 min: jobs.runtime: 630, or shards.embeddings: 42" in advice
    assert re.search(r"memory: .*run canopy.* 3000 MB .* jobs.mem_mb: 12500", advice)
    assert not [line for line in advice.splitlines() if line.startswith("time: a job of run")]


def test_every_figure_is_printed_with_its_source(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = plan(folder, capsys)["figures"]
    assert figures["embed_items_s"] == {"value": 1000, "source": f"stated in {folder / 'rates.yaml'}"}
    assert figures["memory_mb.video"]["source"].startswith("measured (benchmarks/README.md)")
    assert main(["plan", "--config", str(folder / "mine.yaml")]) == 0
    text = capsys.readouterr().out
    assert re.search(r"prefill_tokens_s +20,000  assumed", text), "jobs with a GPU are an H100's if nothing is said"
    assert re.search(r"^all +\d", text, re.MULTILINE)
    assert main(["plan", "--config", str(folder / "mine.yaml"), "--device", "cpu"]) == 0
    assert re.search(r"embed_items_s +23.7  measured", capsys.readouterr().out)


def test_the_papers_corpus_is_the_default() -> None:
    sizes = load_sizes(None)
    in_thousands = {m: round(sizes.of(m) / 1e3, -2 if m == "text" else 0) for m in ("text", "table", "image")}
    assert in_thousands == {"text": 32_400, "table": 429, "image": 57}
    assert sizes.of("video") == 1_500


def test_figures_of_defaults_say_measured_or_assumed_or_whose_they_are() -> None:
    words = re.compile(r"measured \(benchmarks/README\.md\)|assumed")
    for device in ("cpu", "h100"):
        text = (DEFAULTS / f"{device}.yaml").read_text()
        sources = re.findall(r"source: (.+?)(?: }|$)", text, re.MULTILINE)
        assert sources and all(words.match(source.strip('"')) for source in sources)


def test_a_finished_run_gives_throughputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = folder / "results"
    facts: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
        "embeddings/shard-0": ("embed", {}, {"items": 300}),
        "preferences/shard-0": ("preferences", {}, {"questions": 4_000}),
        "embeddings/shard-1": ("embed", {}, {"items": 500}),
        "index": ("index", {}, {"ntotal": 800, "stages": {"add": {"seconds": 4.0}}}),
        "runs/canopy/shard-0": (
            "run",
            {"name": "canopy"},
            {
                "questions": 30,
                "mean_rounds": 2.0,
                "items": 600,
                "descend_rate": 0.5,
                "seconds": {"refine": 20.0, "retrieve": 4.0},
            },
        ),
        "runs/canopy/shard-1": ("run", {"name": "canopy"}, {"questions": 10, "mean_rounds": 1.0}),
    }
    for path, (stage, settings, found) in facts.items():
        with build(results / path, stage, settings) as artefact:
            artefact.facts |= found
        manifest = results / path / "manifest.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"wall_seconds": 16.0, "peak_rss_mb": 900.0}))
    (folder / "rates.yaml").write_text("start_s: 10\n")
    figures = plan(folder, capsys, "--measured", str(results))["figures"]
    assert figures["embed_items_s"] == {"value": 800 / 32, "source": f"measured ({results})"}
    assert figures["preferences_questions_s"]["value"] == 4_000 / 16
    assert figures["refine_items_s"]["value"] == 30
    assert figures["search_queries_s"]["value"] == (30 * 2 + 10) / 4
    assert figures["mean_rounds.canopy"]["value"] == (30 * 2 + 10) / 40
    assert figures["memory_mb.run"]["value"] == 900
    assert figures["start_s"]["source"].startswith("stated in"), "what is stated is preferred to what was measured"
    assert figures["index_vectors_s"]["value"] == 200
    assert figures["merge_vectors_s"]["source"].startswith("assumed"), "nothing was merged in the run"


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("rates.yaml", "embed_item_s: 3", "embed_item_s: unknown key"),
        ("rates.yaml", "embed_items_s: 0", "embed_items_s.value: Input should be greater than 0"),
        ("rates.yaml", "embed_items_s: fast", "'fast' is not a number"),
        ("rates.yaml", "embed_items_s: .inf", "embed_items_s"),
        ("rates.yaml", "[1]", "expected a mapping"),
        ("rates.yaml", "embed_items_s: {value: 3, sauce: x}", "sauce: unknown key"),
        ("rates.yaml", "memory_mb: 3", "memory_mb"),
        ("sizes.yaml", "test_questions: {nq: -1}", "test_questions.nq.value"),
        ("sizes.yaml", "items: {nqq: {text: 1}}", "nqq"),
        ("sizes.yaml", "items: {nq: 1}", "items.nq"),
        ("sizes.yaml", "a: 1\na: 2", "given twice"),
    ],
)
def test_a_faulty_file_is_named_with_its_key(
    folder: Path, capsys: pytest.CaptureFixture[str], file: str, text: str, words: str
) -> None:
    (folder / file).write_text(text)
    files = ["--sizes", str(folder / "sizes.yaml"), "--throughput", str(folder / "rates.yaml")]
    assert main(["plan", "--config", str(folder / "mine.yaml"), *files]) == 2
    said = capsys.readouterr().err
    assert file in said and words in said and said.count("\n") == 1


def test_other_faults_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = ["plan", "--config", str(folder / "mine.yaml")]
    assert main([*config, "--measured", str(folder)]) == 2
    assert "no stage has finished there" in capsys.readouterr().err
    assert main([*config, "--device", "tpu"]) == 2
    assert "cpu, h100" in capsys.readouterr().err
    assert main([*config, "--sizes", str(folder / "none.yaml")]) == 2
    assert "there is no such file" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["tiny", "many"])
def test_the_jobs_are_those_that_snakemake_plans(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    workflow = copied(tmp_path / "a folder")
    config = workflow / "config" / "tiny.yaml"
    if name == "many":
        edited(config, "embeddings: 2\n  preferences: 2\n  runs: 2", "embeddings: 40\n  preferences: 5\n  runs: 7")
        edited(config, "methods: [universal_rag, canopy]", "methods: [no_retrieval, canopy]\nnode_encoder: elsewhere")
        edited(config, "benchmarks: [nq, hotpotqa, ottqa, mmqa, lvbench]", "benchmarks: [nq, hotpotqa]")
        (workflow / "elsewhere").mkdir()
        for file in ("manifest.json", "adapter_model.safetensors"):
            (workflow / "elsewhere" / file).touch()
    assert yaml.safe_load(config.read_text())["name"] == "tiny"
    assert main(["plan", "--config", str(config), "--json"]) == 0
    counts: dict[str, int] = {}
    for stage in json.loads(capsys.readouterr().out)["stages"]:
        rule = stage["stage"].split()[0]
        counts[rule] = counts.get(rule, 0) + stage["jobs"]
    assert counts == planned(workflow)


def test_the_worked_example_of_the_docs_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.search(r"-->\n```\n(.*?)\n```", (ROOT / "docs" / "scale.md").read_text(), re.DOTALL)
    assert shown and main(["plan", "--config", str(ROOT / "config" / "paper.yaml")]) == 0
    assert capsys.readouterr().out.split("Computed from:")[0].strip() == shown[1]


def test_a_device_has_every_figure() -> None:
    for device in ("cpu", "h100"):
        assert len(load_throughput(device, None).memory_mb) == 15
