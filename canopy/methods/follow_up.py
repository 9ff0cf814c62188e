"""What comes after a round: a critic's verdict, or the next sentence of a chain of thought."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from canopy.reader.parsing import parse_reasoning, parse_verdict
from canopy.settings.runs import ReaderSettings


@dataclass(frozen=True, slots=True)
class FollowUp:
    """The reader's words after a round, read.

    Attributes:
        raw: the words as they came.
        stop: ``sufficient`` (critic) or ``answered`` (reasoning) when no more is needed, else empty.
        parsed: false when neither an end nor a next query could be read.
        sufficient: the critic's verdict; None when there is no critic.
        missing: the fact that the critic misses.
        query: the next query.
    """

    raw: str
    stop: str
    parsed: bool
    sufficient: bool | None
    missing: str
    query: str


@dataclass(frozen=True, slots=True)
class Source:
    """A source of follow-ups: its prompt, its budget of new tokens, and how its words are read."""

    prompt: str
    new_tokens: Callable[[ReaderSettings], int]
    read: Callable[[str], FollowUp]


def read_verdict(raw: str) -> FollowUp:
    """A critic's words as a follow-up. An insufficient verdict without a query counts as unparsable."""
    verdict = parse_verdict(raw)
    if verdict.parsed and verdict.sufficient:
        return FollowUp(raw, "sufficient", True, True, verdict.missing, "")
    usable = verdict.parsed and bool(normalise_query(verdict.query))
    return FollowUp(raw, "", usable, False, verdict.missing, verdict.query if usable else "")


def read_reasoning(raw: str) -> FollowUp:
    """A reasoning sentence as a follow-up: it is the next query unless it gives the answer (IRCoT)."""
    reasoning = parse_reasoning(raw)
    if reasoning.answer is not None:
        return FollowUp(raw, "answered", True, None, "", "")
    usable = bool(normalise_query(reasoning.sentence))
    return FollowUp(raw, "", usable, None, "", reasoning.sentence if usable else "")


SOURCES: dict[str, Source] = {
    "critic": Source("critic", lambda settings: settings.verdict_tokens, read_verdict),
    "reasoning": Source("reason", lambda settings: settings.reason_tokens, read_reasoning),
}


def normalise_query(text: str) -> str:
    """Case, punctuation and white space out, so that a query asked again in other dress is a repeat."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(c if c.isalnum() else " " for c in folded).split())
