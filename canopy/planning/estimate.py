"""Jobs, time, disk and memory of every stage of a configuration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from canopy.planning.figures import Sizes, Throughput
from canopy.planning.vectors import NUMBER_BYTES, in_parts, layout
from canopy.planning.work import reader_work
from canopy.settings.project import Benchmark, Config, Project
from canopy.settings.runs import MethodSettings
from canopy.specs import table_names

_MB = 1e6
# As in canopy.index.add: vectors that an index_add job holds at a time.
_VECTORS_A_FILE = 32_768
# Rules whose memory and time are not those of the configuration's `jobs`: (MB, minutes).
_FIXED = {"mini_raw": (1000, 30), "metrics": (1000, 30), "table": (1000, 30)}


@dataclass(frozen=True)
class Estimate:
    """What one stage takes.

    Attributes:
        stage: the rule; for runs also the method.
        jobs: how many.
        seconds: of all jobs together.
        longest: seconds of the longest job.
        gpus: a job holds.
        threads: a job uses.
        disk: bytes that stay on disk.
        memory_mb: peak of a job.
        asked_mb: memory that a job asks for at its first attempt.
        asked_minutes: the same for its time.
    """

    stage: str
    jobs: int
    seconds: float
    longest: float
    gpus: int
    threads: int
    disk: float
    memory_mb: float
    asked_mb: int
    asked_minutes: int

    @property
    def gpu_hours(self) -> float:
        """Hours that GPUs are held."""
        return self.seconds * self.gpus / 3600

    @property
    def cpu_hours(self) -> float:
        """Hours that processor threads are held."""
        return self.seconds * self.threads / 3600


def estimates(project: Project, sizes: Sizes, rates: Throughput) -> list[Estimate]:
    """What each stage of a configuration takes, in pipeline order.

    Args:
        project: the configuration.
        sizes: what it has to do (:func:`canopy.planning.work.used_sizes`).
        rates: how fast that is done.
    """
    return list(_Planner(project, sizes, rates).stages())


class _Planner:
    def __init__(self, project: Project, sizes: Sizes, rates: Throughput) -> None:
        self.project = project
        self.config: Config = project.config
        self.sizes = sizes
        self.rates = rates
        self.layout = layout(self.config, sizes.total)

    def stages(self) -> Iterator[Estimate]:
        if self.config.raw.generate is not None:
            yield self._one("mini_raw", self.sizes.total / self.rates.corpus_items_s.value, disk=self._raw_bytes())
        yield self._parse()
        if self.config.media_benchmarks:
            yield self._video()
        yield self._corpus()
        if any("index" in method.needs for method in self.project.methods.values()):
            yield self._embed()
            yield from self._index()
        asked = self.sizes.questions + self.sizes.learnt
        mining = asked / self.rates.preferences_questions_s.value
        mined_in = self.config.shards.preferences
        yield self._made("preferences", mined_in, mining, mining / mined_in)
        if self.config.node_encoder == "trained":
            yield self._encoder()
        pairs = self.sizes.questions * self.sizes.gold_a_question.value
        # Each gold item by two encoders, the frozen and the fine-tuned one.
        yield self._one("decisions", 2 * pairs / self.rates.refine_items_s.value, model=True)
        yield self._one("reader_model", self.rates.convert_s.value, disk=_READER_BYTES)
        for name, method in self.project.methods.items():
            yield self._run(name, method)
        yield self._metrics()
        tables = len(table_names(self.project))
        yield self._made("table", tables, tables * 2.0, 2.0)

    def _parse(self) -> Estimate:
        each = [self._raw_bytes(b) / _MB / self.rates.parse_mb_s.value for b in self.config.benchmarks]
        return self._made("parse", len(each), sum(each), max(each), disk=self._stored_bytes())

    def _video(self) -> Estimate:
        video = self.config.video
        frames = self.sizes.of("video") * (video.clip_seconds / video.segment_seconds) * video.frames_per_segment
        read = (self.sizes.of("image") + frames) if video.text != "none" else 0.0
        disk = frames * self.sizes.frame_bytes.value
        return self._one("video", read / self.rates.ocr_images_s.value, disk=disk, training=True)

    def _corpus(self) -> Estimate:
        total = self.sizes.total
        memory = total * self.rates.id_bytes.value / _MB
        return self._one("corpus", total / self.rates.corpus_items_s.value, disk=self._stored_bytes(), memory_mb=memory)

    def _embed(self) -> Estimate:
        shards = self.config.shards.embeddings
        seconds = self.sizes.total / self.rates.embed_items_s.value + shards * self.rates.start_s.value
        disk = self.sizes.total * self.layout.dim * NUMBER_BYTES[self.config.embed.store]
        return self._made("embed", shards, seconds, seconds / shards, disk=disk, model=True, training=True)

    def _index(self) -> Iterator[Estimate]:
        vectors, made, rates = self.sizes.total, self.layout, self.rates
        training = made.training_gflop / rates.train_gflop_s.value
        adding = vectors / rates.index_vectors_s.value if made.lists else 0.0
        merging = vectors / rates.merge_vectors_s.value
        ids = vectors * rates.index_id_bytes.value
        centroids = made.centroid_bytes / _MB
        parts = in_parts(self.config)
        if parts:
            yield self._one("index_train", training, memory_mb=centroids, training=True)
            shards = self.config.shards.embeddings
            memory = centroids + _VECTORS_A_FILE * made.dim * NUMBER_BYTES["float32"] / _MB
            yield self._made("index_add", shards, adding, adding / shards, memory_mb=memory, training=True)
        else:
            merging += training + adding
        memory = (made.search_bytes + ids) / _MB
        yield self._one("index", merging, disk=made.index_bytes + ids, memory_mb=memory, training=parts)

    def _encoder(self) -> Estimate:
        questions = min(self.config.training.max_questions, self.sizes.learnt) * self.config.training.epochs
        return self._one("encoder", questions / self.rates.train_questions_s.value, model=True, training=True)

    def _run(self, name: str, method: MethodSettings) -> Estimate:
        each, questions = reader_work(self.config, name, method, self.sizes), self.sizes.questions
        rates, shards = self.rates, self.config.shards.runs
        # A batch's items are read in one pass over the corpus.
        batches = shards * math.ceil(questions / shards / self.config.retrieval.question_batch)
        seconds = (
            questions * each.read / rates.prefill_tokens_s.value
            + questions * each.written / rates.decode_tokens_s.value
            + questions * each.refined / rates.refine_items_s.value
            + questions * each.searches / rates.search_queries_s.value
            + batches * each.searches * self.sizes.total / rates.scan_items_s.value
            + shards * rates.start_s.value
        )
        return self._made(
            f"run {name}",
            shards,
            seconds,
            seconds / shards,
            disk=questions * self.sizes.run_bytes.value,
            memory_mb=self.layout.search_bytes / _MB if "index" in method.needs else 0.0,
            model=True,
        )

    def _metrics(self) -> Estimate:
        each = self.sizes.questions / self.rates.metrics_questions_s.value
        methods = len(self.project.methods)
        return self._made("metrics", methods, methods * each, each)

    def _one(
        self,
        stage: str,
        seconds: float,
        *,
        disk: float = 0.0,
        memory_mb: float = 0.0,
        model: bool = False,
        training: bool = False,
    ) -> Estimate:
        seconds += self.rates.start_s.value if model else 0.0
        return self._made(stage, 1, seconds, seconds, disk=disk, memory_mb=memory_mb, model=model, training=training)

    def _made(
        self,
        stage: str,
        jobs: int,
        seconds: float,
        longest: float,
        *,
        disk: float = 0.0,
        memory_mb: float = 0.0,
        model: bool = False,
        training: bool = False,
    ) -> Estimate:
        rule, asked = stage.split()[0], self.config.jobs
        mb, minutes = _FIXED.get(rule, (asked.mem_mb, asked.runtime))
        known = {str(name): figure.value for name, figure in self.rates.memory_mb.items()}
        return Estimate(
            stage=stage,
            jobs=jobs,
            seconds=seconds,
            longest=longest,
            gpus=asked.gpus if model else 0,
            threads=asked.training_threads if training else asked.threads,
            disk=disk,
            memory_mb=known[rule] + memory_mb,
            asked_mb=mb,
            asked_minutes=minutes,
        )

    def _raw_bytes(self, benchmark: Benchmark | None = None) -> float:
        wanted = [benchmark] if benchmark else list(self.config.benchmarks)
        sizes = {str(m): f.value for m, f in self.sizes.raw_bytes.items()}
        return sum(f.value * sizes[m] for b in wanted for m, f in self.sizes.items[b].items())

    def _stored_bytes(self) -> float:
        sizes = {str(m): f.value for m, f in self.sizes.stored_bytes.items()}
        return sum(self.sizes.of(modality) * size for modality, size in sizes.items())


# SmolLM2-135M in bfloat16, the only reader there is.
_READER_BYTES = 271e6
