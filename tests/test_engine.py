from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from tiny_reader import SPECIAL, byte_tokenizer, make_tiny_reader, tiny_model
from transformers import DynamicCache

from canopy.errors import UserError
from canopy.reader.cache import Rows
from canopy.reader.decode import greedy
from canopy.reader.engine import TransformersEngine, choose_dtype, load_engine
from canopy.reader.prefixes import Prefixes
from canopy.settings.runs import ReaderSettings

BARE = ReaderSettings(adapter="none", dtype="float32", context_tokens=256, batch_size=3)
END = SPECIAL.index("<|im_end|>")


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_reader(tmp_path_factory.mktemp("reader") / "tiny")


@pytest.fixture(scope="module")
def engine(model_dir: Path) -> TransformersEngine:
    return load_engine(BARE, model_dir)


def stock(model: torch.nn.Module, prompt: list[int], new: int, stops: list[int]) -> list[int]:
    """What transformers' own generate gives for one prompt alone, without the stop token."""
    ids = torch.tensor([prompt])
    out = model.generate(  # type: ignore[operator]
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=new,
        do_sample=False,
        eos_token_id=stops,
        pad_token_id=0,
    )[0, len(prompt) :].tolist()
    return out[:-1] if out and out[-1] in stops else out


@pytest.mark.parametrize("seed", range(4))
def test_batched_greedy_equals_generate_one_by_one(seed: int) -> None:
    model, draw = tiny_model(seed), random.Random(seed)
    prompts = [[draw.randrange(3, 259) for _ in range(draw.randrange(1, 40))] for _ in range(7)]
    unstopped = [stock(model, prompt, 12, []) for prompt in prompts]
    # Stops that the outputs do reach, at different steps, so that rows leave the batch one after another.
    stops = [unstopped[0][3], unstopped[1][7], unstopped[2][0]]
    expected = [stock(model, prompt, 12, stops) for prompt in prompts]
    assert len({len(new) for new in expected}) > 1
    assert greedy(model, prompts, 12, set(stops), Prefixes(0)) == expected


def test_rows_are_joined_on_the_right_and_selected() -> None:
    generator = torch.Generator().manual_seed(1)
    stored = {n: [torch.randn(1, 2, n, 4, generator=generator) for _ in range(2)] for n in (5, 3)}
    rows = Rows([5, 3], room=2)
    for row, (length, (keys, values)) in enumerate(stored.items()):
        single = DynamicCache()
        single.update(keys, values, 0)
        assert single.get_seq_length() == length
        rows.put(row, single)
    cache = rows.joined()
    assert cache.get_seq_length() == 5
    assert torch.equal(cache.layers[0].keys[0], stored[5][0][0])
    assert torch.equal(cache.layers[0].keys[1, :, 2:], stored[3][0][0])
    new = torch.randn(2, 2, 1, 4, generator=generator)
    keys, values = cache.update(new, -new, 0)
    assert keys.shape[2] == values.shape[2] == cache.get_seq_length() == 6
    assert torch.equal(keys[1, :, 5:], new[1])
    cache.batch_select_indices(torch.tensor([1]))
    assert torch.equal(cache.layers[0].values[0, :, 2:5], stored[3][1][0])
    assert torch.equal(cache.layers[0].values[0, :, 5:], -new[1])


def test_results_come_in_input_order_whatever_the_batches(engine: TransformersEngine, model_dir: Path) -> None:
    prompts = ["long " * 20, "a", "middle " * 5, "b", "c" * 90, "dd", "e e e"]
    alone = [engine.generate([prompt], 8)[0] for prompt in prompts]
    assert engine.generate(prompts, 8) == alone
    one_batch = load_engine(BARE.model_copy(update={"batch_size": 64}), model_dir)
    assert one_batch.generate(prompts, 8) == alone
    assert [g.prompt_tokens for g in alone] == [len(ids) for ids in engine.chat_ids(prompts)]
    assert engine.generate([], 8) == []


def test_only_the_last_position_gets_logits(engine: TransformersEngine) -> None:
    shapes: list[tuple[int, ...]] = []
    hook = engine.model.lm_head.register_forward_hook(lambda _m, _i, out: shapes.append(tuple(out.shape)))
    try:
        engine.generate(["some words", "more words than that"], 3)
    finally:
        hook.remove()
    assert {shape[1] for shape in shapes} == {1}


def test_forward_seconds_add_up(engine: TransformersEngine) -> None:
    before = engine.forward_seconds
    engine.generate(["x"], 4)
    assert engine.forward_seconds > before


def test_special_tokens_in_evidence_stay_text(engine: TransformersEngine) -> None:
    ids = engine.chat_ids(["say <|im_end|> now"])[0]
    assert ids.count(END) == 1
    assert engine.count_tokens(["<|im_end|>"]) == [len("<|im_end|>")]


def test_prompt_over_the_context_is_refused(engine: TransformersEngine) -> None:
    with pytest.raises(UserError, match=r"context_tokens = 256"):
        engine.generate(["x" * 250], 8)


def test_adapter_is_merged_and_in_the_fingerprint(model_dir: Path, tmp_path: Path, engine: TransformersEngine) -> None:
    peft = get_peft_model(tiny_model(), LoraConfig(r=2, target_modules=["q_proj", "o_proj"], init_lora_weights=False))
    peft.save_pretrained(tmp_path)
    adapted = load_engine(BARE.model_copy(update={"adapter": str(tmp_path)}), model_dir)
    ids = torch.tensor([[5, 6, 7, 8, 9]])
    with torch.inference_mode():
        torch.testing.assert_close(adapted.model(ids).logits, peft(ids).logits, rtol=1e-3, atol=1e-4)
        assert not torch.allclose(adapted.model(ids).logits, engine.model(ids).logits, atol=1e-2)
    assert adapted.fingerprint != engine.fingerprint


def test_same_settings_same_fingerprint(model_dir: Path, engine: TransformersEngine) -> None:
    assert load_engine(BARE, model_dir).fingerprint == engine.fingerprint
    bfloat16 = BARE.model_copy(update={"dtype": "bfloat16"})
    assert load_engine(bfloat16, model_dir).fingerprint != engine.fingerprint


def test_missing_or_changed_parts_are_named(model_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has not finished"):
        load_engine(BARE, tmp_path / "absent")
    with pytest.raises(UserError, match="no adapter_model"):
        load_engine(BARE.model_copy(update={"adapter": str(tmp_path)}), model_dir)
    with pytest.raises(UserError, match="no adapter_model"):
        load_engine(BARE.model_copy(update={"adapter": "package:absent"}), model_dir)
    broken = make_tiny_reader(tmp_path / "broken")
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(UserError, match="not what its manifest says"):
        load_engine(BARE, broken)


def test_adapter_of_another_model_is_refused(model_dir: Path, tmp_path: Path) -> None:
    peft = get_peft_model(tiny_model(), LoraConfig(r=2, target_modules=["q_proj"]))
    peft.save_pretrained(tmp_path)
    config = (tmp_path / "adapter_config.json").read_text()
    (tmp_path / "adapter_config.json").write_text(config.replace("q_proj", "absent_proj"))
    with pytest.raises(UserError, match="does not fit the reader"):
        load_engine(BARE.model_copy(update={"adapter": str(tmp_path)}), model_dir)


def test_dtype_follows_the_processor() -> None:
    assert choose_dtype("auto", True) == torch.bfloat16
    assert choose_dtype("auto", False) == torch.float32
    assert choose_dtype("float32", True) == torch.float32


def test_byte_tokenizer_round_trip() -> None:
    tokenizer = byte_tokenizer()
    assert tokenizer.decode(tokenizer.encode("Zürich (A)")) == "Zürich (A)"
