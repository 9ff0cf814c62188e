"""A reader of random weights, small enough for any test, in the form that `canopy reader-model` writes."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from canopy.artefacts import build

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """One token a byte, after the three special tokens."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: n for n, token in enumerate([*SPECIAL, *letters])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=SPECIAL[1],
        eos_token=SPECIAL[2],
        pad_token=SPECIAL[2],
        additional_special_tokens=[SPECIAL[0]],
    )


def tiny_model(seed: int = 0) -> LlamaForCausalLM:
    """A random Llama with SmolLM2's three query heads for each key-value head."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(SPECIAL) + 256,
            hidden_size=36,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=6,
            num_key_value_heads=2,
            head_dim=8,
            initializer_range=0.5,
            max_position_embeddings=2048,
            tie_word_embeddings=True,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=2,
        )
    ).eval()


def make_tiny_reader(directory: Path, seed: int = 0) -> Path:
    """Write the tiny reader as an artefact."""
    with build(directory, "reader-model", {}) as artefact:
        tiny_model(seed).save_pretrained(artefact.path)
        byte_tokenizer().save_pretrained(artefact.path)
    return directory
