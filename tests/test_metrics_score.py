"""``canopy score``: native gold files and predictions files to official figures."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from canopy.cli import main
from canopy.errors import UserError
from canopy.metrics.gold import read_gold
from canopy.metrics.score import score

SHARED = Path(__file__).parents[1].parent / "shared" / "data"

HOTPOTQA = [
    {"_id": "h1", "question": "q", "answer": "Kingdom of England", "type": "bridge", "level": "easy",
     "supporting_facts": [["A &amp; B", 0], ["C", 1]], "context": []},
    {"_id": "h2", "question": "q", "answer": "yes", "type": "comparison", "level": "hard",
     "supporting_facts": [["D", 0]], "context": []},
]  # fmt: skip
OTTQA = [{"question_id": "o1", "question": "q", "answer-text": "1996"}, {"question_id": "o2", "question": "q",
         "answer-text": "The"}]  # fmt: skip
MMQA = [
    {"qid": "m1", "question": "q", "metadata": {"type": "TableQ"},
     "answers": [{"answer": 2.0, "type": "number", "modality": "table"}]},
    {"qid": "m2", "question": "q", "metadata": {"type": "Compose(ImageQ,TableQ)"},
     "answers": [{"answer": "Paris", "modality": "image"}, {"answer": "London", "modality": "image"}]},
]  # fmt: skip
LVBENCH = [
    {"key": "v1", "qa": [{"uid": "1", "question": "q", "answer": "A", "question_type": ["reasoning", "summarization"]},
                         {"uid": 2, "question": "q", "answer": "B", "question_type": ["reasoning"]}]},
    {"key": "v2", "qa": [{"uid": "3", "question": "q", "answer": "C", "question_type": ["summarization"]}]},
]  # fmt: skip
NQ = [{"question": "who wrote it", "answer": ["Bobby Scott", "Bob Russell"]}, {"question": "when", "answer": ["1972"]}]


def _json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def _lines(path: Path, values: list[Any]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def _score(tmp_path: Path, benchmark: str, gold: list[Any], predictions: Any) -> dict[str, Any]:
    write = _json if benchmark in ("hotpotqa", "ottqa") else _lines
    return score(benchmark, write(tmp_path / "gold.json", gold), _json(tmp_path / "predictions.json", predictions))


def test_nq_counts_a_missing_prediction_as_wrong(tmp_path: Path) -> None:
    got = _score(tmp_path, "nq", NQ, {"who wrote it": "bob russell"})
    assert (got["em"], got["f1"], got["questions"], got["missing"]) == (0.5, 0.5, 2, 1)


def test_nq_submission_lines(tmp_path: Path) -> None:
    predictions = [{"question": "who wrote it", "prediction": "Bob"}, {"question": "when", "prediction": "in 1972"}]
    gold = _lines(tmp_path / "NQ-open.dev.jsonl", NQ)
    got = score("nq", gold, _lines(tmp_path / "p.jsonl", predictions))
    assert (got["em"], got["f1"]) == (0, pytest.approx(2 / 3))
    got = score("nq", gold, _lines(tmp_path / "one.jsonl", predictions[:1]))
    assert (got["em"], got["f1"], got["missing"]) == (0, pytest.approx(1 / 3), 1)


def test_nq_ids_of_the_parser(tmp_path: Path) -> None:
    gold = [{**NQ[0], "id": "n7"}, NQ[1]]
    got = _score(tmp_path, "nq", gold, {"nq:n7": "Bob Russell", "when": "1972"})
    assert (got["em"], got["missing"], got["unknown"]) == (1, 0, 0)


def test_nq_dpr_csv_has_python_lists(tmp_path: Path) -> None:
    gold = tmp_path / "nq-test.qa.csv"
    gold.write_text("who wrote it\t['Bob Russell', \"O'Neill\"]\nwhen\t['1972']\n", encoding="utf-8")
    predictions = _json(tmp_path / "p.json", {"who wrote it": "o'neill", "when": "1971"})
    assert score("nq", gold, predictions)["em"] == 0.5
    gold.write_text("who wrote it\t__import__('os').getcwd()\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"nq-test\.qa\.csv, line 1"):
        score("nq", gold, predictions)


def test_hotpotqa_submission_gives_supporting_and_joint_scores(tmp_path: Path) -> None:
    submission = {
        "answer": {"h1": "England", "h2": "no"},
        "sp": {"h1": [["A &amp; B", 0], ["X", 3]], "h2": [["D", 0]]},
    }
    got = _score(tmp_path, "hotpotqa", HOTPOTQA, submission)
    # h1: precision 1, recall 1/3, F1 1/2; facts 1/2 and 1/2. h2: answer 0, facts all right.
    assert (got["em"], got["f1"], got["prec"], got["recall"]) == pytest.approx((0, 0.25, 0.5, 1 / 6))
    assert (got["sp_em"], got["sp_f1"], got["sp_prec"], got["sp_recall"]) == pytest.approx((0.5, 0.75, 0.75, 0.75))
    # joint of h1: precision 1/2, recall 1/6, F1 = 2 (1/12) / (2/3) = 1/4
    assert (got["joint_em"], got["joint_f1"]) == pytest.approx((0, 0.125))
    assert (got["joint_prec"], got["joint_recall"]) == pytest.approx((0.25, 1 / 12))
    assert got["by_type"]["bridge"] == {"questions": 1, "em": 0, "f1": 0.5, "prec": 1, "recall": pytest.approx(1 / 3)}
    assert got["by_level"]["hard"]["f1"] == 0


def test_hotpotqa_missing_parts_score_nothing_jointly(tmp_path: Path) -> None:
    submission = {"answer": {"h2": "Yes"}, "sp": {"h1": [["A &amp; B", 0], ["C", 1]]}}
    got = _score(tmp_path, "hotpotqa", HOTPOTQA, submission)
    assert (got["em"], got["sp_em"], got["joint_em"], got["joint_f1"]) == (0.5, 0.5, 0, 0)
    assert (got["missing"], got["missing_sp"]) == (1, 1)


def test_hotpotqa_plain_object_has_no_supporting_scores(tmp_path: Path) -> None:
    got = _score(tmp_path, "hotpotqa", HOTPOTQA, {"hotpotqa:h1": "Kingdom of England", "other": "x"})
    assert (got["em"], got["missing"], got["unknown"]) == (0.5, 1, 1)
    assert "sp_em" not in got


def test_hotpotqa_columnar_gold(tmp_path: Path) -> None:
    record = {"id": "h1", "question": "q", "answer": "x", "supporting_facts": {"title": ["A", "B"], "sent_id": [0, 2]}}
    (gold,) = read_gold("hotpotqa", _json(tmp_path / "hf.json", [record]))
    assert (gold.qid, gold.supporting) == ("h1", {("A", 0), ("B", 2)})


def test_ottqa_empty_gold_and_divisor(tmp_path: Path) -> None:
    got = _score(tmp_path, "ottqa", OTTQA, [{"question_id": "o2", "pred": "a"}])
    assert (got["em"], got["f1"], got["questions"], got["missing"]) == (0.5, 0.5, 2, 1)
    assert _score(tmp_path, "ottqa", OTTQA, {"o1": "in 1996"})["f1"] == pytest.approx(1 / 3)


def test_ottqa_reference_file_divides_its_parts_by_answered_questions(tmp_path: Path) -> None:
    gold = {"reference": {"o1": "1996", "o2": "x", "o3": "y"}, "table": ["o1", "o3"], "passage": ["o2"]}
    got = score("ottqa", _json(tmp_path / "g.json", gold), _json(tmp_path / "p.json", {"o1": "1996", "o2": "z"}))
    assert got["em"] == pytest.approx(1 / 3)
    assert got["by_source"]["table"] == {"questions": 1, "em": 1, "f1": 1}
    assert got["by_source"]["passage"]["em"] == 0


def test_mmqa_floats_lists_and_breakdowns(tmp_path: Path) -> None:
    got = _score(tmp_path, "mmqa", MMQA, {"m1": "two", "m2": ["london", "rome"]})
    assert (got["em"], got["f1"]) == (0.5, 0.75)
    assert got["by_modality"] == {
        "image": {"questions": 1, "em": 0, "f1": 0.5},
        "table": {"questions": 1, "em": 1, "f1": 1},
    }
    assert got["by_hops"]["multi-hop"]["f1"] == 0.5
    assert _score(tmp_path, "mmqa", MMQA, {"m1": 2})["em"] == 0.5  # a number counts as its text


def test_mmqa_questions_without_answers_are_left_out(tmp_path: Path) -> None:
    blind = {"qid": "m3", "question": "q", "metadata": {"image_doc_ids": []}}
    got = _score(tmp_path, "mmqa", [*MMQA, blind], {"m1": "2", "m2": "x", "m3": "y"})
    assert (got["questions"], got["without_gold"], got["em"], got["unknown"]) == (2, 1, 0.5, 0)


def test_lvbench_official_accuracy_ignores_unanswered(tmp_path: Path) -> None:
    got = _score(tmp_path, "lvbench", LVBENCH, {"1": "A) red", "2": "The answer is B"})
    assert (got["accuracy"], got["accuracy_all"], got["missing"]) == (0.5, pytest.approx(1 / 3), 1)
    assert (got["accuracy_spoken"], got["accuracy_spoken_all"]) == (1, pytest.approx(2 / 3))
    # A question counts under each of its types.
    assert got["by_type"]["reasoning"]["accuracy"] == 0.5
    assert got["by_type"]["summarization"]["accuracy"] == 1
    assert got["by_type"]["summarization"]["accuracy_all"] == 0.5


def test_lvbench_without_any_answer_has_no_official_accuracy(tmp_path: Path) -> None:
    got = _score(tmp_path, "lvbench", LVBENCH, {})
    assert (got["accuracy"], got["accuracy_all"], got["missing"]) == (None, 0, 3)


def test_command_prints_one_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = tmp_path / "MMQA_dev.jsonl.gz"
    gold.write_bytes(gzip.compress("\n".join(json.dumps(r) for r in MMQA).encode()))
    assert main(["score", "mmqa", str(gold), str(_json(tmp_path / "p.json", {"m1": "2", "m2": "x"}))]) == 0
    assert json.loads(capsys.readouterr().out)["em"] == 0.5


@pytest.mark.parametrize(
    ("predictions", "unknown", "warning"),
    [
        ({"h1": "x"}, 0, ""),
        ({"h1": "x", "other": "x"}, 1, "only 1 of the 2 ids in {p} is in {g}: 1 counts for nothing."),
        ({"other": "x"}, 1, "the only id in {p} is not one of {g}: it counts for nothing."),
        (
            {"h1": "x", "h2": "x", "other": "x", "b": "x"},
            2,
            "only 2 of the 4 ids in {p} are in {g}: 2 count for nothing.",
        ),
        ({"other": "x", "next": "x"}, 2, "none of the 2 ids in {p} are in {g}: 2 count for nothing."),
        ({"answer": {"h1": "x"}, "sp": {"other": []}}, 0, "only 1 of the 2 ids in"),
    ],
)
def test_predictions_for_unknown_ids_are_counted_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], predictions: Any, unknown: int, warning: str
) -> None:
    got = _score(tmp_path, "hotpotqa", HOTPOTQA, predictions)
    assert got["unknown"] == unknown
    assert got.get("unknown_sp", 0) == ("sp" in predictions)
    said = capsys.readouterr().err
    if warning:
        assert warning.format(p=tmp_path / "predictions.json", g=tmp_path / "gold.json") in said
        assert "Its ids are like 'other', those of the gold like 'h1'" in said
    else:
        assert said == ""


def test_only_predicted_scores_a_sample_as_its_own_gold_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    third = {**HOTPOTQA[0], "_id": "h3", "answer": None}
    gold = _json(tmp_path / "gold.json", [*HOTPOTQA, third])
    predictions = _json(tmp_path / "p.json", {"answer": {"h2": "yes", "x": "y"}, "sp": {"h2": [["D", 0]]}})
    assert main(["score", "hotpotqa", str(gold), str(predictions)]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert (whole["em"], whole["questions"], whole["missing"]) == (0.5, 2, 1)
    assert main(["score", "hotpotqa", str(gold), str(predictions), "--only-predicted"]) == 0
    got = json.loads(capsys.readouterr().out)
    assert (got.pop("only_predicted"), got.pop("left_out")) == (True, 1)
    assert (got["em"], got["sp_em"], got["joint_em"], got["missing"], got["unknown"]) == (1, 1, 1, 0, 1)
    assert got == score("hotpotqa", _json(tmp_path / "part.json", HOTPOTQA[1:]), predictions)


def test_only_predicted_leaves_out_a_question_with_supporting_facts_alone(tmp_path: Path) -> None:
    gold = _json(tmp_path / "gold.json", HOTPOTQA)
    facts = {"h1": [["C", 1]], "h2": [["D", 0]], "x": []}
    predictions = _json(tmp_path / "p.json", {"answer": {"h2": "yes"}, "sp": facts})
    got = score("hotpotqa", gold, predictions, only_predicted=True)
    assert (got["em"], got["sp_em"], got["joint_em"]) == (1, 1, 1)
    assert (got["questions"], got["missing"], got["left_out"], got["unknown_sp"]) == (1, 0, 1, 1)


def test_only_predicted_without_any_prediction_is_refused(tmp_path: Path) -> None:
    gold = _lines(tmp_path / "gold.jsonl", NQ)
    with pytest.raises(UserError, match=r"p\.json has no answer for any of the 2 questions of .*gold\.jsonl"):
        score("nq", gold, _json(tmp_path / "p.json", {"why": "x"}), only_predicted=True)


@pytest.mark.parametrize(
    ("benchmark", "gold", "predictions", "message"),
    [
        ("hotpotqa", HOTPOTQA, {"h1": None}, "answer of 'h1' is None"),
        ("hotpotqa", HOTPOTQA, {"h1": True}, "answer of 'h1' is True"),
        ("hotpotqa", HOTPOTQA, {"h1": ["a"]}, "answer of 'h1'"),
        ("hotpotqa", HOTPOTQA, ["a"], "not a JSON object"),
        ("hotpotqa", HOTPOTQA, {"answer": {"h1": "x"}, "sp": {"h1": [["A"]]}}, "'sp' of 'h1'"),
        ("hotpotqa", HOTPOTQA, {"h1": "x", "hotpotqa:h1": "y"}, "'h1' is answered twice"),
        ("hotpotqa", [*HOTPOTQA, HOTPOTQA[0]], {}, "record 3: question id 'h1' occurs twice"),
        ("hotpotqa", OTTQA, {}, "record 1: not a native hotpotqa record .*`_id`"),
        ("ottqa", OTTQA, [{"question_id": "o1"}], "record 1"),
        ("ottqa", [{"question_id": "o1", "question": "q"}], {}, "none of the 1 questions has a gold answer"),
        ("lvbench", LVBENCH, {"1": ["A"]}, "answer of '1'"),
        ("squad", HOTPOTQA, {}, "unknown benchmark 'squad'"),
    ],
)
def test_bad_input_is_named(tmp_path: Path, benchmark: str, gold: list[Any], predictions: Any, message: str) -> None:
    with pytest.raises(UserError, match=message.replace("[", r"\[")):
        _score(tmp_path, benchmark, gold, predictions)


GOLDS = {"nq": NQ, "hotpotqa": HOTPOTQA, "ottqa": OTTQA, "mmqa": MMQA, "lvbench": LVBENCH}


@pytest.mark.parametrize(("benchmark", "other"), list(itertools.permutations(GOLDS, 2)))
def test_gold_of_another_benchmark_is_refused(tmp_path: Path, benchmark: str, other: str) -> None:
    with pytest.raises(UserError, match=r"record 1: not a native|none of the 1 questions has a gold answer"):
        _score(tmp_path, benchmark, GOLDS[other][:1], {"q": "x"})


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("cut.json", b'{"h1": "x", "h2', "not JSON"),
        ("cut.jsonl", b'{"h1": "x"}\n{"h2', r"line 2"),
        ("latin.json", '{"h1": "é"}'.encode("latin-1"), "UTF-8"),
        ("cut.json.gz", gzip.compress(b'{"h1": "x"}' * 99)[:40], "cannot be read"),
        ("twice.json", b'{"h1": "x", "h1": "y"}', "'h1' occurs twice"),
    ],
)
def test_damaged_predictions_files(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=message):
        score("hotpotqa", _json(tmp_path / "gold.json", HOTPOTQA), tmp_path / name)


def test_missing_file_and_byte_order_mark(tmp_path: Path) -> None:
    gold = _json(tmp_path / "gold.json", HOTPOTQA)
    with pytest.raises(UserError, match=r"none\.json"):
        score("hotpotqa", gold, tmp_path / "none.json")
    (tmp_path / "bom.json").write_bytes(b"\xef\xbb\xbf" + b'{"h2": "yes"}\r\n')
    assert score("hotpotqa", gold, tmp_path / "bom.json")["em"] == 0.5


@pytest.mark.skipif(not SHARED.is_dir(), reason="real benchmark slices are not on this machine")
@pytest.mark.parametrize(
    ("benchmark", "name", "count", "empty"),
    [
        ("nq", "nq/nq_open/NQ-open.dev.first500.jsonl", 500, 2),
        ("nq", "nq/nq_open/NQ-open.train.5lines.jsonl", 5, 0),
        ("nq", "nq/dpr/biencoder-nq-dev.sample.json", 5, 0),
        ("hotpotqa", "hotpotqa/hotpot_train_v1.1.slice.json", 50, 0),
        ("ottqa", "ottqa/released_data/dev.json", 539, 1),
        ("ottqa", "ottqa/released_data/dev.traced.json", 539, 1),
        ("mmqa", "mmqa/MMQA_dev.slice.jsonl.gz", 400, 0),
        ("lvbench", "lvbench/video_info.meta.native_excerpt.jsonl", 1, 0),
    ],
)
def test_perfect_answers_on_real_files_score_full(
    tmp_path: Path, benchmark: str, name: str, count: int, empty: int
) -> None:
    golds = read_gold(benchmark, SHARED / name)
    answers = {g.qid: list(g.answers) if benchmark == "mmqa" else g.answers[0] for g in golds}
    got = score(benchmark, SHARED / name, _json(tmp_path / "p.json", answers))
    assert (got["questions"], got["missing"], got["unknown"]) == (count, 0, 0)
    assert got["accuracy" if benchmark == "lvbench" else "em"] == 1
    # Gold answers such as "---", of which nothing is left: OTT-QA's rule lets an empty answer have F1 1, NQ's does not.
    assert len(got["empty_gold"]) == empty
    if benchmark != "lvbench":
        assert got["f1"] == pytest.approx(1 if benchmark == "ottqa" else 1 - empty / count)
