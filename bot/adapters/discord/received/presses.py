"""What the buttons under an answer do, for everybody who presses one, however long ago it was posted.

All that a press needs stands in the button's custom_id, in the storage, and in the pressed message. A press that comes
too late, or from where it does not belong, gets a sentence that only the presser sees.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import discord
from discord.ui import ActionRow, Button, DynamicItem, Item, LayoutView, TextDisplay

from bot.adapters import buttons_row, footer, offered
from bot.adapters.buttons_row import counted, custom_id
from bot.adapters.discord.received.placing import spot
from bot.adapters.discord.shown import replies
from bot.adapters.discord.shown.surface import in_our_words
from bot.adapters.discord.text.markdown import size
from bot.adapters.discord.text.page import buttons_without, relabelled
from bot.adapters.discord.text.render import LABEL
from bot.adapters.draft import neutralise, split
from bot.adapters.offered import Offered, labels
from bot.events import Sorry

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client
    from bot.adapters.discord.received.intake import Intake

    Press: TypeAlias = discord.Interaction[Client]

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


async def stop(press: Press, run: str) -> None:
    """Anyone who sees the answer may stop it, as with /stop."""
    app, intake = press.client.app, press.client.intake
    say, space = intake.words(press), _space(press)
    hidden, _ = await asyncio.gather(intake.hidden(spot(press), run), press.response.defer())
    if hidden or (not spot(press).installed and await app.past(space, run) is None):
        await stale(press)  # what only somebody else may see, or what somebody asked whose guest the bot is
    elif await app.stop_run(space, run):
        who = discord.utils.escape_markdown(press.user.display_name)
        private = press.message is not None and press.message.flags.ephemeral
        await press.followup.send(
            say("buttons.stopped", who=who),
            ephemeral=private,
            allowed_mentions=discord.AllowedMentions.none(),
        )
    elif app.live(space, run):
        await replies.tell(press, say("buttons.stopping"))
    else:
        await replies.tell(press, say("buttons.ended"))
        await _take_off(press, custom_id("stop", run))


async def retry(press: Press, run: str) -> None:
    """The same again, of the words as they stand now, if their writer has edited them."""
    await press.client.intake.again(press, run)


async def choose(press: Press, run: str, n: str) -> None:
    """As if the presser had typed the choice's line; nothing where it has none."""
    kept = await press.client.app.records.offers.get(_space(press), run, offered.KIND, int(n))
    if kept is None or await press.client.intake.hidden(spot(press), run):
        await stale(press)
    elif (chosen := offered.offered(kept)).over:
        await replies.tell(press, press.client.intake.words(press)("buttons.taken"))
    elif chosen.votes:
        await _vote(press, run, int(n), chosen)
    elif chosen.command:
        await press.client.intake.choose(press, chosen, run)
    else:  # the buttons stay: somebody else may think otherwise
        await replies.tell(press, press.client.intake.words(press)("buttons.dismissed"))


async def _vote(press: Press, run: str, n: int, chosen: Offered) -> None:
    """Keep the presser's vote. With a command the run that it begins is the answer, else a sentence is."""
    space = _space(press)
    if not chosen.command:
        await press.response.defer()
    await press.client.app.records.votes.give(space, run, chosen.group, str(press.user.id), n)
    if chosen.command:
        await press.client.intake.choose(press, chosen, run)
    else:
        await replies.tell(press, press.client.intake.words(press)("buttons.voted", label=chosen.label))
    if press.message is not None:
        count = partial(_count, press, run)
        press.client.counts.changed(press.channel_id, str(press.message.id), count)


async def _count(press: Press, run: str) -> None:
    """Have the pressed message show the votes, as it stands now. Raises Unavailable, and the faults of a surface."""
    records, message = press.client.app.records, press.message
    found = await labels(records.offers, records.votes, _space(press), run)
    shown = {id: counted(text, votes, LABEL, size) for id, (text, votes) in found.items()}
    if message is None or not shown:
        return
    with in_our_words(), suppress(discord.ClientException, ValueError):
        if spot(press).member and not message.flags.ephemeral:
            with suppress(
                discord.Forbidden
            ):  # who may not read what was written has what came with the press
                message = await message.fetch()
            if (view := relabelled(message, shown)) is not None:
                await message.edit(view=view, allowed_mentions=discord.AllowedMentions.none())
            return
        if press.response.type is not discord.InteractionResponseType.deferred_message_update:
            return  # the press's own message is another one, and a guest reaches only that
        if (view := relabelled(await press.original_response(), shown)) is not None:
            await press.edit_original_response(view=view)


async def show_sources(press: Press, run: str) -> None:
    """Every source in full, for the presser alone."""
    pages = await _in_time(press, _source_pages(press, run))
    if not pages:
        return await stale(press)
    return await replies.alone(press, view=_page(press, run, pages, 0))


async def turn(press: Press, run: str, page: str) -> None:
    """Another page of the opened sources, in their place."""
    await press.response.defer()
    pages = await _source_pages(press, run)
    if int(page) < len(pages):
        opened = _page(press, run, pages, int(page))
        await press.edit_original_response(view=opened, allowed_mentions=discord.AllowedMentions.none())
    else:
        await stale(press)


async def share(press: Press, run: str) -> None:
    """The private answer, for everybody in the channel."""
    if not await _in_time(press, _past(press, run)):
        return await stale(press)
    key = await _shared(press, run)
    await replies.tell(press, press.client.intake.words(press)(key))
    if key in ("buttons.shared", "buttons.shared_before"):
        await _take_off(press, custom_id("share", run))
    return None


async def judge(press: Press, run: str, verdict: Literal["up", "down"]) -> None:
    """A thumb; the last one of a person counts."""
    if not await _in_time(press, _past(press, run)):
        return await stale(press)
    intake, feedback = press.client.intake, press.client.app.records.feedback
    await _in_time(press, feedback.give(_space(press), run, str(press.user.id), verdict))
    thanks = "buttons.thanks_up" if verdict == "up" else "buttons.thanks_down"
    await replies.tell(press, intake.words(press)(thanks))
    return None


async def stale(press: Press) -> None:
    """Also of a button of another release, or a custom_id that somebody has meddled with."""
    await replies.tell(press, press.client.intake.words(press)("buttons.stale"))


def _space(press: Press) -> str:
    """The presser's own: a custom_id that was copied from elsewhere finds nothing there."""
    return spot(press).space


async def _past(press: Press, run: str) -> bool:
    known = await press.client.app.past(_space(press), run) is not None
    return known and not await press.client.intake.hidden(spot(press), run)


async def _in_time(press: Press, looked_up: Awaitable[T]) -> T:
    """What was looked up; should the storage be slow, the press is acknowledged meanwhile."""
    task = asyncio.ensure_future(looked_up)
    await asyncio.wait({task}, timeout=ACK_SECONDS)
    if not task.done() and not press.response.is_done():
        await press.response.defer(ephemeral=True, thinking=True)
    return await task


async def _source_pages(press: Press, run: str) -> list[str]:
    if await press.client.intake.hidden(spot(press), run):
        return []
    kept = await press.client.app.records.offers.all(_space(press), run, "source")
    return footer.pages(footer.cited(kept), press.client.intake.words(press), PAGE_CHARS)


def _page(press: Press, run: str, pages: list[str], page: int) -> LayoutView:
    say = press.client.intake.words(press)
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


async def _take_off(press: Press, custom_id: str) -> None:
    """Take a button off the pressed message, as that stands now: it may have changed since the press."""
    with suppress(discord.HTTPException, discord.ClientException, ValueError):
        if (view := buttons_without(await press.original_response(), custom_id)) is not None:
            await press.edit_original_response(view=view)


async def _shared(press: Press, run: str) -> str:
    """Post the pressed message's text to its channel, once: how it went, as a key of the catalogue."""
    message = press.message
    text = said(message) if message is not None else ""
    if message is None or not text:
        return "buttons.nothing_to_share"
    here = spot(press)
    if here.guild is not None:
        if here.installed and not _may_write(press.app_permissions, here.thread):
            return "buttons.may_not_share"
        if not _may_write(press.permissions, here.thread):  # or the bot would speak for who may not
            return "buttons.you_may_not_share"
    outbox, stage = press.client.app.records.outbox, f"share:{message.id}"
    row = await outbox.claim(here.space, run, stage)
    if row.state == "sent":
        return "buttons.shared_before"
    say = press.client.intake.words(press)
    who = say("buttons.shared_by", who=discord.utils.escape_markdown(neutralise(press.user.display_name)))
    if not press.response.is_done():
        await press.response.defer()
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
    if spot(press).member and isinstance(press.channel, discord.abc.Messageable):
        # The nonce makes two quick presses one message.
        return (await press.channel.send(view=view, allowed_mentions=none, nonce=nonce)).id
    return (await press.followup.send(view=view, allowed_mentions=none, wait=True)).id


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
                await act(interaction, **self.found)
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
    buttons_row.STOP: stop,
    buttons_row.RETRY: retry,
    buttons_row.CHOICE: choose,
    buttons_row.SOURCES: show_sources,
    buttons_row.SOURCES_PAGE: turn,
    buttons_row.SHARE: share,
    buttons_row.FEEDBACK: judge,
}
_KNOWN = "|".join(re.sub(r"\(\?P<\w+>", "(?:", template) for template in _ACTS)
_KINDS = "|".join(sorted({template.partition(":")[0] for template in _ACTS}))

ITEMS: tuple[type[DynamicItem[Button[Any]]], ...] = (
    *(_item(template, act) for template, act in _ACTS.items()),
    _item(rf"(?!(?:{_KNOWN})\Z)(?:{_KINDS})(?s::.*)?", stale),
)
"""For Client.add_dynamic_items, at every start."""
