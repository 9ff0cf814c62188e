"""The sections of one configuration of the workflow, and the checked project that comes of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from canopy.settings.base import Settings
from canopy.settings.corpora import MiniRawSettings, ParseSettings, Questions, SampleSettings
from canopy.settings.encoder import EmbedSettings, EncoderSettings, TrainingSettings, TreeSettings
from canopy.settings.index import IndexSettings
from canopy.settings.runs import MethodSettings, MiniReaderSettings, ReaderSettings
from canopy.settings.video import VideoSettings

Benchmark = Literal["nq", "hotpotqa", "ottqa", "mmqa", "lvbench"]

MEDIA_BENCHMARKS = ("mmqa", "lvbench")


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
