"""What somebody asks for on Slack, as the request that it makes, with the note of where its answer goes.

Pure. Knows neither what is waited for nor how an event is acknowledged.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bot import commands
from bot.adapters.draft import title
from bot.adapters.slack import placing
from bot.adapters.slack.placing import RESPONSE_SECONDS, Origin, Spot, origin_of
from bot.adapters.slack.received.people import Person
from bot.commands import FOLLOW_UP
from bot.events import Author, File, OptionValue, Request, Sorry
from bot.verb import Verb


@dataclass(frozen=True, slots=True)
class Asked:
    """`plain`: it was no command. `response_url` is a secret, "" where there is none.

    `before`: the ts of the message with which the bot was called in, if what was said before that is to be known.
    `answers`: see Request.
    """

    row: Verb
    text: str = ""
    options: Mapping[str, OptionValue] | None = None
    files: tuple[File, ...] = ()
    plain: bool = False
    response_url: str = field(default="", repr=False)
    before: str = ""
    answers: str = ""

    @property
    def admin(self) -> bool:
        """Whether it is for admins alone, who are asked about anew: also where only a change is."""
        row = self.row
        return row.admin or (row.sets and self.text.strip() != "")


def only_for_another(past: Request, user: str) -> bool:
    """Whether it was asked in private, or in somebody's direct conversation with the bot, and not by this person."""
    if not past.origin or past.author.id == user:
        return False
    origin = origin_of(past.origin)
    return origin.private or origin.channel.startswith("D")


def asked_again(past: Request, here: Spot, response_url: str) -> Asked:
    """The same once more. Raises Sorry where nothing is left of it, or where it is for somebody else alone."""
    row = commands.verb(past.work, past.verb)
    lacking = row.argument is not None and row.argument.required and not (past.text or past.files)
    if lacking or only_for_another(past, here.user):  # lacking: whoever asked has taken it back
        raise Sorry("edge.gone")
    before = ""
    if past.origin:
        origin = origin_of(past.origin)
        if origin.earlier and (origin.channel, origin.thread) == (here.channel, here.thread):
            before = origin.message
    return Asked(row, past.text, past.options, past.files, response_url=response_url, before=before)


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
    earlier = earlier or asked.before != ""
    if asked.plain or earlier:
        options[FOLLOW_UP] = True
    private = bool(options.get("private")) or row.personal
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
        message=asked.before or here.message,
        response_url=asked.response_url,
        until=time.time() + RESPONSE_SECONDS if asked.response_url else 0.0,
        earlier=earlier,
        title=title(asked.text) or row.path,
        asked=asked.text if row.plain else f"/{row.path} {asked.text}".strip(),
    )
    return Request(
        run,
        place,
        Author(here.user, person.name, admin=person.admin),
        row.work,
        row.name,
        options,
        asked.text,
        () if row.bare else asked.files,
        person.locale,
        origin.kept(),
        answers=asked.answers,
    )
