"""``canopy compress``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from canopy.documents import Document
    from canopy.regions.render import Region


def command(
    files: Annotated[
        list[str],
        typer.Argument(help="Text, markdown (.md), CSV (.csv) or TSV (.tsv) files in UTF-8; - is standard input."),
    ],
    query: Annotated[str, typer.Option(help="What the kept regions should bear on.")],
    encoder: Annotated[
        Path | None,
        typer.Option(help="Directory of a fine-tuned encoder (canopy encoder); without it, the frozen one."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with every number.")] = False,
) -> None:
    """Keep the regions of files that bear on a query.

    Each region comes with its file, its range of characters (from 0, end not included), for tables the
    numbers of its rows (from 1, the header not counted), and its cosine to the query.
    """
    import json
    import sys

    from canopy.documents import read_documents
    from canopy.errors import UserError

    if not query.strip():
        raise UserError("--query is empty")
    documents = [document for file in files for document in read_documents(file)]

    from canopy.compress import Compressor

    compressor = Compressor(encoder)
    print(f"canopy: scored by {compressor.description}", file=sys.stderr)
    kept = compressor.compress(query, [document.item for document in documents])
    if compressor.encoder.truncated:
        cut, most = compressor.encoder.truncated, compressor.encoder.settings.max_tokens
        print(f"canopy: {cut} larger regions had more than {most} tokens, judged by their beginning", file=sys.stderr)
    if as_json:
        rows = [_row(document, regions) for document, regions in zip(documents, kept, strict=True)]
        found = {"query": query, "encoder": compressor.description, "items": rows}
        print(json.dumps(found, ensure_ascii=False, indent=1))
    else:
        print("\n\n".join(_block(document, regions) for document, regions in zip(documents, kept, strict=True)))


def _row(document: Document, regions: list[Region]) -> dict[str, Any]:
    item = document.item
    return {
        "file": document.file,
        "item": item.item_id,
        "modality": item.modality,
        "title": item.title,
        "units": len(item.units),
        "kept": [
            {
                "text": region.text if item.modality == "table" else region.body,
                "characters": [[span.start, span.end] for span in document.spans(region.unit_start, region.unit_end)],
                "rows": [region.start + 1, region.end] if item.modality == "table" and item.units else None,
                "units": [region.unit_start, region.unit_end],
                "score": region.score,
            }
            for region in regions
        ],
    }


def _block(document: Document, regions: list[Region]) -> str:
    """What people read: a heading a region, the header of a table once."""
    table = document.item.modality == "table"
    lines = []
    for number, region in enumerate(regions):
        spans = document.spans(region.unit_start, region.unit_end)
        places = [f"rows {region.start + 1}-{region.end}"] if table and spans else []
        places += [f"characters {span.start}-{span.end}" for span in spans] or ["header"]
        lines.append(f"## {document.file}: {', '.join(places)}, score {region.score:.3f}")
        lines.append(region.text if table and not number else region.body)
    return "\n".join(lines)
