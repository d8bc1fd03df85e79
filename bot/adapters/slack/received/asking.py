"""What somebody asks for on Slack, as the request that it makes, with the note of where its answer goes.

Pure. Knows neither what is waited for nor how an event is acknowledged.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.adapters.slack import placing
from bot.adapters.slack.placing import RESPONSE_SECONDS, Origin, Spot, origin_of
from bot.adapters.slack.received.people import Person
from bot.events import Author, Request

if TYPE_CHECKING:
    from bot.adapters.intake import Asked
    from storage.threads import ThreadRow


def called_in(asked: Asked, here: Spot) -> str:
    """Of what is asked again in its thread: the ts of the message that called the bot into others' talk, or ""."""
    if asked.again is None or not asked.again.origin:
        return ""
    origin = origin_of(asked.again.origin)
    there = origin.earlier and (origin.channel, origin.thread) == (here.channel, here.thread)
    return origin.message if there else ""


def request_of(
    asked: Asked,
    here: Spot,
    run: str,
    person: Person,
    *,
    held: ThreadRow | None = None,
    earlier: bool = False,
    response_url: str = "",
) -> Request:
    """`held` is what the bot holds in this thread; `earlier`: others have talked here before the bot came.

    `response_url` is a secret, "" where there is none.
    """
    row, before = asked.row, called_in(asked, here)
    earlier = earlier or before != ""
    private = bool(asked.options.get("private")) or row.personal
    goes = placing.home(here, ordered=row.ordered, private=private)
    place = placing.place(here, event=run, goes=goes, held=held)
    if row.stops and not here.thread:
        # Nothing runs in the thread that the message begins: as a command, it means what its writer has begun here.
        place = replace(place, thread="")
    origin = Origin(
        home=goes,
        channel=here.channel,
        user=here.user,
        team=here.team,
        enterprise=here.enterprise,
        thread=here.root,
        message=before or here.message,
        response_url=response_url,
        until=time.time() + RESPONSE_SECONDS if response_url else 0.0,
        earlier=earlier,
        title=asked.title,
        asked=asked.line,
    )
    author = Author(here.user, person.name, admin=person.admin)
    return replace(asked, plain=asked.plain or earlier).request(
        run, place, author, person.locale, origin.kept()
    )
