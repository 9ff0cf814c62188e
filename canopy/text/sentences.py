"""Sentence boundaries with exact offsets."""

from __future__ import annotations

from collections.abc import Iterable

import sentencex

from canopy.contracts import Span


def sentence_spans(text: str, language: str = "en") -> list[Span]:
    """Split a text into sentences.

    Args:
        text: any text; abbreviations, decimal numbers, quotations and CJK punctuation are known to the splitter.
        language: ISO 639-1 code of the splitter's rules.

    Returns:
        Contiguous character spans that join back to ``text``; white space belongs to the sentence before it (at the
        very start, to the first sentence). A text without any visible character has no sentences.
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
    starts = [0]
    for index, (before, unit) in enumerate(zip(units, units[1:], strict=False), start=1):
        tail = text[before.start : before.end]
        gap = tail[len(tail.rstrip()) :] + text[unit.start : unit.end][: unit.end - unit.start]
        gap = gap[: len(gap) - len(gap.lstrip())]
        if gap.count("\n") >= 2:
            starts.append(index)
    if len(starts) == 1:
        return ()
    return tuple(Span(a, b) for a, b in zip(starts, [*starts[1:], len(units)], strict=True))
