"""A configuration is right, or one line says which key of which file is wrong."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from canopy.cli import main
from canopy.config import check_config, load_config, methods_file, schema
from canopy.errors import ConfigError
from canopy.methods.registry import load_methods
from canopy.settings.base import Settings
from canopy.settings.corpora import CorpusSettings, MiniRawSettings, ParseSettings
from canopy.settings.encoder import (
    DecisionSettings,
    EmbedSettings,
    PreferenceSettings,
    TrainingSettings,
)
from canopy.settings.index import IndexSettings, IndexTrainSettings
from canopy.settings.runs import MiniReaderSettings, ReaderModelSettings, RunSettings
from canopy.settings.tables import MetricsSettings, TableSettings
from canopy.settings.video import VideoSettings
from canopy.specs import STAGES, stage_spec, table_names

ROOT = Path(__file__).parents[1]
CONFIGS = sorted(p for p in (ROOT / "config").glob("*.yaml") if p.name != "methods.yaml")
MINI: dict[str, Any] = yaml.safe_load((ROOT / "config" / "mini.yaml").read_text())
SETTINGS: dict[str, type[Settings]] = {
    "mini-raw": MiniRawSettings,
    "parse": ParseSettings,
    "video": VideoSettings,
    "corpus": CorpusSettings,
    "embed": EmbedSettings,
    "index-train": IndexTrainSettings,
    "index": IndexSettings,
    "preferences": PreferenceSettings,
    "encoder": TrainingSettings,
    "decisions": DecisionSettings,
    "reader-model": ReaderModelSettings,
    "mini-reader": MiniReaderSettings,
    "run": RunSettings,
    "metrics": MetricsSettings,
    "table": TableSettings,
}


def changed(path: str, value: Any) -> dict[str, Any]:
    raw = copy.deepcopy(MINI)
    *parents, last = path.split(".")
    section = raw
    for key in parents:
        section = section.setdefault(key, {})
    section[last] = value
    return raw


def specs(raw: dict[str, Any]) -> dict[tuple[str, str], str]:
    project = check_config(raw, "test", methods_file(None))
    names = {
        "parse": project.config.benchmarks,
        "run": tuple(project.methods),
        "metrics": tuple(project.methods),
        "table": table_names(project),
    }
    return {(s, n): stage_spec(project, s, n) for s in STAGES for n in names.get(s, ("",))}


def touched(path: str, value: Any) -> set[tuple[str, str]]:
    """The jobs whose spec a change alters."""
    before, after = specs(MINI), specs(changed(path, value))
    return {job for job in before if before[job] != after.get(job)}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_shipped_configurations_are_right(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw" / "nq").mkdir(parents=True)
    (tmp_path / "raw" / "nq" / "file.jsonl").touch()
    project = load_config(path)
    assert project.config.name == path.stem
    jsonschema.validate(yaml.safe_load(path.read_text()), schema())


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("retrieval.k", 0, ["retrieval.k", "got 0"]),
        ("retrieval.k", "3", ["retrieval.k", "got '3'"]),
        ("retrieval.kk", 3, ["retrieval.kk", "unknown key"]),
        ("sead", 3, ["sead", "unknown key"]),
        ("seed", "x", ["seed", "got 'x'"]),
        ("name", "Mini/1", ["name"]),
        ("benchmarks", ["nq", "squad"], ["benchmarks.1", "squad"]),
        ("benchmarks", [], ["benchmarks"]),
        ("methods", ["canopy", "canopi"], ["methods", "canopi", "canopy_routed"]),
        ("methods", ["canopy", "no_iteration"], ["methods", "no_iteration"]),
        ("methods", ["canopy", "canopy"], ["methods", "twice"]),
        ("methods", ["vanilla_rag"], ["ablations", "no_iteration", "canopy"]),
        ("ablations", ["ircot"], ["ablations", "ircot"]),
        ("raw", {}, ["raw", "exactly one"]),
        ("raw.root", "data", ["raw", "exactly one"]),
        ("raw.generate.video_minutes", [6, 2], ["raw.generate.video_minutes"]),
        ("constructed", False, ["constructed"]),
        ("video.clip_seconds", 100, ["video.clip_seconds", "30"]),
        ("training.seed", 1, ["training.seed", "`seed`"]),
        ("training.encoder", {}, ["training.encoder", "`encoder`"]),
        ("reader.adapter", "package:none_such", ["reader.adapter", "none_such"]),
        ("reader.adapter", "no/where", ["reader.adapter", "no/where"]),
        ("reader.adapter", "package:..", ["reader.adapter", "package:.."]),
        ("reader.adapter", "results/mini/mini-reader", []),
        ("reader.adapter", "none", []),
        ("reader.answer_tokens", 2000, ["reader.context_tokens"]),
        ("shards.runs", 0, ["shards.runs"]),
        ("index.kind", "ivf_sq", []),
        ("index.kind", "OPQ64,IVF4096_HNSW32,PQ64", []),
        ("index.kind", "IVF4096,PQ65", ["index.kind", "'IVF4096,PQ65'", "384 dimensions", "ivf_pq"]),
        ("index.kind", "exakt", ["index.kind", "'exakt'", "exact"]),
        ("index.kind", "IVF64,Flat,RFlat", ["index.kind", "IndexRefineFlat"]),
        ("index.kind", "IVF64,PQ64x4fs", ["index.kind", "IndexIVFPQFastScan"]),
        ("index.kind", "PQ64", ["index.kind", "IndexPQ"]),
        ("index.wanted_recall", 1.5, ["index.wanted_recall", "got 1.5"]),
        ("index.compressed_from", 10, ["index.compressed_from", "index.exact_below"]),
        ("jobs.gpus", -1, ["jobs.gpus"]),
    ],
)
def test_faults_are_told_on_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, value: Any, words: list[str]
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(changed(path, value)))
    code = main(["check", "--config", str(file)])
    out, err = capsys.readouterr()
    if not words:
        assert (code, err) == (0, "")
        return
    assert code == 2
    assert err.count("\n") == 1
    assert out == ""
    for word in [str(file), *words]:
        assert word in err


LAUGHS = "a0: &a0 []\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "mapping"),
        ("- a\n- b\n", "mapping"),
        ("name: [\n", "YAML"),
        ("\x00", "NUL byte"),
        ('raw: {root: "a\\0b"}\n', "line 1: a value holds a NUL character"),
        ("&a\nname: *a\n", r"line 2: \*a would hold itself"),
        ("name: x\nsample: &a {nq: *a}\n", r"line 2: \*a would hold itself"),
        ("name: x\nseed: " + "7" * 5000 + "\n", "line 2, column 7: '7777.*777' is too large"),
        ("seed: " + "1:" * 200 + "1\n", "is too large"),
        ("name: 2026-13-01\n", "2026-13-01' is too large, or not what its form"),
        ("seed: !!int x\n", "'x' is too large, or not what its form"),
        ("constructed: !!bool x\n", "'x' is too large, or not what its form"),
        ("1: x\n", "line 1, column 1: the key 1 is not a string: put it in quotes"),
        ("sample: {nq: {no: 3}}\n", "the key False is not a string"),
        ("[a]: x\n", "key"),
        (LAUGHS, "characters, or that many by its aliases"),
        ("name: " + "x" * 2_000_000, "characters"),
        ("a: " + "[" * 100_000, "deeper than 50 levels"),
        ("".join(" " * n + "a:\n" for n in range(200)), "line 51: nested deeper than 50 levels"),
        ("name: mini\n".encode("utf-16"), "its encoding is UTF-16: save it as UTF-8"),
        ("name: mini\n".encode("utf-16-le"), "is it UTF-16"),
        (b"name: \xe9\n", r"not UTF-8 \(byte 6\)"),
    ],
    ids=lambda v: repr(v)[:30],
)
def test_files_that_are_no_configuration(tmp_path: Path, content: str | bytes, words: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError, match=rf"(?s)mine\.yaml: .*{words}"):
        load_config(file)
    (tmp_path / "methods.yaml").write_bytes(file.read_bytes())
    with pytest.raises(ConfigError, match=r"methods\.yaml: "):
        load_methods(tmp_path / "methods.yaml")


def test_a_folder_a_pipe_and_a_broken_link_are_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "link.yaml").symlink_to("nowhere")
    for name, words in (("folder", "is not a file"), ("pipe", "is not a file"), ("link", "no such file")):
        with pytest.raises(ConfigError, match=rf"{name}\.yaml: .*{words}"):
            load_config(tmp_path / f"{name}.yaml")


def test_a_few_aliases_are_followed(tmp_path: Path) -> None:
    text = (ROOT / "config" / "mini.yaml").read_text()
    same = "sample: {nq: &part {questions: 7, distractors: 3}, ottqa: *part, mmqa: *part}\n"
    (tmp_path / "mine.yaml").write_text(f"{text}\n{same}", encoding="utf-8-sig")
    sample = load_config(tmp_path / "mine.yaml").config.sample
    assert {name: part.questions for name, part in sample.items()} == {"nq": 7, "ottqa": 7, "mmqa": 7}


def test_a_repeated_key_is_a_fault_and_not_the_last_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text((ROOT / "config" / "mini.yaml").read_text() + "\nseed: 14\n")
    with pytest.raises(ConfigError, match=r"mine\.yaml.*'seed' is given twice"):
        load_config(file)


def test_a_date_is_named_by_its_value(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text((ROOT / "config" / "mini.yaml").read_text().replace("name: mini", "name: 2026-01-31"))
    with pytest.raises(ConfigError, match=r"mine\.yaml: 2026-01-31 is a date"):
        load_config(file)


def test_missing_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--config", "nowhere.yaml"]) == 2
    assert "nowhere.yaml" in capsys.readouterr().err


def test_given_raw_files_are_accepted(tmp_path: Path) -> None:
    for benchmark in MINI["benchmarks"]:
        (tmp_path / benchmark).mkdir()
        (tmp_path / benchmark / "file.jsonl").touch()
    raw = changed("raw", {"root": str(tmp_path)}) | {"constructed": False}
    project = check_config(raw, "test", methods_file(None))
    with pytest.raises(ConfigError, match="mini-raw"):
        stage_spec(project, "mini-raw")


def test_check_lists_the_raw_files_by_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("nq/biencoder-nq-train.json", "nq/biencoder-nq-dev.json.gz", "hotpotqa/readme.txt"):
        (tmp_path / "raw" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "raw" / name).write_text("x")
    file = tmp_path / "mine.yaml"
    raw = changed("raw", {"root": str(tmp_path / "raw")}) | {"constructed": False, "benchmarks": ["nq"]}
    file.write_text(yaml.safe_dump(raw))
    assert main(["check", "--config", str(file)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["2", "biencoder-nq-{train,dev}.json"] in lines
    assert ["missing", "psgs_w100.tsv"] in lines

    file.write_text(yaml.safe_dump(raw | {"benchmarks": ["nq", "hotpotqa"]}))
    assert main(["check", "--config", str(file)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "hotpot_{train_v1.1" in err


def test_check_says_which_kinds_and_media_are_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw_files = ["mmqa/MMQA_dev.jsonl.gz", "mmqa/images/b.JPG", "mmqa/images/a.png", "lvbench/video_info.meta.jsonl"]
    for name in raw_files:
        (tmp_path / "raw" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "raw" / name).write_text("x")
    raw = changed("raw", {"root": str(tmp_path / "raw")}) | {"constructed": False, "benchmarks": ["mmqa", "lvbench"]}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(raw))

    def told(benchmark: str) -> dict[str, str]:
        assert main(["check", "--config", str(tmp_path / "mine.yaml")]) == 0
        _, _, part = capsys.readouterr().out.partition(f"{tmp_path / 'raw' / benchmark}: files found\n")
        rows = (line.split(maxsplit=1) for line in part.split("files found")[0].splitlines() if line.startswith("  "))
        return {name: count for count, name in rows}

    assert told("mmqa") == {
        "MMQA_texts.jsonl": "missing",
        "MMQA_tables.jsonl": "missing",
        "MMQA_images.jsonl": "missing",
        "MMQA_{train,dev,test}.jsonl": "1",
        "pictures, in images/": "2",
    }
    assert told("lvbench") == {"video_info.meta.jsonl": "1", "videos, <key>.mp4": "missing"}
    (tmp_path / "raw" / "lvbench" / "abc.webm").touch()
    assert told("lvbench")["videos, <key>.mp4"] == "1"


def test_schema_file_is_not_stale() -> None:
    stored = json.loads((ROOT / "config" / "schema.json").read_text())
    assert stored == schema(), "run: canopy check --write-schema config/schema.json"


def test_schema_refuses_what_the_model_refuses() -> None:
    for path, value in [("retrieval.k", 0), ("sead", 1), ("benchmarks", ["squad"]), ("training.seed", 1)]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(changed(path, value), schema())


def test_every_spec_is_read_by_its_stage() -> None:
    for (stage, name), spec in specs(MINI).items():
        assert "\n" not in spec
        if stage == "run":
            assert RunSettings.parse(spec).name == name
        SETTINGS[stage].parse(spec)


def test_a_run_sees_only_its_own_switches() -> None:
    run = {name: json.loads(spec) for (stage, name), spec in specs(MINI).items() if stage == "run"}
    assert set(run["vanilla_rag"]["prompts"]) == {"answer"}
    assert set(run["ircot"]["prompts"]) == {"answer", "reason"}
    assert set(run["canopy_routed"]["prompts"]) == {"answer", "critic", "route"}
    assert set(run["no_iteration"]["prompts"]) == {"answer"}
    assert "k" not in run["no_retrieval"] and "tree" not in run["vanilla_rag"]
    assert "label" not in run["canopy"]["method"]


CRITICS = {"canopy", "canopy_routed", "no_compression", "frozen_encoder"}
COMPRESSED = {"canopy", "canopy_routed", "no_iteration", "frozen_encoder"}
TREES = {"preferences", "encoder", "decisions"}


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("jobs.threads", 4, lambda job: False),
        ("shards.runs", 3, lambda job: False),
        ("video.segment_seconds", 20, lambda job: job in {("video", ""), ("parse", "lvbench")}),
        ("index.wanted_recall", 0.9, lambda job: job[0] == "index"),
        ("index.kind", "ivf_sq", lambda job: job[0] in {"index-train", "index"}),
        ("tables.bootstrap", 500, lambda job: job[0] == "table" and job[1] not in {"corpus", "evidence"}),
        ("training.epochs", 5, lambda job: job[0] == "encoder"),
        ("reader.verdict_tokens", 30, lambda job: job[0] == "run" and job[1] in CRITICS),
        ("reader.route_tokens", 9, lambda job: job[0] == "run" and job[1] in {"universal_rag", "canopy_routed"}),
        ("tree.fan_out", 3, lambda job: job[0] in TREES or (job[0] == "run" and job[1] in COMPRESSED)),
        ("seed", 14, lambda job: job[0] in {"mini-raw", "index-train", "index", "encoder", "mini-reader", "table"}),
        ("mini_reader.epochs", 2, lambda job: job[0] == "mini-reader"),
    ],
)
def test_a_change_alters_the_specs_it_affects_and_no_others(
    path: str, value: Any, expected: Callable[[tuple[str, str]], bool]
) -> None:
    assert touched(path, value) == {job for job in specs(MINI) if expected(job)}


def test_a_label_alters_only_tables(tmp_path: Path) -> None:
    text = (ROOT / "config" / "methods.yaml").read_text()
    (tmp_path / "methods.yaml").write_text(text.replace("label: CANOPY\n", "label: Canopy!\n"))
    before = check_config(MINI, "test", methods_file(None))
    after = check_config(MINI, "test", methods_file(tmp_path / "mine.yaml"))
    assert stage_spec(before, "run", "canopy") == stage_spec(after, "run", "canopy")
    assert stage_spec(before, "table", "main") != stage_spec(after, "table", "main")
    assert stage_spec(before, "table", "corpus") == stage_spec(after, "table", "corpus")


@hypothesis.settings(max_examples=15)
@given(st.permutations(list(MINI)))
def test_order_of_keys_changes_nothing(keys: list[str]) -> None:
    assert specs({k: MINI[k] for k in keys}) == specs(MINI)


def test_spec_command_prints_what_the_workflow_passes(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(ROOT / "config" / "mini.yaml")
    assert main(["spec", "run", "--name", "canopy", "--config", path]) == 0
    assert capsys.readouterr().out.strip() == stage_spec(load_config(Path(path)), "run", "canopy")
    assert main(["spec", "run", "--name", "nothing", "--config", path]) == 2
    assert main(["spec", "cook", "--config", path]) == 2


def test_configuration_and_command_line_load_no_model_library() -> None:
    code = (
        "import sys, canopy.cli, canopy.config, canopy.specs, canopy.provenance;"
        "print([m for m in ('torch', 'transformers', 'faiss', 'av') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_table_rows_come_in_the_order_of_the_configuration() -> None:
    project = load_config(Path("config/mini.yaml"))
    rows = json.loads(stage_spec(project, "table", "tokens"))["methods"]
    assert tuple(rows) == (*project.config.methods, *project.config.ablations)
    assert tuple(rows) != tuple(sorted(rows)), "the configuration's order must differ from the alphabet's to show it"
