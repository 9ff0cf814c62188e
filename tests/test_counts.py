"""What was read and what was lost on the way to the corpus, from raw files of which it is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from parsing import parse, write

from canopy import artefacts
from canopy.contracts import ITEM_SCHEMA, Item, Span, frame_of
from canopy.corpora.counts import raw_counts
from canopy.corpora.merge import run
from canopy.errors import UserError
from canopy.settings.corpora import CorpusSettings


def town(number: int, gold: str) -> dict[str, Any]:
    title = f"Town {number}"
    return {
        "_id": f"q{number}", "question": f"How old is {title}?", "answer": "old", "type": "bridge", "level": "easy",
        "supporting_facts": [[gold, 0]], "context": [[title, [f"{title} is old."]]],
    }  # fmt: skip


def film(key: str) -> dict[str, Any]:
    return {"key": key, "qa": [{"uid": key, "question": "Who?\n(A) I\n(B) You", "answer": "A"}]}


@pytest.fixture
def parsed(tmp_path: Path) -> list[Path]:
    records = [*(town(n, f"Town {n}") for n in range(5)), *(town(n, "Nowhere") for n in range(5, 8)), {"_id": "bad"}]
    raw = write(tmp_path / "raw", {"hotpotqa/hotpot_dev_distractor_v1.json": records})
    parse("hotpotqa", raw / "hotpotqa", tmp_path / "hotpotqa", max_quarantined=0.5, questions="with_gold",
          sample={"questions": 2, "distractors": 1})  # fmt: skip
    films = {"video_info.meta.jsonl": [film("here"), film("absent"), film("broken")]}
    write(raw / "lvbench", {**films, "here.mp4": b"film", "broken.mp4": b"no film"})
    parse("lvbench", raw / "lvbench", tmp_path / "lvbench")
    pictures = [{"id": f"p{n}", "title": "P", "url": "", "path": f"p{n}.jpg"} for n in range(3)]
    asked = {"qid": "m", "question": "What?", "answers": [{"answer": "a"}], "metadata": {}, "supporting_context": []}
    write(raw / "mmqa", {"MMQA_images.jsonl": pictures, "MMQA_dev.jsonl": [asked], "final_dataset_images/p1.jpg": b"x"})
    parse("mmqa", raw / "mmqa", tmp_path / "mmqa")
    return [tmp_path / benchmark for benchmark in ("hotpotqa", "lvbench", "mmqa")]


@pytest.fixture
def video(tmp_path: Path) -> Path:
    """What the video stage makes when one film and one picture can be read."""
    items = [
        Item("lvbench:here#0", "lvbench", "lvbench:here", "video", "here", "here.mp4", (Span(0, 1),), (), ("",), ((),)),
        Item("mmqa:p1", "mmqa", "mmqa:p1", "image", "P", "p1.jpg", (Span(0, 1),), (), ("",), ((),)),
    ]
    with artefacts.build(tmp_path / "video", "video", {}) as artefact:
        frame_of(items, ITEM_SCHEMA).write_parquet(artefact.path / "items.parquet")
    return tmp_path / "video"


def test_losses_are_counted_where_they_happen(tmp_path: Path, parsed: list[Path], video: Path) -> None:
    wanted = ("hotpotqa", "lvbench", "mmqa")
    facts = run(parsed, video, CorpusSettings(benchmarks=wanted, questions="with_gold"), tmp_path / "corpus")
    assert facts["raw"] == {
        "hotpotqa": {"items": 8, "questions": 8, "left_out": 3, "quarantined": 1, "media_missing": 0,
                     "media_unreadable": 0},
        "lvbench": {"items": 2, "questions": 3, "left_out": 0, "quarantined": 0, "media_missing": 1,
                    "media_unreadable": 1},
        "mmqa": {"items": 1, "questions": 1, "left_out": 0, "quarantined": 0, "media_missing": 2,
                 "media_unreadable": 0},
    }  # fmt: skip
    # HotpotQA's before the sample was drawn, the others' in the corpus: their questions name no evidence.
    assert facts["questions_left_out"] == {"hotpotqa": 3, "lvbench": 3, "mmqa": 1}
    assert facts["questions"]["hotpotqa"] == {"dev": 2}


def test_a_parsed_directory_of_another_version_is_named(tmp_path: Path, parsed: list[Path]) -> None:
    with artefacts.build(tmp_path / "old", "parse", {"benchmark": "nq"}) as artefact:
        artefact.facts |= {"items": 1, "questions": 1}
    with pytest.raises(UserError, match=r"old was made by another version.*rerun `canopy parse`"):
        raw_counts([*parsed, tmp_path / "old"], None, ("nq",))
