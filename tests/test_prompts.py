from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import canopy.prompts
from canopy.contracts import Question
from canopy.errors import UserError
from canopy.prompts import NAMES, fill, prompt_digests, template_text
from canopy.reader.prompts import CHAT_TOKENS, build_prompts, evidence_text, question_text
from canopy.regions.render import Region


class Words:
    """Counts words and line ends: every text has a count that can be checked by hand."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def region(item: str, body: str, header: str = "") -> Region:
    return Region(item, header, "text", 0, 1, 0, len(body), header, body, 0.5)


def question(text: str, choices: tuple[str, ...] = ()) -> Question:
    return Question("nq:1", "nq", "test", text, choices, ("x",), "span", ())


def test_options_are_lettered() -> None:
    assert question_text(question("Which?")) == "Which?"
    assert question_text(question("Which?", ("red", "blue (dark)"))) == "Which?\n(A) red\n(B) blue (dark)"


def test_regions_of_an_item_share_number_and_header() -> None:
    regions = [region("a", "First.", "Alm"), region("a", "Third.", "Alm"), region("b", "x | y", "Tab\nn | m")]
    assert evidence_text(regions) == "[1] Alm\nFirst.\nThird.\n[2] Tab\nn | m\nx | y"


def test_a_header_that_changes_is_repeated() -> None:
    regions = [region("v", "Stall", "Film [00:00-00:30]"), region("v", "Port", "Film [01:00-01:30]")]
    assert evidence_text(regions) == "[1] Film [00:00-00:30]\nStall\nFilm [01:00-01:30]\nPort"


def test_prompts_of_a_question_begin_alike_and_end_with_the_instruction() -> None:
    beginnings = set()
    for name in ("answer", "critic", "reason"):
        before, after = fill(name, "EVIDENCE", "QUESTION").split("EVIDENCE")
        assert "QUESTION" in before and "QUESTION" in after and not after.endswith("QUESTION")
        beginnings.add(before)
    assert len(beginnings) == 1


def test_dollar_signs_and_braces_are_literal() -> None:
    text = fill("answer", "costs $5 for $question ${x}", "what {is} $evidence?")
    assert "costs $5 for $question ${x}" in text
    assert "what {is} $evidence?" in text


def test_unknown_prompt_is_named() -> None:
    with pytest.raises(UserError, match="'summary'"):
        fill("summary", "", "")


def test_digests_are_those_of_the_files() -> None:
    folder = Path(canopy.prompts.__file__).parent
    assert sorted(p.stem for p in folder.glob("*.txt")) == sorted(NAMES)
    assert prompt_digests(["answer"]) == {"answer": hashlib.sha256((folder / "answer.txt").read_bytes()).hexdigest()}
    assert list(prompt_digests()) == list(NAMES)


def test_instructions_keep_the_words_that_the_parsers_read() -> None:
    assert "Answer:" in template_text("answer")
    assert '"sufficient": true}' in template_text("critic")
    assert "So the answer is:" in template_text("reason")
    assert all(f" {label}" in template_text("route") for label in ("none", "paragraph", "clip", "video"))


def test_evidence_is_dropped_from_the_end() -> None:
    regions = [region(str(n), f"fact{n} " * 10) for n in range(5)]
    bare = Words().count_tokens([fill("answer", "", "Who?")])[0]
    # Each block is its number and ten words: two fit into 25.
    (prompt,) = build_prompts("answer", ["Who?"], [regions], Words(), bare + 25 + CHAT_TOKENS)
    assert prompt.dropped == 3
    assert (prompt.evidence_tokens, prompt.held_tokens) == (22, 55)
    assert prompt.text == fill("answer", evidence_text(regions[:2]), "Who?")


def test_a_region_longer_than_the_budget_is_cut_at_a_word() -> None:
    regions = [region("a", " ".join(f"word{n}" for n in range(100))), region("b", "short")]
    bare = Words().count_tokens([fill("answer", "", "Who?")])[0]
    (prompt,) = build_prompts("answer", ["Who?"], [regions], Words(), bare + 8 + CHAT_TOKENS)
    assert prompt.dropped == 2
    assert 5 <= prompt.evidence_tokens <= 8
    kept = prompt.text.split("\n")[2].removeprefix("[1] ").split()
    assert kept == [f"word{n}" for n in range(len(kept))]


def test_a_question_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(UserError, match="context_tokens"):
        build_prompts("answer", ["who " * 300], [[region("a", "x")]], Words(), 100)


def test_no_evidence_no_tokens() -> None:
    (prompt,) = build_prompts("answer", ["Who?"], [[]], Words(), 500)
    assert (prompt.evidence_tokens, prompt.held_tokens, prompt.dropped) == (0, 0, 0)
    assert prompt.text.startswith("Question: Who?")


bodies = st.lists(st.text(alphabet="ab \n", max_size=60), max_size=8)


@given(st.lists(bodies, min_size=1, max_size=4), st.integers(0, 120))
def test_prompts_fit_and_keep_question_and_instruction(evidence: list[list[str]], extra: int) -> None:
    regions = [[region(str(n // 2), body, f"title{n // 2}") for n, body in enumerate(b)] for b in evidence]
    questions = [f"Who was number {n}?" for n in range(len(evidence))]
    budget = Words().count_tokens([fill("critic", "", questions[0])])[0] + CHAT_TOKENS + extra
    prompts = build_prompts("critic", questions, regions, Words(), budget)
    for prompt, asked, given_ in zip(prompts, questions, regions, strict=True):
        head, tail = fill("critic", "EVIDENCE", asked).split("EVIDENCE")
        assert prompt.text.startswith(head) and prompt.text.endswith(tail)
        assert Words().count_tokens([prompt.text])[0] <= budget - CHAT_TOKENS
        assert prompt.evidence_tokens == len(prompt.text.removeprefix(head).removesuffix(tail).split())
        assert prompt.held_tokens == len(evidence_text(given_).split())
        kept = evidence_text(given_[: len(given_) - prompt.dropped])
        if prompt.dropped < len(given_):
            assert prompt.text == fill("critic", kept, asked)
            longer = fill("critic", evidence_text(given_[: len(given_) - prompt.dropped + 1]), asked)
            assert not prompt.dropped or Words().count_tokens([longer])[0] > budget - CHAT_TOKENS


def test_cut_region_keeps_its_provenance_header() -> None:
    long = replace(region("a", "x " * 200), header="Title words", title="Title words")
    bare = Words().count_tokens([fill("answer", "", "Who?")])[0]
    (prompt,) = build_prompts("answer", ["Who?"], [[long]], Words(), bare + 10 + CHAT_TOKENS)
    assert prompt.text.startswith("Question: Who?\n\n[1] Title words\nx x")
