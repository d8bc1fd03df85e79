"""The structure of a text's lines: where tables, fences and front matter are, and which lines form a paragraph.

Shared by the readers, the chunker and the adapters' own splitting of Markdown. Independent of headings.

Table grammars: GitHub Flavored Markdown 4.10 (pipe tables) and Pandoc's manual, "Tables" (simple, multiline and
headerless dashed-rule tables).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

BlockKind = Literal["pipe", "rule", "code", "matter"]

_KEY = re.compile(r"[\w-]+\s*:|#")
_MATTER_ENDS = ("---", "...")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
# Applied to a line without surrounding blanks: two parts that may match the same blanks would need quadratic time.
_PIPE_RULE = re.compile(r"\|?\s*:?-+:?(?:\s*\|\s*:?-+:?)*\s*\|?")
_RULE = re.compile(r"[ \t]*-{2,}(?:[ \t]+-{2,})*[ \t]*$")
_COLUMNS = re.compile(r"[ \t]*-{2,}(?:[ \t]+-{2,})+[ \t]*$")
_GAP = re.compile(r"\S(?: {2,}|\t+)\S")
_NARROW = 45  # characters: short lines that each begin a new thought were meant as lines
_OWN_LINE = re.compile(r" {0,3}(?:#{1,6}(?:\s|$)|>|\||<|(?:[-*_=] *){3,}$)")
_ITEM = re.compile(r"\s*(?:[-*+•]|\w{1,3}[.)])\s+\S")
_INDENTED = re.compile(r" {4}|\t")  # code
_LABEL = re.compile(r"\s*(?:\*\*|__)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*$")
_GOES_ON = re.compile(r"[\w,;–—-]$")
_BEGINS = re.compile(r"\s*[^\w\s]*[A-ZÀ-Þ0-9]")


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its characters [start, end) without the newline."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """Lines [first, last) that belong together; the first `head` lines are a table's heading, to be repeated."""

    kind: BlockKind
    first: int
    last: int
    head: int = 0


def split_lines(text: str, start: int = 0, end: int | None = None) -> list[Line]:
    """The lines of text[start:end], with their places in `text`."""
    lines = []
    at = start
    for piece in text[start:end].split("\n"):
        lines.append(Line(at, at + len(piece), piece))
        at += len(piece) + 1
    return lines


def opens_table(line: str, following: str) -> bool:
    """Whether the two lines are a pipe table's header and the rule under it (GFM, 4.10)."""
    return "|" in line and "|" in following and bool(_PIPE_RULE.fullmatch(following.strip()))


def blocks(lines: list[Line]) -> Iterator[Block]:
    """The tables, fenced code and front matter among `lines`, in order, not overlapping."""
    at = 0
    # YAML front matter: `---` on the very first line, keys, `---` or `...`.
    if len(lines) >= 3 and lines[0].text.lstrip("\ufeff").rstrip() == "---" and _KEY.match(lines[1].text):
        ends = (
            place + 1
            for place, line in enumerate(lines[:200])
            if place and line.text.rstrip() in _MATTER_ENDS
        )
        at = next(ends, 0)
    if at:
        yield Block("matter", 0, at)
    while at < len(lines):
        text, block = lines[at].text, None
        stripped = text.lstrip(" \t>")
        if stripped.startswith(("```", "~~~")):
            block = _fence(lines, at)
        elif "|" in text:
            if at + 1 < len(lines) and opens_table(text, lines[at + 1].text.lstrip("> ")):
                last = at + 2
                while last < len(lines) and "|" in lines[last].text and lines[last].text.strip():
                    last += 1
                block = Block("pipe", at, last, head=2)
        elif stripped.startswith("--"):
            block = _opened_by_rule(lines, at)
        elif at + 1 < len(lines) and "--" in lines[at + 1].text:
            block = _headed_by_text(lines, at)
        if block is None:
            at += 1
        else:
            yield block
            at = block.last


def _fence(lines: list[Line], at: int) -> Block | None:
    opening = _FENCE.match(lines[at].text.lstrip("> "))
    if opening is None:
        return None
    mark = opening.group(1)
    for last in range(at + 1, len(lines)):
        closing = lines[last].text.strip("> \t")
        if closing.startswith(mark) and not closing.strip(mark[0]):
            return Block("code", at, last + 1)
    # An unclosed fence would include the rest of the book; end it with its paragraph.
    last = at + 1
    while last < len(lines) and lines[last].text.strip():
        last += 1
    return Block("code", at, last)


def _opened_by_rule(lines: list[Line], at: int) -> Block | None:
    """A table whose first line is a rule: multiline (full rule first) or headerless (columns first)."""
    if not _RULE.match(lines[at].text) or (at and lines[at - 1].text.strip()) or at + 1 >= len(lines):
        return None
    if not lines[at + 1].text.strip() or _RULE.match(lines[at + 1].text):
        return None
    columns = bool(_COLUMNS.match(lines[at].text))
    if not columns and len(lines[at].text.strip()) < 10:
        return None  # a short dashed line between blank lines is a thematic break
    rules = [at]
    spaced = False
    for line in range(at + 1, min(len(lines), at + 4000)):
        if _RULE.match(lines[line].text):
            rules.append(line)
            ended = line + 1 >= len(lines) or not lines[line + 1].text.strip()
            if ended and (len(rules) > 2 or columns or spaced or _all_gapped(lines, rules[0] + 1, line)):
                head = rules[1] - at + 1 if len(rules) > 2 and not columns else 1
                return Block("rule", at, line + 1, head=head)
        elif not lines[line].text.strip():
            spaced = True
            if not columns and len(rules) == 1 and line - at > 8:
                return None  # eight lines are no header: this was a thematic break
            if line + 1 < len(lines) and lines[line + 1].text.lstrip().startswith("#"):
                return None
    return None


def _all_gapped(lines: list[Line], first: int, last: int) -> bool:
    return all(_GAP.search(line.text) for line in lines[first:last] if line.text.strip())


def _headed_by_text(lines: list[Line], at: int) -> Block | None:
    """A simple table: a header line, a rule under it, rows up to a blank line or a closing rule."""
    if (
        not lines[at].text.strip()
        or (at and lines[at - 1].text.strip())
        or not _RULE.match(lines[at + 1].text)
    ):
        return None
    gapped = bool(_GAP.search(lines[at].text.strip()))
    if not _COLUMNS.match(lines[at + 1].text):
        # One unbroken rule is a setext underline, unless the line above and the next one have columns.
        follows = at + 2 < len(lines) and _GAP.search(lines[at + 2].text.strip())
        if not (gapped and (follows or len(_GAP.findall(lines[at].text)) > 1)):
            return None
    last = at + 2
    while last < len(lines) and lines[last].text.strip() and not _RULE.match(lines[last].text):
        last += 1
    if last < len(lines) and _RULE.match(lines[last].text):
        last += 1
    return Block("rule", at, last, head=2)


def flowing(text: str) -> str:
    """The text with the lines of each paragraph joined by a space, if its author only wrapped them.

    Lists (an item's own lines are joined), tables, code, headings, quotes, verses and Markdown's hard breaks stay. Only
    white space changes.
    """
    lines = split_lines(text)
    kept_lines = bytearray(len(lines))
    for block in blocks(lines):
        kept_lines[block.first : block.last] = b"\x01" * (block.last - block.first)
    flowed: list[str] = []
    paragraph: list[str] = []
    for line, keeps in zip(lines, kept_lines, strict=True):
        own_line = bool(keeps) or not line.text.strip() or bool(_OWN_LINE.match(line.text))
        if paragraph and (own_line or _ITEM.match(line.text)):
            flowed += _joined(paragraph)
            paragraph = []
        if own_line:
            flowed.append(line.text)
        else:
            paragraph.append(line.text)
    return "\n".join(flowed + _joined(paragraph))


def _joined(lines: list[str]) -> list[str]:
    """A paragraph's lines, with wrapped ones joined."""
    if len(lines) < 2 or _INDENTED.match(lines[0]):
        return lines
    width = max(map(len, map(str.rstrip, lines)))
    groups = [[lines[0]]]
    for before, line in pairwise(lines):
        broken = before.endswith(("  ", "\\")) or bool(_LABEL.match(line) or _UNDERLINE.match(line))
        if _BEGINS.match(line):  # it may be a line of verse or dialogue, or one of several values in a column
            full = len(before.rstrip()) + 1 + len(line.split()[0]) > width
            broken = broken or width < _NARROW or not (full or _GOES_ON.search(before.rstrip()))
        if broken:
            groups.append([line])
        else:
            groups[-1][-1] = groups[-1][-1].rstrip()
            groups[-1].append(line.lstrip())
    return list(map(" ".join, groups))
