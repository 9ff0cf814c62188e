"""What the processor can do."""

from __future__ import annotations

import torch


def has_bfloat16(device: str = "cpu") -> bool:
    """Whether a device multiplies bfloat16 natively: a GPU that says so, a processor with AVX-512 BF16 or AMX."""
    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def encoder_device() -> str:
    """Where encoders run: the GPU when there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"
