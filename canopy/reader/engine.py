"""The reader in process: transformers on a CPU, greedy, in batches sorted by length."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

import canopy
from canopy.artefacts import read_manifest, sha256_file
from canopy.devices import has_bfloat16
from canopy.errors import UserError
from canopy.reader.decode import greedy
from canopy.reader.prefixes import Prefixes
from canopy.settings.runs import ReaderSettings

WEIGHTS = "model.safetensors"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
# ChatML without a system message: SmolLM2's own default one would cost 20 tokens a prompt.
_BEFORE = "<|im_start|>user\n"
_AFTER = "<|im_end|>\n<|im_start|>assistant\n"
_END = "<|im_end|>"


@dataclass(frozen=True, slots=True)
class Generation:
    """One output: its text, and tokens of the prompt (chat format included) and of the output."""

    text: str
    prompt_tokens: int
    new_tokens: int


class Engine(Protocol):
    """Anything that can be the reader.

    Attributes:
        fingerprint: changes whenever the same prompt could give other words.
        forward_seconds: wall time inside the model's forward passes so far.
    """

    fingerprint: str
    forward_seconds: float

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without any chat format."""
        ...

    def generate(self, prompts: Sequence[str], max_new_tokens: int) -> list[Generation]:
        """Greedy outputs in the order of the prompts."""
        ...

    def forget(self) -> None:
        """Drop what is kept of earlier prompts, so that outputs do not depend on them, to the last bit."""
        ...


class TransformersEngine:
    """A causal language model of the transformers library, in this process."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, settings: ReaderSettings, fingerprint: str
    ) -> None:
        """Use a loaded model; :func:`load_engine` is the usual way."""
        self.model: PreTrainedModel = model.eval()  # type: ignore[no-untyped-call]
        self.tokenizer = tokenizer
        self.settings = settings
        self.fingerprint = fingerprint
        self.forward_seconds = 0.0
        self._prefixes = Prefixes(settings.prefix_tokens)
        self._before, self._after = (tokenizer.encode(t, add_special_tokens=False) for t in (_BEFORE, _AFTER))
        self._end: int = tokenizer.encode(_END, add_special_tokens=False)[0]
        self._stops = {self._end, tokenizer.eos_token_id}
        self._time_forward()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without any chat format."""
        return [len(ids) for ids in self._encode(texts)]

    def chat_ids(self, messages: Sequence[str]) -> list[list[int]]:
        """Token ids of each user message in the chat format, ready for the assistant's words."""
        return [[*self._before, *ids, *self._after] for ids in self._encode(messages)]

    def completion_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of assistant outputs with the end mark, as training targets."""
        return [[*ids, self._end] for ids in self._encode(texts)]

    def generate(self, prompts: Sequence[str], max_new_tokens: int) -> list[Generation]:
        """Greedy outputs in the order of the prompts.

        Batches are cut from the prompts sorted by length, so they depend on this call's prompts alone.

        Raises:
            UserError: a prompt and its output do not fit the context.
        """
        ids = self.chat_ids(prompts)
        self._check_length(ids, max_new_tokens)
        order = sorted(range(len(ids)), key=lambda n: (-len(ids[n]), n))
        outputs: dict[int, list[int]] = {}
        for start in range(0, len(order), self.settings.batch_size):
            batch = order[start : start + self.settings.batch_size]
            new = greedy(self.model, [ids[n] for n in batch], max_new_tokens, self._stops, self._prefixes)
            outputs.update(zip(batch, new, strict=True))
        return [Generation(self._text(outputs[n]), len(ids[n]), len(outputs[n])) for n in range(len(ids))]

    def forget(self) -> None:
        """Drop the prompts read so far; their beginnings would be reused."""
        self._prefixes.forget()

    def _check_length(self, ids: Sequence[Sequence[int]], max_new_tokens: int) -> None:
        longest = max(map(len, ids), default=0)
        if longest + max_new_tokens > self.settings.context_tokens:
            raise UserError(
                f"a prompt of {longest} tokens and {max_new_tokens} new ones exceed reader.context_tokens = "
                f"{self.settings.context_tokens}: raise it, or build prompts with a smaller budget"
            )

    def _text(self, ids: list[int]) -> str:
        text = self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return str(text).strip()

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        if not texts:
            return []
        # Evidence is data: "<|im_end|>" inside it must not end the user's message.
        encoded = self.tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True)
        ids: list[list[int]] = encoded["input_ids"]
        return ids

    def _time_forward(self) -> None:
        started = 0.0

        def before(*_: Any) -> None:
            nonlocal started
            started = time.perf_counter()

        def after(*_: Any) -> None:
            self.forward_seconds += time.perf_counter() - started

        self.model.register_forward_pre_hook(before)
        self.model.register_forward_hook(after)


def load_engine(settings: ReaderSettings, model_dir: Path) -> TransformersEngine:
    """The reader with its adapter merged into the weights.

    Raises:
        UserError: the converted model or the adapter is missing, changed or does not fit.
    """
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    weights = read_manifest(model_dir)["files"].get(WEIGHTS)
    if not (model_dir / WEIGHTS).is_file() or sha256_file(model_dir / WEIGHTS) != weights:
        raise UserError(f"{model_dir / WEIGHTS} is not what its manifest says: remove {model_dir}, rerun reader-model")
    adapter = adapter_dir(settings.adapter)
    dtype = choose_dtype(settings.dtype, has_bfloat16())
    # Merged in float32 and rounded once.
    model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
        model_dir, dtype=torch.float32 if adapter else dtype, local_files_only=True, use_safetensors=True
    )
    if adapter:
        model = merge_adapter(model, adapter)
        torch.nn.Module.to(model, dtype)
    parts = {
        "model": weights,
        "adapter": sha256_file(adapter / ADAPTER_WEIGHTS) if adapter else "none",
        "dtype": str(dtype),
        "attention": model.config._attn_implementation,
        "torch": torch.__version__,
    }
    fingerprint = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
    tokenizer = AutoTokenizer.from_pretrained(model_dir, local_files_only=True)
    return TransformersEngine(model, tokenizer, settings, fingerprint)


def adapter_dir(adapter: str) -> Path | None:
    """Folder of an adapter: ``package:NAME``, a path, or None for ``none``.

    Raises:
        UserError: there is no adapter there.
    """
    if adapter == "none":
        return None
    name = adapter.removeprefix("package:")
    path = Path(canopy.__file__).parent / "models" / name if name != adapter else Path(adapter)
    if not (path / ADAPTER_WEIGHTS).is_file():
        raise UserError(
            f"reader.adapter {adapter!r}: {path} has no {ADAPTER_WEIGHTS}; train one with `canopy mini-reader`, or "
            "use none"
        )
    return path


def merge_adapter(model: PreTrainedModel, adapter: Path) -> PreTrainedModel:
    """The model with a LoRA adapter merged into its weights.

    Raises:
        UserError: the adapter does not fit the model.
    """
    from peft import PeftModel

    try:
        merged: PreTrainedModel = PeftModel.from_pretrained(model, adapter, local_files_only=True).merge_and_unload()
    except (RuntimeError, ValueError, KeyError, OSError) as error:
        raise UserError(f"the adapter in {adapter} does not fit the reader: {str(error).splitlines()[0]}") from error
    return merged


def choose_dtype(name: str, native: bool) -> torch.dtype:
    """The computing type; ``auto`` is bfloat16 only where the processor multiplies it natively, else float32."""
    if name == "auto":
        return torch.bfloat16 if native else torch.float32
    return {"float32": torch.float32, "bfloat16": torch.bfloat16}[name]
