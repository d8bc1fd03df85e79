"""What somebody wrote to the bot, as the request that it makes: a line with a slash, else plain text.

Knows the table's way to read a line and nothing of how messages arrive.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import discord

from bot.adapters.discord.received import placing
from bot.adapters.discord.received.origin import Home, Origin
from bot.adapters.discord.received.placing import PLATFORM, Spot
from bot.adapters.discord.text.spoken import typed
from bot.adapters.draft import clean, title
from bot.command_line import Parsed, parse
from bot.commands import FOLLOW_UP
from bot.events import Author, File, OptionValue, Place, Request, Sorry
from bot.requests import event_id
from bot.verb import Verb

if TYPE_CHECKING:
    from storage.threads import ThreadRow


def parsed_of(text: str, attached: Sequence[discord.Attachment]) -> Parsed:
    """What a message asks for; attachments stand for the files that a line would name. Raises Sorry."""
    line = typed(text.strip()) or "/help"
    try:
        return parse(line)
    except Sorry as sorry:
        if sorry.key != "commands.missing" or not attached:
            raise
    names = (re.sub(r"[^\w.-]", "_", one.filename) for one in attached)
    return parse(" ".join([line, *names]))


def spot_in(message: discord.Message, held: ThreadRow | None) -> Spot:
    """Where the message stands; a thread that is held is one even if the client has not seen it yet."""
    here = placing.spot_of(message)
    if held is None or here.thread:
        return here
    return replace(here, kind=discord.ChannelType.public_thread, parent=int(held.channel))


def request_of(
    message: discord.Message,
    here: Spot,
    place: Place,
    parsed: Parsed,
    row: Verb,
    goes: Home,
    *,
    us: int,
    locale: str,
) -> Request:
    """The request of a message; `row` is what it means here, `us` the application. Raises Sorry for a private one."""
    options: dict[str, OptionValue] = dict(parsed.options)
    if parsed.verb is None:
        options[FOLLOW_UP] = True
    private = bool(options.pop("private", False)) or row.personal
    if private and not here.direct:
        raise Sorry("discord.only_slash", verb=row.path)
    origin = Origin(
        home=goes,
        channel=here.channel,
        application=us,
        guild=here.guild,
        user=here.user,
        message=message.id,
        title=title(parsed.text) or row.path,  # what was asked stands in the message itself
    )
    files = () if row.bare else files_of(message.attachments)
    return Request(
        event_id(PLATFORM, here.space, str(message.id)),
        place,
        Author(str(here.user), clean(message.author.display_name), admin=placing.manages_of(message)),
        row.work,
        row.name,
        options,
        parsed.text,
        files,
        locale,
        origin.kept(),
    )


def files_of(attached: Sequence[discord.Attachment | None]) -> tuple[File, ...]:
    """As a request carries them; a work refuses those that it can't read, one by one. Raises Sorry."""
    if not all(isinstance(one, discord.Attachment | None) for one in attached):
        raise Sorry("discord.outdated")  # named, but not sent along
    return tuple(File(one.filename, "", one.size, one.url) for one in attached if one is not None)
