"""Text files into Documents: Markdown, and plain text with headings only if they are unmistakable.

A line scan rather than a syntax tree: it keeps exact character offsets, supports Pandoc's dashed-rule tables, and reads
a 1.5 MB book in well under a second. Independent of storage.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from bot import markdown
from bot.readers.document import Document, Mark, Section, links, one_line, sectioned, title_from_name
from bot.readers.lines import Line, blocks, split_lines
from bot.retrieval.language import detect

_ATX = re.compile(r"((?: {0,3}>)* {0,3})(#{1,6})(?:[ \t]+(.*))?$")
_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_NOT_A_PARAGRAPH = re.compile(r" {4}|\t| {0,3}(?:[-*+>|]|\d+[.)][ \t])")
_ATTRIBUTES = re.compile(r"\s*\{[#.:][^{}]*\}\s*$")
_READ_CHARS = 2_000  # of a heading, whose title is far shorter
_MATTER_TITLE = re.compile(r"title\s*:(.*)")
_NUMBERED = re.compile(
    r"\s*(?:(?:chapter|part|book|section|appendix|act|scene|lesson|unit|"
    r"capítulo|capitulo|parte|livro|seção|secao|apêndice|apendice|anexo|ato|cena|aula|unidade|título|titulo|"
    r"chapitre|partie|kapitel|teil|capitolo|sección|seccion)\s+"
    r"(?:\d+|[ivxlcdm]+|[a-z]|one|two|three|four|five|six|seven|eight|nine|ten|um|dois|três|quatro|cinco|primeiro)"
    r"\b.{0,80})$",
    re.IGNORECASE,
)
_PLAIN_ATX = re.compile(r"\s{0,3}(#{1,6})\s+(\S.*?)\s*#*\s*$")
_UNDERLINE = re.compile(r"\s{0,3}(={3,}|-{3,})\s*$")
_PROSE_END = re.compile(r"[.,;:!?…]$")

Heading: TypeAlias = tuple[int, int, str, bool]
"""A heading's line, level and title, and whether it is in a block quote."""


def read_markdown(name: str, text: str, *, judge: bool = True) -> Document:
    """The document in `text`. Its title is the front matter's, else a lone first-level heading, else the name's.

    Its language is detected from its words, unless `judge` is false.
    """
    lines = split_lines(text)
    covered = bytearray(len(lines))
    matter = 0
    title = ""
    for block in blocks(lines):
        covered[block.first : block.last] = b"\x01" * (block.last - block.first)
        if block.kind == "matter":
            matter = min(lines[block.last - 1].end + 1, len(text))
            for line in lines[: block.last]:
                match = _MATTER_TITLE.match(line.text)
                if match:
                    title = one_line(match.group(1).strip().strip("\"'"))
    headings = _headings(lines, covered)
    sections = _sections(text, lines, headings, matter)
    tops = [section for section in sections if section.level == 1]
    if not title and len(tops) == 1 and next(s for s in sections if s.level).level == 1:
        title = tops[0].title
    return _document(title or title_from_name(name), text, sections, judge=judge)


def read_text(name: str, text: str, *, judge: bool = True) -> Document:
    """The document in `text`. Its title is a first line that stands alone and is not a sentence, else the name."""
    lines = split_lines(text)
    covered = bytearray(len(lines))
    for block in blocks(lines):
        covered[block.first : block.last] = b"\x01" * (block.last - block.first)
    first = next((at for at, line in enumerate(lines) if line.text.strip()), 0)
    title = _title(lines, first)
    headings = _plain_headings(lines, covered, first if title else -1)
    sections = _sections(text, lines, headings)
    return _document(title or title_from_name(name), text, sections, judge=judge)


def _document(title: str, text: str, sections: tuple[Section, ...], *, judge: bool = True) -> Document:
    return Document(title, text, detect(text) if judge else "", sections, links(text, sections))


def plain(markup: str) -> str:
    """A heading's words without Markdown, and without Pandoc's attributes."""
    return markdown.plain(_ATTRIBUTES.sub("", markup[:_READ_CHARS]))


def _headings(lines: list[Line], covered: bytearray) -> list[Heading]:
    headings = []
    for at, line in enumerate(lines):
        if covered[at] or not line.text.strip():
            continue
        if "#" in line.text and (atx := _ATX.match(line.text)):
            words = plain((atx.group(3) or "").rstrip(" \t").rstrip("#"))
            if words:
                headings.append((at, len(atx.group(2)), words, ">" in atx.group(1)))
        elif (
            at
            and not covered[at - 1]
            and line.text.lstrip()[0] in "=-"
            and (rule := _SETEXT.match(line.text))
        ):
            line_above = lines[at - 1].text
            stands_alone = at < 2 or not lines[at - 2].text.strip() or covered[at - 2]
            if (
                line_above.strip()
                and stands_alone
                and not _NOT_A_PARAGRAPH.match(line_above)
                and len(line_above) <= 200
            ):
                words = plain(line_above)
                if words and not _ATX.match(line_above):
                    headings.append((at - 1, 1 if rule.group(1)[0] == "=" else 2, words, False))
    return headings


def _title(lines: list[Line], at: int) -> str:
    words = lines[at].text.strip("\ufeff \t")
    alone = at + 1 >= len(lines) or not lines[at + 1].text.strip() or _UNDERLINE.match(lines[at + 1].text)
    if len(lines) > at + 1 and alone and len(words) <= 120 and not re.search(r"[.;:,]$", words):
        return words.lstrip("# ")
    return ""


def _plain_headings(lines: list[Line], covered: bytearray, title_at: int) -> list[Heading]:
    headings = []
    for at, line in enumerate(lines):
        words = line.text.strip()
        if covered[at] or not words or at == title_at or len(words) > 120:
            continue
        before = not at or not lines[at - 1].text.strip()
        after = at + 1 >= len(lines) or not lines[at + 1].text.strip()
        if atx := _PLAIN_ATX.match(line.text):
            headings.append((at, len(atx.group(1)), atx.group(2), False))
        elif before and _NUMBERED.match(words) and not _PROSE_END.search(words) and len(words) <= 100:
            headings.append((at, 1, words, False))
        elif before and at + 1 < len(lines) and _UNDERLINE.match(lines[at + 1].text) and not covered[at + 1]:
            headings.append((at, 1 if "=" in lines[at + 1].text else 2, words, False))
        elif before and after and _shouted(words):
            headings.append((at, 2, words, False))
    return headings


def _shouted(words: str) -> bool:
    """Whether it is a short line in capitals: at least four letters, none in lower case, and not the end
    of a sentence.
    """
    letters = [letter for letter in words if letter.isalpha()]
    return len(letters) >= 4 and len(words) <= 80 and words == words.upper() and not _PROSE_END.search(words)


def _sections(text: str, lines: list[Line], headings: list[Heading], matter: int = 0) -> tuple[Section, ...]:
    marks: list[Mark] = []
    trail: list[tuple[int, str]] = []
    for number, (at, level, words, quoted) in enumerate(headings):
        outer = [step for step in trail if step[0] < level or quoted]
        path = (*(step[1] for step in outer), words)
        marks.append((lines[at].start, level, words, path))
        if not quoted:
            trail = [*(step for step in trail if step[0] < level), (level, words)]
            continue
        # A boxed aside ends with its block quote; the following text belongs to the section around it.
        limit = headings[number + 1][0] if number + 1 < len(headings) else len(lines)
        after = at + 1
        while after < limit and lines[after].text.lstrip().startswith(">"):
            after += 1
        if after < limit and text[lines[after].start : lines[limit - 1].end].strip():
            names = tuple(step[1] for step in trail)
            around = trail[-1] if trail else (0, "")
            marks.append((lines[after].start, around[0], around[1], names))
    return sectioned(text, marks, matter)
