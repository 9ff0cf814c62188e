"""Fine-tuning of the node encoder: LoRA on gold preferences, the query side frozen (DESIGN section 4)."""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict
from safetensors.torch import save_file

from canopy.artefacts import build
from canopy.contracts import Question, read_questions
from canopy.devices import encoder_device, has_bfloat16
from canopy.encoder.dtype import chosen
from canopy.encoder.model import ADAPTER_FILE, TextEncoder, embed, load_model, padded, same_width, tokenize
from canopy.encoder.pairs import Floats, PairSet, accuracy, decide, pair_set
from canopy.errors import UserError
from canopy.pinned import MINILM, pinned_file
from canopy.preferences import gold_items, in_order, read_pairs
from canopy.progress import track
from canopy.settings.encoder import EncoderSettings, TrainingSettings

CURVE_FILE = "curve.csv"
# All linear layers of a block: attention (query, key, value, output) and feed-forward.
_TARGETS = ["dense", "key", "query", "value"]


def run(corpus: Path, preferences: Sequence[Path], settings: TrainingSettings, out: Path) -> None:
    """Train the adapter on the train split and keep the one with the lowest dev loss.

    Args:
        corpus: directory of the ``corpus`` stage.
        preferences: directories of all shards of the ``preferences`` stage, in any order.
        settings: encoder, sample of questions, optimiser, early stop.
        out: directory for the adapter and ``curve.csv``. The facts give dev decision accuracy, frozen
            and fine-tuned, the agreement of bfloat16 with float32, and the dtypes chosen by it.

    Raises:
        UserError: the train or the dev split gives no pairs, or the shards are not all there and alike.
    """
    preferences = in_order(preferences, settings.tree)
    train, train_queries = _load(corpus, preferences, "train", settings)
    dev, dev_queries = _load(corpus, preferences, "dev", settings)
    frozen = TextEncoder.load(settings.encoder, dtype="float32")
    asked = {"train": frozen.encode(train_queries), "dev": frozen.encode(dev_queries)}
    with build(out, "encoder", settings.model_dump(mode="json"), [corpus, *preferences]) as artefact:
        trainer = Trainer(settings, frozen.tokenizer)
        curve = trainer.fit(train, asked["train"], dev, asked["dev"])
        pl.DataFrame(curve).write_csv(artefact.path / CURVE_FILE)
        trainer.save(artefact.path)
        measured = _measure(dev, asked["dev"], frozen, artefact.path, settings.encoder)
        seconds = measured.pop("forward_seconds") + trainer.forward_seconds
        artefact.facts |= {
            "train_questions": len(train_queries),
            "train_pairs": len(train.queries),
            "train_descend_share": round(float(train.descend.mean()), 4),
            "dev_questions": len(dev_queries),
            "dev_pairs": len(dev.queries),
            "steps": curve[-1]["step"],
            "best_step": trainer.best_step,
            **measured,
            "forward_seconds": round(seconds, 3),
        }


class Trainer:
    """A LoRA adapter on the frozen encoder, trained by pairs of node scores.

    Attributes:
        forward_seconds: time inside forward (and backward) passes so far.
        best_step: optimiser steps done by the adapter with the lowest dev loss.
    """

    def __init__(self, settings: TrainingSettings, tokenizer: Any) -> None:
        """Put a new adapter, seeded, on the pinned weights."""
        torch.manual_seed(settings.seed)
        self._settings = settings
        self._tokenizer = tokenizer
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        base = load_model(pinned_file(MINILM).parent)
        last = int(base.config.num_hidden_layers)  # type: ignore[union-attr, arg-type]
        config = LoraConfig(
            r=settings.rank,
            lora_alpha=settings.alpha,
            lora_dropout=0.0,
            target_modules=_TARGETS,
            layers_to_transform=list(range(last - settings.layers, last)),
        )
        # Evaluation mode: without dropout the loss is of the scores that inference will compare.
        self._model: PeftModel = get_peft_model(base, config).to(self._device).eval()
        self._autocast = has_bfloat16(self._device.type)
        self._best: dict[str, torch.Tensor] = {}
        self.best_step = 0
        self.forward_seconds = 0.0

    def fit(self, train: PairSet, train_queries: Floats, dev: PairSet, dev_queries: Floats) -> list[dict[str, Any]]:
        """Train until the epochs are over or the dev loss has not fallen for ``patience`` evaluations.

        Returns:
            The curve: one row an evaluation, the untrained adapter first.
        """
        settings = self._settings
        weights = _class_weights(train)
        parameters = [p for p in self._model.parameters() if p.requires_grad]
        optimiser = torch.optim.AdamW(parameters, lr=settings.learning_rate, weight_decay=0.01)
        batches = _batches(train, settings)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, _warm_up_then_linear(len(batches)))
        every = math.ceil(len(batches) / (settings.epochs * settings.evaluations_per_epoch))
        curve = [self._evaluate(0, float("nan"), dev, dev_queries)]
        self._keep(0)
        losses: list[float] = []
        without_gain = 0
        for step, batch in enumerate(track(batches, "fine-tuning the node encoder"), 1):
            losses.append(self._step(train.of_queries(batch), train_queries, weights, optimiser))
            schedule.step()
            if step % every and step != len(batches):
                continue
            curve.append(self._evaluate(step, float(np.mean(losses)), dev, dev_queries))
            losses.clear()
            if curve[-1]["dev_loss"] < min(row["dev_loss"] for row in curve[:-1]):
                self._keep(step)
                without_gain = 0
            else:
                without_gain += 1
                if without_gain >= settings.patience:
                    break
        return curve

    def save(self, directory: Path) -> None:
        """Write the best adapter in PEFT's layout, without machine-specific paths."""
        save_file(self._best, directory / ADAPTER_FILE)
        config = self._model.peft_config["default"].to_dict()
        config |= {"base_model_name_or_path": "sentence-transformers/all-MiniLM-L6-v2", "inference_mode": True}
        plain = {key: sorted(value) if isinstance(value, set) else value for key, value in config.items()}
        text = json.dumps(plain, indent=1, sort_keys=True, default=str)
        (directory / "adapter_config.json").write_text(text + "\n", encoding="utf-8")

    def _step(
        self, pairs: PairSet, queries: Floats, weights: tuple[float, float], optimiser: torch.optim.Optimizer
    ) -> float:
        started = time.perf_counter()
        asked = torch.from_numpy(queries[pairs.queries]).to(self._device)
        nodes = self._encode(pairs.texts)
        parents, children = (nodes[torch.from_numpy(ends).to(self._device)] for ends in (pairs.parents, pairs.children))
        descend = torch.from_numpy(pairs.descend).to(self._device)
        gain = (asked * (children - parents)).sum(1)
        loss = torch.nn.functional.softplus(-torch.where(descend, gain, -gain) / self._settings.temperature)
        total = (loss * torch.where(descend, weights[0], weights[1])).mean()
        optimiser.zero_grad()
        total.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_([p for p in self._model.parameters() if p.requires_grad], 1.0)
        optimiser.step()
        self.forward_seconds += time.perf_counter() - started
        return float(total.detach())

    def _evaluate(self, step: int, train_loss: float, dev: PairSet, queries: Floats) -> dict[str, Any]:
        started = time.perf_counter()
        with torch.inference_mode():
            nodes = self._encode(dev.texts).cpu().numpy()
        self.forward_seconds += time.perf_counter() - started
        parents, children = dev.scores(queries, nodes)
        signed = np.where(dev.descend, children - parents, parents - children) / self._settings.temperature
        rates = accuracy(dev, decide(parents, children))
        return {"step": step, "train_loss": train_loss, "dev_loss": float(np.logaddexp(0, -signed).mean()), **rates}

    def _encode(self, texts: Sequence[str]) -> torch.Tensor:
        """Node vectors float32 [n, d]; bfloat16 products where the processor has them."""
        encoder = self._settings.encoder
        tokens, _ = tokenize(self._tokenizer, texts, encoder.max_tokens)
        rows, vectors = [], []
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._autocast):
            for own in same_width([len(ids) for ids in tokens], encoder.batch_size):
                rows.append(own)
                vectors.append(embed(self._model, padded([tokens[row] for row in own]), self._device))
        order = torch.from_numpy(np.argsort(np.concatenate(rows))).to(self._device)
        return torch.cat(vectors)[order]

    def _keep(self, step: int) -> None:
        state = get_peft_model_state_dict(self._model)
        self._best = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in state.items()}
        self.best_step = step


def _load(
    corpus: Path, preferences: Sequence[Path], split: Any, settings: TrainingSettings
) -> tuple[PairSet, list[str]]:
    """Pairs and question texts of a split; of train only the seeded sample, in the order of the file."""
    pairs = read_pairs(preferences, split)
    with_pairs = set(pairs["qid"])
    questions = [
        question for question in read_questions(corpus / "questions.parquet", split) if question.qid in with_pairs
    ]
    if not questions:
        raise UserError(
            f"{', '.join(map(str, preferences))}: no pairs of split {split}; the encoder cannot be trained without"
        )
    if split == "train" and len(questions) > settings.max_questions:
        picked = random.Random(settings.seed).sample(range(len(questions)), settings.max_questions)
        questions = [questions[n] for n in sorted(picked)]
    pairs = pairs.filter(pl.col("qid").is_in([question.qid for question in questions]))
    return pair_set(pairs, questions, gold_items(corpus, questions)), [_query(question) for question in questions]


def _query(question: Question) -> str:
    """What is encoded for a question: the query of round 1."""
    return question.question


def _batches(train: PairSet, settings: TrainingSettings) -> list[list[int]]:
    """Questions of each step: every epoch all of them in a new seeded order."""
    shuffle = random.Random(settings.seed).shuffle
    order = sorted(set(train.queries.tolist()))
    batches = []
    for _ in range(settings.epochs):
        shuffle(order)
        batches += [order[at : at + settings.batch_questions] for at in range(0, len(order), settings.batch_questions)]
    return batches


def _class_weights(train: PairSet) -> tuple[float, float]:
    """Weights of descend and stay pairs that make both classes count alike."""
    descend = float(train.descend.mean())
    return (0.5 / descend, 0.5 / (1 - descend)) if 0 < descend < 1 else (1.0, 1.0)


def _warm_up_then_linear(steps: int) -> Any:
    warm_up = max(1, steps // 10)
    return lambda step: min((step + 1) / warm_up, (steps - step) / max(1, steps - warm_up))


def _measure(
    dev: PairSet, queries: Floats, frozen: TextEncoder, adapter: Path, settings: EncoderSettings
) -> dict[str, Any]:
    """Dev decisions, frozen and fine-tuned, in float32; agreement of bfloat16 with them; the dtypes chosen."""
    facts: dict[str, Any] = {"dev": {}, "agreement": {}, "dtype": {}}
    seconds = 0.0
    for name, own in (("frozen", None), ("fine_tuned", adapter)):
        exact = TextEncoder.load(settings, own, "float32") if own else frozen
        descends = decide(*dev.scores(queries, exact.encode(dev.texts)))
        facts["dev"][name] = {key: round(value, 4) for key, value in accuracy(dev, descends).items()}
        seconds += exact.forward_seconds
        agreement = None
        if has_bfloat16(encoder_device()):
            coarse = TextEncoder.load(settings, own, "bfloat16")
            agreement = float((decide(*dev.scores(queries, coarse.encode(dev.texts))) == descends).mean())
            seconds += coarse.forward_seconds
        facts["agreement"][name] = agreement
        facts["dtype"][name] = chosen(agreement)
    return facts | {"forward_seconds": seconds}
