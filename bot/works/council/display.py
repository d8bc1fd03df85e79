"""`council show` and `council export`: shows a past council to those who may see it.

The person who asked may see it anywhere in its space, others only in the place where it was asked; a private council
has a place of its own. Also has the completions for verbs of the council.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import TYPE_CHECKING

from bot.events import Attachment, Event, Link, Request, Stage, Text, UserError
from bot.words import Words, name_in, named, words
from bot.work import Run
from bot.works.council import markdown, page

if TYPE_CHECKING:
    from storage.councils import Council, Councils
    from storage.sessions import Sessions

PARTS = ("answers", "ballots", "key", "research")
"""The parts of a council that `show` accepts."""

SEAT_PARTS = ("answers", "ballots")
"""The parts that `show` also accepts for one seat: "answers 2"."""

ALL = "all"
"""The completion that asks for every category of research."""


class Display:
    """The verbs "show" and "export", which read only stored councils."""

    def __init__(
        self, councils: Councils, sessions: Sessions, zone: Callable[[Request], Awaitable[tzinfo]]
    ) -> None:
        self._councils = councils
        self._sessions = sessions
        self._zone = zone

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        """Show a stored council. Raises UserError if there is none, or none that this person may see here."""
        request, say = run.request, words(run.request.locale)
        part, seat = ("export", None) if request.verb == "export" else _part_and_seat(request.text)
        # The choice comes first and is stored: after a crash another council may be the newest. The council's words are
        # stored in one place only, so that withdrawing them leaves nothing.
        run_id = await run.step("council", lambda: self._find_run(request), str)
        council = await self._councils.get(request.place.space, run_id)
        if council is None:
            raise UserError("council_show.gone")
        began = council.row.created_at.astimezone(await self._zone(request))
        council = replace(council, row=replace(council.row, created_at=began))
        title = markdown.title(council)
        as_page = request.options.get("as") == "html"
        # The page may have megabytes: eight members with all their reasoning.
        if as_page:
            page_title = await self._sessions.title(request.place.space, run_id) or title
            text = await asyncio.to_thread(page.whole, council, page_title, say)
        else:
            text = await asyncio.to_thread(_text, council, part, seat, say)
        yield Stage("council", f"{say(f'council_show.{part}')} · {title}")
        yield Link(run_id, say("council_show.link", run=council.row.alias))
        if part == "export":
            yield Text(say("council_show.exported", title=title))
            ending, media_type = ("html", "text/html") if as_page else ("md", "text/markdown")
            yield Attachment(f"council-{council.row.alias}.{ending}", media_type, text.encode())
        else:
            yield Text(text)

    async def _find_run(self, request: Request) -> str:
        """The run id of the requested council. Raises UserError."""
        place = request.place
        alias = str(request.options.get("run") or "").strip()
        if not alias:
            last = await self._councils.last(*place.key)
            if last is None:
                raise UserError("council_show.none_here")
            return last
        run_ids = await self._councils.named(place.space, alias)
        councils = [await self._councils.get(place.space, run_id) for run_id in run_ids]
        visible = [council for council in councils if council is not None and may_see(request, council)]
        # Of several with the same ending, prefer the one from this place.
        visible = [council for council in visible if _is_here(request, council)] or visible
        if not visible:
            raise UserError("council_show.unknown", run=alias[:40])
        if len(visible) > 1:
            runs = ", ".join(council.row.run_id for council in visible[:5])
            raise UserError("council_show.which", run=alias[:40], runs=runs)
        return visible[0].row.run_id


def may_see(request: Request, council: Council) -> bool:
    """Whether this person may see the council in this place."""
    row, place = council.row, request.place
    is_author = (row.platform, row.author_id) == (place.platform, request.author.id)
    return row.space == place.space and (is_author or _is_here(request, council))


def _is_here(request: Request, council: Council) -> bool:
    row, place = council.row, request.place
    return (row.platform, row.channel, row.thread) == (place.platform, place.channel, place.thread)


def _part_and_seat(text: str) -> tuple[str, int | None]:
    """The part to show, and its seat (from 0). Raises UserError."""
    typed, _, number = " ".join(text.split()).casefold().partition(" ")
    part = named(PARTS, "what", typed)
    if part is None or (number and part not in SEAT_PARTS):
        raise UserError("council_show.what", what=" ".join(text.split())[:40], known=_part_names)
    if not number:
        return part, None
    if not (number.isascii() and number.isdigit() and len(number) < 4 and int(number)):
        raise UserError("council_show.what", what=f"{typed} {number}"[:40], known=_part_names)
    return part, int(number) - 1


def _part_names(say: Words) -> str:
    return ", ".join(name_in(say, part, "what") for part in PARTS)


def _text(council: Council, part: str, seat: int | None, say: Words) -> str:
    if seat is not None and seat not in {seat_row.seat for seat_row in council.seats}:
        raise UserError("council_show.no_seat", n=seat + 1, most=len(council.seats))
    match part:
        case "answers":
            return markdown.answers(council, say, seat)
        case "ballots":
            return markdown.ballots(council, say, seat)
        case "key":
            return markdown.key(council, say)
        case "research":
            return markdown.research(council, say)
        case _:
            return markdown.whole(council, say)


def research(categories: Sequence[str], typed: str) -> list[str]:
    """Completions of the last category in a typed list, without those named before it."""
    before, comma, last = typed.rpartition(",")
    named = [name.strip() for name in before.split(",")]
    offered = categories if comma else [ALL, *categories]
    prefix = last.strip().lower()
    return [f"{before}{comma}{name}" for name in offered if name.startswith(prefix) and name not in named]


def what_to_show(seats: int, typed: str) -> list[str]:
    """Completions for `council show`: the parts of everybody, then those of each of `seats` members, counted from 1."""
    numbered = [f"{part} {seat}" for part in SEAT_PARTS for seat in range(1, seats + 1)]
    return [part for part in (*PARTS, *numbered) if part.startswith(typed.lstrip().lower())]
