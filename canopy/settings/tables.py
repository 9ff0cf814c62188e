"""Settings of metrics and tables."""

from __future__ import annotations

from pydantic import Field

from canopy.settings.base import Settings, Split
from canopy.settings.corpora import Questions, SampleSettings


class MetricsSettings(Settings):
    """Official scores of one run."""

    name: str


class TableSettings(Settings):
    """One table. All of these are printed on it; the workflow leaves out those that do not bear on its figures."""

    config: str
    seed: int
    k: int
    constructed: bool = Field(description="true: the corpus is constructed, and the table says so")
    methods: dict[str, str] = Field({}, description="method name -> label, in row order")
    ablations: dict[str, str] = Field({}, description="ablation name -> the method it is compared with")
    bootstrap: int = Field(10_000, ge=100, description="resamples of a 95% interval")
    benchmarks: tuple[str, ...] = Field((), description="those of the corpus; the table says which have no question")
    left_out: tuple[str, ...] = Field((), description="benchmarks of the configuration that have no raw files")
    sample: dict[str, SampleSettings] = Field({}, description="benchmark -> the part of it that is used")
    questions: Questions = "all"
    splits: dict[Split, Split] = Field({}, description="native split -> the split it is used as")
    reader: str = Field("", description="name of the reader model")
    adapter: str = Field("", description="of the reader: package:NAME, a folder, or none")
    encoder: str = Field("", description="name of the frozen encoder")
    node_encoder: str = Field("", description="trained: on this configuration's questions; or another's folder")
    node_encoder_constructed: bool = Field(False, description="true: another's, trained on a constructed corpus")
