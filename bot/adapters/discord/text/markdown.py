"""Markdown as Discord is to have it, in pieces that fit a message. Pure; knows no page and no client.

Discord draws headings to ###, lists, quotes of one line and code between backticks; no tables, no rules,
no ~~~, no HTML. What a stranger wrote can't ping, hide, unfurl or swallow what comes after it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from bot.adapters.blocks import Block, Kind, blocks, fence
from bot.adapters.discord.text.inline import coded, inline, size, unfenced
from bot.adapters.draft import Piece, clean, cut, neutralise
from bot.adapters.tables import tables

_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:\s+(.*))?$")
_QUOTE = re.compile(r"^\s*(?:>[ \t]*)+(?![=<-])")
_RULE = re.compile(r"^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_ITEM = re.compile(r"^(\s*)(?:[+](?=\s)|(\d{1,9})\)(?=\s))")
_LANGUAGE = re.compile(r"[\w+#.-]{1,20}", re.ASCII)
_OPENING = re.compile(r"^(?=#{1,3} |-# |>|[-*] |\d{1,9}\. )")
_RULED = "─" * 24
_KEPT = 8_000
ADDED = len("> ")
"""What a piece may get in front of it."""


def pieces(markdown: str, limit: int) -> list[Piece]:
    """What the text says, in pieces of at most `limit` units.

    The blocks that are finished are rendered once, however often a growing text is.
    """
    found = blocks(clean(markdown))
    made: list[Piece] = []
    for at, block in enumerate(found):
        source = block.source.rstrip()
        if not source:
            continue
        finished = at + 1 < len(found) and len(source) < _KEPT
        texts = (_kept if finished else _rendered)(block.kind, source, limit)
        made += [Piece(one, "\n") for one in texts[:-1]]
        made += [Piece(one, _gap(block, source), block.kind == "heading") for one in texts[-1:]]
    return made


def _gap(block: Block, source: str) -> str:
    return "\n\n" if block.source.count("\n", len(source)) > 1 and block.kind != "heading" else "\n"


def _rendered(kind: Kind, source: str, limit: int) -> tuple[str, ...]:
    match kind:
        case "fence":
            marker, code = _fenced(source)
            shown = [*([marker] if marker else []), *cut(code, limit, size)]
        case "table":
            made = tables(source, limit - ADDED, size, code=coded, prose=inline)
            shown = [one for part in made for one in _cut_lines(part, limit)]
        case _:
            shown = _cut_lines("\n".join(map(_line, source.split("\n"))), limit)
    return tuple(one.rstrip() for one in shown if one.strip())


_kept = lru_cache(1024)(_rendered)


def _fenced(source: str) -> tuple[str, str]:
    """A list's marker before the block, and the block between three backticks, closed if it is not yet."""
    first, *lines = source.split("\n")
    opened = fence(first)
    if opened is None:
        return "", source
    if lines and opened.closed_by(lines[-1]):
        lines = lines[:-1]
    indent = len(opened.before) - len(opened.before.lstrip(" ")) if not opened.before.strip() else 0
    if ">" in opened.before:
        lines = [re.sub(r"^\s*(?:> ?)+", "", line) for line in lines]
    elif indent:
        lines = [line[indent:] if not line[:indent].strip() else line for line in lines]
    language = _LANGUAGE.match(opened.info)
    said = f"{opened.info}\n" if opened.info and not (language and language[0] == opened.info) else ""
    code = neutralise(unfenced(said + "\n".join(lines)))
    marker = opened.before.replace(">", " ").strip()
    return marker, f"```{language[0] if language and not said else ''}\n{code or ' '}\n```"


def _line(line: str) -> str:
    if _RULE.match(line):
        return _RULED
    if heading := _HEADING.match(line):
        words = inline((heading[2] or "").rstrip("# \t"))
        if not words:
            return ""
        return f"{heading[1]} {words}" if len(heading[1]) <= 3 else f"**{words.replace('**', '')}**"
    if quote := _QUOTE.match(line):
        # One mark: Discord nests no quotes, and three would swallow all that follows.
        return "\n".join(f"> {one}" for one in _line(line[quote.end() :].lstrip("> \t")).split("\n"))
    if item := _ITEM.match(line):
        line = f"{item[1]}{item[2] + '.' if item[2] else '-'}{line[item.end() :]}"
    return inline(line)


def _cut_lines(text: str, limit: int) -> list[str]:
    """Text cut to pieces, none of which begins as something that it is not, or leaves its quote."""
    whole = cut(text, limit - ADDED, size)
    for at in range(1, len(whole)):
        whole[at] = _resumed(whole[at - 1], whole[at])
    return whole


def _resumed(before: str, text: str) -> str:
    if before.endswith("\n"):
        return text
    if before.rsplit("\n", 1)[-1].startswith("> "):
        return "> " + text
    return _OPENING.sub(r"\\", text)


def divided(text: str, room: int) -> tuple[str, str]:
    """A piece that is longer than `room` in two, the first as long as can be; code stays whole."""
    if text.startswith("```"):
        return "", text
    head = cut(text, room, size)[0]
    return head.rstrip(), _resumed(head, text[len(head) :])
