"""Gold and predictions files, read for ``canopy score``."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from canopy.corpora.raw import BROKEN, open_raw
from canopy.errors import UserError
from canopy.metrics.fields import shown

# Python reads no integer of more digits than this.
_LONG_INTEGER = re.compile(r"(?<![^\s:,\[-])[0-9]{4301}")


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, plain or compressed, without a byte order mark.

    Raises:
        UserError: it is missing, no regular file (a pipe would be waited for), truncated or not UTF-8.
    """
    try:
        with open_raw(path) as stream:
            return stream.read().decode("utf-8-sig")
    except (*BROKEN, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read as UTF-8 text ({error})") from error


def read_json(path: Path) -> Any:
    """The value of a JSON file, or the list of the values of a JSON Lines file.

    Raises:
        UserError: it is neither, an object holds one key twice, or it is beyond what Python can read.
    """
    text = read_text(path)
    try:
        return _load(text, str(path))
    except json.JSONDecodeError as whole:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        if len(lines) < 2:
            raise UserError(f"{path} is not JSON ({whole})") from whole
    values = []
    for number, line in lines:
        try:
            values.append(_load(line, f"{path}, line {number}"))
        except json.JSONDecodeError as error:
            raise UserError(f"{path}, line {number}, is not JSON ({error})") from error
    return values


def _load(text: str, where: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            raise UserError(f"{where}: {shown(twice)} occurs twice in one object, keep one")
        return record

    try:
        return json.loads(text, object_pairs_hook=unique)
    except RecursionError as error:
        raise UserError(f"{where}: brackets are nested too deeply") from error
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        raise UserError(f"{where}{_line_of_long_integer(text)}: an integer is too long ({error})") from error


def _line_of_long_integer(text: str) -> str:
    found = _LONG_INTEGER.search(text)
    return f", line {text.count(chr(10), 0, found.start()) + 1}" if found and "\n" in text else ""
