"""A cache on disk by content hash. Entries appear complete or not at all; damaged ones count as absent."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def digest(values: Mapping[str, Any]) -> str:
    """A short content digest of plain settings, for names of cache entries."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def load_json(path: Path) -> Any:
    """The JSON value of an entry, or None when it is absent or damaged."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def store_json(path: Path, value: Any) -> None:
    """Write an entry under a temporary name of its own and rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".", suffix=".partial", delete=False) as stream:
        try:
            stream.write(json.dumps(value, ensure_ascii=False, sort_keys=True))
            stream.close()
            os.replace(stream.name, path)
        except BaseException:
            Path(stream.name).unlink(missing_ok=True)
            raise


@contextmanager
def directory(path: Path) -> Iterator[Path]:
    """Fill a new directory under a temporary name; on a clean exit it replaces ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial"))
    try:
        yield partial
        shutil.rmtree(path, ignore_errors=True)
        os.replace(partial, path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
