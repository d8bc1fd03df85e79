"""Makes untrusted text safe for Slack: no mentions, no misleading links. Pure.

A `markdown` block, a mrkdwn text (https://docs.slack.dev/messaging/formatting-message-text) and a plain_text object
each have their own syntax. All words of a model, a document or a person go through `safe`, `mrkdwn`, `line`, `literal`
or `plain`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from bot.adapters.markdown import clean, shortened
from bot.adapters.slack.text.inline import BROKEN, size, words
from bot.adapters.slack.text.markdown import pieces

_PART = re.compile(
    r"(?P<code>`[^`\n]+`)"
    r"|\[(?P<label>[^\[\]\n]*)\]\((?P<url>https?://[^\s()<>]+)\)"
    r"|<(?P<auto>https?://[^\s<>]+)>"
    r"|\\(?P<escape>[!-/:-@\[-`{-~])"
    r"|(?P<strong>\*\*|__)|(?P<strike>~~)|(?P<em>(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\w*]))"
    r"|(?P<control>[&<>])",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#{1,6} +")
_QUOTES = re.compile(r"(?:> ?)+")
_ITEM = re.compile(r"^(\s*)- ")


def converted(markdown: str) -> str:
    """The safe Markdown as mrkdwn; never longer than `inline.cost` of the Markdown."""
    code, shown = False, []
    for line in markdown.split("\n"):
        if line.startswith("```"):
            code = not code
            shown.append("```")
        else:
            shown.append(escaped(line) if code else _line(line))
    return "\n".join(shown)


def escaped(text: str) -> str:
    """The text with the three control characters of Slack's markup escaped (its documentation, "Escaping text")."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _line(line: str) -> str:
    if quotes := _QUOTES.match(line):
        return "> " * quotes[0].count(">") + _line(line[quotes.end() :])
    if heading := _HEADING.match(line):
        words = _PART.sub(_shown, re.sub(r"\s+#+$", "", line[heading.end() :])).replace("*", "")
        return f"*{words}*" if words.strip() else ""
    return _PART.sub(_shown, _ITEM.sub(r"\1• ", line))


def _shown(part: re.Match[str]) -> str:
    match part.lastgroup:
        case "code" | "control":
            return escaped(part[0])
        case "url":
            label = escaped(part["label"].replace("**", "").replace("|", "¦"))
            return f"<{escaped(part['url'])}|{label}>"
        case "auto":
            return f"<{escaped(part['auto'])}>"
        case "escape":
            mark = part["escape"]
            return mark + BROKEN if mark in "*_~" else escaped(mark)
        case "strong":
            return "*"
        case "strike":
            return "~"
        case _:
            return "_"


_CALL = re.compile(
    r"(?:@|&(?:amp;)*(?:#0*64|#x0*40|commat);)(?=everyone|here|channel)"
    r"|(?:<|&(?:amp;)*(?:lt|#0*60|#x0*3c);)(?=[@!#])",
    re.IGNORECASE,
)


def safe(markdown: str) -> str:
    """A model's or a document's Markdown for a `markdown` block or a stream. Idempotent."""
    return "".join(piece.lead + piece.text for piece in pieces(markdown))


def mrkdwn(markdown: str) -> str:
    """The same in mrkdwn, for a text, a section or a context."""
    return converted(safe(markdown))


def line(markdown: str, most: int) -> str:
    """Markdown as one line of mrkdwn, of at most `most` characters."""
    return _within(safe, " ".join(clean(markdown).split()), most)


def literal(text: str, most: int = 0) -> str:
    """Words, escaped, for a mrkdwn text, in one line, of at most `most` characters if given.

    Double asterisks are removed, since a book's bold is noise in a quotation.
    """
    return _within(words, " ".join(clean(text).replace("**", "").split()), most)


def plain(text: str, most: int) -> str:
    """Words for a plain_text object, in one line of at most `most` characters."""
    shown = _CALL.sub(lambda match: match[0] + BROKEN, " ".join(clean(text).split()))
    return shortened(shown, most, size)


def _within(escape: Callable[[str], str], text: str, most: int) -> str:
    """The text, made Markdown by `escape`, as mrkdwn of at most `most` characters if given. It is shortened until that
    fits: how much escaping adds is not known beforehand.
    """
    shown = converted(escape(shortened(text, most, size) if most else text))
    room = most
    while most and size(shown) > most and room > 2:
        room = max(min(room * most // size(shown), room - 1), 2)
        shown = converted(escape(shortened(text, room, size)))
    return shown
