"""Still images as upright RGB."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from canopy.video.decode import MediaError

# Formats that benchmarks use. Others would run converters that a data file has no business starting.
_FORMATS = ("JPEG", "PNG", "GIF", "TIFF", "BMP", "WEBP")
# Pillow's own limit for images that are meant to exhaust memory: a quarter of a gigabyte as RGB.
MAX_PIXELS = 89_478_485
_ORIENTATION = 0x0112


def load_image(path: Path) -> tuple[Image.Image, bool]:
    """The first picture of an image file as upright RGB, transparent parts on white.

    Returns:
        The image, and whether the file shows exactly that to any reader as it is.

    Raises:
        MediaError: missing, empty, cut, not an image, or of more than :data:`MAX_PIXELS` pixels.
    """
    if not path.is_file():
        raise MediaError("the file does not exist")
    if path.stat().st_size == 0:
        raise MediaError("the file is empty (0 bytes)")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path, formats=_FORMATS) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise MediaError(f"has {image.width} x {image.height} pixels, more than {MAX_PIXELS}")
                image.load()
                plain = image.mode == "RGB" and image.getexif().get(_ORIENTATION, 1) == 1
                plain = plain and getattr(image, "n_frames", 1) == 1
                return _rgb(ImageOps.exif_transpose(image)), plain
    except UnidentifiedImageError as error:
        raise MediaError(f"is no image of a known format ({', '.join(_FORMATS)})") from error
    except Image.DecompressionBombError as error:
        raise MediaError(str(error)) from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise MediaError(f"cannot be read as an image ({error})") from error


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I;16") or image.mode in ("I", "F"):
        return _grey(image)
    if "A" in image.getbands() or "transparency" in image.info:
        over = image.convert("RGBA")
        ground = Image.new("RGBA", over.size, "white")
        return Image.alpha_composite(ground, over).convert("RGB")
    return image.convert("RGB")


def _grey(image: Image.Image) -> Image.Image:
    """Deep grey values scaled to 8 bits (a plain conversion would clip them to white)."""
    values = np.asarray(image, dtype=np.float64)
    spread = max(float(np.ptp(values)), 1.0)
    return Image.fromarray(((values - values.min()) * (255 / spread)).astype(np.uint8)).convert("RGB")
