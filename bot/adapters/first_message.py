"""Which message a run began with: where a link to it leads. Knows no platform."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from bot.runs.requests import request_from_json

if TYPE_CHECKING:
    from bot.events import Request
    from storage.inbox import Inbox
    from storage.outbox import Outbox

SHARED = "share:"
"""What the outbox's key of a shared answer begins with."""


async def first_message(
    inbox: Inbox, outbox: Outbox, space: str, run: str, besides: Collection[str]
) -> tuple[Request, str] | None:
    """What the run was asked, and the message of its first stage; None where this space knows none.

    `besides` are the outbox's keys of what is no stage. Raises StorageFault.
    """
    row = await inbox.get(run)
    if row is None or row.space != space:
        return None
    stages = await outbox.stages(space, run)
    first = next((one for one in stages if one not in besides and not one.startswith(SHARED)), None)
    sent = await outbox.get(space, run, first) if first is not None else None
    if sent is None or sent.message_id is None:
        return None
    return request_from_json(row.payload), sent.message_id
