"""The text encoder: MiniLM, mean-pooled and L2-normalised, with an optional LoRA adapter."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModel, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from canopy.artefacts import sha256_file
from canopy.devices import encoder_device
from canopy.encoder.dtype import noted
from canopy.errors import UserError
from canopy.pinned import MINILM, pinned_file
from canopy.settings.encoder import EncoderSettings

ADAPTER_FILE = "adapter_model.safetensors"

# Batches are padded to whole multiples: few distinct shapes, which the kernels are compiled for one by one.
_WIDTH_STEP = 16


class TextEncoder:
    """Texts to unit vectors.

    Queries and items go through the frozen encoder, nodes through the frozen encoder with the
    adapter merged into it. Vectors are pooled and normalised in float32 whatever the dtype of the
    layers. Source: all-MiniLM-L6-v2 model card (mean over the attention mask, then L2 norm).

    Attributes:
        dim: length of a vector.
        dtype: ``float32`` or ``bfloat16``, of the layers.
        fingerprint: hash of weights, adapter, pooling, cut and dtype: equal fingerprints, equal vectors.
        forward_seconds: time spent inside forward passes so far.
        truncated: texts cut to ``max_tokens`` so far.
    """

    def __init__(self, model: torch.nn.Module, tokenizer: Any, settings: EncoderSettings, identity: str) -> None:
        """Use :meth:`load`; ``identity`` names weights and adapter in the fingerprint."""
        parameter = next(model.parameters())
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.settings = settings
        self.device = parameter.device
        self.dtype = str(parameter.dtype).removeprefix("torch.")
        self.dim = int(model.config.hidden_size)  # type: ignore[union-attr, arg-type]
        self.forward_seconds = 0.0
        self.truncated = 0
        parts = [identity, "mean", settings.max_tokens, self.dtype]
        self.fingerprint = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    @classmethod
    def load(cls, settings: EncoderSettings, adapter: Path | None = None, dtype: str | None = None) -> TextEncoder:
        """Load the pinned weights, from local files only.

        Args:
            settings: its ``dtype`` counts where the argument ``dtype`` is None. ``auto`` is the dtype
                noted with the adapter by the ``encoder`` stage, and float32 for the frozen encoder.
            adapter: directory of the ``encoder`` stage, or with any PEFT adapter of this model, to be
                merged into the weights; None for the frozen encoder.
            dtype: ``float32`` or ``bfloat16``.

        Raises:
            UserError: weights or adapter are missing, or the weights are not the pinned ones.
        """
        folder = pinned_file(MINILM).parent
        model = load_model(folder)
        identity = MINILM.sha256
        if adapter is not None:
            model = _merged(model, adapter)
            identity += sha256_file(adapter / ADAPTER_FILE)
        chosen = dtype or settings.dtype
        if chosen == "auto":
            chosen = noted(adapter, "fine_tuned") if adapter else "float32"
        model = model.to(device=encoder_device(), dtype={"float32": torch.float32, "bfloat16": torch.bfloat16}[chosen])
        return cls(model, load_tokenizer(folder), settings, identity)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts, each distinct text once.

        A text's vector does not depend on what is encoded with it (see :func:`same_width`).

        Returns:
            float32 [n, d], rows in the order of ``texts``, each of L2 norm 1.
        """
        distinct = list(dict.fromkeys(texts))
        row_of = {text: row for row, text in enumerate(distinct)}
        vectors = np.empty((len(distinct), self.dim), np.float32)
        for rows, batch in self.batches(distinct):
            vectors[rows] = self.forward(batch)
        return vectors[[row_of[text] for text in texts]]

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], dict[str, torch.Tensor]]]:
        """Tokenised batches, widest first: (rows of ``texts``, input tensors)."""
        tokens, cut = tokenize(self.tokenizer, texts, self.settings.max_tokens)
        self.truncated += cut
        for rows in same_width([len(ids) for ids in tokens], self.settings.batch_size):
            yield rows, padded([tokens[row] for row in rows])

    def forward(self, batch: dict[str, torch.Tensor]) -> NDArray[np.float32]:
        """One forward pass over a tokenised batch: float32 [batch, d], normalised."""
        started = time.perf_counter()
        with torch.inference_mode():
            vectors: NDArray[np.float32] = embed(self.model, batch, self.device).cpu().numpy()
        self.forward_seconds += time.perf_counter() - started
        return vectors


def load_model(folder: Path) -> torch.nn.Module:
    """The frozen encoder in float32."""
    disable_progress_bar()  # type: ignore[no-untyped-call]  # a bar over 0.1 s of reading
    model: torch.nn.Module = AutoModel.from_pretrained(
        folder, local_files_only=True, use_safetensors=True, dtype=torch.float32
    )
    return model.eval()


def load_tokenizer(folder: Path) -> Any:
    """The encoder's fast tokenizer."""
    return AutoTokenizer.from_pretrained(folder, local_files_only=True)


def tokenize(tokenizer: Any, texts: Sequence[str], max_tokens: int) -> tuple[list[list[int]], int]:
    """Token ids of each text, cut to ``max_tokens``, and how many texts were cut."""
    if not texts:
        return [], 0
    encodings = tokenizer(list(texts), truncation=True, max_length=max_tokens).encodings
    return [encoding.ids for encoding in encodings], sum(bool(encoding.overflowing) for encoding in encodings)


def same_width(lengths: Sequence[int], batch_size: int) -> Iterator[NDArray[np.int64]]:
    """Rows of batches in which all texts have one padded width, widest first.

    The width a text is padded to is its own and not its neighbours', since other widths change the
    last bits of a vector: 1e-7 in float32, but 1e-3 in bfloat16, enough to turn a decision.
    """
    widths = -(-np.asarray(lengths, np.int64) // _WIDTH_STEP)
    for width in np.unique(widths)[::-1]:
        rows = np.flatnonzero(widths == width)
        yield from (rows[at : at + batch_size] for at in range(0, len(rows), batch_size))


def padded(tokens: Sequence[list[int]], pad_id: int = 0) -> dict[str, torch.Tensor]:
    """Token lists as one right-padded batch with its attention mask: int64 [batch, width]."""
    width = -(-max(len(ids) for ids in tokens) // _WIDTH_STEP) * _WIDTH_STEP
    ids = np.full((len(tokens), width), pad_id, np.int64)
    mask = np.zeros((len(tokens), width), np.int64)
    for row, own in enumerate(tokens):
        ids[row, : len(own)] = own
        mask[row, : len(own)] = 1
    return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}


def embed(model: torch.nn.Module, batch: dict[str, torch.Tensor], device: torch.device) -> torch.Tensor:
    """Mean over the attention mask and L2 norm, both in float32: [batch, d]."""
    batch = {name: tensor.to(device) for name, tensor in batch.items()}
    hidden = model(**batch).last_hidden_state.float()
    mask = batch["attention_mask"].unsqueeze(-1).float()
    pooled = (hidden * mask).sum(1) / mask.sum(1)
    return torch.nn.functional.normalize(pooled, dim=-1)


def _merged(model: torch.nn.Module, adapter: Path) -> torch.nn.Module:
    from peft import PeftModel

    if not (adapter / ADAPTER_FILE).is_file():
        raise UserError(f"{adapter} has no {ADAPTER_FILE}: run the encoder stage, or give its directory")
    with_adapter = PeftModel.from_pretrained(model, str(adapter), is_trainable=False)
    merged: torch.nn.Module = with_adapter.merge_and_unload()
    return merged
