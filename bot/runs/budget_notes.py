"""Tells admins how much of a space's budgets is used."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.commands import TELL_ADMINS
from bot.events import Author, Request
from bot.words import words

if TYPE_CHECKING:
    from bot.platforms import Platform
    from bot.resources import Resources
    from bot.runs.durable_run import Begin

_log = logging.getLogger(__name__)


async def tell_admins(resources: Resources, platform: Platform, begin: Begin, request: Request) -> None:
    """Begin runs that tell admins how much of the space's budgets is used, if the platform can reach them."""
    if platform.origin is None or (private_place := platform.private_place) is None:
        return
    for n, note in enumerate(await resources.budgets.notes(request)):
        here = replace(request.place, thread="")
        places = [("", replace(here, channel=channel)) for channel in note.channels]
        if not places and note.person:
            places = [(note.person, private_place(here, note.person))]
        if not places:
            used = " of ".join(note.values[name](words("en")) for name in ("spent", "cap"))
            _log.warning("80 %% of a budget of the space %s is used: %s", here.space, used)
        for person, place in places:
            locale = await resources.settings.locale(place, person, request.locale)
            request_to_admins = Request(
                "",
                place,
                Author(person, ""),
                TELL_ADMINS.work,
                TELL_ADMINS.name,
                {"key": note.key, **{name: value(words(locale)) for name, value in note.values.items()}},
                locale=locale,
                origin=platform.origin(place),
                parent=request.id,
            )
            await begin(request_to_admins, f"used/{n}/{place.channel}/{person}")
