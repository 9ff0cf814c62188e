"""Where a finished run spent its time: a row a stage, from the workflow's own measurements.

    python benchmarks/pipeline.py --results results/mini [--elapsed SECONDS]

Wall seconds of each job are Snakemake's (the ``benchmark:`` files); seconds inside model forward passes are
the stages' own (``forward_seconds`` in their manifests); peak memory is the larger of what both saw.
What Snakemake adds is the time in which no job ran; with the whole command's seconds, its start and end too.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Benchmark files are called RULE[.WILDCARD...].tsv; artefacts lie in FOLDER[/WILDCARD...].
FOLDERS = {
    "mini_raw": "raw",
    "parse": "parsed",
    "embed": "embeddings",
    "reader_model": "reader-model",
    "mini_reader": "mini-reader",
    "run": "runs",
}


@dataclass(frozen=True)
class Job:
    """One finished job.

    Attributes:
        stage: the rule; for runs also the method.
        wall: seconds.
        peak_mb: largest resident memory of the job's processes, in MB.
        forward: seconds inside model forward passes.
        ended: when the job ended, in seconds since the epoch.
    """

    stage: str
    wall: float
    peak_mb: float
    forward: float
    ended: float


def read_job(measured: Path, results: Path) -> Job:
    """One benchmark file, with the manifest of what the job made."""
    with measured.open(encoding="utf-8") as stream:
        row = next(csv.DictReader(stream, delimiter="\t"))
    rule, *wildcards = measured.name.removesuffix(".tsv").split(".")
    manifest = results.joinpath(FOLDERS.get(rule, rule), *wildcards, "manifest.json")
    made: dict[str, Any] = json.loads(manifest.read_text(encoding="utf-8")) if manifest.is_file() else {}
    return Job(
        stage=f"run {wildcards[0]}" if rule == "run" else rule,
        wall=_number(row["s"]),
        # Snakemake looks now and then and can miss a peak; the stage's own figure leaves out child processes.
        peak_mb=max(_number(row["max_rss"]), float(made.get("peak_rss_mb", 0))),
        forward=float(made.get("facts", {}).get("forward_seconds", 0)),
        ended=measured.stat().st_mtime,
    )


def table(jobs: Sequence[Job]) -> Iterable[tuple[str, ...]]:
    """Rows of the table: head, a row a stage in order of time, and the sum."""
    yield ("stage", "jobs", "wall s", "forward s", "in forward", "peak MB", "of all")
    total = sum(j.wall for j in jobs)
    by_stage: dict[str, list[Job]] = {}
    for job in sorted(jobs, key=lambda j: j.ended):
        by_stage.setdefault(job.stage, []).append(job)
    for stage, group in [*by_stage.items(), ("all", list(jobs))]:
        wall = sum(j.wall for j in group)
        forward = sum(j.forward for j in group)
        peak = max(j.peak_mb for j in group)
        inside, share = forward / wall if wall else 0.0, wall / total if total else 0.0
        yield (stage, str(len(group)), f"{wall:.1f}", f"{forward:.1f}", f"{inside:.0%}", f"{peak:.0f}", f"{share:.0%}")


def busy(jobs: Sequence[Job]) -> float:
    """Seconds in which at least one job ran."""
    covered, last = 0.0, 0.0
    for began, ended in sorted((job.ended - job.wall, job.ended) for job in jobs):
        covered += max(0.0, ended - max(began, last))
        last = max(last, ended)
    return covered


def main() -> int:
    """Print the table of one finished run."""
    parser = argparse.ArgumentParser(description="Where a finished run spent its time.")
    parser.add_argument("--results", type=Path, default=Path("results/mini"), help="results of one configuration")
    parser.add_argument("--elapsed", type=float, help="seconds that the whole command took, as `time` gives them")
    given = parser.parse_args()
    results: Path = given.results
    files = sorted((results / "benchmarks").glob("*.tsv"))
    if not files:
        print(f"{results}/benchmarks has no measurements: run the workflow first", file=sys.stderr)
        return 2
    jobs = [read_job(f, results) for f in files]
    for row in table(jobs):
        print(f"{row[0]:24}" + "".join(f"{cell:>12}" for cell in row[1:]))
    elapsed = max(j.ended for j in jobs) - min(j.ended - j.wall for j in jobs)
    ran = busy(jobs)
    print(
        f"\nFrom the first job's start to the last one's end: {elapsed:.0f} s, {elapsed - ran:.1f} s of them without a "
        "job; wall s above sum jobs that ran together."
    )
    if given.elapsed is not None:
        print(f"The whole command: {given.elapsed:.1f} s, {given.elapsed - ran:.1f} s of them without a job.")
    return 0


def _number(text: str) -> float:
    # Snakemake writes "-" or "NA" for jobs too short to be measured.
    try:
        return float(text)
    except ValueError:
        return 0.0


if __name__ == "__main__":
    sys.exit(main())
