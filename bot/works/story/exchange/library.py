"""The library: characters and worlds that people keep from one story and bring into others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from bot.events import Attachment, Event, Request, Stage, Text, UserError
from bot.incoming import safe_name
from bot.words import words
from bot.work import Run
from bot.works.story.exchange import card
from bot.works.story.exchange.imports import CARDS_MB
from bot.works.story.log.logs import Logs, PlayedStory, node
from bot.works.story.world import cast, state
from bot.works.story.world.lorebook import LORE
from bot.works.story.world.order import members
from bot.works.story.world.selves import selves
from storage.name_keys import name_key
from storage.story_cards import CardRow
from storage.story_library import KeptLore, KeptRow, StoryLibrary

if TYPE_CHECKING:
    from bot.works.story.log.story import Story
    from storage.stories import Node

KEPT: Final = 200
"""The maximum number of characters and worlds that a person keeps in a space."""
PAST_CHARS: Final = 2_000
"""The maximum length of a character's memories of another story, for the writer: the newest part."""
ASKED: Final = ("remove", "publish", "unpublish", "card")
"""The options of `keep` that act on something kept."""
_OF_TABLE: Final = ("player", "muted")
"""The fields of a sheet that belong to one table only."""


@dataclass(frozen=True, slots=True)
class Outcome:
    key: str = ""
    values: dict[str, str | int] | None = None
    text: str = ""
    card: str = ""
    """The kept character whose card is shown."""


class LibraryVerbs:
    """The verbs keep and bring."""

    def __init__(self, logs: Logs, library: StoryLibrary) -> None:
        self._logs = logs
        self._library = library

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        do = self._bring if request.verb == "bring" else self._keep
        outcome = await run.step("told", lambda: do(request), Outcome)
        yield Stage(request.verb, "")
        yield Text(outcome.text or say(outcome.key, **(outcome.values or {})))
        if outcome.card and (row := await self._library.get(request.place.space, outcome.card)) is not None:
            name, data = await asyncio.to_thread(_card_of, row)
            yield Attachment(name, "image/png" if name.endswith(".png") else "application/zip", data)

    async def _named(self, request: Request, *, own: bool = False) -> KeptRow | None:
        """The entry of this name that the person has kept or somebody has shared."""
        key, person = name_key(request.text), request.author.id
        rows = [row for row in await self._library.seen_by(request.place.space, person) if row.key == key]
        if world := request.options.get("world"):
            rows = [row for row in rows if (row.kind == "world") is bool(world)]
        return next((row for row in rows if not own or row.author_id == person), None)

    async def _listed(self, request: Request) -> Outcome:
        say, person = words(request.locale), request.author.id
        rows = await self._library.seen_by(request.place.space, person)
        lines = []
        for row in rows:
            whose = "story.kept_shared" if row.author_id == person else "story.kept_of_others"
            shared = f", {say(whose)}" if row.shared else ""
            lines.append(f"- **{row.name}**: {say(f'story.kept_{row.kind}')}{shared}")
        return Outcome(text="\n".join(lines)) if lines else Outcome("story.nothing_kept")

    async def _keep(self, request: Request) -> Outcome:
        """Keep a character or the lorebook, or change something kept. Raises UserError."""
        space, options = request.place.space, request.options
        name = " ".join(request.text.split())[: cast.NAME_CHARS]
        if not name:
            return await self._listed(request)
        asked = next((word for word in ASKED if options.get(word)), "")
        row = await self._named(request, own=asked != "card")
        if asked in ("publish", "card") and row is None:
            row = await self._kept(request, name)
        if not asked:
            row = await self._kept(request, name)
            return Outcome(f"story.kept_now_{row.kind}", {"name": row.name})
        if row is None or (asked == "card" and row.kind != "character"):
            raise UserError("story.not_kept", name=name)
        if asked == "card":
            return Outcome("story.kept_card", {"name": row.name}, card=row.id)
        if asked == "remove":
            await self._library.remove(space, row.id, request.author.id)
        else:
            await self._library.share(space, row.id, request.author.id, shared=asked == "publish")
        return Outcome(f"story.kept_{asked}", {"name": row.name})

    async def _kept(self, request: Request, name: str) -> KeptRow:
        played = await self._logs.writable(request)
        rows = await self._library.seen_by(request.place.space, request.author.id)
        if sum(row.author_id == request.author.id for row in rows) >= KEPT:
            raise UserError("story.many_kept", limit=KEPT)
        if request.options.get("world"):
            return await self._keep_world(request, played, name)
        story = played.story
        if not (character := cast.find(story, name)):
            raise UserError("story.no_character", name=name)
        sheet = story.cast[character]
        if sheet.get("player") and character not in selves(story, request.author):
            raise UserError("story.played_by_other", name=character, player=str(sheet["player"]))
        space, id = (
            request.place.space,
            next(own.id for own in reversed(story.sheets) if own.name == character),
        )
        written = await self._logs.stories.node(space, id)
        key = card.key_of(sheet)
        file = await self._logs.stories.cards.file(space, played.row.id, key) if key else None
        body = {
            "sheet": {field: value for field, value in sheet.items() if field not in _OF_TABLE},
            "story": played.row.id,
            "branch": played.branch,
        }
        row = _row(request, "character", character, body, written.author_id if written is not None else "")
        run = written.run_id if written is not None else ""
        return await self._library.keep(replace(row, run_id=run, file=file or b""))

    async def _keep_world(self, request: Request, played: PlayedStory, name: str) -> KeptRow:
        space, story = request.place.space, played.story
        if not story.lore:
            raise UserError("story.no_lore")
        before = await self._named(request, own=True)
        prefix = _prefix(before.id) if before is not None else "\0"
        branches = [(row.id, None) for row in await self._logs.stories.branches(space, played.row.id)]
        nodes = await self._logs.stories.nodes(space, played.row.id, branches, ("lore",))
        by_id = {row.id: row for row in nodes}
        lore = []
        for id, entry in story.lore.items():
            written = by_id.get(story.lore_nodes[id])
            author, run = (written.author_id, written.run_id) if written is not None else ("", "")
            lore.append(KeptLore(id.removeprefix(prefix), author, run, json.dumps(entry, ensure_ascii=False)))
        row = await self._library.keep(_row(request, "world", name, {}, request.author.id), lore)
        await self._logs.record(played, request, "set", {"worlds": _worlds(story) | {row.id: row.revision}})
        return row

    async def _bring(self, request: Request) -> Outcome:
        """Bring a character into the cast, or attach a world's lore. Raises UserError."""
        if not request.text.strip():
            return await self._listed(request)
        played = await self._logs.writable(request)
        named = await self._named(request)
        row = await self._library.get(request.place.space, named.id) if named is not None else None
        if row is None:
            raise UserError("story.not_kept", name=" ".join(request.text.split())[: cast.NAME_CHARS])
        if row.kind == "world":
            nodes = await self._lore(row, played, f"{request.id}/bring")
            if len(played.story.lore) + len(nodes) > LORE:
                raise UserError("story.many_lore", limit=LORE)
            worlds = node(
                request.id, "set", "set", {"worlds": _worlds(played.story) | {row.id: row.revision}}
            )
            await self._logs.append(played, *nodes, worlds)
            return Outcome("story.brought_world", {"name": row.name, "n": len(nodes)})
        return await self._bring_character(request, played, row)

    async def _bring_character(self, request: Request, played: PlayedStory, row: KeptRow) -> Outcome:
        story, space = played.story, request.place.space
        name = cast.find(story, row.name) or row.name
        present = story.cast.get(name)
        if present is None and len(story.cast) >= cast.MOST_CHARACTERS:
            raise UserError("story.many_characters", limit=cast.MOST_CHARACTERS)
        if present is not None and present.get("player") and name not in selves(story, request.author):
            raise UserError("story.played_by_other", name=name, player=str(present["player"]))
        kept = json.loads(row.body)
        sheet = {field: value for field, value in (present or {}).items() if field in _OF_TABLE}
        sheet |= {field: value for field, value in kept["sheet"].items() if field != "past"}
        lived = str(kept["sheet"].get("past") or "")
        if request.options.get("lived"):
            memories = await self._lived(request, kept["story"], kept["branch"], row.name)
            lived = "\n".join(filter(None, (lived, memories)))[-PAST_CHARS:]
            sheet |= {"past": lived} if lived else {}
        else:
            lived = ""
        body = {"name": name, "sheet": sheet}
        await self._logs.append(played, node(request.id, "cast", "cast", body, author=row.writer_id))
        if row.file:
            file = CardRow(space, played.row.id, card.key_of(sheet), request.id, row.author_id, row.file)
            await self._logs.stories.cards.keep(file, CARDS_MB * 1_000_000)
        return Outcome("story.brought_lived" if lived else "story.brought", {"name": name})

    async def _lived(self, request: Request, story: str, branch: str, name: str) -> str:
        """What the character remembers of a story that is open to the person; "" for any other story."""
        space = request.place.space
        rows = await self._logs.stories.open_to(space, request.author.id)
        branches = {row.id for row in await self._logs.stories.branches(space, story)}
        if story not in {row.id for row in rows} or branch not in branches:
            return ""
        lived_story = await self._logs.story(space, story, branch)
        return "\n".join(
            f"- {' '.join(memory.text.split())}"
            for turn, memory in state.memories(lived_story, name)
            if turn.id not in lived_story.hidden
        )

    async def refresh(self, request: Request) -> None:
        """Update the attached worlds of the story that is played here."""
        played = await self._logs.played_in(request.place)
        if played is None or not (worlds := _worlds(played.story)):
            return
        for id, revision in worlds.items():
            row = await self._library.get(request.place.space, id)
            # A world that is no longer shared still works at a table where its owner plays.
            usable = row is not None and (row.shared or row.author_id in members(played.story))
            if row is None or row.revision == revision or not usable:
                continue
            run = f"{id}/{row.revision}/{played.branch}"
            nodes = await self._lore(row, played, run)
            worlds = worlds | {id: row.revision}
            await self._logs.append(played, *nodes, node(run, "set", "set", {"worlds": worlds}))

    async def _lore(self, row: KeptRow, played: PlayedStory, run: str) -> list[Node]:
        """The nodes that give the story the world's entries; the author of each is its writer."""
        lore, prefix = played.story.lore, _prefix(row.id)
        entries = {
            entry.key if entry.key in lore else f"{prefix}{entry.key}": entry
            for entry in await self._library.lore(row.space, row.id)
        }
        bodies: list[tuple[dict[str, Any], str]] = [
            ({"id": id, "entry": content}, entry.author_id)
            for id, entry in entries.items()
            if (content := json.loads(entry.entry)) != lore.get(id)
        ]
        gone = [id for id in lore if id.startswith(prefix) and id not in entries]
        bodies += [({"id": id, "entry": None}, "") for id in gone]
        return [node(run, f"lore-{n}", "lore", body, author=by) for n, (body, by) in enumerate(bodies)]


def _prefix(world: str) -> str:
    return f"{world[-8:]}-"


def _worlds(story: Story) -> dict[str, int]:
    """The attached worlds, each with its revision in the story."""
    return dict(story.settings.get("worlds") or {})


def _row(request: Request, kind: Any, name: str, body: dict[str, Any], writer: str) -> KeptRow:
    text, place = json.dumps(body, ensure_ascii=False), request.place
    author = request.author.id
    return KeptRow(request.id, place.space, kind, name_key(name), name, author, writer, "", False, 1, text)


def _card_of(row: KeptRow) -> tuple[str, bytes]:
    sheet = json.loads(row.body)["sheet"]
    suffix, data = card.file_of(row.name, sheet, card.card(row.name, sheet, "", ""), row.file or None)
    return f"{safe_name(row.name)}{suffix}", data
