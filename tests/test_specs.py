"""A stage sees the settings that can change its result, and no others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mini_config import MINI, ROOT, changed

from canopy.cli import main
from canopy.config import check_config, load_config, methods_file
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


def test_table_rows_come_in_the_order_of_the_configuration() -> None:
    project = load_config(Path("config/mini.yaml"))
    rows = json.loads(stage_spec(project, "table", "tokens"))["methods"]
    assert tuple(rows) == (*project.config.methods, *project.config.ablations)
    assert tuple(rows) != tuple(sorted(rows)), "the configuration's order must differ from the alphabet's to show it"
