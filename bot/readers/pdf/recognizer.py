"""Recognizes the words on a page that is a picture, with RapidOCR (the extra `ocr`), whose models are in its package.

Loaded before the process's limits apply; afterwards it starts no thread and opens no file.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any, Final

from bot.readers.pdf.page import Word

_DPI: Final = 150
_PIXELS: Final = 2_400
"""The most pixels of a page's longer side."""
_FOUND_IN: Final = 1_280
"""Pixels of the longer side of the picture in which lines are detected; more needs more memory."""
_SIZE: Final = 0.72
"""The size of the type, as a share of a line's box."""
_BASE: Final = 0.24
"""The part below the base line, as a share of a line's box."""
_BODY: Final = (0.7, 1.4)
"""Multiples of the usual size that count as the usual one, because a box is as high as its letters happen to be."""

Recognize = Callable[[Any], tuple[list[Word], float]]
"""Gives the words of one of PDFium's pages, and the page's height in points."""


def loaded() -> Recognize:
    """The loaded recognizer. Raises ImportError if the package is missing."""
    import cv2
    import numpy as np
    from rapidocr import RapidOCR

    cv2.setNumThreads(1)
    one_thread = {"intra_op_num_threads": 1, "inter_op_num_threads": 1, "enable_cpu_mem_arena": False}
    engine = RapidOCR(
        params={
            **{f"EngineConfig.onnxruntime.{name}": value for name, value in one_thread.items()},
            "Global.log_level": "critical",
            "Global.max_side_len": _PIXELS,
            "Det.limit_type": "max",
            "Det.limit_side_len": _FOUND_IN,
            "Rec.rec_batch_num": 1,
        }
    )

    # It starts its threads with the first picture that has words.
    picture = np.full((120, 400, 3), 255, np.uint8)
    cv2.putText(picture, "Ready", (20, 80), cv2.FONT_HERSHEY_SIMPLEX, 2, (0, 0, 0), 3)
    engine(picture, use_cls=False)

    def recognize(page: Any) -> tuple[list[Word], float]:
        width, height = page.get_size()
        scale = min(_DPI / 72, _PIXELS / max(width, height, 1.0))
        result = engine(page.render(scale=scale).to_numpy()[:, :, :3], use_cls=False)
        lines = list(zip(result.boxes, result.txts, strict=True)) if result.txts else []
        return list(_words(lines, scale)), height

    return recognize


def _words(lines: list[tuple[Any, str]], scale: float) -> Iterator[Word]:
    """Each line's words, with widths in proportion to their letters."""
    heights = [(max(y for _, y in box) - min(y for _, y in box)) / scale for box, _ in lines]
    usual = statistics.median(heights) if heights else 0.0
    for (box, text), high in zip(lines, heights, strict=True):
        left, right = min(x for x, _ in box) / scale, max(x for x, _ in box) / scale
        base = max(y for _, y in box) / scale - _BASE * high
        size = round(_SIZE * (usual if _BODY[0] <= high / usual <= _BODY[1] else high), 1)
        across = (right - left) / max(len(text), 1)
        at = 0
        for word in text.split():
            at = text.index(word, at)
            yield Word(word, left + at * across, left + (at + len(word)) * across, base, max(size, 1.0))
            at += len(word)
