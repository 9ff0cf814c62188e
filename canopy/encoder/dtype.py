"""Whether bfloat16 decides like float32: measured on dev decisions, noted with the adapter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from canopy.artefacts import MANIFEST
from canopy.devices import encoder_device, has_bfloat16

Dtype = Literal["float32", "bfloat16"]

# Share of decisions that must be the same in bfloat16 as in float32.
LEAST_AGREEMENT = 0.995


def chosen(agreement: float | None) -> Dtype:
    """The dtype for a measured agreement; None (not measured, no native bfloat16) is float32."""
    return "bfloat16" if agreement is not None and agreement >= LEAST_AGREEMENT else "float32"


def noted(encoder: Path, nodes: Literal["frozen", "fine_tuned"]) -> Dtype:
    """The dtype that the ``encoder`` stage chose; float32 where it left no note, or without native bfloat16."""
    try:
        facts = json.loads((encoder / MANIFEST).read_text(encoding="utf-8"))["facts"]
        found = facts["dtype"][nodes]
    except (OSError, ValueError, KeyError, TypeError):
        return "float32"
    return "bfloat16" if found == "bfloat16" and has_bfloat16(encoder_device()) else "float32"
