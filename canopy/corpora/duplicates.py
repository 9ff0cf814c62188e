"""Items that say the same: found by their normalised content, joined into one, gold links kept.

Two items are the same when modality, title and content agree after Unicode NFKC, lower case and single spaces; media
when title, content hash of the file and grid of units agree.
"""

from __future__ import annotations

import json
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from canopy.contracts import Gold, Item, Question, item_from_row

_KEY = "_key"


@dataclass(frozen=True, slots=True)
class Join:
    """An item that is left out for another: the item kept, and the kept item's units for each of its units."""

    kept: str
    units: tuple[tuple[int, ...], ...]


def find_joins(items: pl.LazyFrame) -> dict[str, Join]:
    """The items that repeat another, by item id; of each group the first in order of id is kept.

    Hashes of all items are compared first, so that only repeated content is ever held in memory; equal hashes are then
    confirmed on the normalised content itself.

    Args:
        items: rows of ``ITEM_SCHEMA`` with distinct ids.
    """
    hashed = items.select("item_id", _key().hash(seed=0).alias(_KEY))
    repeated = hashed.filter(pl.col(_KEY).is_duplicated()).collect(engine="streaming")
    if not repeated.height:
        return {}
    rows = items.join(repeated.lazy().select("item_id"), on="item_id", how="semi").with_columns(_key().alias(_KEY))
    joins: dict[str, Join] = {}
    first: dict[str, Item] = {}
    for row in rows.sort("item_id").collect(engine="streaming").iter_rows(named=True):
        item = item_from_row(row)
        kept = first.setdefault(row[_KEY], item)
        if kept is not item:
            joins[item.item_id] = Join(kept.item_id, _same_units(item, kept))
    return joins


def without_joined(items: pl.LazyFrame, joins: dict[str, Join]) -> pl.LazyFrame:
    """The items that are kept."""
    if not joins:
        return items
    return items.join(pl.LazyFrame({"item_id": sorted(joins)}), on="item_id", how="anti")


def relinked(question: Question, joins: dict[str, Join]) -> Question:
    """The question with its gold, and what its metric knows about gold items, moved to the items that are kept."""
    if not any(gold.item_id in joins for gold in question.gold):
        return question
    found: dict[str, set[int]] = {}
    for gold in question.gold:
        join = joins.get(gold.item_id)
        if join is None:
            found.setdefault(gold.item_id, set()).update(gold.units)
        else:
            moved = (join.units[unit] for unit in gold.units if unit < len(join.units))
            found.setdefault(join.kept, set()).update(*moved)
    golds = tuple(Gold(item_id, tuple(sorted(units))) for item_id, units in found.items())
    return replace(question, gold=golds, native=_relinked_native(question.native, joins))


def _relinked_native(native: str, joins: dict[str, Join]) -> str:
    """HotpotQA's note of sentence numbers by item and unit; of a joined item, a list of numbers a unit."""
    value: dict[str, Any] = json.loads(native)
    notes = value.get("items")
    if not isinstance(notes, dict):
        return native
    moved: dict[str, Any] = {}
    for item_id, note in notes.items():
        join = joins.get(item_id)
        if join is None:
            moved.setdefault(item_id, note)
            continue
        # A unit of the kept item may hold several sentences of this one.
        of_unit: dict[int, list[int]] = {}
        for units, sentence in zip(join.units, note["sentences"], strict=False):
            for unit in units:
                of_unit.setdefault(unit, []).append(sentence)
        moved.setdefault(join.kept, {**note, "sentences": [of_unit[u] for u in sorted(of_unit)]})
    return json.dumps({**value, "items": moved}, ensure_ascii=False, sort_keys=True)


def _key() -> pl.Expr:
    """One string an item, equal for items that say the same."""
    text = pl.col("modality").is_in(("text", "table"))
    said = pl.concat_str(_plain(pl.col("title")), pl.lit("\n"), _plain(pl.col("content")))
    # The quotes around a table's cells.
    said = pl.when(pl.col("modality") == "table").then(said.str.replace_all(' ?" ?', '"')).otherwise(said)
    grid = pl.col("units").list.eval(pl.element().struct.field("start")).cast(pl.List(pl.String)).list.join(",")
    shown = pl.concat_str(pl.col("media_sha256"), pl.lit(" "), grid, pl.lit(" "), pl.col("title").str.to_lowercase())
    # A media item without a hash is like no other.
    shown = pl.when(pl.col("media_sha256") == "").then(pl.col("item_id")).otherwise(shown)
    return pl.concat_str(pl.col("modality"), pl.lit(" "), pl.when(text).then(said).otherwise(shown))


def _plain(column: pl.Expr) -> pl.Expr:
    return column.str.normalize("NFKC").str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()


def _same_units(item: Item, kept: Item) -> tuple[tuple[int, ...], ...]:
    """For each unit of ``item`` the units of ``kept`` that hold its words, wherever their sentences are cut."""
    if item.modality != "text":
        return tuple((n,) for n in range(len(item.units)))
    ours, theirs = _bounds(item), _bounds(kept)
    starts, ends = [start for start, _ in theirs], [end for _, end in theirs]
    return tuple(tuple(range(bisect_right(ends, start), bisect_left(starts, end))) for start, end in ours)


def _bounds(item: Item) -> list[tuple[int, int]]:
    """Each unit's range in visible normalised characters."""
    bounds, count = [], 0
    for unit in item.units:
        length = len("".join(unicodedata.normalize("NFKC", item.content[unit.start : unit.end]).lower().split()))
        bounds.append((count, count + length))
        count += length
    return bounds
