from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from canopy import decisions, preferences
from canopy.artefacts import build, read_manifest
from canopy.contracts import ITEM_SCHEMA, QUESTION_SCHEMA, Gold, Item, Question, Span, frame_of
from canopy.encoder import train
from canopy.encoder.dtype import chosen, noted
from canopy.encoder.model import TextEncoder
from canopy.errors import UserError
from canopy.pinned import MINILM, pinned_file
from canopy.settings.encoder import DecisionSettings, EncoderSettings, PreferenceSettings, TrainingSettings

NAMES = ["Orla", "Bram", "Cyra", "Dov", "Elin", "Fenn", "Gita", "Hale", "Iska", "Joss", "Kian", "Lena"]
TRADES = ["baker", "miller", "pilot", "tailor"]
SETTINGS = TrainingSettings(epochs=2, batch_questions=4, evaluations_per_epoch=1, learning_rate=1e-3)


def corpus(root: Path) -> Path:
    """Items of four sentences, one of which says where somebody lives; the question asks for that."""
    rng = random.Random(2)
    items, questions = [], []
    for n, name in enumerate(NAMES):
        lives = f"{name} lives in Port {rng.randint(10, 99)}. "
        others = [f"{name} met a {trade} and said little. " for trade in rng.sample(TRADES, 3)]
        gold = rng.randrange(4)
        sentences = [*others[:gold], lives, *others[gold:]]
        ends = np.cumsum([len(sentence) for sentence in sentences]).tolist()
        units = tuple(Span(end - len(s), end) for s, end in zip(sentences, ends, strict=True))
        items.append(Item(f"nq:{n:02d}", "nq", str(n), "text", name, "".join(sentences), units))
        split = ("train", "train", "dev", "test")[n % 4]
        evidence = (Gold(f"nq:{n:02d}", (gold,)),)
        asked = f"Where does {name} live?"
        questions.append(Question(f"nq:q{n}", "nq", split, asked, (), ("Port",), "span", evidence))  # type: ignore[arg-type]
    with build(root / "corpus", "corpus", {}) as artefact:
        frame_of(items, ITEM_SCHEMA).write_parquet(artefact.path / "items.parquet")
        frame_of(questions, QUESTION_SCHEMA).write_parquet(artefact.path / "questions.parquet")
    preferences.run(root / "corpus", PreferenceSettings(), root / "preferences")
    return root


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = corpus(tmp_path_factory.mktemp("training"))
    train.run(root / "corpus", [root / "preferences"], SETTINGS, root / "encoder")
    return root


def test_training_lowers_the_loss_and_keeps_the_best(trained: Path) -> None:
    curve = pl.read_csv(trained / "encoder" / "curve.csv")
    assert curve["step"].to_list() == [0, 2, 4]
    assert curve["dev_loss"][-1] < curve["dev_loss"][0]
    facts = read_manifest(trained / "encoder")["facts"]
    assert curve.filter(pl.col("step") == facts["best_step"])["dev_loss"].item() == curve["dev_loss"].min()
    assert facts["train_questions"] == 6
    assert facts["dev"]["frozen"].keys() == facts["dev"]["fine_tuned"].keys()


def test_the_same_seed_gives_the_same_bytes(trained: Path, tmp_path: Path) -> None:
    train.run(trained / "corpus", [trained / "preferences"], SETTINGS, tmp_path / "again")
    files = [read_manifest(directory)["files"] for directory in (trained / "encoder", tmp_path / "again")]
    assert files[0] == files[1]
    other = SETTINGS.model_copy(update={"seed": 14})
    train.run(trained / "corpus", [trained / "preferences"], other, tmp_path / "other")
    assert read_manifest(tmp_path / "other")["files"] != files[0]


def test_the_number_of_preference_shards_changes_no_byte(trained: Path, tmp_path: Path) -> None:
    mined = [tmp_path / f"shard-{n}" for n in range(3)]
    for n, out in enumerate(mined):
        preferences.run(trained / "corpus", PreferenceSettings(), out, n, 3)
    train.run(trained / "corpus", [mined[2], mined[0], mined[1]], SETTINGS, tmp_path / "encoder")
    files = [read_manifest(directory)["files"] for directory in (trained / "encoder", tmp_path / "encoder")]
    assert files[0] == files[1]


def test_the_adapter_names_no_local_path(trained: Path) -> None:
    config = (trained / "encoder" / "adapter_config.json").read_text()
    assert str(pinned_file(MINILM).parents[1]) not in config
    assert (trained / "encoder" / "adapter_model.safetensors").stat().st_size < 4 * 2**20


def test_the_merged_adapter_changes_nodes_and_the_fingerprint(trained: Path) -> None:
    frozen, tuned = (TextEncoder.load(EncoderSettings(), adapter) for adapter in (None, trained / "encoder"))
    assert frozen.fingerprint != tuned.fingerprint
    before, after = (encoder.encode(["Orla\nOrla lives in Port 12."]) for encoder in (frozen, tuned))
    assert np.abs(before - after).max() > 1e-4


def test_merged_decisions_are_those_of_training(trained: Path) -> None:
    # The curve was computed with the adapter beside the weights, the facts with the merged adapter in float32.
    facts = read_manifest(trained / "encoder")["facts"]
    curve = pl.read_csv(trained / "encoder" / "curve.csv").filter(pl.col("step") == facts["best_step"])
    assert facts["dev"]["fine_tuned"]["accuracy"] == pytest.approx(curve["accuracy"].item(), abs=0.15)


def test_without_dev_pairs_there_is_a_message(tmp_path: Path) -> None:
    root = corpus(tmp_path)
    path = root / "corpus" / "questions.parquet"
    pl.read_parquet(path).filter(pl.col("split") != "dev").write_parquet(path)
    preferences.run(root / "corpus", PreferenceSettings(), root / "preferences")
    with pytest.raises(UserError, match="no pairs of split dev"):
        train.run(root / "corpus", [root / "preferences"], SETTINGS, root / "encoder")


def test_bfloat16_needs_the_measured_agreement(tmp_path: Path) -> None:
    assert [chosen(share) for share in (None, 0.9949, 0.995, 1.0)] == ["float32", "float32", "bfloat16", "bfloat16"]
    assert noted(tmp_path, "fine_tuned") == "float32", "an adapter without a note"


def word_tokenizer(directory: Path) -> Path:
    """A reader's tokenizer that counts words."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = WhitespaceSplit()  # type: ignore[assignment]
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?").save_pretrained(directory)
    return directory


def test_decisions_judge_both_encoders_on_test_items_only(trained: Path, tmp_path: Path) -> None:
    where = (trained / "corpus", [trained / "preferences"], trained / "encoder")
    decisions.run(*where, word_tokenizer(tmp_path / "reader"), DecisionSettings(), tmp_path / "out")
    pairs = pl.read_parquet(tmp_path / "out" / "pairs.parquet")
    items = pl.read_parquet(tmp_path / "out" / "items.parquet")
    assert set(pairs["encoder"]) == set(items["encoder"]) == {"frozen", "fine_tuned"}
    assert set(pairs["qid"]) == set(items["qid"]) == {"nq:q3", "nq:q7", "nq:q11"}
    descends = pairs["child_score"] >= pairs["parent_score"]
    assert pairs["right"].to_list() == (descends == (pairs["label"] == "descend")).to_list()
    mined = pl.read_parquet(trained / "preferences" / "pairs.parquet").filter(pl.col("split") == "test")
    assert pairs.filter(pl.col("encoder") == "frozen").height == mined.height
    # "Name", six words that say where and three sentences of seven: 1 + 5 + 3 * 7.
    assert set(items["whole_tokens"]) == {1 + 1 + 5 + 3 * 7}
    assert (items["kept_tokens"] <= items["whole_tokens"]).all()
    assert (items["descended"] == (items["kept_tokens"] < items["whole_tokens"])).all()


def test_decisions_refuse_other_trees(trained: Path, tmp_path: Path) -> None:
    where = (trained / "corpus", [trained / "preferences"], trained / "encoder")
    with pytest.raises(UserError, match="other tree settings"):
        settings = DecisionSettings.parse('{"tree": {"fan_out": 3}}')
        decisions.run(*where, word_tokenizer(tmp_path / "reader"), settings, tmp_path / "out")
