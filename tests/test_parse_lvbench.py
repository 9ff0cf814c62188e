from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parsing import REAL, needs_real, parse, write

from canopy.contracts import Gold
from canopy.corpora.lvbench import options, time_span
from canopy.corpora.native import Fault
from canopy.errors import ConfigError
from canopy.video.grid import clip_id, clip_of

OPTIONS = "What year?\n(A) 1636\n(B) 1366\n(C) 1363\n(D) 1633"


def qa(uid: str = "1", time: Any = "00:15-00:19", **more: Any) -> dict[str, Any]:
    return {"uid": uid, "question": OPTIONS, "answer": "D", "question_type": ["a", "b"], "time_reference": time, **more}


def video(questions: list[Any], key: str = "Cm-73_x", minutes: Any = 90) -> dict[str, Any]:
    return {"key": key, "qa": questions, "type": "cartoon", "video_info": {"duration_minutes": minutes}}


def test_native_line(tmp_path: Path) -> None:
    files = {"video_info.meta.jsonl": [video([qa()])], "videos/Cm-73_x.mp4": b"film"}
    found = parse("lvbench", write(tmp_path / "raw", files), tmp_path / "out")
    (item,) = found.items.values()
    assert (item.item_id, item.doc_id, item.modality, item.units) == ("lvbench:Cm-73_x", "lvbench:Cm-73_x", "video", ())
    assert Path(item.content).read_bytes() == b"film"
    q = found.questions["lvbench:1"]
    assert (q.question, q.choices, q.answers) == ("What year?", ("1636", "1366", "1363", "1633"), ("D",))
    assert (q.answer_kind, q.question_type, q.split) == ("letter", "a|b", "test")
    assert q.gold == (Gold("lvbench:Cm-73_x#0", (0,)),)


def test_grid_follows_the_settings(tmp_path: Path) -> None:
    files = {"video_info.meta.train.jsonl": [video([qa(time="1:00:05-1:00:25")])], "videos/Cm-73_x.mkv": b"film"}
    raw = write(tmp_path / "raw", files)
    found = parse("lvbench", raw, tmp_path / "out", segment_seconds=10, clip_seconds=60, splits={"train": "dev"})
    q = found.questions["lvbench:1"]
    assert q.gold == (Gold("lvbench:Cm-73_x#60", (0, 1, 2)),)
    assert q.split == "dev"
    with pytest.raises(ConfigError, match="clip_seconds"):
        parse("lvbench", raw, tmp_path / "out2", segment_seconds=7, clip_seconds=60)


def test_missing_videos_are_listed_and_their_questions_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = {"video_info.meta.jsonl": [video([qa("1"), qa("2", time=None)])]}
    found = parse("lvbench", write(tmp_path / "raw", files), tmp_path / "out")
    assert found.summary["missing_media"] == found.facts["missing_media"] == 1
    (warning,) = caplog.messages
    assert "1 of 1 video files are missing" in warning
    assert "(Cm-73_x): put them beside video_info.meta.jsonl" in warning
    assert found.notices == [(1, "video file not found, no item")]
    assert [(q.gold, q.gold_missing) for q in found.questions.values()] == [((), 1), ((), 0)]
    assert found.summary["quarantined"] == 0


def test_bad_questions_are_set_apart_and_their_video_kept(tmp_path: Path) -> None:
    questions = [
        qa("1"),
        qa("1"),
        qa("2", answer="E"),
        qa("3", question="No options"),
        qa("4", time="soon"),
        qa("5", answer=None),
        7,
        qa("6", question_type=True),
        qa("7", question_type=["a", 1]),
        qa("8", time=[15, 19]),
        qa("9", question=OPTIONS.removeprefix("What year?")),
    ]
    files = {"video_info.meta.jsonl": [video(questions), {"qa": []}], "videos/Cm-73_x.mp4": b"film"}
    found = parse("lvbench", write(tmp_path / "raw", files), tmp_path / "out", max_quarantined=1)
    assert [q.qid for q in found.questions.values()] == ["lvbench:1", "lvbench:4", "lvbench:5"]
    assert found.questions["lvbench:4"].gold_missing == 1
    assert found.questions["lvbench:5"].answers == ()
    places = [place for place, _ in found.quarantine]
    assert places == [*(f"1, question {n}" for n in (2, 3, 4, 7, 8, 9, 10, 11)), 2]


@pytest.mark.parametrize(
    ("question", "stem", "choices"),
    [
        (OPTIONS, "What year?", ("1636", "1366", "1363", "1633")),
        (
            "Why (A)?\n(A) one (B) two\nmore\n(B) three\n(C) (D)\n(D) x",
            "Why (A)?",
            ("one (B) two\nmore", "three", "(D)", "x"),
        ),
        ("Pick one: (A) red (B) blue (C) green (D) none", "Pick one:", ("red", "blue", "green", "none")),
        ("Two\r\n(A) a\r\n(B) b", "Two", ("a", "b")),
    ],
)
def test_options(question: str, stem: str, choices: tuple[str, ...]) -> None:
    assert options(question) == (stem, choices)


def test_no_options() -> None:
    with pytest.raises(Fault):
        options("What?\n(B) b\n(C) c")


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("00:15-00:19", (15_000, 19_000)),
        ("75:01-75:01", (4_501_000, 4_501_000)),
        ("1:02:03-1:02:10", (3_723_000, 3_730_000)),
        (" 00:15 – 00:19 ", (15_000, 19_000)),  # noqa: RUF001
        ("00:15.5-00:19", (15_500, 19_000)),
        ("00:00-24:00:00", (0, 86_400_000)),
    ],
)
def test_time_spans(reference: str, expected: tuple[int, int]) -> None:
    assert time_span(reference) == expected


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("00:19-00:15", "ends before its start"),
        ("15-19", "is not MM:SS-MM:SS"),
        ("", "is not MM:SS-MM:SS"),
        ("00:15", "is not MM:SS-MM:SS"),
        ("1:2:3:4-1:2:3:5", "is not MM:SS-MM:SS"),
        (f"00:00-{'9' * 400}:00", "is not MM:SS-MM:SS"),
        (f"00:00-00:{'9' * 400}", "is not MM:SS-MM:SS"),
        ("00:00-999999:00", "ends after the video"),
        ("00:00-24:00:01", "ends after the video"),
    ],
)
def test_impossible_time_spans(reference: str, reason: str) -> None:
    with pytest.raises(Fault, match=reason):
        time_span(reference)


@pytest.mark.parametrize(
    ("reference", "minutes", "reason"),
    [
        ("00:00-99999999:00", 9, "is not MM:SS-MM:SS or H:MM:SS-H:MM:SS"),
        ("00:00-99999:00", None, "ends after the video"),
        ("00:00-10:01", 9, "ends after the video"),  # a minute more than it is long, for rounding, and a second
        ("00:19-00:15", 9, "ends before its start"),
        ("soon", 9, "is not MM:SS-MM:SS or H:MM:SS-H:MM:SS"),
    ],
)
def test_references_that_are_no_part_of_the_video(tmp_path: Path, reference: str, minutes: Any, reason: str) -> None:
    files = {"video_info.meta.jsonl": [video([qa(time=reference)], minutes=minutes)], "Cm-73_x.mp4": b"film"}
    found = parse("lvbench", write(tmp_path / "raw", files), tmp_path / "out")
    q = found.questions["lvbench:1"]
    assert (q.gold, q.gold_missing, q.answers) == ((), 1, ("D",))
    assert found.notices == [("1, question 1", f"`time_reference` {reason}, gold counted as missing")]
    assert found.summary["gold_missing"] == 1


def test_references_up_to_the_rounded_length_are_gold(tmp_path: Path) -> None:
    files = {"video_info.meta.jsonl": [video([qa(time="09:59-10:00")], minutes=9)], "Cm-73_x.mp4": b"film"}
    found = parse("lvbench", write(tmp_path / "raw", files), tmp_path / "out")
    assert found.questions["lvbench:1"].gold == (Gold("lvbench:Cm-73_x#1", (9,)),)


@pytest.mark.parametrize("minutes", ["9", True, -1, 0, float("nan"), float("inf"), 1e9])
def test_an_odd_length_is_taken_as_unknown(tmp_path: Path, minutes: Any) -> None:
    files = {"video_info.meta.jsonl": [video([qa(time="20:00-20:10")], minutes=minutes)], "Cm-73_x.mp4": b"film"}
    found = parse("lvbench", write(tmp_path / "raw", files), tmp_path / "out")
    assert found.questions["lvbench:1"].gold == (Gold("lvbench:Cm-73_x#4", (0,)),)
    assert found.notices == [(1, "`duration_minutes` is not a number of minutes up to 24 hours, taken as unknown")]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 0, [Gold("v#0", (0,))]),
        (15_000, 30_000, [Gold("v#0", (0,))]),
        (29_999, 30_001, [Gold("v#0", (0, 1))]),
        (30_000, 30_000, [Gold("v#0", (1,))]),
        (280_000, 340_000, [Gold("v#0", (9,)), Gold("v#1", (0, 1))]),
    ],
)
def test_clips(start: int, end: int, expected: list[Gold]) -> None:
    assert clip_of("v", start, end, 30, 300) == expected


@given(st.integers(0, 400), st.integers(0, 100), st.integers(1, 9), st.integers(1, 5))
def test_clips_hold_every_second_of_the_reference(start: int, length: int, segment: int, per_clip: int) -> None:
    found = {
        (g.item_id, u)
        for g in clip_of("v", start * 1000, (start + length) * 1000, segment, segment * per_clip)
        for u in g.units
    }
    seconds = range(start, start + max(length, 1))
    units = {s // segment for s in seconds}
    assert found == {(clip_id("v", u // per_clip), u % per_clip) for u in units}


@pytest.mark.parametrize(("start", "end"), [(-1, 5), (5, 4)])
def test_impossible_spans(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="time span"):
        clip_of("v", start, end, 30, 300)


@needs_real
def test_real_line(tmp_path: Path) -> None:
    found = parse("lvbench", REAL / "lvbench", tmp_path / "out")
    q = found.questions["lvbench:55"]
    assert (q.answers, q.choices[3], found.summary["records"]) == (("D",), "1633", 1)
    assert json.loads(q.native)["key"] == "Cm73ma6Ibcs"
