"""Settings of the reader and of the runs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from canopy.settings.base import Settings
from canopy.settings.encoder import EncoderSettings, TreeSettings


class ReaderModelSettings(Settings):
    """Conversion of the embedded GGUF weights to safetensors."""

    model: Literal["smollm2-135m-instruct"] = "smollm2-135m-instruct"


class ReaderSettings(Settings):
    """The reader, which is also critic, router and reasoner."""

    model: Literal["smollm2-135m-instruct"] = "smollm2-135m-instruct"
    adapter: str = Field("package:mini_reader", description="package:NAME, a directory, or none")
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    context_tokens: int = Field(2048, ge=256, description="prompt and output together")
    batch_size: int = Field(16, ge=1, description="prompts that are decoded together")
    prefix_tokens: int = Field(
        60_000, ge=0, description="tokens of earlier prompts kept, so that shared beginnings are read once (23 KB each)"
    )
    answer_tokens: int = Field(24, ge=1, description="most new tokens of an answer")
    verdict_tokens: int = Field(128, ge=1)
    reason_tokens: int = Field(56, ge=1)
    route_tokens: int = Field(6, ge=1)


class MethodSettings(Settings):
    """One method of config/methods.yaml: switches over the one loop."""

    routing: bool = False
    rounds: int = Field(1, ge=0, le=10)
    compression: Literal["none", "frozen", "fine_tuned"] = "none"
    follow_up: Literal["none", "critic", "reasoning"] = "none"
    ablates: str = Field("", description="the method this one differs from by one switch; empty for a method")
    label: str = Field("", description="name in tables")

    @property
    def needs(self) -> tuple[str, ...]:
        """What a run reads besides corpus and reader: no index without rounds, an encoder only if it is fine-tuned."""
        needed = {"index": self.rounds > 0, "encoder": self.rounds > 0 and self.compression == "fine_tuned"}
        return tuple(name for name, is_needed in needed.items() if is_needed)


class RunSettings(Settings):
    """One method over one shard of the test questions."""

    name: str
    method: MethodSettings
    k: int = Field(10, ge=1, description="items retrieved a round")
    question_batch: int = Field(32, ge=1, description="questions run side by side; the journal's unit")
    encoder: EncoderSettings = EncoderSettings()
    tree: TreeSettings = TreeSettings()
    reader: ReaderSettings = ReaderSettings()
    prompts: dict[str, str] = Field({}, description="prompt name -> content digest; filled in, not configured")


class MiniReaderSettings(Settings):
    """Training of the small reader's adapter on the mini train split."""

    model: Literal["smollm2-135m-instruct"] = "smollm2-135m-instruct"
    seed: int = 13
    rank: int = Field(16, ge=1)
    alpha: int = Field(32, ge=1)
    learning_rate: float = Field(1e-3, gt=0)
    batch_size: int = Field(1, ge=1, description="states of evidence a step")
    epochs: int = Field(1, ge=1)
    max_examples: int = Field(900, ge=1, description="states of evidence, each with up to four prompts")
    max_tokens: int = Field(1536, ge=64, description="longer training prompts lose evidence from the end")
    prompts: dict[str, str] = Field({}, description="prompt name -> content digest; filled in, not configured")
