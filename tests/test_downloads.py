"""Downloads as a user meets them, against a server on this machine."""

from __future__ import annotations

import hashlib
import io
import json
import resource
import shutil
import socket
import threading
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from canopy.cli import main
from canopy.downloads import benchmark as benchmark_module
from canopy.downloads import fetch, lock, space, table
from canopy.downloads.table import OfficialFile, Unpack

BODY = bytes(range(256)) * 4000  # about 1 MB: several blocks
OTHER = BODY[::-1]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def errors(said: str) -> list[str]:
    """The lines on standard error that are not the announcement of a file."""
    return [line for line in said.splitlines() if not line.startswith("canopy: fetching ")]


@dataclass
class Site:
    """What the server does, and the requests that it has seen."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    etag: str = '"one"'
    ranges: bool = True
    heeds_if_range: bool = True
    tells_version_of_parts: bool = True
    location: str = ""  # where the next answer leads to
    cut_after: list[int] = field(default_factory=list)  # bytes after which each of the next answers breaks off
    endless: int = 0  # bytes sent in chunks, without a length, instead of the file
    statuses: list[int] = field(default_factory=list)  # of the next answers, instead of the file
    headers: dict[str, str] = field(default_factory=dict)
    then: list[tuple[str, bytes]] = field(default_factory=list)  # after an answer: a new ETag and content
    seen: list[dict[str, str]] = field(default_factory=list)


def handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

        def do_GET(self) -> None:
            site.seen.append(dict(self.headers.items()))
            if site.location:
                self.send_response(302)
                self.send_header("Location", site.location)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body = site.files.get(self.path.lstrip("/"))
            status = site.statuses.pop(0) if site.statuses else 404 if body is None else 200
            if status != 200 or body is None:
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if site.endless:
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                with suppress(BrokenPipeError, ConnectionResetError):
                    for _ in range(site.endless >> 20):
                        self.wfile.write(b"100000\r\n" + bytes(1 << 20) + b"\r\n")
                    self.wfile.write(b"0\r\n\r\n")
                self.close_connection = True
                return
            start = 0
            asked = self.headers.get("Range")
            same = self.headers.get("If-Range") == site.etag or not site.heeds_if_range
            if asked and site.ranges and same:
                start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(body) and start:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            etag = site.etag if site.tells_version_of_parts or not start else ""
            for name, value in {"Content-Length": str(len(body) - start), "ETag": etag, **site.headers}.items():
                if value:
                    self.send_header(name, value)
            self.end_headers()
            end = start + site.cut_after.pop(0) if site.cut_after else len(body)
            with suppress(BrokenPipeError, ConnectionResetError):  # a client that refuses the answer
                self.wfile.write(body[start:end])
            if site.then:
                site.etag, site.files[self.path.lstrip("/")] = site.then.pop(0)

    return Handler


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(site))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_address[1]}/"
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "PAUSES", (0, 0))
    monkeypatch.setattr(fetch, "BLOCK", 1 << 16)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


class World:
    """A raw root in which ``canopy download nq`` looks for files of the local server."""

    def __init__(self, site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.site = site
        self.root = folder / "raw"
        self.lock = self.root / "downloads.lock.json"
        self.monkeypatch = monkeypatch
        self.offer(OfficialFile("a.json.gz", f"{site.url}a.json.gz", "CC0", "questions"))
        site.files["a.json.gz"] = BODY

    def offer(self, *files: OfficialFile) -> None:
        self.monkeypatch.setitem(table.FILES, "nq", files)

    def path(self, name: str = "a.json.gz") -> Path:
        return self.root / "nq" / name

    def put(self, content: bytes, name: str = "a.json.gz") -> Path:
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_bytes(content)
        return self.path(name)

    def download(self, *arguments: str) -> int:
        return main(["download", "nq", "--root", str(self.root), *arguments])

    @property
    def part(self) -> Path:
        return self.root / ".downloads" / "nq" / "a.json.gz.part"

    def leave(self, part: bytes, note: object = None) -> None:
        """A partial file as a run leaves it that was broken off, with its note."""
        self.part.parent.mkdir(parents=True, exist_ok=True)
        self.part.write_bytes(part)
        right = {"url": f"{self.site.url}a.json.gz", "validator": '"one"', "total": len(BODY)}
        text = note if isinstance(note, str) else json.dumps(right | note if isinstance(note, dict) else right)
        self.part.with_name(f"{self.part.name}.json").write_text(text)

    def know(self, digest: str, name: str = "a.json.gz") -> None:
        """A lock file with one entry."""
        self.root.mkdir(exist_ok=True)
        entry = {"url": self.site.url + name, "bytes": len(BODY), "sha256": digest}
        self.lock.write_text(json.dumps({f"nq/{name}": entry}))

    def entries(self) -> dict[str, dict[str, object]]:
        entries: dict[str, dict[str, object]] = json.loads(self.lock.read_text())
        return entries

    def visible(self) -> list[str]:
        """All files but the lock file of which the path below the root has no hidden part."""
        found = (p.relative_to(self.root) for p in self.root.rglob("*") if p.is_file() and p != self.lock)
        return sorted(str(p) for p in found if not any(part.startswith(".") for part in p.parts))


@pytest.fixture
def world(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(site, tmp_path, monkeypatch)


Output = pytest.CaptureFixture[str]


def test_a_first_fetch_writes_the_lock_file_and_a_second_checks(world: World, capsys: Output) -> None:
    assert world.download() == 0
    assert world.path().read_bytes() == BODY
    entry = {"url": f"{world.site.url}a.json.gz", "bytes": len(BODY), "sha256": sha256(BODY)}
    assert world.entries() == {"nq/a.json.gz": entry}
    assert world.visible() == ["nq/a.json.gz"]
    before = world.lock.read_bytes(), world.path().parent.stat().st_mtime_ns
    assert world.download() == 0
    # The folder's time is what a parse job is judged by.
    assert (world.lock.read_bytes(), world.path().parent.stat().st_mtime_ns) == before
    assert len(world.site.seen) == 1
    assert "there and right" in capsys.readouterr().out


def test_a_broken_connection_is_resumed(world: World) -> None:
    world.site.cut_after = [500_000, 200_000]
    assert world.download() == 0
    assert world.path().read_bytes() == BODY
    assert world.entries()["nq/a.json.gz"]["sha256"] == sha256(BODY)
    assert [s.get("Range", "").startswith("bytes=") for s in world.site.seen] == [False, True, True]
    assert world.site.seen[1]["If-Range"] == '"one"'


def test_a_later_run_goes_on_from_what_an_earlier_one_left(world: World) -> None:
    world.site.cut_after = [500_000]
    world.site.statuses = [200, 503, 503, 503]
    assert world.download() == 2
    assert world.visible() == [] and not world.lock.exists()
    assert world.download() == 0
    assert world.path().read_bytes() == BODY
    assert int(world.site.seen[-1]["Range"].strip("bytes=-")) > 400_000


@pytest.mark.parametrize("validated", [True, False], ids=["no ranges", "no ETag"])
def test_without_a_way_to_resume_a_fetch_starts_again(world: World, validated: bool) -> None:
    world.site.cut_after = [500_000]
    world.site.ranges = not validated
    world.site.etag = '"one"' if validated else ""
    assert world.download() == 0
    assert world.path().read_bytes() == BODY


@pytest.mark.parametrize("heeds", [True, False])
def test_a_file_that_changes_between_tries_is_not_spliced(world: World, heeds: bool) -> None:
    world.site.heeds_if_range = heeds
    world.site.cut_after = [500_000]
    world.site.then = [('"two"', OTHER)]
    assert world.download() == 0
    assert world.path().read_bytes() == OTHER
    assert world.entries()["nq/a.json.gz"]["sha256"] == sha256(OTHER)


def test_a_part_of_other_content_is_not_gone_on_from_where_the_server_tells_no_version(world: World) -> None:
    world.site.heeds_if_range = world.site.tells_version_of_parts = False
    world.site.cut_after = [500_000]
    world.site.then = [('"two"', OTHER)]
    assert world.download() == 0
    assert world.path().read_bytes() == OTHER


@pytest.mark.parametrize("etag", ['W/"one"', "one", '"\xe9"'])
def test_only_a_strong_etag_is_gone_on_from(world: World, etag: str) -> None:
    world.site.etag = etag
    world.site.cut_after = [500_000]
    assert world.download() == 0
    assert world.path().read_bytes() == BODY
    assert ["Range" in s for s in world.site.seen] == [False, False]


@pytest.mark.parametrize(
    "note",
    ["[" * 100_000, "[1]", "{}", {"validator": "a\nb"}, {"validator": "one"}, {"validator": 7}, {"total": "1"}],
    ids=lambda note: str(note)[:20],
)
def test_a_part_with_a_bad_note_is_fetched_from_the_start(world: World, note: object) -> None:
    world.leave(OTHER[:5000], note)
    assert world.download() == 0
    assert world.path().read_bytes() == BODY
    assert "Range" not in world.site.seen[0]


def test_a_complete_part_is_asked_after_and_not_fetched_again(world: World) -> None:
    world.leave(BODY)
    assert world.download() == 0
    assert world.path().read_bytes() == BODY
    assert [s.get("Range") for s in world.site.seen] == [f"bytes={len(BODY) - 1}-"]


@pytest.mark.parametrize("content", [OTHER, BODY[:1000]])
def test_a_complete_part_of_older_content_is_fetched_anew(world: World, content: bytes) -> None:
    world.leave(BODY)
    world.site.etag, world.site.files["a.json.gz"] = '"two"', content
    assert world.download() == 0
    assert world.path().read_bytes() == content


@pytest.mark.parametrize("note", [None, "{}"])
def test_a_part_with_the_digest_of_the_lock_file_is_taken_without_asking(world: World, note: object) -> None:
    world.leave(BODY, note)
    world.know(sha256(BODY))
    assert world.download() == 0
    assert world.path().read_bytes() == BODY
    assert world.site.seen == [] and not world.part.exists()


def test_a_run_killed_before_the_lock_file_is_written_loses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(lock.LockFile, "record", killed)
        assert world.download() == 130
    assert world.visible() == []
    assert world.download() == 0
    assert world.path().read_bytes() == BODY
    assert "Range" in world.site.seen[-1]


def test_a_fetched_file_that_differs_from_the_lock_file_is_refused(world: World, capsys: Output) -> None:
    assert world.download() == 0
    world.path().rename(world.root / "kept")
    world.site.files["a.json.gz"] = OTHER
    before = world.lock.read_bytes()
    assert world.download() == 2
    error = capsys.readouterr().err
    assert len(errors(error)) == 1
    assert all(word in error for word in (sha256(BODY), sha256(OTHER), "a.json.gz", "remove the entry nq/a.json.gz"))
    assert not world.path().exists() and world.lock.read_bytes() == before

    # What was fetched is kept: accepted, it is there without being fetched again.
    assert str(world.part) in error and world.part.read_bytes() == OTHER
    requests = len(world.site.seen)
    world.lock.unlink()
    assert world.download() == 0
    assert world.path().read_bytes() == OTHER
    assert [s["Range"] for s in world.site.seen[requests:]] == [f"bytes={len(BODY) - 1}-"]


def test_a_file_that_differs_from_its_published_digest_is_refused(world: World, capsys: Output) -> None:
    file = OfficialFile("a.json.gz", f"{world.site.url}a.json.gz", "CC0", "questions", sha256=sha256(OTHER))
    world.offer(file)
    assert world.download() == 2
    assert "published" in capsys.readouterr().err
    assert not world.path().exists() and not world.lock.exists()


@pytest.mark.parametrize("content", [OTHER, BODY[:-1]])
def test_a_wrong_file_that_is_there_is_left_as_it_is(world: World, capsys: Output, content: bytes) -> None:
    assert world.download() == 0
    world.put(content)
    assert world.download() == 2
    error = capsys.readouterr().err
    assert str(world.path()) in error and sha256(BODY) in error and sha256(content) in error
    assert world.path().read_bytes() == content
    assert len(world.site.seen) == 1


def test_a_copy_made_by_hand_is_recorded_and_not_fetched(world: World) -> None:
    world.put(BODY)
    assert world.download() == 0
    assert world.entries()["nq/a.json.gz"]["sha256"] == sha256(BODY)
    assert world.site.seen == []


def test_a_copy_made_by_hand_of_a_wrong_size_is_refused_and_not_recorded(world: World, capsys: Output) -> None:
    world.offer(replace(table.FILES["nq"][0], size=2_000_000))
    world.put(BODY)
    assert world.download("--list") == 0
    assert "wrong: it has 1.0 MB (1,024,000 bytes), but the official file about 2.0 MB" in capsys.readouterr().out
    assert world.download() == 2
    error = capsys.readouterr().err
    assert f"{world.path()} has 1.0 MB" in error and world.site.seen == [] and not world.lock.exists()

    # If the figure is wrong, the entry that the message shows says so.
    shown = error[error.index("{") : error.rindex("}") + 1]
    assert json.loads(shown)["nq/a.json.gz"]["sha256"] == sha256(BODY)
    world.lock.write_text(shown)
    assert world.download() == 0


def test_a_fetched_file_of_an_odd_size_is_remarked_on(world: World, capsys: Output) -> None:
    world.offer(replace(table.FILES["nq"][0], size=1_200_000))
    assert world.download() == 0
    assert "note that it has 1.0 MB" in capsys.readouterr().out
    world.offer(replace(table.FILES["nq"][0], size=1_000_000))
    world.path().unlink()
    assert world.download() == 0
    assert "note" not in capsys.readouterr().out


def test_a_copy_in_another_compression_is_not_fetched_again(world: World, capsys: Output) -> None:
    world.put(b"{}", "a.json")
    assert world.download() == 0
    assert "not checked" in capsys.readouterr().out
    assert world.site.seen == []


def test_too_small_a_disk_is_told_before_anything_is_written(
    world: World, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1_000_000))
    assert world.download() == 2
    error = capsys.readouterr().err
    assert f"{world.path()}: 1.0 MB more are needed" in error and "where 1.0 MB are free" in error
    assert world.visible() == [] and len(world.site.seen) == 1

    # By the table's figure not even a request is made.
    world.offer(replace(table.FILES["nq"][0], size=5_000_000_000))
    assert world.download() == 2
    assert f"{world.path()}: 5.00 GB" in capsys.readouterr().err and len(world.site.seen) == 1


def test_a_file_without_a_length_leaves_a_reserve_on_the_disk(
    world: World, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    def usage(folder: object) -> SimpleNamespace:
        return SimpleNamespace(free=1_020_000_000 - (world.part.stat().st_size if world.part.is_file() else 0))

    monkeypatch.setattr(shutil, "disk_usage", usage)
    world.site.endless = 200 << 20
    assert world.download() == 2
    (line,) = errors(capsys.readouterr().err)
    assert f"{world.path()}, of a size that" in line and f"kept as {world.part}" in line
    assert 20_000_000 <= world.part.stat().st_size < 40_000_000 and world.visible() == []


@pytest.mark.parametrize("announced", [True, False])
def test_much_more_than_the_known_size_is_refused(world: World, capsys: Output, announced: bool) -> None:
    world.offer(replace(table.FILES["nq"][0], size=500_000))
    world.site.endless = 0 if announced else 200 << 20
    assert world.download() == 2
    (line,) = errors(capsys.readouterr().err)
    assert "sends more than 2 times the file's known size, 500.0 kB" in line and str(world.path()) in line
    assert not announced or not world.root.exists()
    assert announced or world.part.stat().st_size < 40_000_000


def test_a_file_without_a_length_is_fetched(world: World) -> None:
    world.site.endless = 1 << 20
    assert world.download() == 0
    assert world.path().read_bytes() == bytes(1 << 20)


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (999, "999 B"), (1234, "1.2 kB"), (486_000, "486.0 kB"), (2_500_000, "2.5 MB"), (4.7e9, "4.70 GB")],
)
def test_sizes_are_shown_in_fitting_units(size: float, shown: str) -> None:
    assert space.in_units(size) == shown


def test_a_disk_that_becomes_full_is_told_with_the_file_and_the_next_run_goes_on(world: World, capsys: Output) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, limits[1]))
    try:
        assert world.download() == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    error = capsys.readouterr().err
    assert len(errors(error)) == 1 and f"{world.part} cannot be written" in error
    assert world.download() == 0
    assert world.path().read_bytes() == BODY and world.site.seen[-1]["Range"] == "bytes=299999-"


def test_a_file_that_the_server_lacks_does_not_keep_others_from_being_fetched(world: World, capsys: Output) -> None:
    lost = OfficialFile("lost.json", f"{world.site.url}lost.json", "CC0", "lost")
    world.offer(lost, table.FILES["nq"][0])
    assert world.download() == 2
    error = capsys.readouterr().err
    assert len(errors(error)) == 1
    assert all(word in error for word in (lost.url, str(world.path("lost.json")), "404", "on any machine"))
    assert world.path().read_bytes() == BODY


def test_without_a_network_every_missing_file_has_its_line(world: World, capsys: Output) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        files = [OfficialFile(n, url + n, "CC0", "data") for n in ("one.json", "two.json")]
        world.offer(*files)
        assert world.download() == 2
    said = capsys.readouterr().err
    assert said.startswith(f"canopy: fetching one.json from 127.0.0.1:{url.split(':')[2].strip('/')}\n")
    lines = errors(said)
    assert len(lines) == 2 and not world.root.exists()
    for file, line in zip(files, lines, strict=True):
        assert line.startswith("canopy: error:") and file.url in line and str(world.path(file.name)) in line


def test_a_run_that_fetches_nothing_leaves_the_folders_as_they_are(world: World) -> None:
    assert world.download() == 0
    world.site.statuses = [404]
    for gone in (False, True):
        if gone:
            world.path().unlink()
        before = world.root.stat().st_mtime_ns, world.path().parent.stat().st_mtime_ns
        assert world.download() == (2 if gone else 0)
        assert (world.root.stat().st_mtime_ns, world.path().parent.stat().st_mtime_ns) == before


@pytest.mark.parametrize(
    ("headers", "word"),
    [
        ({"Content-Type": "text/html; charset=utf-8"}, "web page"),
        ({"Content-Encoding": "gzip"}, "encoding"),
        ({"Content-Length": ""}, "where the file ends"),
        ({"Content-Length": " "}, "where the file ends"),
        ({"Content-Length": "abc"}, "announced 'abc' bytes"),
        ({"Content-Length": "-5"}, "announced '-5' bytes"),
        ({"Content-Length": "9" * 5000}, "where the file ends"),
    ],
)
def test_an_answer_that_is_not_the_file_is_refused(
    world: World, capsys: Output, headers: dict[str, str], word: str
) -> None:
    world.site.headers = headers
    assert world.download() == 2
    assert word in capsys.readouterr().err
    assert world.visible() == []


@pytest.mark.parametrize("location", ["http://[", "http://a:99999/", "http://.a./", "ftp://a/b", "file:///etc/passwd"])
def test_a_redirection_to_nowhere_is_one_line(world: World, capsys: Output, location: str) -> None:
    world.site.location = location
    assert world.download() == 2
    error = capsys.readouterr().err
    assert len(errors(error)) == 1 and str(world.path()) in error


def test_other_schemes_are_refused(world: World, capsys: Output) -> None:
    world.offer(OfficialFile("a.json", (world.root / "b.json").as_uri(), "CC0", "local"))
    assert world.download() == 2
    assert "http" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "{",
        "[" * 100_000,
        '{"nq/a.json.gz": {"sha256": "x", "bytes": 1, "url": "u"}}',
        json.dumps({"nq/p.zip": {"sha256": "0" * 64, "bytes": 1, "url": "u", "files": "many"}}),
    ],
    ids=lambda text: text[:40],
)
def test_a_damaged_lock_file_is_told_before_anything_is_fetched(world: World, capsys: Output, content: str) -> None:
    world.leave(BODY)
    world.lock.write_text(content)
    assert world.download() == 2
    assert world.site.seen == [] and world.part.read_bytes() == BODY
    error = capsys.readouterr().err
    assert len(errors(error)) == 1 and str(world.lock) in error
    assert world.lock.read_text() == content


def test_files_are_chosen_by_name_and_optional_ones_only_so(world: World, tmp_path: Path, capsys: Output) -> None:
    rare = OfficialFile("rare.json", f"{world.site.url}rare.json", "CC0", "rare", "optional")
    world.site.files["rare.json"] = b"{}"
    world.offer(*table.FILES["nq"], rare)
    assert world.download() == 0
    assert world.visible() == ["nq/a.json.gz"]
    lock = tmp_path / "elsewhere" / "lock.json"
    assert world.download("--file", "rare.json", "--lock", str(lock)) == 0
    assert world.visible() == ["nq/a.json.gz", "nq/rare.json"]
    assert list(json.loads(lock.read_text())) == ["nq/rare.json"]
    assert world.download("--file", "more.json") == 2
    assert "rare.json" in capsys.readouterr().err


def test_a_list_fetches_nothing(world: World, capsys: Output) -> None:
    world.put(BODY)
    world.offer(*table.FILES["nq"], OfficialFile("b.json", "https://example.org/b", "MIT", "b", size=2_500_000_000))
    assert world.download("--list") == 0
    out = capsys.readouterr().out
    assert f"{world.path()}: there, not checked" in out and f"{world.path('b.json')}: missing" in out
    assert all(word in out for word in ("MIT", "about 2.50 GB", "https://example.org/b"))
    assert world.site.seen == [] and not world.lock.exists() and not (world.root / ".downloads").exists()


def test_a_list_says_which_files_are_wrong(world: World, capsys: Output) -> None:
    world.know(sha256(BODY))
    world.put(OTHER)
    assert world.download("--list") == 0
    assert f"{world.path()}: wrong: it has sha256 {sha256(OTHER)}" in capsys.readouterr().out
    world.put(BODY)
    assert world.download("--list") == 0
    assert f"{world.path()}: there and right" in capsys.readouterr().out


def archive_of(**files: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"top/{name}", content)
    return stream.getvalue()


@pytest.fixture
def archived(world: World) -> World:
    world.offer(OfficialFile("p.zip", f"{world.site.url}p.zip", "CC0", "pictures", unpack=Unpack("pictures", 1.5)))
    world.site.files["p.zip"] = archive_of(one=BODY, two=b"2")
    return world


def test_an_archive_is_unpacked_and_its_folder_checked_later(archived: World, capsys: Output) -> None:
    assert archived.download() == 0
    assert archived.visible() == ["nq/pictures/top/one", "nq/pictures/top/two"]
    assert archived.path("pictures/top/one").read_bytes() == BODY
    assert not list(archived.root.rglob("*.zip"))
    assert archived.entries()["nq/p.zip"]["files"] == 2
    assert archived.download() == 0
    archived.path("pictures/top/two").unlink()
    assert archived.download() == 2
    error = capsys.readouterr().err
    assert "pictures" in error and "move it away" in error
    assert len(archived.site.seen) == 1


def test_an_archive_fetched_before_a_kill_is_unpacked_by_the_next_run(
    archived: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(benchmark_module, "unpack", killed)
        assert archived.download() == 130
    assert archived.visible() == []
    half = archived.root / ".downloads" / "nq" / "pictures.unpacking" / "top"
    half.mkdir(parents=True)
    (half / "rest").write_bytes(b"of a run that was killed in the middle")
    assert archived.download() == 0
    assert archived.visible() == ["nq/pictures/top/one", "nq/pictures/top/two"]
    assert len(archived.site.seen) == 1


def test_an_archive_copied_by_hand_is_unpacked_and_kept(archived: World) -> None:
    archived.put(archived.site.files["p.zip"], "p.zip")
    assert archived.download() == 0
    assert archived.visible() == ["nq/p.zip", "nq/pictures/top/one", "nq/pictures/top/two"]
    assert archived.site.seen == []


def test_a_damaged_archive_copied_by_hand_does_not_bind_the_lock_file(archived: World, capsys: Output) -> None:
    whole = archived.site.files["p.zip"]
    copy = archived.put(whole[:-30], "p.zip")
    assert archived.download() == 2
    assert "is damaged" in capsys.readouterr().err
    copy.unlink()
    assert archived.download() == 0
    assert archived.entries()["nq/p.zip"]["sha256"] == sha256(whole)


def test_all_that_is_wrong_or_missing_is_told_and_the_rest_fetched(world: World, capsys: Output) -> None:
    names = ("wrong.gz", "gone.gz", "a.json.gz", "lost.gz")
    world.offer(*(OfficialFile(name, world.site.url + name, "CC0", "questions") for name in names))
    world.know("0" * 64, "wrong.gz")
    world.put(OTHER, "wrong.gz")
    assert world.download() == 2
    lines = errors(capsys.readouterr().err)
    assert [next(name for name in names if f"/nq/{name} " in line) for line in lines] == [
        "wrong.gz",
        "gone.gz",
        "lost.gz",
    ]
    assert world.path().read_bytes() == BODY


def test_a_folder_unpacked_by_hand_is_accepted(archived: World, capsys: Output) -> None:
    archived.put(b"x", "pictures/x.png")
    assert archived.download() == 0
    assert "not checked" in capsys.readouterr().out
    assert archived.site.seen == []


def test_space_for_unpacking_is_asked_for(archived: World, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(archived.site.files["p.zip"])
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=2 * size))
    assert archived.download() == 2
    assert f"{archived.path('p.zip')}: 2.6 MB more are needed" in capsys.readouterr().err
    assert archived.visible() == []


def test_a_linked_benchmark_folder_gets_its_files(archived: World, tmp_path: Path) -> None:
    (tmp_path / "disk" / "nq").mkdir(parents=True)
    archived.root.mkdir()
    (archived.root / "nq").symlink_to(tmp_path / "disk" / "nq")
    assert archived.download() == 0
    assert (tmp_path / "disk" / "nq" / "pictures" / "top" / "two").read_bytes() == b"2"


def test_a_second_process_is_told_of_the_first(world: World, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    def inside(*arguments: object) -> None:
        assert world.download() == 2
        assert "another process" in capsys.readouterr().err
        raise KeyboardInterrupt

    monkeypatch.setattr(fetch, "write_version", inside)
    assert world.download() == 130


def test_a_file_that_another_process_has_fetched_meanwhile_is_not_replaced(
    world: World, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = fetch._check

    def slow(*arguments: object) -> None:
        monkeypatch.setattr(fetch, "_check", check)
        assert world.download() == 0
        world.site.files["a.json.gz"] = OTHER

    monkeypatch.setattr(fetch, "_check", slow)
    assert world.download() == 2
    assert f"{world.path()} was put there by another process meanwhile" in capsys.readouterr().err
    assert world.path().read_bytes() == BODY


def test_a_root_that_is_a_file_is_one_line(world: World, capsys: Output) -> None:
    world.root.touch()
    assert world.download() == 2
    assert str(world.root) in capsys.readouterr().err


def test_the_users_own_free_space_is_measured(tmp_path: Path) -> None:
    assert space.free_bytes(tmp_path / "not" / "there") == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.05)
