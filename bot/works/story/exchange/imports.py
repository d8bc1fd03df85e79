"""Imports files of stories, characters and lore, and the messages of a thread from before the story.

A file becomes a story of its own, which the person who imported it can open; a character or a lorebook is added to the
story that is played here. Each is imported in one step; repeated after a crash, the step finds what it has already
done.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final
from uuid import NAMESPACE_OID, uuid5

from bot.events import Choice, Choices, Event, File, Notice, Stage, Status, Text, UserError
from bot.markdown import harmless
from bot.retrieval.files import Refused
from bot.words import Words, words
from bot.work import Run
from bot.works.library.files import failures, named_paths
from bot.works.library.step_reports import ReportingStep
from bot.works.story.exchange.card import CARD_MB, Card, key_of
from bot.works.story.exchange.json_import import Imported
from bot.works.story.exchange.lorebook import Lorebook, kept_fields, why_none
from bot.works.story.exchange.numbers import dump
from bot.works.story.exchange.passages import Destination
from bot.works.story.exchange.png import SIGNATURE
from bot.works.story.exchange.reading import KINDS, Strangers, story_of, story_of_book
from bot.works.story.exchange.rows import Rows
from bot.works.story.exchange.webp import is_webp
from bot.works.story.log.logs import Logs, PlayedStory, node, spot
from bot.works.story.world import cast
from bot.works.story.world.lorebook import LORE
from storage.faults import StorageFault
from storage.story_cards import CardRow

if TYPE_CHECKING:
    from bot.incoming import Incoming
    from bot.platforms import Platform
    from bot.retrieval.files import Candidate
    from bot.works.story.memory.memory import Memory
    from storage.sessions import Sessions
    from storage.stories import Node

NAMED: Final = 20
"""The maximum number of bad lines that are reported."""
AT_ONCE: Final = 200
"""How many entries of a lorebook are appended together, so that others can write in between."""
SAID: Final = 10_000
"""The maximum number of a thread's messages that are imported."""

UNKNOWN: Final = 0
"""A total that is not known."""
CARDS_MB: Final = 100
"""The maximum size of all files of a story's cards, in MB."""

Progress = Callable[[tuple[int, int]], None]


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of importing a file: the key of a sentence about it, and the new story, if any.

    `bad` lists the first lines or entries that were left out: a number and a key for each.
    """

    key: str
    values: dict[str, str | int] = field(default_factory=dict)
    story: str = ""
    alias: str = ""
    bad: list[tuple[int, str]] = field(default_factory=list)
    bad_count: int = 0
    refused: Refused | None = None
    counts: dict[str, int] = field(default_factory=dict)
    """How many parts without a number were left out, by the key of a sentence."""
    plain: bool = False
    """The card's own picture was too large to keep."""


@dataclass(frozen=True, slots=True)
class Imports:
    """The verbs import and history. `_platforms` are the attached platforms, by name."""

    _logs: Logs
    _memory: Memory
    _incoming: Incoming
    _platforms: Mapping[str, Platform]
    _sessions: Sessions
    _max_bytes: int
    _strangers: Strangers = field(default_factory=Strangers)

    async def files(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        typed_files = [File(PurePath(path).name, path, 0) for path in named_paths(request)]
        if not typed_files and not request.files:
            raise UserError("story.no_files", kinds=", ".join(KINDS))
        candidates, refused = await self._incoming.bring(
            run, KINDS, self._max_bytes, files=[*request.files, *typed_files]
        )
        count = len(candidates) + len(refused)
        yield Stage("import", say("story.importing", n=count))
        for n, file in enumerate(candidates):
            taking = partial(self._file, run, n, file)
            async with aclosing(self._run_import(run, f"take:{n}", file.name, taking, refused)) as events:
                async for event in events:
                    yield event
        for event in failures(refused, count, say, most=count):
            yield event

    async def _run_import(
        self,
        run: Run,
        step: str,
        name: str,
        taking: Callable[[Progress], Any],
        refused: list[Refused],
    ) -> AsyncGenerator[Event, None]:
        """Run one import as a step, and show its result."""
        say, pump = words(run.request.locale), ReportingStep[tuple[int, int], ImportResult]()
        reading = say("story.import_reading", name=name)
        yield Status(reading)
        async with aclosing(pump.reports(run.step(step, partial(taking, pump.put), ImportResult))) as news:
            async for done, total in news:
                known = total != UNKNOWN
                yield Status(reading, done, total) if known else Status(say("story.history_read", n=done))
        result = pump.value
        if result.refused is not None:
            refused.append(result.refused)
            return
        yield Text(say(result.key, **result.values) + "\n\n")
        if result.plain:
            yield Notice(say("story.import_plain", name=name, limit=CARD_MB, all=CARDS_MB))
        for key, n in result.counts.items():
            yield Notice(say(key, n=n, name=name))
        for number, key in result.bad:
            yield Notice(say(left_out_key(key), line=number, reason=say(key)))
        if (more := result.bad_count - len(result.bad)) > 0:
            entries = left_out_key(result.bad[-1][1]) == "story.import_entry"
            yield Notice(say("story.import_entries_more" if entries else "story.import_lines_more", n=more))
        if result.key == "story.import_card_greets":
            await run.begin(f"{step}/posted", "posted", for_all=True)
        if result.story:
            async with aclosing(self._make_vectors(run, result.story, say)) as events:
                async for event in events:
                    yield event
            row = await self._logs.stories.story(run.request.place.space, result.story)
            title = row.title if row is not None else ""
            button = Choice(say("story.button_open"), f"/story open {result.alias}", title=title)
            yield Choices("", (button,))

    async def _make_vectors(self, run: Run, id: str, say: Words) -> AsyncGenerator[Event, None]:
        """Make the vectors of a new story; after a crash the next turn makes the missing ones."""
        space, pump = run.request.place.space, ReportingStep[tuple[int, int], int]()
        story = await self._logs.story(space, id, id)

        async def learning() -> int:
            try:
                return await self._memory.learn(space, id, id, story, lambda done, of: pump.put((done, of)))
            except (UserError, StorageFault):  # search by words works without them
                return 0

        async with aclosing(pump.reports(learning())) as news:
            async for done, total in news:
                yield Status(say("story.import_remembering"), done, total)

    async def _file(self, run: Run, n: int, file: Candidate, progress: Progress) -> ImportResult:
        try:
            return await self._take(run, n, file, progress)
        except UserError as error:
            return _refused(file.name, error)

    async def _take(self, run: Run, n: int, file: Candidate, progress: Progress) -> ImportResult:
        request = run.request
        id = str(uuid5(NAMESPACE_OID, f"{run.id}/{n}"))
        data = await self._incoming.read(file.path, self._max_bytes)
        whose = Destination(request.place.space, id, request.author.name)
        imported = await self._strangers.found(
            data, file.name, whose, lambda done, total: progress((done, total))
        )
        if isinstance(imported, Imported):
            return await self._story(run, imported)
        # Read again, since earlier files of this run count too.
        if (played := await self._logs.played_in(request.place)) is not None:
            await self._logs.writable(request)
        if isinstance(imported, Lorebook):
            if played is None:
                return await self._story_of_book(run, id, imported, file.name)
            count = await self._lore(run, n, played, imported, progress)
            if imported.source:
                fields = kept_fields(played.story.settings.get("lore_source")) | kept_fields(imported.source)
                body = {"lore_source": dump(fields)}
                await self._logs.append(
                    played, node(run.id, f"lore-{n}-source", "set", body, author=request.author.id)
                )
            known = len(imported.entries) - count
            key = (
                "story.import_lore_known"
                if count and known
                else "story.import_lore"
                if count
                else why_none(imported)
            )
            return _told(key, {"n": count, "known": known, "name": file.name}, imported)
        if played is None:
            result = await self._story_of_card(run, id, imported)
            keeps_file = await self._keep_file(run, result.story, imported, data)
        else:
            keeps_file = await self._keep_file(run, played.row.id, imported, data)
            result = await self._card(run, n, played, imported, progress)
        counts = {"story.import_left_webp": 1} if is_webp(data) else {}
        return replace(result, plain=not keeps_file, counts=counts)

    async def _keep_file(self, run: Run, story: str, card: Card, data: bytes) -> bool:
        """Keep the picture or archive of a card; False if it is too large."""
        if not data.startswith((SIGNATURE, b"PK")):
            return True  # a card without a file
        author = run.request.author.id
        row = CardRow(run.request.place.space, story, key_of(card.sheet), run.id, author, data)
        fits = len(data) <= CARD_MB * 1_000_000
        return fits and await self._logs.stories.cards.keep(row, CARDS_MB * 1_000_000)

    async def _story(self, run: Run, imported: Imported) -> ImportResult:
        """Store the story, unless it is stored already; until it is played with others, only its importer can open
        it.
        """
        space = run.request.place.space
        author = run.request.author.id
        row = replace(imported.story, author_id=author, offered=False)
        if await self._logs.stories.story(space, row.id) is None:
            cards = await asyncio.to_thread(imported.card_rows, run.id, author)
            await self._logs.stories.import_story(
                row, imported.branches, imported.nodes, imported.bodies, cards
            )
        bad, counts = [(line.number, line.key) for line in imported.left_out[:NAMED]], imported.counts
        values: dict[str, str | int] = {"title": harmless(row.title), "n": imported.turns, "code": row.alias}
        return ImportResult(
            "story.imported", values, row.id, row.alias, bad, len(imported.left_out), counts=counts
        )

    async def _story_of_card(self, run: Run, id: str, card: Card) -> ImportResult:
        whose = Destination(run.request.place.space, id, run.request.author.name)
        result = await self._story(run, story_of(card, whose, run.request.author.id))
        key = "story.import_greeted" if len(card.greetings) > 1 else "story.import_card_story"
        values = {**result.values, "n": len(card.greetings), "lore": len(card.book.entries)}
        return replace(_told(key, values, card.book), story=result.story, alias=result.alias)

    async def _story_of_book(self, run: Run, id: str, book: Lorebook, file: str) -> ImportResult:
        if not book.entries:
            return _told(why_none(book), {"known": 0, "name": file}, book)
        whose = Destination(run.request.place.space, id, run.request.author.name)
        result = await self._story(run, story_of_book(book, file, whose))
        outcome = _told("story.import_card_story", {**result.values, "lore": len(book.entries)}, book)
        return replace(outcome, story=result.story, alias=result.alias)

    async def _card(
        self, run: Run, n: int, played: PlayedStory, card: Card, progress: Progress
    ) -> ImportResult:
        story, author = played.story, run.request.author
        name = cast.find(story, card.name) or card.name
        if name not in story.cast and len(story.cast) >= cast.MOST_CHARACTERS:
            raise UserError("story.many_characters", limit=cast.MOST_CHARACTERS)
        sheet = {
            **{key: value for key, value in story.cast.get(name, {}).items() if key in ("player", "picture")},
            **card.sheet,
        }
        nodes = [node(run.id, f"cast-{n}", "cast", {"name": name, "sheet": sheet}, author=author.id)]
        act = node(run.id, f"greeting-{n}", "act", {"mode": "open", "text": "", "name": author.name})
        if greeted := bool(card.greetings) and story.path in ([], [act.id]):
            scenes = [
                node(run.id, f"greeting-{n}-{at}", "scene", {"text": text}, turn=act.id)
                for at, text in enumerate(card.greetings)
            ]
            flip = node(run.id, f"flip-{n}", "flip", {"scene": scenes[0].id}, turn=act.id)
            nodes += [act, *scenes, flip]
        await self._logs.append(played, *nodes)
        lore = await self._lore(run, n, played, card.book, progress)
        key = "story.import_card_greets" if greeted else "story.import_card"
        values: dict[str, str | int] = {"name": harmless(name), "lore": lore, "n": len(card.greetings)}
        return _told(key, values, card.book)

    async def _lore(self, run: Run, n: int, played: PlayedStory, book: Lorebook, progress: Progress) -> int:
        """Append the entries that the story has room for; returns how many."""
        earlier = {id for id in played.story.lore if not id.startswith(f"{run.id}/lore-{n}-")}
        contents = {_words(played.story.lore[id]) for id in earlier}
        new = [entry for entry in book.entries if _words(entry) not in contents]
        if len(earlier) + len(new) > LORE:
            raise UserError("story.many_lore", limit=LORE)
        nodes: list[Node] = []
        for at, entry in enumerate(new):
            id = f"{run.id}/lore-{n}-{at}"
            nodes.append(
                node(
                    run.id, f"lore-{n}-{at}", "lore", {"id": id, "entry": entry}, author=run.request.author.id
                )
            )
        for first in range(0, len(nodes), AT_ONCE):
            await self._logs.append(played, *nodes[first : first + AT_ONCE])
            progress((min(first + AT_ONCE, len(nodes)), len(nodes)))
        return len(new)

    async def history(self, run: Run) -> AsyncGenerator[Event, None]:
        """Make a story of the messages in this thread, for the person who began the thread, or an admin."""
        yield Stage("history", "")
        name = words(run.request.locale)("story.this_thread")
        async with aclosing(self._run_import(run, "thread", name, partial(self._thread, run), [])) as events:
            async for event in events:
                yield event

    async def _thread(self, run: Run, progress: Progress) -> ImportResult:
        request, say = run.request, words(run.request.locale)
        whole_thread = self._platforms[request.place.platform].read_whole_thread
        if whole_thread is None:
            raise UserError("story.history_alone")
        if (thread := await whole_thread(request)) is None:
            raise UserError("story.history_where")
        # A thread that the bot opened was begun by its first asker.
        starter = thread.starter or await self._sessions.starter(*astuple(spot(request.place)))
        if not request.author.admin and request.author.id != starter:
            raise UserError("story.history_whose")
        id = str(uuid5(NAMESPACE_OID, f"{run.id}/thread"))
        rows = Rows(id, request.place.space, thread.title or say("story.untitled"))
        async with aclosing(thread.pages) as pages:
            async for page in pages:
                for message in page:
                    body = {"mode": "say", "text": message.text, "name": message.name, "label": message.id}
                    body["when"] = message.at.isoformat(timespec="seconds")
                    rows.add("act", body, author=message.author, at=message.at)
                progress((rows.turns, UNKNOWN))
                if rows.turns > SAID:
                    raise UserError("story.history_long", limit=SAID)
        if not rows.turns:
            raise UserError("story.history_empty")
        return await self._story(run, rows.imported())


def _refused(name: str, error: UserError) -> ImportResult:
    values = {key: value if isinstance(value, int) else str(value) for key, value in error.values.items()}
    return ImportResult("", refused=Refused(name, error.key, {"name": name, **values}))


def _told(key: str, values: dict[str, Any], book: Lorebook) -> ImportResult:
    bad = [(entry.number, entry.key) for entry in book.left_out[:NAMED]]
    return ImportResult(key, values, bad=bad, bad_count=len(book.left_out))


def left_out_key(reason: str) -> str:
    """The key of the sentence that reports a line, or an entry of a lorebook, as left out."""
    return "story.import_entry" if reason.startswith("story.import_entr") else "story.import_line"


def _words(entry: dict[str, Any]) -> tuple[Sequence[str], str]:
    """The words that identify an entry."""
    return tuple(entry["keys"]), str(entry["content"])
