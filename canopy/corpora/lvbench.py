"""LVBench: multiple-choice questions over long videos.

Source: `video_info.meta.jsonl` of the official release; the videos, named by their key, in a local folder. Gold: the
units that the time reference overlaps. A reference that lies beyond the end of its video (`duration_minutes`; where
that is not given, beyond 24 hours) is gold that could not be located.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, NamedTuple

from canopy.contracts import Gold, Item, Question, Split
from canopy.corpora.files import Found, Kind, split_of, used_split
from canopy.corpora.json_records import records
from canopy.corpora.media import MediaFiles
from canopy.corpora.native import (
    Fault,
    excerpt,
    guarded,
    is_index,
    listed,
    obj,
    optional_text,
    place_of,
    question_text,
    strings,
    text,
    to_json,
)
from canopy.corpora.raw import RawFile, Record
from canopy.corpora.seen import Seen
from canopy.corpora.sink import Sink
from canopy.settings.corpora import ParseSettings
from canopy.video.grid import clip_of, units_per_clip

KINDS = (Kind("questions", r"video_info\.meta.*\.jsonl?$", "video_info.meta.jsonl", keys=("key", "qa")),)
VIDEO_SUFFIXES = (".mp4", ".mkv", ".webm", ".mov", ".avi", ".m4v")
LONGEST_MS = 24 * 3600 * 1000
_MINUTE_MS = 60_000
_OPTION = re.compile(r"^[ \t]*\(([A-Z])\)[ \t]*", re.MULTILINE)
_INLINE = re.compile(r"\(([A-Z])\)[ \t]*")
_SPAN = re.compile(r"\s*([\d:.]+)\s*[-–—~]\s*([\d:.]+)\s*")  # noqa: RUF001  dashes seen in the wild
_CLOCK = re.compile(r"(?:(\d{1,3}):)?(\d{1,6}):(\d{1,2}(?:\.\d{1,9})?)", re.ASCII)


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
    parser.media.warn("lvbench", f"beside video_info.meta.jsonl, named by their key (KEY{VIDEO_SUFFIXES[0]})")


class _Video(NamedTuple):
    """What the questions of a video need to know of it."""

    key: str
    item_id: str
    present: bool
    length_ms: int


class _Parser:
    def __init__(self, settings: ParseSettings, sink: Sink, videos: dict[str, Path]) -> None:
        self.settings = settings
        self.sink = sink
        self.videos = videos
        self.media = MediaFiles(sink, "video")
        self.seen = Seen()
        self.qids = Seen()

    def video(self, file: RawFile, record: Record) -> None:
        raw = obj(record.value)
        split = used_split(split_of(file.path, default="test"), self.settings.splits)
        key, questions = text(raw, "key"), listed(raw, "qa")
        length_ms = self._length(file, record, raw.get("video_info"))
        video = _Video(key, f"lvbench:{key}", key in self.videos, length_ms)
        if self.seen.add(video.item_id) == "new":
            path = self.media.path(self.videos.get(key), file, record, key)
            if path is not None:
                source = place_of(file, record)
                self.sink.item(Item(video.item_id, "lvbench", video.item_id, "video", key, path, (), source=source))
        for position, native in enumerate(questions):
            place = f"{record.place}, question {position + 1}"
            try:
                self._question(file, place, obj(native, "a question"), video, split)
            except Fault as fault:
                self.sink.quarantine.add(file.group, file.path, place, str(fault), excerpt(native))

    def _length(self, file: RawFile, record: Record, info: Any) -> int:
        """Length of a video in milliseconds at most: as given, and a minute for rounding; 24 hours if not given."""
        minutes = obj(info, "`video_info`").get("duration_minutes") if info is not None else None
        if minutes is None:
            return LONGEST_MS
        if not (is_index(minutes) or isinstance(minutes, float)) or not 0 < minutes <= LONGEST_MS // _MINUTE_MS:
            kind = "`duration_minutes` is not a number of minutes up to 24 hours, taken as unknown"
            self.sink.quarantine.notice(kind, file.path, record.place, excerpt(minutes))
            return LONGEST_MS
        return min(math.ceil(minutes * _MINUTE_MS) + _MINUTE_MS, LONGEST_MS)

    def _question(self, file: RawFile, place: str, raw: dict[str, Any], video: _Video, split: Split) -> None:
        uid, (stem, choices) = text(raw, "uid"), options(question_text(raw))
        answers = _letter(raw.get("answer"), len(choices))
        types, reference = _types(raw), optional_text(raw, "time_reference")
        if self.qids.add(uid) != "new":
            raise Fault(f"the uid {uid} is repeated")
        gold: tuple[Gold, ...] = ()
        if reference and video.present:
            gold = self._gold(file, place, video, reference)
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
                gold_missing=int(bool(reference) and not gold),
                question_type="|".join(types),
                native=to_json({"key": video.key, "time_reference": raw.get("time_reference")}),
            )
        )

    def _gold(self, file: RawFile, place: str, video: _Video, reference: str) -> tuple[Gold, ...]:
        """Clips and units of a time reference; none, with a notice, for one that is not a part of the video."""
        try:
            span = time_span(reference, video.length_ms)
        except Fault as fault:
            self.sink.quarantine.notice(f"{fault}, gold counted as missing", file.path, place, reference)
            return ()
        return tuple(clip_of(video.item_id, *span, self.settings.segment_seconds, self.settings.clip_seconds))


def options(question: str) -> tuple[str, tuple[str, ...]]:
    """Stem and option texts of a question with its options inside.

    Options start with (A), (B) ... in this order, each on its own line or, failing that, all on one; an option may
    hold further parentheses and lines.

    Raises:
        Fault: there are not at least two options, or there is no stem.
    """
    for pattern in (_OPTION, _INLINE):
        marks: list[re.Match[str]] = []
        for match in pattern.finditer(question):
            if match.group(1) == chr(ord("A") + len(marks)):
                marks.append(match)
        if len(marks) >= 2:
            ends = [m.start() for m in marks[1:]] + [len(question)]
            texts = tuple(question[m.end() : end].strip() for m, end in zip(marks, ends, strict=True))
            stem = question[: marks[0].start()].strip()
            if not stem:
                raise Fault("`question` has no text before its options")
            return stem, texts
    raise Fault("`question` holds no options (A), (B) ...")


def time_span(reference: str, length_ms: int = LONGEST_MS) -> tuple[int, int]:
    """Start and end in milliseconds of `MM:SS-MM:SS` or `H:MM:SS-H:MM:SS` (minutes may exceed 59).

    Raises:
        Fault: it is neither, or ends before its start or after ``length_ms`` milliseconds.
    """
    match = _SPAN.fullmatch(reference)
    clocks = [_CLOCK.fullmatch(part) for part in match.groups()] if match else []
    bounds = [_milliseconds(clock) for clock in clocks if clock]
    if len(bounds) != 2:
        raise Fault("`time_reference` is not MM:SS-MM:SS or H:MM:SS-H:MM:SS")
    start, end = bounds
    if end < start:
        raise Fault("`time_reference` ends before its start")
    if end > length_ms:
        raise Fault("`time_reference` ends after the video")
    return start, end


def _milliseconds(clock: re.Match[str]) -> int:
    hours, minutes, seconds = clock.groups()
    return (int(hours or 0) * 60 + int(minutes)) * _MINUTE_MS + round(float(seconds) * 1000)


def _types(raw: dict[str, Any]) -> list[str]:
    types = raw.get("question_type")
    if types is None or isinstance(types, str):
        return [types] if types else []
    return strings(types, "`question_type`")


def _letter(answer: Any, count: int) -> tuple[str, ...]:
    if answer is None or answer == "":
        return ()
    letters = [chr(ord("A") + i) for i in range(count)]
    if not isinstance(answer, str) or answer.strip().strip("().").upper() not in letters:
        raise Fault(f"`answer` is {answer!r}, not one of the options {', '.join(letters)}")
    return (answer.strip().strip("().").upper(),)
