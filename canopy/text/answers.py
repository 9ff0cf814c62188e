"""Answers: DPR's way of writing them down, and its rule for where one stands in a text ("has answer")."""

from __future__ import annotations

import ast
import bisect
import unicodedata
import warnings
from collections.abc import Iterable, Sequence

import regex  # type: ignore[import-untyped]

from canopy.contracts import Span

# DPR's SimpleTokenizer: runs of letters, numbers and marks; or any other single visible character.
_TOKEN = regex.compile(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]")


def answers_of_literal(literal: str) -> list[str]:
    """The answers that DPR's ``*.qa.csv`` files write as a Python list of strings; nothing is evaluated.

    Raises:
        ValueError: it is not a list literal, or an entry is not a string or cannot be written as UTF-8.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # an unknown escape such as \\d stands for itself
            warnings.simplefilter("ignore", DeprecationWarning)
            answers = ast.literal_eval(literal.strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        why = str(error) or type(error).__name__
        raise ValueError(f"the answers are not a Python list of strings ({why})") from error
    if not isinstance(answers, list):
        raise ValueError(f"the answers are a Python {type(answers).__name__}, not a list of strings")
    for answer in answers:
        if not isinstance(answer, str):
            raise ValueError(f"an answer is a Python {type(answer).__name__}, not a string")
        try:
            answer.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"the answer {answer!r} holds half of a surrogate pair") from error
    return answers


def answer_tokens(text: str) -> list[str]:
    """Tokens of a text as DPR compares them: NFD, split by the simple tokenizer, lower case."""
    return [t.lower() for t in _TOKEN.findall(unicodedata.normalize("NFD", text))]


def find_answer(text: str, answer: str) -> list[Span]:
    """Character spans of ``text`` in which the answer's tokens follow each other (DPR ``has_answer``, all places)."""
    wanted = answer_tokens(answer)
    if not wanted:
        return []
    tokens, starts, ends = _tokens_with_offsets(text)
    width, first = len(wanted), wanted[0]
    found = []
    for i in range(len(tokens) - width + 1):
        if tokens[i] == first and tokens[i : i + width] == wanted:
            found.append(Span(starts[i], ends[i + width - 1]))
    return found


def units_with_answer(text: str, units: Sequence[Span], answers: Iterable[str]) -> tuple[int, ...]:
    """Indices of the units that any occurrence of any answer touches, ascending."""
    spans = [span for answer in answers for span in find_answer(text, answer)]
    return units_touching(units, spans)


def units_touching(units: Sequence[Span], spans: Iterable[Span]) -> tuple[int, ...]:
    """Indices of the units that overlap any of the character spans, ascending."""
    starts = [u.start for u in units]
    hit: set[int] = set()
    for span in spans:
        index = max(bisect.bisect_right(starts, span.start) - 1, 0)
        while index < len(units) and units[index].start < span.end:
            if units[index].end > span.start:
                hit.add(index)
            index += 1
    return tuple(sorted(hit))


def _tokens_with_offsets(text: str) -> tuple[list[str], list[int], list[int]]:
    """Tokens of the decomposed text with character offsets in the text as it is."""
    origin: list[tuple[int, int]] | None = None
    if text.isascii():
        decomposed = text
    else:
        # Decompose from base character to base character, so that reordered marks keep their origin.
        parts: list[str] = []
        origin = []
        for start, cluster in _clusters(text):
            part = unicodedata.normalize("NFD", cluster)
            parts.append(part)
            if part == cluster:
                origin.extend((start + i, start + i + 1) for i in range(len(part)))
            else:
                origin.extend([(start, start + len(cluster))] * len(part))
        decomposed = "".join(parts)
    tokens, starts, ends = [], [], []
    for match in _TOKEN.finditer(decomposed):
        tokens.append(match.group().lower())
        starts.append(match.start() if origin is None else origin[match.start()][0])
        ends.append(match.end() if origin is None else origin[match.end() - 1][1])
    return tokens, starts, ends


def _clusters(text: str) -> Iterable[tuple[int, str]]:
    start = 0
    for i in range(1, len(text) + 1):
        if i == len(text) or not unicodedata.combining(text[i]):
            yield start, text[start:i]
            start = i
