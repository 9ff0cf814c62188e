"""Sentence boundaries with exact offsets."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import sentencex

from canopy.contracts import Span


def sentence_spans(text: str, language: str = "en") -> list[Span]:
    """Split a text into sentences.

    Args:
        text: any text; abbreviations, decimal numbers, quotations and CJK punctuation are known to the splitter.
        language: ISO 639-1 code of the splitter's rules.

    Returns:
        Contiguous character spans that join back to ``text``, each with a visible character. A text without any has
        no sentences.
    """
    if not text.strip():
        return []
    pieces = sentencex.segment(language, text)
    if "".join(pieces) != text:  # the splitter changed characters: its boundaries cannot be trusted
        return [Span(0, len(text))]
    return spans_of(pieces)


def spans_of(pieces: Iterable[str]) -> list[Span]:
    """Spans of consecutive pieces in their joined text; pieces of white space alone go to the sentence before."""
    spans: list[Span] = []
    start = position = 0
    for piece in pieces:
        position += len(piece)
        if piece.strip():
            spans.append(Span(start, position))
        elif spans:
            spans[-1] = Span(spans[-1].start, position)
        else:
            continue
        start = position
    return spans


def paragraph_groups(text: str, units: list[Span]) -> tuple[Span, ...]:
    """Unit ranges of the paragraphs of a text, where a blank line stands between two sentences.

    Returns:
        Half-open unit ranges that partition the units; empty when the text is one paragraph.
    """
    bounds = [0]
    for index, unit in enumerate(units[:-1], start=1):
        sentence = text[unit.start : unit.end]
        if sentence[len(sentence.rstrip()) :].count("\n") >= 2:
            bounds.append(index)
    if len(bounds) == 1:
        return ()
    return tuple(Span(a, b) for a, b in pairwise([*bounds, len(units)]))
