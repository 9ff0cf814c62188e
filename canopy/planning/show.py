"""A plan as text and as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from canopy.planning.estimate import Estimate
from canopy.planning.figures import Sizes, Throughput, listed

# A job whose estimate, so much enlarged, is over its limit is advised to ask for more: the estimate and some room.
_NEAR = 1.05
_ROOM = 1.5
# Scattered stages and their keys of `shards`.
_SHARDED = {"embed": "embeddings", "preferences": "preferences", "run": "runs"}
_HEAD = ("stage", "jobs", "GPU h", "CPU h", "longest job, h", "disk, GB", "peak memory, GB")


def as_data(name: str, stages: Sequence[Estimate], sizes: Sizes, rates: Throughput) -> dict[str, Any]:
    """The plan as plain data: stages, the sum, advice and all figures with their sources."""
    figures = [*listed(sizes), *listed(rates)]
    return {
        "config": name,
        "stages": [
            {
                "stage": s.stage,
                "jobs": s.jobs,
                "gpu_hours": round(s.gpu_hours, 6),
                "cpu_hours": round(s.cpu_hours, 6),
                "longest_job_hours": round(s.longest / 3600, 6),
                "disk_gb": round(s.disk / 1e9, 6),
                "peak_memory_gb": round(s.memory_mb / 1e3, 6),
            }
            for s in stages
        ],
        "total": {
            "jobs": sum(s.jobs for s in stages),
            "gpu_hours": round(sum(s.gpu_hours for s in stages), 6),
            "cpu_hours": round(sum(s.cpu_hours for s in stages), 6),
            "disk_gb": round(sum(s.disk for s in stages) / 1e9, 6),
            "peak_memory_gb": round(max(s.memory_mb for s in stages) / 1e3, 6),
        },
        "advice": list(advice(stages)),
        "figures": {key: {"value": figure.value, "source": figure.source} for key, figure in figures},
    }


def advice(stages: Iterable[Estimate]) -> Iterable[str]:
    """Settings of the configuration that a job would outgrow, with what to set instead."""
    memory: dict[int, list[Estimate]] = {}
    minutes: list[Estimate] = []
    for stage in stages:
        if stage.memory_mb * _NEAR > stage.asked_mb:
            memory.setdefault(stage.asked_mb, []).append(stage)
        if stage.longest / 60 * _NEAR > stage.asked_minutes:
            minutes.append(stage)
    for asked, group in memory.items():
        most = max(s.memory_mb for s in group) * _ROOM
        yield (
            f"memory: {_names(group)} may take more than the {asked} MB that a job asks for: "
            f"jobs.mem_mb: {_rounded(most, 500)}"
        )
    for stage in minutes:
        needed = stage.longest / 60 * _ROOM
        shards = _SHARDED.get(stage.stage.split()[0])
        split = f", or shards.{shards}: {math.ceil(stage.jobs * needed / stage.asked_minutes)}" if shards else ""
        yield (
            f"time: a job of {stage.stage} may take {stage.longest / 3600:.1f} h and asks for "
            f"{stage.asked_minutes} min: jobs.runtime: {_rounded(needed, 10)}{split}"
        )


def as_text(plan: dict[str, Any]) -> str:
    """The plan as a table, with its advice and its figures below."""
    rows = [
        _HEAD,
        *(
            (
                s["stage"],
                f"{s['jobs']:,}",
                _short(s["gpu_hours"]),
                _short(s["cpu_hours"]),
                _short(s["longest_job_hours"]),
                _short(s["disk_gb"]),
                _short(s["peak_memory_gb"]),
            )
            for s in [*plan["stages"], {"stage": "all", "longest_job_hours": None, **plan["total"]}]
        ),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = [f"{plan['config']}: estimated, nothing has run", ""]
    for row in rows:
        first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join([row[0].ljust(widths[0]), *others]) if first else "")
    lines += ["", *(f"! {line}" for line in plan["advice"])]
    lines += ["", "Computed from:"]
    width = max(len(key) for key in plan["figures"])
    lines += [f"  {key.ljust(width)}  {_exact(f['value']):>14}  {f['source']}" for key, f in plan["figures"].items()]
    return "\n".join(lines)


def _names(stages: Sequence[Estimate]) -> str:
    return ", ".join(s.stage for s in stages)


def _rounded(amount: float, step: int) -> int:
    return math.ceil(amount / step) * step


def _exact(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 1000 else f"{amount:.4g}"


def _short(amount: float | None) -> str:
    if amount is None:
        return ""
    if amount and amount < 0.05:
        return "< 0.1"
    return f"{amount:,.1f}"
