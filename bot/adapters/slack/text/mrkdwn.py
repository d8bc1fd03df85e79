"""Markdown that has been made safe, in mrkdwn, Slack's own markup for texts, sections and contexts. Pure.

https://docs.slack.dev/messaging/formatting-message-text. Takes only what `inline` and `markdown` make.
"""

from __future__ import annotations

import re

from bot.adapters.slack.text.inline import BROKEN

_PART = re.compile(
    r"(?P<code>`[^`\n]+`)"
    r"|\[(?P<label>[^\[\]\n]*)\]\((?P<url>https?://[^\s()<>]+)\)"
    r"|<(?P<auto>https?://[^\s<>]+)>"
    r"|\\(?P<escape>[!-/:-@\[-`{-~])"
    r"|(?P<strong>\*\*|__)|(?P<strike>~~)|(?P<em>(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\w*]))",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#{1,6} +")
_QUOTES = re.compile(r"(?:> ?)+")
_ITEM = re.compile(r"^(\s*)- ")


def converted(markdown: str) -> str:
    """The same words; never longer than `sizes.cost` of the Markdown."""
    code, shown = False, []
    for line in markdown.split("\n"):
        if line.startswith("```"):
            code = not code
            shown.append("```")
        else:
            shown.append(escaped(line) if code else _line(line))
    return "\n".join(shown)


def escaped(text: str) -> str:
    """The three characters that Slack's markup is made of (its documentation, "Escaping text")."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _line(line: str) -> str:
    if quotes := _QUOTES.match(line):
        return "> " * quotes[0].count(">") + _line(line[quotes.end() :])
    if heading := _HEADING.match(line):
        words = _inline(re.sub(r"\s+#+$", "", line[heading.end() :])).replace("*", "")
        return f"*{words}*" if words.strip() else ""
    return _inline(_ITEM.sub(r"\1• ", line))


def _inline(line: str) -> str:
    shown, at = [], 0
    for part in _PART.finditer(line):
        shown += [escaped(line[at : part.start()]), _shown(part)]
        at = part.end()
    return "".join([*shown, escaped(line[at:])])


def _shown(part: re.Match[str]) -> str:
    match part.lastgroup:
        case "code":
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
