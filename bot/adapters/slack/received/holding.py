"""Which threads of Slack's are the bot's: what they are called, and whether replies there are for it.

Knows no message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.adapters.slack.placing import PLATFORM, Spot, real

if TYPE_CHECKING:
    from bot.house import House


async def bound(house: House, here: Spot) -> tuple[str, str] | None:
    """The (channel, thread) that the thread is called which the bot opened here; None for all others.

    A message that has just begun one is in none yet. Raises StorageFault.
    """
    if not here.thread:
        return None
    row = await house.threads.held(here.space, real(here.channel, here.thread))
    return (row.channel, row.thread) if row is not None else None


async def holds(house: House, here: Spot) -> bool:
    """Whether the bot is in the conversation of this thread already, or about to be. Raises StorageFault."""
    if not here.thread:
        return False
    if await bound(house, here) is not None:
        return True
    there = here.space, PLATFORM, here.channel, here.thread
    return await house.sessions.active(*there) is not None or await house.inbox.waiting_at(*there)
