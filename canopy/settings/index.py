"""Settings of the index."""

from __future__ import annotations

from pydantic import Field

from canopy.settings.base import Settings

# Kinds by name; any other value is a FAISS factory string.
KINDS = ("auto", "exact", "ivf_sq", "ivf_pq")


class IndexTrainSettings(Settings):
    """What decides how vectors are stored in the index, and on which of them it is trained."""

    kind: str = Field(
        "auto",
        min_length=1,
        description="auto (by corpus size), exact, ivf_sq (inverted lists of float16), ivf_pq (of product-quantised "
        "codes), or a FAISS factory string such as IVF65536_HNSW32,SQ8",
    )
    exact_below: int = Field(
        100_000, ge=1, description="items; fewer are searched exactly by `auto`, and so is a modality that has fewer"
    )
    compressed_from: int = Field(10_000_000, ge=1, description="items; from there on `auto` is ivf_pq, below it ivf_sq")
    recall_sample: int = Field(
        1000, ge=1, description="items left out of training, the queries on which recall@10 is tuned and measured"
    )
    seed: int = 13


class IndexSettings(IndexTrainSettings):
    """The index over all shards."""

    wanted_recall: float = Field(0.95, gt=0, le=1, description="recall@10 that nprobe is tuned to")
    nprobe: int | None = Field(None, ge=1, description="inverted lists visited a query; null: tuned")
    rescored: int = Field(
        8, ge=1, description="candidates an item wanted that compressed codes give, to be scored by stored vectors"
    )
