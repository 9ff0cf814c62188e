"""LVBench: multiple-choice questions over long videos.

Source: `video_info.meta.jsonl` of the official release; the videos, named by their key, in a local folder. Gold: the
units that the time reference overlaps.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from canopy.contracts import Gold, Item, Question, Split
from canopy.corpora.files import Found, Kind, split_of, used_split
from canopy.corpora.json_records import records
from canopy.corpora.native import Fault, as_path, guarded, listed, obj, place_of, text, to_json
from canopy.corpora.raw import RawFile, Record
from canopy.corpora.seen import Seen
from canopy.corpora.sink import Sink
from canopy.settings.corpora import ParseSettings
from canopy.video.grid import clip_of, units_per_clip

KINDS = (Kind("questions", r"video_info\.meta.*\.jsonl?$", "video_info.meta.jsonl", keys=("key", "qa")),)
VIDEO_SUFFIXES = (".mp4", ".mkv", ".webm", ".mov", ".avi", ".m4v")
_OPTION = re.compile(r"^[ \t]*\(([A-Z])\)[ \t]*", re.MULTILINE)
_INLINE = re.compile(r"\(([A-Z])\)[ \t]*")
_SPAN = re.compile(r"\s*([\d:.]+)\s*[-–—~]\s*([\d:.]+)\s*")  # noqa: RUF001  dashes seen in the wild


def parse(found: Found, settings: ParseSettings, sink: Sink) -> None:
    """Read all files of the benchmark into the sink."""
    units_per_clip(settings.segment_seconds, settings.clip_seconds)
    videos: dict[str, Path] = {}
    for name, path in sorted(found.by_name.items()):
        if path.suffix.lower() in VIDEO_SUFFIXES:
            videos.setdefault(Path(name).stem, path)
    parser = _Parser(settings, sink, videos)
    for file in found.of("questions"):
        guarded(file, records(file, sink.quarantine), sink, parser.video)


class _Parser:
    def __init__(self, settings: ParseSettings, sink: Sink, videos: dict[str, Path]) -> None:
        self.settings = settings
        self.sink = sink
        self.videos = videos
        self.seen = Seen()
        self.qids = Seen()

    def video(self, file: RawFile, record: Record) -> None:
        raw = obj(record.value)
        split = used_split(split_of(file.path, default="test"), self.settings.splits)
        key, questions = text(raw, "key"), listed(raw, "qa")
        item_id = f"lvbench:{key}"
        path = self.videos.get(key)
        if self.seen.add(item_id) == "new":
            if path is None:
                self.sink.quarantine.notice("video file not found, no item", file.path, record.place, key)
            else:
                source = place_of(file, record)
                self.sink.item(Item(item_id, "lvbench", item_id, "video", key, as_path(path), (), source=source))
        for position, native in enumerate(questions):
            try:
                self._question(obj(native, "a question"), key, split, path is not None)
            except Fault as fault:
                where = f"{record.place}, question {position + 1}"
                self.sink.quarantine.add(file.group, file.path, where, str(fault), str(native))

    def _question(self, raw: dict[str, Any], key: str, split: Split, present: bool) -> None:
        uid, (stem, choices) = text(raw, "uid"), options(text(raw, "question"))
        answers = _letter(raw.get("answer"), len(choices))
        if self.qids.add(uid, f"{key} {stem}") != "new":
            raise Fault(f"the uid {uid} is repeated")
        gold, missing = self._gold(f"lvbench:{key}", raw.get("time_reference"), present)
        types = raw.get("question_type") or []
        self.sink.question(
            Question(
                qid=f"lvbench:{uid}",
                benchmark="lvbench",
                split=split,
                question=stem,
                choices=choices,
                answers=answers,
                answer_kind="letter",
                gold=gold,
                gold_missing=missing,
                question_type="|".join([types] if isinstance(types, str) else [str(t) for t in types]),
                native=to_json({"key": key, "time_reference": raw.get("time_reference")}),
            )
        )

    def _gold(self, video: str, reference: Any, present: bool) -> tuple[tuple[Gold, ...], int]:
        if reference is None or reference == "":
            return (), 0
        span = time_span(reference)
        if span is None or not present:
            return (), 1
        settings = self.settings
        return tuple(clip_of(video, *span, settings.segment_seconds, settings.clip_seconds)), 0


def options(question: str) -> tuple[str, tuple[str, ...]]:
    """Stem and option texts of a question with its options inside.

    Options start with (A), (B) ... in this order, each on its own line or, failing that, all on one; an option may
    hold further parentheses and lines.

    Raises:
        Fault: there are not at least two options.
    """
    for pattern in (_OPTION, _INLINE):
        marks: list[re.Match[str]] = []
        for match in pattern.finditer(question):
            if match.group(1) == chr(ord("A") + len(marks)):
                marks.append(match)
        if len(marks) >= 2:
            ends = [m.start() for m in marks[1:]] + [len(question)]
            texts = tuple(question[m.end() : end].strip() for m, end in zip(marks, ends, strict=True))
            return question[: marks[0].start()].strip(), texts
    raise Fault("`question` holds no options (A), (B) ...")


def time_span(reference: Any) -> tuple[int, int] | None:
    """Start and end in milliseconds of `MM:SS-MM:SS` or `H:MM:SS-H:MM:SS` (minutes may exceed 59), else None."""
    match = _SPAN.fullmatch(reference) if isinstance(reference, str) else None
    if match is None:
        return None
    start, end = (_milliseconds(part) for part in match.groups())
    return None if start is None or end is None or end < start else (start, end)


def _milliseconds(clock: str) -> int | None:
    parts = clock.split(":")
    if not 2 <= len(parts) <= 3 or not all(re.fullmatch(r"\d+(\.\d+)?", p) for p in parts):
        return None
    seconds = 0.0
    for part in parts:
        seconds = seconds * 60 + float(part)
    return round(seconds * 1000)


def _letter(answer: Any, count: int) -> tuple[str, ...]:
    if answer is None or answer == "":
        return ()
    letters = [chr(ord("A") + i) for i in range(count)]
    if not isinstance(answer, str) or answer.strip().strip("().").upper() not in letters:
        raise Fault(f"`answer` is {answer!r}, not one of the options {', '.join(letters)}")
    return (answer.strip().strip("().").upper(),)
