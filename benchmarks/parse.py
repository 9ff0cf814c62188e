"""How fast the parsers read large files, and with how much memory.

    python benchmarks/parse.py [--passages-mb 1000] [--tables-mb 300] [--folder DIR]

Writes a psgs_w100.tsv and an all_plain_tables.json of made-up text of the given sizes (beside a question file each,
which the parsers need), parses each by `canopy parse` in a process of its own, and prints records and megabytes a
second and the process's peak memory. Needs about three times the sizes on the disk; everything is removed at the end.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

WORDS = [f"{a}{b}{c}" for a in "bdfglmnprst" for b in "aeiou" for c in ("n", "r", "st", "ld", "mm", "")]


def passage(number: int, rng: random.Random) -> str:
    """About 100 words in sentences, as in psgs_w100.tsv; the number makes it unlike any other."""
    parts = [f"Passage {number}."]
    for _ in range(7):
        parts.append(" ".join(rng.choices(WORDS, k=14)).capitalize() + ".")
    return " ".join(parts)


def passages(path: Path, size: int, rng: random.Random) -> int:
    """Write a psgs_w100.tsv of ``size`` bytes; returns its number of passages."""
    written = number = 0
    with path.open("w", encoding="utf-8") as out:
        out.write("id\ttext\ttitle\n")
        while written < size:
            number += 1
            written += out.write(f'{number}\t"{passage(number, rng)}"\tTitle {number // 7}\n')
    return number


def tables(path: Path, size: int, rng: random.Random) -> int:
    """Write an all_plain_tables.json of ``size`` bytes; returns its number of tables."""
    written = number = 0
    with path.open("w", encoding="utf-8") as out:
        out.write("{")
        while written < size:
            rows = [rng.choices(WORDS, k=5) for _ in range(rng.randint(5, 20))]
            table = {
                "url": "https://en.wikipedia.org/wiki/x",
                "title": f"Table {number}",
                "header": ["Name", "Town", "Year", "Colour", "Note"],
                "data": [[f"{number}-{n}", *row[1:]] for n, row in enumerate(rows)],
                "section_title": "List",
                "section_text": "",
                "uid": f"Table_{number}_0",
                "intro": passage(number, rng),
            }
            written += out.write(("," if number else "") + json.dumps(f"Table_{number}_0") + ":" + json.dumps(table))
            number += 1
        out.write("}")
    return number


def measured(benchmark: str, folder: Path, out: Path) -> tuple[dict[str, int], float, float]:
    """Parse in a process of its own: its summary, wall seconds, peak memory in MB."""
    command = [sys.executable, "-m", "canopy", "parse", benchmark, str(folder), "--out", str(out)]
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    summary = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"canopy parse {benchmark} failed")
    return json.loads(summary), time.monotonic() - started, usage.ru_maxrss / 1024


def cases(root: Path, passages_mb: int, tables_mb: int) -> Iterator[tuple[str, Path, int]]:
    """The benchmarks with their raw folder and the size of its large file in bytes."""
    rng = random.Random(13)
    nq, ottqa = root / "nq", root / "ottqa"
    nq.mkdir()
    ottqa.mkdir()
    passages(nq / "psgs_w100.tsv", passages_mb * 10**6, rng)
    (nq / "NQ-open.dev.jsonl").write_text('{"question": "who was it", "answer": ["ban"]}\n')
    yield "nq", nq, (nq / "psgs_w100.tsv").stat().st_size
    tables(ottqa / "all_plain_tables.json", tables_mb * 10**6, rng)
    question = {"question_id": "q", "question": "Who ?", "table_id": "Table_0_0", "answer-text": "ban"}
    (ottqa / "dev.json").write_text(json.dumps([question]))
    yield "ottqa", ottqa, (ottqa / "all_plain_tables.json").stat().st_size


def main(
    passages_mb: Annotated[int, typer.Option(help="Size of psgs_w100.tsv in MB.")] = 1000,
    tables_mb: Annotated[int, typer.Option(help="Size of all_plain_tables.json in MB.")] = 300,
    folder: Annotated[Path | None, typer.Option(help="Where to write; a temporary folder without it.")] = None,
) -> None:
    """Time the parsers on large files."""
    with tempfile.TemporaryDirectory(dir=folder) as root:
        print(f"{'file':<24}{'MB':>7}{'records':>11}{'s':>8}{'records/s':>11}{'MB/s':>7}{'peak MB':>9}")
        for benchmark, raw, size in cases(Path(root), passages_mb, tables_mb):
            summary, seconds, peak = measured(benchmark, raw, Path(root) / f"{benchmark}.out")
            name = max(raw.iterdir(), key=lambda path: path.stat().st_size).name
            print(
                f"{name:<24}{size / 1e6:>7.0f}{summary['records']:>11,}{seconds:>8.1f}"
                f"{summary['records'] / seconds:>11,.0f}{size / 1e6 / seconds:>7.1f}{peak:>9.0f}"
            )


if __name__ == "__main__":
    typer.run(main)
