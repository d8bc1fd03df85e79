"""How long Slack may hold a text to be. Pure."""

from __future__ import annotations


def size(text: str) -> int:
    """UTF-16 units: Slack does not say how it counts, and this is the most of what it may."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cost(text: str) -> int:
    """How long a Markdown text can become as mrkdwn, where & < > are escaped; never less than its own size."""
    return size(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))
