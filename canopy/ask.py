"""One question against the finished artefacts of a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canopy.artefacts import MANIFEST
from canopy.config import load_config, named_config
from canopy.contracts import Question
from canopy.errors import UserError
from canopy.regions.render import Region, region, renderer
from canopy.settings.runs import RunSettings
from canopy.specs import stage_spec

_STAGES = ("corpus", "reader-model", "index")


@dataclass(frozen=True, slots=True)
class Kept:
    """A region in the evidence: the round it came in, and the raw file and record of its item."""

    round: int
    region: Region
    source: str


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, how it came about, and what it rests on.

    Attributes:
        prediction: a row of predictions.parquet.
        trace: rows of trace.parquet, one a round.
        evidence: all regions in the order in which the reader saw them.
    """

    prediction: dict[str, Any]
    trace: list[dict[str, Any]]
    evidence: list[Kept]


def ask(question: str, config: str, method: str, results: Path | None = None) -> Reply:
    """Answer a question by one method.

    Args:
        question: the question.
        config: name of a configuration (``mini`` for config/mini.yaml) or path of its file.
        method: a method or ablation of the configuration.
        results: folder of the configuration's artefacts; None for results/<name>.

    Raises:
        UserError: the question is empty, configuration or method are unknown, or an artefact that
            the method needs has not been made; the message gives the command that makes it.
    """
    if not question.strip():
        raise UserError("the question is empty")
    file = named_config(config)
    project = load_config(file)
    settings = RunSettings.parse(stage_spec(project, "run", method))
    folder = results or Path(project.config.results)
    encoder = folder / "encoder" if project.config.node_encoder == "trained" else Path(project.config.encoder_folder)
    _check_made(settings, {name: folder / name for name in _STAGES} | {"encoder": encoder}, file)

    from canopy.methods.loop import answer_batch
    from canopy.methods.tools import Places, Tools

    places = Places(folder / "corpus", folder / "reader-model", folder / "index", encoder)
    tools = Tools.load(settings, places)
    search = tools.search()
    asked = Question("ask", "", "test", question, (), (), "span", ())
    batch = answer_batch([asked], settings, tools.engine, search)
    evidence: list[Kept] = []
    if search is not None:
        items = search.store.get(kept["item_id"] for row in batch.trace for kept in row["kept"])
        for row in batch.trace:
            for kept in row["kept"]:
                item = items[kept["item_id"]]
                found = region(item, renderer(item), kept["unit_start"], kept["unit_end"], kept["score"])
                evidence.append(Kept(row["round"], found, item.source))
    return Reply(batch.predictions[0], batch.trace, evidence)


def _check_made(settings: RunSettings, folders: dict[str, Path], file: Path) -> None:
    needed = ("corpus", "reader-model", *settings.method.needs)
    missing = [stage for stage in needed if not (folders[stage] / MANIFEST).is_file()]
    if missing:
        targets = " ".join(str(folders[stage] / MANIFEST) for stage in missing)
        raise UserError(f"not made yet: {', '.join(missing)}; run: snakemake {targets} --cores 2 --configfile {file}")
