"""The command line: exit codes, one line an error, and one process an output."""

from __future__ import annotations

import select
import subprocess
import sys
from pathlib import Path

import pytest

from canopy import __version__, cli
from canopy.cli import COMMANDS, main
from canopy.errors import UserError


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"canopy {name}" in capsys.readouterr().out


def test_help_lists_all_commands_without_loading_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in COMMANDS)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


@pytest.mark.parametrize("arguments", [["cook"], ["run"], ["run", "canopy", "--sharrd", "1"]])
def test_wrong_usage_is_code_2(arguments: list[str]) -> None:
    assert main(arguments) == 2


def failing(error: BaseException) -> object:
    def load(name: str) -> object:
        def command() -> None:
            raise error

        return command

    return load


def test_a_user_error_is_one_line_and_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "_load", failing(UserError("the file\n  is missing")))
    assert main(["check"]) == 2
    assert capsys.readouterr().err == "canopy: error: the file is missing\n"


def test_an_interrupt_is_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_load", failing(KeyboardInterrupt()))
    assert main(["check"]) == 130


def test_faults_of_the_program_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_load", failing(ZeroDivisionError("a fault")))
    with pytest.raises(ZeroDivisionError):
        main(["check"])


def test_out_in_a_place_that_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["reader-model", "--out", str(tmp_path / "file" / "out")]) == 2
    assert "--out" in capsys.readouterr().err


HOLD = """
import sys, time, typer
from typing import Annotated
from canopy import cli
def load(name):
    def command(out: Annotated[str, typer.Option()]):
        print("in", flush=True)
        time.sleep(60)
    return command
cli._load = load
cli.main(["reader-model", "--out", sys.argv[1]])
"""


def test_a_second_process_waits_for_the_first_to_end(tmp_path: Path) -> None:
    out = str(tmp_path / "made" / "out")
    first = subprocess.Popen([sys.executable, "-c", HOLD, out], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None and first.stdout.readline() == "in\n"
    second = subprocess.Popen(
        [sys.executable, "-c", HOLD, out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert second.stdout is not None and second.stderr is not None
        assert "waiting" in second.stderr.readline()
        assert select.select([second.stdout], [], [], 0.3)[0] == []
        first.kill()  # as by kill -9: nothing is cleaned up
        assert second.stdout.readline() == "in\n"
    finally:
        for process in (first, second):
            process.kill()
            process.communicate()


def test_an_out_without_a_name_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus", "--out", ".", "--parsed", "x", "--spec", "{}"]) == 2
    assert "--out .: cannot write there" in capsys.readouterr().err
