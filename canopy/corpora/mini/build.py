"""The mini corpus: all five benchmarks of an invented world in their native raw formats (DESIGN section 6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from canopy import artefacts
from canopy.contracts import Split
from canopy.corpora.mini import hotpotqa, lvbench, mmqa, mmqa_files, nq, ottqa
from canopy.corpora.mini.kinds import KINDS
from canopy.corpora.mini.model import SPLITS
from canopy.corpora.mini.plan import question_counts
from canopy.corpora.mini.prose import article
from canopy.corpora.mini.world import World
from canopy.settings.corpora import MiniRawSettings

_NOTICE = """This corpus is constructed. Its towns, people, ships, works, companies, buildings, expeditions, pictures
and films belong to an invented world; they were written out by a program from a seed ({seed}) in the raw
formats of five public benchmarks, and contain no part of those benchmarks. Any likeness to a real name is
chance. Numbers measured on it are not comparable with numbers measured on the benchmarks themselves.

Licence: Apache-2.0, as the program that made it.
"""


@dataclass
class Corpus:
    """Everything of one split."""

    world: World
    nq: nq.NqSplit
    hotpotqa: hotpotqa.HotpotSplit
    ottqa: ottqa.OttSplit
    mmqa: mmqa.MmqaSplit
    lvbench: lvbench.LvSplit


def run(settings: MiniRawSettings, out: Path) -> None:
    """Write the corpus to ``out``: ``{nq,hotpotqa,ottqa,mmqa,lvbench}/`` and ``annotations.train.jsonl``.

    The same settings give the same bytes (films: on the same machine).
    """
    with artefacts.build(out, "mini-raw", settings.model_dump(mode="json")) as artefact:
        parts = make(settings)
        write(parts, artefact.path, settings.seed)
        artefact.facts.update(counts(parts))


def make(settings: MiniRawSettings) -> dict[Split, Corpus]:
    """The corpus of each split, in memory."""
    planned = question_counts(settings)
    parts: dict[Split, Corpus] = {}
    for split in SPLITS:
        world = World(split, settings.seed)
        videos = -(-settings.videos // len(SPLITS))
        parts[split] = Corpus(
            world,
            nq.make(world, planned[split, "nq"]),
            hotpotqa.make(world, planned[split, "hotpotqa"]),
            ottqa.make(world, planned[split, "ottqa"]),
            mmqa.make(world, planned[split, "mmqa"]),
            lvbench.make(world, planned[split, "lvbench"], videos, settings.video_minutes),
        )
    _fill_up(settings, parts)
    return parts


def _fill_up(settings: MiniRawSettings, parts: dict[Split, Corpus]) -> None:
    """Add tables, pictures and articles that no question asks about, until the settings' counts are reached."""
    turns: tuple[Split, ...] = ("test", "train", "test", "dev")  # in test, distractors matter most
    missing: tuple[tuple[str, int, Callable[[Corpus], object]], ...] = (
        ("images", settings.images, lambda c: mmqa.add_page(c.world, c.mmqa)),
        ("tables", settings.tables, lambda c: ottqa.add_twin(c.world, c.ottqa)),
        ("passages", settings.passages, _add_articles),
    )
    for name, wanted, add in missing:
        for split in cycle(turns):
            if counts(parts)[name] >= wanted:
                break
            add(parts[split])


def _add_articles(corpus: Corpus) -> None:
    """An article and one on a near-identical name."""
    entity = nq.add_article(corpus.world, corpus.nq, corpus.world.rng.choice(list(KINDS)))
    twin = corpus.world.twin(entity)
    corpus.nq.articles.append((twin, article(corpus.world, twin)))


def write(parts: dict[Split, Corpus], folder: Path, seed: int) -> None:
    """Write all native files of the splits."""
    corpora = list(parts.values())
    nq.write(folder / "nq", [(c.world, c.nq) for c in corpora])
    hotpotqa.write(folder / "hotpotqa", [c.hotpotqa for c in corpora])
    ottqa.write(folder / "ottqa", [c.ottqa for c in corpora])
    mmqa_files.write(folder / "mmqa", [c.mmqa for c in corpora])
    lvbench.write(folder / "lvbench", [c.lvbench for c in corpora])
    train = parts["train"]
    notes = [a for part in (train.nq, train.hotpotqa, train.ottqa, train.mmqa, train.lvbench) for a in part.annotations]
    lines = "".join(json.dumps(note, ensure_ascii=False) + "\n" for note in notes)
    (folder / "annotations.train.jsonl").write_text(lines, encoding="utf-8")
    (folder / "README.txt").write_text(_NOTICE.format(seed=seed), encoding="utf-8")


def counts(parts: dict[Split, Corpus]) -> dict[str, int]:
    """How much of everything there is over all splits."""
    corpora = list(parts.values())
    return {
        "passages": sum(c.nq.passages + c.hotpotqa.passages + c.ottqa.passages + c.mmqa.passages for c in corpora),
        "tables": sum(len(c.ottqa.tables) + len(c.mmqa.pages) for c in corpora),
        "images": sum(c.mmqa.images for c in corpora),
        "videos": sum(len(c.lvbench.videos) for c in corpora),
        "segments": sum(c.lvbench.segments for c in corpora),
    }
