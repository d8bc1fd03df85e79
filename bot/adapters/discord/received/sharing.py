"""Shows everybody in a channel an answer that only its asker has seen: as it stands in the pressed message.

Knows no work: what it passes on is the message's own text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import discord
from discord.ui import ActionRow, Button, LayoutView, TextDisplay

from bot.adapters import custom_ids
from bot.adapters.discord.received.placing import spot
from bot.adapters.draft import neutralise, split

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Sutradhar

    Press: TypeAlias = discord.Interaction[Sutradhar]

PART_CHARS = 3_600
"""Of the 4000 characters that a message's text components hold together; the rest is for who shared it."""


@dataclass(frozen=True, slots=True)
class Shared:
    """How it went, as a key of the catalogue; `done`: there is nothing left to share."""

    key: str
    done: bool = False
    values: Mapping[str, object] = field(default_factory=dict)


async def share(press: Press, run: str) -> Shared:
    """Post the pressed message's text to its channel, once."""
    message = press.message
    text = said(message) if message is not None else ""
    if message is None or not text:
        return Shared("buttons.nothing_to_share")
    here = spot(press)
    if here.guild is not None:
        if here.installed and not _may_write(press.app_permissions, here.thread):
            return Shared("buttons.may_not_share")
        if not _may_write(press.permissions, here.thread):  # or the bot would speak for who may not
            return Shared("buttons.you_may_not_share")
    outbox, stage = press.client.app.house.outbox, f"share:{message.id}"
    row = await outbox.claim(here.space, run, stage)
    if row.state == "sent":
        return Shared("buttons.shared_before", done=True)
    say = press.client.reception.words(press)
    who = say("buttons.shared_by", who=discord.utils.escape_markdown(neutralise(press.user.display_name)))
    if not press.response.is_done():
        await press.response.defer()
    try:
        posted = [
            await _post(press, _layout(part, "-# " + who if n == 0 else ""), f"{message.id}-{n}")
            for n, part in enumerate(split(text, PART_CHARS))
        ]
    except discord.Forbidden:
        return Shared("buttons.may_not_share")
    await outbox.sent(here.space, run, stage, str(posted[0]))
    return Shared("buttons.shared", done=True)


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
    return any(re.fullmatch(custom_ids.CHOICE, one) for one in ids)


def _may_write(permissions: discord.Permissions, thread: bool) -> bool:
    writes = permissions.send_messages_in_threads if thread else permissions.send_messages
    return permissions.view_channel and writes


def _layout(text: str, who: str) -> LayoutView:
    view = LayoutView(timeout=None)
    if who:
        view.add_item(TextDisplay(who))
    view.add_item(TextDisplay(neutralise(text)))
    return view


async def _post(press: Press, view: LayoutView, nonce: str) -> int:
    """A message of the bot's own where it is a member; as a guest, one through the press."""
    none = discord.AllowedMentions.none()
    if spot(press).member and isinstance(press.channel, discord.abc.Messageable):
        # The nonce makes two quick presses one message.
        return (await press.channel.send(view=view, allowed_mentions=none, nonce=nonce)).id
    return (await press.followup.send(view=view, allowed_mentions=none, wait=True)).id
