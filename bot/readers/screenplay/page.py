"""A screenplay as a Document: its words as Markdown, a section for each scene below the writer's own sections."""

from __future__ import annotations

import re
from typing import Final

from bot.readers.document import Document, Mark, sectioned
from bot.readers.screenplay.elements import SPOKEN, Screenplay, numbered, plain

_MARKUP: Final = re.compile(r"^(?=#{1,6}(?:\s|$)|```|~~~)", re.MULTILINE)
_DEEPEST: Final = 6


def document(title: str, screenplay: Screenplay, language: str = "") -> Document:
    """Notes and synopses are left out: they are not the script's words."""
    elements = screenplay.elements
    deepest = max((element.level for element in elements if element.kind == "section"), default=0)
    numbers = iter(numbered(elements))
    parts: list[str] = []
    length = 0
    marks: list[Mark] = []
    trail: list[tuple[int, str]] = []

    def write(text: str, gap: str = "\n\n") -> None:
        nonlocal length
        for part in (gap if parts else "", text):
            parts.append(part)
            length += len(part)

    if screenplay.title_page:
        write("\n".join(f"{key}: {' '.join(text.split())}" for key, text in screenplay.title_page))
    for element in elements:
        if element.kind in ("heading", "section"):
            heading = element.kind == "heading"
            level = min(deepest + 1 if heading else element.level, _DEEPEST)
            words = " ".join(plain(element.text).split())
            words = f"{next(numbers)}. {words}" if heading else words
            trail = [*(step for step in trail if step[0] < level), (level, words)]
            write(f"{'#' * level} {words}")
            marks.append((length - len(words) - level - 1, level, words, tuple(step[1] for step in trail)))
        elif element.kind == "page_break" or element.kind in ("note", "synopsis"):
            continue
        else:
            write(_MARKUP.sub(r"\\", element.text), "\n" if element.kind in SPOKEN else "\n\n")
    text = "".join(parts)
    return Document(title, text, language, sectioned(text, marks), screenplay=screenplay)
