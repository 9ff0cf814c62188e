"""Progress bars on long work."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def track(iterable: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Pass the items of ``iterable`` through, showing how many are done and the time left.

    The bar goes to standard error, and only when that is a terminal, so that logs stay readable.

    Args:
        iterable: what is worked through.
        description: what is being done, for example ``"embedding items"``.
        total: number of items, when ``iterable`` has no length.
    """
    if not sys.stderr.isatty():
        yield from iterable
        return
    # Only a terminal pays for the import.
    from rich.console import Console
    from rich.progress import track as rich_track

    yield from rich_track(iterable, description, total=total, console=Console(stderr=True))
