"""Checked access to the fields of gold and predictions: what has the wrong form is named, not converted."""

from __future__ import annotations

import math
import reprlib
from typing import Any

from canopy.metrics.hotpotqa import Fact

_SHORT = reprlib.Repr()
_SHORT.maxstring = 100
_LONGEST = 200


class FieldError(Exception):
    """A field has the wrong form; the message says which one, and what it holds."""


def shown(value: Any) -> str:
    """A value for messages: its ``repr``, cut where it is long or deep."""
    short = _SHORT.repr(value)
    return short if len(short) <= _LONGEST else f"{short[:_LONGEST]}..."


def text(value: Any, what: str) -> str:
    """The value as a string, which may be empty.

    Raises:
        FieldError: it is not a string, or cannot be written as UTF-8.
    """
    if not isinstance(value, str):
        raise FieldError(f"{what} is {shown(value)}, not a string")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise FieldError(f"{what} holds half of a surrogate pair: {shown(value)}") from error
    return value


def identifier(value: Any, what: str) -> str:
    """The value as a string with a visible character.

    Raises:
        FieldError: it is anything else.
    """
    if not text(value, what).strip():
        raise FieldError(f"{what} is empty")
    return str(value)


def number_or_text(value: Any, what: str) -> str:
    """The value as a string; a number counts as its text.

    Raises:
        FieldError: it is neither, or not finite, or cannot be written as UTF-8.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return str(value)
    if not isinstance(value, str):
        raise FieldError(f"{what} is {shown(value)}, not text")
    return text(value, what)


def mapping(value: Any, what: str) -> dict[str, Any]:
    """The value as a JSON object.

    Raises:
        FieldError: it is anything else.
    """
    if not isinstance(value, dict):
        raise FieldError(f"{what} is {shown(value)}, not an object")
    return value


def entries(value: Any, what: str) -> list[Any]:
    """The value as a list.

    Raises:
        FieldError: it is anything else.
    """
    if not isinstance(value, list):
        raise FieldError(f"{what} is {shown(value)}, not a list")
    return value


def required(record: dict[str, Any], key: str) -> Any:
    """The value under a key.

    Raises:
        FieldError: the record lacks it.
    """
    if key not in record:
        raise FieldError(f"`{key}` is missing")
    return record[key]


def supporting_facts(value: Any, what: str) -> list[Fact]:
    """The value as HotpotQA's supporting facts, a list of ``[title, sentence index]``.

    Raises:
        FieldError: it is anything else. A whole number written as a float is an index, as to the official script.
    """
    return [_fact(entry, f"an entry of {what}") for entry in entries(value, what)]


def _fact(entry: Any, what: str) -> Fact:
    if not isinstance(entry, list) or len(entry) != 2:
        raise FieldError(f"{what} is {shown(entry)}, not [title, sentence index]")
    title, sentence = entry
    whole = isinstance(sentence, int) or (isinstance(sentence, float) and sentence.is_integer())
    if not whole or isinstance(sentence, bool):
        raise FieldError(f"{what} has the sentence index {shown(sentence)}, not a whole number")
    return text(title, f"the title in {what}"), int(sentence)
