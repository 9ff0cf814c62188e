"""A key-value cache that is written in place.

The stock dynamic cache concatenates: every new token copies the keys and values of the whole context, half of
the decoding time of a small model on a CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer


class RoomyLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """A layer's cache with room for tokens to come; ``keys`` and ``values`` are views of the filled part."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, filled: int) -> None:
        """Use buffers of [batch, heads, most tokens, head size], of which ``filled`` tokens are written."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.lazy_initialization(keys, values)
        self._buffers = (keys, values)
        self._view(filled)

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append keys and values, each [batch, heads, new tokens, head size]; returns all of them."""
        filled = self.get_seq_length()
        length = filled + key_states.shape[-2]
        for buffer, states in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[:, :, filled:length].copy_(states)
        return self._view(length)

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep only the rows ``indices`` of the batch."""
        keys, values = self._buffers
        self._buffers = (keys[indices], values[indices])
        self._view(self.get_seq_length())

    def _view(self, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        keys, values = (buffer[:, :, :length] for buffer in self._buffers)
        self.keys, self.values = keys, values
        return keys, values


class Rows:
    """Caches of single prompts, gathered into one batch whose rows end at the same token."""

    def __init__(self, lengths: Sequence[int], room: int) -> None:
        """Prepare for prompts of these lengths, and ``room`` new tokens each."""
        self.lengths = lengths
        self.width = max(lengths)
        self.room = room
        self._layers: list[tuple[torch.Tensor, torch.Tensor]] = []

    def put(self, row: int, cache: Cache) -> None:
        """Copy the cache of one prompt, batch size 1, to its row; what is left of it stays zero."""
        start = self.width - self.lengths[row]
        for number, layer in enumerate(cache.layers):
            if not isinstance(layer, DynamicLayer) or layer.keys is None or layer.values is None:
                raise TypeError(f"layer {number} has no plain key-value cache: {type(layer).__name__}")
            states = (layer.keys, layer.values)
            if number == len(self._layers):
                keys, values = (self._empty(state) for state in states)
                self._layers.append((keys, values))
            for buffer, state in zip(self._layers[number], states, strict=True):
                buffer[row, :, start : self.width].copy_(state[0])

    def joined(self) -> Cache:
        """The cache of the whole batch."""
        return Cache(layers=[RoomyLayer(keys, values, self.width) for keys, values in self._layers])

    def _empty(self, state: torch.Tensor) -> torch.Tensor:
        _, heads, _, size = state.shape
        return state.new_zeros((len(self.lengths), heads, self.width + self.room, size))
