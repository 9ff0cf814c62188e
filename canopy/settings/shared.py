"""Settings that several stages share: given once, and filled into every section that takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from canopy.settings.project import Config

# Section -> keys that it takes from elsewhere in the configuration: (key, where it is given).
SHARED: dict[str, tuple[tuple[str, str], ...]] = {
    "parsing": (
        ("segment_seconds", "video.segment_seconds"),
        ("clip_seconds", "video.clip_seconds"),
        ("sample", "sample.BENCHMARK"),
        ("questions", "questions"),
        ("seed", "seed"),
    ),
    "embed": (("encoder", "encoder"),),
    "index": (("seed", "seed"),),
    "training": (("encoder", "encoder"), ("tree", "tree"), ("seed", "seed")),
    "mini_reader": (("model", "reader.model"), ("seed", "seed"), ("prompts", "")),
    "raw.generate": (("seed", "seed"),),
}


def given_twice(raw: Mapping[Any, Any]) -> str:
    """What is wrong with a filled-in key that ``raw`` gives itself; empty if nothing is."""
    for section, shared in SHARED.items():
        given = _at(raw, section)
        for key, source in shared if isinstance(given, Mapping) else ():
            if key in given:
                return f"{section}.{key}: not set here" + (f", set `{source}`" if source else "; it is filled in")
    return ""


def fill(raw: Mapping[Any, Any]) -> dict[Any, Any]:
    """``raw`` with the shared keys put into every section that takes them."""
    filled: dict[Any, Any] = json.loads(json.dumps(raw, default=str))
    for section, shared in SHARED.items():
        *parents, last = section.split(".")
        outer = _at(filled, parents[0]) if parents else filled
        if not isinstance(outer, dict) or (parents and last not in outer):
            continue
        inner = outer.setdefault(last, {})
        for key, source in shared if isinstance(inner, dict) else ():
            value = _at(filled, source) if source else None
            if value is not None:
                inner[key] = value
    return filled


def schema() -> dict[str, Any]:
    """The JSON schema of a configuration file, without the keys that are filled in from elsewhere."""
    made = Config.model_json_schema()
    for section, shared in SHARED.items():
        properties = _schema_of(made, section)
        for key, _ in shared:
            del properties[key]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def _schema_of(made: dict[str, Any], section: str) -> dict[str, Any]:
    node = made
    for part in section.split("."):
        node = node["properties"][part]
        options = node.get("anyOf", [node])
        reference = next(o["$ref"] for o in options if "$ref" in o)
        node = made["$defs"][reference.rsplit("/", 1)[1]]
    properties: dict[str, Any] = node["properties"]
    return properties


def _at(raw: Any, dotted: str) -> Any:
    for part in dotted.split("."):
        raw = raw.get(part) if isinstance(raw, Mapping) else None
    return raw
