"""A small corpus, a deterministic encoder, index and reader for tests of the methods."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from canopy import artefacts
from canopy.contracts import ITEM_SCHEMA, QUESTION_SCHEMA, Gold, Item, Question, Span, Table, frame_of
from canopy.index import Hit
from canopy.methods.loop import Search
from canopy.methods.retrieve import ItemStore
from canopy.prompts import NAMES, template_text
from canopy.reader.engine import Generation
from canopy.regions.refine import Refiner
from canopy.settings.encoder import TreeSettings
from canopy.settings.runs import MethodSettings, ReaderSettings, RunSettings


def text_item(item_id: str, doc_id: str, title: str, sentences: Sequence[str]) -> Item:
    content, units = "", []
    for sentence in sentences:
        start = len(content)
        content += sentence + " "
        units.append(Span(start, len(content)))
    return Item(item_id, "nq", doc_id, "text", title, content, tuple(units))


def clip_item(video: str, number: int, words: Sequence[str]) -> Item:
    units = tuple(Span((10 * number + n) * 30_000, (10 * number + n + 1) * 30_000) for n in range(len(words)))
    return Item(
        f"{video}#{number}", "lvbench", video, "video", "Harbour tour", "tour.mp4", units, unit_texts=tuple(words),
        unit_frames=tuple(() for _ in words),
    )  # fmt: skip


ITEMS = [
    text_item("nq:a", "nq:A", "Marlune", ["The Marlune is a ship.", "Its captain is Tessaly Orn.", "It has masts."]),
    text_item("nq:a2", "nq:A", "Marlune", ["Shipyard records name Ogden as builder.", "Timber came from Vale."]),
    text_item("nq:b", "nq:B", "Tessaly Orn", ["Tessaly Orn was born in Drevik.", "She likes chess."]),
    text_item("nq:c", "nq:C", "Drevik", ["Drevik is a town on the river Ast.", "Its mayor is Pell."]),
    text_item("nq:d", "nq:D", "Marlane", ["The Marlane is a barge.", "Its captain is Joss Pim."]),
    Item(
        "ottqa:t", "ottqa", "ottqa:T", "table", "Ships of Drevik",
        Table(("Ship", "Captain"), (("Marlune", "Tessaly Orn"), ("Marlane", "Joss Pim"))).to_json(),
        (Span(0, 1), Span(1, 2)),
    ),
    Item(
        "mmqa:i", "mmqa", "mmqa:I", "image", "Harbour sign", "sign.png", (Span(0, 1),),
        unit_texts=("Drevik harbour 1902",), unit_frames=(("sign.png",),),
    ),
    clip_item("lvbench:v", 0, ["Departure of the ferry", "The red lighthouse"]),
    clip_item("lvbench:v", 1, ["Arrival at the blue pier"]),
]  # fmt: skip


def ask(qid: str, text: str, choices: tuple[str, ...] = ()) -> Question:
    return Question(qid, qid.split(":")[0], "test", text, choices, ("x",), "span", (Gold("nq:a", (1,)),))


class BagEncoder:
    """Words hashed into 256 buckets, counted, normalised: equal texts and only those are surely near."""

    dim = 256
    fingerprint = "bag"
    forward_seconds = 0.0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.full((len(texts), self.dim), 1e-3, np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.casefold()):
                vectors[row, zlib.crc32(word.encode()) % self.dim] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class BruteIndex:
    """Exact search; ties go by item id."""

    def __init__(self, items: Sequence[Item], encoder: BagEncoder) -> None:
        self.items = sorted(items, key=lambda item: item.item_id)
        texts = [
            f"{i.title} {i.content if i.modality in ('text', 'table') else ' '.join(i.unit_texts)}" for i in self.items
        ]
        self.vectors = encoder.encode(texts)
        self.searches: list[int] = []

    def search(
        self, queries: NDArray[np.float32], k: int, allowed: Sequence[frozenset[str] | None] | None = None
    ) -> list[list[Hit]]:
        self.searches.append(len(queries))
        found = []
        for row, query in enumerate(queries):
            wanted = allowed[row] if allowed else None
            hits = [
                Hit(item.item_id, float(vector @ query))
                for item, vector in zip(self.items, self.vectors, strict=True)
                if wanted is None or item.modality in wanted
            ]
            found.append(sorted(hits, key=lambda hit: (-hit.score, hit.item_id))[:k])
        return found

    def siblings(self, item_id: str) -> list[str]:
        doc_id = next(item.doc_id for item in self.items if item.item_id == item_id)
        return [item.item_id for item in self.items if item.doc_id == doc_id]


def prompt_kind(prompt: str) -> str:
    """Which template a prompt was made from, by the template's last line."""
    return next(name for name in NAMES if prompt.endswith(template_text(name).strip().splitlines()[-1]))


def asked_question(prompt: str) -> str:
    return re.findall(r"^Question: (.*)$", prompt, re.MULTILINE)[-1]


class ScriptedReader:
    """Answers each kind of prompt by a function of the prompt; a token is a word."""

    fingerprint = "scripted"
    forward_seconds = 0.0

    def __init__(self, **scripts: Callable[[str], str]) -> None:
        self.scripts: dict[str, Callable[[str], str]] = {
            "answer": lambda prompt: f"Answer: {zlib.crc32(prompt.encode())}",
            "critic": lambda prompt: "{}",
            "reason": lambda prompt: "",
            "route": lambda prompt: "paragraph",
            **scripts,
        }
        self.calls: list[tuple[str, int]] = []
        self.forgotten = 0
        self.prompts: list[str] = []

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def forget(self) -> None:
        self.forgotten += 1

    def generate(self, prompts: Sequence[str], max_new_tokens: int) -> list[Generation]:
        if prompts:
            self.calls.append((prompt_kind(prompts[0]), len(prompts)))
        self.prompts += prompts
        words = [self.scripts[prompt_kind(prompt)](prompt) for prompt in prompts]
        return [Generation(w, len(p.split()), len(w.split())) for w, p in zip(words, prompts, strict=True)]


def settings(k: int = 2, question_batch: int = 32, context_tokens: int = 2048, **switches: object) -> RunSettings:
    method = MethodSettings(**switches)  # type: ignore[arg-type]
    # A copy, since 120 words would be refused as a real reader's context.
    reader = ReaderSettings().model_copy(update={"context_tokens": context_tokens})
    return RunSettings(name="m", method=method, k=k, question_batch=question_batch, reader=reader)


def write_corpus(directory: Path, questions: Sequence[Question] = (), items: Sequence[Item] = ITEMS) -> Path:
    with artefacts.build(directory, "corpus", {}) as corpus:
        frame_of(sorted(items, key=lambda i: i.item_id), ITEM_SCHEMA).write_parquet(corpus.path / "items.parquet")
        frame_of(questions, QUESTION_SCHEMA).write_parquet(corpus.path / "questions.parquet")
    return directory


def searching(corpus: Path, compression: bool, items: Sequence[Item] = ITEMS) -> Search:
    encoder = BagEncoder()
    refiner = Refiner(encoder, TreeSettings()) if compression else None
    return Search(ItemStore(corpus), BruteIndex(items, encoder), encoder, refiner)
