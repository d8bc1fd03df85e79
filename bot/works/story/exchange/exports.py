"""Exports a story as a book, as JSON or as a chat, its characters as cards, and its lore as World Info.

Nothing here is stored as a step: that would be one more copy of the story. After a crash it is read again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from bot.events import Attachment, Choice, Choices, Event, Notice, Request, Stage, Text, UserError
from bot.incoming import safe_name
from bot.markdown import harmless
from bot.verb import PRIVATE
from bot.words import Words, words
from bot.work import Run
from bot.works.story.exchange import card
from bot.works.story.exchange.book import book_of, epub, markdown
from bot.works.story.exchange.json_export import export_json
from bot.works.story.exchange.lorebook import world_info
from bot.works.story.exchange.numbers import dump
from bot.works.story.exchange.sillytavern import sillytavern
from bot.works.story.log.logs import Logs
from bot.works.story.sheet import initiative, proposals
from bot.works.story.table.safety import check_rating
from bot.works.story.world import cast, state
from bot.works.story.world.agreement import AGREED
from bot.works.story.world.order import leader, may_lead, names_of
from storage.stories import BranchRow, NodeRow

if TYPE_CHECKING:
    from bot.works.story.log.story import Story
    from bot.works.story.table.safety import Adults
    from storage.stories import StoryRow

SHARED: Final = (
    "title",
    "premise",
    "genre",
    "tone",
    "view",
    "tense",
    "length",
    "prose",
    "prose_lines",
    "mode",
    "plot_check_mode",
    "lore_source",
    "sheets",
    "sheet_rules",
)
"""A story's settings that are exported when it is shared: without notes, and without who is who."""
CARDS_MB: Final = 5
"""The maximum size of the characters' cards in a story's JSON: Discord allows files of at most 10 MB."""
_CARD_FILES: Final = {"card": "", "card-png": ".png", "card-charx": ".charx"}
"""The suffix of the file for each way to export a card, "" for that of the original file."""
LOOKED: Final = 20_000
"""How many characters are read to detect a story's language."""


@dataclass(frozen=True, slots=True)
class _Source:
    row: StoryRow
    branch: str
    story: Story


class Exports:
    """The verbs export and share."""

    def __init__(self, logs: Logs, adults: Adults) -> None:
        self._logs = logs
        self._adults = adults
        self._forms: dict[str, Callable[[_Source, Request, Words], tuple[str, str, bytes]]] = {
            "markdown": _markdown,
            "epub": _epub,
            "card-json": _card_json,
            "lorebook": _lorebook,
        }

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        source = await self._source(request)
        await check_rating(source.story, request, self._adults)
        form = "share" if request.verb == "share" else str(request.options.get("as") or "markdown")
        if form == "json" and not run.alone:
            self._check_whole(source, request)
            yield Stage(request.verb, "")
            yield Text(say("story.export_alone"))
            named = f" -- {request.text}" if request.text.strip() else ""
            line = f"/story export --as json --{PRIVATE.name}{named}"
            yield Choices("", (Choice(say("story.button_export_alone"), line),))
            return
        title, without = harmless(source.row.title or say("story.untitled")), 0
        if form in ("json", "share"):
            text, without = await (self._told if form == "share" else self._whole)(source, request)
            name, media, data = _named(source, "json"), "application/json", text.encode()
        elif form == "chat":
            rows = await self._logs.stories.load(request.place.space, source.row.id)
            name, media, data = await asyncio.to_thread(_chat, source, rows[2] if rows else [], request, say)
        elif form in _CARD_FILES:
            name, media, data = await self._card(source, request, _CARD_FILES[form])
        else:
            # The story continues meanwhile, so none of these may wait for anything but the thread.
            name, media, data = await asyncio.to_thread(self._forms[form], source, request, say)
        yield Stage(request.verb, say("story.exporting", title=title))
        if form == "share":
            yield Text(say("story.shared"))
        if without:
            yield Notice(say("story.export_cards_left", n=without))
        yield Attachment(name, media, data)

    async def _source(self, request: Request) -> _Source:
        """The story that is played here, on its branch; or the named one, on its first branch."""
        space = request.place.space
        if not request.text.strip():
            played = await self._logs.played(request)
            story = await self._logs.copy(space, played.row.id, played.branch)
            return _Source(played.row, played.branch, story)
        row = (await self._logs.open_to(request))[0]
        return _Source(row, row.id, await self._logs.copy(space, row.id, row.id))

    async def _told(self, source: _Source, request: Request) -> tuple[str, int]:
        rows = await asyncio.to_thread(shared_story, source.row, source.branch, source.story)
        return await self._exported(source, *rows)

    async def _whole(self, source: _Source, request: Request) -> tuple[str, int]:
        """The whole story, including everything undone, replaced or on other branches, so not for others to read."""
        self._check_whole(source, request)
        rows = await self._logs.stories.load(request.place.space, source.row.id)
        if rows is None:
            raise UserError("story.none_here")
        return await self._exported(source, *rows)

    def _check_whole(self, source: _Source, request: Request) -> None:
        if not request.author.admin and request.author.id != source.row.author_id:
            raise UserError("story.export_whose")
        if not may_lead(source.story, request.author):
            name = names_of(source.story).get(leader(source.story), "?")
            raise UserError("story.only_gm_sees", name=name)

    async def _exported(
        self, source: _Source, story: StoryRow, branches: Sequence[BranchRow], nodes: Sequence[NodeRow]
    ) -> tuple[str, int]:
        """The story as JSON, and how many cards' files were left out for lack of room."""
        most = CARDS_MB * 1_000_000
        cards, left_out = await self._logs.stories.cards.files(source.row.space, source.row.id, most)
        return await asyncio.to_thread(export_json, story, branches, nodes, cards), left_out

    async def _card(self, source: _Source, request: Request, suffix: str) -> tuple[str, str, bytes]:
        name, tree = _card_of(source, request)
        sheet, key = source.story.cast[name], card.key_of(source.story.cast[name])
        original = await self._logs.stories.cards.file(source.row.space, source.row.id, key) if key else None
        suffix, data = await asyncio.to_thread(card.file_of, name, sheet, tree, original, suffix)
        return f"{safe_name(name)}{suffix}", "image/png" if suffix == ".png" else "application/zip", data


def _named(source: _Source, suffix: str) -> str:
    return f"{safe_name(source.row.title or 'story').rstrip('. ')}.{suffix}"


def _markdown(source: _Source, request: Request, say: Words) -> tuple[str, str, bytes]:
    text = markdown(book_of(source.row, source.story, say), say)
    return _named(source, "md"), "text/markdown", text.encode("utf-8", "replace")


def _epub(source: _Source, request: Request, say: Words) -> tuple[str, str, bytes]:
    from bot.retrieval.language import detect

    book = book_of(source.row, source.story, say)
    sample = "\n".join(passage.scene for chapter in book.chapters for passage in chapter.passages[:10])
    language = detect(sample[:LOOKED]) or request.locale
    return _named(source, "epub"), "application/epub+zip", epub(book, language, say)


def _chat(source: _Source, nodes: Sequence[NodeRow], request: Request, say: Words) -> tuple[str, str, bytes]:
    speakers = {turn.act.speaker for turn in source.story.current_turns}
    # The chat's own character is the one whose words have no speaker: so an imported chat is exported unchanged.
    narrators = [name for name in cast.free_to_reply(source.story) if name not in speakers]
    narrator = narrators[0] if len(narrators) == 1 else say("story.narrator")
    bodies = [
        (row, json.loads(row.body)) for row in nodes if row.kind in ("act", "scene", "set") and row.body
    ]
    sources = {
        "" if row.kind == "set" else row.id: body["source"] for row, body in bodies if "source" in body
    }
    text = sillytavern(source.story, request.author.name, narrator, sources)
    return _named(source, "jsonl"), "application/jsonl", text.encode("utf-8", "replace")


def _card_of(source: _Source, request: Request) -> tuple[str, dict[str, Any]]:
    story = source.story
    if not story.cast:
        raise UserError("story.no_cast")
    name = str(request.options.get("character") or "")
    if not name and len(story.cast) == 1:
        name = next(iter(story.cast))
    character = cast.find(story, " ".join(name.split()))
    if not character:
        raise UserError("story.export_which", names=", ".join(story.cast))
    first = story.current_turns[0].scene if story.current_turns else None
    premise = str(story.settings.get("premise") or "")
    return character, card.card(
        character, story.cast[character], premise, first.text if first is not None else ""
    )


def _card_json(source: _Source, request: Request, say: Words) -> tuple[str, str, bytes]:
    name, tree = _card_of(source, request)
    return f"{safe_name(name)}.json", "application/json", dump(tree, indent=2).encode()


def _lorebook(source: _Source, request: Request, say: Words) -> tuple[str, str, bytes]:
    if not source.story.lore:
        raise UserError("story.no_lore")
    tree = world_info(list(source.story.lore.values()), source.story.settings.get("lore_source") or "")
    return _named(source, "lore.json"), "application/json", dump(tree, indent=2).encode()


def shared_story(row: StoryRow, branch: str, story: Story) -> tuple[StoryRow, list[BranchRow], list[NodeRow]]:
    """The story as it counts, on one branch: without other versions, undone turns, notes, pins or ideas, and with
    people only under the names that were shown.
    """
    nodes: list[NodeRow] = []

    def add(kind: str, body: dict[str, Any], turn: str = "", id: str = "") -> None:
        seq = len(nodes) + 1
        body_json = json.dumps(body, ensure_ascii=False)
        nodes.append(
            NodeRow(
                seq,
                id or f"{kind}-{seq}",
                row.space,
                row.id,
                row.id,
                kind,
                turn,
                "",
                "",
                body_json,
                row.created_at,
            )
        )

    add("set", {name: story.settings[name] for name in SHARED if story.settings.get(name) is not None})
    if agreed := {name: story.settings[name] for name in AGREED if story.settings.get(name)}:
        add("safety", agreed)
    for name, sheet in story.cast.items():
        add("cast", {"name": name, "sheet": sheet})
    for id, entry in story.lore.items():
        add("lore", {"id": id, "entry": entry})
    chapters = {chapter.turn: chapter for chapter in state.chapters(story)}
    for turn in ("", *(turn.id for turn in story.current_turns)):
        if turn:
            _turn(story, turn, add)
        if (chapter := chapters.get(turn)) is not None:
            body = {name: getattr(chapter, name) for name in ("id", "title", "location", "time", "scenario")}
            add("chapter", body, turn)
    for changed in story.counting_changes:
        changes = [proposals.body(change) for change in changed.changes]
        add("sheet", {"name": changed.name, "changes": changes, "removed": changed.removed}, changed.turn)
    if (fight := story.initiative) is not None:
        add("initiative", initiative.body(fight), fight.turn)
    bare = replace(row, author_id="")
    return bare, [BranchRow(row.id, row.space, row.id, "", "", "", 0, 0, "", row.created_at)], nodes


def _turn(story: Story, id: str, add: Callable[..., None]) -> None:
    turn = story.turns[id]
    act = turn.act
    body: dict[str, Any] = {"mode": act.mode, "text": "" if act.withdrawn else act.text, "name": act.name}
    for name in ("character", "speaker", "when", "group", "label"):
        if value := getattr(act, name):
            body[name] = value
    add("act", body, id, id)
    if turn.scene is not None:
        add("scene", {"text": turn.scene.text, "edited": turn.scene.edited}, id)
