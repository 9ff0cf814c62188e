"""The tables stage: finished artefacts to one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from canopy.errors import UserError
from canopy.settings.tables import TableSettings
from canopy.tables.ablations import ablation_table, ablations_table
from canopy.tables.corpus import corpus_table
from canopy.tables.decisions import decisions_table
from canopy.tables.evidence import evidence_table
from canopy.tables.layout import Table
from canopy.tables.main import main_table
from canopy.tables.tokens import tokens_table
from canopy.tables.write import write

_OF_METRICS = {"main": main_table, "ablations": ablations_table, "tokens": tokens_table, "evidence": evidence_table}
_ABLATION = "ablation_"


def run(
    name: str,
    settings: TableSettings,
    out: Path,
    metrics: Sequence[Path] = (),
    decisions: Path | None = None,
    corpus: Path | None = None,
) -> None:
    """Write one table as ``out`` with the endings ``.md``, ``.csv`` and ``.tex``.

    Args:
        name: ``main``, ``ablations``, ``ablation_<name>``, ``decisions``, ``evidence``, ``tokens`` or ``corpus``.
        settings: what is printed on the table, and which methods it shows.
        out: path of the table without its ending.
        metrics: metrics directories of the methods; others than those the settings name are left out.
        decisions: the decisions directory, for ``decisions``.
        corpus: the corpus directory, for ``corpus``.

    Raises:
        UserError: there is no such table, or something that it is made from is missing.
    """
    write(_table(name, settings, metrics, decisions, corpus), settings, out)


def _table(
    name: str, settings: TableSettings, metrics: Sequence[Path], decisions: Path | None, corpus: Path | None
) -> Table:
    if name == "decisions":
        return decisions_table(settings, _given(decisions, name, "--decisions"))
    if name == "corpus":
        return corpus_table(settings, _given(corpus, name, "--corpus"))
    if name not in _OF_METRICS and not name.startswith(_ABLATION):
        known = ", ".join([*_OF_METRICS, f"{_ABLATION}NAME", "decisions", "corpus"])
        raise UserError(f"unknown table {name!r}: one of {known}")
    if not metrics:
        raise UserError(f"the table {name} is made from metrics: pass their directories by --metrics")
    if not settings.methods:
        raise UserError(f"the table {name} needs `methods` in its settings: names and labels of its rows")
    if name in _OF_METRICS:
        return _OF_METRICS[name](settings, metrics)
    return ablation_table(name.removeprefix(_ABLATION), settings, metrics)


def _given(path: Path | None, name: str, option: str) -> Path:
    if path is None:
        raise UserError(f"the table {name} needs {option}")
    return path
