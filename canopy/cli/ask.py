"""``canopy ask``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from canopy.ask import Kept, Reply
    from canopy.regions.render import Region


def command(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    config: Annotated[str, typer.Option(help="A configuration's name (config/NAME.yaml) or file.")] = "mini",
    method: Annotated[str, typer.Option(help="A method or ablation of the configuration.")] = "canopy",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Answer one question from a built index, with its sources.

    Prints the answer, each round with the words of the critic, and the kept regions: where they are in
    their item (characters, rows or minutes), cosine to the query, raw file and record.
    """
    import json

    from canopy.ask import ask

    reply = ask(question, config, method)
    print(json.dumps(_data(reply), ensure_ascii=False, indent=1) if as_json else _text(reply))


def _data(reply: Reply) -> dict[str, Any]:
    evidence = [
        {
            "round": kept.round,
            "item": kept.region.item_id,
            "title": kept.region.title,
            "modality": kept.region.modality,
            "units": [kept.region.unit_start, kept.region.unit_end],
            "native": [kept.region.start, kept.region.end],
            "score": kept.region.score,
            "source": kept.source,
            "text": kept.region.text,
        }
        for kept in reply.evidence
    ]
    return {"prediction": reply.prediction, "rounds": reply.trace, "evidence": evidence}


def _text(reply: Reply) -> str:
    prediction = reply.prediction
    lines = [f"Answer: {prediction['answer'] or '(none)'}"]
    if not prediction["marked"]:
        lines.append("The reader gave no answer marker; this is the first line of its words.")
    for row in reply.trace:
        route = f", route {row['route']}" if row["route"] else ""
        lines += [
            "",
            f"Round {row['round']}{route}: {row['query']}",
            f"  {row['items']} new items, {len(row['kept'])} regions kept, {row['round_tokens']} tokens",
            *([f"  {_words(row)}"] if row["parsed"] is not None else []),
        ]
    lines += ["", f"Evidence ({prediction['evidence_tokens']} tokens):" if reply.evidence else "No evidence."]
    for number, kept in enumerate(reply.evidence, start=1):
        lines += [_heading(number, kept), *(f"    {line}" for line in kept.region.body.splitlines())]
    if prediction["dropped"]:
        lines.append(f"The last {prediction['dropped']} of these did not fit the prompt of the answer in full.")
    return "\n".join(lines)


def _words(row: dict[str, Any]) -> str:
    speaker = "reasoning" if row["sufficient"] is None else "critic"
    if row["stop"] in ("sufficient", "answered"):
        return f"{speaker}: {row['stop']}"
    if not row["parsed"]:
        return f"{speaker}: could not be read: {row['critic_raw']!r}"
    missing = f"missing {row['missing']!r}, " if row["missing"] else ""
    return f"{speaker}: {missing}next {row['next_query']!r}" + (" (asked before)" if row["repeated"] else "")


def _heading(number: int, kept: Kept) -> str:
    region = kept.region
    source = f" - {kept.source}" if kept.source else ""
    return f"[{number}] {region.title} - {region.item_id}, {_place(region)}, score {region.score:.3f}{source}"


def _place(region: Region) -> str:
    if region.modality == "table":
        return f"rows {region.start + 1}-{region.end}" if region.end else "header"
    if region.modality == "video":
        first, last = (f"{ms // 60_000}:{ms // 1000 % 60:02d}" for ms in (region.start, region.end))
        return f"minutes {first}-{last}"
    return "image" if region.modality == "image" else f"characters {region.start}-{region.end}"
