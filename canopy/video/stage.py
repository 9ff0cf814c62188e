"""The video stage: images and videos of the parsed corpora become complete items."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from canopy.artefacts import build
from canopy.contracts import ITEM_SCHEMA, Item, Span, frame_of, read_items
from canopy.corpora.quarantine import Quarantine
from canopy.errors import UserError
from canopy.progress import track
from canopy.settings.video import VideoSettings
from canopy.video import grid, media
from canopy.video.decode import MediaError
from canopy.video.ocr import ScreenText, merged
from canopy.video.segments import clip_ranges

_LOG = logging.getLogger(__name__)


def run(settings: VideoSettings, items: Sequence[Path], cache: Path, out: Path) -> None:
    """Segment the videos, sample their frames, and read the text on frames and images.

    Args:
        settings: the section ``video`` of the configuration.
        items: ``items.parquet`` files of the parse stage; items that are neither image nor video are left out.
        cache: directory that keeps frames and recognised texts by content hash, over runs. The
            frames that items name lie in it, so it must be kept as long as the items are used.
        out: artefact directory to make: ``items.parquet``, ``quarantine.jsonl`` (files that cannot be
            used) and ``notices.jsonl`` (videos of which only a part decodes).

    Raises:
        StageStopped: more files are unusable than ``max_quarantined`` allows.
        UserError: an input is missing, or two items have one id.
    """
    per_clip = grid.units_per_clip(settings.segment_seconds, settings.clip_seconds)
    wanted = _media_items(items)
    reader = None if settings.text == "none" else ScreenText(cache / "text", settings.min_confidence)
    facts: Counter[str] = Counter()
    partial: list[dict[str, Any]] = []
    with (
        build(out, "video", settings.model_dump(mode="json"), items) as artefact,
        closing(Quarantine(artefact.path)) as quarantine,
    ):
        complete: list[Item] = []
        for item in track(wanted, "reading images and videos"):
            group = f"{item.modality}s"
            quarantine.read(group)
            try:
                if item.modality == "image":
                    complete.append(_image(item, cache, reader))
                else:
                    video = media.frames_of_video(Path(item.content), cache, settings)
                    complete += _clips(item, video, per_clip, reader)
                    _count_video(item, video, quarantine, partial)
                    facts["segments"] += len(video.segments)
                    facts["frames"] += sum(len(s.frames) for s in video.segments)
                    facts["cached_videos"] += video.cached
                facts[group] += 1
            except MediaError as error:
                _LOG.warning("%s (%s) is left out: %s", item.content, item.item_id, error)
                quarantine.add(group, item.content, item.item_id, f"{item.content}: {error}")
        quarantine.check(settings.max_quarantined, out.with_name(f"{out.name}.quarantine.jsonl"))
        complete.sort(key=lambda item: item.item_id)
        frame_of(complete, ITEM_SCHEMA).write_parquet(artefact.path / "items.parquet")
        artefact.facts.update(
            {name: facts[name] for name in ("images", "videos", "segments", "frames", "cached_videos")},
            clips=sum(item.modality == "video" for item in complete),
            quarantined=quarantine.bad.total(),
            partial=partial,
            ocr_calls=reader.calls if reader else 0,
            cached_texts=reader.cached if reader else 0,
            forward_seconds=round(reader.forward_seconds, 3) if reader else 0.0,
        )


def _media_items(paths: Sequence[Path]) -> list[Item]:
    """Images and videos of all files, sorted by id."""
    found: dict[str, Item] = {}
    for path in paths:
        for item in read_items(path):
            if item.modality not in ("image", "video"):
                continue
            if item.item_id in found:
                raise UserError(f"{path}: item {item.item_id} was seen before: give each parsed corpus once")
            found[item.item_id] = item
    return [found[item_id] for item_id in sorted(found)]


def _image(item: Item, cache: Path, reader: ScreenText | None) -> Item:
    picture = media.picture_of_image(Path(item.content), cache)
    text = merged([reader.rows(picture.path, picture.sha256)]) if reader else ""
    return replace(
        item,
        units=(Span(0, 1),),
        unit_texts=(text,),
        unit_frames=((str(picture.path),),),
        media_sha256=picture.source_sha256,
    )


def _clips(item: Item, video: media.Video, per_clip: int, reader: ScreenText | None) -> Iterator[Item]:
    """One item a clip; its units are the clip's segments, in milliseconds of the whole video."""
    texts = [merged([reader.rows(f.path, f.sha256) for f in s.frames]) if reader else "" for s in video.segments]
    spans = [s.span for s in video.segments]
    for clip, segments in enumerate(clip_ranges(spans, per_clip)):
        yield replace(
            item,
            item_id=grid.clip_id(item.item_id, clip),
            doc_id=item.item_id,
            units=tuple(spans[i] for i in segments),
            unit_texts=tuple(texts[i] for i in segments),
            unit_frames=tuple(tuple(str(f.path) for f in video.segments[i].frames) for i in segments),
            media_sha256=video.sha256,
        )


def _count_video(item: Item, video: media.Video, quarantine: Quarantine, partial: list[dict[str, Any]]) -> None:
    """Note a video of which only a part decodes: kept, but never silently."""
    if not video.partial:
        return
    decoded, announced = video.duration_ms / 1000, (video.announced_ms or 0) / 1000
    said = f"only {decoded:.1f} of the {announced:.1f} seconds that its header announces can be decoded"
    _LOG.warning("%s (%s): %s", item.content, item.item_id, said)
    quarantine.notice(said, item.content, item.item_id)
    partial.append({"item_id": item.item_id, "file": item.content, "decoded_s": decoded, "announced_s": announced})
