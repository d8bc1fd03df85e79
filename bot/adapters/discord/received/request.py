"""What people ask on Discord, as the request that it makes: by an interaction, or by a message. And its files.

Knows neither how things arrive nor how they are answered, and no work.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import discord
from yarl import URL

from bot.adapters.discord.received import placing
from bot.adapters.discord.received.placing import PLATFORM, TOKEN_SECONDS, Origin, Spot
from bot.adapters.download import Downloads
from bot.adapters.draft import clean
from bot.events import Author, File, Request, Sorry
from bot.runs.requests import event_id

if TYPE_CHECKING:
    from aiohttp import ClientResponse

    from bot.adapters.intake import Asked
    from bot.config import DiscordConfig
    from storage.threads import ThreadRow


HOSTS: Final = ("cdn.discordapp.com", "media.discordapp.net")
_UNREACHABLE: Final = "discord_run.file_unreachable"
_SMALL = re.compile(r"(?:> )?-# ")


def request_of(
    event: discord.Interaction | discord.Message,
    here: Spot,
    asked: Asked,
    held: ThreadRow | None,
    locale: str,
    *,
    threads: bool,
    us: int,
) -> tuple[Request, Origin]:
    """The request, and where its answer goes. Raises Sorry for a message that asks for something private.

    `held` is what the bot holds in this thread; without `threads` none is opened. `us` is the application.
    """
    row, options = asked.row, dict(asked.options)
    pressed = event if isinstance(event, discord.Interaction) else None
    shown = pressed is not None and pressed.message is not None and pressed.message.flags.ephemeral
    # In a DM with the bot everything is private already, and what is personal is so where it stands.
    private = (bool(options.get("private")) or shown) and not here.direct and not row.personal
    # What is private is a conversation of its own; personal answers are only shown to one person.
    alone = private or (row.personal and not here.direct)
    if pressed is None:
        if alone:
            raise Sorry("discord.only_slash", verb=row.path)
        options.pop("private", None)
    goes = placing.home(here, ordered=row.ordered, private=alone, threads=threads)
    token = pressed.token if pressed is not None else ""
    if pressed is not None and pressed.type is discord.InteractionType.component and goes == "here":
        token = ""  # where the answer stands as messages of its own, a button needs no response beside them
    origin = Origin(
        home=goes,
        channel=here.channel,
        application=us,
        guild=here.guild,
        user=here.user,
        message=here.message,
        token=token,
        until=time.time() + TOKEN_SECONDS if token else 0.0,
        member=here.member,
        private=alone,
    )
    who = event.user if isinstance(event, discord.Interaction) else event.author
    request = replace(asked, options=options).request(
        event_id(PLATFORM, here.space, str(event.id)),
        placing.place(here, event=event.id, goes=goes, held=held, private=private),
        Author(str(here.user), clean(who.display_name), admin=placing.manages(event, here)),
        locale,
        origin,
    )
    return request, origin


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
