"""Jobs on one machine see a GPU of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from workflow import ROOT, copied, snakemake

from canopy import gpus
from canopy.cli import main
from canopy.errors import UserError

Start = Callable[..., subprocess.Popen[str]]
HOLDER = (
    "import os, time; from canopy.gpus import claim_wanted; claim_wanted();"
    "print(os.environ.get('CUDA_VISIBLE_DEVICES', ''), flush=True); time.sleep(600)"
)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Start]:
    """Starts a job that claims a GPU and holds it, and kills all of them at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(devices: str | None, wanted: str = "1", path: str | None = None) -> subprocess.Popen[str]:
        given = {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path), gpus.WANTED: wanted}
        given |= {} if devices is None else {"CUDA_VISIBLE_DEVICES": devices}
        others = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
        environment = others | given | ({} if path is None else {"PATH": path})
        command = [sys.executable, "-c", HOLDER]
        process = subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True, start_new_session=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def seen(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline()


def test_two_jobs_see_a_device_each_and_a_third_waits_until_one_ends(job: Start) -> None:
    first, second = job("4,GPU-7a"), job("4,GPU-7a")
    assert {seen(first), seen(second)} == {"4", "GPU-7a"}
    third = job("4,GPU-7a")
    assert "2 GPUs are held by other jobs: waiting" in said(third)
    first.send_signal(signal.SIGKILL)
    assert seen(third) in ("4", "GPU-7a")


def test_a_job_of_two_devices_holds_none_while_it_waits(job: Start) -> None:
    one = job("0,1,2", wanted="2")
    assert seen(one) == "0,1"
    two = job("0,1,2", wanted="2")
    assert "waiting" in said(two)
    assert seen(job("0,1,2", wanted="1")) == "2", "a waiting job kept a device that it could not use"


@pytest.mark.parametrize(
    ("devices", "wanted", "left"),
    [("5", "1", "5"), ("1,0", "2", "1,0"), ("0,1", "0", "0,1"), ("", "1", ""), ("0,-1,2", "1", "0,-1,2")],
    ids=["slurm gave one", "slurm gave two", "none wanted", "none there", "those after -1 do not exist"],
)
def test_nothing_is_chosen_where_there_is_no_choice(job: Start, devices: str, wanted: str, left: str) -> None:
    assert [seen(job(devices, wanted)), seen(job(devices, wanted))] == [left, left]


def test_without_a_list_all_devices_of_the_machine_are_shared(job: Start, tmp_path: Path) -> None:
    fake = tmp_path / "bin" / "nvidia-smi"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nprintf '0\\n1\\n'\n")
    fake.chmod(0o755)
    assert {seen(job(None, path=str(fake.parent))), seen(job(None, path=str(fake.parent)))} == {"0", "1"}
    assert seen(job(None, path=str(tmp_path))) == "", "no driver, no devices"


def test_faults_are_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.setenv(gpus.WANTED, "many")
    assert main(["embed", "--corpus", "x", "--spec", "{}", "--out", str(tmp_path / "out")]) == 2
    assert "CANOPY_GPUS_A_JOB=many" in capsys.readouterr().err
    monkeypatch.setattr(gpus.tempfile, "gettempdir", lambda: str(tmp_path / "nowhere"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    with pytest.raises(UserError, match="set TMPDIR"):
        gpus.claim(1)


@pytest.mark.e2e
def test_the_profile_gives_each_of_its_jobs_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = copied(tmp_path / "a folder")
    with (folder / "config" / "tiny.yaml").open("a") as config:
        config.write("\njobs: {gpus: 1}\n")
    work = "import os, time; from canopy.gpus import claim_wanted; claim_wanted(); time.sleep(3)"
    shell = f'python -c "{work}; print(os.environ[{gpus.VISIBLE!r}])" > {{output:q}}'
    (folder / "Snakefile").write_text(
        f"include: {str(folder / 'rules' / 'common.smk')!r}\n"
        "rule both:\n    input: 'one', 'two'\n"
        f"rule held:\n    output: '{{name,one|two}}'\n    resources: gpu=CONFIG.jobs.gpus\n    shell: {shell!r}\n"
    )
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "6,7,8")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = snakemake(folder, "both", "--profile", str(ROOT / "profiles" / "local-gpu"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert {(folder / name).read_text().strip() for name in ("one", "two")} == {"6", "7"}
