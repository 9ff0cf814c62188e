"""Natural Questions: DPR passages and retriever records, and NQ-open questions."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from canopy.artefacts import write_json
from canopy.contracts import Split
from canopy.corpora.mini.asking import Annotation, annotation, ask, step
from canopy.corpora.mini.kinds import KINDS
from canopy.corpora.mini.model import Entity, Passage
from canopy.corpora.mini.prose import article
from canopy.corpora.mini.world import World, answer_of

_FILES: dict[Split, str] = {s: f"biencoder-nq-{s}.json" for s in ("train", "dev", "test")}
_QUESTIONS_AN_ARTICLE: dict[Split, int] = {"train": 3, "dev": 2, "test": 2}


@dataclass
class NqSplit:
    """The passages and questions of one split."""

    split: Split
    articles: list[tuple[Entity, list[Passage]]] = field(default_factory=list)
    asked: list[tuple[str, Entity, str, str]] = field(default_factory=list)  # question, entity, relation, answer
    annotations: list[Annotation] = field(default_factory=list)

    @property
    def passages(self) -> int:
        """Number of passages."""
        return sum(len(parts) for _, parts in self.articles)


def make(world: World, questions: int) -> NqSplit:
    """Articles with their questions, and distractors: twins with near-identical names, and in dev and test others."""
    out = NqSplit(world.split)
    kinds = list(KINDS)
    world.rng.shuffle(kinds)
    number = 0
    while len(out.asked) < questions:
        entity = add_article(world, out, kinds[number % len(kinds)])
        if world.split != "train":
            add_article(world, out, world.rng.choice(kinds))
        if world.split != "train" or number % 2 == 0:
            twin = world.twin(entity)
            out.articles.append((twin, article(world, twin)))
        wanted = min(_QUESTIONS_AN_ARTICLE[world.split], questions - len(out.asked))
        _ask(world, out, entity, wanted)
        number += 1
    return out


def add_article(world: World, out: NqSplit, kind: str) -> Entity:
    """Add an article of one to three passages."""
    entity = world.filled(kind)
    passages = world.rng.choices((1, 2, 3), (6, 3, 1))[0]
    out.articles.append((entity, article(world, entity, passages=passages)))
    return entity


def _ask(world: World, out: NqSplit, entity: Entity, wanted: int) -> None:
    parts = next(parts for e, parts in out.articles if e is entity)
    stated = [s.relation for passage in parts for s in passage.sentences if s.relation]
    for name in world.rng.sample(stated, min(wanted, len(stated))):
        fact = entity.facts[name]
        written = ask(world, fact.relation, entity.mention)
        question = written.rstrip("?").lower()
        out.asked.append((question, entity, name, answer_of(fact)))
        if world.split == "train":
            # Without an id of its own, a question is known by the hash of its text.
            qid = hashlib.sha256(question.encode()).hexdigest()[:16]
            steps = [step(world, entity, fact.relation, query=question)]
            out.annotations.append(annotation("nq", qid, question, "paragraph", steps, answer_of(fact)))


def write(folder: Path, splits: Sequence[tuple[World, NqSplit]]) -> None:
    """Write ``psgs_w100.tsv``, the DPR records of each split and NQ-open's train file."""
    folder.mkdir(parents=True)
    ids: dict[int, str] = {}
    rows = [(passage, id(passage)) for _, part in splits for _, parts in part.articles for passage in parts]
    splits[-1][0].rng.shuffle(rows)
    buffer = io.StringIO()
    table = csv.writer(buffer, delimiter="\t", lineterminator="\n")
    table.writerow(("id", "text", "title"))
    for number, (passage, key) in enumerate(rows, start=1):
        ids[key] = str(number)
        table.writerow((number, passage.text, passage.title))
    (folder / "psgs_w100.tsv").write_text(buffer.getvalue(), encoding="utf-8")
    for world, part in splits:
        write_json(folder / _FILES[part.split], [_record(world, part, ids, *asked) for asked in part.asked])
    train = next(part for _, part in splits if part.split == "train")
    lines = [json.dumps({"question": q, "answer": [a]}, ensure_ascii=False) for q, _, _, a in train.asked]
    (folder / "NQ-open.train.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _record(
    world: World, part: NqSplit, ids: dict[int, str], question: str, entity: Entity, relation: str, answer: str
) -> dict[str, Any]:
    """A DPR record: the gold passage, passages on alike entities as hard negatives, others as negatives."""

    def context(passage: Passage, score: float, gold: bool) -> dict[str, Any]:
        return {
            "title": passage.title,
            "text": passage.text,
            "score": score,
            "title_score": int(gold),
            "passage_id": ids[id(passage)],
        }

    own = next(parts for e, parts in part.articles if e is entity)
    gold = next(p for p in own if p.index_of(relation) >= 0)
    alike = [p for e, parts in part.articles if e.kind == entity.kind and e is not entity for p in parts]
    others = [p for e, parts in part.articles if e.kind != entity.kind for p in parts]
    hard = [p for p in own if p is not gold] + world.rng.sample(alike, min(4, len(alike)))
    return {
        "dataset": f"nq_{part.split}_psgs_w100",
        "question": question,
        "answers": [answer],
        "positive_ctxs": [context(gold, 1000, True)],
        "negative_ctxs": [context(p, 0, False) for p in world.rng.sample(others, min(4, len(others)))],
        "hard_negative_ctxs": [context(p, round(20 - i / 2, 6), False) for i, p in enumerate(hard)],
    }
