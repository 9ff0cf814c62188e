"""Partial files, and the notes beside them that say what they are a part of."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path

from canopy.artefacts import write_json

_STRONG_ETAG = re.compile(r'"[\x21\x23-\x7e]*"')


@dataclass(frozen=True, slots=True)
class Version:
    """Which content of a URL a partial file is a part of.

    Attributes:
        url: where it comes from.
        validator: what tells this content from others, see :func:`validator`; empty where the server gave nothing.
        total: the content's size in bytes, where the server said it.
    """

    url: str
    validator: str
    total: int | None


def validator(headers: Mapping[str, str]) -> str:
    """What identifies the content byte for byte: a strong ETag, else the time it was modified; empty without either."""
    return next((v for v in (headers.get("ETag", ""), headers.get("Last-Modified", "")) if _is_validator(v)), "")


def write_version(part: Path, version: Version) -> None:
    """Begin a partial file: remove what is there and note its version."""
    part.parent.mkdir(parents=True, exist_ok=True)
    forget(part)
    write_json(_note(part), asdict(version))


def read_version(part: Path) -> Version | None:
    """The version of a partial file; None if there is no note or one that cannot be gone on from."""
    try:
        version = Version(**json.loads(_note(part).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    right = isinstance(version.url, str) and isinstance(version.validator, str)
    right = right and (version.total is None or type(version.total) is int)
    return version if right and (not version.validator or _is_validator(version.validator)) else None


def forget(part: Path) -> None:
    """Remove a partial file and the note of its version."""
    part.unlink(missing_ok=True)
    _note(part).unlink(missing_ok=True)


def size_of(path: Path) -> int:
    """Bytes of a file, 0 if there is none."""
    return path.stat().st_size if path.is_file() else 0


def _is_validator(value: str) -> bool:
    if _STRONG_ETAG.fullmatch(value):
        return True
    try:
        return value.isascii() and value.isprintable() and bool(parsedate_to_datetime(value))
    except (ValueError, TypeError, IndexError, OverflowError):
        return False


def _note(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")
