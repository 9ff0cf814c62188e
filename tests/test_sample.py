from __future__ import annotations

import json
from pathlib import Path

import pytest

from canopy.artefacts import MARK, read_manifest
from canopy.cli import main
from canopy.config import load_config
from canopy.contracts import read_items, read_questions
from canopy.errors import ConfigError
from canopy.specs import stage_spec

PARAGRAPHS = {f"Town {n}": [f"Town {n} is old.", f" Its river is R{n}."] for n in range(40)}


def hotpotqa(path: Path, split: str, count: int) -> None:
    """Questions whose first paragraph is gold, each with ten paragraphs."""
    records = []
    for n in range(count):
        titles = [f"Town {(n + step) % 40}" for step in range(10)]
        records.append(
            {
                "_id": f"{split}{n}",
                "question": f"Which river has Town {n}?",
                "answer": f"R{n}",
                "supporting_facts": [[titles[0], 1]],
                "context": [[title, PARAGRAPHS[title]] for title in titles],
                "type": "bridge",
                "level": "easy",
            }
        )
    path.mkdir(exist_ok=True)
    (path / f"hotpot_{split}_v1.json").write_text(json.dumps(records))


def parsed(tmp_path: Path, out: str, capsys: pytest.CaptureFixture[str], **settings: object) -> dict[str, object]:
    spec = json.dumps(settings)
    assert main(["parse", "hotpotqa", str(tmp_path / "raw"), "--spec", spec, "--out", str(tmp_path / out)]) == 0
    facts: dict[str, object] = json.loads(capsys.readouterr().out)
    return facts


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    hotpotqa(tmp_path / "raw", "train", 12)
    hotpotqa(tmp_path / "raw", "dev", 20)
    return tmp_path


def test_a_sample_keeps_all_gold_and_the_wanted_number_of_distractors(
    raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = parsed(raw, "out", capsys, sample={"questions": 5, "distractors": 7})
    questions = read_questions(raw / "out" / "questions.parquet")
    items = {item.item_id for item in read_items(raw / "out" / "items.parquet")}
    gold = {one.item_id for question in questions for one in question.gold}
    assert [sum(q.split == split for q in questions) for split in ("train", "dev")] == [5, 5]
    assert gold <= items and len(items) == len(gold) + 7
    assert (facts["items"], facts["questions"], facts["records"]) == (len(items), 10, 32)
    whole = facts["sampled_from"]
    assert isinstance(whole, dict) and (whole["items"], whole["questions"]) == (29, 32)
    assert whole["splits"] == {"train": 12, "dev": 20}


def test_the_seed_alone_decides_and_a_larger_sample_holds_a_smaller_one(
    raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def ids(out: str, **settings: object) -> set[str]:
        parsed(raw, out, capsys, **settings)
        return {q.qid for q in read_questions(raw / out / "questions.parquet")}

    few = ids("few", sample={"questions": 3, "distractors": 0}, seed=1)
    assert few == ids("again", sample={"questions": 3, "distractors": 0}, seed=1)
    assert (raw / "few" / "items.parquet").read_bytes() == (raw / "again" / "items.parquet").read_bytes()
    assert few < ids("more", sample={"questions": 6, "distractors": 0}, seed=1)
    assert few != ids("other", sample={"questions": 3, "distractors": 0}, seed=2)


def test_more_than_there_is_keeps_everything(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = parsed(raw, "out", capsys, sample={"questions": 1000, "distractors": 1000})
    assert (facts["items"], facts["questions"]) == (29, 32)
    assert (raw / "out" / "items.parquet").is_file()
    assert [p.name for p in (raw / "out").glob(".*")] == [MARK], "a temporary file was left"


def test_a_sample_may_be_drawn_among_the_questions_with_gold(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = json.loads((raw / "raw" / "hotpot_dev_v1.json").read_text())
    for record in records[:18]:
        record["supporting_facts"] = [["Nowhere", 0]]
    (raw / "raw" / "hotpot_dev_v1.json").write_text(json.dumps(records))
    facts = parsed(raw, "out", capsys, sample={"questions": 5, "distractors": 0}, questions="with_gold")
    questions = read_questions(raw / "out" / "questions.parquet", "dev")
    assert {q.qid for q in questions} == {"hotpotqa:dev18", "hotpotqa:dev19"}
    assert read_manifest(raw / "out")["facts"]["questions_without_evidence"] == 18
    assert facts["questions_without_evidence"] == 18
    parsed(raw, "all", capsys, sample={"questions": 5, "distractors": 0})
    assert len(read_questions(raw / "all" / "questions.parquet", "dev")) == 5


def test_a_sample_with_gold_of_nothing_says_why(
    raw: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    (raw / "raw" / "hotpot_train_v1.json").unlink()
    records = json.loads((raw / "raw" / "hotpot_dev_v1.json").read_text())
    for number, record in enumerate(records):
        record["supporting_facts"] = [["Nowhere", 0]] if number < 3 else []
    (raw / "raw" / "hotpot_dev_v1.json").write_text(json.dumps(records))
    facts = parsed(raw, "out", capsys, sample={"questions": 5, "distractors": 2}, questions="with_gold")
    assert (facts["questions"], facts["questions_without_evidence"]) == (0, 20)
    assert "no question is left" in caplog.text
    assert (
        "all 20 were left out, 3 as gold evidence of theirs was not found, 17 as their files name none" in caplog.text
    )


def test_items_whose_id_only_looks_like_a_clip_are_not_drawn(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads((raw / "raw" / "hotpot_dev_v1.json").read_text())[0]
    context = [["C", ["C is old."]], ["C#", ["C# is new."]]]
    record |= {"context": context, "supporting_facts": [["C#", 0]]}
    (raw / "raw" / "hotpot_dev_v1.json").write_text(json.dumps([record]))
    (raw / "raw" / "hotpot_train_v1.json").unlink()
    parsed(raw, "out", capsys, sample={"questions": 1, "distractors": 0})
    assert [item.item_id for item in read_items(raw / "out" / "items.parquet")] == ["hotpotqa:C#"]


def test_the_video_of_a_gold_clip_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "raw").mkdir()
    qa = {"question": "Who?\n(A) a\n(B) b", "answer": "A", "time_reference": "05:10-05:20"}
    rows = [{"key": key, "qa": [{**qa, "uid": uid}]} for key, uid in (("one#2", "1"), ("other", "2"))]
    (tmp_path / "raw" / "video_info.meta.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for row in rows:
        (tmp_path / "raw" / f"{row['key']}.mp4").touch()
    spec = json.dumps({"sample": {"questions": 1, "distractors": 0}})
    assert main(["parse", "lvbench", str(tmp_path / "raw"), "--spec", spec, "--out", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    (question,) = read_questions(tmp_path / "out" / "questions.parquet")
    (item,) = read_items(tmp_path / "out" / "items.parquet")
    assert question.gold[0].item_id == f"{item.item_id}#1"


def config(tmp_path: Path, **sections: object) -> Path:
    base = {
        "name": "part",
        "constructed": False,
        "raw": {"root": str(tmp_path)},
        "benchmarks": ["hotpotqa"],
        "methods": ["vanilla_rag"],
    }
    (tmp_path / "hotpotqa").mkdir()
    (tmp_path / "hotpotqa" / "hotpot_dev_v1.json").write_text("[]")
    path = tmp_path / "part.yaml"
    path.write_text(json.dumps({**base, **sections}))  # JSON is YAML
    return path


def test_the_configuration_hands_each_benchmark_its_sample(tmp_path: Path) -> None:
    part = {"questions": 9, "distractors": 2}
    project = load_config(config(tmp_path, sample={"hotpotqa": part}, seed=4))
    spec = json.loads(stage_spec(project, "parse", "hotpotqa"))
    assert spec["sample"] == part and spec["seed"] == 4


@pytest.mark.parametrize(
    ("sections", "key"),
    [
        ({"sample": {"nq": {"questions": 9, "distractors": 0}}}, "sample.nq"),
        ({"sample": {"hotpotqa": {"questions": 0, "distractors": 5}}}, "sample.hotpotqa.questions"),
        ({"sample": {"hotpotqa": {"questions": 9}}}, "sample.hotpotqa.distractors"),
        ({"sample": {"hotpotqa": {"distractors": 5}}}, "sample.hotpotqa.questions"),
        ({"parsing": {"sample": {"questions": 9, "distractors": 0}}}, "parsing.sample"),
    ],
)
def test_a_wrong_sample_is_refused(tmp_path: Path, sections: dict[str, object], key: str) -> None:
    with pytest.raises(ConfigError, match=key):
        load_config(config(tmp_path, **sections))
