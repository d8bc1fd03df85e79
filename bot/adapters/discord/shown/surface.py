"""The most common surface on Discord: a channel, thread or DM where the bot owns what it writes.

With it, what all of Discord's share: how a page is sent, and what goes wrong, in the words of `bot.adapters.surface`.
Knows no run and no stage.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import aiohttp
import discord

from bot.adapters.discord.shown.fading import put_out
from bot.adapters.surface import Form, Full, Gone, Later, Mark, Refused, Shut

if TYPE_CHECKING:
    from bot.adapters.discord.text.page import Page

CLOCKS_APART = timedelta(minutes=1)
"""How far our clock and Discord's may differ when we look for what we sent."""
LOOK_BACK = 300
"""Messages that are looked through for one of ours."""
HANGS_S = 10.0
"""How long an answer of Discord's may take, before a request is made anew that may be made twice."""
UPLOAD_S = 60.0
"""The same for a request that brings files, which Discord looks through before it answers."""

# Discord's documentation, "JSON Error Codes".
UNKNOWN_MESSAGE, OLD_EDITS, ARCHIVED = 10008, 30046, 50083
UNKNOWN_CHANNEL, NO_ACCESS, NO_PERMISSION, NO_DM = 10003, 50001, 50013, 50007
UNKNOWN_WEBHOOK, UNKNOWN_INTERACTION, BAD_WEBHOOK_TOKEN, FOLLOW_UPS_SPENT = 10015, 10062, 50027, 40094
NO_HISTORY = 160002
_EXPIRED = frozenset({UNKNOWN_WEBHOOK, UNKNOWN_INTERACTION, BAD_WEBHOOK_TOKEN})


@contextmanager
def in_our_words() -> Iterator[None]:
    """Turn what discord.py and the network raise into a surface's faults, and Later.

    Without the cause: its text holds the address, and an interaction's address holds its token.
    """
    try:
        yield
    except discord.HTTPException as fault:
        raise fault_of(fault.status, fault.code) from None
    except discord.RateLimited as fault:
        raise Later(f"rate limited for {fault.retry_after:.0f} s") from None
    except (aiohttp.ClientError, OSError, TimeoutError) as fault:
        raise Later(type(fault).__name__) from None


def fault_of(status: int, code: int) -> Exception:
    if code == UNKNOWN_MESSAGE:
        return Gone()
    if code == OLD_EDITS:
        return Full()
    if code in _EXPIRED:
        return Shut(code, expired=True)
    if status >= 500 or status == 429:
        return Later(f"HTTP {status}, code {code}")
    if status in (401, 403, 404) or code in (ARCHIVED, NO_DM, FOLLOW_UPS_SPENT):
        return Shut(code)
    return Refused(f"HTTP {status}, code {code}")


def nonce(mark: Mark) -> str:
    """For `enforce_nonce`: within minutes, the same message is not posted twice (at most 25 characters)."""
    return _digest(mark)[:24]


def component(mark: Mark) -> int:
    """The id of the message's first component, above those that Discord gives by itself."""
    return 1 << 30 | int(_digest(mark)[:7], 16)


def _digest(mark: Mark) -> str:
    return sha256(f"{mark.run}:{mark.key}:{mark.turn}".encode()).hexdigest()


def sent_as(page: Page, mark: Mark, form: Form) -> dict[str, Any]:
    """The page's content and components, as discord.py's methods take them."""
    if form is Form.LAYOUT:
        layout = page.layout()
        layout.children[0].id = component(mark)
        # A view that is not stopped stays in the client's memory, to answer presses that our own items answer.
        layout.stop()
        return {"view": layout}
    buttons = page.plain_buttons()
    if buttons is None:
        return {"content": page.plain}
    buttons.stop()
    return {"content": page.plain, "view": buttons}


def attached(page: Page, form: Form) -> list[discord.File]:
    if form is Form.BARE:
        return []
    return [discord.File(io.BytesIO(data), filename=name) for name, data in page.files]


def changes(page: Page, mark: Mark, form: Form, *, files: bool, reset: bool) -> dict[str, Any]:
    """What an edit says: only what may differ from what is there."""
    changed = sent_as(page, mark, form)
    if reset:
        changed = {"content": None, "view": None} | changed
    if files:
        changed["attachments"] = attached(page, form)
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
    ) -> None:
        """`reply_to`: the message there that the first new one answers."""
        self._client = client
        self._reply_to = reply_to
        self._id = channel
        self._channel = client.get_partial_messageable(channel, guild_id=guild)

    @property
    def key(self) -> int:
        return self._id

    async def post(self, page: Page, mark: Mark, form: Form) -> str:
        with in_our_words():
            try:
                return await self._post(page, mark, form)
            except discord.HTTPException as fault:
                if fault.code == NO_HISTORY:  # which answering somebody's message needs
                    self._reply_to = None
                else:
                    await self._wake(fault)
                return await self._post(page, mark, form)

    async def _post(self, page: Page, mark: Mark, form: Form) -> str:
        said: dict[str, Any] = sent_as(page, mark, form)
        if files := attached(page, form):
            said["files"] = files
        if self._reply_to is not None:
            said["reference"] = discord.MessageReference(
                message_id=self._reply_to, channel_id=self._id, fail_if_not_exists=False
            )
        message = await self._channel.send(
            **said, nonce=nonce(mark), allowed_mentions=discord.AllowedMentions.none()
        )
        self._reply_to = None
        return str(message.id)

    async def edit(
        self, message: str, page: Page, mark: Mark, form: Form, *, files: bool, reset: bool
    ) -> None:
        async def edit() -> None:
            changed = changes(page, mark, form, files=files, reset=reset)
            await self._channel.get_partial_message(int(message)).edit(
                **changed, allowed_mentions=discord.AllowedMentions.none()
            )

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
        thread = await self._client.fetch_channel(self._id)
        if isinstance(thread, discord.Thread):
            await thread.edit(archived=False)

    async def put_out(self, message: str, run: str, note: str) -> None:
        """End a message that a crash cut off. Raises Later, and the faults of a surface."""
        with in_our_words():
            there = await self._channel.fetch_message(int(message))
            await there.edit(**put_out(there, run, note), allowed_mentions=discord.AllowedMentions.none())

    async def find(self, mark: Mark, since: datetime, known: Collection[str]) -> str | None:
        me = self._client.user
        likely = None
        try:
            with in_our_words():
                history = self._channel.history(
                    limit=LOOK_BACK, after=since - CLOCKS_APART, oldest_first=True
                )
                async for message in history:
                    if me is None or message.author.id != me.id or str(message.id) in known:
                        continue
                    ids, custom_ids = named(message.components)
                    if component(mark) in ids:
                        return str(message.id)
                    if (
                        likely is None
                        and max(ids, default=0) < 1 << 30
                        and any(mark.run in one for one in custom_ids)
                    ):
                        likely = str(message.id)
        except (Shut, Gone, Refused):  # then it is posted, if need be twice
            return None
        return likely

    async def delete(self, message: str) -> None:
        with in_our_words():
            await self._channel.get_partial_message(int(message)).delete()


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
