"""A key-value cache that is written in place.

The stock dynamic cache concatenates: every new token copies the keys and values of the whole context, half of
the decoding time of a small model on a CPU.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer


class RoomyLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """A layer's cache with room for tokens to come; ``keys`` and ``values`` are views of the filled part."""

    def __init__(self, room: int) -> None:
        """Keep room for ``room`` tokens after the first update; more need another allocation."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.room = room
        self._buffers: list[torch.Tensor] = []

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append keys and values, each [batch, heads, new tokens, head size]; returns all of them."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        filled = self.get_seq_length()
        length = filled + key_states.shape[-2]
        if not self._buffers or length > self._buffers[0].shape[-2]:
            self._allocate(key_states, value_states, length + self.room)
        for buffer, states in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[:, :, filled:length].copy_(states)
        self.keys, self.values = (buffer[:, :, :length] for buffer in self._buffers)
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep only the rows ``indices`` of the batch."""
        length = self.get_seq_length()
        self._buffers = [buffer[indices] for buffer in self._buffers]
        self.keys, self.values = (buffer[:, :, :length] for buffer in self._buffers)

    def _allocate(self, keys: torch.Tensor, values: torch.Tensor, length: int) -> None:
        old, filled = self._buffers, self.get_seq_length()
        self._buffers = [s.new_empty((*s.shape[:2], length, s.shape[-1])) for s in (keys, values)]
        for buffer, before in zip(self._buffers, old, strict=False):
            buffer[:, :, :filled].copy_(before[:, :, :filled])


def roomy_cache(layers: int, room: int) -> Cache:
    """An empty cache for a model of ``layers`` full-attention layers and ``room`` new tokens."""
    return Cache(layers=[RoomyLayer(room) for _ in range(layers)])
