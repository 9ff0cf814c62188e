"""The workflow on a real Slurm of one node: `tests/slurm/cluster start`, then with CANOPY_TEST_SLURM=1."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from workflow import ROOT, copied, snakemake, tables_of

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


@pytest.fixture(scope="module")
def on_slurm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny configuration on the cluster, jobs with a model on an H100; the folder's name has a space in it."""
    folder = copied(tmp_path_factory.mktemp("slurm") / "a folder")
    with (folder / "config" / "tiny.yaml").open("a") as config:
        config.write("\njobs: {gpus: 1, gpu_model: h100, mem_mb: 2500, runtime: 10}\n")
    done = snakemake(folder, "all_tables", *PROFILES)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return folder


def test_tables_are_those_of_a_local_run(on_slurm: Path, finished: Path) -> None:
    assert tables_of(on_slurm / "results" / "tiny") == tables_of(finished / "results" / "tiny")


def test_jobs_with_a_model_and_only_they_hold_a_gpu(on_slurm: Path) -> None:
    held: dict[str, set[str]] = {}
    for job in jobs_of_slurm(on_slurm):
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
