"""Pieces of Markdown put into messages, each filled for good before the next begins. Pure.

Where a message ends depends only on what it holds and what comes next: not on what follows later. So a growing text
never takes anything out of a message that has been shown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache

from bot.adapters.slack.text.markdown import Piece
from bot.adapters.slack.text.page import cost

BODY = 3_200
"""Of a message's text, as `cost` counts. Its plain form, which chat.update holds to 4,000 characters, then says all
of it, with some room for what stands below; and in a thread three screens are as much as anybody wants in one.
"""
BLOCK, LINE, SENTENCE, WORD = 2_500, 2_800, 3_000, 3_100
"""From where on a message ends before the next block, or line, or sentence, or word."""

CLOSING = "\n```"
_cost = lru_cache(8192)(cost)
"""Of words, most of which come again: a growing text is filled in anew each time."""
_SENTENCE = re.compile(r"[.!?…。！？][\"'”’)\]*_]*\Z")


@dataclass(slots=True)
class Filled:
    """A message's text. `code`: it ends in code that is still open."""

    text: str = ""
    used: int = 0
    code: bool = False

    @property
    def closed(self) -> str:
        return self.text + CLOSING if self.code else self.text


def fill(found: Iterable[Piece], breaks: Collection[int] = ()) -> list[Filled]:
    """The pieces in messages of at most BODY. At each of `breaks`, counted in pieces, or soon after, another begins."""
    made: list[Filled] = []
    wanted = False
    for at, piece in enumerate(found):
        wanted = wanted or at in breaks
        length = len(piece.lead) + _cost(piece.text)
        if not made or (wanted and not piece.glued) or _ends(made[-1], piece, length):
            wanted = False
            if made and made[-1].code:
                made[-1] = Filled(made[-1].closed)
            made.append(Filled(piece.head + piece.text, cost(piece.head + piece.text), piece.code))
        else:
            page = made[-1]
            page.text += piece.lead + piece.text
            page.used += length
            page.code = piece.code
    return made


def _ends(page: Filled, piece: Piece, length: int) -> bool:
    """Whether the piece begins another message."""
    if page.used < BLOCK and page.used + length <= BODY - len(CLOSING):
        return False
    if page.code and not piece.code:
        return False
    closing = len(CLOSING) if piece.code else 0
    if page.used + length + closing > BODY:
        return True
    if piece.glued or not piece.lead:
        return False
    if "\n" in piece.lead:
        enough = SENTENCE if page.code else BLOCK if "\n\n" in piece.lead else LINE
    else:
        enough = SENTENCE if _SENTENCE.search(page.text[-8:]) else WORD
    return page.used >= enough
