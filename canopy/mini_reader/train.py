"""The stage ``mini-reader``: a LoRA adapter that teaches the small reader its four prompts."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict
from safetensors.torch import save_file
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import LambdaLR
from transformers import PreTrainedModel

from canopy.artefacts import build, write_json
from canopy.contracts import Item, read_items, read_questions
from canopy.errors import UserError
from canopy.mini_reader.annotations import ANNOTATIONS, read_annotations
from canopy.mini_reader.card import card
from canopy.mini_reader.evaluate import annotated_by_gold, evaluate
from canopy.mini_reader.examples import branches, cases, training_states
from canopy.mini_reader.packing import Packed, collate, pack
from canopy.mini_reader.renaming import Renamer
from canopy.mini_reader.states import State, StateMaker
from canopy.progress import track
from canopy.reader.engine import ADAPTER_WEIGHTS, TransformersEngine, load_engine
from canopy.settings.encoder import TreeSettings
from canopy.settings.runs import MiniReaderSettings, ReaderSettings

TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj"]
_WARM_UP = 0.06
_CLIP = 1.0
_AT_ONCE = 2
_LOG_EVERY = 20

log = logging.getLogger(__name__)


def run(settings: MiniReaderSettings, corpus: Path, raw: Path, reader: Path, out: Path) -> None:
    """Train on the train split, score on the dev split, and write adapter, card and scores.

    Args:
        settings: rank, learning rate, number of states.
        corpus: the merged mini corpus.
        raw: the raw mini corpus, for the reasoning steps of its train questions.
        reader: the converted reader.
        out: folder to make: ``adapter_model.safetensors`` (bfloat16), ``adapter_config.json``, ``scores.json``,
            ``card.md``.

    Raises:
        UserError: an input is missing, or no annotation belongs to a question of the corpus.
    """
    inputs = [corpus, raw / ANNOTATIONS, reader]
    items = list(read_items(corpus / "items.parquet"))
    questions = {split: read_questions(corpus / "questions.parquet", split) for split in ("train", "dev")}
    annotated = read_annotations(raw / ANNOTATIONS, questions["train"], items)
    if not annotated:
        raise UserError(f"{raw / ANNOTATIONS} has no annotation for a train question of {corpus}: use the same corpus")
    bare = ReaderSettings(model=settings.model, adapter="none")
    with build(out, "mini-reader", settings.model_dump(mode="json"), inputs) as artefact:
        engine = load_engine(bare, reader)
        maker = StateMaker(items, TreeSettings().fan_out, settings.seed, annotated)
        states = list(training_states(annotated, maker))
        random.Random(settings.seed).shuffle(states)
        packed = list(examples(states[: settings.max_examples], items, engine, settings))
        trained = fit(engine.model, packed, settings)
        save_adapter(trained.adapter, artefact.path)
        tuned = load_engine(bare.model_copy(update={"adapter": str(artefact.path)}), reader)
        scores = evaluate(tuned, annotated_by_gold(questions["dev"], items), items, settings.seed)
        tenth = max(1, len(trained.losses) // 10)
        facts = {
            "questions": len(annotated),
            "states": len(packed),
            "prompts": sum(len(one.segments) for one in packed),
            "tokens": sum(len(one.ids) for one in packed) * settings.epochs,
            "steps": len(trained.losses),
            "loss_first": _mean(trained.losses[:tenth]),
            "loss_last": _mean(trained.losses[-tenth:]),
            "forward_seconds": round(trained.seconds + tuned.forward_seconds, 1),
            "train_seconds": round(trained.seconds, 1),
        }
        write_json(artefact.path / "scores.json", {"training": facts, "dev": scores})
        (artefact.path / "card.md").write_text(card(settings, facts, scores), encoding="utf-8")
        artefact.facts.update(facts)


def examples(
    states: Sequence[State], items: Sequence[Item], engine: TransformersEngine, settings: MiniReaderSettings
) -> Iterator[Packed]:
    """The prompts of each state, packed into one sequence."""
    renamer = Renamer(items, settings.seed)
    for state in states:
        yield pack(branches(state, list(cases(state)), engine, settings.max_tokens, renamer))


@dataclass(frozen=True, slots=True)
class Trained:
    """A fitted adapter, the loss of each step, and the seconds spent in forward and backward passes."""

    adapter: PeftModel
    losses: list[float]
    seconds: float


def fit(model: PreTrainedModel, packed: Sequence[Packed], settings: MiniReaderSettings) -> Trained:
    """Train LoRA matrices on the attention projections; loss on completion tokens only.

    The frozen weights stay in their computing type, the adapter is float32. Warm-up over the first 6% of the
    steps, then linear decay. The model is changed in place.
    """
    torch.manual_seed(settings.seed)
    config = LoraConfig(r=settings.rank, lora_alpha=settings.alpha, target_modules=TARGETS, task_type="CAUSAL_LM")
    adapter: PeftModel = get_peft_model(model, config)
    weights = [p for p in adapter.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(weights, lr=settings.learning_rate, weight_decay=0.0)
    batches = list(_batches(packed, settings))
    warm_up = max(1, round(len(batches) * _WARM_UP))
    schedule = LambdaLR(optimiser, lambda n: min((n + 1) / warm_up, (len(batches) - n) / (len(batches) - warm_up + 1)))
    losses: list[float] = []
    seconds = 0.0
    model.train()
    for batch in track(batches, "training the reader", len(batches)):
        started = time.perf_counter()
        loss = _backward(model, batch)
        seconds += time.perf_counter() - started
        torch.nn.utils.clip_grad_norm_(weights, _CLIP)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
        losses.append(loss)
        if len(losses) % _LOG_EVERY == 0:
            log.info("step %d of %d, loss %.4f", len(losses), len(batches), _mean(losses[-_LOG_EVERY:]))
    model.eval()  # type: ignore[no-untyped-call]
    return Trained(adapter, losses, seconds)


def _backward(model: PreTrainedModel, batch: Sequence[Packed]) -> float:
    """Gradients of one step, added up over pairs of states to bound the memory; returns the step's loss."""
    weight = sum(sum(one.weights) for one in batch)
    total = 0.0
    for start in range(0, len(batch), _AT_ONCE):
        part = batch[start : start + _AT_ONCE]
        loss = completion_loss(model, part) * (sum(sum(one.weights) for one in part) / weight)
        loss.backward()  # type: ignore[no-untyped-call]
        total += loss.item()
    return total


def completion_loss(model: PreTrainedModel, sequences: Sequence[Packed]) -> torch.Tensor:
    """Weighted mean cross-entropy of the completion tokens; logits are computed for those alone."""
    batch = collate(sequences, pad=0)
    hidden = model.base_model(
        input_ids=batch["input_ids"],
        position_ids=batch["position_ids"],
        attention_mask=batch["attention_mask"],
        use_cache=False,
    ).last_hidden_state
    logits = model.lm_head(hidden[batch["rows"], batch["sources"]])
    losses = cross_entropy(logits.float(), batch["targets"], reduction="none")
    return (losses * batch["weights"]).sum() / batch["weights"].sum()


def save_adapter(adapter: PeftModel, directory: Path) -> None:
    """Write the adapter in bfloat16 with its configuration, which names the model and no local path."""
    state = get_peft_model_state_dict(adapter)
    tensors = {name: value.detach().to(torch.bfloat16).contiguous() for name, value in state.items()}
    save_file(tensors, directory / ADAPTER_WEIGHTS, metadata={"format": "pt"})
    config = cast(LoraConfig, adapter.peft_config["default"])
    config.base_model_name_or_path = "SmolLM2-135M-Instruct"
    config.target_modules = list(TARGETS)  # a set would be written in another order each time
    config.inference_mode = True
    config.save_pretrained(str(directory))


def _batches(packed: Sequence[Packed], settings: MiniReaderSettings) -> Iterator[list[Packed]]:
    """Batches of similar lengths in random order."""
    draw = random.Random(settings.seed)
    size = settings.batch_size
    for _ in range(settings.epochs):
        order = list(packed)
        draw.shuffle(order)
        batches = []
        for start in range(0, len(order), 16 * size):
            block = sorted(order[start : start + 16 * size], key=lambda one: len(one.ids))
            batches += [block[n : n + size] for n in range(0, len(block), size)]
        draw.shuffle(batches)
        yield from batches


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / max(1, len(values)), 4)
