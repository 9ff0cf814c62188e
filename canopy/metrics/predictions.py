"""Predictions files: a JSON object from id to answer, or a benchmark's own submission format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from canopy.errors import UserError
from canopy.metrics.fields import FieldError, number_or_text, shown, supporting_facts, text
from canopy.metrics.files import read_json
from canopy.metrics.hotpotqa import Fact
from canopy.metrics.records import GoldAnswer, Prediction, Predictions

# Keys of the submission formats that are lists of records.
_RECORD_KEYS = {"nq": ("question", "prediction"), "ottqa": ("question_id", "pred")}


def read_predictions(benchmark: str, path: Path, golds: Iterable[GoldAnswer]) -> Predictions:
    """Read a predictions file and look its ids up in the gold.

    Taken are, for every benchmark, a JSON object from id to answer; for nq also JSON Lines of
    ``{question, prediction}``; for hotpotqa ``{"answer": {...}, "sp": {...}}``; for ottqa a list of
    ``{question_id, pred}``. An id may carry the prefix of the unified corpus (``hotpotqa:``).

    Raises:
        UserError: another format, an answer or an id that is not text, or two predictions for one question.
    """
    value = read_json(path)
    names = _names(benchmark, golds)
    if benchmark == "hotpotqa" and isinstance(value, dict) and isinstance(value.get("answer"), dict):
        facts = value.get("sp", {})
        if not isinstance(facts, dict):
            raise UserError(f"{path}: 'sp' must be an object from question id to [[title, sentence index], ...]")
        supporting = {key: _facts(key, entry, path) for key, entry in facts.items()}
        return Predictions(_answers(benchmark, value["answer"].items(), names, path), _renamed(supporting, names, path))
    return Predictions(_answers(benchmark, _pairs(benchmark, value, path), names, path))


def _names(benchmark: str, golds: Iterable[GoldAnswer]) -> dict[str, str]:
    names: dict[str, str] = {}
    for gold in golds:
        for name in (gold.qid, f"{benchmark}:{gold.qid}", *gold.aliases):
            names.setdefault(name, gold.qid)
        for alias in gold.aliases:
            names.setdefault(f"{benchmark}:{alias}", gold.qid)
    return names


def _pairs(benchmark: str, value: Any, path: Path) -> list[tuple[str, Any]]:
    keys = _RECORD_KEYS.get(benchmark)
    if keys and isinstance(value, dict) and set(keys) <= value.keys():
        value = [value]  # a JSON Lines file of one line
    if isinstance(value, dict):
        return list(value.items())
    if keys is None or not isinstance(value, list):
        raise UserError(f"{path}: not a JSON object from question id to answer, nor a {benchmark} submission")
    pairs = []
    for number, record in enumerate(value, 1):
        if not isinstance(record, dict) or not isinstance(record.get(keys[0]), str) or keys[1] not in record:
            raise UserError(f"{path}, record {number}: a {benchmark} submission record has {keys[0]!r} and {keys[1]!r}")
        pairs.append((record[keys[0]], record[keys[1]]))
    return pairs


def _answers(
    benchmark: str, pairs: Iterable[tuple[str, Any]], names: Mapping[str, str], path: Path
) -> dict[str, Prediction]:
    pairs = list(pairs)
    _check_ids([key for key, _ in pairs], names, path)
    return {names.get(key, key): _answer(benchmark, key, entry, path) for key, entry in pairs}


def _answer(benchmark: str, key: str, entry: Any, path: Path) -> Prediction:
    what = f"the answer of {shown(key)}"
    try:
        if benchmark == "mmqa" and isinstance(entry, list):
            return tuple(number_or_text(part, f"a part of {what}") for part in entry)
        return number_or_text(entry, what)
    except FieldError as error:
        raise UserError(f"{path}: {error}; leave unanswered questions out") from error


def _facts(key: str, entry: Any, path: Path) -> list[Fact]:
    what = f"'sp' of {shown(key)}"
    try:
        return supporting_facts(entry, what)
    except FieldError as error:
        raise UserError(f"{path}: {what} is not a list of [title, sentence index] ({error})") from error


def _renamed(facts: Mapping[str, list[Fact]], names: Mapping[str, str], path: Path) -> dict[str, list[Fact]]:
    _check_ids(list(facts), names, path)
    return {names.get(key, key): entry for key, entry in facts.items()}


def _check_ids(keys: list[str], names: Mapping[str, str], path: Path) -> None:
    seen: set[str] = set()
    for key in keys:
        try:
            name = names.get(text(key, "an id"), key)
        except FieldError as error:
            raise UserError(f"{path}: {error}") from error
        if name in seen:
            raise UserError(f"{path}: question {shown(name)} is answered twice, keep one")
        seen.add(name)
