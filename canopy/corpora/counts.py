"""What the stages before the merge counted and left out, by benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from canopy.artefacts import read_manifest
from canopy.errors import UserError

TEXT_LIKE = ("text", "table")
COUNTS = ("items", "questions", "left_out", "quarantined", "media_missing", "media_unreadable")
# The end of the notices of `canopy.corpora.mmqa` and `canopy.corpora.lvbench`.
_NO_FILE = "file not found, no item"


def raw_counts(parsed: Sequence[Path], video: Path | None, benchmarks: Sequence[str]) -> dict[str, dict[str, int]]:
    """Counts of the raw files, before any sample is drawn.

    Args:
        parsed: artefacts of stage `parse`, one or more a benchmark.
        video: artefact of stage `video`, if there is one.
        benchmarks: the benchmarks that are wanted.

    Returns:
        Wanted benchmark -> :data:`COUNTS`: ``items`` and ``questions`` read; questions ``left_out`` for want of
        evidence before a sample was drawn; records ``quarantined``; images and videos without a file
        (``media_missing``), and those of the parsed items that the video stage could not read (``media_unreadable``).

    Raises:
        UserError: a manifest is missing or was made by another version.
    """
    counts: dict[str, Counter[str]] = {benchmark: Counter() for benchmark in benchmarks}
    for directory in parsed:
        manifest = read_manifest(directory)
        try:
            benchmark, facts = manifest["settings"]["benchmark"], manifest["facts"]
            if benchmark not in counts:
                continue
            found, whole = counts[benchmark], facts.get("sampled_from", facts)
            found.update({key: int(whole[key]) for key in ("items", "questions")})
            found["left_out"] += int(facts.get("questions_without_evidence", 0))
            found["quarantined"] += int(facts["quarantined"])
            found["media_missing"] += sum(n for kind, n in facts["notices"].items() if kind.endswith(_NO_FILE))
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{directory} was made by another version (no {error}): rerun `canopy parse`") from error
        found["media_unreadable"] += _unreadable(directory, video)
    return {benchmark: {key: found[key] for key in COUNTS} for benchmark, found in counts.items()}


def _unreadable(parsed: Path, video: Path | None) -> int:
    """Parsed images and videos of which the video stage made nothing."""
    given = pl.scan_parquet(parsed / "items.parquet").filter(~pl.col("modality").is_in(TEXT_LIKE)).select("item_id")
    if video is not None:
        made = pl.scan_parquet(video / "items.parquet").select(pl.col("doc_id").alias("item_id"))
        given = given.join(made, on="item_id", how="anti")
    return int(given.select(pl.len()).collect().item())
