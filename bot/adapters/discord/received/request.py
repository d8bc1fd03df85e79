"""What people ask on Discord, as the request that it makes: by an interaction, or by a message. And its files.

Knows the table's way to read a line; neither how things arrive nor how they are answered, and no work.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import discord
from yarl import URL

from bot.adapters.discord.received import placing
from bot.adapters.discord.received.placing import PLATFORM, TOKEN_SECONDS, Origin, Spot
from bot.adapters.discord.text.spoken import typed
from bot.adapters.download import Downloads
from bot.adapters.draft import clean, title
from bot.command_line import Parsed, parse
from bot.commands import FOLLOW_UP, NAME_FILES
from bot.events import Author, File, OptionValue, Request, Sorry
from bot.requests import event_id
from bot.verb import Verb

if TYPE_CHECKING:
    from aiohttp import ClientResponse

    from bot.config import DiscordConfig
    from storage.threads import ThreadRow


HOSTS: Final = ("cdn.discordapp.com", "media.discordapp.net")
_UNREACHABLE: Final = "discord_run.file_unreachable"
_SMALL = re.compile(r"(?:> )?-# ")


def of_interaction(
    interaction: discord.Interaction,
    here: Spot,
    row: Verb,
    text: str,
    options: Mapping[str, OptionValue],
    files: tuple[File, ...],
    *,
    held: str | None,
    threads: bool,
    locale: str,
) -> tuple[Request, Origin]:
    """The request, and where its answer goes.

    `held` is what a thread that the bot opened is called; without `threads` none is opened.
    """
    shown = interaction.message is not None and interaction.message.flags.ephemeral
    # In a DM with the bot everything is private already, and what is personal is so where it stands.
    private = (bool(options.get("private")) or shown) and not here.direct and not row.personal
    # What is private is a conversation of its own; personal answers are only shown to one person.
    alone = private or (row.personal and not here.direct)
    goes = placing.home(here, ordered=row.ordered, private=alone, threads=threads)
    # A button where the answer stands as messages of its own needs no response beside them.
    silent = interaction.type is discord.InteractionType.component and goes == "here"
    origin = Origin(
        home=goes,
        channel=here.channel,
        application=interaction.application_id,
        guild=here.guild,
        user=here.user,
        token="" if silent else interaction.token,
        until=0.0 if silent else time.time() + TOKEN_SECONDS,
        member=here.member,
        private=alone,
        title=title(text) or row.path,
        asked=text if row.plain else f"/{row.path} {text}".strip(),
    )
    admin = placing.manages(interaction, here)
    request = Request(
        event_id(PLATFORM, here.space, str(interaction.id)),
        placing.place(here, event=interaction.id, goes=goes, held=held, private=private),
        Author(str(here.user), clean(interaction.user.display_name), admin=admin),
        row.work,
        row.name,
        dict(options),
        text,
        files,
        locale,
        origin.kept(),
    )
    return request, origin


def of_message(
    message: discord.Message,
    here: Spot,
    parsed: Parsed,
    row: Verb,
    *,
    held: str | None,
    threads: bool,
    us: int,
    locale: str,
) -> Request:
    """The request of a message; `row` is what it means here, `us` the application. Raises Sorry for a private one.

    `held` and `threads`: see `of_interaction`.
    """
    options: dict[str, OptionValue] = dict(parsed.options)
    if parsed.verb is None:
        options[FOLLOW_UP] = True
    private = bool(options.pop("private", False)) or row.personal
    if private and not here.direct:
        raise Sorry("discord.only_slash", verb=row.path)
    goes = placing.home(here, ordered=row.ordered, written=True, threads=threads)
    origin = Origin(
        home=goes,
        channel=here.channel,
        application=us,
        guild=here.guild,
        user=here.user,
        message=message.id,
        title=title(parsed.text) or row.path,  # what was asked stands in the message itself
    )
    return Request(
        event_id(PLATFORM, here.space, str(message.id)),
        placing.place(here, event=message.id, goes=goes, held=held),
        Author(str(here.user), clean(message.author.display_name), admin=placing.manages_of(message)),
        row.work,
        row.name,
        options,
        parsed.text,
        () if row.bare else files_of(message.attachments),
        locale,
        origin.kept(),
    )


def parsed_of(text: str, attached: Sequence[discord.Attachment]) -> Parsed:
    """What a message asks for; attachments stand for the files that a line would name. Raises Sorry."""
    line = typed(text.strip()) or "/help"
    try:
        return parse(line)
    except Sorry as sorry:
        if sorry.key != "commands.missing" or not attached or sorry.values["verb"] not in NAME_FILES:
            raise
    names = (re.sub(r"[^\w.-]", "_", one.filename) for one in attached)
    return parse(" ".join([line, *names]))


def spot_in(message: discord.Message, held: ThreadRow | None) -> Spot:
    """Where the message stands; a thread that is held is one even if the client has not seen it yet."""
    here = placing.spot_of(message)
    if held is None or here.thread:
        return here
    return replace(here, kind=discord.ChannelType.public_thread, parent=int(held.channel))


def files_of(attached: Sequence[discord.Attachment | None]) -> tuple[File, ...]:
    """As a request carries them; a work refuses those that it can't read, one by one. Raises Sorry."""
    found: list[File] = []
    for one in attached:
        if isinstance(one, discord.Attachment):
            found.append(File(one.filename, "", one.size, one.url))
        elif one is not None:
            raise Sorry("discord.outdated")  # named, but not sent along
    return tuple(found)


def heard(message: discord.Message, me: int) -> str:
    """What the message says without the bot's own mention; other people's are their names."""
    names = {one.id: f"@{one.display_name}" for one in message.mentions}
    names |= {one.id: f"@{one.name}" for one in message.role_mentions}
    names |= {one.id: f"#{one.name}" for one in message.channel_mentions}

    def named(found: re.Match[str]) -> str:
        return names.get(int(found[1]), found[0])

    text = re.sub(rf"[ \t]*<@!?{me}>[ \t]*", " ", message.content)
    return re.sub(r"<(?:@[!&]?|#)(\d{1,20})>", named, text).strip().lstrip(",:;").strip()


def text_of(message: discord.Message) -> str:
    """What there is to read in the message: as its content, in its components and embeds, or passed on with it."""
    found: list[str] = []
    parts: list[discord.Message | discord.MessageSnapshot] = [message, *message.message_snapshots]
    for part in parts:
        found += [part.content, *_displayed(part.components)]
        for embed in part.embeds:
            fields = [f"{field.name or ''}\n{field.value or ''}" for field in embed.fields]
            found += [embed.title or "", embed.description or "", *fields]
    return "\n\n".join(text.strip() for text in found if text.strip())


def _displayed(components: Sequence[object]) -> Iterator[str]:
    """The text displays, however deep, without the small print under an answer: sources, notes, what goes on."""
    for one in components:
        if isinstance(one, discord.TextDisplay):
            yield "\n".join(line for line in one.content.split("\n") if not _SMALL.match(line))
        yield from _displayed(getattr(one, "children", ()))


class Attachments:
    """Fetches files that people attached, when a work wants them, from where Discord keeps them.

    Nobody is ever shown the bot's token.
    """

    def __init__(self, settings: DiscordConfig, *, pause_s: float = 1.0) -> None:
        self._downloads = Downloads(_refusal, _UNREACHABLE, pause_s)
        # A proxy or a stand-in for Discord may keep files, too.
        self._own = URL(settings.api_base).origin()

    async def fetch(self, _: Request, file: File, path: Path, limit: int) -> None:
        """Write the file's bytes to `path`, at most `limit` of them. Raises Sorry.

        Whose request it is does not matter: an attachment's address opens it by itself.
        """
        url = URL(file.url)
        if not url.is_absolute() or not (
            (url.scheme == "https" and url.host in HOSTS) or url.origin() == self._own
        ):
            raise Sorry("discord_run.file_elsewhere", name=file.name)
        await self._downloads.fetch(url, file, path, limit)


def _refusal(answer: ClientResponse, _: str) -> str:
    if answer.status == 200:
        return ""
    return _UNREACHABLE if answer.status >= 500 or answer.status == 429 else "discord_run.file_gone"
