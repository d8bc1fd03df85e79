"""A line of Markdown as Slack's `markdown` block is to have it, word by word. Pure; knows no code and no table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from bot.adapters.slack.text.inline import BROKEN, atoms

_CHUNK = 400
"""Characters of a word that is not cut."""
_INDENT = 24

_RULE = re.compile(r"^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_UNDERLINE = re.compile(r"^ {0,3}(?:=+|-{1,2})[ \t]*$")
"""Would make a heading of the line before."""
HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+|$)")
_QUOTE = re.compile(r"^\s*(?:>[ \t]*)+(?![=<-])")
_ITEM = re.compile(r"^(\s*)(?:[-*+]|(\d{1,9})[.)])(?:[ \t]+)(?=\S)")
CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_SINGLE = re.compile(f"[{CJK}]")
_WORD = re.compile(rf"[{CJK}]|[^\s{CJK}]+|\s+")
_OPENING = re.compile(r"^(?:#{1,6}|[-*+>]|\d{1,9}[.)])$")
_RULED = "─" * 24


@dataclass(frozen=True, slots=True)
class Piece:
    """What is not cut any further; `lead` parts it from the one before, where that stands in the same message.

    `head`: what comes before it at the top of another message. `code`: it stands in code that is still open.
    `glued`: it belongs to the one before.
    """

    text: str
    lead: str = ""
    head: str = ""
    code: bool = False
    glued: bool = False


@lru_cache(4096)
def whole_line(line: str) -> tuple[Piece, ...]:
    """The pieces of a line. Nearly every one of a growing text is the same as a moment ago."""
    return part_of_line(line, whole=True)


def part_of_line(line: str, *, whole: bool = False) -> tuple[Piece, ...]:
    """Of a line that is not `whole`, what will stay so however it goes on. It must be known what kind it is."""
    if _RULE.match(line):
        return (Piece(_RULED),)
    if _UNDERLINE.match(line):
        return (Piece(f"\\{line.strip()}"),)
    if heading := HEADING.match(line):
        return words_of(heading[1] + " ", line[heading.end() :], whole=whole)
    if quote := _QUOTE.match(line):
        inner = _ITEM.match(line[quote.end() :].lstrip())
        prefix = "> " + (_marker(inner) if inner else "")
        rest = line[quote.end() :].lstrip()[inner.end() if inner else 0 :]
        return words_of(prefix, rest, whole=whole, head="> ")
    if item := _ITEM.match(line):
        return words_of(_marker(item), line[item.end() :], whole=whole)
    rest = line.lstrip()
    return words_of(_indent(line[: len(line) - len(rest)]), rest, whole=whole)


def _marker(item: re.Match[str]) -> str:
    return f"{_indent(item[1])}{item[2] + '.' if item[2] else '-'} "


def _indent(blanks: str) -> str:
    return " " * min(len(blanks.expandtabs(4)), _INDENT)


def words_of(prefix: str, rest: str, *, whole: bool, head: str = "") -> tuple[Piece, ...]:
    """The line's words; of one that is not `whole`, those that are."""
    if rest.startswith("~~~"):
        rest = "~" + BROKEN + rest[1:]
    found: list[Piece] = []
    text, lead, used, settled = prefix, "", 0, 0

    def end() -> None:
        nonlocal text, lead, used
        if text.strip():
            found.append(_word(text, lead, head, first=not found))
            text, lead, used = "", "", 0

    for part, solid in _parts(rest, whole):
        single = not solid and _SINGLE.match(part) is not None
        if single or part == " " or used + len(part) > _CHUNK:
            end()
        if part == " ":
            lead, settled = " " if found else "", len(found)
        else:
            text, used = text + part, used + len(part)
            if single:
                end()
                settled = len(found)
    end()
    return tuple(found if whole else found[:settled])


def _parts(line: str, whole: bool) -> Iterator[tuple[str, bool]]:
    """The line's parts, blanks as one, and whether each is solid; none is longer than a piece may be."""
    for atom in atoms(line, whole=whole):
        if atom.solid:
            yield atom.text, True
            continue
        for found in _WORD.finditer(atom.text):
            part = " " if found[0].isspace() else found[0]
            for at in range(0, len(part), _CHUNK):
                yield part[at : at + _CHUNK], False


def _word(text: str, lead: str, head: str, *, first: bool) -> Piece:
    """A word at the top of another message must not become a heading or a list there."""
    opens = not first and _OPENING.match(text)
    return Piece(text, lead, "" if first else head + (BROKEN if opens else ""))
