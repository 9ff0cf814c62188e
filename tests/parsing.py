"""Helpers: write native files, parse them, look at what comes out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from canopy.artefacts import read_manifest
from canopy.contracts import Item, Question, read_items, read_questions
from canopy.corpora.parse import run
from canopy.settings.corpora import ParseSettings

REAL = Path(__file__).parents[1].parent / "shared" / "data"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the real benchmark slices (../shared/data) are not here")


@dataclass
class Parsed:
    summary: dict[str, Any]
    facts: dict[str, Any]
    items: dict[str, Item]
    questions: dict[str, Question]
    quarantine: list[tuple[Any, str]]
    notices: list[tuple[Any, str]]


def parse(benchmark: str, root: Path, out: Path, **settings: Any) -> Parsed:
    summary = run(benchmark, [root], ParseSettings.check(settings, "test"), out)
    items = list(read_items(out / "items.parquet"))
    questions = read_questions(out / "questions.parquet")
    found = Parsed(
        summary,
        read_manifest(out)["facts"],
        {i.item_id: i for i in items},
        {q.qid: q for q in questions},
        _faults(out / "quarantine.jsonl"),
        _faults(out / "notices.jsonl"),
    )
    assert len(found.items) == len(items) == summary["items"]
    assert len(found.questions) == len(questions) == summary["questions"]
    check_items(items)
    return found


def check_items(items: list[Item]) -> None:
    """Units of every item are contiguous and cover it."""
    for item in items:
        if item.modality == "video":
            assert item.units == ()
            continue
        end = {"text": len(item.content), "image": 1}.get(item.modality)
        end = len(json.loads(item.content)["rows"]) if end is None else end
        assert item.units[0].start == 0 and item.units[-1].end == end
        assert all(a.end == b.start for a, b in zip(item.units, item.units[1:], strict=False))


def write(root: Path, files: Mapping[str, Any]) -> Path:
    """Files by relative name: bytes and text as they are, JSON lines for `.jsonl`, JSON for the rest."""
    for name, value in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(value, bytes):
            path.write_bytes(value)
        elif isinstance(value, str):
            path.write_text(value, encoding="utf-8")
        elif name.endswith(".jsonl"):
            path.write_text("".join(json.dumps(v, ensure_ascii=False) + "\n" for v in value), encoding="utf-8")
        else:
            path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return root


def _faults(path: Path) -> list[tuple[Any, str]]:
    return [(r["record"], r["reason"]) for r in map(json.loads, path.read_text().splitlines())]
