"""`privacy export|delete|policy`: everything that is stored about the person who asks, in that space.

The tables define what that is (`storage.ownership`). Knows no platform except the terminal, which has a file of its
own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from bot.events import Attachment, Author, Choice, Choices, Event, Place, Request, Stage, Status, Text
from bot.runs.engine import KEEP_DAYS
from bot.runs.requests import readable, request_to_json
from bot.words import Words, words
from bot.work import Run
from bot.works.privacy import policy

if TYPE_CHECKING:
    from bot.kind import Runs
    from bot.resources import Resources
    from storage.people import Rows

FILE: Final = "sutradhar-my-data.json"
COUNTED: Final = (
    "sessions",
    "inbox",
    "exchanges",
    "councils",
    "scripts",
    "schedules",
    "settings",
    "feedback",
)
"""Tables whose rows are counted in messages: people know these."""
SECRET: Final = "origin"
"""The column of a request that says where its answer goes, with a token that allows writing there."""
WITH_FILES: Final = "terminal"
"""The platform that stores typed lines and exported files in files."""


@dataclass(frozen=True, slots=True)
class DeletionPlan:
    """What is deleted: rows by table, the person's runs, and steps of others' runs with their words (`beside`)."""

    counts: dict[str, int]
    runs: list[str]
    beside: list[str]


class Privacy:
    """The verbs "export" and "delete", only for the asking person's data in their space; and "policy"."""

    def __init__(self, resources: Resources, runs: Runs) -> None:
        self._resources = resources
        self._people = resources.people
        self._runs = runs

    def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verbs = {"export": self._export, "delete": self._delete, "policy": self._policy}
        return verbs[run.request.verb](run)

    async def _export(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        # Not a step, which would be one more copy of all the data.
        rows_by_name = await self._people.rows_about(request.place.space, request.author.id, run.id)
        about = {
            "person": request.author.id,
            "name": request.author.name,
            "space": request.place.space,
            "platform": request.place.platform,
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "note": say("privacy.note", days=KEEP_DAYS),
        }
        data = await asyncio.to_thread(_file, about, rows_by_name)  # it may have megabytes
        yield Stage("privacy", say("privacy.export"))
        counts = {name: len(rows_by_name[name]) for name in COUNTED}
        yield Text(f"{say('privacy.exported', file=FILE)}\n\n{_counted(counts, say)}")
        yield Attachment(FILE, "application/json", data)

    async def _policy(self, run: Run) -> AsyncGenerator[Event, None]:
        place, say = run.request.place, words(run.request.locale)
        known = await run.step(
            "facts", lambda: policy.facts(self._resources, place.space, place.platform), policy.Facts
        )
        text = policy.page(known, say)
        yield Stage("privacy", say("policy.title"))
        words_below = text.partition("\n")[2].strip()  # the stage has the page's title
        yield Text(f"{words_below}\n\n---\n\n{say('policy.file', file=policy.FILE)}")
        yield Attachment(policy.FILE, "text/markdown", f"{text}\n".encode())

    async def _delete(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        space, person = request.place.space, request.author.id

        # Neither step stores a word, since steps outlive what they delete.
        async def plan() -> DeletionPlan:
            return DeletionPlan(
                await self._people.count(space, person, run.id),
                list(await self._people.runs(space, person, run.id)),
                list(await self._people.shared_with(space, person, run.id)),
            )

        about = await run.step("found", plan, DeletionPlan)
        yield Stage("privacy", say("privacy.delete"))
        if not any(about.counts.values()):
            yield Text(say("privacy.nothing"))
            return
        if not request.options.get("yes"):
            yield Text(
                f"{say('privacy.would')}\n\n{_counted(about.counts, say)}\n\n{_remaining(request, say)}"
            )
            go, keep = say("privacy.go"), say("privacy.keep")
            yield Choices(say("privacy.sure"), (Choice(go, "/privacy delete --yes"), Choice(keep, "")))
            return
        yield Status(say("privacy.deleting"))

        async def delete() -> bool:
            # Runs are stopped first, since they would store more.
            await self._runs.forget(space, *about.runs)
            await self._people.delete(space, person, run.id, without_words)
            await self._resources.caches.drop(space)
            await self._runs.forget_steps(space, *about.beside)
            return True

        await run.step("delete", delete, bool)
        yield Text(f"{say('privacy.deleted')}\n\n{_counted(about.counts, say)}\n\n{_remaining(request, say)}")


def without_words(payload: str) -> str:
    """A stored request with only its id, platform, space and verb, so that a second delivery still has no effect."""
    original = readable(payload) or Request("", Place("", "", "", ""), Author("", ""), "", "")
    place = Place(original.place.platform, original.place.space, "", "")
    return request_to_json(
        Request(original.id, place, Author("", ""), original.work, original.verb, locale=original.locale)
    )


def _file(about: dict[str, str], rows_by_name: Rows) -> bytes:
    tree = {
        "about": about,
        **{name: [_row(row) for row in rows] for name, rows in rows_by_name.items() if rows},
    }
    return json.dumps(tree, ensure_ascii=False, indent=2, default=_json_text).encode(errors="replace")


def _counted(counts: dict[str, int], say: Words) -> str:
    lines = [say(f"privacy.n_{name}", n=counts[name]) for name in COUNTED if counts.get(name)]
    return "\n".join(f"- {line}" for line in lines)


def _remaining(request: Request, say: Words) -> str:
    files = [say("privacy.stays_terminal")] if request.place.platform == WITH_FILES else []
    return " ".join([say("privacy.stays"), *files])


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """A row for people: its JSON columns parsed, without secrets and without empty columns."""
    cells = {
        name: _parsed(value) for name, value in row.items() if name != "space" and value not in (None, "")
    }
    for value in cells.values():
        if isinstance(value, dict):
            value.pop(SECRET, None)
    return cells


def _parsed(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _json_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
