"""All prompts of one state in one sequence: the evidence they share is computed once.

The first branch is the trunk. Every other branch continues the trunk from where their tokens part: its tokens
see the shared part of the trunk and each other, nothing else, and have the positions they would have alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from canopy.mini_reader.examples import Branch


@dataclass(frozen=True, slots=True)
class Segment:
    """One branch in a packed sequence: its own tokens are ``[start, end)``; it also sees ``[0, shared)``."""

    shared: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Packed:
    """One sequence of several branches.

    Attributes:
        ids: tokens.
        positions: position of each token within its own branch.
        segments: the branches, in order; they partition the tokens.
        sources: indices of the tokens that predict a completion token.
        targets: the completion tokens.
    """

    ids: list[int]
    positions: list[int]
    segments: list[Segment]
    sources: list[int]
    targets: list[int]


def pack(branches: Sequence[Branch]) -> Packed:
    """Join branches; at least one, each with a prompt and a completion."""
    trunk = branches[0].prompt + branches[0].completion
    packed = Packed([], [], [], [], [])
    for branch in branches:
        whole = branch.prompt + branch.completion
        # The last prompt token predicts the first of the completion, so it is never shared.
        shared = _shared(trunk, whole[: len(branch.prompt) - 1]) if packed.ids else 0
        start = len(packed.ids)
        packed.ids.extend(whole[shared:])
        packed.positions.extend(range(shared, len(whole)))
        end = len(packed.ids)
        packed.segments.append(Segment(shared, start, end))
        packed.sources.extend(range(end - len(branch.completion) - 1, end - 1))
        packed.targets.extend(branch.completion)
    return packed


def collate(sequences: Sequence[Packed], pad: int) -> dict[str, torch.Tensor]:
    """One batch, padded on the right.

    Returns:
        ``input_ids`` and ``position_ids`` int64 [b, n]; ``attention_mask`` bool [b, 1, n, n]; ``rows`` and
        ``sources`` int64 [m], where completions are predicted; ``targets`` int64 [m].
    """
    width = max(len(one.ids) for one in sequences)
    ids = torch.full((len(sequences), width), pad)
    positions = torch.zeros(len(sequences), width, dtype=torch.long)
    # Padding sees itself: a row that sees nothing would be NaN.
    visible = torch.eye(width, dtype=torch.bool).repeat(len(sequences), 1, 1, 1)
    for row, one in enumerate(sequences):
        ids[row, : len(one.ids)] = torch.tensor(one.ids)
        positions[row, : len(one.ids)] = torch.tensor(one.positions)
        for part in one.segments:
            own = slice(part.start, part.end)
            visible[row, 0, own, : part.shared] = True
            visible[row, 0, own, own] = torch.ones(part.end - part.start, part.end - part.start).tril().bool()
    return {
        "input_ids": ids,
        "position_ids": positions,
        "attention_mask": visible,
        "rows": torch.tensor([row for row, one in enumerate(sequences) for _ in one.sources]),
        "sources": torch.tensor([source for one in sequences for source in one.sources]),
        "targets": torch.tensor([target for one in sequences for target in one.targets]),
    }


def _shared(first: Sequence[int], second: Sequence[int]) -> int:
    for n, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return n
    return min(len(first), len(second))
