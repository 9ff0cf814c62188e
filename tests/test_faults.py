"""The machine at fault: a full or read-only disk, clocks that disagree, two workflows in one folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from workflow import copied, planned, snakemake

from canopy.cli import main
from canopy.errors import Stopped
from canopy.journal import Journal

PARSED = "results/tiny/parsed/nq/manifest.json"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 100 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", place], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("needs the right to mount a file system")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def test_a_stage_on_a_full_disk_says_so_and_leaves_nothing(disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = '{"passages": 40, "tables": 4, "images": 4, "videos": 3, "video_minutes": [1, 1]}'
    assert main(["mini-raw", "--spec", spec, "--out", str(disk / "raw")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"canopy: error: --out {disk / 'raw'}: ") and said.count("\n") == 1
    assert "No space left on device" in said and "free some space, then start it again" in said
    assert [path.name for path in disk.iterdir()] == [".raw.lock"]


def test_no_space_for_a_parquet_file_is_told_too(
    disk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def command() -> None:
        pl.DataFrame({"a": [os.urandom(200).hex() for _ in range(2000)]}).write_parquet(disk / "a.parquet")

    monkeypatch.setattr("canopy.cli._load", lambda name: command)
    assert main(["check"]) == 2
    assert "free some space" in capsys.readouterr().err


def test_a_journal_on_a_full_disk_keeps_its_parts_and_goes_on(disk: Path) -> None:
    journal = Journal(disk / "out", {})
    journal.add(0, b"a" * 50_000)
    with pytest.raises(OSError, match="No space left"):
        journal.add(1, b"b" * 80_000)
    journal.add(1, b"c" * 20_000)
    journal.close()
    again = Journal(disk / "out", {})
    assert (again.resumed, again.get(0), again.get(1)) == (2, b"a" * 50_000, b"c" * 20_000)


def test_results_that_cannot_be_written_stop_before_any_job(disk: Path, tmp_path: Path) -> None:
    folder = copied(tmp_path / "work")
    (folder / "results").symlink_to(disk)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    done = snakemake(folder, PARSED, "--cores", "1")
    assert done.returncode == 2
    assert "canopy: error: results cannot be written: change its permissions" in done.stderr
    assert "Traceback" not in done.stderr
    assert planned(folder, PARSED) == {"mini_raw": 1, "parse": 1}


def test_sigterm_is_code_75(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        raise Stopped

    monkeypatch.setattr("canopy.cli._load", lambda name: command)
    assert main(["check"]) == 75
    assert capsys.readouterr().err == "canopy: stopped by SIGTERM: start it again, it begins anew\n"


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first two stages, in a folder whose name has spaces and letters beyond ASCII."""
    folder = copied(tmp_path_factory.mktemp("faults") / "mein Ordner ü 数据")
    done = snakemake(folder, PARSED, "--cores", "1")
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return folder


def test_files_from_the_future_neither_stop_nor_rerun_anything(parsed: Path) -> None:
    tomorrow = time.time() + 86_400
    for path in (parsed / "results" / "tiny" / "raw").rglob("*"):
        os.utime(path, (tomorrow, tomorrow))
    assert planned(parsed, PARSED) == {}


def test_a_second_workflow_in_the_folder_is_told_what_to_do(parsed: Path) -> None:
    (parsed / "slow").write_text("rule slow:\n    output: 'done'\n    shell: 'sleep 60'\n")
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--snakefile", "slow"]
    quiet = subprocess.DEVNULL
    first = subprocess.Popen(command, cwd=parsed, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while not any((parsed / ".snakemake" / "locks").glob("*")) and time.monotonic() < deadline:
            time.sleep(0.1)
        second = subprocess.run(command, cwd=parsed, capture_output=True, text=True, check=False)
        assert second.returncode == 1
        assert "no other Snakemake process" in second.stderr and "--unlock" in second.stderr
        assert "Traceback" not in second.stderr
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
