"""Posts that can be neither edited nor found again: to one person alone, or to an action's response_url.

Such an address answers one action, five times within half an hour, and is a secret: no fault and no log contains it.
Depends on nothing of a run except its id.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from bot.adapters.markdown import clean
from bot.adapters.slack.shown.thread import sent_as
from bot.adapters.slack.text.markdown import mrkdwn
from bot.adapters.slack.text.page import TEXT, Page
from bot.adapters.surface import (
    Guest,
    MessageRef,
    MessageStyle,
    NotSent,
    PlaceClosed,
    Refused,
    SurfaceFault,
    Unavailable,
)
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Workspace, Workspaces
    from bot.adapters.slack.placing import Location, Origin
    from storage.buttons import Offers

EPHEMERAL: Final = "whispered"
"""The kind of stored offers that holds messages to one person, as JSON with `text` and `blocks`, because Slack does not
send such a message with a press.
"""
EARLY_S: Final = 5.0
"""Seconds by which a response_url counts as expired early, because a post takes time."""
ANSWERED: Final = "answered"
"""The id of a message to a response_url, because Slack returns none."""
ALONE: Final = {"response_type": "ephemeral", "replace_original": False}
"""The fields of a post to a response_url for the person alone."""
TIMEOUT: Final = aiohttp.ClientTimeout(total=20)

Post = Callable[..., Awaitable[Any]]

_log = logging.getLogger(__name__)


async def answer_action(url: str, payload: Mapping[str, Any]) -> bool:
    """Post to a response_url. Returns whether Slack accepted it. Never raises, and never logs the address."""
    return url != "" and await _posted(url, payload) == 200


async def _posted(url: str, payload: Mapping[str, Any]) -> int:
    """Post to a response_url. Returns the HTTP status, or 0 if there was no response."""
    try:
        async with (
            aiohttp.ClientSession(timeout=TIMEOUT) as session,
            session.post(url, json=payload, allow_redirects=False) as answer,
        ):
            if answer.status != 200:
                _log.info("an answer to an action was refused: status %d", answer.status)
            return answer.status
    except (aiohttp.ClientError, TimeoutError, ValueError) as fault:  # their texts contain the address
        _log.info("an answer to an action could not be sent: %s", type(fault).__name__)
    return 0


def usable(origin: Origin, now: Callable[[], float] = time.time) -> bool:
    """Whether the origin's response_url can still be used."""
    return bool(origin.response_url) and now() < origin.until - EARLY_S


@dataclass(frozen=True, slots=True)
class EphemeralReply:
    """Posts for a run's asker alone, in the place where they asked: a quick answer, or the reason why there is none.

    Uses the action's response_url until it expires, then an ephemeral message.
    """

    workspace: Workspace
    origin: Origin
    offers: Offers
    now: Callable[[], float] = time.time
    files = False

    async def post_ephemeral(self, page: Page, ref: MessageRef, style: MessageStyle) -> str:
        """Post for the asker alone. Returns the message's id, or ANSWERED. Raises PlaceClosed if no ephemeral message
        is possible, and Refused.
        """
        content = sent_as(page, style)
        if self.origin.private:
            await self._keep(ref.run, content)
        try:
            return await self.say(content)
        except Refused:
            return await self.say(sent_as(page, MessageStyle.BARE))

    async def say(self, content: Mapping[str, Any]) -> str:
        """Post text and blocks unchanged. Raises Unavailable, and the faults of a surface."""
        origin = self.origin
        # Slack shows no ephemeral message under a message without replies ("chat.postEphemeral").
        inside = bool(origin.thread) and (origin.thread != origin.message or origin.earlier)
        payload = {**ALONE, **content, **({"thread_ts": origin.thread} if inside else {})}
        if usable(origin, self.now) and await answer_action(origin.response_url, payload):
            return ANSWERED
        client = await self.workspace.client()
        answer = await client.chat_postEphemeral(
            channel=origin.channel,
            user=origin.user,
            thread_ts=origin.thread if inside else None,
            **content,
        )
        return str(answer["message_ts"])

    async def _keep(self, run: str, content: Mapping[str, Any]) -> None:
        """Store the message for the button that shares it."""
        space = self.workspace.space
        stored = await self.offers.all(space, run, EPHEMERAL)
        item = json.dumps(content, ensure_ascii=False)
        if item not in stored:
            await self.offers.keep(space, run, EPHEMERAL, [*stored, item])


class Response(Guest):
    """A public surface in a channel where the bot is not a member: the action's response_url.

    A page is posted once it is final.
    """

    def __init__(self, space: str, origin: Origin, *, now: Callable[[], float] = time.time) -> None:
        self.key: Hashable = (space, origin.channel)
        self._origin = origin
        self._now = now
        self._posted = 0

    async def post(self, page: Page, ref: MessageRef, style: MessageStyle) -> str:
        """Post the page. Raises NotSent while the page grows, Unavailable if Slack does not respond, and PlaceClosed
        once the address has expired or refuses the page.
        """
        if page.growing:
            raise NotSent("it could not be changed any more")
        if page.files and style is not MessageStyle.BARE:
            raise PlaceClosed("no_files")
        # The address does not say what it refuses.
        for content in (sent_as(page, style), sent_as(page, MessageStyle.BARE)):
            payload = {"response_type": "in_channel", "replace_original": False, **content}
            if not usable(self._origin, self._now):
                break
            status = await _posted(self._origin.response_url, payload)
            if status == 200:
                self._posted += 1
                return f"{ANSWERED}:{self._posted}"
            if status == 0 or status == 429 or status >= 500:
                raise Unavailable(f"HTTP {status}")
        raise PlaceClosed("expired_url", expired=True)

    async def edit(self, *_: object, **__: object) -> None:
        _log.info("what a message says by now is left out: it can't be changed")

    async def delete(self, message: str) -> None:
        """Do nothing: such a message cannot be deleted."""


async def tell(workspaces: Workspaces, location: Location, text: str, response_url: str = "") -> None:
    """Show a person one or a few sentences in Markdown without a run: a refusal, a fault, a hint.

    Never raises: a failure is logged.
    """
    await show(workspaces, location, Page("", plain=mrkdwn(clean(text))[:TEXT]), response_url)


async def show(workspaces: Workspaces, location: Location, page: Page, response_url: str = "") -> None:
    """Show a person a whole page, or its plain text if Slack refuses the blocks."""
    contents: list[dict[str, Any]] = [{"text": page.plain}]
    if page.blocks:
        contents.insert(0, {"text": page.plain, "blocks": page.blocks})
    thread = {"thread_ts": location.thread} if location.thread else {}
    for content in contents if response_url else ():
        if await answer_action(response_url, {**ALONE, **content, **thread}):
            return
    try:
        client: Any = await workspaces.client(location.team, location.enterprise)
    except (PlaceClosed, StorageFault) as fault:
        _log.warning("a person could not be told something: %s", type(fault).__name__)
        return
    post: Post
    for post, where in _ways(client, location):
        for content in contents:
            try:
                await post(**content, **where)
            except SurfaceFault as fault:  # the bot may not be in the channel, or the person may have left
                _log.info("a person could not be told something there: %s", fault)
            else:
                return
    _log.warning("a person could not be told something")


def _ways(client: Any, location: Location) -> Iterator[tuple[Post, dict[str, Any]]]:
    """The calls to try: first in the conversation itself, then in the person's direct conversation."""
    if location.direct:
        thread = location.thread or location.message or None
        yield client.chat_postMessage, {"channel": location.channel, "thread_ts": thread}
    elif location.channel:
        # Slack shows no ephemeral message under a message without replies ("chat.postEphemeral").
        where = {"channel": location.channel, "user": location.user, "thread_ts": location.thread or None}
        yield client.chat_postEphemeral, where
    yield client.chat_postMessage, {"channel": location.user}
