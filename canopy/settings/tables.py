"""Settings of metrics and tables."""

from __future__ import annotations

from pydantic import Field

from canopy.settings.base import Settings


class MetricsSettings(Settings):
    """Official scores of one run."""

    name: str


class TableSettings(Settings):
    """One table. All of these are printed on it."""

    config: str
    seed: int
    k: int
    constructed: bool = Field(description="true: the corpus is constructed, and the table says so")
    methods: dict[str, str] = Field({}, description="method name -> label, in row order")
    ablations: dict[str, str] = Field({}, description="ablation name -> the method it is compared with")
    bootstrap: int = Field(10_000, ge=100, description="resamples of a 95% interval")
