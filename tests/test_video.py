from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from media import SHARED, card, grey_steps, media_item, step_of, write_items, write_video
from PIL import Image

from canopy.artefacts import read_manifest, sha256_file
from canopy.contracts import Item, Span, read_items
from canopy.errors import ConfigError, StageStopped, UserError
from canopy.settings.video import VideoSettings
from canopy.video.decode import MediaError, frames_from
from canopy.video.frames import sample, sample_times
from canopy.video.images import MAX_PIXELS, load_image
from canopy.video.probe import probe
from canopy.video.segments import MIN_TAIL_MS, clip_ranges, segment_spans
from canopy.video.stage import run

NO_TEXT = VideoSettings(text="none", max_quarantined=1)


def shared_video(name: str) -> Path:
    path = SHARED / "video" / name
    if not path.is_file():
        pytest.skip(f"{path} is not here: it lies beside the repository")
    return path


def stage(
    tmp_path: Path, items: list[Item], settings: VideoSettings = NO_TEXT, out: str = "video"
) -> tuple[list[Item], dict[str, Any]]:
    """Run the stage; its items and facts."""
    parsed = write_items(tmp_path / "items.parquet", items)
    run(settings, [parsed], tmp_path / "cache", tmp_path / out)
    return list(read_items(tmp_path / out / "items.parquet")), read_manifest(tmp_path / out)["facts"]


# --- segments and clips


@pytest.mark.parametrize(
    ("duration", "starts"),
    [
        (139_400, [0, 30_000, 60_000, 90_000, 120_000]),
        (30_003, [0]),
        (30_499, [0]),
        (30_500, [0, 30_000]),
        (30_000, [0]),
        (1, [0]),
        (60_000, [0, 30_000]),
    ],
)
def test_segments_of_thirty_seconds(duration: int, starts: list[int]) -> None:
    spans = segment_spans(duration, 30)
    assert [s.start for s in spans] == starts
    assert [s.end for s in spans] == [*starts[1:], duration]


@given(st.integers(1, 10_000_000), st.integers(1, 600))
def test_segments_cover_the_video_once(duration: int, seconds: int) -> None:
    spans = segment_spans(duration, seconds)
    assert (spans[0].start, spans[-1].end) == (0, duration)
    assert all(a.end == b.start for a, b in pairwise(spans))
    assert all(s.end - s.start == seconds * 1000 for s in spans[:-1])
    assert spans[-1].end - spans[-1].start < seconds * 1000 + MIN_TAIL_MS
    assert len(spans) == 1 or spans[-1].end - spans[-1].start >= MIN_TAIL_MS


@given(st.integers(1, 200), st.integers(1, 20))
def test_clips_hold_each_segment_once(segments: int, per_clip: int) -> None:
    ranges = clip_ranges([Span(i, i + 1) for i in range(segments)], per_clip)
    assert [i for r in ranges for i in r] == list(range(segments))
    assert all(len(r) == per_clip for r in ranges[:-1])


def test_sample_times_are_inside_and_even() -> None:
    assert sample_times(Span(30_000, 60_000), 2) == [37_500, 52_500]
    assert sample_times(Span(0, 30_000), 1) == [15_000]
    assert sample_times(Span(0, 1), 3) == [0, 0, 0]


def test_a_clip_must_be_whole_segments(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="multiple of segment_seconds"):
        stage(tmp_path, [], VideoSettings(segment_seconds=30, clip_seconds=100))


# --- real videos


def test_a_real_video_has_five_segments_and_the_last_is_shorter(tmp_path: Path) -> None:
    path = shared_video("one-by-one-person-detection.mp4")
    (clip,), facts = stage(tmp_path, [media_item(path, "video", "person")])
    assert clip.item_id == "lvbench:person#0"
    assert clip.doc_id == "lvbench:person"
    assert clip.units == tuple(Span(a, min(a + 30_000, 139_400)) for a in range(0, 139_400, 30_000))
    assert clip.media_sha256 == sha256_file(path)
    assert clip.unit_texts == ("",) * 5
    assert [len(f) for f in clip.unit_frames] == [2] * 5
    assert all(Path(f).is_file() for unit in clip.unit_frames for f in unit)
    assert (facts["videos"], facts["clips"], facts["segments"], facts["frames"]) == (1, 1, 5, 10)
    assert facts["partial"] == []


def test_a_video_of_thirty_seconds_and_a_bit_is_one_segment(tmp_path: Path) -> None:
    (clip,), _ = stage(tmp_path, [media_item(shared_video("big_buck_bunny_0_30.webm"), "video")])
    assert len(clip.units) == 1
    assert clip.units[0].end == pytest.approx(30_003, abs=2)
    with Image.open(clip.unit_frames[0][0]) as frame:
        assert frame.size == (640, 360)


def test_a_cut_video_is_kept_as_far_as_it_decodes_and_says_so(tmp_path: Path) -> None:
    path = shared_video("derived_truncated_person.mp4")
    (clip,), facts = stage(tmp_path, [media_item(path, "video", "cut")])
    assert [s.start for s in clip.units] == [0, 30_000, 60_000]
    assert clip.units[-1].end == pytest.approx(84_000, abs=200)
    (partial,) = facts["partial"]
    assert partial["item_id"] == "lvbench:cut"
    assert (partial["decoded_s"], partial["announced_s"]) == (pytest.approx(84.0, abs=0.2), 139.4)
    (notice,) = map(json.loads, (tmp_path / "video" / "notices.jsonl").read_text().splitlines())
    assert "of the 139.4 seconds" in notice["reason"]


def test_a_webm_cut_between_blocks_is_partial_although_nothing_fails(tmp_path: Path) -> None:
    whole = shared_video("big_buck_bunny_0_30.webm")
    (tmp_path / "cut.webm").write_bytes(whole.read_bytes()[:700_000])
    found = probe(tmp_path / "cut.webm")
    assert found.partial
    assert found.announced_ms == 30_003
    assert found.duration_ms == pytest.approx(15_600, abs=100)
    assert not probe(whole).partial


def test_unusable_videos_are_named_and_the_others_unaffected(tmp_path: Path) -> None:
    good = write_video(tmp_path / "good one.mp4", grey_steps(4), 2)
    (tmp_path / "text.mp4").write_text("no video at all")
    card("Just a picture").save(tmp_path / "image.png")
    paths = [
        shared_video("derived_empty.mp4"), shared_video("derived_truncated_nasa.mp4"),
        tmp_path / "text.mp4", tmp_path / "missing.mp4", tmp_path, good,
    ]  # fmt: skip
    items, facts = stage(tmp_path, [media_item(p, "video", f"v{i}") for i, p in enumerate(paths)])
    assert [i.item_id for i in items] == ["lvbench:v5#0"]
    rows = [json.loads(line) for line in (tmp_path / "video" / "quarantine.jsonl").read_text().splitlines()]
    assert [(r["record"], r["file"]) for r in rows] == [(f"lvbench:v{i}", str(paths[i])) for i in range(5)]
    assert [
        words in r["reason"] for r, words in zip(rows, ["0 bytes", "Invalid", "Invalid", "exist", "exist"], strict=True)
    ]
    assert facts["quarantined"] == 5
    with pytest.raises(StageStopped, match=r"5 of 6 records .*derived_empty\.mp4: the file is empty"):
        stage(
            tmp_path, [media_item(p, "video", f"v{i}") for i, p in enumerate(paths)], VideoSettings(text="none"), "no"
        )
    assert not (tmp_path / "no").exists()


def test_names_that_look_like_options_or_addresses_are_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dash = shared_video("-video-with-dash-.mp4")
    monkeypatch.chdir(tmp_path)
    names = ["-video-with-dash-.mp4", "with space.mp4", "http:colon.mp4", "a%03d.mp4"]
    for name in names:
        Path(name).write_bytes(dash.read_bytes())
    items, _ = stage(tmp_path, [media_item(name, "video", f"v{i}") for i, name in enumerate(names)])
    assert [i.content for i in items] == names
    assert {i.units for i in items} == {(Span(0, 5_000),)}


def test_a_turned_video_gives_frames_as_a_player_shows_them(tmp_path: Path) -> None:
    path = shared_video("video_90.mov")
    ((_, frame),) = sample(path, probe(path), [0], 640)
    shown = tmp_path / "shown.png"
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-i", path, "-frames:v", "1", shown]
    subprocess.run(command, check=True)
    with Image.open(shown) as reference:
        assert frame.size == reference.size == (320, 568)
        difference = np.abs(np.asarray(frame, dtype=int) - np.asarray(reference.convert("RGB"), dtype=int))
    assert difference.mean() < 6


# --- made videos


def test_frames_are_those_on_screen_at_the_time(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", grey_steps(20), 1, "-g", "5", "-crf", "5")
    found = probe(path)
    assert found.duration_ms == 20_000
    assert found.keyframes == (0, 5_000, 10_000, 15_000)
    times = [0, 900, 1_100, 4_999, 5_000, 12_500, 12_600, 19_999]
    assert [(t, step_of(f)) for t, f in sample(path, found, times, 640)] == [(t, t // 1000) for t in times]


def test_seeking_decodes_from_the_key_frame_only(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", grey_steps(20), 1, "-g", "5")
    assert [t for t, _ in frames_from(path, 10_000)] == [t * 1000 for t in range(10, 20)]


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv"])
def test_variable_frame_rate_goes_by_time_stamps(tmp_path: Path, name: str) -> None:
    # Frames 0..4 come every second, frames 5..9 every four: frame 7 is on screen from 13 s to 17 s.
    stamps = "setpts='if(lt(N,5),N,5+4*(N-5))/TB'"
    path = write_video(tmp_path / name, grey_steps(10, 20), 1, "-vf", stamps, "-fps_mode", "vfr", "-crf", "5")
    found = probe(path)
    assert 21_000 < found.duration_ms <= 25_000
    times = [3_500, 5_500, 14_000, 16_900, 17_100]
    assert [step_of(f, 20) for _, f in sample(path, found, times, 640)] == [3, 5, 7, 7, 8]


def test_a_file_without_a_duration_in_its_header(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mkv", grey_steps(7), 1)
    piped = tmp_path / "piped.mkv"
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(),
        "-loglevel",
        "error",
        "-i",
        path,
        "-c",
        "copy",
        "-f",
        "matroska",
        "-live",
        "1",
        "-",
    ]
    piped.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    found = probe(piped)
    assert (found.announced_ms, found.duration_ms, found.partial) == (None, 7_000, False)


def test_a_picture_that_ends_before_the_sound_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.mkv"
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=d=2:r=5:s=64x48",
        "-f", "lavfi", "-i", "sine=d=6", "-c:v", "libx264", path,
    ]  # fmt: skip
    subprocess.run(command, check=True)
    found = probe(path)
    assert (found.duration_ms, found.partial) == (2_000, False)


def test_damage_inside_a_video_leaves_the_rest_usable(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (40, 48, 64, 3), dtype=np.uint8)
    path = write_video(tmp_path / "a.mp4", [Image.fromarray(n) for n in noise], 1, "-g", "10")
    data = bytearray(path.read_bytes())
    # The second half of the file's picture data, up to its index at the end.
    start, stop = data.find(b"mdat") + 4, data.find(b"moov")
    middle = (start + stop) // 2
    data[middle : stop - 100] = bytes(stop - 100 - middle)
    path.write_bytes(data)
    found = probe(path)
    assert found.announced_ms == 40_000
    assert found.partial
    assert 15_000 < found.duration_ms < 30_000
    assert len(list(sample(path, found, [2_000, 12_000], 640))) == 2


@pytest.mark.parametrize(("default", "size"), [("0", (320, 240)), ("default", (64, 48))])
def test_of_two_pictures_the_default_or_the_larger_is_used(tmp_path: Path, default: str, size: tuple[int, int]) -> None:
    path = tmp_path / "a.mkv"
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=d=1:r=5:s=64x48",
        "-f", "lavfi", "-i", "testsrc=d=1:r=5:s=320x240", "-map", "0", "-map", "1", "-c:v", "libx264",
        "-disposition:v:0", default, "-disposition:v:1", "0", path,
    ]  # fmt: skip
    subprocess.run(command, check=True)
    ((_, frame),) = sample(path, probe(path), [500], 640)
    assert frame.size == size


def test_text_of_each_segment_and_clips(tmp_path: Path) -> None:
    words = ["Harbour", "Lighthouse", "Market square", "Old bridge", "Farewell"]
    frames = [card(w) for w in words for _ in range(2)]
    path = write_video(tmp_path / "a.mp4", frames, 1, "-crf", "18")
    settings = VideoSettings(segment_seconds=2, clip_seconds=4)
    items, facts = stage(tmp_path, [media_item(path, "video", "walk")], settings)
    assert [i.item_id for i in items] == [f"lvbench:walk#{i}" for i in range(3)]
    assert [i.unit_texts for i in items] == [("Harbour", "Lighthouse"), ("Market square", "Old bridge"), ("Farewell",)]
    assert items[1].units == (Span(4_000, 6_000), Span(6_000, 8_000)), "times are of the whole video"
    assert facts["ocr_calls"] + facts["cached_texts"] == facts["frames"] == 10
    assert facts["forward_seconds"] > 0

    _, again = stage(tmp_path, [media_item(path, "video", "walk")], settings, "again")
    assert (again["ocr_calls"], again["cached_texts"], again["cached_videos"]) == (0, 10, 1)
    assert again["forward_seconds"] == 0
    assert (tmp_path / "again" / "items.parquet").read_bytes() == (tmp_path / "video" / "items.parquet").read_bytes()


@pytest.mark.parametrize("victim", ["segments.json", "*.jpg"])
def test_a_damaged_cache_entry_is_made_again(tmp_path: Path, victim: str) -> None:
    path = write_video(tmp_path / "a.mp4", grey_steps(4), 2)
    before, _ = stage(tmp_path, [media_item(path, "video")])
    damaged = next((tmp_path / "cache").rglob(victim))
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[: len(whole) // 2])
    after, facts = stage(tmp_path, [media_item(path, "video")], out="again")
    assert after == before
    assert facts["cached_videos"] == 0
    assert damaged.read_bytes() == whole
    assert not list((tmp_path / "cache").rglob("*.partial"))


# --- images


def as_item(tmp_path: Path, path: Path) -> Item:
    (item,), _ = stage(tmp_path, [media_item(path, "image")])
    return item


def test_a_plain_image_is_used_where_it_lies(tmp_path: Path) -> None:
    card("Poster").save(tmp_path / "a.png")
    item = as_item(tmp_path, tmp_path / "a.png")
    assert item.units == (Span(0, 1),)
    assert item.unit_frames == ((str(tmp_path / "a.png"),),)
    assert item.unit_texts == ("",)
    assert item.media_sha256 == sha256_file(tmp_path / "a.png")


def test_other_kinds_of_images_become_upright_rgb(tmp_path: Path) -> None:
    base = Image.new("RGB", (40, 20), (200, 0, 0))
    base.paste((0, 0, 200), (20, 0, 40, 20))
    base.convert("CMYK").save(tmp_path / "cmyk.jpg", quality=100)
    base.convert("P").save(tmp_path / "palette.png")
    base.convert("L").save(tmp_path / "grey.png")
    base.save(tmp_path / "moving.gif", save_all=True, append_images=[Image.new("RGB", (40, 20), "green")])
    clear = base.convert("RGBA")
    clear.paste((0, 0, 0, 0), (20, 0, 40, 20))
    clear.save(tmp_path / "alpha.png")
    exif = Image.Exif()
    exif[0x0112] = 6
    base.save(tmp_path / "turned.jpg", quality=100, exif=exif)
    Image.fromarray(np.linspace(0, 60_000, 800, dtype=np.uint16).reshape(20, 40)).save(tmp_path / "deep.png")

    corners = {}
    for path in [p for p in tmp_path.iterdir() if p.is_file()]:
        ((shown,),) = as_item(tmp_path, path).unit_frames
        assert Path(shown).parent != tmp_path
        with Image.open(shown) as image:
            assert image.mode == "RGB"
            corners[path.name] = image.size, image.getpixel((2, 2)), image.getpixel((image.width - 3, image.height - 3))

    red, blue = pytest.approx((200, 0, 0), abs=12), pytest.approx((0, 0, 200), abs=12)
    for name in ("cmyk.jpg", "palette.png", "moving.gif"):
        assert corners[name] == ((40, 20), red, blue), name
    assert corners["grey.png"][1] == (60, 60, 60)
    assert corners["alpha.png"] == ((40, 20), red, (255, 255, 255))
    assert corners["turned.jpg"] == ((20, 40), red, blue), "orientation 6 is a quarter turn clockwise"
    dark, light = corners["deep.png"][1:]
    assert max(dark) < 30
    assert min(light) > 225


def bomb(side: int) -> bytes:
    """A PNG of a few bytes whose header announces ``side`` x ``side`` pixels."""
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"")),
        (b"IEND", b""),
    ]
    body = b"".join(struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "0 bytes"),
        (b"not an image", "no image of a known format"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", "no image of a known format"),
        (bomb(10_000), str(MAX_PIXELS)),
        (bomb(60_000), "exceeds limit"),
        (bomb(100), "cannot be read"),
    ],
)
def test_unreadable_images_say_why(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(MediaError, match=reason):
        load_image(tmp_path / "a.png")


def test_a_cut_image_is_quarantined_by_name_and_the_others_are_kept(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (100, 100, 3), dtype=np.uint8)
    for name in ("good.png", "cut.png", "cut.jpg"):
        Image.fromarray(noise).save(tmp_path / name)
        if name.startswith("cut"):
            (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:2000])
    names = ["good.png", "cut.png", "cut.jpg", "missing.png"]
    items, facts = stage(tmp_path, [media_item(tmp_path / n, "image", n) for n in names])
    assert [i.item_id for i in items] == ["mmqa:good.png"]
    assert facts["quarantined"] == 3
    rows = [json.loads(line) for line in (tmp_path / "video" / "quarantine.jsonl").read_text().splitlines()]
    assert {r["record"] for r in rows} == {"mmqa:cut.png", "mmqa:cut.jpg", "mmqa:missing.png"}


# --- the stage


def test_items_of_other_kinds_are_ignored_and_the_rest_sorted(tmp_path: Path) -> None:
    for name in ("b.png", "a.png"):
        card("x", (64, 48)).save(tmp_path / name)
    text = Item("nq:1", "nq", "nq:1", "text", "t", "words", (Span(0, 5),))
    items, facts = stage(
        tmp_path, [media_item(tmp_path / "b.png", "image"), text, media_item(tmp_path / "a.png", "image")]
    )
    assert [i.item_id for i in items] == ["mmqa:a", "mmqa:b"]
    assert (facts["images"], facts["videos"]) == (2, 0)


def test_no_media_at_all_gives_an_empty_table(tmp_path: Path) -> None:
    items, facts = stage(tmp_path, [], VideoSettings())
    assert items == []
    assert facts["quarantined"] == 0


def test_one_id_in_two_inputs_is_an_error(tmp_path: Path) -> None:
    parsed = write_items(tmp_path / "items.parquet", [media_item("a.png", "image")])
    with pytest.raises(UserError, match="mmqa:a was seen before"):
        run(NO_TEXT, [parsed, parsed], tmp_path / "cache", tmp_path / "out")


def test_paths_in_items_are_as_the_cache_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_video(tmp_path / "a.mp4", grey_steps(2), 1)
    write_items(Path("items.parquet"), [media_item("a.mp4", "video")])
    run(NO_TEXT, [Path("items.parquet")], Path("results/cache/video"), Path("out"))
    (item,) = read_items(Path("out/items.parquet"))
    assert all(f.startswith("results/cache/video/") for f in item.unit_frames[0])


def test_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "bad.mp4").write_bytes(b"")
    parsed = write_items(tmp_path / "items.parquet", [media_item(tmp_path / "bad.mp4", "video")])
    command = [
        sys.executable, "-m", "canopy", "video", "--items", parsed, "--cache", tmp_path / "cache",
        "--out", tmp_path / "out", "--spec",
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    kept = subprocess.run(
        [*command, '{"max_quarantined": 1}'], capture_output=True, text=True, env=environment, check=False
    )
    assert kept.returncode == 0, kept.stderr
    stopped = subprocess.run([*command, "{}"], capture_output=True, text=True, env=environment, check=False)
    assert stopped.returncode == 2
    assert "bad.mp4: the file is empty" in stopped.stderr
    assert "Traceback" not in stopped.stderr
