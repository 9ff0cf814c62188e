from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny_reader import make_tiny_reader, tiny_model

from canopy.artefacts import build, read_manifest
from canopy.contracts import ITEM_SCHEMA, QUESTION_SCHEMA, Gold, Item, Question, Span, Table, frame_of
from canopy.errors import UserError
from canopy.mini_reader.annotations import ANNOTATIONS, Annotated, read_annotations
from canopy.mini_reader.evaluate import annotated_by_gold
from canopy.mini_reader.examples import Branch, branches, cases, training_states
from canopy.mini_reader.packing import collate, pack
from canopy.mini_reader.renaming import Renamer
from canopy.mini_reader.states import State, StateMaker
from canopy.mini_reader.train import completion_loss, fit, run
from canopy.reader.engine import load_engine
from canopy.reader.parsing import parse_answer, parse_reasoning, parse_route, parse_verdict
from canopy.settings.runs import MiniReaderSettings, ReaderSettings

SMALL = MiniReaderSettings(rank=4, alpha=8, learning_rate=1e-2, batch_size=4, max_examples=40, max_tokens=700, epochs=4)


def text_item(key: str, title: str, sentences: list[str]) -> Item:
    units, at = [], 0
    for sentence in sentences:
        units.append(Span(at, at + len(sentence) + 1))
        at += len(sentence) + 1
    content = "".join(f"{sentence} " for sentence in sentences)
    return Item(f"hotpotqa:{key}", "hotpotqa", key, "text", title, content, tuple(units))


def world(towns: int = 12) -> tuple[list[Item], list[Question], list[dict[str, object]]]:
    """Ships built in towns with head counts: two-hop questions, one a ship."""
    items, questions, annotations = [], [], []
    for n in range(towns):
        ship, town, people = f"Ship{n:02d}", f"Town{n:02d}", str(1000 + 37 * n)
        built, lives = f"The {ship} was built at {town}.", f"{town} has {people} people."
        items.append(text_item(ship, ship, ["A ship.", built, "It was old.", f"The {ship} sank."]))
        items.append(text_item(town, town, ["A town.", f"{town} lies inland.", lives]))
        asked = f"How many people live where the {ship} was built?"
        gold = (Gold(f"hotpotqa:{ship}", (1,)), Gold(f"hotpotqa:{town}", (2,)))
        split = "dev" if n % 4 == 3 else "train"
        questions.append(
            Question(f"hotpotqa:{n}", "hotpotqa", split, asked, (), (people,), "span", gold, 0, "bridge|easy")
        )
        steps = [
            {"title": ship, "query": asked, "sentence": "reworded", "missing": f"the yard of the {ship}"},
            {"title": town, "query": f"How big is {town}?", "sentence": lives, "missing": f"the people of {town}"},
        ]
        record = {"benchmark": "hotpotqa", "qid": str(n), "route": "document", "steps": steps, "answer": people}
        annotations.append(record)
    return items, questions, annotations


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    root = tmp_path_factory.mktemp("mini")
    items, questions, annotations = world()
    with build(root / "corpus", "corpus", {}) as artefact:
        frame_of(items, ITEM_SCHEMA).write_parquet(artefact.path / "items.parquet")
        frame_of(questions, QUESTION_SCHEMA).write_parquet(artefact.path / "questions.parquet")
    (root / "raw").mkdir()
    (root / "raw" / ANNOTATIONS).write_text("".join(json.dumps(a) + "\n" for a in annotations))
    return root / "corpus", root / "raw", make_tiny_reader(root / "reader")


@pytest.fixture(scope="module")
def annotated(places: tuple[Path, Path, Path]) -> list[Annotated]:
    items, questions, _ = world()
    return read_annotations(places[1] / ANNOTATIONS, questions, items)


def test_steps_find_their_units_and_copy_their_sentences(annotated: list[Annotated]) -> None:
    first, second = annotated[3].steps
    assert (first.item.title, first.units, second.item.title, second.units) == ("Ship03", (1,), "Town03", (2,))
    assert first.sentence == "The Ship03 was built at Town03."
    assert second.sentence == "Town03 has 1111 people."


def test_a_step_without_gold_is_placed_by_its_sentence(tmp_path: Path) -> None:
    table = Item(
        "ottqa:t", "ottqa", "t", "table", "List", Table(("Ship", "Town"), (("Alm", "Roth"), ("Bel", "Sind"))).to_json(),
        (Span(0, 1), Span(1, 2)),
    )  # fmt: skip
    question = Question("ottqa:1", "ottqa", "train", "?", (), ("x",), "span", ())
    step = {"title": "List", "query": "q", "sentence": "In List, Bel was built at Sind.", "missing": "m"}
    path = tmp_path / ANNOTATIONS
    path.write_text(json.dumps({"benchmark": "ottqa", "qid": "1", "route": "table", "steps": [step], "answer": "x"}))
    (one,) = read_annotations(path, [question], [table])
    assert one.steps[0].units == (1,)
    assert one.steps[0].sentence == step["sentence"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1: not an annotation"),
        ("[]", "line 1: not an annotation"),
        ('{"benchmark": "hotpotqa", "qid": "1"}', "line 1: not an annotation"),
        (
            '{"benchmark": "hotpotqa", "qid": "1", "route": "document", "answer": "x", "steps": '
            '[{"title": "Nowhere", "query": "", "sentence": "", "missing": ""}]}',
            "is called 'Nowhere'",
        ),
    ],
)
def test_bad_annotations_name_the_line(tmp_path: Path, line: str, message: str) -> None:
    items, questions, _ = world()
    with pytest.raises(UserError, match="does not exist"):
        read_annotations(tmp_path / ANNOTATIONS, questions, items)
    (tmp_path / ANNOTATIONS).write_text(line)
    with pytest.raises(UserError, match=message):
        read_annotations(tmp_path / ANNOTATIONS, questions, items)


def test_full_states_hold_every_fact_and_partial_ones_lack_theirs(annotated: list[Annotated]) -> None:
    items, _, _ = world()
    maker = StateMaker(items, fan_out=2, seed=5)
    whole_items = 0
    for one in annotated * 5:
        text = "\n".join(region.body for region in maker.full(one).regions)
        assert all(step.sentence in text for step in one.steps)
        state = maker.partial(one, 1)
        text = "\n".join(region.body for region in state.regions)
        assert one.steps[0].sentence in text
        assert one.steps[1].sentence not in text
        assert one.answer not in text
        whole_items += all(region.unit_start == 0 for region in state.regions)
        text = "\n".join(region.body for region in maker.partial(one, 0).regions)
        assert not any(step.sentence in text for step in one.steps)
        assert len({region.item_id for region in state.regions}) > 1
    assert 0 < whole_items < len(annotated) * 5  # both whole and refined evidence occurs


def test_states_depend_on_the_seed_alone(annotated: list[Annotated]) -> None:
    items, _, _ = world()
    first, again, other = (list(training_states(annotated, StateMaker(items, 2, seed))) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def wanted(state: State) -> dict[str, str]:
    return {case.prompt: case.wanted for case in cases(state)}


def test_wanted_words_are_what_the_parsers_read(annotated: list[Annotated]) -> None:
    items, _, _ = world()
    one, maker = annotated[2], StateMaker(items, 2, 0)
    full = wanted(maker.full(one))
    assert parse_verdict(full["critic"]).sufficient
    assert parse_answer(full["answer"]).answer == one.answer
    assert parse_reasoning(full["reason"]).answer == one.answer
    assert parse_route(full["route"]).label == "document"
    second = maker.partial(one, 1)
    assert parse_verdict(wanted(second)["critic"]).query == "How big is Town02?"
    assert parse_reasoning(wanted(second)["reason"]).sentence == "The Ship02 was built at Town02."
    assert [case.question for case in cases(second) if case.prompt == "route"] == ["How big is Town02?"]
    assert "answer" not in wanted(second)
    first = wanted(maker.partial(one, 0))
    assert parse_verdict(first["critic"]).query == "the yard of the Ship02"
    assert parse_reasoning(first["reason"]).answer is None


def test_the_critic_finds_before_it_judges(annotated: list[Annotated]) -> None:
    items, _, _ = world()
    one, maker = annotated[2], StateMaker(items, 2, 0)
    found = [json.loads(wanted(state)["critic"])["found"] for state in (maker.full(one), maker.partial(one, 1))]
    assert found == ["Town02 has 1074 people.", "The Ship02 was built at Town02."]
    for _ in range(20):
        state = maker.partial(one, 0)
        verdict = json.loads(wanted(state)["critic"])
        assert list(verdict) == ["found", "sufficient", "missing", "query"]
        # No fact of its own is there, so it is the nearest sentence that is.
        assert verdict["found"] in "\n".join(region.body for region in state.regions)
        assert verdict["found"] not in {step.sentence for step in one.steps}


def test_the_deciding_token_weighs_most(annotated: list[Annotated], places: tuple[Path, Path, Path]) -> None:
    items, _, _ = world()
    engine = load_engine(ReaderSettings(adapter="none"), places[2])
    maker = StateMaker(items, 2, 0)
    renamer = Renamer(
        [text_item("1", "Shipaa", ["The Shipaa was built at Townaa.", "Townaa has 1074 people."])], seed=3
    )
    one = replace(annotated[2], steps=tuple(replace(s, sentence="The Shipaa, Townaa.") for s in annotated[2].steps))
    renamed = 0
    for state, word in [(maker.full(one), " true"), (maker.partial(one, 1), " false")] * 8:
        (case,) = [case for case in cases(state) if case.prompt == "critic"]
        (branch,) = branches(state, [case], engine, 900, renamer)
        place = branch.weights.index(max(branch.weights))
        assert branch.weights.count(max(branch.weights)) == 1
        said = engine.tokenizer.decode(branch.completion[:-1])
        renamed += "Shipaa" not in said
        before, _ = said.split('"sufficient":')
        assert len(engine.tokenizer.decode(branch.completion[:place])) >= len(before + '"sufficient":')
        assert len(engine.tokenizer.decode(branch.completion[: place + 1])) <= len(before + '"sufficient":' + word)
    assert renamed > 4


def test_the_reasons_deciding_token_is_where_it_ends_or_goes_on(
    annotated: list[Annotated], places: tuple[Path, Path, Path]
) -> None:
    items, _, _ = world()
    engine = load_engine(ReaderSettings(adapter="none"), places[2])
    maker = StateMaker(items, 2, 0)
    one = annotated[2]
    for state, deciding in [(maker.full(one), " So"), (maker.partial(one, 1), engine.tokenizer.eos_token)] * 4:
        (case,) = [case for case in cases(state) if case.prompt == "reason"]
        (branch,) = branches(state, [case], engine, 900, Renamer(items, seed=3))
        assert branch.weights.count(max(branch.weights)) == 1
        place = branch.weights.index(max(branch.weights))
        assert engine.tokenizer.decode(branch.completion[place:]).startswith(deciding)
        before = engine.tokenizer.decode(branch.completion[:place])
        assert before.endswith(".") and "answer is" not in before


def test_renaming_keeps_likeness_and_common_words() -> None:
    items = [
        text_item("1", "Trirvind Tower", ["The Trirvind Tower stands in Kal.", "It was built by Mol Trirvand."]),
        text_item("2", "Other", ["A tower may be high; see the Sund."]),
    ]
    renamer = Renamer(items, seed=1)
    assert {"trirvind", "trirvand", "sund"} <= renamer.names
    assert not {"tower", "kal", "built", "it"} & renamer.names
    renamed = {renamer.draw()("Trirvind Tower, trirvand, 1882") for _ in range(40)}
    assert "Trirvind Tower, trirvand, 1882" in renamed
    assert len(renamed) > 20
    for text in renamed:
        first, tower, second, year = text.split()
        assert (tower, year, len(first), len(second)) == ("Tower,", "1882", 8, 9)
        assert first[0].isupper() and second.islower()
        changed = [n for n, (a, b) in enumerate(zip(first.lower(), second, strict=False)) if a != b]
        assert changed == [5]  # the one letter in which the names differ


def test_packed_branches_predict_what_they_would_alone() -> None:
    model, draw = tiny_model(), random.Random(3)

    def tokens(n: int) -> tuple[int, ...]:
        return tuple(draw.randrange(3, 259) for _ in range(n))

    def branch(prompt: tuple[int, ...], completion: tuple[int, ...]) -> Branch:
        return Branch(prompt, completion, tuple(draw.random() for _ in completion))

    evidence, question = tokens(30), tokens(6)
    first = [
        branch(evidence + tokens(4), tokens(5)),
        branch(evidence + question + tokens(3), tokens(2)),
        branch(evidence + question + tokens(5), tokens(1)),
        branch(tokens(9), (8,)),
    ]
    second = [branch(tokens(12), tokens(3))]
    batch = collate([pack(first), pack(second)], pad=0)
    with torch.inference_mode():
        hidden = model.model(
            input_ids=batch["input_ids"],
            position_ids=batch["position_ids"],
            attention_mask=batch["attention_mask"],
            use_cache=False,
        ).last_hidden_state
        together = model.lm_head(hidden[batch["rows"], batch["sources"]])
        alone = []
        for branch in first + second:
            logits = model(torch.tensor([branch.prompt + branch.completion])).logits[0]
            alone.append(logits[len(branch.prompt) - 1 : -1])
    torch.testing.assert_close(together, torch.cat(alone), rtol=1e-4, atol=1e-4)
    assert batch["targets"].tolist() == [token for branch in first + second for token in branch.completion]
    weights = [weight for one in first + second for weight in one.weights]
    torch.testing.assert_close(batch["weights"], torch.tensor(weights))
    losses = torch.nn.functional.cross_entropy(torch.cat(alone), batch["targets"], reduction="none")
    expected = sum(w * x for w, x in zip(weights, losses.tolist(), strict=True)) / sum(weights)
    assert completion_loss(model, [pack(first), pack(second)]).item() == pytest.approx(expected, rel=1e-4)
    # The evidence is there once, and so is the question that two branches share.
    assert len(pack(first).ids) == 30 + (4 + 5) + (6 + 3 + 2) + (5 + 1) + (9 + 1)


def test_a_prompt_that_is_a_prefix_of_another_keeps_its_last_token() -> None:
    packed = pack([Branch((5, 6, 7, 8), (9,), (1.0,)), Branch((5, 6), (7, 8), (1.0, 1.0))])
    assert [packed.ids[source] for source in packed.sources] == [8, 6, 7]
    assert packed.targets == [9, 7, 8]


def test_fitting_lowers_the_loss() -> None:
    model = tiny_model()
    packed = [pack([Branch((3, 4, 5, 6 + n), (50, 51, 52), (1.0, 2.0, 1.0))]) for n in range(8)]
    with torch.inference_mode():
        before = completion_loss(model, packed).item()
    fitted = fit(model, packed, SMALL.model_copy(update={"epochs": 20}))
    with torch.inference_mode():
        after = completion_loss(model, packed).item()
    assert len(fitted.losses) == 40  # 8 states in steps of 4, 20 times
    assert after < before / 2


def test_dev_questions_with_half_their_gold_are_left_out() -> None:
    items, questions, _ = world()
    table_only = Question("ottqa:9", "ottqa", "dev", "?", (), ("x",), "span", (Gold(items[0].item_id, (0,)),))
    without = Question("nq:9", "nq", "dev", "?", (), ("x",), "span", ())
    found = annotated_by_gold([*questions[:2], table_only, without], items)
    assert [one.question.qid for one in found] == ["hotpotqa:0", "hotpotqa:1"]
    assert found[0].route == "document"
    assert [step.item.title for step in found[0].steps] == ["Ship00", "Town00"]


@pytest.mark.slow
def test_the_stage_makes_an_adapter_that_loads(places: tuple[Path, Path, Path], tmp_path: Path) -> None:
    corpus, raw, reader = places
    run(SMALL, corpus, raw, reader, tmp_path / "out")
    facts = read_manifest(tmp_path / "out")["facts"]
    assert facts["loss_last"] < facts["loss_first"]
    assert facts["questions"] == 9
    assert 18 <= facts["states"] <= 27  # a full state and one or two partial ones a question
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())["dev"]
    assert {name: part["cases"] for name, part in scores.items()} == {"answer": 3, "critic": 3, "reason": 2, "route": 3}
    assert "9 questions of an invented world" in (tmp_path / "out" / "card.md").read_text()
    config = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "SmolLM2-135M-Instruct"
    engine = load_engine(ReaderSettings(adapter=str(tmp_path / "out")), reader)
    assert len(engine.generate(["hello"], 3)) == 1


def test_a_corpus_without_the_annotated_questions_is_refused(places: tuple[Path, Path, Path], tmp_path: Path) -> None:
    corpus, _, reader = places
    (tmp_path / ANNOTATIONS).write_text('{"benchmark": "nq", "qid": "other"}\n')
    with pytest.raises(UserError, match="has no annotation for a train question"):
        run(SMALL, corpus, tmp_path, reader, tmp_path / "out")
