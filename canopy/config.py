"""The configuration of one run of the workflow, and the part of it that each stage sees.

A configuration is a YAML file with the sections of :class:`Config`. Settings that several stages
share (``seed``, ``encoder``, ``tree``, the video grid) are given once and handed to every stage that
uses them. :func:`stage_spec` prints, for one job, only the settings that can change its result: it is a
parameter of the job's rule, so that a change reruns the stages it affects and no others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from canopy.downloads.folders import without_files
from canopy.errors import ConfigError
from canopy.methods.registry import load_methods
from canopy.settings.base import Settings
from canopy.settings.corpora import MiniRawSettings, ParseSettings, Questions, SampleSettings
from canopy.settings.encoder import (
    DIMENSIONS,
    EmbedSettings,
    EncoderSettings,
    TrainingSettings,
    TreeSettings,
)
from canopy.settings.index import KINDS, IndexSettings
from canopy.settings.runs import MethodSettings, MiniReaderSettings, ReaderSettings
from canopy.settings.video import VideoSettings
from canopy.yaml_file import read_yaml

Benchmark = Literal["nq", "hotpotqa", "ottqa", "mmqa", "lvbench"]

MEDIA_BENCHMARKS = ("mmqa", "lvbench")
METHODS_FILE = "methods.yaml"
_ADAPTER = re.compile(r"package:[A-Za-z0-9_-]+\Z")
# Section -> keys that it takes from elsewhere in the configuration: (key, where it is given).
SHARED: dict[str, tuple[tuple[str, str], ...]] = {
    "parsing": (
        ("segment_seconds", "video.segment_seconds"),
        ("clip_seconds", "video.clip_seconds"),
        ("sample", "sample.BENCHMARK"),
        ("questions", "questions"),
        ("seed", "seed"),
    ),
    "embed": (("encoder", "encoder"),),
    "index": (("seed", "seed"),),
    "training": (("encoder", "encoder"), ("tree", "tree"), ("seed", "seed")),
    "mini_reader": (("model", "reader.model"), ("seed", "seed"), ("prompts", "")),
    "raw.generate": (("seed", "seed"),),
}


class RawSource(Settings):
    """Where raw files come from: exactly one of the two."""

    generate: MiniRawSettings | None = Field(None, description="make the constructed mini corpus")
    root: str | None = Field(
        None, description="folder with one folder a benchmark of raw files, relative to the working directory"
    )
    absent: Literal["stop", "leave_out"] = Field(
        "stop", description="a benchmark without files under the root: stop, or go on without it, with a notice"
    )


class Retrieval(Settings):
    """What a round retrieves, and how questions are batched."""

    k: int = Field(10, ge=1, description="items retrieved a round (10 in the paper)")
    question_batch: int = Field(32, ge=1, description="questions run side by side; what a killed job loses at most")


class Shards(Settings):
    """How many jobs a stage is scattered over. Results do not depend on it."""

    embeddings: int = Field(1, ge=1)
    preferences: int = Field(1, ge=1)
    runs: int = Field(1, ge=1, description="jobs a method, each with all benchmarks' questions")


class Tables(Settings):
    """How tables are made."""

    bootstrap: int = Field(10_000, ge=100, description="resamples of a 95% interval")


class Jobs(Settings):
    """What a job may use. Changes rerun nothing."""

    threads: int = Field(1, ge=1, description="CPU threads of a job that reads, merges, indexes or runs a method")
    training_threads: int = Field(2, ge=1, description="CPU threads of a job that trains, embeds or reads images")
    gpus: int = Field(0, ge=0, description="GPUs of a job with a model in it")
    gpu_model: str = Field("", pattern=r"^[A-Za-z0-9_.]*$", description="which GPUs, as the cluster names them; any")
    mem_mb: int = Field(3000, ge=500, description="memory of a job with a model in it, in MB, times its attempt")
    runtime: int = Field(120, ge=1, description="longest time of a job, in minutes, times its attempt")


class Config(Settings):
    """One configuration: a corpus, the methods run on it, and the settings of every stage."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", description="results go to results/<name>")
    constructed: bool = Field(description="true: the corpus is constructed, and every table says so")
    seed: int = Field(13, description="of everything that is drawn by chance")
    raw: RawSource
    benchmarks: tuple[Benchmark, ...] = Field(min_length=1)
    methods: tuple[str, ...] = Field(min_length=1, description="names in methods.yaml")
    ablations: tuple[str, ...] = Field((), description="names in methods.yaml")
    retrieval: Retrieval = Retrieval()
    shards: Shards = Shards()
    questions: Questions = Field(
        "all", description="with_gold: leave out, and count, questions whose gold evidence is not all in the corpus"
    )
    sample: dict[str, SampleSettings] = Field(
        {}, description="benchmark -> the part of it that is used; others are used whole"
    )
    parsing: ParseSettings = ParseSettings()
    video: VideoSettings = VideoSettings()
    encoder: EncoderSettings = EncoderSettings()
    tree: TreeSettings = TreeSettings()
    embed: EmbedSettings = EmbedSettings()
    index: IndexSettings = IndexSettings()
    training: TrainingSettings = TrainingSettings()
    node_encoder: str = Field(
        "trained", description="trained on this configuration's questions; or another's folder: results/mini/encoder"
    )
    reader: ReaderSettings = ReaderSettings()
    mini_reader: MiniReaderSettings = MiniReaderSettings()
    tables: Tables = Tables()
    jobs: Jobs = Jobs()

    @property
    def results(self) -> str:
        """The folder of all results of this configuration, relative to the working directory."""
        return f"results/{self.name}"

    @property
    def encoder_folder(self) -> str:
        """The folder of the fine-tuned node encoder."""
        return f"{self.results}/encoder" if self.node_encoder == "trained" else self.node_encoder

    @property
    def media_benchmarks(self) -> tuple[str, ...]:
        """The benchmarks with images or videos, which go through the video stage."""
        return tuple(b for b in self.benchmarks if b in MEDIA_BENCHMARKS)


class Project(Settings):
    """A checked configuration with the methods that it names."""

    config: Config
    methods: dict[str, MethodSettings] = Field(description="methods then ablations, in the configuration's order")
    left_out: tuple[str, ...] = Field((), description="benchmarks of the configuration that have no raw files")


def load_config(path: Path) -> Project:
    """Read and check a configuration file, with the ``methods.yaml`` beside it.

    Raises:
        ConfigError: one line that names the file, the key and the fault.
    """
    return check_config(read_config(path), str(path), methods_file(path))


def read_config(path: Path) -> object:
    """The plain data of a configuration file, in which no key is given twice.

    Raises:
        ConfigError: there is no such file, or it is not such YAML, see :func:`canopy.yaml_file.read_yaml`.
    """
    return read_yaml(path)


def methods_file(config: Path | None) -> Path:
    """The ``methods.yaml`` beside a configuration file, else the project's own."""
    beside = config.parent / METHODS_FILE if config else None
    return beside if beside and beside.is_file() else Path(__file__).parents[1] / "config" / METHODS_FILE


def named_config(name: str) -> Path:
    """The file of a configuration given by its path or, like ``mini``, by its name."""
    path = Path(name)
    return path if path.suffix in (".yaml", ".yml") else Path("config") / f"{name}.yaml"


def packaged_adapter(adapter: str) -> Path:
    """The folder of the reader's adapter ``package:NAME``."""
    return Path(__file__).parent / "models" / adapter.removeprefix("package:")


def check_config(raw: object, where: str, methods: Path) -> Project:
    """Check plain data as a configuration.

    Args:
        raw: what the YAML file holds.
        where: the file, for error messages.
        methods: the file of the methods.

    Raises:
        ConfigError: an unknown key, a wrong type or a wrong value, or an adapter that is not there.
    """
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{where}: expected a mapping of sections, got {type(raw).__name__}")
    fault = _given_twice(raw)
    if fault:
        raise ConfigError(f"{where}: {fault}")
    Config.check(raw, where)  # as it was written, so that a fault is told once
    config = Config.check(_fill(raw), where)
    known = load_methods(methods)
    for fault in _faults(config, known, methods):
        raise ConfigError(f"{where}: {fault}")
    absent = _absent(config, where)
    present = tuple(b for b in config.benchmarks if b not in absent)
    return Project(
        config=config.model_copy(update={"benchmarks": present}),
        methods={n: known[n] for n in (*config.methods, *config.ablations)},
        left_out=absent,
    )


def check_encoder_folder(config: Config) -> None:
    """Check that a node encoder that comes from elsewhere is there.

    Raises:
        ConfigError: the folder is not one of stage ``encoder``.
    """
    folder = Path(config.encoder_folder)
    if config.node_encoder != "trained" and not (folder / "manifest.json").is_file():
        raise ConfigError(
            f"node_encoder: {folder} is not the folder of a trained encoder: make it with the configuration that it "
            f"belongs to, as in `snakemake --cores 2 results/mini/encoder/manifest.json --configfile config/mini.yaml`"
        )


def schema() -> dict[str, Any]:
    """The JSON schema of a configuration file, without the keys that are filled in from elsewhere."""
    made = Config.model_json_schema()
    for section, shared in SHARED.items():
        properties = _schema_of(made, section)
        for key, _ in shared:
            del properties[key]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def _schema_of(made: dict[str, Any], section: str) -> dict[str, Any]:
    node = made
    for part in section.split("."):
        node = node["properties"][part]
        options = node.get("anyOf", [node])
        reference = next(o["$ref"] for o in options if "$ref" in o)
        node = made["$defs"][reference.rsplit("/", 1)[1]]
    properties: dict[str, Any] = node["properties"]
    return properties


def _at(raw: Any, dotted: str) -> Any:
    for part in dotted.split("."):
        raw = raw.get(part) if isinstance(raw, Mapping) else None
    return raw


def _given_twice(raw: Mapping[Any, Any]) -> str:
    for section, shared in SHARED.items():
        given = _at(raw, section)
        for key, source in shared if isinstance(given, Mapping) else ():
            if key in given:
                return f"{section}.{key}: not set here" + (f", set `{source}`" if source else "; it is filled in")
    return ""


def _fill(raw: Mapping[Any, Any]) -> dict[Any, Any]:
    """``raw`` with the shared keys put into every section that takes them."""
    filled: dict[Any, Any] = json.loads(json.dumps(raw, default=str))
    for section, shared in SHARED.items():
        *parents, last = section.split(".")
        outer = _at(filled, parents[0]) if parents else filled
        if not isinstance(outer, dict) or (parents and last not in outer):
            continue
        inner = outer.setdefault(last, {})
        for key, source in shared if isinstance(inner, dict) else ():
            value = _at(filled, source) if source else None
            if value is not None:
                inner[key] = value
    return filled


def _faults(config: Config, known: Mapping[str, MethodSettings], methods: Path) -> Iterable[str]:
    """What a schema cannot see, in the order in which a user would mend it."""
    for key in ("benchmarks", "methods", "ablations"):
        names = getattr(config, key)
        repeated = sorted({n for n in names if names.count(n) > 1})
        if repeated:
            yield f"{key}: {', '.join(repeated)} is given twice"
    for name in config.methods:
        if name not in known or known[name].ablates:
            yield f"methods: unknown method {name!r}; {methods} has {_listed(known, ablations=False)}"
    for name in config.ablations:
        if name not in known or not known[name].ablates:
            yield f"ablations: unknown ablation {name!r}; {methods} has {_listed(known, ablations=True)}"
        elif known[name].ablates not in config.methods:
            yield f"ablations: {name} is compared with {known[name].ablates}, which is not among the methods"
    for benchmark in config.sample:
        if benchmark not in config.benchmarks:
            yield f"sample.{benchmark}: {benchmark} is not among the benchmarks"
    if config.video.clip_seconds % config.video.segment_seconds:
        yield (
            f"video.clip_seconds: {config.video.clip_seconds} is not a whole number of segments "
            f"of {config.video.segment_seconds} s (video.segment_seconds)"
        )
    longest = max(config.reader.answer_tokens, config.reader.verdict_tokens, config.reader.reason_tokens)
    if longest * 2 > config.reader.context_tokens:
        yield f"reader.context_tokens: {config.reader.context_tokens} leaves no room beside {longest} new tokens"
    yield from _index_faults(config)
    yield from _adapter_faults(config)
    yield from _raw_faults(config)


def _index_faults(config: Config) -> Iterable[str]:
    if config.index.kind not in KINDS:
        from canopy.index.spec import check_factory  # FAISS is loaded only for its own factory strings

        yield from check_factory(config.index.kind, DIMENSIONS[config.encoder.model])
    if config.index.compressed_from < config.index.exact_below:
        yield (
            f"index.compressed_from: {config.index.compressed_from} is below index.exact_below "
            f"({config.index.exact_below}): codes are compressed only where search is not exact"
        )


def _adapter_faults(config: Config) -> Iterable[str]:
    adapter = config.reader.adapter
    if adapter.startswith("package:"):
        if not _ADAPTER.match(adapter) or not packaged_adapter(adapter).is_dir():
            yield f"reader.adapter: the package has no adapter {adapter!r}"
    elif adapter != "none" and adapter != f"{config.results}/mini-reader" and not Path(adapter).is_dir():
        yield f"reader.adapter: {adapter} is not a folder; give package:NAME, a folder with an adapter, or none"


def _raw_faults(config: Config) -> Iterable[str]:
    if (config.raw.generate is None) == (config.raw.root is None):
        yield "raw: give exactly one of `generate` (the mini corpus) and `root` (a folder of raw files)"
    if config.raw.generate is not None and not config.constructed:
        yield "constructed: must be true for a generated corpus"
    if config.raw.generate and config.raw.generate.video_minutes[0] > config.raw.generate.video_minutes[1]:
        yield "raw.generate.video_minutes: the shortest is longer than the longest"


def _absent(config: Config, where: str) -> tuple[str, ...]:
    """The benchmarks to go on without."""
    if config.raw.root is None or config.raw.absent == "stop":
        return ()
    absent = without_files(config.raw.root, config.benchmarks)
    if len(absent) == len(config.benchmarks):
        raise ConfigError(
            f"{where}: raw.root: no benchmark has files under {config.raw.root}/<benchmark>: fetch some, as in "
            f"`canopy download {absent[0]} --root {config.raw.root}`, or copy them there (docs/raw.md)"
        )
    return absent


def _listed(known: Mapping[str, MethodSettings], ablations: bool) -> str:
    return ", ".join(n for n, m in known.items() if bool(m.ablates) == ablations) or "none"
