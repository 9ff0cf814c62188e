"""The mini configuration as plain data, and copies of it with one key changed."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
MINI: dict[str, Any] = yaml.safe_load((ROOT / "config" / "mini.yaml").read_text())


def changed(path: str, value: Any) -> dict[str, Any]:
    """The mini configuration with another value at a dotted path."""
    raw = copy.deepcopy(MINI)
    *parents, last = path.split(".")
    section = raw
    for key in parents:
        section = section.setdefault(key, {})
    section[last] = value
    return raw
