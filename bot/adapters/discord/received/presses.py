"""What a press of a button is on Discord: how it is acknowledged and answered, how its message is changed, and how an
answer is shared with everybody.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import discord
from discord.ui import ActionRow, Button, DynamicItem, Item, LayoutView, TextDisplay

from bot.adapters import buttons_row, footer, presses
from bot.adapters.buttons_row import custom_id
from bot.adapters.discord.received.placing import Location, spot
from bot.adapters.discord.shown import replies
from bot.adapters.discord.shown.surface import in_our_words
from bot.adapters.discord.text.markdown import size
from bot.adapters.discord.text.page import buttons_without, relabelled
from bot.adapters.discord.text.render import LABEL
from bot.adapters.markdown import neutralise, split
from bot.adapters.stored_choices import StoredChoice, labels
from bot.events import Sorry

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client
    from bot.adapters.discord.received.intake import Intake
    from bot.words import Words

T = TypeVar("T")

PAGE_CHARS = 3_600
"""Of the 4000 characters that a message's text components hold together (Discord's documentation,
"Using Message Components"); the rest is for the page's number, or for who shared it.
"""
ACK_SECONDS = 1.5
"""How long the storage may take before the press is acknowledged without its answer; Discord waits 3 s
(its documentation, "Receiving and Responding").
"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Press:
    """One press of a button: see presses.Press."""

    interaction: discord.Interaction[Client]

    @property
    def intake(self) -> Intake:
        return self.interaction.client.intake

    @property
    def location(self) -> Location:
        return spot(self.interaction)

    @property
    def say(self) -> Words:
        return self.intake.words(self.interaction)

    async def acknowledge(self) -> None:
        await self.interaction.response.defer()

    async def soon(self, looked_up: Awaitable[T]) -> T:
        task = asyncio.ensure_future(looked_up)
        await asyncio.wait({task}, timeout=ACK_SECONDS)
        if not task.done() and not self.interaction.response.is_done():
            await self.interaction.response.defer(ephemeral=True, thinking=True)
        return await task

    async def tell(self, key: str, **values: object) -> None:
        await replies.tell(self.interaction, self.say(key, **values))

    async def hidden(self, run: str) -> bool:
        """What only somebody else may see, or what somebody asked whose guest the bot is."""
        here = self.location
        if await self.intake.hidden(here, run):
            return True
        return not here.installed and await self.intake.app.request_of(here.space, run) is None

    async def begin(self, chosen: StoredChoice, run: str) -> None:
        await self.intake.choose(self.interaction, chosen, run)

    def recount(self, run: str) -> None:
        press = self.interaction
        if press.message is not None:
            press.client.counts.changed(press.channel_id, str(press.message.id), partial(self._count, run))

    async def _count(self, run: str) -> None:
        """Raises Unavailable, and the faults of a surface."""
        press, here = self.interaction, self.location
        records, message = self.intake.app.records, press.message
        shown = await labels(records.offers, records.votes, here.space, run, LABEL, size)
        if message is None or not shown:
            return
        with in_our_words(), suppress(discord.ClientException, ValueError):
            own = message.webhook_id is None  # what a webhook has posted, the press alone can change
            if own and here.member and not message.flags.ephemeral:
                # Who may not read what was written has what came with the press.
                with suppress(discord.Forbidden):
                    message = await message.fetch()
                if (view := relabelled(message, shown)) is not None:
                    await message.edit(view=view, allowed_mentions=discord.AllowedMentions.none())
                return
            if press.response.type is not discord.InteractionResponseType.deferred_message_update:
                return  # the press's own message is another one, and a guest reaches only that
            if (view := relabelled(await press.original_response(), shown)) is not None:
                await press.edit_original_response(view=view)

    async def stopped(self) -> None:
        press = self.interaction
        who = discord.utils.escape_markdown(press.user.display_name)
        private = press.message is not None and press.message.flags.ephemeral
        await press.followup.send(
            self.say("buttons.stopped", who=who),
            ephemeral=private,
            allowed_mentions=discord.AllowedMentions.none(),
        )

    async def remove_button(self, custom_id: str) -> None:
        press = self.interaction
        with suppress(discord.HTTPException, discord.ClientException, ValueError):
            if (view := buttons_without(await press.original_response(), custom_id)) is not None:
                await press.edit_original_response(view=view)


async def retry(press: Press, run: str) -> None:
    """The same again, of the words as they stand now, if their writer has edited them."""
    await press.intake.again(press.interaction, run)


async def show_sources(press: Press, run: str) -> None:
    """Every source in full, for the presser alone."""
    if pages := await press.soon(_source_pages(press, run)):
        await replies.alone(press.interaction, view=_page(press.say, run, pages, 0))
    else:
        await press.tell("buttons.stale")


async def turn(press: Press, run: str, page: str) -> None:
    """Another page of the opened sources, in their place."""
    await press.acknowledge()
    pages = await _source_pages(press, run)
    if int(page) < len(pages):
        await press.interaction.edit_original_response(
            view=_page(press.say, run, pages, int(page)),
            allowed_mentions=discord.AllowedMentions.none(),
        )
    else:
        await press.tell("buttons.stale")


async def share(press: Press, run: str) -> None:
    """The private answer, for everybody in the channel."""
    if not await press.soon(presses.visible(press, run)):
        await press.tell("buttons.stale")
        return
    key = await _shared(press, run)
    await press.tell(key)
    if key in ("buttons.shared", "buttons.shared_before"):
        await press.remove_button(custom_id("share", run))


async def stale(press: Press) -> None:
    """Also of a button of another release, or a custom_id that somebody has meddled with."""
    await press.tell("buttons.stale")


async def _source_pages(press: Press, run: str) -> list[str]:
    return footer.pages(await presses.citations(press, run), press.say, PAGE_CHARS)


def _page(say: Words, run: str, pages: list[str], page: int) -> LayoutView:
    view = _layout(pages[page])
    if len(pages) > 1:
        view.add_item(TextDisplay("-# " + say("buttons.page", page=page + 1, pages=len(pages))))
        row: ActionRow[LayoutView] = ActionRow()
        for label, to in ((say("buttons.back"), page - 1), (say("buttons.on"), page + 1)):
            there = 0 <= to < len(pages)
            # A button that leads nowhere needs a custom_id of its own all the same.
            row.add_item(
                Button(
                    label=label,
                    custom_id=custom_id("sources", run, to if there else page),
                    disabled=not there,
                )
            )
        view.add_item(row)
    view.stop()  # presses come through ITEMS: nothing has to be remembered of this view
    return view


async def _shared(press: Press, run: str) -> str:
    """Post the pressed message's text to its channel, once: how it went, as a key of the catalogue."""
    interaction, here = press.interaction, press.location
    message = interaction.message
    text = said(message) if message is not None else ""
    if message is None or not text:
        return "buttons.nothing_to_share"
    if here.guild is not None:
        if here.installed and not _may_write(interaction.app_permissions, here.thread):
            return "buttons.may_not_share"
        if not _may_write(interaction.permissions, here.thread):  # or the bot would speak for who may not
            return "buttons.you_may_not_share"
    outbox, stage = press.intake.app.records.outbox, f"share:{message.id}"
    row = await outbox.claim(here.space, run, stage)
    if row.state == "sent":
        return "buttons.shared_before"
    name = discord.utils.escape_markdown(neutralise(interaction.user.display_name))
    who = press.say("buttons.shared_by", who=name)
    if not interaction.response.is_done():
        await press.acknowledge()
    try:
        posted = [
            await _post(press, _layout("-# " + who if n == 0 else "", neutralise(part)), f"{message.id}-{n}")
            for n, part in enumerate(split(text, PAGE_CHARS))
        ]
    except discord.Forbidden:
        return "buttons.may_not_share"
    await outbox.sent(here.space, run, stage, str(posted[0]))
    return "buttons.shared"


def said(message: discord.Message) -> str:
    """The text of a message, wherever it stands in it."""
    parts = [message.content]
    if message.flags.components_v2:
        parts += texts(LayoutView.from_message(message, timeout=None))
    return "\n\n".join(part for part in parts if part.strip())


def texts(view: LayoutView) -> list[str]:
    """What it says, without the names of choices: their buttons stay behind."""
    items = list(view.walk_children())
    following = [*items[1:], None]
    return [
        item.content
        for item, after in zip(items, following, strict=True)
        if isinstance(item, TextDisplay) and not (isinstance(after, ActionRow) and _offers(after))
    ]


def _offers(row: ActionRow[LayoutView]) -> bool:
    ids = [one.custom_id or "" for one in row.children if isinstance(one, Button)]
    return any(re.fullmatch(buttons_row.CHOICE, one) for one in ids)


def _may_write(permissions: discord.Permissions, thread: bool) -> bool:
    writes = permissions.send_messages_in_threads if thread else permissions.send_messages
    return permissions.view_channel and writes


def _layout(*texts: str) -> LayoutView:
    view = LayoutView(timeout=None)
    for text in texts:
        if text:
            view.add_item(TextDisplay(text))
    return view


async def _post(press: Press, view: LayoutView, nonce: str) -> int:
    """A message of the bot's own where it is a member; as a guest, one through the press."""
    none = discord.AllowedMentions.none()
    channel = press.interaction.channel
    if press.location.member and isinstance(channel, discord.abc.Messageable):
        # The nonce makes two quick presses one message.
        return (await channel.send(view=view, allowed_mentions=none, nonce=nonce)).id
    return (await press.interaction.followup.send(view=view, allowed_mentions=none, wait=True)).id


def _item(template: str, act: Callable[..., Awaitable[None]]) -> type[DynamicItem[Button[Any]]]:
    """The class of a button: `act` gets the press and what the template's groups found."""

    class Pressed(DynamicItem[Button[Any]], template=template):
        def __init__(self, button: Button[Any], found: dict[str, str]) -> None:
            super().__init__(button)
            self.found = found

        @classmethod
        async def from_custom_id(
            cls, interaction: discord.Interaction[Any], item: Item[Any], match: re.Match[str], /
        ) -> Pressed:
            assert isinstance(item, Button)
            return cls(item, match.groupdict())

        async def callback(self, interaction: discord.Interaction[Any]) -> None:
            """Nobody presses in vain: what goes wrong is told."""
            intake: Intake = interaction.client.intake
            try:
                await act(Press(interaction), **self.found)
            except Sorry as sorry:
                await intake.failed(interaction, sorry)
            except discord.NotFound:  # the press is older than Discord lets us answer
                _log.info("a press came too late to be answered")
            except Exception:
                _log.exception("a press went wrong")
                with suppress(discord.HTTPException):
                    await replies.tell(interaction, intake.words(interaction)("buttons.broken"))

    return Pressed


_ACTS: dict[str, Callable[..., Awaitable[None]]] = {
    buttons_row.STOP: presses.stop,
    buttons_row.RETRY: retry,
    buttons_row.CHOICE: presses.choose,
    buttons_row.SOURCES: show_sources,
    buttons_row.SOURCES_PAGE: turn,
    buttons_row.SHARE: share,
    buttons_row.FEEDBACK: presses.rate,
}
_KNOWN = "|".join(re.sub(r"\(\?P<\w+>", "(?:", template) for template in _ACTS)
_KINDS = "|".join(sorted({template.partition(":")[0] for template in _ACTS}))

ITEMS: tuple[type[DynamicItem[Button[Any]]], ...] = (
    *(_item(template, act) for template, act in _ACTS.items()),
    _item(rf"(?!(?:{_KNOWN})\Z)(?:{_KINDS})(?s::.*)?", stale),
)
"""For Client.add_dynamic_items, at every start."""
