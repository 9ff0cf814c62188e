"""The workflow on a real Slurm of one node: `tests/slurm/cluster start`, then with CANOPY_TEST_SLURM=1."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from pathlib import Path

import pytest
from workflow import ROOT, copied, edited, planned, snakemake, tables_of

from canopy.artefacts import read_manifest

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        not os.environ.get("CANOPY_TEST_SLURM"),
        reason="needs a cluster: tests/slurm/cluster install && tests/slurm/cluster start, and CANOPY_TEST_SLURM=1",
    ),
]
PROFILES = ("--profile", "slurm", "--profile", str(ROOT / "tests" / "slurm" / "profile"))
# The rules that load a model; all others must not hold a GPU.
WITH_MODEL = {"embed", "encoder", "decisions", "run"}


def jobs_of_slurm(folder: Path) -> list[dict[str, str]]:
    """The jobs that were submitted from a folder, with the rule from the comment that the executor writes."""
    done = subprocess.run(["scontrol", "-o", "show", "jobs"], capture_output=True, text=True, check=True)
    jobs = [
        dict(re.findall(r"(\w+)=(\S+)", line)) for line in done.stdout.splitlines() if f" WorkDir={folder} " in line
    ]
    for job in jobs:
        job["rule"] = re.sub(r"^rule_|_wildcards_.*$", "", job.get("Comment", ""))
    return jobs


class Killer(threading.Thread):
    """Kills the job that writes a journal, once its first batch of questions is in it."""

    def __init__(self, folder: Path, journal: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.journal, self.over = folder, journal, threading.Event()
        self.killed = ""

    def run(self) -> None:
        while not self.over.wait(0.1):
            if self.journal.is_file() and self.journal.read_bytes().count(b"\n") >= 3:
                running = [job for job in jobs_of_slurm(self.folder) if job["JobState"] == "RUNNING"]
                wildcards = f"wildcards_{self.journal.parent.name}_{self.journal.name[7]}"
                (self.killed,) = (job["JobId"] for job in running if job["Comment"].endswith(wildcards))
                subprocess.run(["scancel", "--signal=KILL", self.killed], check=True)
                return


@pytest.fixture(scope="module")
def on_slurm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The tiny configuration on the cluster, jobs with a model on any GPU, and the job that was killed midway.

    The folder's name has a space in it.
    """
    folder = copied(tmp_path_factory.mktemp("slurm") / "a folder")
    with (folder / "config" / "tiny.yaml").open("a") as config:
        config.write("\njobs: {gpus: 1, mem_mb: 2500, runtime: 10}\n")
    killer = Killer(folder, folder / "results" / "tiny" / "runs" / "canopy" / ".shard-0.journal")
    killer.start()
    done = snakemake(folder, "all_tables", *PROFILES)
    killer.over.set()
    killer.join()
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return folder, killer.killed


def test_tables_are_those_of_a_local_run_though_a_job_was_killed(on_slurm: tuple[Path, str], finished: Path) -> None:
    folder, killed = on_slurm
    assert tables_of(folder / "results" / "tiny") == tables_of(finished / "results" / "tiny")
    jobs = {job["JobId"]: job for job in jobs_of_slurm(folder)}
    (again,) = (job for job in jobs.values() if job["Comment"] == jobs[killed]["Comment"] and job is not jobs[killed])
    assert (jobs[killed]["JobState"], again["JobState"]) == ("CANCELLED", "COMPLETED")
    run = read_manifest(folder / "results" / "tiny" / "runs" / "canopy" / "shard-0")
    assert run["facts"]["batches_resumed"] == 1, "the second job began anew"


def test_the_mini_configuration_completes_and_jobs_with_a_model_and_only_they_hold_a_gpu(tmp_path: Path) -> None:
    """All that `make tables` makes, on the cluster, in a folder whose name is not ASCII. Ten minutes."""
    folder = copied(tmp_path / "größe 測定")
    edited(folder / "config" / "mini.yaml", "jobs:\n", "jobs:\n  gpus: 1\n  gpu_model: h100\n  mem_mb: 5000\n")
    done = snakemake(folder, "all_tables", *PROFILES, config="mini")
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert not planned(folder, "all_tables", config="mini"), "tables are missing"
    held: dict[str, set[str]] = {}
    for job in jobs_of_slurm(folder):
        assert job["JobState"] == "COMPLETED", job
        held.setdefault(job["rule"], set()).add(job.get("TresPerJob", ""))
    assert {rule for rule, gpus in held.items() if gpus != {""}} == WITH_MODEL, held
    assert {gpu for rule in WITH_MODEL for gpu in held[rule]} == {"gres:gpu:h100:1"}, held


def test_a_job_over_its_memory_is_submitted_again_with_more(tmp_path: Path) -> None:
    folder = copied(tmp_path / "memory")
    (folder / "Snakefile").write_text(
        f"include: {str(folder / 'rules' / 'common.smk')!r}\n"
        "rule greedy:\n    output: 'done'\n    resources: mem_mb=by_attempt(400), runtime=by_attempt(5)\n"
        "    shell: 'python3 -c \"import time; held = bytearray(500_000_000); time.sleep(9)\" && touch {output:q}'\n"
    )
    done = snakemake(folder, "greedy", *PROFILES)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    asked = [int(job["MinMemoryNode"].rstrip("M")) for job in jobs_of_slurm(folder) if job["rule"] == "greedy"]
    assert asked == [400, 800]
