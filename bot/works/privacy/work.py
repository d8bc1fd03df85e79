"""`privacy export|delete`: all that is kept about whoever asks, in the space where they ask.

What that is, the tables say themselves (`storage.ownership`). Knows no platform but the terminal, which has a file of
its own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from bot.events import Attachment, Author, Choice, Choices, Event, Place, Request, Run, Stage, Status, Text
from bot.runs.engine import KEEP_DAYS
from bot.runs.requests import request_from_json, request_to_json
from bot.words import Words, words

if TYPE_CHECKING:
    from bot.kind import Runs
    from bot.settings import Settings
    from storage.people import People, Rows

FILE: Final = "sutradhar-my-data.json"
TOLD: Final = ("sessions", "inbox", "exchanges", "councils", "scripts", "settings", "feedback")
"""The tables whose rows a person knows of."""
SECRET: Final = "origin"
"""Of a request: where its answer goes, with what lets one write there."""
WITH_FILES: Final = "terminal"
"""The platform that keeps what was typed at its prompt, and the files that were handed out, in files."""


@dataclass(frozen=True, slots=True)
class Found:
    """What will go: how many rows of each table, the person's runs, and those of others that may hold their words."""

    counts: dict[str, int]
    runs: list[str]
    beside: list[str]


class Privacy:
    """Looks only at the asking person, in their own space."""

    def __init__(self, people: People, settings: Settings, runs: Runs) -> None:
        self._people = people
        self._settings = settings
        self._runs = runs

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verbs = {"export": self._export, "delete": self._delete}
        async with aclosing(verbs[run.request.verb](run)) as events:
            async for event in events:
                yield event

    async def _export(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        # No step: it would be one more copy of all that there is.
        kept = await self._people.rows_about(request.place.space, request.author.id, run.id)
        about = {
            "person": request.author.id,
            "name": request.author.name,
            "space": request.place.space,
            "platform": request.place.platform,
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "note": say("privacy.note", days=KEEP_DAYS),
        }
        data = await asyncio.to_thread(_file, about, kept)  # megabytes at the worst
        yield Stage("privacy", say("privacy.export"))
        counts = {name: len(kept[name]) for name in TOLD}
        yield Text(f"{say('privacy.exported', file=FILE)}\n\n{_counted(counts, say)}")
        yield Attachment(FILE, "application/json", data)

    async def _delete(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        space, person = request.place.space, request.author.id

        # Neither step keeps a word: they outlive what they delete.
        async def found() -> Found:
            return Found(
                await self._people.count(space, person, run.id),
                list(await self._people.runs(space, person, run.id)),
                list(await self._people.shared_with(space, person, run.id)),
            )

        mine = await run.step("found", found, Found)
        yield Stage("privacy", say("privacy.delete"))
        if not any(mine.counts.values()):
            yield Text(say("privacy.nothing"))
            return
        if not request.options.get("yes"):
            yield Text(f"{say('privacy.would')}\n\n{_counted(mine.counts, say)}\n\n{_stays(request, say)}")
            go, keep = say("privacy.go"), say("privacy.keep")
            yield Choices(say("privacy.sure"), (Choice(go, "/privacy delete --yes"), Choice(keep, "")))
            return
        yield Status(say("privacy.deleting"))

        async def delete() -> bool:
            # What still runs is stopped first: it would write down more.
            await self._runs.forget(space, *mine.runs)
            await self._people.delete(space, person, run.id, without_words)
            self._settings.changed(space)
            await self._runs.forget_steps(space, *mine.beside)
            return True

        await run.step("delete", delete, bool)
        yield Text(f"{say('privacy.deleted')}\n\n{_counted(mine.counts, say)}\n\n{_stays(request, say)}")


def without_words(payload: str) -> str:
    """A request as it stays for its id alone: without its words, its person and its place."""
    try:
        was = request_from_json(payload)
    except (KeyError, TypeError, ValueError):  # of an earlier release
        was = Request("", Place("", "", "", ""), Author("", ""), "", "")
    place = Place(was.place.platform, was.place.space, "", "")
    return request_to_json(Request(was.id, place, Author("", ""), was.work, was.verb, locale=was.locale))


def _file(about: dict[str, str], kept: Rows) -> bytes:
    tree = {"about": about, **{name: [_row(one) for one in rows] for name, rows in kept.items() if rows}}
    return json.dumps(tree, ensure_ascii=False, indent=2, default=_plain).encode(errors="replace")


def _counted(counts: dict[str, int], say: Words) -> str:
    told = [say(f"privacy.n_{name}", n=counts[name]) for name in TOLD if counts.get(name)]
    return "\n".join(f"- {one}" for one in told)


def _stays(request: Request, say: Words) -> str:
    files = [say("privacy.stays_terminal")] if request.place.platform == WITH_FILES else []
    return " ".join([say("privacy.stays"), *files])


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """A row for people to read: JSON inside of it as what it says, without secrets and without what is empty."""
    told = {name: _read(value) for name, value in row.items() if name != "space" and value not in (None, "")}
    for value in told.values():
        if isinstance(value, dict):
            value.pop(SECRET, None)
    return told


def _read(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
