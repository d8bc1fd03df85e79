"""Presses of buttons on Discord: how they are acknowledged and answered, how their message is changed, and how an
answer is shared with everybody.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import discord
from discord.ui import ActionRow, Button, DynamicItem, Item, LayoutView, TextDisplay

from bot.adapters import footer, presses
from bot.adapters.discord.received.placing import location_of
from bot.adapters.discord.shown import replies
from bot.adapters.discord.shown.surface import as_surface_faults
from bot.adapters.discord.text.markdown import size
from bot.adapters.discord.text.page import buttons_without, relabelled
from bot.adapters.discord.text.render import LABEL, pages, without_buttons
from bot.adapters.home import ANSWERS
from bot.adapters.markdown import neutralise, split
from bot.adapters.stage_content import PageContext, StageContent
from bot.adapters.stored_choices import StoredChoice, labels
from bot.events import UserError

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client
    from bot.adapters.discord.received.intake import Intake
    from bot.words import Words

T = TypeVar("T")

PAGE_CHARS = 3_600
"""Characters per page. A message's text components hold 4000 (Discord's documentation, "Using Message Components"); the
rest is for the page's number or the name of the person who shared it.
"""
CONTENT_CHARS = 3_990
"""The most characters of a shared message together with the line about its sharer, a little below the limit of 4000."""
ACK_SECONDS = 1.5
"""Seconds that the storage may take before the press is acknowledged without its answer. Discord waits 3 s (its
documentation, "Receiving and Responding").
"""

ACKNOWLEDGED = 40060
"""Discord's error code for an interaction that was acknowledged before (its documentation, "JSON Error Codes"). While a
shard moves, two processes receive each press.
"""

_log = logging.getLogger(__name__)


class Press:
    """One press of a button; see `presses.Press`."""

    def __init__(self, interaction: discord.Interaction[Client]) -> None:
        """Raises UserError for a press that names no place."""
        self.interaction = interaction
        self.intake = interaction.client.intake
        self.location = location_of(interaction)
        self.say = self.intake.words(interaction)

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
        """Also whether the run belongs to the space of another person, where the bot is a guest."""
        location = self.location
        if await self.intake.hidden(location, run):
            return True
        return not location.installed and await self.intake.app.request_of(location.space, run) is None

    async def begin(self, chosen: StoredChoice, run: str) -> None:
        await self.intake.choose(self.interaction, chosen, run)

    def recount(self, run: str) -> None:
        press = self.interaction
        if press.message is not None:
            press.client.counts.changed(press.channel_id, str(press.message.id), partial(self._count, run))

    async def _count(self, run: str) -> None:
        """Raises Unavailable, and the faults of a surface."""
        press, location = self.interaction, self.location
        records, message = self.intake.app.records, press.message
        new_labels = await labels(records.offers, records.votes, location.space, run, LABEL, size)
        if message is None or not new_labels:
            return
        with as_surface_faults(), suppress(discord.ClientException, ValueError):
            editable = message.webhook_id is None  # only the press itself can edit a webhook's message
            if editable and location.member and not message.flags.ephemeral:
                # Without permission to read, use the message as it came with the press.
                with suppress(discord.Forbidden):
                    message = await message.fetch()
                if (view := relabelled(message, new_labels)) is not None:
                    await message.edit(view=view, allowed_mentions=discord.AllowedMentions.none())
                return
            if press.response.type is not discord.InteractionResponseType.deferred_message_update:
                return  # the original response is another message, and a guest can edit only that one
            if (view := relabelled(await press.original_response(), new_labels)) is not None:
                await press.edit_original_response(view=view)

    async def stopped(self) -> None:
        press = self.interaction
        name = discord.utils.escape_markdown(press.user.display_name)
        private = press.message is not None and press.message.flags.ephemeral
        await press.followup.send(
            self.say("buttons.stopped", who=name),
            ephemeral=private,
            allowed_mentions=discord.AllowedMentions.none(),
        )

    async def remove_button(self, custom_id: str) -> None:
        press = self.interaction
        with suppress(discord.HTTPException, discord.ClientException, ValueError):
            if (view := buttons_without(await press.original_response(), custom_id)) is not None:
                await press.edit_original_response(view=view)


async def retry(press: Press, run: str) -> None:
    """Repeat the request, with its present words."""
    await press.intake.again(press.interaction, run)


async def show_sources(press: Press, run: str) -> None:
    """Show all sources in full to the presser alone."""
    if pages := await press.soon(_source_pages(press, run)):
        await replies.send_alone(press.interaction, view=_page(press.say, run, pages, 0))
    else:
        await press.tell("buttons.stale")


async def turn(press: Press, run: str, page: str) -> None:
    """Replace the present page of the opened sources by another."""
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
    """Share the private answer with everybody in the channel."""
    if not await press.soon(presses.visible(press, run)):
        await press.tell("buttons.stale")
        return
    key = await _shared(press, run)
    await press.tell(key)
    if key in ("buttons.shared", "buttons.shared_before"):
        await press.remove_button(f"share:{run}")


async def further(press: Press, run: str) -> None:
    """Open a window for the next question of a private conversation."""
    await press.intake.further(press.interaction, run)


async def stale(press: Press) -> None:
    """Answer a button of another release, or one with a forged custom_id."""
    await press.tell("buttons.stale")


async def _source_pages(press: Press, run: str) -> list[str]:
    return footer.pages(await presses.citations(press, run), press.say, PAGE_CHARS)


def _page(say: Words, run: str, pages: list[str], page: int) -> LayoutView:
    view = _layout(pages[page])
    if len(pages) > 1:
        view.add_item(TextDisplay("-# " + say("buttons.page", page=page + 1, pages=len(pages))))
        row: ActionRow[LayoutView] = ActionRow()
        for label, to in ((say("buttons.back"), page - 1), (say("buttons.on"), page + 1)):
            exists = 0 <= to < len(pages)
            # Even a disabled button needs its own custom_id.
            row.add_item(
                Button(
                    label=label,
                    custom_id=f"sources:{run}:{to if exists else page}",
                    disabled=not exists,
                )
            )
        view.add_item(row)
    view.stop()  # ITEMS handles presses, so the client need not keep this view
    return view


async def _shared(press: Press, run: str) -> str:
    """Post the whole answer to its channel once. Returns the key of the sentence about the result."""
    interaction, location = press.interaction, press.location
    message = interaction.message
    shared = await _answer(press, run)
    if message is not None and not shared:  # it could not be kept
        shared = [_layout(neutralise(part)) for part in split(message_text(message), PAGE_CHARS)]
    if message is None or not shared:
        return "buttons.nothing_to_share"
    if location.guild is not None:
        if location.installed and not _may_write(interaction.app_permissions, location.thread):
            return "buttons.may_not_share"
        if not _may_write(interaction.permissions, location.thread):  # the bot must not speak for them
            return "buttons.you_may_not_share"
    outbox, stage = press.intake.app.records.outbox, f"share:{message.id}"
    row = await outbox.claim(location.space, run, stage)
    if row.state == "sent":
        return "buttons.shared_before"
    name = discord.utils.escape_markdown(neutralise(interaction.user.display_name))
    credit = press.say("buttons.shared_by", who=name)
    if not interaction.response.is_done():
        await press.acknowledge()
    try:
        first = ""
        for n, view in enumerate(_credited("-# " + credit, shared)):
            posted = await _post(press, view, f"{message.id}-{n}")
            first = first or str(posted)
            if n:  # each is stored, so that it can be taken back
                await outbox.claim(location.space, run, f"{stage}#{n}")
                await outbox.mark_sent(location.space, run, f"{stage}#{n}", str(posted))
        await outbox.mark_sent(location.space, run, stage, first)
    except discord.Forbidden:
        return "buttons.may_not_share"
    return "buttons.shared"


def _credited(credit: str, shared: list[LayoutView]) -> list[LayoutView]:
    """The messages with the line about the sharer above the first, or in a message of its own if there is no room."""
    if size(credit) + sum(size(text) for text in texts(shared[0])) > CONTENT_CHARS:
        return [_layout(credit), *shared]
    first = _layout(credit)
    for item in shared[0].children:
        first.add_item(item)
    return [first, *shared[1:]]


async def _answer(press: Press, run: str) -> list[LayoutView]:
    """All messages of a private answer, without its buttons; none if it was not stored."""
    stored = await press.intake.app.records.offers.all(press.location.space, run, ANSWERS)
    cited = {citation.n: citation for citation in await presses.citations(press, run)}
    context = PageContext(run, press.say, ended="done")
    views = []
    for n, item in enumerate(stored, 1):
        title, text = json.loads(item)
        content = StageContent(str(n), title, text, growing=False)
        content.citations = cited if n == len(stored) else {}
        views += [without_buttons(page).layout() for page in pages(content, context)]
    return views


def message_text(message: discord.Message) -> str:
    """All text of a message: of its content and components."""
    parts = [message.content]
    if message.flags.components_v2:
        parts += texts(LayoutView.from_message(message, timeout=None))
    return "\n\n".join(part for part in parts if part.strip())


def texts(view: LayoutView) -> list[str]:
    """The texts of a view without the prompts of choices, because their buttons are not shared."""
    items = list(view.walk_children())
    following = [*items[1:], None]
    return [
        item.content
        for item, after in zip(items, following, strict=True)
        if isinstance(item, TextDisplay) and not (isinstance(after, ActionRow) and _offers(after))
    ]


def _offers(row: ActionRow[LayoutView]) -> bool:
    ids = [button.custom_id or "" for button in row.children if isinstance(button, Button)]
    return any(re.fullmatch(footer.CHOICE, each) for each in ids)


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
    """Post as the bot where it is a member; as a guest, through the press."""
    none = discord.AllowedMentions.none()
    channel = press.interaction.channel
    if press.location.member and isinstance(channel, discord.abc.Messageable):
        # The nonce makes one message of two quick presses.
        return (await channel.send(view=view, allowed_mentions=none, nonce=nonce)).id
    return (await press.interaction.followup.send(view=view, allowed_mentions=none, wait=True)).id


def _item(template: str, act: Callable[..., Awaitable[None]]) -> type[DynamicItem[Button[Any]]]:
    """The class of a button: `act` gets the press and the template's groups."""

    class Pressed(DynamicItem[Button[Any]], template=template):
        def __init__(self, button: Button[Any], groups: dict[str, str]) -> None:
            super().__init__(button)
            self.groups = groups

        @classmethod
        async def from_custom_id(
            cls, interaction: discord.Interaction[Any], item: Item[Any], match: re.Match[str], /
        ) -> Pressed:
            assert isinstance(item, Button)
            return cls(item, match.groupdict())

        async def callback(self, interaction: discord.Interaction[Any]) -> None:
            """Handle the press and tell the presser about a fault."""
            intake: Intake = interaction.client.intake
            try:
                await act(Press(interaction), **self.groups)
            except UserError as error:
                await intake.failed(interaction, error)
            except discord.NotFound:  # the press is too old to be answered
                _log.info("a press came too late to be answered")
            except Exception as fault:
                if isinstance(fault, discord.HTTPException) and fault.code == ACKNOWLEDGED:
                    _log.info("another process has acknowledged a press, and handles it")
                    return
                _log.exception("a press went wrong")
                with suppress(discord.HTTPException):
                    await replies.tell(interaction, intake.words(interaction)("buttons.broken"))

    return Pressed


_ACTS: dict[str, Callable[..., Awaitable[None]]] = {
    footer.STOP: presses.stop,
    footer.RETRY: retry,
    footer.CHOICE: presses.choose,
    footer.MEANWHILE: presses.choose_meanwhile,
    footer.SOURCES: show_sources,
    footer.SOURCES_PAGE: turn,
    footer.SHARE: share,
    footer.FURTHER: further,
    footer.FEEDBACK: presses.rate,
}
_KNOWN = "|".join(re.sub(r"\(\?P<\w+>", "(?:", template) for template in _ACTS)
_KINDS = "|".join(sorted({template.partition(":")[0] for template in _ACTS}))

ITEMS: tuple[type[DynamicItem[Button[Any]]], ...] = (
    *(_item(template, act) for template, act in _ACTS.items()),
    _item(rf"(?!(?:{_KNOWN})\Z)(?:{_KINDS})(?s::.*)?", stale),
)
"""The items for `Client.add_dynamic_items`, which is called at every start."""
