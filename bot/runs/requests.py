"""Requests as JSON and as rows of the inbox, their ids, and the line that each waits in."""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256

from bot import commands
from bot.events import Author, Ended, File, Place, Request
from storage.inbox import NewRequest

WATCH = "watch"
"""The platform of the requests of watched folders, which no person makes."""

PLAYED = "played"
"""The key of the request that plays what another one was about, as if its author had typed it."""

ONLY = "only"
"""Their option that names the files of the folder which are due."""


def event_id(platform: str, space: str, event: str) -> str:
    """The id of the request of a platform's event: the same for each delivery."""
    return sha256("\0".join((platform, space, event)).encode(errors="surrogatepass")).hexdigest()[:32]


def child_id(parent: Request, key: str) -> str:
    """The id of the run that `parent` begins under this key."""
    return event_id(parent.place.platform, parent.place.space, f"{parent.id}/{key}")


def request_to_json(request: Request) -> str:
    return json.dumps(asdict(request), ensure_ascii=False, separators=(",", ":"))


def request_from_json(text: str) -> Request:
    """The request that `request_to_json` wrote. Raises KeyError or TypeError for anything else."""
    tree = json.loads(text)
    tree["place"] = Place(**tree["place"])
    tree["author"] = Author(**tree["author"])
    tree["files"] = tuple(File(**file) for file in tree["files"])
    return Request(**tree)


def ordered(request: Request) -> bool:
    """Whether the run waits for others that came before it."""
    verb = commands.verb(request.work, request.verb)
    if request.parent and not verb.ordered:
        return request.line != ""
    return verb.ordered or verb.background


def line_of(request: Request) -> Hashable:
    """The line that a run waits in: library jobs one per shelf, everything else one per place, or a line of its own."""
    if request.line:
        return "line", request.place.space, request.line
    if commands.verb(request.work, request.verb).background:
        return "shelf", request.place.space, str(request.options.get("shelf") or "").strip()
    return request.place


def row_of(request: Request) -> NewRequest:
    """The inbox's row of a request."""
    place = request.place
    return NewRequest(
        id=request.id,
        platform=place.platform,
        space=place.space,
        channel=place.channel,
        thread=place.thread,
        author_id=request.author.id,
        work=request.work,
        verb=request.verb,
        ordered=ordered(request),
        payload=request_to_json(request),
        parent=request.parent,
        created_at=datetime.now(UTC),
    )


def ended_as(state: str) -> Ended:
    """The end that an inbox row's state stands for."""
    return "done" if state in ("done", "answered") else "stopped" if state == "stopped" else "failed"
