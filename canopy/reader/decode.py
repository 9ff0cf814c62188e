"""Greedy decoding of one batch, with finished rows taken out as they finish."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from transformers import PreTrainedModel

from canopy.reader.cache import roomy_cache


@torch.inference_mode()
def greedy(
    model: PreTrainedModel, prompts: Sequence[Sequence[int]], max_new_tokens: int, stops: Collection[int], pad: int
) -> list[list[int]]:
    """New token ids of each prompt, without the stop token.

    Prompts are padded on the left; only the logits of the last position are computed. The result is that of
    ``model.generate(do_sample=False)``.

    Args:
        model: a causal language model in evaluation mode.
        prompts: token ids, none of them empty.
        max_new_tokens: most new tokens a prompt.
        stops: ids that end an output.
        pad: id that fills the left side; it is masked.
    """
    width = max(map(len, prompts))
    ids = torch.tensor([[pad] * (width - len(p)) + list(p) for p in prompts])
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    cache = roomy_cache(model.config.num_hidden_layers, max_new_tokens)
    outputs: list[list[int]] = [[] for _ in prompts]
    alive = list(range(len(prompts)))
    for step in range(max_new_tokens):
        logits = model(
            input_ids=ids, attention_mask=mask, position_ids=positions, cache=cache, use_cache=True, logits_to_keep=1
        ).logits
        chosen = logits[:, -1].argmax(-1).tolist()
        going = [row for row, token in enumerate(chosen) if token not in stops]
        for row in going:
            outputs[alive[row]].append(chosen[row])
        if not going or step == max_new_tokens - 1:
            break
        if len(going) < len(alive):
            rows = torch.tensor(going)
            cache.batch_select_indices(rows)
            mask, positions = mask[rows], positions[rows]
        alive = [alive[row] for row in going]
        ids = torch.tensor([[chosen[row]] for row in going])
        mask = torch.cat([mask, mask.new_ones(len(going), 1)], dim=1)
        positions = positions[:, -1:] + 1
    return outputs
