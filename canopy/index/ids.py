"""Item ids, modalities and documents by position, in memory-mapped arrays.

Tens of millions of ids would fill gigabytes as Python strings. Here a search touches only the pages of the ids that it
returns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from canopy.contracts import MODALITIES
from canopy.errors import UserError

# item_ids: UTF-8 of all ids, one after the other; ends: where each one ends. modalities: a number of MODALITIES.
# documents: a number an item; members: positions by document; starts: where each document's members start.
_FILES = ("item_ids", "ends", "modalities", "documents", "members", "starts")


class ItemIds:
    """What the index knows of its items besides their vectors."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Wrap the arrays of :func:`write_ids`."""
        self._arrays = arrays

    @classmethod
    def load(cls, directory: Path) -> ItemIds:
        """Map the files of :func:`write_ids`.

        Raises:
            UserError: one is missing or cannot be read.
        """
        arrays = {}
        for name in _FILES:
            path = directory / f"{name}.npy"
            try:
                arrays[name] = np.load(path, mmap_mode="r", allow_pickle=False)
            except (OSError, ValueError, EOFError) as error:
                raise UserError(f"{path} cannot be read ({error}): run `canopy index` again") from error
        return cls(arrays)

    def __len__(self) -> int:
        """The number of items."""
        return len(self._arrays["ends"])

    def __getitem__(self, position: int) -> str:
        """The id of the item at a position."""
        ends = self._arrays["ends"]
        start = int(ends[position - 1]) if position else 0
        return self._arrays["item_ids"][start : int(ends[position])].tobytes().decode()

    def are_of(self, modalities: frozenset[str]) -> NDArray[np.bool_]:
        """Whether each item is of one of these modalities: bool [n]."""
        codes = [MODALITIES.index(name) for name in MODALITIES if name in modalities]
        return np.isin(self._arrays["modalities"], codes)

    def siblings(self, item_id: str) -> list[str]:
        """All items of the same document or video, this one among them; numbers in ids count as numbers."""
        document = self._arrays["documents"][self._position(item_id)]
        first, last = self._arrays["starts"][document : document + 2]
        return sorted((self[int(position)] for position in self._arrays["members"][first:last]), key=_natural)

    def _position(self, item_id: str) -> int:
        """Binary search: ids lie in the order of their UTF-8 bytes, which is that of their code points."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self[middle] < item_id else (low, middle)
        if low == len(self) or self[low] != item_id:
            raise KeyError(item_id)
        return low


def write_ids(frames: Iterable[pl.DataFrame], directory: Path) -> None:
    """Write the ids of all shards, in order; memory holds one shard's strings and some 50 bytes an item.

    Args:
        frames: with the columns of ``ID_SCHEMA``, sorted by item id from the first to the last.
        directory: where the files go; made here.

    Raises:
        UserError: an item has an unknown modality.
    """
    directory.mkdir()
    lengths, modalities, hashes = [], [], []
    with (directory / "item_ids.utf8").open("wb") as text:
        for frame in frames:
            text.writelines(item_id.encode() for item_id in frame["item_id"])
            lengths.append(frame["item_id"].str.len_bytes().to_numpy())
            modalities.append(_modality_codes(frame["modality"]))
            # Two seeds make 128 bits: documents of one hash are one document.
            hashes.append(np.stack([frame["doc_id"].hash(seed).to_numpy() for seed in (1, 2)]))
    np.save(directory / "ends.npy", np.cumsum(np.concatenate(lengths), dtype=np.uint64))
    np.save(directory / "modalities.npy", np.concatenate(modalities))
    _save_bytes(directory / "item_ids.utf8", directory / "item_ids.npy")
    joined = np.concatenate(hashes, axis=1)
    hashes.clear()  # not twice in memory
    _write_documents(joined, directory)


def _modality_codes(column: pl.Series) -> NDArray[np.uint8]:
    unknown = column.filter(~column.is_in(MODALITIES))
    if len(unknown):
        raise UserError(f"an item has the modality {unknown[0]!r}, which is none of {', '.join(MODALITIES)}")
    return column.cast(pl.Enum(MODALITIES)).to_physical().cast(pl.UInt8).to_numpy()


def _save_bytes(source: Path, target: Path) -> None:
    np.save(target, np.memmap(source, np.uint8, mode="r"))
    source.unlink()


def _write_documents(hashes: NDArray[np.uint64], directory: Path) -> None:
    members = np.lexsort((hashes[1], hashes[0]))
    new = np.ones(len(members), bool)
    np.any([_changes(row[members]) for row in hashes], axis=0, out=new[1:])
    documents = np.empty(len(members), np.uint32)
    documents[members] = np.cumsum(new) - 1
    np.save(directory / "documents.npy", documents)
    np.save(directory / "members.npy", members.astype(np.uint32))
    np.save(directory / "starts.npy", np.append(np.flatnonzero(new), len(members)).astype(np.uint32))


def _changes(values: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether each value but the first differs from the one before."""
    differs: NDArray[np.bool_] = values[1:] != values[:-1]
    return differs


def _natural(item_id: str) -> list[tuple[int, str]]:
    """Sort key: runs of digits as numbers, so that ``#2`` comes before ``#10``."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", item_id)]
