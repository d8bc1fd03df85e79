"""A channel, thread or DM on Discord as the surface of the bot's own messages.

Also the parts shared with an interaction's response: how a page is sent, and Discord's faults as those of
`bot.adapters.surface`. Independent of runs and stages.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import aiohttp
import discord

from bot.adapters.discord.installed.traffic import HANGS_S, UPLOAD_S
from bot.adapters.discord.text.page import ending_edit, username
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
    from bot.adapters.discord.shown.webhooks import Webhooks
    from bot.adapters.discord.text.page import Page
    from bot.events import Speaker

CLOCKS_APART = timedelta(minutes=1)
"""How far our clock and Discord's may differ when a sent message is searched for."""
LOOK_BACK = 300
"""The most messages of a history that are searched."""
# Discord's documentation, "JSON Error Codes".
UNKNOWN_MESSAGE, OLD_EDITS, ARCHIVED = 10008, 30046, 50083
UNKNOWN_CHANNEL, NO_ACCESS, NO_PERMISSION, NO_DM = 10003, 50001, 50013, 50007
UNKNOWN_WEBHOOK, UNKNOWN_INTERACTION, BAD_WEBHOOK_TOKEN, FOLLOW_UPS_SPENT = 10015, 10062, 50027, 40094
NO_HISTORY = 160002
_EXPIRED = frozenset({UNKNOWN_WEBHOOK, UNKNOWN_INTERACTION, BAD_WEBHOOK_TOKEN})


@contextmanager
def as_surface_faults() -> Iterator[None]:
    """Turn faults of discord.py and the network into a surface's faults.

    Without the cause: its text contains the address, and an interaction's address contains its token.
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
    """The id of the message's first component, above the ids that Discord assigns itself."""
    return 1 << 30 | int(_digest(ref)[:7], 16)


def _digest(ref: MessageRef) -> str:
    return sha256(f"{ref.run}:{ref.key}:{ref.turn}".encode()).hexdigest()


def sent_as(page: Page, ref: MessageRef, style: MessageStyle, *, files: bool = True) -> dict[str, Any]:
    """The page as arguments of discord.py's methods; without its files if they were sent before."""
    if style is MessageStyle.LAYOUT:
        layout = page.layout()
        layout.children[0].id = component(ref)
        arguments: dict[str, Any] = {"view": layout}
    else:
        arguments = {"content": page.plain}
        if (buttons := page.plain_buttons()) is not None:
            arguments["view"] = buttons
    if files and page.files and style is not MessageStyle.BARE:
        arguments["files"] = [discord.File(io.BytesIO(data), filename=name) for name, data in page.files]
    return arguments


def changes(page: Page, ref: MessageRef, style: MessageStyle, *, files: bool, reset: bool) -> dict[str, Any]:
    """The arguments of an edit: only what may have changed."""
    changed = sent_as(page, ref, style, files=files)
    if reset:
        changed = {"content": None, "view": None} | changed
    if files:
        changed["attachments"] = changed.pop("files", [])
    return changed


class Channel:
    """A channel, thread or DM with the bot's own messages, which need no token."""

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
        """`reply_to`: the message there that the first new one replies to.

        `webhooks` post under speakers' own names; if one cannot, `without` is called with the reason, a key below
        "own_name".
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
        with as_surface_faults():
            try:
                return await self._post(page, ref, style)
            except discord.HTTPException as fault:
                if fault.code == NO_HISTORY:  # a reply needs this permission
                    self._reply_to = None
                else:
                    await self._wake(fault)
                return await self._post(page, ref, style)

    async def _post(self, page: Page, ref: MessageRef, style: MessageStyle) -> str:
        arguments = sent_as(page, ref, style)
        if self._reply_to is not None:
            arguments["reference"] = discord.MessageReference(
                message_id=self._reply_to, channel_id=self.key, fail_if_not_exists=False
            )
        message = await self._channel.send(
            **arguments,
            # With `enforce_nonce` a repeated post within minutes returns the first message (at most 25 characters).
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
        """Post under the speaker's name. Returns the message's id, or None where that is impossible.

        Webhooks have no nonce, so after Unavailable the caller searches first (`find`).
        """
        webhook, name = await webhooks.webhook(self.key), username(speaker.name)
        if not isinstance(webhook, discord.Webhook):
            self._without(webhook.why)
            return None
        if not name:
            return None
        arguments = sent_as(page, ref, style) | self._in_thread(webhook)
        if speaker.picture:
            arguments["avatar_url"] = speaker.picture
        none = discord.AllowedMentions.none()
        try:
            with as_surface_faults():
                # The library would wait longer for a limit to end.
                async with asyncio.timeout(UPLOAD_S if "files" in arguments else HANGS_S):
                    message = await webhook.send(**arguments, username=name, wait=True, allowed_mentions=none)
        except Refused:  # perhaps because of the name; otherwise the bot's own message is refused too
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

    @asynccontextmanager
    async def _as_posted(self, message: str) -> AsyncGenerator[discord.Webhook, None]:
        """Yields the webhook that has posted a message, for one call. Raises NotEditable if it is deleted."""
        assert self._webhooks is not None
        async with asyncio.timeout(UPLOAD_S):
            webhook = await self._webhooks.posted_by(self.key, int(message.split(":")[1]))
            if webhook is not None:
                try:
                    yield webhook
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
                async with self._as_posted(message) as webhook:
                    changed |= self._in_thread(webhook)
                    await webhook.edit_message(int(bare(message)), **changed, allowed_mentions=none)
                return
            changed = changes(page, ref, style, files=files, reset=reset)
            await self._channel.get_partial_message(int(message)).edit(**changed, allowed_mentions=none)

        with as_surface_faults():
            try:
                await edit()
            except discord.HTTPException as fault:
                await self._wake(fault)
                await edit()

    async def _wake(self, fault: discord.HTTPException) -> None:
        """Unarchive the thread; raise `fault` if archiving was not the reason."""
        if fault.code != ARCHIVED:
            raise fault
        thread = await self._client.fetch_channel(self.key)
        if isinstance(thread, discord.Thread):
            await thread.edit(archived=False)

    async def end_message(self, message: str, run: str, note: str) -> None:
        """Finish a message that a crash interrupted. Raises Unavailable, and the faults of a surface."""
        with suppress(NotEditable):
            await self.amend(message, lambda unfinished: ending_edit(unfinished, run, note))

    async def amend(self, message: str, amended: Callable[[discord.Message], dict[str, Any] | None]) -> bool:
        """Edit a message in its present state. Returns whether `amended` gave an edit for it. Raises the faults of a
        surface.
        """
        none = discord.AllowedMentions.none()
        with as_surface_faults():
            if message.startswith(OWN):
                async with self._as_posted(message) as webhook:
                    posted = await webhook.fetch_message(int(bare(message)), **self._in_thread(webhook))
                    if (changed := amended(posted)) is not None:
                        await posted.edit(**changed, allowed_mentions=none)
            else:
                present = await self._channel.fetch_message(int(message))
                if (changed := amended(present)) is not None:
                    await present.edit(**changed, allowed_mentions=none)
        return changed is not None

    async def find(self, ref: MessageRef, since: datetime, known_ids: Collection[str]) -> str | None:
        me, likely = self._client.user, None
        ids_known = {bare(message_id) for message_id in known_ids}
        try:
            with as_surface_faults():
                history = self._channel.history(
                    limit=LOOK_BACK, after=since - CLOCKS_APART, oldest_first=True
                )
                async for message in history:
                    id = self._id(message)
                    if me is None or not id or str(message.id) in ids_known:
                        continue
                    ids, custom_ids = component_ids((await self._whole(message, id)).components)
                    if component(ref) in ids:
                        return id
                    if (
                        likely is None
                        and max(ids, default=0) < 1 << 30
                        and any(ref.run in message_id for message_id in custom_ids)
                    ):
                        likely = id
        except (PlaceClosed, Gone, Refused):  # then it is posted, perhaps a second time
            return None
        return likely

    async def _whole(self, message: discord.Message, id: str) -> discord.Message:
        """The message with its components. Without the content intent a history has them only for the bot's own
        messages.
        """
        if id.startswith(OWN) and not message.components and self._webhooks is not None:
            with suppress(NotEditable, discord.NotFound):
                async with self._as_posted(id) as webhook:
                    return await webhook.fetch_message(message.id, **self._in_thread(webhook))
        return message

    def _id(self, message: discord.Message) -> str:
        """The id as `post` returns it; "" for another author's message."""
        me = self._client.user
        if me is not None and message.author.id == me.id:
            return str(message.id)
        ours = message.webhook_id is not None and message.application_id == self._client.application_id
        return f"{OWN}{message.webhook_id}:{message.id}" if ours else ""

    async def delete(self, message: str) -> None:
        if message.startswith(OWN) and self._webhooks is not None:
            # Without the webhook this needs Manage Messages.
            with as_surface_faults(), suppress(NotEditable):
                async with self._as_posted(message) as webhook:
                    await webhook.delete_message(int(bare(message)), **self._in_thread(webhook))
                return
        with as_surface_faults():
            posted = self._channel.get_partial_message(int(bare(message)))
            try:
                await posted.delete()
            except discord.HTTPException as fault:
                await self._wake(fault)
                await posted.delete()


async def direct(client: discord.Client, user_id: int) -> Channel:
    """A person's direct messages with the bot, which the person may have disabled. Raises the faults of a surface."""
    with as_surface_faults():
        user = client.get_user(user_id) or await client.fetch_user(user_id)
        dm = user.dm_channel or await user.create_dm()
    return Channel(client, dm.id)


def component_ids(components: Any) -> tuple[set[int], list[str]]:
    """All ids and custom_ids of components at any depth."""
    ids: set[int] = set()
    custom_ids: list[str] = []
    waiting = list(components)
    while waiting:
        node = waiting.pop()
        if (component_id := getattr(node, "id", None)) is not None:
            ids.add(component_id)
        if custom := getattr(node, "custom_id", None):
            custom_ids.append(custom)
        waiting += getattr(node, "children", None) or []
        if (accessory := getattr(node, "accessory", None)) is not None:
            waiting.append(accessory)
    return ids, custom_ids
