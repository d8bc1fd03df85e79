"""Where messages stand on Discord: a channel, thread or DM where the bot owns what it writes; an interaction's answer.

With it, what both share: how a page is sent, and what goes wrong, in the words of `bot.adapters.surface`.
Knows no run and no stage.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

import aiohttp
import discord

from bot.adapters.discord.installed.traffic import HANGS_S, UPLOAD_S
from bot.adapters.discord.text.page import end_messages, username
from bot.adapters.surface import (
    OWN,
    Gone,
    MessageRef,
    MessageStyle,
    NotEditable,
    PlaceClosed,
    Refused,
    Unavailable,
    bare,
)

if TYPE_CHECKING:
    from bot.adapters.discord.received.placing import Origin
    from bot.adapters.discord.shown.webhooks import Webhooks
    from bot.adapters.discord.text.page import Page
    from bot.events import Speaker

CLOCKS_APART = timedelta(minutes=1)
"""How far our clock and Discord's may differ when we look for what we sent."""
LOOK_BACK = 300
"""Messages that are looked through for one of ours."""
ORIGINAL = "@original"
"""The response's own name where a message's id is wanted (Discord's documentation, "Edit Original Interaction
Response")."""
EARLY_S = 5.0
"""So much before its time a token is taken for dead: a request on its way would come too late."""

# Discord's documentation, "JSON Error Codes".
UNKNOWN_MESSAGE, OLD_EDITS, ARCHIVED = 10008, 30046, 50083
UNKNOWN_CHANNEL, NO_ACCESS, NO_PERMISSION, NO_DM = 10003, 50001, 50013, 50007
UNKNOWN_WEBHOOK, UNKNOWN_INTERACTION, BAD_WEBHOOK_TOKEN, FOLLOW_UPS_SPENT = 10015, 10062, 50027, 40094
NO_HISTORY = 160002
_EXPIRED = frozenset({UNKNOWN_WEBHOOK, UNKNOWN_INTERACTION, BAD_WEBHOOK_TOKEN})


@contextmanager
def in_our_words() -> Iterator[None]:
    """Turn what discord.py and the network raise into a surface's faults, and Unavailable.

    Without the cause: its text holds the address, and an interaction's address holds its token.
    """
    try:
        yield
    except discord.HTTPException as fault:
        raise fault_of(fault.status, fault.code) from None
    except discord.RateLimited as fault:
        raise Unavailable(f"rate limited for {fault.retry_after:.0f} s") from None
    except (aiohttp.ClientError, OSError, TimeoutError) as fault:
        raise Unavailable(type(fault).__name__) from None


def fault_of(status: int, code: int) -> Exception:
    if code == UNKNOWN_MESSAGE:
        return Gone()
    if code == OLD_EDITS:
        return NotEditable()
    if code in _EXPIRED:
        return PlaceClosed(code, expired=True)
    if status >= 500 or status == 429:
        return Unavailable(f"HTTP {status}, code {code}")
    if status in (401, 403, 404) or code in (ARCHIVED, NO_DM, FOLLOW_UPS_SPENT):
        return PlaceClosed(code)
    return Refused(f"HTTP {status}, code {code}")


def component(ref: MessageRef) -> int:
    """The id of the message's first component, above those that Discord gives by itself."""
    return 1 << 30 | int(_digest(ref)[:7], 16)


def _digest(ref: MessageRef) -> str:
    return sha256(f"{ref.run}:{ref.key}:{ref.turn}".encode()).hexdigest()


def sent_as(page: Page, ref: MessageRef, style: MessageStyle) -> dict[str, Any]:
    """The page's content and components, as discord.py's methods take them."""
    if style is MessageStyle.LAYOUT:
        layout = page.layout()
        layout.children[0].id = component(ref)
        return {"view": layout}
    buttons = page.plain_buttons()
    return {"content": page.plain} | ({"view": buttons} if buttons is not None else {})


def attached(page: Page, style: MessageStyle) -> list[discord.File]:
    if style is MessageStyle.BARE:
        return []
    return [discord.File(io.BytesIO(data), filename=name) for name, data in page.files]


def changes(page: Page, ref: MessageRef, style: MessageStyle, *, files: bool, reset: bool) -> dict[str, Any]:
    """What an edit says: only what may differ from what is there."""
    changed = sent_as(page, ref, style)
    if reset:
        changed = {"content": None, "view": None} | changed
    if files:
        changed["attachments"] = attached(page, style)
    return changed


class Channel:
    """A channel, thread or DM where the bot's messages are its own, and outlive any token."""

    def __init__(
        self,
        client: discord.Client,
        channel: int,
        guild: int | None = None,
        *,
        reply_to: int | None = None,
        webhooks: Webhooks | None = None,
        without: Callable[[str], None] = lambda why: None,
    ) -> None:
        """`reply_to`: the message there that the first new one answers.

        By `webhooks` speakers have names of their own; `without` hears why one has none, as a key below "own_name".
        """
        self._client = client
        self._webhooks = webhooks if guild is not None else None
        self._without = without
        self._reply_to = reply_to
        self.key = channel
        self._channel = client.get_partial_messageable(channel, guild_id=guild)

    async def post(self, page: Page, ref: MessageRef, style: MessageStyle) -> str:
        if page.speaker is not None and page.speaker.own and self._webhooks is not None:
            posted = await self._post_as(self._webhooks, page.speaker, page.nameless, ref, style)
            if posted is not None:
                return posted
        with in_our_words():
            try:
                return await self._post(page, ref, style)
            except discord.HTTPException as fault:
                if fault.code == NO_HISTORY:  # which answering somebody's message needs
                    self._reply_to = None
                else:
                    await self._wake(fault)
                return await self._post(page, ref, style)

    async def _post(self, page: Page, ref: MessageRef, style: MessageStyle) -> str:
        said: dict[str, Any] = sent_as(page, ref, style)
        if files := attached(page, style):
            said["files"] = files
        if self._reply_to is not None:
            said["reference"] = discord.MessageReference(
                message_id=self._reply_to, channel_id=self.key, fail_if_not_exists=False
            )
        message = await self._channel.send(
            **said,
            # For `enforce_nonce`: within minutes, the same message is not posted twice (at most 25 characters).
            nonce=_digest(ref)[:24],
            allowed_mentions=discord.AllowedMentions(
                everyone=False, roles=False, users=[*map(discord.Object, page.calls)], replied_user=False
            ),
        )
        self._reply_to = None
        return str(message.id)

    async def _post_as(
        self, webhooks: Webhooks, speaker: Speaker, page: Page, ref: MessageRef, style: MessageStyle
    ) -> str | None:
        """Post under the speaker's name: the message's id; None where that cannot be.

        No nonce makes a second one the same: after Unavailable whoever posts again looks first (`find`).
        """
        webhook, name = await webhooks.of(self.key), username(speaker.name)
        if not isinstance(webhook, discord.Webhook):
            self._without(webhook.why)
            return None
        if not name:
            return None
        said: dict[str, Any] = sent_as(page, ref, style) | self._in_thread(webhook)
        if files := attached(page, style):
            said["files"] = files
        if speaker.picture:
            said["avatar_url"] = speaker.picture
        none = discord.AllowedMentions.none()
        try:
            with in_our_words():
                # Beyond this the library would still wait for a limit to end.
                async with asyncio.timeout(UPLOAD_S if files else HANGS_S):
                    message = await webhook.send(**said, username=name, wait=True, allowed_mentions=none)
        except Refused:  # its name, perhaps; if it is the page, the bot's own message will be refused, too
            return None
        except PlaceClosed as closed:
            if not closed.expired:
                raise
            self._without(webhooks.lost(self.key, "deleted").why)
            return None
        except Unavailable:
            webhooks.lost(self.key, "limited")
            raise
        return f"{OWN}{webhook.id}:{message.id}"

    async def _as_posted(self, message: str, call: Callable[[discord.Webhook], Awaitable[object]]) -> None:
        """Have the webhook of a message do this. Raises NotEditable where it is gone, and what discord.py does."""
        assert self._webhooks is not None
        async with asyncio.timeout(UPLOAD_S):
            webhook = await self._webhooks.known(self.key, int(message.split(":")[1]))
            if webhook is not None:
                try:
                    await call(webhook)
                except discord.HTTPException as fault:
                    if fault.code not in _EXPIRED:
                        raise
                else:
                    return
        self._webhooks.lost(self.key, "deleted")
        raise NotEditable

    def _in_thread(self, webhook: discord.Webhook) -> dict[str, Any]:
        return {} if webhook.channel_id == self.key else {"thread": discord.Object(self.key)}

    def renames(self, message: str, page: Page) -> bool:
        if self._webhooks is None or page.speaker is None or message.startswith(OWN):
            return False
        return page.speaker.own and not self._webhooks.hopeless(self.key)

    async def edit(
        self, message: str, page: Page, ref: MessageRef, style: MessageStyle, *, files: bool, reset: bool
    ) -> None:
        none = discord.AllowedMentions.none()

        async def edit() -> None:
            if message.startswith(OWN):
                changed = changes(page.nameless, ref, style, files=files, reset=reset)
                await self._as_posted(
                    message,
                    lambda webhook: webhook.edit_message(
                        int(bare(message)), **changed, **self._in_thread(webhook), allowed_mentions=none
                    ),
                )
                return
            changed = changes(page, ref, style, files=files, reset=reset)
            await self._channel.get_partial_message(int(message)).edit(**changed, allowed_mentions=none)

        with in_our_words():
            try:
                await edit()
            except discord.HTTPException as fault:
                await self._wake(fault)
                await edit()

    async def _wake(self, fault: discord.HTTPException) -> None:
        """Wake up an archived thread; raises `fault` if it was another one."""
        if fault.code != ARCHIVED:
            raise fault
        thread = await self._client.fetch_channel(self.key)
        if isinstance(thread, discord.Thread):
            await thread.edit(archived=False)

    async def end_messages(self, message: str, run: str, note: str) -> None:
        """End a message that a crash cut off. Raises Unavailable, and the faults of a surface."""
        with in_our_words():
            none = discord.AllowedMentions.none()
            if not message.startswith(OWN):
                there = await self._channel.fetch_message(int(message))
                await there.edit(**end_messages(there, run, note), allowed_mentions=none)
                return

            async def end(webhook: discord.Webhook) -> None:
                posted = await webhook.fetch_message(int(bare(message)), **self._in_thread(webhook))
                await posted.edit(**end_messages(posted, run, note), allowed_mentions=none)

            with suppress(NotEditable):
                await self._as_posted(message, end)

    async def find(self, ref: MessageRef, since: datetime, known: Collection[str]) -> str | None:
        me, likely = self._client.user, None
        ids_known = {bare(one) for one in known}
        try:
            with in_our_words():
                history = self._channel.history(
                    limit=LOOK_BACK, after=since - CLOCKS_APART, oldest_first=True
                )
                async for message in history:
                    id = self._id(message)
                    if me is None or not id or str(message.id) in ids_known:
                        continue
                    ids, custom_ids = named((await self._whole(message, id)).components)
                    if component(ref) in ids:
                        return id
                    if (
                        likely is None
                        and max(ids, default=0) < 1 << 30
                        and any(ref.run in one for one in custom_ids)
                    ):
                        likely = id
        except (PlaceClosed, Gone, Refused):  # then it is posted, if need be twice
            return None
        return likely

    async def _whole(self, message: discord.Message, id: str) -> discord.Message:
        """With its components, which without the intent for contents the history has of the bot's own alone."""
        found = [message]

        async def fetch(webhook: discord.Webhook) -> None:
            found.append(await webhook.fetch_message(message.id, **self._in_thread(webhook)))

        if id.startswith(OWN) and not message.components and self._webhooks is not None:
            with suppress(NotEditable, discord.NotFound):
                await self._as_posted(id, fetch)
        return found[-1]

    def _id(self, message: discord.Message) -> str:
        """As `post` gives it; "" for somebody else's message."""
        me = self._client.user
        if me is not None and message.author.id == me.id:
            return str(message.id)
        ours = message.webhook_id is not None and message.application_id == self._client.application_id
        return f"{OWN}{message.webhook_id}:{message.id}" if ours else ""

    async def delete(self, message: str) -> None:
        if message.startswith(OWN) and self._webhooks is not None:
            with in_our_words(), suppress(NotEditable):  # where it is gone, whoever may manage messages can
                await self._as_posted(
                    message,
                    lambda webhook: webhook.delete_message(int(bare(message)), **self._in_thread(webhook)),
                )
                return
        with in_our_words():
            await self._channel.get_partial_message(int(bare(message))).delete()


async def direct(client: discord.Client, user_id: int) -> Channel:
    """Somebody's direct messages with the bot, which they may have closed all the same.

    Raises the faults of a surface.
    """
    with in_our_words():
        user = client.get_user(user_id) or await client.fetch_user(user_id)
        dm = user.dm_channel or await user.create_dm()
    return Channel(client, dm.id)


def named(components: Any) -> tuple[set[int], list[str]]:
    """The ids and custom_ids of components, however deep."""
    ids: set[int] = set()
    custom_ids: list[str] = []
    waiting = list(components)
    while waiting:
        one = waiting.pop()
        if (own := getattr(one, "id", None)) is not None:
            ids.add(own)
        if custom := getattr(one, "custom_id", None):
            custom_ids.append(custom)
        waiting += getattr(one, "children", None) or []
        if (accessory := getattr(one, "accessory", None)) is not None:
            waiting.append(accessory)
    return ids, custom_ids


class Response:
    """An interaction's own answer: its response first, then follow-ups, as long as its token lives.

    The one way to speak where the bot is a guest, and the only one to speak to somebody alone in a channel.
    """

    files = True

    def __init__(
        self,
        client: discord.Client,
        origin: Origin,
        run: str,
        *,
        hangs_s: float = HANGS_S,
    ) -> None:
        """`hangs_s`: an edit that takes longer is given up. A follow-up is not: nothing makes a second one the same."""
        self._webhook = discord.Webhook.partial(origin.application, origin.token, client=client)
        # What an interaction's token opens is of this kind, and only this kind may send to one person alone.
        self._webhook.type = discord.WebhookType.application
        self.key = run
        self._private = origin.private
        self._until = origin.until - EARLY_S
        self.answered = False
        """Whether the response says something already, so that every message is a follow-up."""
        self._hangs_s = hangs_s

    @property
    def alive(self) -> bool:
        return time.time() < self._until

    async def post(self, page: Page, ref: MessageRef, style: MessageStyle) -> str:
        self._must_live()
        with in_our_words():
            if not self.answered:
                changed = changes(page, ref, style, files=bool(page.files), reset=False)
                id = await self._edit(ORIGINAL, changed)
                self.answered = True
                return str(id)
            return await self._follow_up(page, ref, style, ephemeral=self._private)

    async def post_ephemeral(self, page: Page, ref: MessageRef, style: MessageStyle) -> str:
        """Say it to the asker alone, also where the response would have been for everybody."""
        self._must_live()
        with in_our_words():
            if self._private and not self.answered:
                return await self.post(page, ref, style)
            if not self.answered:
                # Or the first follow-up would take the response's place, and be as public as that.
                with suppress(discord.NotFound):  # done before a crash
                    await self._webhook.delete_message(_id(ORIGINAL))
                self.answered = True
            return await self._follow_up(page, ref, style, ephemeral=True)

    async def _follow_up(self, page: Page, ref: MessageRef, style: MessageStyle, *, ephemeral: bool) -> str:
        files = attached(page, style)
        said: dict[str, Any] = sent_as(page, ref, style) | ({"files": files} if files else {})
        message = await self._webhook.send(
            **said, ephemeral=ephemeral, wait=True, allowed_mentions=discord.AllowedMentions.none()
        )
        return str(message.id)

    async def edit(
        self, message: str, page: Page, ref: MessageRef, style: MessageStyle, *, files: bool, reset: bool
    ) -> None:
        self._must_live()
        changed = changes(page, ref, style, files=files, reset=reset)
        with in_our_words():
            await self._edit(message, changed)

    async def _edit(self, message: str, changed: dict[str, Any]) -> int:
        # The library waits for a limit here, too, but for less than this.
        uploads = bool(changed.get("attachments"))
        async with asyncio.timeout(max(self._hangs_s, UPLOAD_S) if uploads else self._hangs_s):
            edited = await self._webhook.edit_message(
                _id(message), **changed, allowed_mentions=discord.AllowedMentions.none()
            )
        return edited.id

    def renames(self, message: str, page: Page) -> bool:
        """No: what answers an interaction is the application's."""
        return False

    async def find(self, ref: MessageRef, since: datetime, known: Collection[str]) -> str | None:
        """Nothing: the response is edited again, and a follow-up for one person stands in no history."""
        return None

    async def delete(self, message: str) -> None:
        self._must_live()
        with in_our_words():
            await self._webhook.delete_message(_id(message))

    def _must_live(self) -> None:
        if not self.alive:
            raise PlaceClosed(expired=True)


def _id(message: str) -> int:
    """As the library types it, which puts the response's name into the address, too."""
    return int(message) if message != ORIGINAL else cast("int", message)
