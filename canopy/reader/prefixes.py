"""Prompts already read: one that begins like another is read from where they part.

The question stands first in every prompt and its evidence grows from round to round, so the critic's prompt of one
round, that of the next and the answer's share most of their tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from transformers import DynamicCache
from transformers.cache_utils import Cache

_LEAST = 32
"""Shared tokens below which a prompt is read anew."""


@dataclass(frozen=True, slots=True)
class _Read:
    ids: NDArray[np.int64]
    states: list[tuple[Any, Any]]


class Prefixes:
    """Keys and values of whole prompts, batch size 1, at most ``most_tokens`` tokens in all."""

    def __init__(self, most_tokens: int) -> None:
        """Keep nothing yet; with ``most_tokens`` 0 nothing is ever kept."""
        self._most = most_tokens
        self._read: list[_Read] = []
        self.reused_tokens = 0

    def forget(self) -> None:
        """Drop all prompts. What is read afterwards no longer depends on what was read before."""
        self._read.clear()

    def longest(self, prompt: Sequence[int]) -> tuple[int, Cache | None]:
        """How many leading tokens of the prompt were read before, and a cache of exactly those.

        The last token is never among them: the model has to read it to say what follows.
        """
        ids = np.asarray(prompt, np.int64)
        shared, read = self._closest(ids)
        shared = min(shared, len(ids) - 1)
        if read is None or shared < _LEAST:
            return 0, None
        self.reused_tokens += shared
        cache = DynamicCache()
        for number, (keys, values) in enumerate(read.states):
            cache.update(keys[:, :, :shared], values[:, :, :shared], number)
        return shared, cache

    def put(self, prompt: Sequence[int], cache: Cache) -> None:
        """Keep a prompt that was read. It takes the place of one that it mostly continues.

        When there is no room it is not kept: prompts come in the same order every round, and making room by age
        would drop each of them just before its turn.
        """
        ids = np.asarray(prompt, np.int64)
        shared, read = self._closest(ids)
        if read is not None and shared >= max(_LEAST, len(read.ids) // 2):
            self._read = [other for other in self._read if other is not read]
        if len(ids) >= _LEAST and sum(len(other.ids) for other in self._read) + len(ids) <= self._most:
            self._read.append(_Read(ids, [(layer.keys, layer.values) for layer in cast(Any, cache).layers]))

    def _closest(self, ids: NDArray[np.int64]) -> tuple[int, _Read | None]:
        best: tuple[int, _Read | None] = (0, None)
        for read in self._read:
            width = min(len(ids), len(read.ids))
            differing = np.flatnonzero(ids[:width] != read.ids[:width])
            shared = int(differing[0]) if len(differing) else width
            if shared > best[0]:
                best = (shared, read)
        return best
