"""Item vectors: one shard of the corpus, block by block."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from canopy.artefacts import build, content_id
from canopy.balance import item_text, shard_bounds
from canopy.contracts import ITEM_SCHEMA, Item, item_from_row
from canopy.encoder.model import TextEncoder
from canopy.errors import UserError
from canopy.journal import Journal
from canopy.progress import track
from canopy.provenance import code_digest
from canopy.regions.render import render
from canopy.settings.encoder import EmbedSettings
from canopy.shards import ID_SCHEMA, IDS_FILE, VECTORS_FILE

# Items read and encoded at a time: enough to fill batches of every width. What a killed job loses at most.
_ITEMS_AT_ONCE = 2048


def run(corpus: Path, shard: int, shards: int, settings: EmbedSettings, out: Path) -> None:
    """Embed the ``shard``-th of ``shards`` contiguous parts of the items in the order of their ids.

    The parts hold about equal numbers of tokens. An item's text is its rendering as a whole: title (with
    headers or time span) and content. A blank item (no title, no text) gets no vector, so it cannot be
    retrieved; such items are counted in ``facts["blank"]``. Memory holds one block of items, and the
    ids of one shard. Finished blocks go to a journal beside ``out``: a job that was killed goes on after
    them when it is started again, and writes the same bytes as an unbroken one.

    Args:
        corpus: directory of the ``corpus`` stage.
        shard: from 0.
        shards: number of shards.
        settings: encoder and stored dtype.
        out: directory for ``vectors.npy`` [n, d] and ``ids.parquet``, in the same order.

    Raises:
        UserError: the shard does not exist, or the items are missing or not sorted by id.
    """
    if not 0 <= shard < shards:
        raise UserError(f"--shard {shard} is not one of 0 to {shards - 1} (--shards {shards})")
    path = _checked(corpus / "items.parquet")
    first, last = shard_bounds(path, shards, settings.encoder.max_tokens)[shard : shard + 2]
    ids = _sorted_ids(path, first, last)
    encoder = TextEncoder.load(settings.encoder)
    key = {
        "spec": settings.model_dump(mode="json"),
        "rows": [first, last],
        "corpus": content_id(corpus),
        "model": encoder.fingerprint,
        "code": code_digest("canopy.cli.embed"),
    }
    with build(out, "embed", settings.model_dump(mode="json"), [corpus]) as artefact:
        journal = Journal(out, key)
        try:
            starts = range(first, last, _ITEMS_AT_ONCE)
            for number, at in enumerate(track(starts, f"embedding shard {shard + 1} of {shards}")):
                if number not in journal:
                    journal.add(number, _embedded(path, at, min(at + _ITEMS_AT_ONCE, last), encoder, settings.store))
            ids.write_parquet(artefact.path / IDS_FILE)
            shape = (ids.height, encoder.dim)
            said = _write_vectors(artefact.path / VECTORS_FILE, journal, len(starts), settings.store, shape)
        finally:
            journal.close()
        artefact.facts |= {
            "encoder": encoder.fingerprint,
            "dim": encoder.dim,
            "shard": shard,
            "shards": shards,
            "items": ids.height,
            "blank": last - first - ids.height,
            **said,
            "blocks": len(starts),
            "blocks_resumed": journal.resumed,
        }
    journal.remove()


def _embedded(path: Path, first: int, last: int, encoder: TextEncoder, dtype: str) -> bytes:
    """The vectors of some items, after a line with what the manifest is to say of them."""
    texts = [render(item, 0, len(item.units)) for item in _items(path, first, last)]
    truncated, seconds = encoder.truncated, encoder.forward_seconds
    vectors = encoder.encode(texts).astype(dtype)
    facts = {"truncated": encoder.truncated - truncated, "forward_seconds": encoder.forward_seconds - seconds}
    return json.dumps(facts).encode() + b"\n" + vectors.tobytes()


def _write_vectors(path: Path, journal: Journal, blocks: int, dtype: str, shape: tuple[int, int]) -> dict[str, Any]:
    """Write the blocks of a journal as one array; returns the sums of what they say."""
    truncated, seconds = 0, 0.0
    with path.open("wb") as stream:
        header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, header)
        for number in range(blocks):
            facts, _, vectors = journal.get(number).partition(b"\n")
            own = json.loads(facts)
            truncated += own["truncated"]
            seconds += own["forward_seconds"]
            stream.write(vectors)
    return {"truncated": truncated, "forward_seconds": round(seconds, 3)}


def _checked(path: Path) -> Path:
    if not path.is_file():
        raise UserError(f"{path} does not exist: run `canopy corpus` first")
    schema = dict(pl.read_parquet_schema(path))
    if schema != dict(pl.Schema(ITEM_SCHEMA)):
        raise UserError(f"{path} has columns {list(schema)}, expected {list(ITEM_SCHEMA)}: run `canopy corpus` again")
    return path


def _sorted_ids(path: Path, first: int, last: int) -> pl.DataFrame:
    frame = pl.scan_parquet(path).slice(first, last - first).select(*ID_SCHEMA, _blank().alias("blank")).collect()
    order = frame["item_id"]
    if not (order.is_sorted() and order.is_unique().all()):
        raise UserError(
            f"{path}: items {first} to {last} are not sorted by item_id, each once: run `canopy corpus` again"
        )
    return frame.filter(~pl.col("blank")).drop("blank")


def _items(path: Path, first: int, last: int) -> Iterator[Item]:
    rows = pl.scan_parquet(path).slice(first, last - first).filter(~_blank()).collect()
    return (item_from_row(row) for row in rows.iter_rows(named=True))


def _blank() -> pl.Expr:
    """True for items without a title whose text, or recognised text, is white space."""
    return (pl.col("title").str.strip_chars() == "") & (item_text().str.strip_chars() == "")
