"""On-screen text of images by RapidOCR, each image recognised once."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from canopy.errors import UserError
from canopy.video import cache

_MODELS = ("PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx")
# RapidOCR enlarges every image to 736 pixels on its short side by default; screen text does not need it,
# and detection takes a quarter of the time without.
_LONGEST_SIDE = 1280
BETWEEN_LINES = " / "


@dataclass(frozen=True, slots=True)
class Line:
    """One recognised line: its text, its confidence 0 to 1, and its box in pixels."""

    text: str
    score: float
    left: float
    top: float
    bottom: float


class ScreenText:
    """Recognises the text of images, with results cached by content hash.

    Attributes:
        calls: images recognised by the model.
        cached: images whose text was in the cache.
        forward_seconds: time in the model.
    """

    def __init__(self, directory: Path, min_confidence: float) -> None:
        """``directory`` is the cache's; lines below ``min_confidence`` are dropped."""
        self.calls = 0
        self.cached = 0
        self.forward_seconds = 0.0
        self._min_confidence = min_confidence
        self._engine: Any = None
        key = {"rapidocr": metadata.version("rapidocr"), "models": _MODELS, "longest_side": _LONGEST_SIDE}
        self._directory = directory / cache.digest(key)

    def rows(self, image: Path, sha256: str) -> list[str]:
        """The text rows of an upright RGB image file, from top to bottom, each from left to right.

        Args:
            image: the image file.
            sha256: content hash of the file.
        """
        entry = self._directory / sha256[:2] / f"{sha256}.json"
        lines = _parse(cache.load_json(entry))
        if lines is None:
            lines = self._recognise(image)
            cache.store_json(entry, [[n.text, n.score, n.left, n.top, n.bottom] for n in lines])
            self.calls += 1
        else:
            self.cached += 1
        return reading_order([n for n in lines if n.score >= self._min_confidence])

    def _recognise(self, image: Path) -> list[Line]:
        if self._engine is None:
            self._engine = _load_engine()
        with Image.open(image) as opened:
            pixels = np.ascontiguousarray(np.asarray(opened.convert("RGB"))[:, :, ::-1])
        started = time.perf_counter()
        found = self._engine(pixels)
        self.forward_seconds += time.perf_counter() - started
        if found.txts is None:
            return []
        return [
            Line(text.strip(), round(float(score), 4), *_extent(box))
            for text, score, box in zip(found.txts, found.scores, found.boxes, strict=True)
        ]


def reading_order(lines: Sequence[Line]) -> list[str]:
    """Lines whose middles lie inside one another's height form a row; rows top down, their lines left to right."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda n: (n.top + n.bottom, n.left)):
        middle = (line.top + line.bottom) / 2
        if rows and rows[-1][0].top <= middle <= rows[-1][0].bottom:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [" ".join(n.text for n in sorted(row, key=lambda n: n.left)) for row in rows]


def merged(frames: Sequence[Sequence[str]]) -> str:
    """The rows of consecutive frames as one text; rows still standing from the frame before are left out."""
    kept, before = [], frozenset[str]()
    for rows in frames:
        kept += [row for row in rows if _key(row) not in before]
        before = frozenset(map(_key, rows))
    return BETWEEN_LINES.join(kept)


def _key(row: str) -> str:
    """What makes two recognitions of a row the same: its letters and digits."""
    return "".join(c for c in row.casefold() if c.isalnum()) or row


def _extent(box: Any) -> tuple[float, float, float]:
    xs, ys = np.asarray(box)[:, 0], np.asarray(box)[:, 1]
    return float(xs.min()), float(ys.min()), float(ys.max())


def _parse(raw: Any) -> list[Line] | None:
    """Cached lines, or None when the entry is not what :meth:`ScreenText.rows` writes."""
    if not isinstance(raw, list):
        return None
    try:
        return [Line(str(text), *map(float, numbers)) for text, *numbers in raw]
    except (TypeError, ValueError):
        return None


def _load_engine() -> Any:
    """RapidOCR on the models inside its wheel: named by path, so that it never looks for them on a network."""
    import rapidocr

    detector, recogniser = (Path(rapidocr.__file__).parent / "models" / name for name in _MODELS)
    for model in (detector, recogniser):
        if not model.is_file():
            raise UserError(f"{model} is missing: install the pinned rapidocr again (pip install -c constraints.txt)")
    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "error",
            "Global.text_score": 0.0,
            "Global.use_cls": False,
            "Det.model_path": str(detector),
            "Det.limit_type": "max",
            "Det.limit_side_len": _LONGEST_SIDE,
            "Rec.model_path": str(recogniser),
            "EngineConfig.onnxruntime.intra_op_num_threads": len(os.sched_getaffinity(0)),
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )
