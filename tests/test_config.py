"""A configuration is right, or one line says which key of which file is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from mini_config import MINI, ROOT, changed

from canopy.cli import main
from canopy.config import check_config, load_config, methods_file
from canopy.errors import ConfigError
from canopy.methods.registry import load_methods
from canopy.settings.shared import schema
from canopy.specs import stage_spec

CONFIGS = sorted(p for p in (ROOT / "config").glob("*.yaml") if p.name != "methods.yaml")


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


def test_configuration_and_command_line_load_no_model_library() -> None:
    code = (
        "import sys, canopy.cli, canopy.config, canopy.specs, canopy.provenance;"
        "print([m for m in ('torch', 'transformers', 'faiss', 'av') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
