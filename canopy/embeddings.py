"""Item vectors: one shard of the corpus, streamed into a memory-mapped array."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from canopy.artefacts import build
from canopy.contracts import ITEM_SCHEMA, Item, item_from_row
from canopy.encoder.model import TextEncoder
from canopy.errors import UserError
from canopy.progress import track
from canopy.regions.render import render
from canopy.settings.encoder import EmbedSettings
from canopy.shards import ID_SCHEMA, IDS_FILE, VECTORS_FILE

# Items read and encoded at a time: enough to fill batches of every width.
_ITEMS_AT_ONCE = 2048


def run(corpus: Path, shard: int, shards: int, settings: EmbedSettings, out: Path) -> None:
    """Embed the ``shard``-th of ``shards`` contiguous blocks of the items in the order of their ids.

    An item's text is its rendering as a whole: title (with headers or time span) and content. A
    blank item (no title, no text) gets no vector, so it cannot be retrieved; such items are counted
    in ``facts["blank"]``. Memory holds one block of items, and the ids of one shard.

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
    path = corpus / "items.parquet"
    first, last = _block_of(path, shard, shards)
    ids = _sorted_ids(path, first, last)
    encoder = TextEncoder.load(settings.encoder)
    with build(out, "embed", settings.model_dump(mode="json"), [corpus]) as artefact:
        ids.write_parquet(artefact.path / IDS_FILE)
        vectors = np.lib.format.open_memmap(
            artefact.path / VECTORS_FILE, mode="w+", dtype=settings.store, shape=(ids.height, encoder.dim)
        )
        written = 0
        blocks = range(first, last, _ITEMS_AT_ONCE)
        for at in track(blocks, f"embedding shard {shard + 1} of {shards}", total=len(blocks)):
            texts = [render(item, 0, len(item.units)) for item in _items(path, at, min(at + _ITEMS_AT_ONCE, last))]
            vectors[written : written + len(texts)] = encoder.encode(texts)
            written += len(texts)
        vectors.flush()
        artefact.facts |= {
            "encoder": encoder.fingerprint,
            "dim": encoder.dim,
            "shard": shard,
            "shards": shards,
            "items": written,
            "blank": last - first - written,
            "truncated": encoder.truncated,
            "forward_seconds": round(encoder.forward_seconds, 3),
        }


def _block_of(path: Path, shard: int, shards: int) -> tuple[int, int]:
    if not path.is_file():
        raise UserError(f"{path} does not exist: run `canopy corpus` first")
    schema = dict(pl.read_parquet_schema(path))
    if schema != dict(pl.Schema(ITEM_SCHEMA)):
        raise UserError(f"{path} has columns {list(schema)}, expected {list(ITEM_SCHEMA)}: run `canopy corpus` again")
    total = pl.scan_parquet(path).select(pl.len()).collect().item()
    return total * shard // shards, total * (shard + 1) // shards


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
    text = (
        pl.when(pl.col("modality").is_in(["text", "table"]))
        .then("content")
        .otherwise(pl.col("unit_texts").list.join(""))
    )
    return (pl.col("title").str.strip_chars() == "") & (text.str.strip_chars() == "")
