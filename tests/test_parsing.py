from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.reader.parsing import (
    FALLBACK_ROUTE,
    ROUTES,
    ParsedAnswer,
    Reasoning,
    Route,
    Verdict,
    parse_answer,
    parse_reasoning,
    parse_route,
    parse_verdict,
)

UNPARSED = Verdict(False, "", "", False)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Answer: Paris", "Paris"),
        ("answer: Paris.", "Paris"),
        ("ANSWER : Paris", "Paris"),
        ("**Answer:** Paris", "Paris"),
        ("**Answer**: **Paris**", "Paris"),
        ("Answer:\n\nParis\nIt is the capital.", "Paris"),
        ("Answer: Paris. It is the capital of France.", "Paris"),
        ('Answer: "The Silent Letter of Hordent"', "The Silent Letter of Hordent"),
        ("Answer: “Paris”.", "Paris"),
        ("Answer: 'Paris'", "Paris"),
        ('Answer: "Help! The Movie". It came out in 1965.', "Help! The Movie"),
        ("Answer: The Captain's Son", "The Captain's Son"),
        ("Answer: Dr. Tessaly Orn", "Dr. Tessaly Orn"),
        ("Answer: 3.5 million", "3.5 million"),
        ("Answer: 19,826", "19,826"),
        ("Answer: the U.S.", "the U.S."),
        ("Answer: Orn & Sons Ltd.", "Orn & Sons Ltd."),
        ("Answer: B", "B"),
        ("Answer: (B)", "(B)"),
        ("Answer: yes", "yes"),
        ("The answer is Paris.", "Paris"),
        ("The final answer is: Paris", "Paris"),
        ("The Seine flows through it. So the answer is: Paris.", "Paris"),
        ("So, the answer is: **Paris**.", "Paris"),
        ("Answer: Paris\nQuestion: And of Spain?\nAnswer: Madrid", "Paris"),
        ("```\nAnswer: Paris\n```", "Paris"),
        ("Answer: 東京", "東京"),
        ("Answer:", ""),
        ("Answer: **", ""),
    ],
)
def test_marked_answers(text: str, answer: str) -> None:
    assert parse_answer(text) == ParsedAnswer(answer, True)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Paris", "Paris"),
        ("\n\n Paris.\nIt lies on the Seine.", "Paris"),
        ("Paris. It lies on the Seine.", "Paris"),
        ("An answered prayer", "An answered prayer"),
        ("", ""),
        (" \n\t\n", ""),
    ],
)
def test_answers_without_a_marker_are_the_first_line(text: str, answer: str) -> None:
    assert parse_answer(text) == ParsedAnswer(answer, False)


@pytest.mark.parametrize(
    "text",
    [
        '{"sufficient": false, "missing": "the captain", "query": "Who led the Marlune?"}',
        'Here it is:\n```json\n{"sufficient": false, "missing": "the captain", "query": "Who led the Marlune?"}\n```',
        '{"sufficient": false, "missing": "the captain", "query": "Who led the Marlune?"}}',
        '{"sufficient": false, "missing": "the captain", "query": "Who led the Marlune?"} I hope this helps {you}.',
        "{'sufficient': False, 'missing': 'the captain', 'query': 'Who led the Marlune?'}",
        '{"sufficient": "no", "missing": "the  captain\\n", "query": " Who led the Marlune?", "more": [1]}',
    ],
)
def test_insufficient_verdicts(text: str) -> None:
    assert parse_verdict(text) == Verdict(False, "the captain", "Who led the Marlune?", True)


@pytest.mark.parametrize(
    "text",
    ['{"sufficient": true}', '{"sufficient":true,"query":"x"}', "{'sufficient': True}", '{"sufficient": "True"}'],
)
def test_sufficient_verdicts_carry_no_query(text: str) -> None:
    assert parse_verdict(text) == Verdict(True, "", "", True)


def test_missing_stands_in_for_an_absent_query() -> None:
    assert parse_verdict('{"sufficient": false, "missing": "the captain"}').query == "the captain"
    assert parse_verdict('{"sufficient": false, "query": null}') == Verdict(False, "", "", True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sufficient: true",
        "{}",
        "[true]",
        '{"sufficient": 1}',
        '{"sufficient": null}',
        '{"sufficient": "not insufficient"}',
        '{"sufficient": false, "missing": "the captain", "query": "Who is',
        "{" * 5000,
        '{"sufficient": ' + "[" * 5000,
        "{'a': " + "-" * 3000 + "1}",
        "{__import__('os').getcwd()}",
    ],
)
def test_other_text_is_no_verdict(text: str) -> None:
    assert parse_verdict(text) == UNPARSED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Marlune was built in Drevoth.", Reasoning("The Marlune was built in Drevoth.", None)),
        ("It was built by Orn & Co. in 1882. And more.", Reasoning("It was built by Orn & Co. in 1882.", None)),
        (
            "Drevoth has 19,826 inhabitants. So the answer is: 19,826.",
            Reasoning("Drevoth has 19,826 inhabitants.", "19,826"),
        ),
        ("So the answer is: Drevoth.", Reasoning("", "Drevoth")),
        ("The answer is Drevoth", Reasoning("", "Drevoth")),
        ("The town is Drevoth. So the answer is:", Reasoning("The town is Drevoth.", None)),
        ("", Reasoning("", None)),
    ],
)
def test_reasoning(text: str, expected: Reasoning) -> None:
    assert parse_reasoning(text) == expected


@pytest.mark.parametrize("label", ROUTES)
def test_labels_in_any_dress(label: str) -> None:
    for text in (label, f" {label.upper()}.\n", f"**{label}**", f'"{label}"', f"Answer: {label}", f"```\n{label}\n```"):
        assert parse_route(text) == Route(label, True)


@pytest.mark.parametrize(
    "text", ["", "modality", "nonesuch", "no", "table or image", "The table", "a document about it"]
)
def test_anything_else_is_the_fallback(text: str) -> None:
    assert parse_route(text) == Route(FALLBACK_ROUTE, False)


@given(
    st.text()
    | st.lists(st.sampled_from(["Answer:", "**", '"', "{", "}", "'", "\n", ".", "so the answer is", "a"])).map("".join)
)
def test_no_text_raises(text: str) -> None:
    parse_route(text)
    reasoning = parse_reasoning(text)
    for line in (parse_answer(text).answer, reasoning.sentence, reasoning.answer or ""):
        assert line == line.strip()
        assert len(line.splitlines()) <= 1
    verdict = parse_verdict(text)
    assert verdict.parsed or verdict == UNPARSED


words = st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1)


@given(words, words)
def test_written_verdicts_read_back(missing: str, query: str) -> None:
    text = json.dumps({"sufficient": False, "missing": missing, "query": query})
    assert parse_verdict(f"Verdict: {text} done") == Verdict(False, missing, query, True)


def test_quotation_marks_in_what_was_found_do_not_spoil_a_verdict() -> None:
    text = (
        '{"found": "The ship "Aurora" was built.", "sufficient": false, "missing": "the yard", "query": "Which yard?"}'
    )
    assert parse_verdict(text) == Verdict(False, "the yard", "Which yard?", True)
    assert parse_verdict('{"found": "It is "old".", "sufficient": true}') == Verdict(True, "", "", True)
    assert parse_verdict('{"found": "It is sufficient: true.", "sufficient": false, "query": "q"}').query == "q"
