"""The settings that can change a job's result, as one JSON string a job.

The workflow passes them as a parameter of each rule and as ``--spec`` on the command line, so that a
changed setting reruns the jobs that use it and no others. Display settings (labels) are left out
everywhere but in tables, prompts are named by their content and only where they are used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from canopy.config import methods_file, read_config
from canopy.errors import ConfigError
from canopy.prompts import prompt_digests
from canopy.settings.base import Settings
from canopy.settings.corpora import CorpusSettings
from canopy.settings.encoder import DecisionSettings, PreferenceSettings
from canopy.settings.faults import packaged_adapter
from canopy.settings.index import IndexTrainSettings
from canopy.settings.project import Config, Project
from canopy.settings.runs import MethodSettings, ReaderModelSettings, RunSettings
from canopy.settings.tables import MetricsSettings, TableSettings

STAGES = (
    *("mini-raw", "parse", "video", "corpus", "embed", "index-train", "index", "preferences", "encoder", "decisions"),
    *("reader-model", "mini-reader", "run", "metrics", "table"),
)
# Stages whose settings depend on one more name, and what that name is.
NAMED = {"parse": "benchmark", "run": "method", "metrics": "method", "table": "table"}
_TRAIN_KEYS = set(IndexTrainSettings.model_fields)
_OUTPUT_KEYS = {"critic": "verdict_tokens", "reason": "reason_tokens", "route": "route_tokens"}


def stage_spec(project: Project, stage: str, name: str = "") -> str:
    """The settings of one job as a JSON object on one line; its order is the configuration's.

    Args:
        project: the checked configuration.
        stage: one of :data:`STAGES`.
        name: the benchmark, method or table, for the stages in :data:`NAMED`.

    Raises:
        ConfigError: no such stage, or ``name`` is not in the configuration.
    """
    if stage not in STAGES:
        raise ConfigError(f"unknown stage {stage!r}; there are {', '.join(STAGES)}")
    _check_name(project, stage, name)
    return json.dumps(_settings(project, stage, name), ensure_ascii=False, separators=(",", ":"))


def table_names(project: Project) -> tuple[str, ...]:
    """The tables of a configuration, in the order in which they are read."""
    ablations = project.config.ablations
    overview = ("ablations", *(f"ablation_{a}" for a in ablations)) if ablations else ()
    return ("main", *overview, "decisions", "evidence", "tokens", "corpus")


def table_methods(project: Project, table: str) -> tuple[str, ...]:
    """The methods and ablations whose scores a table is made from, in row order."""
    config = project.config
    if table == "main":
        return config.methods
    if table in ("evidence", "tokens"):
        return (*config.methods, *config.ablations)
    if table.startswith("ablation"):
        named = config.ablations if table == "ablations" else (table.removeprefix("ablation_"),)
        bases = {project.methods[a].ablates for a in named}
        return (*(m for m in config.methods if m in bases), *named)
    return ()


def prompts_of(method: MethodSettings) -> tuple[str, ...]:
    """The prompts that a method shows to the reader.

    No follow-up is asked for after the last round, so a method of one round has none.
    """
    follow_up = {"none": "", "critic": "critic", "reasoning": "reason"}[method.follow_up] if method.rounds > 1 else ""
    return tuple(p for p in ("answer", follow_up, "route" if method.routing else "") if p)


def adapter_digest(adapter: str) -> str:
    """SHA-256 of the weights of an adapter that comes with the package; an empty string where there are none.

    Adapters in other folders are files that the workflow watches by itself.
    """
    weights = packaged_adapter(adapter) / "adapter_model.safetensors" if adapter.startswith("package:") else None
    return hashlib.sha256(weights.read_bytes()).hexdigest() if weights and weights.is_file() else ""


def _check_name(project: Project, stage: str, name: str) -> None:
    known: Mapping[str, tuple[str, ...]] = {
        "benchmark": project.config.benchmarks,
        "method": tuple(project.methods),
        "table": table_names(project),
    }
    kind = NAMED.get(stage)
    if kind is None and name:
        raise ConfigError(f"stage {stage} takes no name, got {name!r}")
    if kind is not None and name not in known[kind]:
        raise ConfigError(f"stage {stage} needs the name of a {kind}, got {name!r}; there are {', '.join(known[kind])}")


def _settings(project: Project, stage: str, name: str) -> dict[str, Any]:
    config = project.config
    fixed: dict[str, Settings | None] = {
        "mini-raw": config.raw.generate,
        "video": config.video,
        "corpus": CorpusSettings(benchmarks=config.benchmarks, questions=config.questions),
        "embed": config.embed,
        "index-train": IndexTrainSettings.model_validate(config.index.model_dump(include=_TRAIN_KEYS)),
        "index": config.index,
        "preferences": PreferenceSettings(tree=config.tree),
        "encoder": config.training,
        "decisions": DecisionSettings(encoder=config.encoder, tree=config.tree),
        "reader-model": ReaderModelSettings(model=config.reader.model),
        "mini-reader": config.mini_reader.model_copy(update={"prompts": prompt_digests()}),
    }
    if stage in fixed:
        settings = fixed[stage]
        if settings is None:
            raise ConfigError(f"stage {stage} is not part of {config.name}: its raw files are given, not made")
        return settings.model_dump(mode="json")
    if stage == "parse":
        # Only LVBench has the grid of segments; a changed grid leaves the others alone.
        unused = set() if name == "lvbench" else {"segment_seconds", "clip_seconds"}
        sample = config.sample.get(name)
        settings = config.parsing.model_copy(update={"sample": sample})
        return settings.model_dump(mode="json", exclude=unused if sample else {*unused, "sample", "questions", "seed"})
    if stage == "run":
        return _run(config, name, project.methods[name])
    if stage == "metrics":
        return MetricsSettings(name=name).model_dump(mode="json")
    return _table(project, name)


def _run(config: Config, name: str, method: MethodSettings) -> dict[str, Any]:
    prompts = prompts_of(method)
    settings = RunSettings(
        name=name,
        method=method,
        k=config.retrieval.k,
        question_batch=config.retrieval.question_batch,
        encoder=config.encoder,
        tree=config.tree,
        reader=config.reader,
        prompts=prompt_digests(prompts),
    ).model_dump(mode="json")
    for display in ("label", "ablates"):
        del settings["method"][display]
    for prompt, key in _OUTPUT_KEYS.items():
        if prompt not in prompts:
            del settings["reader"][key]
    if method.rounds == 0:
        del settings["k"], settings["encoder"]
    if method.compression == "none":
        del settings["tree"]
    return settings


def _table(project: Project, name: str) -> dict[str, Any]:
    config = project.config
    rows = table_methods(project, name)
    settings = TableSettings(
        config=config.name,
        seed=config.seed,
        k=config.retrieval.k,
        constructed=config.constructed,
        methods={m: project.methods[m].label or m for m in rows},
        ablations={m: project.methods[m].ablates for m in rows if project.methods[m].ablates},
        bootstrap=config.tables.bootstrap,
        benchmarks=config.benchmarks,
        left_out=project.left_out,
        sample={b: s for b, s in config.sample.items() if b in config.benchmarks},
        questions=config.questions,
        splits=config.parsing.splits,
        reader=config.reader.model,
        adapter=config.reader.adapter,
        encoder=config.encoder.model,
        node_encoder="trained" if config.encoder_folder == f"{config.results}/encoder" else config.node_encoder,
        node_encoder_constructed=_from_constructed(config),
    ).model_dump(mode="json")
    for unused in _unused(project, name, rows):
        del settings[unused]
    return settings


def _unused(project: Project, table: str, methods: tuple[str, ...]) -> tuple[str, ...]:
    """Settings that do not bear on a table's figures."""
    of_node_encoder = ("node_encoder", "node_encoder_constructed")
    if table == "corpus":
        return ("bootstrap", "reader", "adapter", "encoder", *of_node_encoder)
    if table == "decisions":
        return ("adapter",)
    needed = {need for m in methods for need in project.methods[m].needs}
    intervals = () if table != "evidence" else ("bootstrap",)
    return (
        *intervals,
        *(() if "index" in needed else ("encoder",)),
        *(() if "encoder" in needed else of_node_encoder),
    )


def _from_constructed(config: Config) -> bool:
    """Whether the node encoder is known to be of another of this project's configurations, a constructed one."""
    parts = Path(config.node_encoder).parts
    if len(parts) != 3 or (parts[0], parts[2]) != ("results", "encoder") or parts[1] == config.name:
        return False
    file = methods_file(None).with_name(f"{parts[1]}.yaml")
    other = read_config(file) if file.is_file() else None
    return isinstance(other, Mapping) and other.get("name") == parts[1] and other.get("constructed") is True
