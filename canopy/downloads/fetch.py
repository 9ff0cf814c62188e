"""Fetching one file over HTTP, resumed after a break."""

from __future__ import annotations

import hashlib
import math
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import requests

from canopy import __version__
from canopy.downloads.parts import Version, forget, read_version, size_of, validator, write_version
from canopy.errors import UserError
from canopy.progress import track

BLOCK = 1 << 18
WATCHED = 16 << 20  # bytes between two looks at a disk that may become full
TIMEOUT = (20, 60)  # seconds to connect, seconds without a byte
PAUSES = (1.0, 2.0, 4.0, 8.0)  # seconds before each new try; tries that got further do not count
Begin = Callable[[int | None, int], None]
Watch = Callable[[int], None]
_BUSY = (408, 429)
_BROKEN = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
_LENGTH = re.compile(r"[0-9]{1,18}")
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")


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


def fetch(url: str, part: Path, begin: Begin, watch: Watch, sha256: str = "") -> Fetched:
    """Fetch a file into ``part``; what an earlier call left there is gone on from.

    A partial file is only gone on from when the server says, by a strong ETag or Last-Modified, that the content is
    still the same; otherwise, and with servers that do not resume, it is fetched from the start.

    Args:
        url: http or https.
        part: the file to write; its version is kept beside it, see :mod:`canopy.downloads.parts`.
        begin: called before anything is written with the file's size, None where the server does not say it, and the
            bytes of it still to come (0 then); raises if they are not wanted.
        watch: called with the bytes so far, each :data:`WATCHED`, of a file whose size the server does not say; raises
            if no more are wanted.
        sha256: the digest that the file must have, empty where none is known. A part that has it is not asked after.

    Raises:
        Unreachable: no connection, or it broke again and again. ``part`` is kept for the next call.
        FetchError: the server refuses the request, or sends something else than the file.
        UserError: ``part`` cannot be written.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise FetchError("only http and https locations are fetched")
    if sha256 and _may_be_whole(part) and (got := digest(part)).sha256 == sha256:
        return got
    print(f"canopy: fetching {part.stem} from {urlsplit(url).netloc}", file=sys.stderr, flush=True)
    furthest, failures = size_of(part), 0
    with requests.Session() as session:
        while True:
            try:
                return _try(session, url, part, begin, watch)
            except _Again as error:
                failures = 1 if size_of(part) > furthest else failures + 1
                furthest = max(furthest, size_of(part))
                if failures > len(PAUSES):
                    raise Unreachable(str(error)) from error
                time.sleep(PAUSES[failures - 1])


def digest(path: Path) -> Fetched:
    """Size and SHA-256 of a file on the disk, with a progress bar."""
    hashed = hashlib.sha256()
    size = path.stat().st_size
    with path.open("rb") as stream:
        blocks = iter(lambda: stream.read(BLOCK), b"")
        for block in track(blocks, f"checking {path.name}", math.ceil(size / BLOCK)):
            hashed.update(block)
    return Fetched(size, hashed.hexdigest())


def _may_be_whole(part: Path) -> bool:
    known = read_version(part)
    return size_of(part) > 0 and (known is None or known.total in (None, size_of(part)))


def _try(session: requests.Session, url: str, part: Path, begin: Begin, watch: Watch) -> Fetched:
    known = read_version(part)
    # The last byte is asked for again: so the server answers for a part that is whole, too, and says its version.
    offset = max(0, size_of(part) - 1) if known and known.url == url and known.validator else 0
    # Compression on the way would make lengths and offsets those of something else than the file.
    headers = {"Accept-Encoding": "identity", "User-Agent": f"canopy/{__version__}"}
    if known and offset:
        headers |= {"Range": f"bytes={offset}-", "If-Range": known.validator}
    try:
        with _answer(session, url, headers) as response:
            if offset and response.status_code == 416:
                raise _changed(part)
            _check(response, url)
            if response.status_code == 206:
                total: int | None = _total_of_part(response, known, offset, part)
            else:
                offset, total = 0, _length(response)
            return _receive(response, url, part, offset, total, begin, watch)
    except _BROKEN as error:
        raise _Again(_first_line(error)) from error
    except requests.RequestException as error:
        raise FetchError(_first_line(error)) from error
    except OSError as error:  # not of the network, all of which Requests makes its own
        reason = error.strerror or str(error)
        raise UserError(
            f"{part} cannot be written: {reason}: mend this, and the next run goes on from there"
        ) from error


def _answer(session: requests.Session, url: str, headers: dict[str, str]) -> requests.Response:
    """The server's answer, redirections followed."""
    try:
        return session.get(url, headers=headers, stream=True, timeout=TIMEOUT)
    except requests.RequestException:
        raise
    except ValueError as error:  # Requests lets those of a malformed location through
        raise FetchError(f"the server leads to a location that is none: {_first_line(error)}") from error


def _changed(part: Path) -> _Again:
    forget(part)
    return _Again("the file has changed on the server, or it does not say that it has not")


def _check(response: requests.Response, url: str) -> None:
    """Refuse an answer that is not the file."""
    status = response.status_code
    if status in _BUSY or status >= 500:
        raise _Again(f"the server answered {status} {response.reason}")
    if status not in (200, 206):
        raise FetchError(f"the server answered {status} {response.reason}")
    hops = [r.url for r in (*response.history, response) if urlsplit(r.url).scheme != "https"]
    if hops and urlsplit(url).scheme == "https":
        raise FetchError(f"the server leads to {hops[0]}, which is not https")
    if response.headers.get("Content-Type", "").startswith("text/html"):
        raise FetchError("the server sent a web page instead of the file; is there a login or a portal in between?")
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise FetchError("the server sent the file in another encoding than asked for")


def _length(response: requests.Response) -> int | None:
    """The bytes that an answer announces; None when they come in chunks, of which the last one says so."""
    if response.headers.get("Transfer-Encoding", "").lower() == "chunked":
        return None
    length = response.headers.get("Content-Length")
    # A connection that merely ends looks the same whether or not the file has ended.
    if length is None or not _LENGTH.fullmatch(length):
        said = "" if length is None else f": it announced {length[:40]!r} bytes"
        raise FetchError(f"the server did not say where the file ends{said}")
    return int(length)


def _total_of_part(response: requests.Response, known: Version | None, offset: int, part: Path) -> int:
    """The file's size, if the answer goes on with the same content; also where the server overlooks If-Range."""
    found = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    first, last, total = (int(n) for n in found.groups()) if found else (-1, -1, -1)
    if (
        known is None
        or (first, last) != (offset, total - 1)
        or known.total not in (None, total)
        or validator(response.headers) != known.validator
        or _length(response) not in (None, total - offset)
    ):
        raise _changed(part)
    return total


def _receive(
    response: requests.Response,
    url: str,
    part: Path,
    offset: int,
    total: int | None,
    begin: Begin,
    watch: Watch,
) -> Fetched:
    begin(total, 0 if total is None else total - offset)
    hashed = hashlib.sha256()
    if offset:
        with part.open("r+b") as stream:
            stream.truncate(offset)
            while block := stream.read(BLOCK):
                hashed.update(block)
    else:
        write_version(part, Version(url, validator(response.headers), total))
    blocks = math.ceil((total - offset) / BLOCK) if total is not None else None
    size = watched = 0
    with part.open("ab") as out:
        for block in track(response.iter_content(BLOCK), f"fetching {part.stem}", blocks):
            if total is None and size >= watched:
                watch(size)
                watched = size + WATCHED
            out.write(block)
            hashed.update(block)
            size += len(block)
    size = size_of(part)
    if total is not None and size != total:
        raise _Again(f"the connection ended after {size} of {total} bytes")
    return Fetched(size, hashed.hexdigest())


def _first_line(error: Exception) -> str:
    """A short reason: the innermost one, since the outer ones only wrap it."""
    cause: BaseException = error
    while cause.__cause__ or cause.__context__:
        cause = cause.__cause__ or cause.__context__ or cause
    return (str(cause) or type(cause).__name__).splitlines()[0]
