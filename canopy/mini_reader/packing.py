"""All prompts of one state in one sequence: what they share is computed once.

The branches form a tree. A branch continues the earlier branch that it has most tokens in common with, from where
they part. Its own tokens see that common beginning and each other, nothing else, and have the positions they would
have alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from canopy.mini_reader.examples import Branch


@dataclass(frozen=True, slots=True)
class Segment:
    """A branch's own tokens ``[start, end)``, and the indices of those before them that they continue."""

    before: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Packed:
    """One sequence of several branches.

    Attributes:
        ids: tokens.
        positions: position of each token within its own branch.
        segments: the branches, in order; their own tokens partition the sequence.
        sources: indices of the tokens that predict a completion token.
        targets: the completion tokens.
        weights: their weights in the loss.
    """

    ids: list[int]
    positions: list[int]
    segments: list[Segment]
    sources: list[int]
    targets: list[int]
    weights: list[float]


def pack(branches: Sequence[Branch]) -> Packed:
    """Join branches; at least one, each with a prompt and a completion."""
    packed = Packed([], [], [], [], [], [])
    known: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for branch in branches:
        tokens = branch.prompt + branch.completion
        # The last prompt token predicts the first of the completion, so it is never shared.
        shared, path = _closest(tokens[: len(branch.prompt) - 1], known)
        start, end = len(packed.ids), len(packed.ids) + len(tokens) - shared
        packed.ids.extend(tokens[shared:])
        packed.positions.extend(range(shared, len(tokens)))
        packed.segments.append(Segment(path[:shared], start, end))
        packed.sources.extend(range(end - len(branch.completion) - 1, end - 1))
        packed.targets.extend(branch.completion)
        packed.weights.extend(branch.weights)
        known.append((tokens, (*path[:shared], *range(start, end))))
    return packed


def collate(sequences: Sequence[Packed], pad: int) -> dict[str, torch.Tensor]:
    """One batch, padded on the right.

    Returns:
        ``input_ids`` and ``position_ids`` int64 [b, n]; ``attention_mask`` bool [b, 1, n, n]; ``rows`` and
        ``sources`` int64 [m], where completions are predicted; ``targets`` int64 [m]; ``weights`` float32 [m].
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
            own = visible[row, 0, part.start : part.end]
            own[:, list(part.before)] = True
            own[:, part.start : part.end] = torch.ones(len(own), len(own)).tril().bool()
    return {
        "input_ids": ids,
        "position_ids": positions,
        "attention_mask": visible,
        "rows": torch.tensor([row for row, one in enumerate(sequences) for _ in one.sources]),
        "sources": torch.tensor([source for one in sequences for source in one.sources]),
        "targets": torch.tensor([target for one in sequences for target in one.targets]),
        "weights": torch.tensor([weight for one in sequences for weight in one.weights]),
    }


def _closest(
    tokens: Sequence[int], known: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]
) -> tuple[int, tuple[int, ...]]:
    """Length of the longest beginning shared with a known branch, and where that branch's tokens are."""
    best: tuple[int, tuple[int, ...]] = (0, ())
    for other, path in known:
        shared = next((n for n, (a, b) in enumerate(zip(tokens, other, strict=False)) if a != b), None)
        shared = min(len(tokens), len(other)) if shared is None else shared
        if shared > best[0]:
            best = (shared, path)
    return best
