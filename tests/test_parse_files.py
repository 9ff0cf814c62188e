from __future__ import annotations

import bz2
import gzip
import json
import os
import socket
from pathlib import Path

import pytest
from parsing import parse, write

from canopy.cli import main

QUESTIONS = [{"question": f"question {i}", "answer": ["a"]} for i in range(10)]
NAME = "NQ-open.train.jsonl"
PLAIN = "".join(json.dumps(q) + "\n" for q in QUESTIONS).encode()


def refusal(paths: list[Path], out: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that the command says instead of making anything."""
    assert main(["parse", "nq", *map(str, paths), "--out", str(out)]) == 2
    assert not out.exists()
    message = capsys.readouterr().err
    assert len(message.splitlines()) == 1
    return message


@pytest.mark.parametrize("inside", [False, True])
def test_a_pipe_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], inside: bool) -> None:
    (tmp_path / "raw").mkdir()
    pipe = tmp_path / "raw" / NAME
    os.mkfifo(pipe)
    message = refusal([pipe.parent if inside else pipe], tmp_path / "out", capsys)
    assert f"{pipe} is a pipe, not a file" in message


def test_a_device_and_a_socket_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "/dev/null is a device" in refusal([Path("/dev/null")], tmp_path / "out", capsys)
    monkeypatch.chdir(tmp_path)  # a socket's path has a short limit
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(NAME)
        assert f"{NAME} is a socket" in refusal([Path(NAME)], tmp_path / "out", capsys)


@pytest.mark.parametrize("inside", [False, True])
def test_a_native_file_that_links_to_nothing_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], inside: bool
) -> None:
    write(tmp_path / "raw", {"NQ-open.dev.jsonl": QUESTIONS})
    link = tmp_path / "raw" / NAME
    link.symlink_to("elsewhere.jsonl")
    message = refusal([link.parent if inside else link], tmp_path / "out", capsys)
    assert f"{link} links to elsewhere.jsonl, which is not there" in message


def test_another_file_that_links_to_nothing_is_named_in_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    raw = write(tmp_path / "raw", {NAME: QUESTIONS})
    (raw / "notes.txt").symlink_to("elsewhere")
    assert parse("nq", raw, tmp_path / "out").summary["questions"] == 10
    assert any(f"not files or link to nothing: {raw}/notes.txt" in message for message in caplog.messages)


def test_links_to_files_and_folders_are_followed_and_read_once(tmp_path: Path) -> None:
    write(tmp_path / "data" / "inner", {NAME: QUESTIONS})
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "linked").symlink_to(tmp_path / "data")
    (raw / "linked again").symlink_to(tmp_path / "data" / "inner")
    (raw / "up").symlink_to(tmp_path)
    (raw / "NQ-open.dev.jsonl").symlink_to(tmp_path / "data" / "inner" / NAME)
    write(tmp_path / "not asked for", {"NQ-open.train.jsonl": [{"question": "other", "answer": ["a"]}]})
    found = parse("nq", raw, tmp_path / "out")
    assert (found.summary["records"], found.summary["questions"]) == (10, 10)


@pytest.mark.parametrize("name", [b"\xff.jsonl", b"\xff/" + NAME.encode(), b"NQ-open.train.\xe9.jsonl"])
def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: bytes) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path / "raw") + b"/" + name))
    path.parent.mkdir(parents=True)
    path.write_bytes(PLAIN)
    message = refusal([tmp_path / "raw"], tmp_path / "out", capsys)
    assert "is not UTF-8" in message and ("\\udcff" in message or "\\udce9" in message)


def test_of_a_file_and_its_compressed_copies_one_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    raw = write(tmp_path / "raw", {NAME + ".gz": gzip.compress(PLAIN), NAME + ".bz2": bz2.compress(PLAIN), NAME: PLAIN})
    found = parse("nq", raw, tmp_path / "out")
    assert (found.summary["records"], found.summary["questions"]) == (10, 10)
    assert found.facts["records_by_file"] == {str(raw / NAME): 10}
    assert found.notices == [(0, "file left out, the same file lies beside it")] * 2
    assert any(f"{NAME}.gz ({NAME})" in message for message in caplog.messages)


def test_compressed_copies_in_other_folders_are_other_files(tmp_path: Path) -> None:
    other = [{"question": "other", "answer": ["a"]}]
    raw = write(tmp_path / "raw", {f"a/{NAME}.gz": gzip.compress(PLAIN), f"b/{NAME}": other})
    assert parse("nq", raw, tmp_path / "out").summary["questions"] == 11
