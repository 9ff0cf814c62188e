"""Odd values at every place of a JSON value."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place in a JSON value, the whole of it first."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield from places(below, (*path, key))


def put(value: Any, path: tuple[str | int, ...], odd: Any) -> Any:
    """A copy of a JSON value with something else at one place."""
    if not path:
        return odd
    changed = copy.deepcopy(value)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = odd
    return changed
