"""What somebody wrote, quoted under the question that is asked about it. Pure; knows no platform."""

from __future__ import annotations

from bot.adapters.draft import clean

QUOTED_CHARS = 1_500
"""Of the message that is asked about; the question itself comes on top."""


def quotation(text: str) -> str:
    """The text, cut, as a quotation in Markdown; "" of nothing."""
    text = clean(text[: 4 * QUOTED_CHARS].lstrip()).strip()
    if len(text) > QUOTED_CHARS:
        text = text[: QUOTED_CHARS - 1].rstrip() + "…"
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
