"""Markdown into a Document: headings (ATX, setext, inside block quotes), breadcrumbs, the authors' references.

A scan of lines rather than a syntax tree: it keeps exact character anchors, knows Pandoc's dashed-rule
tables, and reads a 1.5 MB book in well under a second. Knows no storage.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from bot import markdown
from bot.readers.document import Document, Mark, Section, links, one_line, sectioned
from bot.readers.lines import Line, blocks, split_lines
from bot.retrieval.language import detect

_ATX = re.compile(r"((?: {0,3}>)* {0,3})(#{1,6})(?:[ \t]+(.*))?$")
_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_NOT_A_PARAGRAPH = re.compile(r" {4}|\t| {0,3}(?:[-*+>|]|\d+[.)][ \t])")
_ATTRIBUTES = re.compile(r"\s*\{[#.:][^{}]*\}\s*$")
_READ_CHARS = 2_000  # of a heading, whose title is far shorter
_MATTER_TITLE = re.compile(r"title\s*:(.*)")


def read_markdown(name: str, text: str) -> Document:
    """The document in `text`. Its title is the front matter's, else a lone first-level heading, else the name's."""
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
    return Document(
        title=title or title_from_name(name),
        text=text,
        language=detect(text),
        sections=sections,
        links=links(text, sections),
    )


def title_from_name(name: str) -> str:
    """A readable title out of a file's name."""
    return re.sub(r"[_\s]+", " ", PurePath(name).stem).strip() or name


def plain(markup: str) -> str:
    """A heading's words without Markdown, and without Pandoc's attributes."""
    return markdown.plain(_ATTRIBUTES.sub("", markup[:_READ_CHARS]))


def _headings(lines: list[Line], covered: bytearray) -> list[tuple[int, int, str, bool]]:
    """(line, level, title, quoted) of every heading."""
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
            above = lines[at - 1].text
            alone = at < 2 or not lines[at - 2].text.strip() or covered[at - 2]
            if above.strip() and alone and not _NOT_A_PARAGRAPH.match(above) and len(above) <= 200:
                words = plain(above)
                if words and not _ATX.match(above):
                    headings.append((at - 1, 1 if rule.group(1)[0] == "=" else 2, words, False))
    return headings


def _sections(
    text: str, lines: list[Line], headings: list[tuple[int, int, str, bool]], matter: int
) -> tuple[Section, ...]:
    marks: list[Mark] = []  # start, level, title, path
    trail: list[tuple[int, str]] = []
    for number, (at, level, words, quoted) in enumerate(headings):
        outer = [step for step in trail if step[0] < level or quoted]
        path = (*(step[1] for step in outer), words)
        marks.append((lines[at].start, level, words, path))
        if not quoted:
            trail = [*(step for step in trail if step[0] < level), (level, words)]
            continue
        # A boxed aside ends with its block quote; what follows belongs to the section around it.
        limit = headings[number + 1][0] if number + 1 < len(headings) else len(lines)
        after = at + 1
        while after < limit and lines[after].text.lstrip().startswith(">"):
            after += 1
        if after < limit and text[lines[after].start : lines[limit - 1].end].strip():
            names = tuple(step[1] for step in trail)
            around = trail[-1] if trail else (0, "")
            marks.append((lines[after].start, around[0], around[1], names))
    return sectioned(text, marks, matter)
