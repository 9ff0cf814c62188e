"""Kill a small workflow again and again at random times, start it again, and compare what it makes in the end.

python -m tests.chaos --kills 100 --seed 1

The workflow is embedding, index, one method's runs, scores and tables of the tiny configuration, cut into small
blocks and batches. A kill is SIGKILL of Snakemake and all its jobs. Where the workflow ends before its kill, all that
it made is removed and it begins anew. Prints a report as JSON; exit code 1 where a file is not the unbroken run's.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from workflow import copied, edited, snakemake

# All is on disk before these: raw files, items, the trained encoder, the reader.
MADE = ("embeddings", "index", "runs", "metrics", "tables")
NEEDED = {"embed": 2, "run": 2}
COMMAND = (sys.executable, "-m", "snakemake", "all_tables", "--cores", "1", "--nolock", "--rerun-incomplete")
# Of the time of an unbroken run: short enough to strike every job, long enough for some to end.
DELAYS = (0.04, 0.25)


@dataclass
class Report:
    """What happened.

    Attributes:
        kills: number of kills.
        finished: times that the workflow ended and was compared.
        differing: files that were not the unbroken run's, each time.
        jobs_started: jobs of the sharded rules that were started.
        jobs_needed: those that unbroken runs would have started.
        parts_taken_over: blocks and batches that jobs took from the journal of a killed one.
        parts_lost: those that a killed job had finished and that were computed again.
    """

    kills: int = 0
    finished: int = 0
    differing: list[str] = field(default_factory=list)
    jobs_started: dict[str, int] = field(default_factory=dict)
    jobs_needed: dict[str, int] = field(default_factory=dict)
    parts_taken_over: int = 0
    parts_lost: int = 0
    seconds_unbroken: float = 0.0
    seconds: float = 0.0


class Chaos:
    """One folder, killed until it has had enough."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.results = folder, folder / "results" / "tiny"
        self.random, self.report = random.Random(seed), Report()
        self.in_journal: dict[Path, int] = {}
        self.seen: set[tuple[Path, int]] = set()

    def run(self, kills: int) -> Report:
        started = time.monotonic()
        self.attempt(None)
        expected, self.report.seconds_unbroken = self.digests(), time.monotonic() - started
        self.begin_anew()
        self.report = Report(seconds_unbroken=round(self.report.seconds_unbroken, 1))
        started = time.monotonic()
        while True:
            left = kills - self.report.kills
            delay = self.random.uniform(*DELAYS) * self.report.seconds_unbroken if left else None
            if self.attempt(delay):
                self.report.finished += 1
                found = self.digests()
                self.report.differing += [n for n in expected | found if expected.get(n) != found.get(n)]
                if not left:
                    break
                self.begin_anew()
        self.report.jobs_needed = {rule: n * self.report.finished for rule, n in NEEDED.items()}
        self.report.seconds = round(time.monotonic() - started, 1)
        return self.report

    def attempt(self, delay: float | None) -> bool:
        """Start the workflow and kill it after ``delay`` seconds; True where it ended before."""
        with tempfile.TemporaryFile("w+") as said:
            command = [*COMMAND, "--configfile", "config/tiny.yaml"]
            process = subprocess.Popen(command, cwd=self.folder, stdout=said, stderr=said, start_new_session=True)
            try:
                code = process.wait(delay)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                self.report.kills += 1
                code = None
            said.seek(0)
            words = said.read()
        if code:
            raise SystemExit(f"the workflow failed with exit code {code}:\n{words[-6000:]}")
        started = re.findall(r"^(?:local)?rule (\w+):", words, re.MULTILINE)
        for rule in NEEDED:
            self.report.jobs_started[rule] = self.report.jobs_started.get(rule, 0) + started.count(rule)
        self.count_parts()
        return code == 0

    def count_parts(self) -> None:
        """Compare what finished jobs took over with what the journals of killed ones held."""
        for manifest in [
            *self.results.glob("embeddings/*/manifest.json"),
            *self.results.glob("runs/*/*/manifest.json"),
        ]:
            mark = (manifest.parent, manifest.stat().st_mtime_ns)
            if mark not in self.seen:
                self.seen.add(mark)
                facts = json.loads(manifest.read_text())["facts"]
                resumed = facts.get("blocks_resumed", facts.get("batches_resumed"))
                self.report.parts_taken_over += resumed
                self.report.parts_lost += max(0, self.in_journal.pop(manifest.parent, 0) - resumed)
        for journal in [*self.results.glob("embeddings/.*.journal"), *self.results.glob("runs/*/.*.journal")]:
            self.in_journal[journal.with_name(journal.name[1:].removesuffix(".journal"))] = parts_of(journal)

    def digests(self) -> dict[str, str]:
        """Checksums of all that was made but the manifests, which hold times."""
        files = [p for part in MADE for p in (self.results / part).rglob("*") if p.is_file() and p.name[0] != "."]
        return {
            str(p.relative_to(self.results)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in files
            if p.name != "manifest.json"
        }

    def begin_anew(self) -> None:
        for part in MADE:
            shutil.rmtree(self.results / part)
        self.in_journal.clear()


def parts_of(journal: Path) -> int:
    """Whole parts in a journal: lines with a size, each followed by so many bytes and a line feed."""
    with journal.open("rb") as stream:
        stream.readline()
        count = 0
        while (line := stream.readline()).endswith(b"\n"):
            size = json.loads(line)["size"] + 1
            if len(stream.read(size)) < size:
                break
            count += 1
        return count


def prepared(folder: Path, finished: Path | None) -> Path:
    """A finished run of the tiny configuration, and after it the settings of the workflow that is killed."""
    if finished is None:
        done = snakemake(copied(folder), "all_tables", "--cores", "2", "--show-failed-logs")
        if done.returncode:
            raise SystemExit((done.stdout + done.stderr)[-6000:])
    else:
        shutil.copytree(finished, folder, symlinks=True)
    edited(folder / "config" / "tiny.yaml", "methods: [universal_rag, canopy]", "methods: [vanilla_rag]")
    edited(folder / "config" / "tiny.yaml", "ablations: [no_iteration]", "ablations: []")
    edited(folder / "config" / "tiny.yaml", "question_batch: 2", "question_batch: 1")
    edited(folder / "canopy" / "embeddings.py", "_ITEMS_AT_ONCE = 2048", "_ITEMS_AT_ONCE = 8")
    for part in MADE:
        shutil.rmtree(folder / "results" / "tiny" / part)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--finished", type=Path, help="a folder with a finished run of the tiny configuration")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = prepared(Path(place) / "a folder", options.finished)
        report = Chaos(folder, options.seed).run(options.kills)
    print(json.dumps(asdict(report), indent=1))
    return 1 if report.differing or report.parts_lost else 0


if __name__ == "__main__":
    sys.exit(main())
