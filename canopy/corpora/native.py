"""What the five parsers share: checked access to native records, and items made from native content."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeGuard

from canopy.contracts import Gold, Item, Span, Table
from canopy.corpora.quarantine import EXCERPT
from canopy.corpora.raw import RawFile, Record
from canopy.corpora.seen import Seen
from canopy.corpora.sink import Sink
from canopy.text.answers import units_with_answer
from canopy.text.sentences import paragraph_groups, sentence_spans


class Fault(Exception):
    """A record cannot be used; the message is its reason in the quarantine."""


def guarded(file: RawFile, records: Iterable[Record], sink: Sink, use: Callable[[RawFile, Record], None]) -> None:
    """Use each record; one that raises :class:`Fault` goes to the quarantine."""
    for record in records:
        try:
            use(file, record)
        except Fault as fault:
            sink.quarantine.add(file.group, file.path, record.place, str(fault), excerpt(record.value))


def excerpt(value: Any) -> str:
    """The beginning of a native value as the quarantine shows it."""
    if isinstance(value, str):
        return value[:EXCERPT]
    try:
        return json.dumps(value, ensure_ascii=False, default=str)[:EXCERPT]
    except (ValueError, RecursionError):  # lists in lists, deeper than JSON is written
        return "a value nested too deeply to show"


def obj(value: Any, what: str = "record") -> dict[str, Any]:
    """The value as a JSON object."""
    if not isinstance(value, dict):
        raise Fault(f"{what} is not a JSON object")
    return value


def text(record: dict[str, Any], *keys: str) -> str:
    """The string under the first of the keys that is present; it must hold a visible character."""
    for key in keys:
        value = optional_text(record, key)
        if value.strip():
            return value
        if record.get(key) is not None:
            raise Fault(f"`{key}` is empty")
    raise Fault(f"`{'` or `'.join(keys)}` is missing")


def question_text(record: dict[str, Any]) -> str:
    """The string under `question`; unlike an id, a number is none."""
    if is_index(record.get("question")):
        raise Fault("`question` is not a string")
    return text(record, "question")


def optional_text(record: dict[str, Any], key: str) -> str:
    """The string under a key, a whole number as its digits; empty where it is absent or null."""
    value = record.get(key)
    if value is None:
        return ""
    if is_index(value):
        return str(value)
    if not isinstance(value, str):
        raise Fault(f"`{key}` is not a string")
    return value


def optional_list(record: dict[str, Any], key: str) -> list[Any]:
    """The list under a key; empty where it is absent or null."""
    return [] if record.get(key) is None else listed(record, key)


def is_index(value: Any) -> TypeGuard[int]:
    """Whether a JSON value is a whole number; true and false, which Python counts as numbers, are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def listed(record: dict[str, Any], key: str) -> list[Any]:
    """The list under a key."""
    value = record.get(key)
    if not isinstance(value, list):
        raise Fault(f"`{key}` is missing" if key not in record else f"`{key}` is not a list")
    return value


def strings(value: Any, what: str) -> list[str]:
    """The value as a list of strings."""
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise Fault(f"{what} is not a list of strings")
    return value


def is_first(ids: Seen, sink: Sink, file: RawFile, record: Record, qid: str, **contents: str) -> bool:
    """Whether a question id is new; the same question again is counted, one that differs is quarantined.

    Args:
        ids: the ids read so far, with their contents.
        sink: where the count and the quarantine are.
        file: of the record.
        record: the question.
        qid: its native id.
        contents: the question, its answer and so on, by the name that the reason of the quarantine gives them. One
            that is empty says nothing (files without answers), and so differs from none.
    """
    if ids.add(qid) == "new":
        for name, content in contents.items():
            ids.add(f"{qid}\0{name}", content)
        return True
    others = [name for name, content in contents.items() if content and ids.add(f"{qid}\0{name}", content) != "same"]
    if others:
        reason = f"the id {qid} is repeated and differs in its {' and '.join(others)}"
        sink.quarantine.add(file.group, file.path, record.place, reason, excerpt(record.value))
    else:
        sink.facts["repeated questions"] += 1
    return False


def place_of(file: RawFile, record: Record) -> str:
    """File and record, as :attr:`Item.source` gives them."""
    return f"{file.path}:{record.place}"


def text_item(
    sink: Sink, file: RawFile, record: Record, item_id: str, title: str, content: str, doc_id: str | None = None
) -> Item | None:
    """A text as an item with its sentences, written to the sink; None, with a notice, when it has no visible text."""
    if not content.strip():
        sink.quarantine.notice("text without visible characters, no item", file.path, record.place, item_id)
        return None
    units = sentence_spans(content)
    groups = paragraph_groups(content, units)
    benchmark = item_id.partition(":")[0]
    source = place_of(file, record)
    item = Item(
        item_id, benchmark, doc_id or item_id, "text", title, content, tuple(units), groups=groups, source=source
    )
    sink.item(item)
    return item


def table_item(
    sink: Sink, file: RawFile, record: Record, item_id: str, title: str, table: Table, doc_id: str | None = None
) -> Item | None:
    """A table as an item with its rows, written to the sink; None, with a notice, when it has no rows.

    Rows of different lengths are filled up with empty cells, and the header with empty names, to the widest of them.
    """
    if not table.rows:
        sink.quarantine.notice("table without rows, no item", file.path, record.place, item_id)
        return None
    width = max(len(table.header), *(len(r) for r in table.rows))
    if width == 0:
        sink.quarantine.notice("table without cells, no item", file.path, record.place, item_id)
        return None
    if any(len(r) != width for r in (table.header, *table.rows)):
        sink.quarantine.notice("table with rows of different lengths, filled up", file.path, record.place, item_id)
    filled = Table(_fill(table.header, width), tuple(_fill(r, width) for r in table.rows), table.section)
    units = tuple(Span(i, i + 1) for i in range(len(filled.rows)))
    benchmark = item_id.partition(":")[0]
    source = place_of(file, record)
    item = Item(item_id, benchmark, doc_id or item_id, "table", title, filled.to_json(), units, source=source)
    sink.item(item)
    return item


def _fill(cells: Sequence[str], width: int) -> tuple[str, ...]:
    return (*cells, *[""] * (width - len(cells)))


class AnswerPlaces:
    """Units that bear an answer, for items that are known by id before they stream by."""

    def __init__(self) -> None:
        """Nothing asked yet."""
        self._asked: dict[str, set[str]] = {}
        self._units: dict[tuple[str, str], tuple[int, ...]] = {}
        self._known: dict[str, int] = {}

    def ask(self, item_id: str, *answers: str) -> None:
        """Note that this item matters, and which answers will be asked for."""
        self._asked.setdefault(item_id, set()).update(answers)

    def meet(self, item: Item) -> None:
        """Look at an item as it streams by."""
        asked = self._asked.get(item.item_id)
        if asked is None:
            return
        self._known[item.item_id] = len(item.units)
        if not asked:
            return
        if item.modality == "table":
            rows = [" | ".join(row) for row in Table.from_json(item.content).rows]
            for answer in asked:
                hits = (i for i, row in enumerate(rows) if units_with_answer(row, (Span(0, len(row)),), (answer,)))
                self._units[item.item_id, answer] = tuple(hits)
        elif item.modality == "text":
            for answer in asked:
                self._units[item.item_id, answer] = units_with_answer(item.content, item.units, (answer,))

    def count(self, item_id: str) -> int:
        """Number of units of an item that was met, else 0."""
        return self._known.get(item_id, 0)

    def units(self, item_id: str, answer: str) -> tuple[int, ...]:
        """Units of the item that bear the answer; none where the item was never met."""
        return self._units.get((item_id, answer), ())


class GoldList:
    """Gold evidence of one question in the making: units of an item joined, items in order of first mention."""

    def __init__(self) -> None:
        """Empty."""
        self._units: dict[str, set[int]] = {}
        self._missing: set[str] = set()

    @property
    def missing(self) -> int:
        """Items of which some reference could not be located, each once, as an item with gold counts once."""
        return len(self._missing)

    def add(self, item_id: str, units: Iterable[int]) -> bool:
        """Add units; with none, the item, or what is known of it, is missing. Tells whether there were any."""
        units = set(units)
        if not units:
            self._missing.add(item_id)
            return False
        self._units.setdefault(item_id, set()).update(units)
        return True

    def __contains__(self, item_id: str) -> bool:
        """Whether the item bears gold."""
        return item_id in self._units

    def gold(self) -> tuple[Gold, ...]:
        """The gold evidence, one entry an item, units ascending."""
        return tuple(Gold(item_id, tuple(sorted(units))) for item_id, units in self._units.items())


def to_json(value: Any) -> str:
    """Compact JSON for :attr:`Question.native`."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
