"""`rules ask`: find passages, then let a model answer from them, or quote them where there is none.

Knows no platform and no database; `Library` finds, `Models` answers, `Sessions` remembers.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.commands import FOLLOW_UP
from bot.events import (
    Choice,
    Choices,
    Citation,
    Completion,
    Event,
    Notice,
    Request,
    Run,
    Sorry,
    Stage,
    Status,
    Text,
)
from bot.llm.base import Message, Prompt
from bot.retrieval.chunk import SEPARATOR
from bot.retrieval.content import content_terms
from bot.retrieval.found import Found, Passage
from bot.retrieval.language import detect_question
from bot.retrieval.library import Library
from bot.words import Words, words
from bot.works.citing import CitationGate
from bot.works.quoting import excerpt, quoted

if TYPE_CHECKING:
    from bot.llm.registry import Models
    from bot.prompts import Prompts
    from storage.sessions import Sessions

HISTORY = 2
"""How many exchanges of the thread a follow-up is read with (seed 003's default)."""

SHORT = 3
"""A follow-up of fewer content words is searched together with the question before it."""

QUOTED = 3
"""How many passages an answer without a model quotes."""

NEAR = 0.6
"""… those of at least this share of the best one's score."""

QUESTION_CHARS = 4_000
"""Longer questions are refused: a question that long is a document, and belongs in the library."""

LANGUAGES = {
    "en": "English",
    "pt": "Brazilian Portuguese",
    "es": "Spanish",
    "fr": "French",
    "de": "German",
    "it": "Italian",
}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the run decides once, so that a replay decides the same."""

    shelf: str
    language: str
    question: str
    session: str | None
    answerer: str | None
    system: str = ""
    user: str = ""
    history: list[tuple[str, str]] = field(default_factory=list)


class Asking:
    """Answers one question from one shelf."""

    def __init__(self, library: Library, models: Models, prompts: Prompts, sessions: Sessions) -> None:
        self._library = library
        self._models = models
        self._prompts = prompts
        self._sessions = sessions

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request = run.request
        snapshot = await run.step("snapshot", lambda: self._snapshot(request), Snapshot)
        say = words(snapshot.language if snapshot.language in ("en", "pt") else request.locale)
        yield Stage("search", say("rules.searching", shelf=snapshot.shelf))
        yield Status(say("rules.searching", shelf=snapshot.shelf))
        found = await run.step("search", lambda: self._search(request, snapshot), Found)
        for notice in found.notices:
            yield Notice(say(notice))
        if not found.confident:
            yield Text(say("rules.nothing_found"))
            if found.nearest:
                yield Choices(
                    say("rules.nearest"),
                    tuple(Choice(name, f"/rules lookup {name}") for name in found.nearest),
                )
            return
        yield Text(say("rules.found", n=len(found.passages), headings=_headings(found.passages)))
        yield Stage("answer", say("rules.answer"))
        async with aclosing(self._answer(run, snapshot, found, say)) as events:
            async for event in events:
                yield event

    async def _snapshot(self, request: Request) -> Snapshot:
        question = " ".join((str(request.options.get("question") or "") or request.text).split())
        if not question:
            raise Sorry("rules.no_question")
        if len(question) > QUESTION_CHARS:
            raise Sorry("rules.long_question", length=len(question), limit=QUESTION_CHARS)
        place = request.place
        shelf = await self._library.shelf_for(place.space, _option(request, "shelf"), "rules")
        session = await self._sessions.active(place.space, place.platform, place.channel, place.thread)
        if session is None:
            session = await self._sessions.open(
                place.space, place.platform, place.channel, place.thread, "rules"
            )
        mine = session if session.work == "rules" else None  # another work's thread: a one-shot
        follows = mine is not None and bool(request.options.get(FOLLOW_UP))
        past = await self._sessions.last_exchanges(place.space, mine.id, HISTORY) if mine and follows else []
        prompt = self._prompts.get("rag")
        shelf_languages = await self._library.languages(place.space, shelf)
        language = await asyncio.to_thread(detect_question, question, shelf_languages)
        return Snapshot(
            shelf=shelf,
            language=language or request.locale.split("-")[0],
            question=question,
            session=mine.id if mine else None,
            answerer=self._models.describe("answerer"),
            system=prompt.system,
            user=prompt.user,
            history=[(one.question, one.answer) for one in past],
        )

    async def _search(self, request: Request, snapshot: Snapshot) -> Found:
        k = request.options.get("k")

        async def search(question: str) -> Found:
            return await self._library.search(
                request.place.space, snapshot.shelf, question, k=k if isinstance(k, int) else None
            )

        alone = await search(snapshot.question)
        short = len(set(content_terms(snapshot.question, snapshot.language))) < SHORT
        if not snapshot.history or alone.titled or not short:
            return alone
        # "and at night?" says too little alone, so it is read with the question before it.
        together = await search(f"{snapshot.history[-1][0]} {snapshot.question}")
        return together if together.confident else alone

    async def _answer(
        self, run: Run, snapshot: Snapshot, found: Found, say: Words
    ) -> AsyncGenerator[Event, None]:
        shown: list[str] = []
        cited: list[Citation] = []
        answered = False

        def terms(text: str) -> list[str]:
            return content_terms(text, snapshot.language)

        try:
            if snapshot.answerer is not None:
                gate = CitationGate([one.text for one in found.passages], terms)
                async with aclosing(self._by_model(run, snapshot, found, gate, say)) as events:
                    async for event in events:
                        if isinstance(event, Text):
                            shown.append(event.text)
                        yield event
                answered = bool("".join(shown).strip())
                cited = [
                    _citation(n, found.passages[n - 1], quote) for n, quote in sorted(gate.quotes.items())
                ]
                if answered and not cited:
                    yield Notice(say("rules.uncited"))
            if not cited:
                yield Notice(
                    say("rules.extractive" if snapshot.answerer is None else "rules.extractive_instead")
                )
                wanted = set(terms(snapshot.question))
                for n, passage in enumerate(_near_the_best(found.passages), 1):
                    part = excerpt(passage.text, wanted, snapshot.language)
                    text = quoted(n, passage, part)
                    shown.append(text)
                    cited.append(_citation(n, passage, part))
                    yield Text(text)
            for citation in cited:
                yield citation
            titles = {one.heading.rsplit(SEPARATOR, 1)[-1] for one in cited}
            if see := [name for name in found.see_also if name not in titles]:
                yield Choices(
                    say("rules.see_also"), tuple(Choice(name, f"/rules lookup {name}") for name in see)
                )
        finally:
            # Also when stopped: what was shown is kept, and a follow-up can build on it.
            await self._remember(run, snapshot, "".join(shown), found, cited)

    async def _by_model(
        self, run: Run, snapshot: Snapshot, found: Found, gate: CitationGate, say: Words
    ) -> AsyncGenerator[Event, None]:
        prompt = _prompt(snapshot, found.passages)
        yield Status(say("rules.asking", model=snapshot.answerer))
        try:
            async with aclosing(self._models.stream(run, "answerer", "answer", prompt)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Completion):
                        if piece.finish in ("length", "refusal", "cut"):
                            yield Text(gate.finish())
                            yield Notice(say(f"rules.finish_{piece.finish}"))
                    elif text := gate.feed(piece):
                        yield Text(text)
            if rest := gate.finish():
                yield Text(rest)
        except Sorry as error:
            # A failing model degrades to quotations, with a word.
            if rest := gate.finish():
                yield Text(rest)
            yield Notice(say(error.key, **error.values))

    async def _remember(
        self, run: Run, snapshot: Snapshot, answer: str, found: Found, cited: list[Citation]
    ) -> None:
        if snapshot.session is not None and answer.strip():
            # The chunk is what `rules see n` opens.
            sources = json.dumps([{"n": one.n, "chunk": found.passages[one.n - 1].chunk} for one in cited])
            await self._sessions.add_exchange(
                run.request.place.space, snapshot.session, run.id, snapshot.question, answer, sources
            )


def _prompt(snapshot: Snapshot, passages: list[Passage]) -> Prompt:
    from bot.prompts import PromptText

    system, user = PromptText("rag", snapshot.system, snapshot.user, "").fill(
        language=LANGUAGES.get(snapshot.language, "the language of the question"),
        passages="\n".join(_fenced(n, one) for n, one in enumerate(passages, 1)),
        history="\n".join(
            f"<earlier>\n<question>{_data(q)}</question>\n<answer>{_data(a[:1_500])}</answer>\n</earlier>"
            for q, a in snapshot.history
        ),
        question=_data(snapshot.question),
    )
    return Prompt(system=system, messages=(Message("user", user),))


def _fenced(n: int, passage: Passage) -> str:
    where = _data(f"{passage.title} › {passage.heading}").replace('"', "”")
    return f'<passage n="{n}" from="{where}">\n{_data(passage.text)}\n</passage>'


def _data(text: str) -> str:
    """Text that cannot close the fence it stands in."""
    return re.sub(
        r"<(?=\s*/?\s*(?:passage|passages|question|earlier|answer)\b)", "‹", text, flags=re.IGNORECASE
    )


def _near_the_best(passages: list[Passage]) -> list[Passage]:
    """The passages worth quoting: the best, and what comes near it."""
    least = NEAR * passages[0].score
    return [one for one in passages[:QUOTED] if one.score >= least]


def _citation(n: int, passage: Passage, quote: str) -> Citation:
    return Citation(n=n, source=passage.source, heading=passage.heading, quote=quote, page=passage.page)


def _headings(passages: list[Passage]) -> str:
    names = list(dict.fromkeys(one.heading.rsplit(SEPARATOR, 1)[-1] for one in passages))
    return ", ".join(names[:4]) + ("…" if len(names) > 4 else "")


def _option(request: Request, name: str) -> str | None:
    value = request.options.get(name)
    return str(value) if value else None
