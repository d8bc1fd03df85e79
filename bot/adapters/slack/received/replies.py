"""The newest replies of a Slack thread, read in a few calls however long the thread is.

Slack gives the oldest messages of a time span first (Slack's documentation, "conversations.replies"). So the end of a
long thread is read in spans of time, until one call returns a whole span.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from bot.adapters.slack.placing import text_of

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

READ: Final = 999
"""Messages per call; Slack's maximum (its documentation, "conversations.replies")."""
CALLS: Final = 10
"""The most calls for one thread."""
ROOM: Final = 2.0
"""The first span has this many times the wanted number of replies, if people write evenly."""
WIDER: Final = 4.0
"""If a span has too few replies, the next is this many times as long."""


async def newest_replies(
    client: AsyncWebClient,
    channel: str,
    root: str,
    most: int,
    counts: Callable[[Mapping[str, Any]], bool],
    before: str = "",
) -> tuple[list[Mapping[str, Any]], int]:
    """At most `most` of a thread's newest messages that `counts` accepts, oldest first, and the number of all replies.

    `before` is a ts; only messages before it are returned. Short threads begin with their root. Raises SurfaceFault.
    """

    async def read(oldest: str = "") -> tuple[list[Mapping[str, Any]], bool]:
        """The messages from a ts on, without the root, and whether there are more."""
        answer: Any = await client.conversations_replies(
            channel=channel, ts=root, limit=READ, oldest=oldest or None, latest=before or None
        )
        cursor = (answer.get("response_metadata") or {}).get("next_cursor")
        messages = [
            each for each in answer.get("messages") or () if text_of(each, "ts") != root or not oldest
        ]
        return messages, bool(cursor)

    def chosen(messages: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        earlier = (each for each in messages if not before or text_of(each, "ts") < before)
        return list(filter(counts, earlier))[-most:]

    messages, has_more = await read()
    if not has_more or not messages:
        return chosen(messages), sum(text_of(each, "ts") != root for each in messages)
    parent = next((each for each in messages if text_of(each, "ts") == root), messages[0])
    total = max(int(parent.get("reply_count") or 0), len(messages))
    end = min(float(before or time.time()), float(parent.get("latest_reply") or time.time()))
    block, tail, fits = messages, list[Mapping[str, Any]](), False
    span = ROOM * most * max(end - float(root), 1.0) / total
    for _ in range(CALLS - 1):
        # `block` ends at `last`. Once a span `fits` into one call, `tail` holds everything after that span's beginning.
        last = text_of(block[-1], "ts")
        goes_on = end - span <= float(last)
        page, has_more = await read(last if goes_on else f"{end - span:.6f}")
        if not has_more:
            tail, fits = [*block, *page] if goes_on else page, True
            if goes_on or len(chosen(tail)) >= most:
                break
            span *= WIDER
        elif page:
            block = [*block, *page] if goes_on else page
            span = float("inf") if fits else (end - float(text_of(page[-1], "ts"))) / 2
        else:
            break
    return chosen(tail if fits else block), total
