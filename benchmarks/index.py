"""How long indexing a million vectors takes, with how much memory, and what the index finds; autofaiss beside it.

    python benchmarks/index.py [--vectors 1000000] [--shards 8] [--folder DIR]
        [--autofaiss PYTHON --autofaiss-memory 4GB --autofaiss-memory 1GB]

Makes clustered unit vectors of 384 dimensions as float16 embedding shards, indexes them exactly and with inverted
lists, each stage a process of its own, and searches 500 new vectors of the same clusters. Memory is the peak of
anonymous pages, which a process cannot give back; mapped files come and go with the system's cache. With the Python of
an environment that has autofaiss (`pip install autofaiss 'pyarrow<19' 'faiss-cpu<1.12'`: 2.18.0 works with no newer
ones), the same vectors go through its build_index, last. What it builds depends on the memory that the index may take.
Needs about four times the vectors' size on the disk; everything is removed at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from canopy.artefacts import build, read_manifest
from canopy.index import VectorIndex
from canopy.shards import ID_SCHEMA, IDS_FILE, VECTORS_FILE

DIM = 384
QUERIES = 500
# Spread of a vector about its centre; a thousand vectors have one centre, so the 10 nearest lie in several lists.
SPREAD = 0.8
AUTOFAISS = """
import json, sys, time
import numpy as np
from autofaiss import build_index
folder, out, queries, memory, mode, found = sys.argv[1:]
if mode == "build":
    build_index(folder, index_path=out, index_infos_path=out + ".json", metric_type="ip", nb_cores=2,
                max_index_memory_usage=memory, current_memory_available="12GB", verbose=30)
else:
    import faiss
    index = faiss.read_index(out, faiss.IO_FLAG_MMAP)
    parameters = json.load(open(out + ".json"))["index_param"]
    if parameters:
        faiss.ParameterSpace().set_index_parameters(index, parameters)
    asked = np.load(queries)
    index.search(asked[:10], 10)
    started = time.perf_counter()
    rows = [index.search(asked[n:n + 1], 10)[1][0] for n in range(len(asked))]
    print(json.dumps({"ms": 1000 * (time.perf_counter() - started) / len(asked), "parameters": parameters,
                      "factory": json.load(open(out + ".json"))["index_key"]}))
    np.save(found, np.array(rows))
"""


class Encoder:
    """What an index must know of an encoder."""

    fingerprint, dim = "made up", DIM


def clustered(centres: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Unit vectors about centres, float32 [count, DIM]."""
    noise = rng.standard_normal((count, DIM), np.float32) * np.float32(SPREAD / DIM**0.5)
    made = centres[rng.integers(len(centres), size=count)] + noise
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def write(root: Path, vectors: int, shards: int) -> list[Path]:
    """Embedding shards, and ``queries.npy``."""
    rng = np.random.default_rng(13)
    centres = clustered(np.zeros((1, DIM), np.float32), max(10, vectors // 1000), rng)
    np.save(root / "queries.npy", clustered(centres, QUERIES, rng))
    made = []
    for shard in range(shards):
        first, last = vectors * shard // shards, vectors * (shard + 1) // shards
        rows = [(f"nq:{n:09d}", "text" if n % 4 else "table", f"nq:page {n // 5}") for n in range(first, last)]
        with build(root / f"shard-{shard}", "embed", {}) as artefact:
            np.save(artefact.path / VECTORS_FILE, clustered(centres, last - first, rng).astype(np.float16))
            pl.DataFrame(rows, schema=ID_SCHEMA, orient="row").write_parquet(artefact.path / IDS_FILE)
            artefact.facts |= {"encoder": Encoder.fingerprint, "dim": DIM, "shard": shard, "shards": shards}
        made.append(root / f"shard-{shard}")
    return made


def joined(root: Path, shards: list[Path]) -> Path:
    """The same vectors and ids as one shard."""
    with build(root / "joined", "embed", {}) as artefact:
        np.save(artefact.path / VECTORS_FILE, np.concatenate([np.load(s / VECTORS_FILE) for s in shards]))
        pl.concat([pl.read_parquet(s / IDS_FILE) for s in shards]).write_parquet(artefact.path / IDS_FILE)
        artefact.facts |= {"encoder": Encoder.fingerprint, "dim": DIM, "shard": 0, "shards": 1}
    return root / "joined"


def measured(command: list[str]) -> tuple[float, float, float, str]:
    """Run a process: wall seconds, peak MB of anonymous memory, peak MB with mapped files, standard output."""
    started = time.monotonic()
    peaks = {"RssAnon": 0.0, "VmHWM": 0.0}
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, env=environment)
        while process.poll() is None:
            peaks = {name: max(peak, _status(process.pid, name)) for name, peak in peaks.items()}
            time.sleep(0.02)
        if process.returncode:
            raise SystemExit(f"{' '.join(command[:6])} failed")
        output.seek(0)
        return time.monotonic() - started, peaks["RssAnon"], peaks["VmHWM"], output.read()


def _status(pid: int, name: str) -> float:
    """A figure of a process in MB; 0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def canopy(name: str, *arguments: str) -> None:
    """Run a stage, and print a row about it."""
    row(name, measured([sys.executable, "-m", "canopy", *arguments]))


def row(name: str, figures: tuple[float, float, float, str]) -> None:
    """Print what ``measured`` found."""
    seconds, anonymous, peak, _ = figures
    print(f"{name:<28}{seconds:>8.1f}{anonymous:>10.0f}{peak:>10.0f}", flush=True)


def found_by(index: Path, queries: np.ndarray, together: bool = False) -> tuple[list[list[Any]], float]:
    """Hits of all queries, one by one or as one batch, and milliseconds a query."""
    loaded = VectorIndex.load(index, Encoder())
    batches = [queries] if together else list(queries[:, None])
    loaded.search(queries[:10], 10)
    started = time.perf_counter()
    hits = [row for batch in batches for row in loaded.search(batch, 10)]
    return hits, 1000 * (time.perf_counter() - started) / len(queries)


def recall(found: list[list[str]], best: list[list[str]]) -> float:
    """The share of the best that was found."""
    return float(np.mean([len(set(f) & set(b)) / len(b) for f, b in zip(found, best, strict=True)]))


def sharded(root: Path, shards: list[Path], name: str) -> Path:
    """Index by all stages; each is a row."""
    text, listed = spec(name), [word for shard in shards for word in ("--shard", str(shard))]
    train, out = root / f"{name}-train", root / name
    canopy(f"{name}: index-train", "index-train", *listed, "--spec", text, "--out", str(train))
    parts = []
    for number, shard in enumerate(shards):
        parts.append(root / f"{name}-part-{number}")
        canopy(
            f"{name}: index-add {number}",
            "index-add",
            "--shard",
            str(shard),
            "--train",
            str(train),
            "--out",
            str(parts[-1]),
        )
    with_parts = ["--train", str(train), *(word for part in parts for word in ("--part", str(part)))]
    canopy(f"{name}: index", "index", *listed, *with_parts, "--spec", text, "--out", str(out))
    return out


def beside(root: Path, shards: list[Path], python: str, memory: str, asked: np.ndarray, best: list[list[str]]) -> None:
    """The same vectors through autofaiss, with a limit of memory for the index."""
    folder, index, found = root / "npy", root / f"autofaiss-{memory}.index", root / "autofaiss.npy"
    folder.mkdir(exist_ok=True)
    for number, shard in enumerate(shards):
        if not (folder / f"{number:03d}.npy").exists():
            os.link(shard / VECTORS_FILE, folder / f"{number:03d}.npy")
    arguments = [python, "-c", AUTOFAISS, str(folder), str(index), str(root / "queries.npy"), memory]
    row("autofaiss build, " + memory, measured([*arguments, "build", str(found)]))
    *resources, output = measured([*arguments, "search", str(found)])
    row("autofaiss search, " + memory, (*resources, output))
    facts = json.loads(output.strip().splitlines()[-1])
    hits = [[f"nq:{n:09d}" for n in rows] for rows in np.load(found)]
    size = index.stat().st_size / sum(len(np.load(s / VECTORS_FILE, mmap_mode="r")) for s in shards)
    print(
        f"autofaiss, {memory}: {facts['factory']} {facts['parameters']}: recall@10 {recall(hits, best):.4f}, "
        f"{facts['ms']:.2f} ms a query, {size:.0f} bytes a vector in the index",
        flush=True,
    )


def main(
    vectors: Annotated[int, typer.Option(help="How many.")] = 1_000_000,
    shards: Annotated[int, typer.Option(help="Embedding shards.")] = 8,
    folder: Annotated[Path | None, typer.Option(help="Where to write; a temporary folder without it.")] = None,
    kind: Annotated[list[str], typer.Option(help="Index besides the exact one; may be given again.")] = ["ivf_sq"],  # noqa: B006
    autofaiss: Annotated[str, typer.Option(help="Python of an environment with autofaiss.")] = "",
    autofaiss_memory: Annotated[list[str], typer.Option(help="Most that its index may take; may be given again.")] = [  # noqa: B006
        "4GB"
    ],
) -> None:
    """Time the index stages, and what they make."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        root = Path(name)
        made = write(root, vectors, shards)
        queries = np.load(root / "queries.npy")
        size = (made[0] / VECTORS_FILE).stat().st_size / 2**20
        print(f"{vectors:,} vectors in {shards} shards of {size:.0f} MB")
        print(f"{'stage':<28}{'s':>8}{'anon MB':>10}{'peak MB':>10}", flush=True)
        exact = sharded(root, made, "exact")
        whole = joined(root, made)
        arguments = ("index", "--shard", str(whole), "--spec", spec("exact"), "--out", str(root / "whole"))
        canopy("exact, one shard: index", *arguments)
        hits, milliseconds = found_by(exact, queries, together=True)
        same = hits == found_by(root / "whole", queries, together=True)[0]
        best = [[hit.item_id for hit in row] for row in hits]
        print(f"exact: {milliseconds:.2f} ms a query in a batch of {QUERIES}; sharded == unsharded: {same}", flush=True)
        for name in kind:
            index = sharded(root, made, name)
            found, milliseconds = found_by(index, queries)
            facts = read_manifest(index)["facts"]
            names = [[hit.item_id for hit in row] for row in found]
            print(
                f"{name}: {facts['factory']}, nprobe {facts['nprobe']}: recall@10 {recall(names, best):.4f} "
                f"({facts['recall_at_10']} on held-out items), {milliseconds:.2f} ms a query, "
                f"bytes a vector {facts['bytes_a_vector']}",
                flush=True,
            )
        for memory in autofaiss_memory if autofaiss else ():
            beside(root, made, autofaiss, memory, queries, best)


def spec(kind: str) -> str:
    """Settings of an index; exact search needs no sample to tell its recall."""
    return json.dumps({"kind": kind} | ({"recall_sample": 100} if kind == "exact" else {}))


if __name__ == "__main__":
    typer.run(main)
