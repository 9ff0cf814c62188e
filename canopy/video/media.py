"""Media files with what is derived from them, cached by content hash: sampled frames, converted images."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from canopy.artefacts import sha256_file
from canopy.contracts import Span
from canopy.settings.video import VideoSettings
from canopy.video import cache as store
from canopy.video.decode import MediaError
from canopy.video.frames import sample, sample_times
from canopy.video.images import load_image
from canopy.video.probe import Probe, probe
from canopy.video.segments import segment_spans

# Raise it when the code makes other frames of the same file and settings.
_VERSION = 1
_INDEX = "segments.json"
_JPEG: dict[str, Any] = {"format": "JPEG", "quality": 90, "subsampling": 0}


@dataclass(frozen=True, slots=True)
class Picture:
    """An upright RGB image file, and the content hashes of it and of the file it was made from."""

    path: Path
    sha256: str
    source_sha256: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A minimal unit of a video: its span in milliseconds and its frames in order of time."""

    span: Span
    frames: tuple[Picture, ...]


@dataclass(frozen=True, slots=True)
class Video:
    """A video as the corpus sees it; times in milliseconds, see :class:`canopy.video.probe.Probe`."""

    sha256: str
    duration_ms: int
    announced_ms: int | None
    partial: bool
    segments: tuple[Segment, ...]
    cached: bool


def picture_of_image(path: Path, cache: Path) -> Picture:
    """The image file itself where any reader can show it as it is, else an upright RGB copy in the cache.

    Raises:
        MediaError: the file is missing or cannot be read as an image.
    """
    image, plain = load_image(path)
    sha256 = sha256_file(path)
    if plain:
        return Picture(path, sha256, sha256)
    entry = cache / sha256 / f"image-{store.digest({'version': _VERSION, 'pillow': metadata.version('pillow')})}"
    copy = entry / "image.png"
    record = store.load_json(entry / _INDEX)
    if not isinstance(record, str) or not copy.is_file() or sha256_file(copy) != record:
        with store.directory(entry) as partial:
            image.save(partial / copy.name)
            record = sha256_file(partial / copy.name)
            store.store_json(partial / _INDEX, record)
    return Picture(copy, record, sha256)


def frames_of_video(path: Path, cache: Path, settings: VideoSettings) -> Video:
    """Segments of a video with their sampled frames, from the cache where it has them whole.

    Raises:
        MediaError: the file is missing, empty, not a video, or nothing of it decodes.
    """
    if not path.is_file():
        raise MediaError("the file does not exist")
    sha256 = sha256_file(path)
    entry = cache / sha256 / f"video-{_frames_digest(settings)}"
    kept = _load(entry, sha256)
    if kept is not None:
        return kept
    found = probe(path)
    with store.directory(entry) as partial:
        store.store_json(partial / _INDEX, _extract(path, found, settings, partial))
    made = _load(entry, sha256, cached=False)
    if made is None:
        raise MediaError(f"its frames could not be kept in {entry}: is the disk full?")
    return made


def _frames_digest(settings: VideoSettings) -> str:
    return store.digest(
        {
            "version": _VERSION,
            "segment_seconds": settings.segment_seconds,
            "frames_per_segment": settings.frames_per_segment,
            "frame_width": settings.frame_width,
            "av": metadata.version("av"),
            "pillow": metadata.version("pillow"),
        }
    )


def _extract(path: Path, found: Probe, settings: VideoSettings, into: Path) -> dict[str, Any]:
    """Write the sampled frames to ``into``; returns the index of the entry."""
    spans = segment_spans(found.duration_ms, settings.segment_seconds)
    times = [t for span in spans for t in sample_times(span, settings.frames_per_segment)]
    written: dict[int, dict[str, str]] = {}
    for time, image in sample(path, found, times, settings.frame_width):
        name = f"{time:09d}.jpg"
        image.save(into / name, **_JPEG)
        written[time] = {"file": name, "sha256": sha256_file(into / name)}
    return {
        "duration_ms": found.duration_ms,
        "announced_ms": found.announced_ms,
        "partial": found.partial,
        "segments": [
            {"start": s.start, "end": s.end, "frames": [f for t, f in written.items() if s.start <= t < s.end]}
            for s in spans
        ],
    }


def _load(entry: Path, sha256: str, cached: bool = True) -> Video | None:
    """The entry of a video, or None when it is absent or any file of it is damaged."""
    index = store.load_json(entry / _INDEX)
    try:
        segments = tuple(
            Segment(
                Span(int(s["start"]), int(s["end"])),
                tuple(Picture(entry / f["file"], f["sha256"], sha256) for f in s["frames"]),
            )
            for s in index["segments"]
        )
        whole = all(sha256_file(f.path) == f.sha256 for s in segments for f in s.frames)
        times = (index["duration_ms"], index["announced_ms"], bool(index["partial"]))
    except (KeyError, TypeError, ValueError, OSError):
        return None
    return Video(sha256, *times, segments, cached) if whole else None
