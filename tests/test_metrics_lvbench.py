"""LVBench letter extraction: what the official script reads, and what a sentence says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.metrics.lvbench import official_letter, spoken_letter

CASES = [
    # text, official, spoken
    ("B", "B", "B"),
    ("D", "D", "D"),
    (" B ", "B", "B"),
    ("\tD\n", "D", "D"),
    ("(B)", "B", "B"),
    ("B)", "B", "B"),
    ("(A", "A", "A"),
    ("( B )", "B", "B"),
    ("B ) x", "B", "B"),
    ("B.", "B", "B"),
    ("B. a dog", "B", "B"),
    ("B) a dog", "B", "B"),
    ("(B) a dog", "B", "B"),
    ("B: a dog", "B", "B"),
    ("B,C", "B", "B"),
    ("C and D", "C", "C"),
    ("A\nB", "A", "A"),
    ("A man walks", "A", "A"),
    ("b", "b", "B"),  # no case folding
    ("(b)", "b", "B"),
    ("b.", "b", "B"),
    ("The answer is B", "T", "B"),
    ("The answer is B.", "T", "B"),
    ("the answer is b", "t", ""),
    ("The answer is (b)", "b", "B"),
    ("The answer is (B).", "B", "B"),
    ("The answer is B, not C", "T", "B"),
    ("The answer is a dog", "T", ""),
    ("Answer: D", "A", "D"),
    ("ANSWER D", "A", "D"),
    ("The correct option is C", "T", "C"),
    ("Option C", "O", "C"),
    ("So my choice would be (A)", "A", "A"),
    ("I think it's D", "I", "D"),
    ("D'Artagnan, so C", "D", "C"),
    ("It seems B", "I", "B"),
    ("Definitely C", "D", "C"),
    ("Either B or C", "E", ""),
    ("answer B, or answer C", "a", ""),
    ("a dog (A) and a cat (B)", "A", ""),
    ("foo (D) bar", "D", "D"),
    ("", "", ""),
    ("()", "", ""),
    (")B", "", "B"),
    ("((B))", "", "B"),
    ("A(B)", "B", "B"),
    ("Both (", "", ""),
    ("E", "E", ""),
    ("1", "1", ""),
    ("ABCD", "A", ""),
    ("**B**", "*", "B"),
    ("\uff22", "\uff22", ""),  # full-width
]


@pytest.mark.parametrize(("text", "official", "spoken"), CASES)
def test_letters(text: str, official: str, spoken: str) -> None:
    assert official_letter(text) == official
    assert spoken_letter(text) == spoken


@given(st.text(max_size=30))
def test_any_text_gives_at_most_one_character(text: str) -> None:
    assert len(official_letter(text)) <= 1
    assert spoken_letter(text) in {"", "A", "B", "C", "D"}


@given(st.sampled_from("ABCD"))
def test_reading_a_letter_again_changes_nothing(letter: str) -> None:
    assert official_letter(official_letter(letter)) == letter == spoken_letter(f"The answer is {letter}")


def test_more_options() -> None:
    assert spoken_letter("The answer is F", letters="ABCDEF") == "F"
