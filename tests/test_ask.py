from __future__ import annotations

import json
from pathlib import Path

import pytest
from methods_world import ITEMS, BagEncoder, ScriptedReader, searching, write_corpus

from canopy import artefacts
from canopy.ask import ask
from canopy.cli import main
from canopy.errors import UserError
from canopy.methods.tools import Tools
from canopy.regions.render import render

MINI = str(Path(__file__).parents[1] / "config" / "mini.yaml")
QUESTION = "Where was the captain of the Marlune born?"


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory in which the mini configuration is finished, with scripted models."""
    results = tmp_path / "results" / "mini"
    write_corpus(results / "corpus")
    for stage in ("reader-model", "index", "encoder"):
        with artefacts.build(results / stage, stage, {}) as made:
            (made.path / "model").write_text(stage)
    verdicts = ['{"sufficient": false, "missing": "birthplace", "query": "Tessaly Orn born"}', '{"sufficient": true}']

    def load(settings: object, places: object) -> Tools:
        left = list(verdicts)
        reader = ScriptedReader(critic=lambda prompt: left.pop(0), answer=lambda prompt: "Answer: Drevik")
        return Tools(reader, lambda: searching(results / "corpus", True), [BagEncoder()])  # type: ignore[list-item]

    monkeypatch.setattr(Tools, "load", load)
    monkeypatch.chdir(tmp_path)
    return results


def test_answer_with_rounds_and_sources(built: Path) -> None:
    reply = ask(QUESTION, MINI, "canopy")
    assert reply.prediction["answer"] == "Drevik"
    assert [row["next_query"] for row in reply.trace] == ["Tessaly Orn born", ""]
    items = {item.item_id: item for item in ITEMS}
    assert {kept.round for kept in reply.evidence} == {1, 2}
    for kept in reply.evidence:
        region = kept.region
        assert region.text == render(items[region.item_id], region.unit_start, region.unit_end)


def test_command_prints_what_a_person_checks(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", QUESTION, "--config", MINI]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Answer: Drevik\n")
    assert "Round 2: Tessaly Orn born" in out
    assert "critic: missing 'birthplace', next 'Tessaly Orn born'" in out and "critic: sufficient" in out
    assert "nq:b, characters 0-" in out and "    Tessaly Orn was born in Drevik." in out

    assert main(["ask", QUESTION, "--config", MINI, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["prediction"]["answer"] == "Drevik" and len(data["rounds"]) == 2
    assert [e["round"] for e in data["evidence"]] == sorted(e["round"] for e in data["evidence"])


def test_missing_stage_gives_the_command(built: Path, tmp_path: Path) -> None:
    (built / "index" / "manifest.json").unlink()
    # --configfile takes all words that follow it, so it comes last.
    told = r"not made yet: index; run: snakemake \S*results/mini/index/manifest\.json --cores 2 --configfile \S+$"
    with pytest.raises(UserError, match=told):
        ask(QUESTION, MINI, "canopy")
    assert ask(QUESTION, MINI, "no_retrieval").evidence == [], "needs no index"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([" "], "question is empty"),
        (["Who?", "--method", "canopi"], "canopi"),
        (["Who?", "--config", "none"], "config/none.yaml"),
    ],
)
def test_bad_arguments(built: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    given = ["ask", *arguments] if "--config" in arguments else ["ask", *arguments, "--config", MINI]
    assert main(given) == 2
    shown = capsys.readouterr().err
    assert message in shown and shown.count("\n") == 1
