"""`rules ask`: find passages by a strategy, then answer from them.

Knows no platform and no database: strategies find, `answering` answers, `Sessions` remembers.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from bot import tracing
from bot.events import Choice, Choices, Event, Notice, Run, Stage, Status, Text
from bot.retrieval.chunk import SEPARATOR
from bot.retrieval.found import Found, Passage
from bot.strategies.factory import strategy
from bot.words import words
from bot.works.rules.answering import Answer
from bot.works.rules.snapshot import Snapshot

if TYPE_CHECKING:
    from bot.llm.registry import Models
    from bot.works.rules.question_files import QuestionFiles
    from bot.works.rules.snapshot import Snapshots
    from storage.sessions import Sessions


class Asking:
    """Answers one question from one shelf, or from the texts that it brings along."""

    def __init__(
        self, files: QuestionFiles, models: Models, sessions: Sessions, snapshots: Snapshots
    ) -> None:
        self._files = files
        self._models = models
        self._sessions = sessions
        self._snapshots = snapshots

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request = run.request
        own = await self._files.of(run)
        snapshot = await run.step("snapshot", lambda: self._snapshots.take(request, own), Snapshot)
        tracing.note("strategy", snapshot.strategy)
        say = words(snapshot.language if snapshot.language in ("en", "pt") else request.locale)
        where = ", ".join(one for one in (*own.names, snapshot.shelf) if one)
        yield Stage("search", say("rules.searching", shelf=where))
        yield Status(say("rules.searching", shelf=where))
        for notice in own.notices(say):
            yield notice
        if snapshot.strategy != snapshot.wanted:
            yield Notice(say("strategies.needs_model", strategy=snapshot.wanted))
        found, said = None, set[Notice]()
        # Searches that follow one another read the same editions, whatever is replaced meanwhile.
        reads = snapshot.answerer is not None and snapshot.cites
        searched = own.searched(shelf=bool(snapshot.shelf), whole=reads)
        models = self._models.given(snapshot.roles)
        chosen = strategy(snapshot.strategy, searched, models)
        async with aclosing(chosen.search(run, snapshot.inquiry(request, say.locale))) as told:
            async for one in told:
                if isinstance(one, Found):
                    found = one
                elif one not in said:  # a helper that fails twice is told of once
                    yield one
                if isinstance(one, Notice):
                    said.add(one)
        assert found is not None, "a strategy ends with what it found"
        books = len({one.document for one in found.passages})
        outcome = say("rules.found", n=len(found.passages), books=books)
        yield Stage("search", outcome if found.confident else say("rules.found_none"))
        for key in found.notices:
            yield Notice(say(key))
        if not found.confident:
            yield Text(say("rules.nothing_in_file", files=where) if own else say("rules.nothing_found"))
            if found.nearest:
                yield Choices(
                    say("rules.nearest"),
                    tuple(Choice(name, f"/rules lookup {name}") for name in found.nearest),
                )
            return
        yield Text(_headings(found.passages))
        yield Stage("answer", say("rules.answer"))
        answer = Answer(run, snapshot, found, say, models)
        try:
            async with aclosing(answer.events()) as events:
                async for event in events:
                    yield event
        finally:
            # Also when stopped: what was shown is kept, and a follow-up can build on it.
            await self._remember(run, snapshot, answer, found)

    async def _remember(self, run: Run, snapshot: Snapshot, answer: Answer, found: Found) -> None:
        text = "".join(answer.shown)
        if snapshot.session is not None and text.strip():
            # The chunk is what `rules see n` opens.
            sources = [{"n": one.n, "chunk": found.passages[one.n - 1].chunk} for one in answer.cited]
            await self._sessions.add_exchange(
                run.request.place.space,
                snapshot.session,
                run.id,
                # As it reads now: whoever asked may have changed it while a crash had cut the run off.
                " ".join(run.request.text.split()) or snapshot.question,
                text,
                json.dumps(sources),
            )


def _headings(passages: list[Passage]) -> str:
    names = list(dict.fromkeys(one.heading.rsplit(SEPARATOR, 1)[-1] for one in passages))
    return ", ".join(names[:4]) + ("…" if len(names) > 4 else "")
