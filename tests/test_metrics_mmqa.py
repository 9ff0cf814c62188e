"""MultimodalQA against hand-worked values of the official rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.metrics import mmqa

CASES = [
    # strings
    ("Mask", ["Mask"], 1, 1),
    ("mask.", ["Mask"], 1, 1),
    ("The Mask", ["Mask"], 1, 1),
    ("Spider-Man", ["spider man"], 1, 1),  # hyphens split
    ("Spiderman", ["Spider-Man"], 0, 0),
    ("spider\tman", ["spider man"], 1, 1),
    ("don't", ["dont"], 1, 1),
    ("U.S.", ["US"], 1, 1),
    ("cafe", ["caf\u00e9"], 0, 0),
    ("yes", ["Yes"], 1, 1),
    ("yes", ["no"], 0, 0),
    ("yes it is", ["yes"], 0, 0.5),
    ("paris paris", ["paris"], 0, 1),  # token sets: F1 1, but the normal forms differ
    ("Bad News Bears", ["The Bad News Bears"], 1, 1),
    ("Bears", ["The Bad News Bears"], 0, 0.5),
    # nothing left
    ("a", ["the"], 1, 1),
    ("", ["x"], 0, 0),
    ("x", ["the"], 0, 0),
    # numbers
    ("two", ["2"], 1, 1),
    ("2.0", ["2"], 1, 1),
    ("2", ["2.0"], 1, 1),  # a float gold answer, as str() writes it
    ("zero", ["0"], 1, 1),
    ("Hundred", ["100"], 1, 1),
    ("one hundred", ["100"], 0, 0.67),  # token by token: {1.0, 100.0}
    ("twenty-one", ["21"], 0, 0),  # {20.0, 1.0}
    ("first", ["1"], 0, 0),
    ("point", ["0"], 1, 1),  # word2number reads it as 0
    ("1,000", ["1000"], 1, 1),
    ("$1,000", ["1000"], 1, 1),
    ("1_000", ["1000"], 1, 1),  # parses as a float
    ("1e3", ["1000"], 1, 1),
    ("5%", ["5"], 1, 1),
    ("-5", ["5"], 1, 1),  # the sign is a split point
    ("1.5", ["15"], 0, 0),
    ("1.5.", ["15"], 1, 1),  # no float, so the punctuation goes
    ("3 dogs", ["4 dogs"], 0, 0),  # no number shared
    ("3 dogs", ["3 cats"], 0, 0.5),
    ("3 dogs", ["dogs"], 0, 0.67),  # the rule looks at the gold's numbers only
    ("dogs", ["3 dogs"], 0, 0),
    ("three dogs", ["3 dogs"], 1, 1),
    ("thousand\tfive", ["thousand\tfive"], 1, 1),  # the official script ends with a traceback here
    # nan and inf are numbers
    ("nan", ["NaN"], 1, 1),
    ("inf", ["Infinity"], 1, 1),
    ("Infinity War", ["inf war"], 1, 1),
    ("nan", ["Nan bread"], 0, 0.67),
    ("bread", ["Nan bread"], 0, 0),
    # lists
    (["London", "Paris"], ["Paris", "London"], 1, 1),
    (("London", "Paris"), ["Paris", "London"], 1, 1),
    ("Paris", ["London", "Paris"], 0, 0.5),
    (["Paris"], ["Paris"], 1, 1),
    (["Paris", "Rome"], ["Paris"], 0, 0.5),
    ("London Paris", ["London", "Paris"], 0, 0.33),  # 2/3 over two parts
    (["Paris", "Paris"], ["Paris"], 0, 0.5),  # same set, other length
    (["x", "x", "y"], ["x", "y", "y"], 1, 0.67),  # same set, same length
    ([], ["Paris"], 0, 0),
    (["2", "three"], ["3.0", "two"], 1, 1),
    (["one", "paris"], ["1 paris", "paris"], 0, 0.83),  # 2/3 and 1
    # alignment
    (["new york", "york"], ["york city", "new york"], 0, 0.83),  # 2/3 and 1
    (["x y", "x"], ["x y", "y"], 0, 0.67),  # the best pair (1) would leave 0 for the rest; 2/3 twice is better
    # rounding, half to even
    (["u"], ["u", "v", "w"], 0, 0.33),
    (["u", "v"], ["u", "v", "w"], 0, 0.67),
    (["u"], list("uvwxyzbc"), 0, 0.12),
    (["u", "v", "w"], list("uvwxyzbc"), 0, 0.38),
]

parts = st.lists(st.text(alphabet="xy 23.-a", max_size=6), min_size=1, max_size=4)


@pytest.mark.parametrize(("prediction", "gold", "em", "f1"), CASES)
def test_mmqa(prediction: str | list[str], gold: list[str], em: float, f1: float) -> None:
    assert mmqa.exact_match(prediction, gold) == em
    assert mmqa.f1(prediction, gold) == f1


@given(parts, parts, st.randoms())
def test_order_of_parts_does_not_matter(predicted: list[str], gold: list[str], random: object) -> None:
    shuffled = list(predicted)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert mmqa.exact_match(shuffled, gold) == mmqa.exact_match(predicted, gold)
    # A sum in another order may fall on the other side of a rounding step.
    assert mmqa.f1(shuffled, gold) == pytest.approx(mmqa.f1(predicted, gold), abs=0.0101)


@given(parts, parts)
def test_bounds_and_perfect_answers(predicted: list[str], gold: list[str]) -> None:
    assert 0 <= mmqa.f1(predicted, gold) <= 1
    assert mmqa.exact_match(gold, gold) == mmqa.f1(gold, gold) == 1


@given(parts, parts)
def test_alignment_is_the_best_one(predicted: list[str], gold: list[str]) -> None:
    from itertools import permutations

    longer = max(len(predicted), len(gold))
    wanted = [*gold, *[None] * (longer - len(gold))]
    given_ = [*predicted, *[None] * (longer - len(predicted))]
    pair = {(p, g): mmqa._pair_f1(frozenset(mmqa.normalise(p).split()), frozenset(mmqa.normalise(g).split()))
            for p in predicted for g in gold}  # fmt: skip
    best = max(sum(pair.get((p, g), 0.0) for p, g in zip(order, wanted, strict=True)) for order in permutations(given_))
    assert mmqa.f1(predicted, gold) == pytest.approx(best / longer, abs=0.00501)


@pytest.mark.parametrize(
    ("question_type", "hops"),
    [("TextQ", "single-hop"), ("ImageListQ", "single-hop"), ("Compose(TextQ,TableQ)", "multi-hop"),
     ("Compare(TableQ,Compose(TableQ,TextQ))", "multi-hop"), ("Intersect(ImageListQ,TextQ)", "multi-hop")],
)  # fmt: skip
def test_hops(question_type: str, hops: str) -> None:
    assert mmqa.hops(question_type) == hops
