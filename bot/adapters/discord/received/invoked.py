"""What an interaction asks for, as the request that it makes; `written` does the same for messages.

Knows neither what is waited for nor how an interaction is answered.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import discord

from bot.adapters.discord.received import placing
from bot.adapters.discord.received.origin import TOKEN_SECONDS, Origin
from bot.adapters.discord.received.placing import PLATFORM, Spot
from bot.adapters.draft import clean, title
from bot.events import Author, File, OptionValue, Place, Request
from bot.requests import event_id
from bot.verb import Verb


def request_of(
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
    place, origin = _placed(interaction, here, row, held, private=private, threads=threads)
    asked = text if row.plain else f"/{row.path} {text}".strip()
    origin = replace(origin, title=title(text) or row.path, asked=asked)
    request = Request(
        event_id(PLATFORM, here.space, str(interaction.id)),
        place,
        Author(
            str(here.user), clean(interaction.user.display_name), admin=placing.manages(interaction, here)
        ),
        row.work,
        row.name,
        dict(options),
        text,
        files,
        locale,
        origin.kept(),
    )
    return request, origin


def _placed(
    interaction: discord.Interaction, here: Spot, row: Verb, held: str | None, *, private: bool, threads: bool
) -> tuple[Place, Origin]:
    """`private` makes it a conversation of its own; personal answers are only shown to one person."""
    alone = private or (row.personal and not here.direct)
    goes = placing.home(here, ordered=row.ordered, private=alone, threads=threads)
    place = placing.place(here, event=interaction.id, goes=goes, held=held, private=private)
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
    )
    return place, origin
