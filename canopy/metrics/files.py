"""Gold and predictions files, read for ``canopy score``."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from canopy.errors import UserError

_OPENERS: dict[str, Callable[[Path], bytes]] = {
    ".gz": lambda path: gzip.decompress(path.read_bytes()),
    ".bz2": lambda path: bz2.decompress(path.read_bytes()),
}


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, plain or ``.gz``/``.bz2``, without a byte order mark.

    Raises:
        UserError: it is missing, truncated or not UTF-8.
    """
    try:
        data = _OPENERS.get(path.suffix, Path.read_bytes)(path)
        return data.decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read as UTF-8 text ({error})") from error


def read_json(path: Path) -> Any:
    """The value of a JSON file, or the list of the values of a JSON Lines file.

    Raises:
        UserError: it is neither, or an object holds one key twice.
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
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise UserError(f"{where}: {twice!r} occurs twice in one object, keep one")
        return record

    return json.loads(text, object_pairs_hook=unique)
