"""What the reader's words mean. Every function accepts any text and never raises."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import Any

from canopy.text.sentences import sentence_spans

ROUTES: tuple[str, ...] = ("none", "paragraph", "document", "table", "image", "clip", "video")
FALLBACK_ROUTE = "paragraph"

# "Answer: X", "**Answer:** X", "The final answer is X", "So the answer is: X"
_MARKER = re.compile(
    r"(?:\bso,?\s+)?(?:\bthe\s+)?(?:\b(?:final|correct|short)\s+)?"
    r"\banswer(?:\s+is\b\s*[*_]*\s*:?|\s*[*_]*\s*[:\uff1a])[*_]*",
    re.IGNORECASE,
)
_PAIRS = {
    '"': '"',
    "'": "'",
    "\u201c": "\u201d",
    "\u2018": "\u2019",
    "\u00ab": "\u00bb",
    "`": "`",
    "**": "**",
    "__": "__",
    "*": "*",
}
# A final period that belongs to the word: initials ("U.S.", "J.") and usual abbreviations.
_ABBREVIATION = re.compile(r"(?:\b(?:[A-Za-z]\.)+|\b(?:jr|sr|inc|ltd|co|corp|st|dr|vs|etc|no)\.)$", re.IGNORECASE)
_FOUND = re.compile(r'"found"\s*:.*?(?="sufficient"\s*:)', re.DOTALL)
_FENCE = re.compile(r"^\s*```[a-z]*\s*|\s*```\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An extracted answer; ``marked`` is false when the output had no answer marker."""

    answer: str
    marked: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The critic's verdict; ``parsed`` is false, and the rest empty, when the output was not a verdict."""

    sufficient: bool
    missing: str
    query: str
    parsed: bool


@dataclass(frozen=True, slots=True)
class Reasoning:
    """One reasoning sentence; ``answer`` is None while the reasoning has not ended."""

    sentence: str
    answer: str | None


@dataclass(frozen=True, slots=True)
class Route:
    """A routing label; ``parsed`` is false when the output was no label and the fallback was taken."""

    label: str
    parsed: bool


def parse_answer(text: str) -> ParsedAnswer:
    """The words after the first answer marker, else the first line.

    One line, its first sentence, without quotes, emphasis and the closing period: text that follows the answer
    is what ruins exact match.
    """
    body = _FENCE.sub("", text)
    marker = _MARKER.search(body)
    return ParsedAnswer(_short(body[marker.end() :] if marker else body), marker is not None)


def parse_verdict(text: str) -> Verdict:
    """The first JSON object in the text; a Python dictionary is accepted too.

    What stands under ``found`` is not read: a sentence copied with its quotation marks does not spoil the verdict.
    ``sufficient`` must be a boolean, or the word for one. An insufficient verdict without a query takes
    ``missing`` as its query.
    """
    found = _first_object(text) or _first_object(_FOUND.sub("", text, count=1))
    sufficient = _boolean(found.get("sufficient")) if found else None
    if found is None or sufficient is None:
        return Verdict(False, "", "", False)
    missing, query = _words(found.get("missing")), _words(found.get("query"))
    return Verdict(True, "", "", True) if sufficient else Verdict(False, missing, query or missing, True)


def parse_reasoning(text: str) -> Reasoning:
    """The first sentence, and the answer where the text holds "the answer is"."""
    body = _FENCE.sub("", text).strip()
    marker = _MARKER.search(body)
    if marker is None:
        return Reasoning(_first_sentence(_first_line(body)), None)
    answer = _short(body[marker.end() :])
    return Reasoning(_first_sentence(_first_line(body[: marker.start()])), answer or None)


def parse_route(text: str) -> Route:
    """The label, if the text is exactly one (case, quotes, emphasis and final period apart)."""
    body = _FENCE.sub("", text)
    marker = _MARKER.match(body.strip())
    label = _short(body.strip()[marker.end() :] if marker else body).casefold()
    return Route(label, True) if label in ROUTES else Route(FALLBACK_ROUTE, False)


def _short(text: str) -> str:
    line = _unwrap(_first_line(text))
    closing = _PAIRS.get(line[:1])
    end = line.find(closing, 1) if closing else -1
    if end > 1 and line[end + 1 : end + 2] in (".", ","):  # "X". And more.
        return _unwrap(line[: end + 1])
    return _unwrap(_strip_period(_first_sentence(line)))


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip(" \t*_#>`")), "")


def _first_sentence(line: str) -> str:
    spans = sentence_spans(line)
    return line[spans[0].start : spans[0].end].strip() if spans else ""


def _strip_period(text: str) -> str:
    return text[:-1].rstrip() if text.endswith(".") and not _ABBREVIATION.search(text) else text


def _unwrap(text: str) -> str:
    """Without surrounding pairs of quotes or emphasis; inner ones stay."""
    text = text.strip()
    for opening, closing in _PAIRS.items():
        inner = text[len(opening) : -len(closing)]
        if (
            text.startswith(opening)
            and text.endswith(closing)
            and inner
            and opening not in inner
            and closing not in inner
        ):
            return _unwrap(_strip_period(inner))
    return text


def _first_object(text: str) -> dict[str, Any] | None:
    start = text.find("{")
    if start < 0:
        return None
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        end = text.find("}", start)
        try:
            found = ast.literal_eval(text[start : end + 1])
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            return None
    return found if isinstance(found, dict) else None


def _boolean(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    words = {"true": True, "yes": True, "false": False, "no": False}
    return words.get(value.strip().casefold()) if isinstance(value, str) else None


def _words(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
