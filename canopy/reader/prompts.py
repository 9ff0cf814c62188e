"""Prompts within a token budget: evidence is left out from the end, never the question or the instruction."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Protocol

from canopy.contracts import Question
from canopy.errors import UserError
from canopy.prompts import fill
from canopy.regions.render import Region

CHAT_TOKENS = 16
"""Room left for the chat format around a message, tokens."""


class TokenCounter(Protocol):
    """The part of a reader that a prompt builder needs."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text by the reader's own tokenizer."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """One message for the reader.

    Attributes:
        text: the whole message.
        evidence_tokens: reader tokens of the evidence part alone.
        held_tokens: what they would be if all regions were in it.
        dropped: regions that are not in it in full, because the budget did not allow it.
    """

    text: str
    evidence_tokens: int
    held_tokens: int
    dropped: int


def question_text(question: Question) -> str:
    """The question, with lettered options "(A) ..." on lines of their own where it has choices."""
    letters = (chr(ord("A") + n) for n in range(len(question.choices)))
    return "\n".join([question.question, *(f"({a}) {c}" for a, c in zip(letters, question.choices, strict=True))])


def evidence_text(regions: Sequence[Region]) -> str:
    """Evidence as the reader sees it: one numbered block an item, each header written once.

    Neighbouring regions of one item share its block; a header that changes within the item (the time span of a
    video) is written again.
    """
    blocks = []
    for number, (_, group) in enumerate(groupby(regions, key=lambda region: region.item_id), start=1):
        blocks.append(f"[{number}] " + "\n".join(_lines(group)))
    return "\n".join(blocks)


def _lines(regions: Iterator[Region]) -> Iterator[str]:
    header = ""
    for region in regions:
        if region.header and region.header != header:
            yield region.header
        header = region.header
        yield region.body


def build_prompts(
    name: str, questions: Sequence[str], evidence: Sequence[Sequence[Region]], engine: TokenCounter, budget: int
) -> list[Prompt]:
    """One prompt a question, each at most ``budget`` tokens with the chat format around it.

    Args:
        name: the template (:data:`canopy.prompts.NAMES`).
        questions: question texts, with options where there are any.
        evidence: the regions of each question in order of arrival; the last are left out first. When not even the
            first fits, it is cut at its end.
        engine: whose tokenizer counts.
        budget: tokens of the context less those of the output.

    Raises:
        UserError: a question does not fit even without evidence.
    """
    room = budget - CHAT_TOKENS
    texts = [
        fill(name, evidence_text(regions), question) for question, regions in zip(questions, evidence, strict=True)
    ]
    given = [list(regions) for regions in evidence]
    for n, tokens in enumerate(engine.count_tokens(texts)):
        if tokens > room:
            given[n] = _fitting(name, questions[n], evidence[n], engine, room)
            texts[n] = fill(name, evidence_text(given[n]), questions[n])
    counts, held = (engine.count_tokens([evidence_text(r) for r in regions]) for regions in (given, evidence))
    whole = [sum(a is b for a, b in zip(kept, all_, strict=False)) for kept, all_ in zip(given, evidence, strict=True)]
    return [
        Prompt(text, count, all_, len(regions) - kept)
        for text, count, all_, regions, kept in zip(texts, counts, held, evidence, whole, strict=True)
    ]


def _fitting(name: str, question: str, regions: Sequence[Region], engine: TokenCounter, room: int) -> list[Region]:
    """The longest run of leading regions that fits; failing that, the first region cut short."""

    def tokens(kept: Sequence[Region]) -> int:
        return engine.count_tokens([fill(name, evidence_text(kept), question)])[0]

    if tokens([]) > room:
        raise UserError(
            f"a question of {tokens([])} tokens with its instruction does not fit {room} tokens: raise "
            f"reader.context_tokens ({question[:60]!r}...)"
        )
    kept = _longest(len(regions), lambda n: tokens(regions[:n]), room)
    if kept or not regions:
        return list(regions[:kept])
    first = regions[0]
    length = _longest(len(first.body), lambda n: tokens([replace(first, body=first.body[:n])]), room)
    body = first.body[:length]
    # A cut inside a word would show the reader a word that the source does not have.
    body = body.rsplit(maxsplit=1)[0] if length < len(first.body) and " " in body.strip() else body
    return [replace(first, body=body)] if body.strip() else []


def _longest(most: int, tokens: Callable[[int], int], room: int) -> int:
    """The largest n <= ``most`` with ``tokens(n) <= room``, by bisection; 0 when there is none."""
    return max(0, bisect_right(range(most + 1), room, key=tokens) - 1)
