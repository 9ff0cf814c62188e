"""What is wrong with a configuration whose keys and types are right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from canopy.settings.encoder import DIMENSIONS
from canopy.settings.index import KINDS
from canopy.settings.project import Config
from canopy.settings.runs import MethodSettings

_ADAPTER = re.compile(r"package:[A-Za-z0-9_-]+\Z")


def packaged_adapter(adapter: str) -> Path:
    """The folder of the reader's adapter ``package:NAME``."""
    return Path(__file__).parents[1] / "models" / adapter.removeprefix("package:")


def faults(config: Config, known: Mapping[str, MethodSettings], methods: Path) -> Iterable[str]:
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


def _listed(known: Mapping[str, MethodSettings], ablations: bool) -> str:
    return ", ".join(n for n, m in known.items() if bool(m.ablates) == ablations) or "none"
