"""NQ-open, HotpotQA and OTT-QA against hand-worked values of the official rules."""

from __future__ import annotations

import pytest
from answer_cases import PLAIN
from hypothesis import given
from hypothesis import strategies as st

from canopy.metrics import hotpotqa, nq, ottqa
from canopy.metrics.normalise import normalise, normalise_nfd

words = st.text(alphabet="ab the.-,é'YesNo \u0301", max_size=24)

NQ = [
    ("Bob Russell", ["Bobby Scott", "Bob Russell"], 1, 1),
    ("Bob Scott", ["Bobby Scott", "Bob Russell"], 0, 0.5),
    ("December 1972", ["14 December 1972 UTC", "December 1972"], 1, 1),
    ("14 December 1972", ["14 December 1972 UTC", "December 1972"], 0, 6 / 7),
    ("Beyonc\u00e9", ["Beyonce\u0301"], 1, 1),  # NFD on both sides
    ("\u212b", ["\u00c5"], 1, 1),  # the angstrom sign decomposes canonically
    ("\u0130stanbul", ["istanbul"], 0, 0),
    ("the", ["a"], 1, 0),  # both empty: equal, but no shared token
    ("", ["The"], 1, 0),
    ("yes", ["no"], 0, 0),
    ("yes it is", ["yes"], 0, 0.5),  # no yes/no rule
    ("no", ["no way"], 0, 2 / 3),
]

HOTPOTQA = [
    ("yes", "yes", 1, 1),
    ("Yes.", "yes", 1, 1),
    ("The yes", "yes", 1, 1),
    ("yes", "no", 0, 0),
    ("no", "yes", 0, 0),
    ("yes it is", "yes", 0, 0),  # the gold answer is closed and differs
    ("no", "no way", 0, 0),  # the prediction is closed and differs
    ("no way", "no way", 1, 1),
    ("no way out", "no way", 0, 0.8),  # neither is closed
    ("noanswer", "noanswer", 1, 1),
    ("no answer", "noanswer", 0, 0),
    ("noanswer", "paris", 0, 0),
    ("paris", "noanswer", 0, 0),
    ("", "yes", 0, 0),
    ("yes no", "yes", 0, 0),
    ("maybe yes", "perhaps yes", 0, 0.5),
    ("No Doubt", "Doubt", 0, 2 / 3),
    ("", "", 1, 0),
    ("the", "a", 1, 0),
    ("Beyonc\u00e9", "Beyonce\u0301", 0, 0),  # no Unicode normalisation
]

OTTQA = [
    ("", "", 1, 1),
    ("the", "a", 1, 1),  # both empty after normalisation: F1 is 1
    ("!", "?", 1, 1),
    ("", "the", 1, 1),
    ("x", "the", 0, 0),
    ("yes", "no", 0, 0),
    ("yes it is", "yes", 0, 0.5),  # no yes/no rule
    ("no", "no way", 0, 2 / 3),
    ("Beyonc\u00e9", "Beyonce\u0301", 0, 0),
]


@pytest.mark.parametrize(("prediction", "answers", "em", "f1"), NQ + [(p, [g], e, f) for p, g, e, f in PLAIN])
def test_nq(prediction: str, answers: list[str], em: float, f1: float) -> None:
    assert nq.exact_match(prediction, answers) == em
    assert nq.squad_f1(prediction, answers) == pytest.approx(f1)


@pytest.mark.parametrize(("prediction", "gold", "em", "f1"), HOTPOTQA + PLAIN)
def test_hotpotqa(prediction: str, gold: str, em: float, f1: float) -> None:
    scores = hotpotqa.answer_scores(prediction, gold)
    assert scores.em == em
    assert scores.f1 == pytest.approx(f1)


@pytest.mark.parametrize(("prediction", "gold", "em", "f1"), OTTQA + PLAIN)
def test_ottqa(prediction: str, gold: str, em: float, f1: float) -> None:
    assert ottqa.exact_match(prediction, gold) == em
    assert ottqa.f1(prediction, gold) == pytest.approx(f1)


def test_hotpotqa_precision_and_recall() -> None:
    scores = hotpotqa.answer_scores("Kingdom of England", "England")
    assert (scores.precision, scores.recall, scores.f1) == pytest.approx((1 / 3, 1, 0.5))


@pytest.mark.parametrize(
    ("prediction", "gold", "em", "f1"),
    [
        ([("A", 0), ("B", 1)], [("B", 1), ("A", 0)], 1, 1),
        ([("A", 0)], [("A", 0), ("B", 1)], 0, 2 / 3),
        ([("A", 0), ("A", 0)], [("A", 0)], 1, 1),  # sets
        ([("A", 1)], [("A", 0)], 0, 0),
        ([], [("A", 0)], 0, 0),
        ([], [], 1, 0),
        ([("A", 0), ("B", 0), ("C", 0), ("D", 0)], [("A", 0), ("E", 0)], 0, 1 / 3),  # 1/4 and 1/2
    ],
)
def test_hotpotqa_supporting_facts(
    prediction: list[hotpotqa.Fact], gold: list[hotpotqa.Fact], em: float, f1: float
) -> None:
    scores = hotpotqa.supporting_scores(prediction, gold)
    assert scores.em == em
    assert scores.f1 == pytest.approx(f1)


def test_hotpotqa_joint_multiplies_precision_and_recall() -> None:
    answer = hotpotqa.answer_scores("Kingdom of England", "England")  # 1/3, 1
    facts = hotpotqa.supporting_scores([("A", 0)], [("A", 0), ("B", 1)])  # 1, 1/2
    joint = hotpotqa.joint_scores(answer, facts)
    assert (joint.precision, joint.recall) == pytest.approx((1 / 3, 1 / 2))
    assert joint.f1 == pytest.approx(0.4)
    assert joint.em == 0


@given(words, words)
def test_f1_is_symmetric_and_bounded(left: str, right: str) -> None:
    for f1 in (
        lambda a, b: hotpotqa.answer_scores(a, b).f1,
        ottqa.f1,
        lambda a, b: nq.squad_f1(a, [b]),
    ):
        assert 0 <= f1(left, right) <= 1
        assert f1(left, right) == pytest.approx(f1(right, left))


@given(words, words)
def test_exact_match_means_full_f1(prediction: str, gold: str) -> None:
    if ottqa.exact_match(prediction, gold):
        assert ottqa.f1(prediction, gold) == 1
    if normalise(gold) and hotpotqa.answer_scores(prediction, gold).em:
        assert hotpotqa.answer_scores(prediction, gold).f1 == 1
    if normalise_nfd(gold) and nq.exact_match(prediction, [gold]):
        assert nq.squad_f1(prediction, [gold]) == 1


@given(words, st.lists(words, min_size=1, max_size=4), words)
def test_nq_more_accepted_answers_never_score_less(prediction: str, answers: list[str], extra: str) -> None:
    assert nq.exact_match(prediction, [*answers, extra]) >= nq.exact_match(prediction, answers)
    assert nq.squad_f1(prediction, [*answers, extra]) >= nq.squad_f1(prediction, answers)


@given(st.text(max_size=20))
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(st.lists(st.tuples(st.sampled_from("AB"), st.integers(0, 2)), max_size=5), st.randoms())
def test_supporting_facts_are_a_set(facts: list[hotpotqa.Fact], random: object) -> None:
    shuffled = facts * 2
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    gold = [("A", 0), ("B", 2)]
    assert hotpotqa.supporting_scores(shuffled, gold) == hotpotqa.supporting_scores(facts, gold)
