"""Tells a person something without a run, and nobody else: a refusal, a fault, a hint.

Never raises for what cannot be told, and never logs a response_url. Knows no request.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

from bot.adapters.draft import clean
from bot.adapters.slack.installed.faults import as_surface_faults
from bot.adapters.slack.placing import Spot
from bot.adapters.slack.shown import response_urls
from bot.adapters.slack.text.mrkdwn import mrkdwn
from bot.adapters.slack.text.page import TEXT, Page
from bot.adapters.surface import Shut, SurfaceFault
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Workspaces

Post = Callable[..., Awaitable[Any]]

_log = logging.getLogger(__name__)


async def tell(workspaces: Workspaces, here: Spot, text: str, response_url: str = "") -> None:
    """Markdown, at most a sentence or a few. What cannot be told is logged."""
    await show(workspaces, here, Page("", plain=mrkdwn(clean(text))[:TEXT]), response_url)


async def show(workspaces: Workspaces, here: Spot, page: Page, response_url: str = "") -> None:
    """A whole page; its plain text where Slack does not take the blocks."""
    said: list[dict[str, Any]] = [{"text": page.plain}]
    if page.blocks:
        said.insert(0, {"text": page.plain, "blocks": page.blocks})
    for one in said if response_url else ():
        if await _answered(here, one, response_url):
            return
    try:
        client: Any = await workspaces.client(here.team, here.enterprise)
    except (Shut, StorageFault) as fault:
        _log.warning("a person could not be told something: %s", type(fault).__name__)
        return
    post: Post
    for post, where in _ways(client, here):
        for one in said:
            try:
                with as_surface_faults():
                    await post(**one, **where)
            except SurfaceFault as fault:  # the bot may not be in the channel; the person may have left
                _log.info("a person could not be told something there: %s", fault)
            else:
                return
    _log.warning("a person could not be told something")


def _ways(client: Any, here: Spot) -> Iterator[tuple[Post, dict[str, Any]]]:
    """In the conversation itself, else in one with the person alone."""
    if here.direct:
        yield client.chat_postMessage, {"channel": here.channel, "thread_ts": here.root or None}
    elif here.channel:
        # Under a message without replies Slack shows nothing to one person alone ("chat.postEphemeral").
        where = {"channel": here.channel, "user": here.user, "thread_ts": here.thread or None}
        yield client.chat_postEphemeral, where
    yield client.chat_postMessage, {"channel": here.user}


async def _answered(here: Spot, said: dict[str, Any], response_url: str) -> bool:
    answer = {**said, "response_type": "ephemeral", "replace_original": False}
    return await response_urls.post(
        response_url, {**answer, "thread_ts": here.thread} if here.thread else answer
    )
