"""LVBench: multiple-choice questions, each answered by one 30-second segment of a film with signs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from canopy.contracts import Split
from canopy.corpora.mini.asking import Annotation, annotation
from canopy.corpora.mini.draw import scene
from canopy.corpora.mini.film import write_film
from canopy.corpora.mini.pictures import Shown
from canopy.corpora.mini.scenes import FILMS, Film
from canopy.corpora.mini.show import ask_shown, shown_value, step_shown
from canopy.corpora.mini.world import World

SEGMENT_SECONDS = 30
QUESTIONS_A_VIDEO: dict[Split, int] = {"train": 12, "dev": 6, "test": 6}
_LETTERS = "ABCD"


@dataclass
class Stop:
    """One segment: a title card and a sign, half of the time each."""

    name: str
    start: int  # seconds
    middle: int
    end: int
    values: dict[str, str]  # shown name -> value


@dataclass
class Video:
    """A film and its questions."""

    key: str
    film: Film
    title: str
    stops: list[Stop]
    qa: list[dict[str, Any]] = field(default_factory=list)

    @property
    def seconds(self) -> int:
        """Length of the film."""
        return self.stops[-1].end


@dataclass
class LvSplit:
    """The films of one split."""

    split: Split
    videos: list[Video] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)

    @property
    def segments(self) -> int:
        """Number of 30-second segments."""
        return sum(len(video.stops) for video in self.videos)


def make(world: World, questions: int, videos: int, minutes: tuple[int, int]) -> LvSplit:
    """Films until there are enough questions, and at least ``videos`` of them."""
    out = LvSplit(world.split)
    asked = 0
    per_video = QUESTIONS_A_VIDEO[world.split]
    while asked < questions or len(out.videos) < videos:
        video = _video(world, FILMS[len(out.videos) % len(FILMS)], minutes)
        out.videos.append(video)
        wanted = min(per_video, questions - asked, len(video.stops) * len(video.film.shown))
        pairs = [(stop, shown) for stop in video.stops for shown in video.film.shown]
        for stop, shown in world.rng.sample(pairs, max(wanted, 0)):
            _ask(world, out, video, stop, shown)
            asked += 1
    return out


def _video(world: World, film: Film, minutes: tuple[int, int]) -> Video:
    rng = world.rng
    low, high = (m * 60 // SEGMENT_SECONDS for m in minutes)
    # Short films are more common than long ones; the last segment may end early.
    count = max(2, round(rng.triangular(low, high, low)))
    seconds = count * SEGMENT_SECONDS - (rng.randint(0, 5) * 2 if count > low else 0)
    title = film.title.format(n=world.names.word("place").upper())
    used: dict[str, set[str]] = {shown.name: set() for shown in film.shown}
    stops = []
    for i in range(count):
        start, end = i * SEGMENT_SECONDS, min((i + 1) * SEGMENT_SECONDS, seconds)
        values = {shown.name: _fresh(world, shown, used[shown.name]) for shown in film.shown}
        stops.append(Stop(film.name.format(n=world.names.word("place")), start, (start + end) // 2, end, values))
    key = hashlib.md5(f"lvbench {title}".encode(), usedforsecurity=False).hexdigest()[:11]
    return Video(key, film, title, stops)


def _fresh(world: World, shown: Shown, used: set[str]) -> str:
    """A value that no other stop of the film shows, as long as there are others."""
    value = shown_value(world, shown)
    for _ in range(50):
        if value not in used:
            break
        value = shown_value(world, shown)
    used.add(value)
    return value


def _ask(world: World, out: LvSplit, video: Video, stop: Stop, shown: Shown) -> None:
    answer = stop.values[shown.name]
    others = sorted({s.values[shown.name] for s in video.stops} - {answer})
    world.rng.shuffle(others)
    options = [answer, *others[:3]]
    while len(options) < len(_LETTERS):
        value = shown_value(world, shown)
        if value not in options:
            options.append(value)
    world.rng.shuffle(options)
    letter = _LETTERS[options.index(answer)]
    stem = ask_shown(world, shown, stop.name)
    question = "\n".join([stem, *(f"({mark}) {option}" for mark, option in zip(_LETTERS, options, strict=True))])
    in_sign = shown is not video.film.shown[0]
    start, end = (stop.middle, stop.end) if in_sign else (stop.start, stop.middle)
    uid = hashlib.md5(f"lvbench {question}".encode(), usedforsecurity=False).hexdigest()[:12]
    video.qa.append(
        {
            "uid": uid,
            "question": question,
            "answer": letter,
            "question_type": ["key information retrieval"],
            "time_reference": f"{_clock(start + 2)}-{_clock(end - 2)}",
        }
    )
    if world.split == "train":
        steps = [step_shown(world, shown, video.key, stop.name, answer, stem)]
        out.annotations.append(annotation("lvbench", uid, stem, "clip", steps, letter))


def _clock(seconds: int) -> str:
    return f"{seconds // 60:02d}:{seconds % 60:02d}"


def scenes(video: Video) -> Iterator[tuple[Image.Image, int]]:
    """The pictures of a film with the seconds that each stays on screen."""
    style = int(video.key[:4], 16)
    first, *rest = video.film.shown
    for number, stop in enumerate(video.stops, start=1):
        heading = f"{video.film.stop} {number}"
        card = [stop.name, heading, f"{first.label} {stop.values[first.name]}"]
        yield scene([*card, video.title] if number == 1 else card, style + 2 * number), stop.middle - stop.start
        sign = [stop.name, *(f"{shown.label} {stop.values[shown.name]}" for shown in rest)]
        yield scene(sign, style + 2 * number + 1), stop.end - stop.middle


def write(folder: Path, splits: Iterable[LvSplit]) -> None:
    """Write a line for each film of a split, and the films."""
    (folder / "videos").mkdir(parents=True)
    for part in splits:
        lines = [json.dumps(_native(video), ensure_ascii=False) for video in part.videos]
        path = folder / f"video_info.meta.{part.split}.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        for video in part.videos:
            write_film(folder / "videos" / f"{video.key}.mp4", scenes(video))


def _native(video: Video) -> dict[str, Any]:
    return {
        "key": video.key,
        "type": video.film.type,
        "qa": video.qa,
        "video_info": {
            "duration_minutes": round(video.seconds / 60, 2),
            "fps": 2,
            "resolution": {"width": 640, "height": 360},
        },
    }
