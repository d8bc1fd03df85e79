"""Strangers' words made fit for Slack: nobody is called by them, and no link of theirs misleads. Pure.

A `markdown` block, a mrkdwn text and a plain_text object each read words in their own way. Wherever words of a model,
a document or a person go, one of these four is what they go through.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from bot.adapters.draft import clean, shortened
from bot.adapters.slack.text.inline import BROKEN, words
from bot.adapters.slack.text.markdown import pieces
from bot.adapters.slack.text.mrkdwn import converted
from bot.adapters.slack.text.sizes import size

_CALL = re.compile(
    r"(?:@|&(?:amp;)*(?:#0*64|#x0*40|commat);)(?=everyone|here|channel)"
    r"|(?:<|&(?:amp;)*(?:lt|#0*60|#x0*3c);)(?=[@!#])",
    re.IGNORECASE,
)


def safe(markdown: str) -> str:
    """A model's or a document's Markdown for a `markdown` block or a stream. What is safe is so again."""
    return "".join(piece.lead + piece.text for piece in pieces(markdown))


def mrkdwn(markdown: str) -> str:
    """The same in mrkdwn, for a text, a section or a context."""
    return converted(safe(markdown))


def line(markdown: str, most: int) -> str:
    """Markdown as one line of mrkdwn, of at most `most` characters."""
    return _within(mrkdwn, " ".join(clean(markdown).split()), most)


def literal(text: str, most: int = 0) -> str:
    """Words as they stand for a mrkdwn text, in one line: nothing in them is markup. `most`: at most so long.

    Their asterisks of emphasis go, since a book's bold is noise in a quotation.
    """
    said = " ".join(clean(text).replace("**", "").split())
    return _within(_literal, said, most) if most else _literal(said)


def plain(text: str, most: int) -> str:
    """Words for a plain_text object, in one line of at most `most` characters."""
    said = _CALL.sub(lambda found: found[0] + BROKEN, " ".join(clean(text).split()))
    return shortened(said, most, size)


def _literal(said: str) -> str:
    return converted(words(said))


def _within(made: Callable[[str], str], said: str, most: int) -> str:
    """What is made of the words, shortened until it fits: how much escaping adds is not known beforehand."""
    room = most
    while size(shown := made(shortened(said, room, size))) > most and room > 2:
        room = max(min(room * most // size(shown), room - 1), 2)
    return shown
