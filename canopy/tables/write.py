"""Writing a table as Markdown, CSV and LaTeX, each file renamed into place when complete."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from canopy.metrics.bootstrap import Interval
from canopy.settings.tables import TableSettings
from canopy.tables.layout import Column, Table, Value, show

_MARKDOWN_SPECIAL = re.compile(r"([\\`*_<>|\[\]])")
_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
} | {character: f"\\{character}" for character in "&%$#_{}"}


def write(table: Table, settings: TableSettings, stem: Path) -> None:
    """Write ``stem`` with the endings ``.md``, ``.csv`` and ``.tex``."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    for ending, text in (("md", markdown(table)), ("csv", raw(table, settings)), ("tex", latex(table))):
        path = stem.with_name(f"{stem.name}.{ending}")
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text(text, encoding="utf-8", newline="")
        os.replace(partial, path)


def markdown(table: Table) -> str:
    """A pipe table under its caption; groups are written before each column's own label."""
    heads = [_escape_markdown(f"{c.group} {c.label}".strip()) for c in table.columns]
    rule = [":---" if c.kind == "text" else "---:" for c in table.columns]
    body = [[_markdown_cell(row.get(c.key), c) for c in table.columns] for row in table.rows]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, rule, *body)]
    return f"{_escape_markdown(table.caption)}\n\n" + "\n".join(lines) + "\n"


def raw(table: Table, settings: TableSettings) -> str:
    """CSV of unrounded values; an interval takes three columns, and each row says what it was made with."""
    made_with = {
        "config": settings.config,
        "seed": settings.seed,
        "k": settings.k,
        "corpus": "constructed" if settings.constructed else "real",
    }
    wide = {c.key for c in table.columns for row in table.rows if isinstance(row.get(c.key), Interval)}
    keys = [key for c in table.columns for key in (_interval_keys(c.key) if c.key in wide else (c.key,))]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*keys, *made_with])
    for row in table.rows:
        cells = [cell for c in table.columns for cell in _raw_cells(row.get(c.key), c.key in wide)]
        writer.writerow([*cells, *made_with.values()])
    return stream.getvalue()


def latex(table: Table) -> str:
    """A ``table`` environment with a ``tabular`` for the booktabs package."""
    layout = "".join("l" if c.kind == "text" else "r" for c in table.columns)
    body = [" & ".join(_latex_cell(row.get(c.key), c) for c in table.columns) + r" \\" for row in table.rows]
    lines = [
        "% needs \\usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escape_latex(table.caption)}}}",
        rf"\label{{tab:{re.sub(r'[^a-z0-9]+', '-', table.name)}}}",
        rf"\begin{{tabular}}{{{layout}}}",
        r"\toprule",
        *_latex_heads(table.columns),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_heads(columns: Iterable[Column]) -> Iterator[str]:
    columns = list(columns)
    if any(c.group for c in columns):
        cells, rules, place = [], [], 1
        for group, members in groupby(columns, key=lambda c: c.group):
            width = len(list(members))
            cells.append(rf"\multicolumn{{{width}}}{{c}}{{{_escape_latex(group)}}}" if group else " & " * (width - 1))
            if group:
                rules.append(rf"\cmidrule(lr){{{place}-{place + width - 1}}}")
            place += width
        yield " & ".join(cells) + r" \\"
        yield "".join(rules)
    yield " & ".join(_escape_latex(c.label) for c in columns) + r" \\"


def _interval_keys(key: str) -> tuple[str, str, str]:
    return key, f"{key}_low", f"{key}_high"


def _raw_cells(value: Value, wide: bool) -> list[str]:
    if isinstance(value, Interval):
        return [_raw_number(v) for v in (value.value, value.low, value.high)]
    cell = value if isinstance(value, str) else _raw_number(value)
    return [cell, "", ""] if wide else [cell]


def _raw_number(value: int | float | None) -> str:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else repr(value)


def _markdown_cell(value: Value, column: Column) -> str:
    shown = show(value, column.kind)
    return (_escape_markdown(shown) if isinstance(value, str) else shown) or "–"  # noqa: RUF001


def _latex_cell(value: Value, column: Column) -> str:
    shown = show(value, column.kind)
    return (_escape_latex(shown) if isinstance(value, str) else shown.replace("-", "$-$")) or "--"


def _escape_markdown(text: str) -> str:
    return _MARKDOWN_SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _escape_latex(text: str) -> str:
    return "".join(_LATEX_SPECIAL.get(character, character) for character in " ".join(text.split()))
