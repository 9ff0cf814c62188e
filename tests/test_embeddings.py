"""Embedding shards: cut by tokens, resumed after a kill, and not used when they are no longer as written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from canopy import embeddings
from canopy.artefacts import build, check_files, read_manifest
from canopy.balance import shard_bounds
from canopy.contracts import ITEM_SCHEMA, Item, Span, frame_of
from canopy.encoder.model import TextEncoder
from canopy.errors import UserError
from canopy.settings.encoder import EmbedSettings
from canopy.shards import open_shards

FILES = ("vectors.npy", "ids.parquet")


class Killed(BaseException):
    """Stands for the end of the process."""


class LengthEncoder:
    """Vectors of text lengths; counts its calls and may die in one of them."""

    fingerprint, dim = "lengths", 2

    def __init__(self, die_in: int = -1) -> None:
        self.calls, self.die_in = 0, die_in
        self.truncated, self.forward_seconds = 0, 0.0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        if self.calls == self.die_in:
            raise Killed
        self.calls += 1
        self.truncated += 1
        return np.array([[len(text), 1] for text in texts], np.float32).reshape(-1, 2)


def text(number: int, length: int) -> Item:
    return Item(f"nq:{number:04d}", "nq", f"{number}", "text", "", "x" * length, (Span(0, length),))


def corpus(root: Path, lengths: Sequence[int]) -> Path:
    with build(root / "corpus", "corpus", {}) as artefact:
        items = [text(number, length) for number, length in enumerate(lengths)]
        frame_of(items, ITEM_SCHEMA).write_parquet(artefact.path / "items.parquet", row_group_size=7)
    return root / "corpus"


def embed(root: Path, monkeypatch: pytest.MonkeyPatch, die_in: int = -1, out: str = "shard-0") -> int:
    """Calls of the encoder, one a block of 10 items."""
    encoder = LengthEncoder(die_in)
    monkeypatch.setattr(TextEncoder, "load", lambda settings: encoder)
    monkeypatch.setattr(embeddings, "_ITEMS_AT_ONCE", 10)
    embeddings.run(root / "corpus", 0, 1, EmbedSettings(), root / "embeddings" / out)
    return encoder.calls


def contents(directory: Path) -> list[bytes]:
    return [(directory / name).read_bytes() for name in FILES]


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_shards_hold_about_equal_numbers_of_tokens(tmp_path: Path) -> None:
    # 90 short items, then 30 of thrice their length: half of the text is in the last 30 and the 15 before.
    path = corpus(tmp_path, [100] * 90 + [300] * 30) / "items.parquet"
    assert shard_bounds(path, 2, 256) == [0, 90, 120]
    assert shard_bounds(path, 4, 256) == [0, 45, 90, 105, 120]
    # Cut at 22 tokens, about 97 characters, all items cost the same.
    assert shard_bounds(path, 4, 22) == [0, 30, 60, 90, 120]


@pytest.mark.parametrize("lengths", [[5000], [0, 0, 0], [0] * 5 + [900], list(range(0, 500, 7))])
@pytest.mark.parametrize("shards", [1, 2, 7])
def test_each_item_is_in_one_shard(tmp_path: Path, lengths: list[int], shards: int) -> None:
    bounds = shard_bounds(corpus(tmp_path, lengths) / "items.parquet", shards, 256)
    assert len(bounds) == shards + 1 and bounds[0] == 0 and bounds[-1] == len(lengths)
    assert bounds == sorted(bounds)


@pytest.mark.parametrize("die_in", [0, 1, 3])
def test_a_killed_shard_goes_on_and_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, die_in: int
) -> None:
    corpus(tmp_path, [*range(1, 34), 0])
    assert embed(tmp_path, monkeypatch, out="unbroken") == 4
    out = tmp_path / "embeddings" / "shard-0"
    with pytest.raises(Killed):
        embed(tmp_path, monkeypatch, die_in)
    assert [p.name for p in out.parent.iterdir() if p.name != "unbroken"] == [".shard-0.journal"]
    assert embed(tmp_path, monkeypatch) == 4 - die_in
    assert contents(out) == contents(out.with_name("unbroken"))
    facts = read_manifest(out)["facts"]
    assert (facts["blocks"], facts["blocks_resumed"], facts["truncated"]) == (4, die_in, 4)
    assert not (out.parent / ".shard-0.journal").exists()


def test_vectors_are_an_array_file_of_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus(tmp_path, [*range(1, 34), 0])
    embed(tmp_path, monkeypatch)
    expected = np.array([[length, 1] for length in range(1, 34)], np.float32)
    np.testing.assert_array_equal(np.load(tmp_path / "embeddings" / "shard-0" / "vectors.npy"), expected)


def test_a_damaged_block_is_embedded_again_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus(tmp_path, range(1, 35))
    embed(tmp_path, monkeypatch, out="unbroken")
    with pytest.raises(Killed):
        embed(tmp_path, monkeypatch, die_in=3)
    journal = tmp_path / "embeddings" / ".shard-0.journal"
    flip(journal, journal.read_bytes().index(b'{"number": 1') + 200)
    capsys.readouterr()
    assert embed(tmp_path, monkeypatch) == 2, "blocks 1 and 3"
    assert "part 1 is damaged" in capsys.readouterr().err
    assert contents(tmp_path / "embeddings" / "shard-0") == contents(tmp_path / "embeddings" / "unbroken")


def test_blocks_of_another_corpus_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus(tmp_path, range(1, 35))
    with pytest.raises(Killed):
        embed(tmp_path, monkeypatch, die_in=3)
    corpus(tmp_path, range(2, 36))
    assert embed(tmp_path, monkeypatch) == 4


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("fault", ["flipped", "cut", "gone"])
def test_a_shard_that_is_not_as_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fault: str
) -> None:
    corpus(tmp_path, range(1, 35))
    embed(tmp_path, monkeypatch)
    shard = tmp_path / "embeddings" / "shard-0"
    check_files(shard, FILES)
    path = shard / name
    if fault == "flipped":
        flip(path, path.stat().st_size // 2)
    elif fault == "cut":
        os.truncate(path, path.stat().st_size - 1)
    else:
        path.unlink()
    with pytest.raises(UserError) as refused:
        check_files(shard, FILES)
    assert str(refused.value) == f"{path} is not as it was written: remove the folder {shard} and run snakemake again"
    shutil.rmtree(shard)
    embed(tmp_path, monkeypatch)
    check_files(shard, FILES)


def test_vectors_that_are_cut_off_are_seen_without_reading_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus(tmp_path, range(1, 35))
    embed(tmp_path, monkeypatch)
    path = tmp_path / "embeddings" / "shard-0" / "vectors.npy"
    os.truncate(path, path.stat().st_size - 1)
    with pytest.raises(UserError, match=r"vectors\.npy is not as it was written"):
        open_shards([path.parent])


STAGE = """
import sys, time
sys.path.insert(0, sys.argv[1])
import pathlib, pytest, test_embeddings
from canopy import cli, embeddings
def encode(self, texts):
    if self.calls == 2:
        print("in", flush=True)
        time.sleep(60)
    return real(self, texts)
real, test_embeddings.LengthEncoder.encode = test_embeddings.LengthEncoder.encode, encode
embeddings._ITEMS_AT_ONCE = 10
embeddings.TextEncoder.load = lambda settings: test_embeddings.LengthEncoder()
sys.exit(cli.main(["embed", "--corpus", sys.argv[2], "--spec", "{}", "--out", sys.argv[3]]))
"""


def test_sigterm_keeps_finished_blocks_and_asks_to_be_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "embeddings" / "shard-0"
    words = [sys.executable, "-c", STAGE, str(Path(__file__).parent), str(corpus(tmp_path, range(1, 35))), str(out)]
    stage = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert stage.stdout is not None and stage.stdout.readline() == "in\n"
    stage.send_signal(signal.SIGTERM)
    _, said = stage.communicate(timeout=60)
    assert (stage.returncode, said.splitlines()) == (
        75,
        ["canopy: stopped by SIGTERM: start it again, it goes on after what is finished"],
    )
    assert sorted(p.name for p in out.parent.iterdir()) == [".shard-0.journal", ".shard-0.lock"]
    embed(tmp_path, monkeypatch)
    assert read_manifest(out)["facts"]["blocks_resumed"] == 2
