"""Encoding still scenes as an MP4 film with ffmpeg."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from imageio_ffmpeg import get_ffmpeg_exe
from PIL import Image, ImageDraw

from canopy.corpora.mini.draw import HEIGHT, WIDTH
from canopy.errors import UserError

FPS = 2  # frames a second


def write_film(path: Path, scenes: Iterable[tuple[Image.Image, int]]) -> None:
    """Write an H.264 film at 2 frames a second, the same bytes for the same pictures on one machine.

    Args:
        path: the MP4 file.
        scenes: RGB pictures of 640 by 360 pixels, and how many seconds each stays.

    Raises:
        UserError: ffmpeg could not encode it.
    """
    command = [
        get_ffmpeg_exe(), "-loglevel", "error", "-y",
        "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDTH}x{HEIGHT}", "-r", str(FPS), "-i", "-",
        "-an", "-c:v", "libx264", "-preset", "ultrafast", "-crf", "26", "-g", str(FPS * 15), "-pix_fmt", "yuv420p",
        "-threads", "1", "-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact", str(path),
    ]  # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stderr is not None
        try:
            for picture, seconds in scenes:
                for frame in range(seconds * FPS):
                    process.stdin.write(_with_clock(picture, frame).tobytes())
            process.stdin.close()
        except BrokenPipeError:
            pass  # ffmpeg has ended early; its own words follow
        errors = process.stderr.read().decode(errors="replace").strip()
    if process.returncode != 0:
        raise UserError(f"{path}: ffmpeg could not write the film: {errors or process.returncode}")


def _with_clock(picture: Image.Image, frame: int) -> Image.Image:
    """The picture with a bar at the bottom edge that moves on with every frame."""
    moved = picture.copy()
    x = (frame * 16) % WIDTH
    ImageDraw.Draw(moved).rectangle((x, HEIGHT - 12, x + 40, HEIGHT - 4), fill=(250, 250, 250))
    return moved
