"""Media files made for tests: videos by ffmpeg, images by Pillow."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import imageio_ffmpeg
from PIL import Image, ImageDraw, ImageFont

from canopy.contracts import ITEM_SCHEMA, Item, Modality, frame_of

SHARED = Path(__file__).parents[1].parent / "shared" / "data"


def card(text: str, size: tuple[int, int] = (480, 270)) -> Image.Image:
    """A sign: one line of dark text in the middle of a light ground."""
    image = Image.new("RGB", size, (250, 248, 240))
    ImageDraw.Draw(image).text(
        (size[0] / 2, size[1] / 2), text, font=ImageFont.load_default(30), fill=(20, 20, 60), anchor="mm"
    )
    return image


def write_video(path: Path, frames: Sequence[Image.Image], fps: float, *options: str) -> Path:
    """Encode frames by ffmpeg; ``options`` go before the output, for example a filter or a codec."""
    width, height = frames[0].size
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24",
        "-s", f"{width}x{height}", "-r", str(fps), "-i", "-", "-pix_fmt", "yuv420p", *options, f"file:{path}",
    ]  # fmt: skip
    subprocess.run(command, input=b"".join(f.tobytes() for f in frames), check=True)
    return path


def grey_steps(count: int, step: int = 10) -> list[Image.Image]:
    """Frames whose level of grey says which frame it is: frame ``i`` has level ``20 + step * i``."""
    return [Image.new("RGB", (64, 48), (20 + step * i,) * 3) for i in range(count)]


def step_of(image: Image.Image, step: int = 10) -> int:
    """The index of a frame of :func:`grey_steps`, read from its middle."""
    level = image.convert("L").getpixel((image.width // 2, image.height // 2))
    assert isinstance(level, int | float)
    return round((level - 20) / step)


def media_item(path: Path | str, modality: Modality, native: str = "") -> Item:
    """An image or video item as the parse stage leaves it."""
    benchmark = "lvbench" if modality == "video" else "mmqa"
    item_id = f"{benchmark}:{native or Path(path).stem}"
    return Item(item_id, benchmark, item_id, modality, "A title", str(path), ())


def write_items(path: Path, items: Sequence[Item]) -> Path:
    """An items.parquet of the given items."""
    frame_of(items, ITEM_SCHEMA).write_parquet(path)
    return path
