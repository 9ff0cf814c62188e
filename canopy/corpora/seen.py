"""Which ids have been read, in little memory: tens of millions of them."""

from __future__ import annotations

import hashlib
from array import array
from typing import Literal

Verdict = Literal["new", "same", "different"]


class Seen:
    """Ids with the content first read under them, as 64-bit and 32-bit hashes in an open-addressing table.

    12 bytes a slot, at most two thirds full. Two ids share a hash with probability n²/2⁶⁵: 1e-6 for 5 million ids.
    """

    def __init__(self) -> None:
        """An empty table."""
        self._size = 0
        self._keys = array("Q", bytes(8 * 1024))
        self._contents = array("I", bytes(4 * 1024))

    def __len__(self) -> int:
        """Number of distinct ids."""
        return self._size

    def add(self, key: str, content: str = "") -> Verdict:
        """Add an id; tell whether it is new, or was seen with the same or with another content."""
        digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
        hashed = int.from_bytes(digest, "little") or 1  # 0 marks a free slot
        summary = int.from_bytes(hashlib.blake2b(content.encode(), digest_size=4).digest(), "little")
        slot = self._slot(hashed)
        if self._keys[slot] == hashed:
            return "same" if self._contents[slot] == summary else "different"
        self._keys[slot], self._contents[slot] = hashed, summary
        self._size += 1
        if self._size * 3 > len(self._keys) * 2:
            self._grow()
        return "new"

    def has(self, key: str) -> bool:
        """Whether the id was added."""
        digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
        hashed = int.from_bytes(digest, "little") or 1
        return self._keys[self._slot(hashed)] == hashed

    def _slot(self, hashed: int) -> int:
        keys, mask = self._keys, len(self._keys) - 1
        slot = hashed & mask
        while keys[slot] not in (0, hashed):
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        keys, contents = self._keys, self._contents
        self._keys = array("Q", bytes(16 * len(keys)))
        self._contents = array("I", bytes(8 * len(contents)))
        for hashed, summary in zip(keys, contents, strict=True):
            if hashed:
                slot = self._slot(hashed)
                self._keys[slot], self._contents[slot] = hashed, summary


class SeenNumbers:
    """Decimal ids, one bit each."""

    def __init__(self) -> None:
        """An empty set."""
        self._bits = bytearray()

    def add(self, number: int) -> bool:
        """Add a number of at least 0; tell whether it is new."""
        byte, bit = number >> 3, 1 << (number & 7)
        if byte >= len(self._bits):
            self._bits.extend(bytes(byte + 1024 - len(self._bits)))
        new = not self._bits[byte] & bit
        self._bits[byte] |= bit
        return new
