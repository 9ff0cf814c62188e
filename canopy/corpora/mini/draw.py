"""Drawing: notices, bar charts and scenes of films, with text large enough to be read off the screen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT = 640, 360  # pixels
_MARGIN = 24
_INKS = ((20, 24, 40), (70, 12, 20), (8, 50, 34), (40, 20, 70))
_PAPERS = ((246, 240, 222), (226, 238, 246), (240, 226, 230), (232, 244, 226), (250, 246, 246))
_ACCENTS = ((188, 62, 44), (36, 104, 168), (44, 132, 82), (196, 142, 30), (120, 62, 150))


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size=size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


def _write(draw: ImageDraw.ImageDraw, y: int, text: str, size: int, ink: tuple[int, int, int]) -> int:
    """Write one centred line, smaller if it is too wide; returns the y below it."""
    while draw.textlength(text, font=_font(size)) > WIDTH - 2 * _MARGIN and size > 18:
        size -= 2
    left = (WIDTH - draw.textlength(text, font=_font(size))) / 2
    draw.text((left, y), text, font=_font(size), fill=ink)
    return y + int(size * 1.45)


def _canvas(style: int) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGB", (WIDTH, HEIGHT), _PAPERS[style % len(_PAPERS)])
    return image, ImageDraw.Draw(image)


def notice(heading: str, name: str, lines: Sequence[str], style: int) -> Image.Image:
    """A notice: heading on a coloured band, the name, and lines of "LABEL value".

    Args:
        heading: what kind of notice it is.
        name: whom it is about.
        lines: at most four.
        style: any number; picks paper, ink and accent colour.

    Returns:
        An RGB picture of 640 by 360 pixels.
    """
    image, draw = _canvas(style)
    accent, ink = _ACCENTS[style % len(_ACCENTS)], _INKS[style % len(_INKS)]
    draw.rectangle((0, 0, WIDTH, 70), fill=accent)
    _write(draw, 14, heading, 36, (255, 255, 255))
    draw.rectangle((8, 78, WIDTH - 9, HEIGHT - 9), outline=accent, width=4)
    y = _write(draw, 92, name, 38, ink) + 10
    for line in lines:
        y = _write(draw, y, line, 34, ink) + 8
    return image


def chart(heading: str, name: str, bars: Sequence[tuple[str, int]], style: int) -> Image.Image:
    """A horizontal bar chart: a line for each bar with its label, the bar, and its value.

    Args:
        heading: what is measured.
        name: whose it is.
        bars: label and value, at most five.
        style: any number; picks the colours.

    Returns:
        An RGB picture of 640 by 360 pixels.
    """
    image, draw = _canvas(style)
    accent, ink = _ACCENTS[style % len(_ACCENTS)], _INKS[style % len(_INKS)]
    y = _write(draw, 10, name, 32, ink)
    y = _write(draw, y, heading, 26, accent) + 8
    top = max(value for _, value in bars)
    for label, value in bars:
        length = int(330 * value / top)
        draw.text((_MARGIN, y + 4), label, font=_font(28), fill=ink)
        draw.rectangle((120, y, 120 + length, y + 38), fill=accent)
        draw.text((132 + length, y + 4), f"{value:,}", font=_font(28), fill=ink)
        y += 50
    return image


def scene(lines: Sequence[str], style: int) -> Image.Image:
    """A scene of a film: large lines over a landscape of simple shapes.

    Args:
        lines: at most four; the first is drawn largest.
        style: any number; picks colours and shapes, so that neighbouring scenes differ.

    Returns:
        An RGB picture of 640 by 360 pixels.
    """
    image, draw = _canvas(style)
    accent, ink = _ACCENTS[style % len(_ACCENTS)], _INKS[(style // 2) % len(_INKS)]
    ground = _ACCENTS[(style + 2) % len(_ACCENTS)]
    draw.rectangle((0, HEIGHT - 70, WIDTH, HEIGHT), fill=ground)
    for i in range(2 + style % 3):
        x = 40 + (style * 97 + i * 173) % (WIDTH - 120)
        if (style + i) % 2:
            draw.ellipse((x, HEIGHT - 88, x + 60, HEIGHT - 28), fill=accent)
        else:
            draw.polygon(((x, HEIGHT - 30), (x + 40, HEIGHT - 92), (x + 80, HEIGHT - 30)), fill=accent)
    y = 26
    for i, line in enumerate(lines):
        y = _write(draw, y, line, 46 if i == 0 else 38, ink) + 8
    return image
