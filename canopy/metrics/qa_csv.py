"""DPR's ``*.qa.csv``: a question, a tab and a Python list literal of answers."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from canopy.errors import UserError
from canopy.metrics.fields import shown
from canopy.metrics.files import read_text
from canopy.text.answers import answers_of_literal


def read_qa_csv(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place (path and line) and ``{"question", "answers"}`` of each row; nothing is evaluated.

    Raises:
        UserError: the file cannot be read, or a row is not a question and a list literal.
    """
    reader = csv.reader(io.StringIO(read_text(path), newline=""), delimiter="\t")
    line = 1
    with _fields_of_any_length():
        rows = []
        try:
            for row in reader:
                rows.append((line, row))
                line = reader.line_num + 1
        except csv.Error as error:
            raise UserError(f"{path}, line {line}: not a row of tab-separated fields ({error})") from error
    for line, row in rows:
        where = f"{path}, line {line}"
        if not row:
            continue
        if len(row) != 2:
            raise UserError(f"{where}: not a question, a tab and a list of answers, but {len(row)} columns")
        yield where, {"question": row[0], "answers": _answers(row[1], where)}


def _answers(literal: str, where: str) -> list[str]:
    try:
        return answers_of_literal(literal)
    except ValueError as error:
        raise UserError(f"{where}: {error}, but {shown(literal)}") from error


@contextmanager
def _fields_of_any_length() -> Iterator[None]:
    limit = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(limit)
