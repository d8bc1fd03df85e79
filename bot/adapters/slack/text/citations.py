"""The list of sources under an answer, as Slack shows it. Pure."""

from __future__ import annotations

from bot.adapters.citations import Source, SourceList
from bot.adapters.slack.text.elements import SMALL, small
from bot.adapters.slack.text.neutral import literal
from bot.adapters.slack.text.page import Block
from bot.adapters.slack.text.sizes import size
from bot.words import Words

SOURCE_LIST = SourceList(literal, size, number="*[{}]*")


def listed(found: list[Source], room: int, say: Words) -> tuple[tuple[Block, ...], int]:
    """The list as the block that closes a message, with quotations where there is room; and how many stay out."""
    shown, hidden = SOURCE_LIST.fitting(found, min(room, SMALL), say, quotes=True)
    return ((small(shown),) if shown else ()), hidden
