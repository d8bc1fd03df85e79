"""The verbs of the work "rules". A question finds passages by a strategy, then is answered from them (`answer`).

Knows no platform and no database.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from itertools import filterfalse
from operator import attrgetter
from typing import TYPE_CHECKING

from bot import tracing
from bot.conversation import read_along
from bot.events import Citation, Event, Notice, Request, Stage, Status, Text, UserError
from bot.readers.lines import flowing
from bot.retrieval.library import Library
from bot.retrieval.results import Book, SearchResult, SectionText, unread_of
from bot.strategies import SINGLE
from bot.strategies.base import Searchable
from bot.strategies.rewrite import Rewriting
from bot.words import Words, words
from bot.work import Run
from bot.works.library.unread import unread_notices
from bot.works.rules.answer import Answer, lookup_buttons, unseen_notice
from bot.works.rules.house_rules import CHUNK
from bot.works.rules.question_files import (
    AttachedTexts,
    Pictures,
    Search,
    files_of,
    is_picture,
    picture_names,
)
from bot.works.rules.snapshot import Snapshot

if TYPE_CHECKING:
    from bot.conversation import Conversations
    from bot.llm.registry import Models
    from bot.works.rules.house_imports import HouseImports
    from bot.works.rules.house_rules import HouseRules, HouseRulesVerb
    from bot.works.rules.question_files import QuestionFiles
    from bot.works.rules.snapshot import Snapshots
    from storage.sessions import Sessions

_ADVANTAGE = re.compile(
    r"(?P<before>(?:(?!d20).){0,40}?)\b1?d20\b(?P<after>(?:(?!d20).){0,40}?)\s+"
    r"(?:(?P<higher>adv(?:antage)?|vant(?:agem)?)|dis(?:adv(?:antage)?)?|desv(?:antagem)?)\s*",
    re.IGNORECASE,
)
"""A d20 with advantage or disadvantage, as people write it."""
ROLL_CHARS = 200
"""The maximum length of a dice expression; longer ones are refused before they are parsed."""

SECTION_CHARS = 6_000
"""The maximum length of a section that a look-up shows; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The work. `_why_none` returns the key of the sentence for a space without books."""

    _asking: Asking
    _library: Library
    _sessions: Sessions
    _why_none: Callable[[Request], Awaitable[str]]
    _house: HouseRulesVerb
    _imports: HouseImports

    def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verbs = {
            "ask": self._asking.run,
            "lookup": self._lookup,
            "roll": self._roll,
            "books": self._books,
            "see": self._see,
            "house": self._house.run,
            "adopt": self._imports.adopt,
        }
        return verbs[run.request.verb](run)

    async def _lookup(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        shelf = request.options.get("shelf")
        sections = await run.step(
            "lookup",
            lambda: self._library.sections_named(
                request.place.space, str(shelf) if shelf else None, request.text
            ),
            list[SectionText],
        )
        if not sections:
            nearest = await run.step(
                "nearest",
                lambda: self._nearest_headings(
                    request.place.space, request.text, str(shelf) if shelf else None
                ),
                list[str],
            )
            yield Stage("lookup", say("rules.lookup"))
            yield Text(say("rules.no_section", name=request.text))
            if nearest:
                yield lookup_buttons(say("rules.nearest"), nearest[:5])
            return
        for n, section in enumerate(sections[:3], 1):
            yield Stage(f"section-{n}", f"{section.heading} · {section.source}")
            text = flowing(section.text)
            yield Text(_shortened(text, say))
            yield Citation(n, section.source, section.heading, text[:300].strip(), section.page)
        related = [
            *(section.heading for section in sections[3:]),
            *(name for section in sections[:3] for name in section.see_also),
        ]
        if related:
            yield lookup_buttons(say("rules.see_also"), dict.fromkeys(related[:8]))

    async def _nearest_headings(self, space: str, name: str, shelf: str | None) -> list[str]:
        """Headings with a word that begins with the name, or else with as much of its first word as any has."""
        word = (name.split() or [""])[0]
        for prefix in (name, *(word[:length] for length in range(len(word), 2, -1))):
            if headings := await self._library.complete(space, "section", prefix, shelf):
                return headings
        return []

    async def _roll(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)

        async def roll_once() -> str:
            return roll(request.text)

        yield Stage("roll", say("rules.rolled", who=request.author.name))
        yield Text(await run.step("roll", roll_once, str))

    async def _books(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        shelf = request.options.get("shelf")
        books = await run.step(
            "books",
            lambda: self._library.books(request.place.space, str(shelf) if shelf else None),
            list[Book],
        )
        yield Stage("books", say("rules.books", n=len(books)))
        yield Text(book_table(books, say) if books else say(await self._why_none(request)))

    async def _see(self, run: Run) -> AsyncGenerator[Event, None]:
        """Open a source: a number means [n] of the last answer here, a name means that section."""
        request = run.request
        ref = request.text.strip().strip("[]")
        if not ref.isdecimal():
            async with aclosing(self._lookup(run)) as events:
                async for event in events:
                    yield event
            return
        say = words(request.locale)
        section = await run.step("see", lambda: self._cited_section(run, int(ref)), SectionText)
        yield Stage("see", f"[{ref}] {section.heading} · {section.source}")
        text = flowing(section.text)
        yield Text(_shortened(text, say))
        yield Citation(int(ref), section.source, section.heading, text[:300].strip(), section.page)
        if section.see_also:
            yield lookup_buttons(say("rules.see_also"), section.see_also)

    async def _cited_section(self, run: Run, n: int) -> SectionText:
        """The section or house rule behind [n] of the last answer here. Raises UserError."""
        place = run.request.place
        session = await self._sessions.active(*place.key)
        past = await self._sessions.last_exchanges(place.space, session.id, 1) if session else []
        for citation in json.loads(past[0].citations) if past else []:
            if citation["n"] == n and str(citation["chunk"]).startswith(CHUNK):
                return await self._house.section(place.space, str(citation["chunk"]), run.request.locale)
            if citation["n"] == n:
                section = await self._library.section_of(place.space, citation["chunk"])
                if section is None:
                    raise UserError("rules.source_gone", n=n)
                return section
        raise UserError("rules.no_such_source", n=n)


def roll(expression: str) -> str:
    """Roll dice in the grammar of `d20`, or as "d20+5 adv"; returns Markdown with the total last. Raises UserError."""
    if len(expression) > ROLL_CHARS:
        raise UserError("rules.bad_dice", expression=expression[:40] + "…")
    import d20

    dice = expression
    if advantage := _ADVANTAGE.fullmatch(expression):
        dice = f"{advantage['before']}2d20k{'h' if advantage['higher'] else 'l'}1{advantage['after']}"
    try:
        return str(d20.roll(dice).result)
    except d20.TooManyRolls as error:
        raise UserError("rules.too_many_dice") from error
    except (d20.RollError, ZeroDivisionError, OverflowError, RecursionError) as error:
        raise UserError("rules.bad_dice", expression=expression) from error


def book_table(books: list[Book], say: Words) -> str:
    """A Markdown table of books."""
    lines = [say("rules.books_header"), "|---|---|---|---|---:|---|"]
    for book in books:
        key = "ready" if book.ready else "vectors_at" if book.percent else "by_words"
        state = say(f"library.{key}", percent=book.percent)
        if book.other_percent is not None:
            state += " · " + say("library.other_vectors_at", percent=book.other_percent)
        title = book.title.replace("|", "\\|")
        lines.append(
            f"| {title} | {book.source} | {book.shelf} | {book.language} | {book.sections} | {state} |"
        )
    unread = [(book.source, *part) for book in books for part in book.unread]
    notes = [f"- {notice.text}" for notice in unread_notices(unread, say)]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _shortened(text: str, say: Words) -> str:
    text = text.strip()
    if len(text) <= SECTION_CHARS:
        return text
    cut = text.rfind("\n", 0, SECTION_CHARS)
    cut = cut if cut > 0 else SECTION_CHARS
    return f"{text[:cut]}\n\n{say('rules.more_characters', n=len(text) - cut)}"


@dataclass(frozen=True, slots=True)
class Asking:
    """The verb "ask": answers from a shelf, from the question's own texts, or both; the model may see its pictures."""

    _files: QuestionFiles
    _library: Library
    _models: Models
    _conversations: Conversations
    _snapshots: Snapshots
    _house: HouseRules

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request = run.request
        files = files_of(request) if request.files or "file" in request.options else ()
        picture_files = list(filter(is_picture, files))
        text_files = list(filterfalse(is_picture, files))
        texts = await self._files.texts(run, text_files) if text_files else AttachedTexts()
        snapshot = await run.step("snapshot", partial(self._snapshots.take, request, texts), Snapshot)
        tracing.note("strategy", snapshot.strategy)
        say = words(snapshot.language if snapshot.language in ("en", "pt") else request.locale)
        house = say("rules.house") if snapshot.house and not snapshot.shelf else ""
        where = ", ".join(filter(None, (*texts.names, snapshot.shelf, house)))
        yield Stage("search", say("rules.searching", shelf=where))
        yield Status(say("rules.searching", shelf=where))
        for refused in texts.left_out:
            yield Notice(say(refused.key, **refused.values))
        if snapshot.strategy != snapshot.wanted:
            yield Notice(say("strategies.needs_model", strategy=snapshot.wanted))
        # Successive searches read the same editions, even if a book is replaced meanwhile.
        pinned = self._library.pinned()
        searched: Searchable = pinned
        if texts.attached is not None:
            within, shelf = self._library.on_files(texts.attached), pinned if snapshot.shelf else None
            searched = Search(within, texts.attached, shelf, whole=snapshot.cites)
        if snapshot.house:
            base = searched if snapshot.shelf or texts.attached else None
            title, heading = say("rules.house"), say("rules.house_heading")
            searched = await self._house.combined_search(
                request.place.space, snapshot.house, title, heading, self._library, base
            )
        models = self._models.with_roles(snapshot.roles)
        inquiry, notices = snapshot.inquiry(request, say.locale), set[Notice]()
        search = partial(searched.search, inquiry.space, inquiry.shelf, inquiry.question, k=inquiry.k)
        result = await run.step("search", search, SearchResult)
        related = inquiry.history or inquiry.earlier or inquiry.language not in inquiry.languages
        if related or result.notices or snapshot.strategy != SINGLE:  # otherwise this search is enough
            further = Rewriting(snapshot.strategy, searched, models)
            async with aclosing(further.search(run, replace(inquiry, results=(result,)))) as search_events:
                async for search_event in search_events:
                    if isinstance(search_event, SearchResult):
                        result = search_event
                    elif search_event not in notices:  # a helper that fails twice is reported once
                        yield search_event
                    if isinstance(search_event, Notice):
                        notices.add(search_event)
        books = len(set(map(attrgetter("document"), result.passages)))
        outcome = say("rules.found", n=len(result.passages), books=books)
        guess = result.doubtful and not result.confident
        yield Stage("search", outcome if result.confident or guess else say("rules.found_none"))
        for key in result.notices:
            yield Notice(say(key))
        context_notices = read_along(request, snapshot.notes, say)
        limits = []
        if not result.confident and snapshot.shelf and not result.notices:
            limits = await run.step("limits", partial(self._limits, request, snapshot.shelf, say), list[str])
        if not result.confident and not guess:
            for notice in (
                *_nothing_found(request, texts, where, result, say),
                *map(Notice, limits),
                *context_notices,
            ):
                yield notice
            return
        headings = list(dict.fromkeys(map(attrgetter("section_title"), result.passages)))
        yield Text(", ".join(headings[:4]) + ("…" if len(headings) > 4 else ""))
        yield Stage("answer", say("rules.answer"), answer=True)
        for notice in (*map(Notice, limits), *context_notices):
            yield notice
        if snapshot.in_view and snapshot.cites:
            yield Notice(say("rules.in_view", names=", ".join(name for name, _ in snapshot.in_view)))
        pictures = Pictures()
        if picture_files and snapshot.cites and snapshot.sees:
            pictures = await self._files.pictures(run, picture_files)
        elif picture_files:
            yield unseen_notice(say, snapshot.answerer if snapshot.cites else None, picture_names(request))
        for error in pictures.left_out:
            yield Notice(say(error.key, **error.values))
        answer = Answer(run, snapshot, result, say, models, pictures, guess=guess)
        try:
            async with aclosing(answer.events()) as events:
                async for event in events:
                    yield event
            unread = unread_of(answer.sources)
            unread += texts.attached.unread if texts.attached else ()
            for notice in unread_notices(unread, say) if unread else ():
                yield notice
        finally:
            # Also after a stop: what was shown is kept, and a follow-up can build on it. `rules see n` opens the chunk.
            await self._conversations.keep(
                run, snapshot.session, snapshot.question, "".join(answer.shown), json.dumps(answer.stored)
            )

    async def _limits(self, request: Request, shelf: str, say: Words) -> list[str]:
        """Sentences about what the search did not cover: other shelves, and passages without vectors yet."""
        space, limits = request.place.space, []
        others = [name for name in await self._library.shelves(space) if name != shelf]
        if others and not request.options.get("shelf"):
            limits.append(say("rules.other_shelves", shelf=shelf, shelves=", ".join(others)))
        if (percent := await self._library.percent(space, shelf)) < 100:
            limits.append(say("rules.not_yet_by_meaning", shelf=shelf, percent=percent))
        return limits


def _nothing_found(
    request: Request, texts: AttachedTexts, where: str, result: SearchResult, say: Words
) -> Iterator[Event]:
    """The answer if nothing was found, with the nearest headings."""
    yield Text(say("rules.nothing_in_file", files=where) if texts.attached else say("rules.nothing_found"))
    if pictures := picture_names(request):
        yield Notice(say("rules.picture_search", files=", ".join(pictures), n=len(pictures)))
    if result.nearest:
        yield lookup_buttons(say("rules.nearest"), result.nearest)
