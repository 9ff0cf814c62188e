"""The decisions table: frozen against fine-tuned node encoder on the test questions' gold items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from canopy.contracts import BENCHMARKS
from canopy.errors import UserError
from canopy.metrics.bootstrap import Floats, pooled_ratio_difference
from canopy.settings.tables import TableSettings
from canopy.tables.layout import BENCHMARK_LABELS, Column, Table, Value, caption, intervals_note

_ENCODERS = ("fine_tuned", "frozen")
_NODE = ("encoder", "benchmark", "qid", "item_id", "parent_start", "parent_end")
_PAIR_COLUMNS = (*_NODE, "label", "right")
_ITEM_COLUMNS = ("encoder", "benchmark", "qid", "descended", "kept_tokens", "whole_tokens")


def decisions_table(settings: TableSettings, directory: Path) -> Table:
    """Shares of right decisions, by pair and by node, of items refined, and of tokens left out.

    A pair is one parent and one child on a path that holds gold; a node is right when all its pairs are.
    Intervals resample questions, with all pairs and items of a question together.

    Raises:
        UserError: the decisions are missing or lack an encoder.
    """
    pairs = _read(directory / "pairs.parquet", _PAIR_COLUMNS)
    items = _read(directory / "items.parquet", _ITEM_COLUMNS)
    measures = _measures(pairs, items)
    present = [b for b in BENCHMARKS if b in set(pairs["benchmark"]) | set(items["benchmark"])]
    scopes = [("All", present), *((BENCHMARK_LABELS[b], [b]) for b in present)]
    rows = [_row(scope, label, counts, chosen, settings) for scope, chosen in scopes for label, counts in measures]
    columns = (
        Column("scope", "Benchmark"),
        Column("measure", "Measure"),
        Column("count", "n", "count"),
        Column("frozen", "Frozen", "percent"),
        Column("fine_tuned", "Fine-tuned", "percent"),
        Column("difference", "Difference", "signed"),
    )
    questions = {b: items.filter(pl.col("benchmark") == b)["qid"].n_unique() for b in present}
    notes = (
        "Only questions with located gold. A pair is right when descent into the child agrees with its label; a node "
        "when all its pairs are. All: pooled over the benchmarks. n: pairs, nodes, items or tokens judged. "
        f"Tokens are those of the reader{f' {settings.reader}' if settings.reader else ''}.",
        intervals_note(settings, "question (a cluster of all its pairs or items) within benchmark"),
    )
    what = "Parent-child decisions on the gold items of test questions, in percent."
    return Table("decisions", caption(what, settings, questions, *notes, averages=False), columns, rows)


def _read(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(path, columns=list(columns))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise UserError(f"{path} is missing or not of this version ({error}): run `canopy decisions`") from error
    if missing := [e for e in _ENCODERS if e not in set(frame["encoder"])]:
        raise UserError(f"{path} has no rows of encoder {', '.join(missing)}: rerun `canopy decisions`")
    return frame


def _measures(pairs: pl.DataFrame, items: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Label, and frame of encoder, benchmark, qid with sums ``above`` and ``below`` of each measure."""
    right = pl.col("right").cast(pl.Float64)
    nodes = pairs.group_by(_NODE).agg(pl.col("right").all())
    whole, kept = pl.col("whole_tokens").cast(pl.Float64), pl.col("kept_tokens").cast(pl.Float64)
    return [
        ("Decision accuracy, pairs", _sums(pairs, right)),
        ("Decision accuracy, nodes", _sums(nodes, right)),
        ("Rightly descended, pairs", _sums(pairs.filter(pl.col("label") == "descend"), right)),
        ("Rightly stayed, pairs", _sums(pairs.filter(pl.col("label") == "stay"), right)),
        ("Descend rate, items", _sums(items, pl.col("descended").cast(pl.Float64))),
        ("Tokens left out", _sums(items, whole - kept, whole)),
    ]


def _sums(frame: pl.DataFrame, above: pl.Expr, below: pl.Expr | None = None) -> pl.DataFrame:
    count = pl.len().cast(pl.Float64) if below is None else below.sum()
    return frame.group_by("encoder", "benchmark", "qid").agg(above.sum().alias("above"), count.alias("below"))


def _row(
    scope: str, label: str, counts: pl.DataFrame, benchmarks: Sequence[str], settings: TableSettings
) -> Mapping[str, Value]:
    strata = [rows for b in benchmarks if len(rows := _clusters(counts.filter(pl.col("benchmark") == b)))]
    row: dict[str, Value] = {"scope": scope, "measure": label, "count": 0}
    if not strata:
        return row
    total = np.sum([rows.sum(axis=0) for rows in strata], axis=0)
    row |= {"count": int(total[1]), "fine_tuned": _share(total[0], total[1]), "frozen": _share(total[2], total[3])}
    return row | {"difference": pooled_ratio_difference(strata, settings.bootstrap, settings.seed)}


def _clusters(counts: pl.DataFrame) -> Floats:
    """float64 [questions, 4]: above and below of the fine-tuned encoder, then of the frozen one; by qid."""
    sides = [counts.filter(pl.col("encoder") == e).select("qid", "above", "below") for e in _ENCODERS]
    joined = sides[0].join(sides[1], on="qid", how="full", coalesce=True, suffix="_frozen").sort("qid").fill_null(0.0)
    return joined.drop("qid").to_numpy()


def _share(above: Any, below: Any) -> float | None:
    return float(above / below) if below else None
