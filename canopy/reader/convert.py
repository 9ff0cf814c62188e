"""The stage ``reader-model``: embedded GGUF weights to bfloat16 safetensors, once.

A GGUF file takes about 15 s to dequantise at every load; the converted folder loads in under a second.
"""

from __future__ import annotations

from pathlib import Path

from canopy.artefacts import build
from canopy.pinned import SMOLLM2, pinned_file
from canopy.settings.runs import ReaderModelSettings


def run(settings: ReaderModelSettings, out: Path) -> None:
    """Write ``model.safetensors`` (bfloat16), the model's configuration and its tokenizer to ``out``.

    Raises:
        UserError: the embedded weights are missing or not the pinned ones.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    gguf = pinned_file(SMOLLM2)
    with build(out, "reader-model", settings.model_dump(mode="json"), [gguf]) as artefact:
        model = AutoModelForCausalLM.from_pretrained(
            gguf.parent,
            gguf_file=gguf.name,
            quantization_config=GgufConfig(dequantize=True),
            dtype=torch.bfloat16,
            local_files_only=True,
        )
        model.save_pretrained(artefact.path)
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name, local_files_only=True)
        tokenizer.save_pretrained(artefact.path)
        artefact.facts["parameters"] = sum(p.numel() for p in model.parameters())
