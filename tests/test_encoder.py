from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from canopy import embeddings
from canopy.artefacts import build, read_manifest
from canopy.contracts import ITEM_SCHEMA, Item, Span, Table, frame_of
from canopy.encoder.model import TextEncoder, same_width
from canopy.errors import UserError
from canopy.regions.refine import Refiner
from canopy.settings.encoder import EmbedSettings, EncoderSettings, TreeSettings

WORDS = (
    "the",
    "captain",
    "of",
    "ship",
    "in",
    "stone",
    "harbour",
    "wrote",
    "music",
    "seven",
    "winters",
    "mill",
    "bridge",
)


def sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words)).capitalize() + "."


def texts(count: int, longest: int = 40) -> list[str]:
    rng = random.Random(3)
    return [sentence(rng, rng.randint(1, longest)) for _ in range(count)]


@pytest.fixture(scope="module")
def encoder() -> TextEncoder:
    return TextEncoder.load(EncoderSettings())


def test_like_meanings_are_near_and_others_far(encoder: TextEncoder) -> None:
    same, other, far = encoder.encode(["The cat sits outside", "A cat is sitting outdoors", "Stocks fell sharply"])
    assert encoder.dim == 384
    assert float(same @ other) > 0.7 > 0.2 > float(same @ far)
    assert np.linalg.norm(same) == pytest.approx(1, abs=1e-6)


def test_pooling_is_the_mean_over_the_attention_mask(encoder: TextEncoder) -> None:
    import torch

    ids = encoder.tokenizer("A short text", return_tensors="pt")
    with torch.inference_mode():
        hidden = encoder.model(**ids.to(encoder.device)).last_hidden_state[0]
    mean = hidden.mean(0).cpu().numpy()
    assert encoder.encode(["A short text"])[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_order_neighbours_and_repeats_do_not_change_a_vector(encoder: TextEncoder) -> None:
    several = texts(40)
    base = encoder.encode(several)
    shuffled = list(range(40))
    random.Random(1).shuffle(shuffled)
    again = np.empty_like(base)
    for at in range(0, 40, 7):
        rows = shuffled[at : at + 7]
        again[rows] = encoder.encode([several[row] for row in rows] * 2)[: len(rows)]
    np.testing.assert_allclose(again, base, atol=2e-6)


def test_decisions_do_not_change_with_what_is_refined_together(encoder: TextEncoder) -> None:
    rng = random.Random(9)
    items = []
    for n in range(8):
        sentences = [sentence(rng, rng.randint(3, 18)) + " " for _ in range(rng.randint(2, 7))]
        ends = np.cumsum([len(s) for s in sentences]).tolist()
        units = tuple(Span(end - len(s), end) for s, end in zip(sentences, ends, strict=True))
        items.append(Item(f"nq:{n}", "nq", str(n), "text", f"Title {n}", "".join(sentences), units))
    queries = encoder.encode(["who wrote music for the captain", "which bridge is near the mill"])
    requests = [(query, item) for query in range(2) for item in items]
    together = Refiner(encoder, TreeSettings()).refine(queries, requests)
    alone = [Refiner(encoder, TreeSettings()).refine(queries, [request])[0] for request in requests]
    ranges = [[[(r.unit_start, r.unit_end) for r in regions] for regions in each] for each in (together, alone)]
    assert ranges[0] == ranges[1]
    assert any(len(regions) < len(item.units) for regions, (_, item) in zip(ranges[0], requests, strict=True))


def test_each_distinct_text_is_encoded_once() -> None:
    class Counting(TextEncoder):
        rows = 0

        def forward(self, batch):  # type: ignore[no-untyped-def]
            self.rows += len(batch["input_ids"])
            return super().forward(batch)

    counting = Counting.load(EncoderSettings())
    vectors = counting.encode(["a", "b", "a", "a"])
    assert counting.rows == 2
    assert (vectors[0] == vectors[2]).all() and (vectors[0] == vectors[3]).all()
    assert counting.encode([]).shape == (0, 384)
    assert counting.forward_seconds > 0


def test_batches_have_one_width_and_hold_every_row_once() -> None:
    lengths = [random.Random(5).randint(2, 256) for _ in range(300)]
    batches = list(same_width(lengths, 8))
    assert sorted(np.concatenate(batches).tolist()) == list(range(300))
    for rows in batches:
        assert len(rows) <= 8
        assert len({-(-lengths[row] // 16) for row in rows}) == 1


def test_longer_texts_are_cut_and_counted() -> None:
    short = TextEncoder.load(EncoderSettings(max_tokens=16))
    long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    vectors = short.encode([long, long + " and seventeen", "brief"])
    assert short.truncated == 2
    np.testing.assert_array_equal(vectors[0], vectors[1])


def test_fingerprint_tells_apart_what_changes_vectors(encoder: TextEncoder) -> None:
    def fingerprint(dtype: str | None = None, **settings: int) -> str:
        return TextEncoder.load(EncoderSettings(**settings), dtype=dtype).fingerprint  # type: ignore[arg-type]

    assert fingerprint() == fingerprint(batch_size=3) == encoder.fingerprint
    assert len({fingerprint(), fingerprint(max_tokens=64), fingerprint("bfloat16")}) == 3


def test_a_directory_without_adapter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has no adapter_model\.safetensors"):
        TextEncoder.load(EncoderSettings(), tmp_path)


def items_of_each_kind() -> list[Item]:
    table = Table(("Name", ""), (("Ada", "1"),))
    return [
        Item("a", "nq", "a", "text", "Ship", "It sails.", (Span(0, 9),)),
        Item("b", "nq", "b", "text", "", "  \n", ()),
        Item("c", "ottqa", "c", "table", "", table.to_json(), (Span(0, 1),)),
        Item("d", "mmqa", "d", "image", "", "d.png", (Span(0, 1),), unit_texts=(" ",)),
        Item("e", "mmqa", "e", "image", "", "e.png", (Span(0, 1),), unit_texts=("STOP",)),
        Item("f", "nq", "f", "text", "Title only", "", ()),
    ]


def write_corpus(root: Path, items: list[Item]) -> Path:
    with build(root / "corpus", "corpus", {}) as artefact:
        frame_of(items, ITEM_SCHEMA).write_parquet(artefact.path / "items.parquet")
    return root / "corpus"


def test_shards_join_to_the_embedding_of_all_items(tmp_path: Path, encoder: TextEncoder) -> None:
    corpus = write_corpus(tmp_path, items_of_each_kind())
    for shard in range(2):
        embeddings.run(corpus, shard, 2, EmbedSettings(), tmp_path / f"s{shard}")
    ids = pl.concat([pl.read_parquet(tmp_path / f"s{n}" / "ids.parquet") for n in range(2)])
    assert ids["item_id"].to_list() == ["a", "c", "e", "f"], "blank items have no vector"
    facts = [read_manifest(tmp_path / f"s{n}")["facts"] for n in range(2)]
    assert [(f["items"], f["blank"], f["encoder"]) for f in facts] == [
        (2, 1, encoder.fingerprint),
        (2, 1, encoder.fingerprint),
    ]
    vectors = np.concatenate([np.load(tmp_path / f"s{n}" / "vectors.npy", mmap_mode="r") for n in range(2)])
    expected = encoder.encode(["Ship\nIt sails.", "Name | column 2\nAda | 1", "STOP", "Title only"])
    np.testing.assert_allclose(vectors, expected, atol=2e-6)


def test_items_out_of_order_and_shards_out_of_range_are_refused(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, items_of_each_kind()[::-1])
    with pytest.raises(UserError, match="not sorted by item_id"):
        embeddings.run(corpus, 0, 1, EmbedSettings(), tmp_path / "s")
    with pytest.raises(UserError, match="--shard 2 is not one of 0 to 1"):
        embeddings.run(corpus, 2, 2, EmbedSettings(), tmp_path / "s")
    with pytest.raises(UserError, match="does not exist: run `canopy corpus`"):
        embeddings.run(tmp_path / "nowhere", 0, 1, EmbedSettings(), tmp_path / "s")
