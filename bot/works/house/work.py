"""The verbs that control the conversation itself: help, stop and new, a tour, usage, and models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bot.accounts import Accounts, Breakdown
from bot.events import Attachment, Choice, Choices, Event, Notice, Picture, Place, Stage, Text
from bot.manual import help_text
from bot.words import words
from bot.work import Run
from bot.works.house.bars import Bars, bars_of, mark
from bot.works.house.chart import draw

if TYPE_CHECKING:
    from bot.works.house.models import ModelChoice
    from storage.sessions import Sessions

TOUR = ("tour.books", "tour.story", "tour.course", "tour.council", "tour.yours")
"""The steps of /tour, as keys of the catalogue."""


@dataclass(frozen=True, slots=True)
class ConversationWork:
    """The work. `_stop` stops a person's runs in a place, and returns their number."""

    _sessions: Sessions
    _stop: Callable[[Place, str], Awaitable[int]]
    _accounts: Accounts
    _models: ModelChoice

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request = run.request
        say = words(request.locale)
        place = request.place
        match request.verb:
            case "help":
                yield Stage("help", say("desk.help"))
                yield Text(help_text(say, request.text))
            case "stop":
                stopped = await run.step("stop", lambda: self._stop(place, request.author.id), int)
                yield Stage("stop", "")
                yield Text(say("desk.stopped", n=stopped) if stopped else say("desk.nothing_to_stop"))
            case "usage":
                yield Stage("usage", say("usage.title"))
                if request.options.get("by") or request.options.get("csv"):
                    split = await run.step("by", lambda: self._accounts.breakdown(request), Breakdown)
                    yield Text(split.table or say("usage.file"))
                    if split.csv:
                        yield Attachment("usage.csv", "text/csv", split.csv.encode())
                else:
                    yield Text(await run.step("usage", lambda: self._accounts.answer(request), str))
                if not request.options.get("picture"):
                    return
                bars = await run.step("bars", lambda: bars_of(self._accounts, request), Bars)
                if not bars.names:
                    yield Notice(say("usage.no_chart"))
                else:
                    marked = partial(mark, say=say, usd=bars.usd)
                    yield Picture("usage.png", await asyncio.to_thread(draw, bars, marked), bars.alt)
            case "tour":
                step = min(int(request.text), len(TOUR)) if request.text.isdecimal() else 1
                step = max(step, 1)
                yield Stage("tour", say("tour.title", step=step, steps=len(TOUR)))
                yield Text(say(TOUR[step - 1]))
                if step < len(TOUR):
                    yield Choices("", (Choice(say("tour.next"), f"/tour {step + 1}"),))
            case "models":
                text = await run.step("models", lambda: self._models.answer(run), str)
                yield Stage("models", say("models_chat.title"))
                yield Text(text)
            case _:

                async def close() -> str:
                    """The work of the session that is closed, "" for none."""
                    session = await self._sessions.active(*place.key)
                    await self._sessions.close(*place.key)
                    return session.work if session is not None else ""

                work = await run.step("close", close, object)  # an earlier release stored True or False
                yield Stage("new", "")
                yield Text(say("desk.new_story" if work == "story" else "desk.new"))
