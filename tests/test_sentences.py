from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.contracts import Span
from canopy.text.answers import answer_tokens, find_answer, units_with_answer
from canopy.text.sentences import paragraph_groups, sentence_spans, spans_of


def pieces(text: str) -> list[str]:
    return [text[s.start : s.end] for s in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Hale met Mr. Orn. They left.", ["Dr. Hale met Mr. Orn. ", "They left."]),
        ("She moved to the U.S. in 1990. It rained.", ["She moved to the U.S. in 1990. ", "It rained."]),
        ("The mast is 3.5 m tall. It fell.", ["The mast is 3.5 m tall. ", "It fell."]),
        ('He said "Stop. Wait." Then he ran.', ['He said "Stop. Wait." ', "Then he ran."]),
        ("これは文です。次の文。", ["これは文です。", "次の文。"]),
        ("no punctuation at all", ["no punctuation at all"]),
        ("One. \n\n Two.", ["One. \n\n", " Two."]),
        ("  Leading. Next.", ["  Leading. ", "Next."]),
        ("Win.\r\nLine.", ["Win.\r\n", "Line."]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_known_texts(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


@given(st.text(max_size=200))
def test_sentences_join_back_and_are_visible(text: str) -> None:
    found = pieces(text)
    assert "".join(found) == (text if text.strip() else "")
    assert all(p.strip() for p in found)


@given(st.lists(st.sampled_from(["A b.", " ", "\n", "", " C.", "。"]), max_size=12))
def test_spans_of_native_pieces_join_back(parts: list[str]) -> None:
    text = "".join(parts)
    spans = spans_of(parts)
    assert "".join(text[s.start : s.end] for s in spans) == (text if text.strip() else "")
    assert len(spans) == sum(bool(p.strip()) for p in parts)


def test_paragraphs_partition_the_sentences() -> None:
    text = "One. Two.\n\nThree.\n\n\nFour. Five."
    units = sentence_spans(text)
    assert paragraph_groups(text, units) == (Span(0, 2), Span(2, 3), Span(3, 5))
    assert paragraph_groups("One.\nTwo.", sentence_spans("One.\nTwo.")) == ()


def test_answer_must_match_whole_tokens_in_sequence() -> None:
    text = "Marlune sank in 1902. The Marlune-class ship; captain: Orn."
    assert [text[s.start : s.end] for s in find_answer(text, "marlune")] == ["Marlune", "Marlune"]
    assert find_answer(text, "mar") == []
    assert find_answer(text, "in 1902 the") == []  # the full stop is a token between
    assert [text[s.start : s.end] for s in find_answer(text, "1902. the")] == ["1902. The"]
    assert find_answer(text, "  ") == []


def test_answer_ignores_case_and_composition_but_not_accents() -> None:
    text = "Olga Tañón sang."
    for spelling in ("olga tañón", unicodedata.normalize("NFD", "Olga TAÑÓN")):
        assert [text[s.start : s.end] for s in find_answer(text, spelling)] == ["Olga Tañón"]
    assert find_answer(text, "Olga Tanon") == []


def test_answer_tokens_follow_dpr() -> None:
    assert answer_tokens("July 5, 2018 (U.S.) snake_case") == [
        "july", "5", ",", "2018", "(", "u", ".", "s", ".", ")", "snake", "_", "case",
    ]  # fmt: skip


def test_units_with_answer_across_a_boundary() -> None:
    text = "It lies in Washington D. C. today. Not here."
    units = [Span(0, 25), Span(25, 35), Span(35, 44)]
    assert units_with_answer(text, units, ["Washington D. C."]) == (0, 1)
    assert units_with_answer(text, units, ["here", "today"]) == (1, 2)
    assert units_with_answer(text, units, ["absent"]) == ()


@given(st.text(alphabet="ab é\u0301.ñ", max_size=30), st.text(alphabet="abé\u0301", min_size=1, max_size=3))
def test_found_answers_have_the_answers_tokens(text: str, answer: str) -> None:
    for span in find_answer(text, answer):
        assert answer_tokens(text[span.start : span.end]) == answer_tokens(answer)
