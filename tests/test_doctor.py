"""`canopy doctor`: what it finds wrong with a machine, a folder, and the jobs of a killed Snakemake."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from canopy.cli import main
from canopy.doctor import commands, environment
from canopy.doctor.folder import running_snakemakes

Queue = Callable[..., None]
RUN = "canopy_0f9b2c1e-0000-4000-8000-00000000abcd"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose name has a space and a bar, in which the command is run."""
    here = tmp_path / "a |folder"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Queue:
    """Puts a squeue on PATH that prints the given lines, and nothing else is there."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))

    def fill(*lines: str, code: int = 0) -> None:
        (tmp_path / "queue").write_text("".join(f"{line}\n" for line in lines))
        squeue = programs / "squeue"
        output = ">&2" if code else ""
        squeue.write_text(
            f'#!/bin/sh\n/bin/echo "$@" > "{tmp_path}/asked"\n/bin/cat "{tmp_path}/queue" {output}\nexit {code}\n'
        )
        squeue.chmod(0o755)

    return fill


def locked(folder: Path) -> None:
    (folder / ".snakemake" / "locks").mkdir(parents=True)
    (folder / ".snakemake" / "locks" / "0.output.lock").write_text("results/mini/x\n")


def test_orphans_are_cancelled_before_the_folder_is_unlocked(
    folder: Path, queue: Queue, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    queue(
        f"12|{RUN}|RUNNING|rule_run_wildcards_canopy_0|{folder}",
        f"9|{RUN}|PENDING|rule_embed_wildcards_3|{link}",
        f"30_[1-4,7%2]|{RUN}|PENDING||{folder}",
        f"31_2|{RUN}|COMPLETING||{folder}",
        f"13|{RUN}|RUNNING|rule_embed_wildcards_1|/another/folder",
        f"14|canopy|RUNNING||{folder}",
        f"15|my_{RUN}|RUNNING||{folder}",
    )
    locked(folder)
    assert main(["doctor", "--slurm", "--config", "config/my own.yaml"]) == 1
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0].startswith(f"Jobs of {RUN} come from {folder}")
    assert lines[1:5] == [
        "12 RUNNING rule_run_wildcards_canopy_0",
        "9 PENDING rule_embed_wildcards_3",
        "30 PENDING",
        "31_2 COMPLETING",
    ]
    commands = lines[lines.index("") + 1 :]
    assert commands[0] == "scancel 9 12 30 31_2"
    assert commands[1].startswith("squeue --noheader --jobs 9,12,30,31_2")
    assert commands[2] == "snakemake --unlock --configfile 'config/my own.yaml'"
    assert commands[3] == "snakemake all_tables --profile slurm --configfile 'config/my own.yaml'"
    assert "--me --noheader" in (tmp_path / "asked").read_text()


def test_jobs_of_a_snakemake_that_runs_are_left_alone(
    folder: Path, queue: Queue, capsys: pytest.CaptureFixture[str]
) -> None:
    queue(f"12|{RUN}|RUNNING|rule_encoder|{folder}")
    locked(folder)
    with Running(folder, "snakemake", "all_tables") as pid:
        assert main(["doctor", "--slurm"]) == 1
        out = capsys.readouterr().out
        assert f"Snakemake runs in {folder} (process {pid})" in out
        assert f"kill -INT {pid}" in out and "scancel" not in out and "--unlock" not in out


def test_an_empty_queue_says_whether_the_folder_is_locked(
    folder: Path, queue: Queue, capsys: pytest.CaptureFixture[str]
) -> None:
    queue()
    assert main(["doctor", "--slurm"]) == 0
    assert "--unlock" not in capsys.readouterr().out
    locked(folder)
    assert main(["doctor", "--slurm"]) == 1
    out = capsys.readouterr().out
    assert "snakemake --unlock --configfile config/mini.yaml" in out and "scancel" not in out


def test_without_slurm_it_says_so(folder: Path, queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--slurm"]) == 2
    assert "no Slurm on this machine" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lines", "code", "words"),
    [
        (["slurm_load_jobs error: Unable to contact slurm controller"], 1, "Unable to contact slurm controller"),
        (["12 canopy RUNNING"], 0, "12 canopy RUNNING"),
        ([f"12; rm x|{RUN}|RUNNING||HERE"], 0, "number or state"),
        ([f"12|{RUN}|running?||HERE"], 0, "number or state"),
    ],
)
def test_an_answer_that_cannot_be_read_is_told(
    folder: Path, queue: Queue, capsys: pytest.CaptureFixture[str], lines: list[str], code: int, words: str
) -> None:
    queue(*(line.replace("HERE", str(folder)) for line in lines), code=code)
    assert main(["doctor", "--slurm"]) == 2
    said = capsys.readouterr()
    assert words in said.err and "scancel" not in said.out


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exec /usr/bin/yes", "squeue printed more than 16 MB and was stopped"),
        ("/usr/bin/yes", "squeue printed more than 16 MB and was stopped"),
        ("/usr/bin/yes >&2", "squeue printed more than 16 MB and was stopped"),
        ("/bin/sleep 600", "squeue has not ended within 2 s, and was stopped"),
        ("/bin/sleep 600 & exit 0", "squeue has not ended within 2 s, and was stopped"),
        ("exec >&- 2>&-; /bin/sleep 600", "squeue has not ended within 2 s, and was stopped"),
        (r"printf '\377\n'", "squeue printed something that is not UTF-8"),
    ],
)
def test_a_squeue_that_does_not_stop_is_stopped(
    queue: Queue,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    script: str,
    words: str,
) -> None:
    queue()
    (tmp_path / "bin" / "squeue").write_text(f"#!/bin/sh\n{script}\n")
    monkeypatch.setattr(commands, "SECONDS", 20.0 if "yes" in script else 2.0)
    started = time.monotonic()
    assert main(["doctor", "--slurm"]) == 2
    assert words in capsys.readouterr().err and time.monotonic() - started < 15


class Running:
    """A process whose command line is `python -m ARGUMENTS`, in a folder; the module only sleeps."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        (folder / f"{arguments[0]}.py").write_text("import time\nprint(flush=True)\ntime.sleep(600)\n")
        command = [sys.executable, "-m", *arguments]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE)

    def __enter__(self) -> int:
        assert self.process.stdout is not None
        self.process.stdout.readline()
        return self.process.pid

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def test_only_a_main_snakemake_of_this_folder_counts(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with (
        Running(folder, "snakemake", "--mode", "remote"),
        Running(folder, "snakefmt", "snakemake"),
        Running(other, "snakemake", "all_tables"),
    ):
        assert running_snakemakes(folder) == ()
        with Running(folder, "snakemake", "-n") as pid:
            assert running_snakemakes(folder) == (pid,)


def test_this_machine_is_right_and_each_thing_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor"])
    out = capsys.readouterr().out
    assert code == 0, out
    for word in ("Python", "packages", "weights", "ffmpeg", "disk", "GPUs", "is not locked"):
        assert any(line.startswith("ok ") and word in line for line in out.splitlines()), word


def test_locks_of_a_killed_snakemake_are_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked(folder)
    assert main(["doctor"]) == 1
    (wrong,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("WRONG"))
    assert "canopy doctor --slurm" in wrong and wrong.endswith("snakemake --unlock --configfile config/mini.yaml")
    with Running(folder, "snakemake", "all_tables") as pid:
        assert main(["doctor"]) == 0
        assert f"process {pid}" in capsys.readouterr().out


def test_packages_of_other_versions_and_missing_ones_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["numpy", "pydantic>=2", "no-such-thing[x]"]\n')
    (tmp_path / "constraints.txt").write_text("# pins\nNumPy==0.1\n")
    monkeypatch.setattr(environment, "_PROJECT", tmp_path)
    assert main(["doctor"]) == 1
    (wrong,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("WRONG"))
    assert "numpy is " in wrong and "not 0.1" in wrong and "no-such-thing is missing" in wrong
    assert "pydantic" not in wrong and "make venv" in wrong


def test_a_full_disk_and_a_broken_ffmpeg_are_wrong(
    monkeypatch: pytest.MonkeyPatch, folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(environment, "free_bytes", lambda path: 1e9)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(tmp_path / "none"))
    assert main(["doctor"]) == 1
    wrong = [line for line in capsys.readouterr().out.splitlines() if line.startswith("WRONG")]
    assert len(wrong) == 2
    assert "ffmpeg" in wrong[0] and "disk: 1.0 GB free" in wrong[1]
