"""Settings of embedding, region trees and encoder training."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from canopy.settings.base import Settings

# Dimensions of the vectors of each model.
DIMENSIONS = {"minilm": 384}


class EncoderSettings(Settings):
    """The frozen encoder, used for queries, items and (with an adapter) nodes."""

    model: Literal["minilm"] = "minilm"
    max_tokens: int = Field(256, ge=8, le=512, description="longer texts are cut, and counted")
    batch_size: int = Field(32, ge=1, description="texts a forward pass")
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="auto: bfloat16 where the processor has it and decisions agree with float32"
    )


class EmbedSettings(Settings):
    """One shard of item embeddings."""

    encoder: EncoderSettings = EncoderSettings()
    store: Literal["float16", "float32"] = "float32"


class TreeSettings(Settings):
    """Region trees (DESIGN section 4)."""

    fan_out: int = Field(2, ge=2, description="children of a split range")


class PreferenceSettings(Settings):
    """Gold parent-child decisions."""

    tree: TreeSettings = TreeSettings()


class TrainingSettings(Settings):
    """LoRA fine-tuning of the node encoder on gold preferences."""

    encoder: EncoderSettings = EncoderSettings()
    tree: TreeSettings = TreeSettings()
    seed: int = 13
    rank: int = Field(16, ge=1)
    alpha: int = Field(32, ge=1)
    layers: int = Field(3, ge=1, le=6, description="upper layers that get an adapter; backward passes end below them")
    learning_rate: float = Field(2e-3, gt=0)
    temperature: float = Field(0.05, gt=0)
    epochs: int = Field(2, ge=1)
    batch_questions: int = Field(8, ge=1)
    max_questions: int = Field(400, ge=1, description="train questions used, a seeded sample")
    patience: int = Field(2, ge=1, description="dev evaluations without improvement before stopping")
    evaluations_per_epoch: int = Field(2, ge=1)


class DecisionSettings(Settings):
    """Frozen against fine-tuned decisions on the test questions' gold items."""

    encoder: EncoderSettings = EncoderSettings()
    tree: TreeSettings = TreeSettings()
