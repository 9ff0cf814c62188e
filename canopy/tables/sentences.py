"""What a caption says of the models and of the corpus, from the settings alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from canopy.settings.tables import TableSettings

BENCHMARK_LABELS = {"nq": "NQ", "hotpotqa": "HotpotQA", "ottqa": "OTT-QA", "mmqa": "MMQA", "lvbench": "LVBench"}


def listed(names: Iterable[str]) -> str:
    """Benchmarks and splits as people list them: NQ, MMQA and LVBench."""
    *others, last = [BENCHMARK_LABELS.get(name, name) for name in names]
    return f"{', '.join(others)} and {last}" if others else last


def model_sentences(settings: TableSettings) -> Iterator[str]:
    """The reader and the encoders that the figures depend on."""
    if settings.adapter:
        yield f"Reader: {settings.reader} {_adapter(settings.adapter)}."
    if settings.encoder:
        yield f"Frozen encoder: {settings.encoder}."
    if settings.node_encoder == "trained":
        yield "Node encoder: fine-tuned on this configuration's train questions."
    elif settings.node_encoder_constructed and not settings.constructed:
        yield (
            "Node encoder: zero-shot, fine-tuned in another configuration on a constructed corpus "
            f"({settings.node_encoder})."
        )
    elif settings.node_encoder:
        yield (
            f"Node encoder: fine-tuned in another configuration ({settings.node_encoder}), so zero-shot here unless "
            "the two share questions."
        )


def corpus_sentences(settings: TableSettings) -> Iterator[str]:
    """What sets the corpus and its questions apart from the whole benchmarks; nothing where nothing does."""
    if settings.sample:
        yield _sample(settings)
    if settings.questions == "with_gold":
        yield "Only questions whose gold evidence is all in the corpus."
    for used in dict.fromkeys(settings.splits.values()):
        if native := [split for split, target in settings.splits.items() if target == used and split != used]:
            yield f"Native {listed(native)} questions serve as {used} questions."


def _adapter(adapter: str) -> str:
    if adapter == "none":
        return "without an adapter"
    if adapter.startswith("package:"):
        return f"with the adapter {adapter}, trained on the constructed mini corpus"
    return f"with the adapter in {adapter}"


def _sample(settings: TableSettings) -> str:
    sizes: dict[tuple[int, int], list[str]] = {}
    for benchmark, part in settings.sample.items():
        sizes.setdefault((part.questions, part.distractors), []).append(benchmark)
    parts = [
        f"at most {questions:,} questions a split and {distractors:,} distractors of {listed(names)}"
        for (questions, distractors), names in sizes.items()
    ]
    if whole := [b for b in settings.benchmarks if b not in settings.sample]:
        parts.append(f"{listed(whole)} whole")
    return f"The corpus is a sample, easier to retrieve from than the whole: {'; '.join(parts)}."
