"""Posts that can be neither changed nor found again: to one person alone, or to an action's response_url.

Such an address answers one action, five times within half an hour, and is a secret: no fault and no log shows it.
Knows no run but its id.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from bot.adapters.markdown import clean
from bot.adapters.slack.installed.faults import as_surface_faults
from bot.adapters.slack.shown.thread import sent_as
from bot.adapters.slack.text.mrkdwn import mrkdwn
from bot.adapters.slack.text.page import TEXT, Page
from bot.adapters.surface import MessageRef, MessageStyle, PlaceClosed, Refused, SurfaceFault, Unavailable
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Workspace, Workspaces
    from bot.adapters.slack.placing import Location, Origin
    from storage.offers import Offers

EPHEMERAL: Final = "whispered"
"""Kind of the storage's offers: what a message that one person alone sees consists of, as JSON with `text` and
`blocks`. Slack does not send such a message along with a press.
"""
EARLY_S: Final = 5.0
"""So much before its time a response_url is taken for dead: a post on its way would come too late."""
ANSWERED: Final = "answered"
"""The id of a message that went to a response_url, which tells none."""
ALONE: Final = {"response_type": "ephemeral", "replace_original": False}
"""What a post to a response_url begins with that the person alone is to see."""
TIMEOUT: Final = aiohttp.ClientTimeout(total=20)

Post = Callable[..., Awaitable[Any]]

_log = logging.getLogger(__name__)


async def answer_action(url: str, payload: Mapping[str, Any]) -> bool:
    """Post to a response_url: whether Slack took it. Never raises, and never shows the address."""
    if not url:
        return False
    try:
        async with (
            aiohttp.ClientSession(timeout=TIMEOUT) as session,
            session.post(url, json=payload, allow_redirects=False) as answer,
        ):
            if answer.status == 200:
                return True
            _log.info("an answer to an action was refused: status %d", answer.status)
    except (aiohttp.ClientError, TimeoutError, ValueError) as fault:  # their texts hold the address
        _log.info("an answer to an action could not be sent: %s", type(fault).__name__)
    return False


def young(origin: Origin, now: Callable[[], float] = time.time) -> bool:
    """Whether its response_url is good for something still."""
    return bool(origin.response_url) and now() < origin.until - EARLY_S


@dataclass(frozen=True, slots=True)
class EphemeralReply:
    """To a run's asker alone, where they asked: an answer that is quickly done, or why there is none.

    By the action's response_url while that lives, else as a message that Slack shows to one person.
    """

    workspace: Workspace
    origin: Origin
    offers: Offers
    now: Callable[[], float] = time.time
    files = False

    async def post_ephemeral(self, page: Page, ref: MessageRef, style: MessageStyle) -> str:
        """The message's id, or ANSWERED. Raises PlaceClosed where nobody can be told anything, and Refused."""
        said = sent_as(page, style)
        if self.origin.private:
            await self._keep(ref.run, said)
        try:
            return await self.say(said)
        except Refused:
            return await self.say(sent_as(page, MessageStyle.BARE))

    async def say(self, said: Mapping[str, Any]) -> str:
        """Text and blocks as they are. Raises Unavailable, and the faults of a surface."""
        origin = self.origin
        # Under a message without replies Slack shows nothing to one person alone ("chat.postEphemeral").
        inside = bool(origin.thread) and (origin.thread != origin.message or origin.earlier)
        payload = {**ALONE, **said, **({"thread_ts": origin.thread} if inside else {})}
        if young(origin, self.now) and await answer_action(origin.response_url, payload):
            return ANSWERED
        async with self.workspace.calling() as client:
            told = await client.chat_postEphemeral(
                channel=origin.channel,
                user=origin.user,
                thread_ts=origin.thread if inside else None,
                **said,
            )
        return str(told["message_ts"])

    async def _keep(self, run: str, said: Mapping[str, Any]) -> None:
        """What is shared, should they press that."""
        space = self.workspace.space
        kept = await self.offers.all(space, run, EPHEMERAL)
        item = json.dumps(said, ensure_ascii=False)
        if item not in kept:
            await self.offers.keep(space, run, EPHEMERAL, [*kept, item])


class Response:
    """A surface that everybody in a channel reads though the bot is no member there: the action's response_url.

    A page is posted once it stays as it is.
    """

    def __init__(self, space: str, origin: Origin, *, now: Callable[[], float] = time.time) -> None:
        self._space = space
        self._origin = origin
        self._now = now
        self._posted = 0

    @property
    def key(self) -> Hashable:
        return (self._space, self._origin.channel)

    async def post(self, page: Page, ref: MessageRef, style: MessageStyle) -> str:
        """Raises Unavailable while the page grows, PlaceClosed once the address is no good or takes no such page."""
        if page.growing:
            raise Unavailable("it could not be changed any more")
        if page.file is not None and style is not MessageStyle.BARE:
            raise PlaceClosed("no_files")
        for said in (
            sent_as(page, style),
            sent_as(page, MessageStyle.BARE),
        ):  # it does not say what it refuses
            payload = {"response_type": "in_channel", "replace_original": False, **said}
            if young(self._origin, self._now) and await answer_action(self._origin.response_url, payload):
                self._posted += 1
                return f"{ANSWERED}:{self._posted}"
        raise PlaceClosed("expired_url", expired=True)

    async def edit(
        self, message: str, page: Page, ref: MessageRef, style: MessageStyle, *, files: bool, reset: bool
    ) -> None:
        _log.info("what a message says by now is left out: it can't be changed")

    def renames(self, message: str, page: Page) -> bool:
        """No: nothing here can be changed."""
        return False

    async def find(self, ref: MessageRef, since: datetime, known: Collection[str]) -> str | None:
        """Nothing: Slack does not say which messages they are."""
        return None

    async def delete(self, message: str) -> None:
        """It stays."""


async def tell(workspaces: Workspaces, here: Location, text: str, response_url: str = "") -> None:
    """A person something without a run: a refusal, a fault, a hint. Markdown, at most a sentence or a few.

    Never raises: what cannot be told is logged.
    """
    await show(workspaces, here, Page("", plain=mrkdwn(clean(text))[:TEXT]), response_url)


async def show(workspaces: Workspaces, here: Location, page: Page, response_url: str = "") -> None:
    """The same with a whole page; its plain text where Slack does not take the blocks."""
    said: list[dict[str, Any]] = [{"text": page.plain}]
    if page.blocks:
        said.insert(0, {"text": page.plain, "blocks": page.blocks})
    thread = {"thread_ts": here.thread} if here.thread else {}
    for one in said if response_url else ():
        if await answer_action(response_url, {**ALONE, **one, **thread}):
            return
    try:
        client: Any = await workspaces.client(here.team, here.enterprise)
    except (PlaceClosed, StorageFault) as fault:
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


def _ways(client: Any, here: Location) -> Iterator[tuple[Post, dict[str, Any]]]:
    """In the conversation itself, else in one with the person alone."""
    if here.direct:
        yield client.chat_postMessage, {"channel": here.channel, "thread_ts": here.root or None}
    elif here.channel:
        # Under a message without replies Slack shows nothing to one person alone ("chat.postEphemeral").
        where = {"channel": here.channel, "user": here.user, "thread_ts": here.thread or None}
        yield client.chat_postEphemeral, where
    yield client.chat_postMessage, {"channel": here.user}
