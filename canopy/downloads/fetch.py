"""Fetching one file over HTTP, resumed after a break."""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

import requests

from canopy import __version__
from canopy.artefacts import write_json
from canopy.errors import UserError
from canopy.progress import track

BLOCK = 1 << 18
TIMEOUT = (20, 60)  # seconds to connect, seconds without a byte
PAUSES = (1.0, 2.0, 4.0, 8.0)  # seconds before each new try; tries that got further do not count
_BUSY = (408, 429)
_BROKEN = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class FetchError(UserError):
    """A file cannot be fetched; the message says why, not which file."""


class Unreachable(FetchError):
    """The server did not answer, answered that it is busy, or broke off, several times in a row."""


class _Again(Exception):
    """A try failed in a way that the next one may not."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Size in bytes and SHA-256 of a file that is complete."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class _Version:
    """Which content of a URL a partial file is a part of. ``total`` is its size in bytes where the server said it."""

    url: str
    validator: str
    total: int | None


def fetch(url: str, part: Path, room: Callable[[int, int], None]) -> Fetched:
    """Fetch a file into ``part``; what an earlier call left there is gone on from.

    A partial file is only gone on from when the server says, by ETag or Last-Modified, that the content is still the
    same; otherwise, and with servers that do not resume, it is fetched from the start.

    Args:
        url: http or https.
        part: the file to write; its version is kept beside it, see :func:`forget`.
        room: called with the file's size and the bytes of it still to come before they are written, when the server
            says its size; raises if the disk is too small.

    Raises:
        Unreachable: no connection, or it broke again and again. ``part`` is kept for the next call.
        FetchError: the server refuses the request, or sends something else than the file.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise FetchError("only http and https locations are fetched")
    furthest, failures = _size(part), 0
    with requests.Session() as session:
        while True:
            try:
                return _try(session, url, part, room)
            except _Again as error:
                failures = 1 if _size(part) > furthest else failures + 1
                furthest = max(furthest, _size(part))
                if failures > len(PAUSES):
                    raise Unreachable(str(error)) from error
                time.sleep(PAUSES[failures - 1])
            except requests.RequestException as error:
                raise FetchError(_first_line(error)) from error


def forget(part: Path) -> None:
    """Remove a partial file and the note of its version."""
    part.unlink(missing_ok=True)
    _note(part).unlink(missing_ok=True)


def digest(path: Path) -> Fetched:
    """Size and SHA-256 of a file on the disk, with a progress bar."""
    hashed = hashlib.sha256()
    size = path.stat().st_size
    with path.open("rb") as stream:
        blocks = iter(lambda: stream.read(BLOCK), b"")
        for block in track(blocks, f"checking {path.name}", math.ceil(size / BLOCK)):
            hashed.update(block)
    return Fetched(size, hashed.hexdigest())


def _try(session: requests.Session, url: str, part: Path, room: Callable[[int, int], None]) -> Fetched:
    known = _read_note(part)
    offset = _size(part) if known and known.url == url and known.validator else 0
    if known and offset and known.total == offset:
        return digest(part)  # complete, but its caller did not come to take it
    # Compression on the way would make lengths and offsets those of something else than the file.
    headers = {"Accept-Encoding": "identity", "User-Agent": f"canopy/{__version__}"}
    if known and offset:
        headers |= {"Range": f"bytes={offset}-", "If-Range": known.validator}
    try:
        with session.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            if response.status_code == 416 and offset:
                if response.headers.get("Content-Range") == f"bytes */{offset}":
                    return digest(part)
                forget(part)
                raise _Again("the file has changed on the server")
            _check(response, url)
            if response.status_code == 206:
                _check_same(response, known, offset, part)
            else:
                offset = 0
            return _receive(response, url, part, offset, room)
    except _BROKEN as error:
        raise _Again(_first_line(error)) from error


def _check(response: requests.Response, url: str) -> None:
    """Refuse an answer that is not the file."""
    status = response.status_code
    if status in _BUSY or status >= 500:
        raise _Again(f"the server answered {status} {response.reason}")
    if status not in (200, 206):
        raise FetchError(f"the server answered {status} {response.reason}")
    if urlsplit(url).scheme == "https" and urlsplit(response.url).scheme != "https":
        raise FetchError(f"the server leads to {response.url}, which is not https")
    if response.headers.get("Content-Type", "").startswith("text/html"):
        raise FetchError("the server sent a web page instead of the file; is there a login or a portal in between?")
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise FetchError("the server sent the file in another encoding than asked for")
    # A connection that merely ends looks the same whether or not the file has ended.
    if "Content-Length" not in response.headers and response.headers.get("Transfer-Encoding") != "chunked":
        raise FetchError("the server did not say where the file ends")


def _check_same(response: requests.Response, known: _Version | None, offset: int, part: Path) -> None:
    """Refuse to go on with a part of another content, also where the server overlooks If-Range."""
    found = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if (
        known is None
        or found is None
        or int(found[1]) != offset
        or (known.total is not None and found[2] not in ("*", str(known.total)))
        or _validator(response) not in ("", known.validator)
    ):
        forget(part)
        raise _Again("the file has changed on the server")


def _receive(
    response: requests.Response, url: str, part: Path, offset: int, room: Callable[[int, int], None]
) -> Fetched:
    length = response.headers.get("Content-Length")
    total = offset + int(length) if length is not None else None
    if total is not None:
        room(total, total - offset)
    part.parent.mkdir(parents=True, exist_ok=True)
    hashed = hashlib.sha256()
    if offset:
        with part.open("rb") as stream:
            while block := stream.read(BLOCK):
                hashed.update(block)
    else:
        forget(part)
        write_json(_note(part), asdict(_Version(url, _validator(response), total)))
    blocks = math.ceil((total - offset) / BLOCK) if total is not None else None
    with part.open("ab") as out:
        for block in track(response.iter_content(BLOCK), f"fetching {part.stem}", blocks):
            out.write(block)
            hashed.update(block)
    size = _size(part)
    if total is not None and size != total:
        raise _Again(f"the connection ended after {size} of {total} bytes")
    return Fetched(size, hashed.hexdigest())


def _validator(response: requests.Response) -> str:
    """What identifies the content: a strong ETag, else the time it was modified."""
    etag: str = response.headers.get("ETag", "")
    return etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified", "")


def _note(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _read_note(part: Path) -> _Version | None:
    try:
        return _Version(**json.loads(_note(part).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None  # without its version a part cannot be gone on from


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _first_line(error: Exception) -> str:
    """A short reason: the innermost one, since the outer ones only wrap it."""
    cause: BaseException = error
    while cause.__cause__ or cause.__context__:
        cause = cause.__cause__ or cause.__context__ or cause
    return (str(cause) or type(cause).__name__).splitlines()[0]
