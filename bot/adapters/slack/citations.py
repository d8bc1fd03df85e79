"""The list of sources under an answer: where each [n] is from, and the words it stands on. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.adapters.draft import clean
from bot.adapters.slack.elements import SMALL, small
from bot.adapters.slack.neutral import literal
from bot.adapters.slack.page import Block
from bot.adapters.slack.sizes import size
from bot.events import Citation
from bot.words import Words

_MARKERS = re.compile(r"^[ \t]*(?:(?:>|[-*+]|#{1,6})[ \t]+)+", re.MULTILINE)

QUOTE = 240
WHERE = 180


@dataclass(frozen=True, slots=True)
class Source:
    """One citation in mrkdwn: where it is from, and the quotation, "" where the text has just said it."""

    where: str
    quote: str

    def __str__(self) -> str:
        return f"{self.where}\n{self.quote}" if self.quote else self.where


def sources(citations: list[Citation], text: str, say: Words) -> list[Source]:
    """The citations by number, each once. `text` is what the stage has shown."""
    said = _letters(text)
    numbered = {one.n: one for one in citations}
    return [_source(numbered[n], say, quoted=_letters(numbered[n].quote) in said) for n in sorted(numbered)]


def fitting(found: list[Source], room: int, say: Words, *, quotes: bool) -> tuple[str, int]:
    """As much of the list as `room` characters hold, and how many sources stay out of it."""
    if not found:
        return "", 0
    lines: list[str] = []
    left = room - size(say("page.more", n=len(found))) - 1
    for at, one in enumerate(found):
        text = str(one) if quotes else one.where
        if size(text) + 1 > left:
            text = one.where
        if size(text) + 1 > left:
            hidden = len(found) - at
            return "\n".join([*lines, say("page.more", n=hidden)]) if room > 40 else "", hidden
        lines.append(text)
        left -= size(text) + 1
    return "\n".join(lines), 0


def listed(found: list[Source], room: int, say: Words) -> tuple[tuple[Block, ...], int]:
    """The list as the block that closes a message, with quotations where there is room; and how many stay out."""
    shown, hidden = fitting(found, min(room, SMALL), say, quotes=True)
    return ((small(shown),) if shown else ()), hidden


def _source(cited: Citation, say: Words, *, quoted: bool) -> Source:
    where = clean(cited.source)
    if cited.heading:
        where += f" › {clean(cited.heading)}"
    where = literal(where, WHERE)
    if cited.page is not None:
        where += f", {say('page.leaf', n=cited.page)}"
    quote = literal(_MARKERS.sub("", clean(cited.quote)), QUOTE)
    return Source(f"*[{cited.n}]* {where}", f"“{quote}”" if quote and not quoted else "")


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))
