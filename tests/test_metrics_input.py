"""``canopy score`` on malformed gold and predictions: each is refused by name, none ends in a traceback."""

from __future__ import annotations

import bz2
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from json_places import places, put

from canopy.errors import UserError
from canopy.metrics.score import score

LONG = "9" * 5000
# Stands for LONG, which json.dumps cannot write.
LONG_MARK = "@long@"

GOLD: dict[str, Any] = {
    "nq": [{"id": "n1", "question": "who", "answer": ["Bob", "Bob Russell"]}, {"question": "when", "answer": "1972"}],
    "hotpotqa": [
        {"_id": "h1", "answer": "x", "type": "bridge", "level": "easy", "supporting_facts": [["T", 0], ["U", 1]]},
        {"id": "h2", "answer": "yes", "supporting_facts": {"title": ["T"], "sent_id": [0]}},
    ],
    "ottqa": [{"question_id": "o1", "answer-text": "1996"}],
    "mmqa": [
        {"qid": "m1", "metadata": {"type": "TableQ"}, "answers": [{"answer": 2.0, "modality": "table"}]},
        {"qid": "m2", "metadata": {"type": "TextQ"}, "answers": [{"answer": "Paris"}, {"answer": "Rome"}]},
    ],
    "lvbench": [{"key": "v", "qa": [{"uid": "1", "answer": "A", "question_type": ["reasoning"]},
                                    {"uid": 2, "answer": "B", "question_type": "summarization"}]}],
}  # fmt: skip
REFERENCE = {"reference": {"o1": "1996", "o2": "x"}, "table": ["o1"], "passage": ["o2"]}
ANSWERS: dict[str, Any] = {
    "nq": {"who": "Bob"},
    "hotpotqa": {"answer": {"h1": "x"}, "sp": {"h1": [["T", 0]]}},
    "ottqa": [{"question_id": "o1", "pred": "1996"}],
    "mmqa": {"m1": "two", "m2": ["Paris", "Rome"]},
    "lvbench": {"1": "A"},
}
CASES = [
    *((benchmark, GOLD[benchmark], ANSWERS[benchmark]) for benchmark in GOLD),
    ("nq", GOLD["nq"], [{"question": "who", "prediction": "Bob"}]),
    ("ottqa", REFERENCE, {"o1": "1996"}),
]


def _score(folder: Path, benchmark: str, gold: Any, predictions: Any) -> dict[str, Any]:
    paths = []
    for name, value in (("gold.json", gold), ("predictions.json", predictions)):
        paths.append(folder / name)
        paths[-1].write_text(json.dumps(value).replace(f'"{LONG_MARK}"', LONG), encoding="utf-8")
    return score(benchmark, *paths)


def _refused(folder: Path, benchmark: str, gold: Any, predictions: Any) -> str:
    with pytest.raises(UserError) as error:
        _score(folder, benchmark, gold, predictions)
    return str(error.value)


@pytest.mark.parametrize(
    ("benchmark", "gold", "message"),
    [
        ("nq", {"question": None, "answer": ["x"]}, "`question` is None"),
        ("nq", {"question": "q", "answer": [1]}, "an entry of `answer` is 1"),
        ("nq", {"question": "q", "answer": ["\ud800"]}, "half of a surrogate pair"),
        ("nq", {"question": "q", "answer": ["x"], "id": {"a": 1}}, "`id` is {'a': 1}"),
        ("hotpotqa", {"_id": None, "answer": "x"}, "`_id` is None"),
        ("hotpotqa", {"_id": 7, "answer": "x"}, "`_id` is 7"),
        ("hotpotqa", {"_id": ["h"], "answer": "x"}, "`_id` is ['h']"),
        ("hotpotqa", {"_id": "h", "answer": 7}, "`answer` is 7"),
        ("hotpotqa", {"_id": "h", "answer": "x", "type": 1}, "`type` is 1"),
        ("hotpotqa", {"_id": "h", "answer": "x", "supporting_facts": [["T", 0.7]]}, "index 0.7"),
        ("hotpotqa", {"_id": "h", "answer": "x", "supporting_facts": [["T", float("inf")]]}, "index inf"),
        ("hotpotqa", {"_id": "h", "answer": "x", "supporting_facts": {"title": ["T"], "sent_id": []}}, "lengths"),
        ("ottqa", {"question_id": 5, "answer-text": "x"}, "`question_id` is 5"),
        ("ottqa", {"question_id": "o", "answer-text": 1996}, "`answer-text` is 1996"),
        ("ottqa", {"reference": {"o": None}}, "the answer of 'o' is None"),
        ("ottqa", {"reference": {"o": "x"}, "table": "o"}, "`table` is 'o'"),
        ("mmqa", {"qid": None, "answers": []}, "`qid` is None"),
        ("mmqa", {"qid": "m", "answers": [{"answer": None}]}, "is None, not text"),
        ("mmqa", {"qid": "m", "answers": [{"answer": True}]}, "is True, not text"),
        ("mmqa", {"qid": "m", "answers": [{"answer": float("nan")}]}, "is nan, not text"),
        ("mmqa", {"qid": "m", "answers": [{"answer": "x", "modality": ["table"]}]}, "`modality` is ['table']"),
        ("mmqa", {"qid": "m", "answers": [{"answer": "x"}], "metadata": {"type": 1}}, "`type` of `metadata` is 1"),
        ("lvbench", {"qa": [{"uid": None, "answer": "A"}]}, "`uid` of question 1 is None"),
        ("lvbench", {"qa": [{"uid": 1.5, "answer": "A"}]}, "`uid` of question 1 is 1.5"),
        ("lvbench", {"qa": [{"uid": "1", "answer": "a"}]}, "`answer` of question 1 is 'a'"),
        ("lvbench", {"qa": [{"uid": "1", "answer": "A "}]}, "`answer` of question 1 is 'A '"),
        (
            "lvbench",
            {"qa": [{"uid": "1", "answer": "Z", "question": "Who?\n(A) Al\n(B) Bo"}]},
            "`answer` of question 1 is 'Z', but the question's options are A, B",
        ),
        ("lvbench", {"qa": [{"uid": "1", "answer": "A", "question_type": [1]}]}, "`question_type` of question 1 is 1"),
    ],
)
def test_gold_with_a_wrong_field_is_refused(tmp_path: Path, benchmark: str, gold: Any, message: str) -> None:
    said = _refused(tmp_path, benchmark, [GOLD[benchmark][0], gold], ANSWERS[benchmark])
    assert "record 2: " in said
    assert message in said


@pytest.mark.parametrize(
    ("benchmark", "predictions", "message"),
    [
        ("nq", {"who": float("nan")}, "the answer of 'who' is nan"),
        ("nq", {"who": True}, "the answer of 'who' is True"),
        ("nq", {"who": "\ud83d"}, "the answer of 'who' holds half of a surrogate pair"),
        ("nq", {"\ud800": "x"}, r"an id holds half of a surrogate pair: '\ud800'"),
        ("hotpotqa", {"answer": {}, "sp": {"h1": [["T", 0.7]]}}, "'sp' of 'h1'"),
        ("hotpotqa", {"answer": {}, "sp": {"h1": ["T0"]}}, "'sp' of 'h1'"),
        ("hotpotqa", {"answer": {}, "sp": {"h1": [["T", "0"]]}}, "'sp' of 'h1'"),
        ("hotpotqa", {"answer": {}, "sp": {"h1": [[None, 0]]}}, "'sp' of 'h1'"),
        ("hotpotqa", {"answer": {}, "sp": {"h1": [["T", float("-inf")]]}}, "'sp' of 'h1'"),
        ("mmqa", {"m1": ["x", None]}, "a part of the answer of 'm1' is None"),
        ("mmqa", {"m1": [float("inf")]}, "a part of the answer of 'm1' is inf"),
        ("ottqa", [{"question_id": None, "pred": "x"}], "record 1"),
        ("ottqa", [{"question_id": 5, "pred": "x"}], "record 1"),
    ],
)
def test_prediction_with_a_wrong_field_is_refused(
    tmp_path: Path, benchmark: str, predictions: Any, message: str
) -> None:
    said = _refused(tmp_path, benchmark, GOLD[benchmark], predictions)
    assert "predictions.json" in said
    assert message in said


@pytest.mark.parametrize("answer", [[[["x" * 100] * 1000] * 10], [["x" * 9999]], json.loads("[" * 500 + "]" * 500)])
def test_message_about_a_large_prediction_is_short(tmp_path: Path, answer: Any) -> None:
    said = _refused(tmp_path, "mmqa", GOLD["mmqa"], {"m1": answer})
    assert "the answer of 'm1' is [" in said
    assert len(said) - len(str(tmp_path)) < 400


def test_sentence_index_written_as_a_float_counts(tmp_path: Path) -> None:
    predictions = {"answer": {}, "sp": {"h1": [["T", 0.0], ["U", 1.0]]}}
    assert _score(tmp_path, "hotpotqa", GOLD["hotpotqa"][:1], predictions)["sp_em"] == 1


ODD = [None, True, 1, float("inf"), "", [], {}, "\ud800", [[[]]], LONG_MARK]


@pytest.mark.parametrize(("benchmark", "gold", "predictions"), CASES)
def test_any_field_of_any_kind_scores_or_is_refused(
    tmp_path: Path, benchmark: str, gold: Any, predictions: Any
) -> None:
    assert _score(tmp_path, benchmark, gold, predictions)["unknown"] == 0
    changed = [(put(gold, place, odd), predictions) for place in places(gold) for odd in ODD]
    changed += [(gold, put(predictions, place, odd)) for place in places(predictions) for odd in ODD]
    for pair in changed:
        try:
            json.dumps(_score(tmp_path, benchmark, *pair), ensure_ascii=False).encode()
        except UserError as error:
            assert "json" in str(error)  # the file is named
        except Exception as error:
            pytest.fail(f"{error!r} from {pair}")


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ("'Bob'", "a Python str, not a list of strings"),
        ("('Bob', 'Al')", "a Python tuple, not a list"),
        ("{'Bob': 1}", "a Python dict, not a list"),
        ("1", "a Python int, not a list"),
        ("['Bob', 1]", "an answer is a Python int"),
        ("[['Bob']]", "an answer is a Python list"),
        ("[None]", "an answer is a Python NoneType"),
        (r"['\ud800']", "half of a surrogate pair"),
        ("-" * 50_000, "not a Python list of strings"),
        ("[" * 50_000, "not a Python list of strings"),
        (f"[{LONG}]", "not a Python list of strings"),
        ("{[]: 1}", "not a Python list of strings"),
        ("[f()]", "not a Python list of strings"),
        ("['Bob']\tmore", "3 columns"),
    ],
)
def test_csv_row_without_a_list_of_strings_is_refused(tmp_path: Path, literal: str, message: str) -> None:
    gold = tmp_path / "nq-test.qa.csv"
    gold.write_text(f"who\t['Bob']\nwhen\t{literal}\n", encoding="utf-8")
    (tmp_path / "p.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UserError) as error:
        score("nq", gold, tmp_path / "p.json")
    assert "nq-test.qa.csv, line 2: " in str(error.value)
    assert message in str(error.value)
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".zst", zstandard.ZstdCompressor().compress)],
)
def test_csv_compressed_with_long_fields_and_blank_lines(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    long = "x" * 200_000
    gold = tmp_path / f"nq-test.qa.csv{suffix}"
    gold.write_bytes(pack(f"who\t\"['{long}', 'O\"\"Neill']\"\n\nwhen\t['1972']\n\n".encode()))
    predictions = tmp_path / "p.json"
    predictions.write_text(json.dumps({"who": long, "when": "1971"}), encoding="utf-8")
    assert score("nq", gold, predictions)["em"] == 0.5


def _refused_text(folder: Path, text: str) -> str:
    (folder / "p.json").write_text(text, encoding="utf-8")
    (folder / "gold.json").write_text(json.dumps(GOLD["lvbench"]), encoding="utf-8")
    with pytest.raises(UserError) as error:
        score("lvbench", folder / "gold.json", folder / "p.json")
    return str(error.value)


@pytest.mark.parametrize("text", [f'{{"1": "A",\n"2": {LONG}}}', f'{{"1": "A"}}\n{{"2": {LONG}}}'])
def test_long_integer_is_named_by_its_line(tmp_path: Path, text: str) -> None:
    assert "p.json, line 2: an integer is too long" in _refused_text(tmp_path, text)


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    assert "nested too deeply" in _refused_text(tmp_path, "[" * 100_000)


def test_repeated_key_in_a_large_file_is_found_at_once(tmp_path: Path) -> None:
    many = ", ".join(f'"{n}": "A"' for n in range(100_000))
    assert "'99999' occurs twice" in _refused_text(tmp_path, f'{{{many}, "99999": "B"}}')


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_folder_or_pipe_instead_of_a_file(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "odd")
    (tmp_path / "gold.json").write_text(json.dumps(GOLD["lvbench"]), encoding="utf-8")
    with pytest.raises(UserError, match=r"odd: a (folder|pipe), not a file"):
        score("lvbench", tmp_path / "gold.json", tmp_path / "odd")
