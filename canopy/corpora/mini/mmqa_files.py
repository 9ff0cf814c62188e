"""MultimodalQA: the native files of its pages and questions."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PIL import Image

from canopy.corpora.mini import draw
from canopy.corpora.mini.kinds import KINDS
from canopy.corpora.mini.mmqa import Drawn, MmqaSplit, Page, native_id
from canopy.corpora.mini.ottqa import cell_text, wiki
from canopy.corpora.mini.pictures import PICTURES


def write(folder: Path, splits: Iterable[MmqaSplit]) -> None:
    """Write the questions of each split, and all tables, texts and pictures."""
    pictures = folder / "final_dataset_images"
    pictures.mkdir(parents=True)
    parts = list(splits)
    pages = [page for part in parts for page in part.pages]
    for part in parts:
        _write_lines(folder / f"MMQA_{part.split}.jsonl.gz", part.questions)
    _write_lines(folder / "MMQA_tables.jsonl.gz", [_native_table(page) for page in pages])
    _write_lines(
        folder / "MMQA_texts.jsonl.gz",
        [
            {"title": t, "url": _url(t), "id": native_id("text", t), "text": p.text}
            for page in pages
            for t, p in page.texts.items()
        ],
    )
    drawn = [d for page in pages for d in page.images.values()]
    _write_lines(
        folder / "MMQA_images.jsonl.gz",
        [{"title": d.entity.title, "url": _url(d.entity.title), "id": d.id, "path": f"{d.id}.png"} for d in drawn],
    )
    for d in drawn:
        _paint(d).save(pictures / f"{d.id}.png", optimize=False, compress_level=6)


def _paint(drawn: Drawn) -> Image.Image:
    picture = PICTURES[drawn.entity.kind]
    style = int(drawn.id[:4], 16)
    if picture.chart:
        return draw.chart(picture.heading, drawn.entity.title, drawn.bars, style)
    lines = [f"{shown.label} {drawn.values[shown.name]}" for shown in picture.shown]
    return draw.notice(picture.heading, drawn.entity.title, lines, style)


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Gzipped JSON lines without a time stamp, so that the same rows give the same bytes."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def _native_table(page: Page) -> dict[str, Any]:
    kind = KINDS[page.table.kind]
    names = [kind.name.capitalize(), *(kind.relation(name).column for name in page.table.columns)]
    rows = []
    for row in page.table.rows:
        link = {"text": row.title, "wiki_title": row.title, "url": _url(row.title)}
        cells: list[dict[str, Any]] = [{"text": row.title, "links": [link]}]
        cells += [{"text": cell_text(row.facts[name]), "links": []} for name in page.table.columns]
        rows.append(cells)
    header = [{"column_name": name, "metadata": {"num_of_links": 0, "ner_appearances_map": {}}} for name in names]
    title = page.table.title
    table = {"table_rows": rows, "table_name": title, "header": header}
    return {"title": title, "url": _url(title), "id": page.id, "table": table}


def _url(title: str) -> str:
    return f"https://canopy.invalid{wiki(title)}"
