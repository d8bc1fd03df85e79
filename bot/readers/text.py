"""Plain text into a Document: a title line, and headings only where the text plainly has them.

Knows no markup beyond Markdown-like headings, and no storage.
"""

from __future__ import annotations

import re

from bot.readers.document import Document, Mark, Section, links, sectioned
from bot.readers.lines import Line, blocks, split_lines
from bot.readers.markdown import title_from_name
from bot.retrieval.language import detect

_NUMBERED = re.compile(
    r"\s*(?:(?:chapter|part|book|section|appendix|act|scene|lesson|unit|"
    r"capítulo|capitulo|parte|livro|seção|secao|apêndice|apendice|anexo|ato|cena|aula|unidade|título|titulo|"
    r"chapitre|partie|kapitel|teil|capitolo|sección|seccion)\s+"
    r"(?:\d+|[ivxlcdm]+|[a-z]|one|two|three|four|five|six|seven|eight|nine|ten|um|dois|três|quatro|cinco|primeiro)"
    r"\b.{0,80})$",
    re.IGNORECASE,
)
_ATX = re.compile(r"\s{0,3}(#{1,6})\s+(\S.*?)\s*#*\s*$")
_UNDERLINE = re.compile(r"\s{0,3}(={3,}|-{3,})\s*$")
_PROSE_END = re.compile(r"[.,;:!?…]$")


def read_text(name: str, text: str) -> Document:
    """The document in `text`. Its title is a first line that stands alone and is no sentence, else the name's."""
    lines = split_lines(text)
    covered = bytearray(len(lines))
    for block in blocks(lines):
        covered[block.first : block.last] = b"\x01" * (block.last - block.first)
    first = next((at for at, line in enumerate(lines) if line.text.strip()), 0)
    title = _title(lines, first)
    headings = _headings(lines, covered, first if title else -1)
    sections = _sections(text, lines, headings)
    return Document(
        title=title or title_from_name(name),
        text=text,
        language=detect(text),
        sections=sections,
        links=links(text, sections),
    )


def _title(lines: list[Line], at: int) -> str:
    words = lines[at].text.strip("\ufeff \t")
    alone = at + 1 >= len(lines) or not lines[at + 1].text.strip() or _UNDERLINE.match(lines[at + 1].text)
    if len(lines) > at + 1 and alone and len(words) <= 120 and not re.search(r"[.;:,]$", words):
        return words.lstrip("# ")
    return ""


def _headings(lines: list[Line], covered: bytearray, title_at: int) -> list[tuple[int, int, str]]:
    headings = []
    for at, line in enumerate(lines):
        words = line.text.strip()
        if covered[at] or not words or at == title_at or len(words) > 120:
            continue
        before = not at or not lines[at - 1].text.strip()
        after = at + 1 >= len(lines) or not lines[at + 1].text.strip()
        if atx := _ATX.match(line.text):
            headings.append((at, len(atx.group(1)), atx.group(2)))
        elif before and _NUMBERED.match(words) and not _PROSE_END.search(words) and len(words) <= 100:
            headings.append((at, 1, words))
        elif before and at + 1 < len(lines) and _UNDERLINE.match(lines[at + 1].text) and not covered[at + 1]:
            headings.append((at, 1 if "=" in lines[at + 1].text else 2, words))
        elif before and after and _shouted(words):
            headings.append((at, 2, words))
    return headings


def _shouted(words: str) -> bool:
    """A short line in capitals: at least four letters, none small, not the end of a sentence."""
    letters = [letter for letter in words if letter.isalpha()]
    return len(letters) >= 4 and len(words) <= 80 and words == words.upper() and not _PROSE_END.search(words)


def _sections(text: str, lines: list[Line], headings: list[tuple[int, int, str]]) -> tuple[Section, ...]:
    marks: list[Mark] = []
    trail: list[tuple[int, str]] = []
    for at, level, words in headings:
        trail = [*(step for step in trail if step[0] < level), (level, words)]
        marks.append((lines[at].start, level, words, tuple(step[1] for step in trail)))
    return sectioned(text, marks)
