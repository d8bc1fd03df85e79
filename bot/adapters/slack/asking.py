"""What somebody asks for on Slack, as the request that it makes, with the note of where its answer goes.

Pure. Knows neither what is waited for nor how an event is acknowledged.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from bot.adapters.draft import title
from bot.adapters.slack import placing
from bot.adapters.slack.origin import RESPONSE_SECONDS, Origin
from bot.adapters.slack.people import Person
from bot.adapters.slack.placing import PERSONAL, Spot
from bot.commands import FOLLOW_UP
from bot.events import Author, File, OptionValue, Request
from bot.verb import HOUSE, Verb


@dataclass(frozen=True, slots=True)
class Asked:
    """`plain`: it was no command. `response_url` is a secret, "" where there is none."""

    row: Verb
    text: str = ""
    options: Mapping[str, OptionValue] | None = None
    files: tuple[File, ...] = ()
    plain: bool = False
    response_url: str = ""


def request_of(
    asked: Asked,
    here: Spot,
    run: str,
    person: Person,
    *,
    held: tuple[str, str] | None = None,
    earlier: bool = False,
) -> Request:
    """`held` is what a thread of the bot's own is called; `earlier`: others have talked here before the bot came."""
    row, options = asked.row, dict(asked.options or {})
    if asked.plain or earlier:
        options[FOLLOW_UP] = True
    private = bool(options.get("private")) or row.work == PERSONAL
    goes = placing.home(here, ordered=row.ordered, private=private)
    origin = Origin(
        home=goes,
        channel=here.channel,
        user=here.user,
        team=here.team,
        enterprise=here.enterprise,
        thread=here.root,
        message=here.message,
        response_url=asked.response_url,
        until=time.time() + RESPONSE_SECONDS if asked.response_url else 0.0,
        earlier=earlier,
        title=title(asked.text) or row.path,
        asked=asked.text if row.plain else f"/{row.path} {asked.text}".strip(),
    )
    return Request(
        run,
        placing.place(here, event=run, goes=goes, held=held),
        Author(here.user, person.name, admin=person.admin),
        row.work,
        row.name,
        options,
        asked.text,
        () if row.work == HOUSE else asked.files,
        person.locale,
        origin.kept(),
    )
