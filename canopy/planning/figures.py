"""The figures that a plan is computed from, each with its source: corpus sizes and throughputs.

Both are YAML files. The package's own hold all keys; a user's file names those that differ, each as a number or as
``{value: NUMBER, source: WORDS}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field

from canopy.config import read_config
from canopy.errors import ConfigError
from canopy.settings.base import Settings
from canopy.settings.project import Benchmark

DEFAULTS = Path(__file__).parent / "defaults"
DEVICES = ("cpu", "h100")

PlannedModality = Literal["text", "table", "image", "video"]
MeasuredStage = Literal[
    "mini_raw",
    "parse",
    "video",
    "corpus",
    "embed",
    "index_train",
    "index_add",
    "index",
    "preferences",
    "encoder",
    "decisions",
    "reader_model",
    "run",
    "metrics",
    "table",
]


class Figure(Settings):
    """A number and where it is from."""

    value: float = Field(ge=0, allow_inf_nan=False)
    source: str = Field(min_length=1, description="measured (where), assumed (why), or the file that states it")


class Rate(Figure):
    """A number that something is divided by."""

    value: float = Field(gt=0, allow_inf_nan=False)


class Sizes(Settings):
    """What there is to do; :func:`canopy.planning.work.used_sizes` leaves a configuration's own part of it."""

    items: dict[Benchmark, dict[PlannedModality, Figure]] = Field(description="videos: clips of video.clip_seconds")
    test_questions: dict[Benchmark, Figure]
    train_questions: dict[Benchmark, Figure] = Field(description="train and dev together")
    gold_a_question: Figure = Field(description="gold items a question")
    raw_bytes: dict[PlannedModality, Figure] = Field(description="bytes of raw text that is parsed for an item")
    stored_bytes: dict[PlannedModality, Figure] = Field(description="bytes of an item in items.parquet")
    frame_bytes: Figure = Field(description="bytes of a stored video frame")
    run_bytes: Figure = Field(description="bytes of predictions and trace, a question and method")
    item_tokens: Figure = Field(description="reader tokens of a whole item")
    kept_share: Figure = Field(description="share of an item's tokens that compression keeps")
    prompt_tokens: Figure = Field(description="reader tokens of instructions and question")
    mean_rounds: dict[str, Figure] = Field({}, description="method -> rounds a question; its most rounds if not given")

    def of(self, modality: str) -> float:
        """Items of a modality."""
        return sum(f.value for counts in self.items.values() for m, f in counts.items() if m == modality)

    @property
    def total(self) -> float:
        """All items."""
        return sum(f.value for counts in self.items.values() for f in counts.values())

    @property
    def questions(self) -> float:
        """All test questions."""
        return sum(f.value for f in self.test_questions.values())

    @property
    def learnt(self) -> float:
        """All train and dev questions."""
        return sum(f.value for f in self.train_questions.values())


class Throughput(Settings):
    """How fast a job of one device does it, and the memory that its process takes whatever the corpus."""

    parse_mb_s: Rate = Field(description="raw text, a parser")
    ocr_images_s: Rate = Field(description="images and video frames through text recognition")
    corpus_items_s: Rate = Field(description="items merged")
    embed_items_s: Rate = Field(description="items embedded")
    train_gflop_s: Rate = Field(description="GFLOP/s of training the index's lists")
    index_vectors_s: Rate = Field(description="vectors put into lists, a job")
    merge_vectors_s: Rate = Field(description="vectors whose ids and lists are merged")
    preferences_questions_s: Rate = Field(description="questions whose gold decisions are mined")
    train_questions_s: Rate = Field(description="questions the node encoder is trained on, evaluations included")
    refine_items_s: Rate = Field(description="items refined against a query")
    prefill_tokens_s: Rate = Field(description="reader tokens read")
    decode_tokens_s: Rate = Field(description="reader tokens written, over all prompts decoded together")
    search_queries_s: Rate = Field(description="queries searched")
    scan_items_s: Rate = Field(description="rows of items.parquet passed while a batch's items are read")
    metrics_questions_s: Rate = Field(description="answers scored")
    start_s: Figure = Field(description="seconds until a job with a model has loaded it")
    convert_s: Figure = Field(description="seconds to convert the reader's weights")
    memory_mb: dict[MeasuredStage, Figure] = Field(description="peak of a job, without what grows with the corpus")
    id_bytes: Figure = Field(description="memory of an item id while benchmarks are merged")
    index_id_bytes: Figure = Field(description="memory of an item id while the index is made, and its disk")


AnySettings = TypeVar("AnySettings", Sizes, Throughput)


def load_sizes(file: Path | None, known: Mapping[str, Any] | None = None) -> Sizes:
    """The paper's corpus, with what is known from elsewhere, and what ``file`` says instead.

    Raises:
        ConfigError: the file is not YAML, or names a key that there is not or a value out of range.
    """
    return _loaded(Sizes, DEFAULTS / "sizes.yaml", file, known)


def load_throughput(device: str, file: Path | None, measured: Mapping[str, Any] | None = None) -> Throughput:
    """The figures of a device: the package's, then those measured in a run, then those of ``file``.

    Args:
        device: one of :data:`DEVICES`.
        file: a YAML file of a user.
        measured: figures of a finished run (:func:`canopy.planning.measured.read_measured`).

    Raises:
        ConfigError: no such device, or a fault of the file.
    """
    if device not in DEVICES:
        raise ConfigError(f"--device {device}: there are {', '.join(DEVICES)}")
    return _loaded(Throughput, DEFAULTS / f"{device}.yaml", file, measured)


def listed(figures: Settings) -> Iterator[tuple[str, Figure]]:
    """All figures by their dotted names, in order."""
    for name in type(figures).model_fields:
        yield from _flat(name, getattr(figures, name))


def _flat(name: str, value: Any) -> Iterator[tuple[str, Figure]]:
    if isinstance(value, Figure):
        yield name, value
    else:
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner)


def _loaded(
    kind: type[AnySettings], defaults: Path, file: Path | None, measured: Mapping[str, Any] | None = None
) -> AnySettings:
    known = read_config(defaults)
    if not isinstance(known, dict):
        raise ConfigError(f"{defaults} is damaged: install canopy again")
    merged = _merged(known, measured or {})
    if file is None:
        return kind.check(merged, str(defaults))
    given = read_config(file)
    if not isinstance(given, dict):
        raise ConfigError(f"{file}: expected a mapping of figures, got {type(given).__name__}")
    return kind.check(_merged(merged, _sourced(given, str(file))), str(file))


def _sourced(given: Any, where: str) -> Any:
    """Plain numbers as figures that name their file."""
    if isinstance(given, Mapping):
        figure = "value" in given
        inside = {key: value if figure else _sourced(value, where) for key, value in given.items()}
        return {"source": f"stated in {where}", **inside} if figure else inside
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ConfigError(f"{where}: {given!r} is not a number: give NUMBER or {{value: NUMBER, source: WORDS}}")
    return {"value": given, "source": f"stated in {where}"}


def _merged(known: Mapping[Any, Any], given: Mapping[Any, Any]) -> dict[Any, Any]:
    merged = dict(known)
    for key, value in given.items():
        old = merged.get(key)
        nested = isinstance(old, Mapping) and isinstance(value, Mapping) and "value" not in value
        merged[key] = _merged(old, value) if nested and isinstance(old, Mapping) else value
    return merged
