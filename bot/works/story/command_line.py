"""What `story export`, `story import` and `eval memory` of the command line do, once their arguments are parsed."""

from __future__ import annotations

import asyncio
import json
import math
import statistics
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from bot.events import UserError
from bot.resources import Resources
from bot.retrieval.evaluate import read_lines
from bot.works.story.config import COMPONENTS, RecallConfig
from bot.works.story.exchange.card import Card
from bot.works.story.exchange.json_export import export_json
from bot.works.story.exchange.json_import import LARGEST_MB, Imported
from bot.works.story.exchange.lorebook import Lorebook, why_none
from bot.works.story.exchange.passages import Destination
from bot.works.story.exchange.reading import read_file, story_of, story_of_book
from bot.works.story.log.logs import Logs
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.ranking import Query
from storage.faults import StorageFault
from storage.name_keys import name_key

if TYPE_CHECKING:
    from bot.config import Config
    from bot.works.story.log.story import Story
    from bot.works.story.memory.recalled import Recalled
    from storage.stories import Stories, StoryRow

CARDS_MB = 60
"""The maximum size of the character cards in an export: base64 adds a third, and an import has at most 100 MB."""
MOST_STORIES = 100_000
"""The maximum number of stories in a space that are searched for a name."""

Scores: TypeAlias = dict[str, float]

PIECES = 200
"""How many pieces of a search are evaluated; later ones count as not found."""


async def export_to(config: Config, space: str, name: str, file: Path) -> StoryRow:
    """Write the story with that id, code or title to the file, as JSON. Raises UserError; leaves no partial file."""
    async with _resources(config) as resources:
        row = await _named(resources.stories, space, name)
        rows = await resources.stories.load(space, row.id)
        cards, _ = await resources.stories.cards.files(space, row.id, CARDS_MB * 1_000_000)
    assert rows is not None, "this process alone has the data folder"
    text = await asyncio.to_thread(export_json, *rows, cards)
    try:
        await asyncio.to_thread(_write, file, text)
    except OSError as error:
        raise UserError("story.export_unwritable", file=file, reason=error.strerror or error) from error
    return row


async def import_file(
    config: Config, space: str, file: Path, progress: Callable[[int, int], None] | None = None
) -> Imported:
    """Import a story, a chat log, a character card or a lorebook into the space as a story, and make its vectors.

    Imports everything or, with a UserError, nothing; only invalid lines of a chat log are left out. If the story
    exists already, only its missing vectors are made. `progress` gets how many vectors are made, and of how many.
    """
    try:
        data = await asyncio.to_thread(_beginning, file)
    except OSError as error:
        raise UserError("story.import_gone", file=file, reason=error.strerror or error) from error
    imported = await asyncio.to_thread(read_file, data, file.name, Destination(space))
    if isinstance(imported, Lorebook):
        if not imported.entries:
            raise UserError(why_none(imported), name=file.name)
        imported = story_of_book(imported, file.name, Destination(space))
    if isinstance(imported, Card):
        imported = story_of(imported, Destination(space))
    async with _resources(config) as resources:
        id = imported.story.id
        if await resources.stories.story(space, id) is None:
            await resources.stories.import_story(
                imported.story, imported.branches, imported.nodes, imported.bodies, imported.card_rows()
            )
        story = await Logs(resources.stories).story(space, id, id)
        memory = Memory(resources.story_vectors, resources.embedding, config.section(RecallConfig))
        with suppress(UserError, StorageFault):  # until the next turn makes them, searches use words alone
            await memory.learn(space, id, id, story, progress)
    return imported


async def evaluate(
    config: Config, space: str, name: str, file: Path, without: Sequence[str]
) -> dict[str, float]:
    """Measure how well the memory of a story finds what the file's queries ask for. Raises UserError."""
    if unknown := [part for part in without if part not in COMPONENTS]:
        raise UserError("eval.memory_component", name=unknown[0], names=", ".join(COMPONENTS))
    queries = await asyncio.to_thread(read_queries, file)
    async with _resources(config) as resources:
        row = await _named(resources.stories, space, name)
        story = await Logs(resources.stories).story(space, row.id, row.id)
        by = config.section(RecallConfig).without(without)
        memory = Memory(resources.story_vectors, resources.embedding, by)
        return await evaluate_memory(memory, space, row.id, story, queries)


@asynccontextmanager
async def _resources(config: Config) -> AsyncGenerator[Resources, None]:
    resources = await Resources.open(config)
    try:
        yield resources
    except StorageFault as fault:
        raise UserError(f"storage.{fault.kind}") from fault
    finally:
        await resources.close()


async def _named(stories: Stories, space: str, name: str) -> StoryRow:
    if (row := await stories.story(space, name)) is not None:
        return row
    folded = name_key(name)
    rows = await stories.all(space, limit=MOST_STORIES)
    matching = [row for row in rows if folded in (row.alias, row.title.casefold())]
    if not matching:
        raise UserError("story.no_story", name=name)
    if len(matching) > 1:
        raise UserError("story.many_stories", name=name, codes=", ".join(row.alias for row in matching[:20]))
    return matching[0]


def _write(file: Path, text: str) -> None:
    if file.exists() and not file.is_file():  # such as /dev/stdout
        file.write_text(text, encoding="utf-8")
        return
    part = file.with_name(f"{file.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def _beginning(file: Path) -> bytes:
    """The file's content, or of one that is too large to be imported, one byte more than is allowed."""
    with file.open("rb") as opened:
        return opened.read(LARGEST_MB * 1_000_000 + 1)


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """One line of the file; `gold` are the ids that turns have in the imported log, or their numbers."""

    query: str
    gold: tuple[str, ...]


def read_queries(file: Path) -> list[MemoryQuery]:
    """Read lines of {"query", "gold": [turn ids]}; those without gold are skipped. Raises UserError."""
    queries = []
    for number, line in enumerate(read_lines(file), 1):
        if not line.strip():
            continue
        try:
            row: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError("eval.memory_line", path=file, line=number) from error
        match row:
            case {"query": query, "gold": [*gold]}:
                if gold:
                    queries.append(MemoryQuery(str(query), tuple(map(str, gold))))
            case _:
                raise UserError("eval.memory_line", path=file, line=number)
    if not queries:
        raise UserError("eval.unreadable", path=file)
    return queries


async def evaluate_memory(
    memory: Memory, space: str, id: str, story: Story, queries: Sequence[MemoryQuery]
) -> dict[str, float]:
    """The mean `scores_of` the queries, the p50_ms and p95_ms of a search, and the number n of queries."""
    await memory.recall(space, id, id, story, Query(queries[0].query), 1)  # warms up caches
    spent, scores = list[float](), list[Scores]()
    for query in queries:
        began = time.perf_counter()
        recalled = await memory.recall(space, id, id, story, Query(query.query), PIECES)
        spent.append((time.perf_counter() - began) * 1_000)
        scores.append(scores_of(story, recalled, query.gold))
    ordered = sorted(spent)
    return {
        **{name: statistics.mean(row[name] for row in scores) for name in scores[0]},
        "p50_ms": statistics.median(ordered),
        "p95_ms": ordered[math.ceil(0.95 * len(ordered)) - 1],
        "n": len(queries),
    }


def scores_of(story: Story, recalled: Sequence[Recalled], gold: Sequence[str]) -> Scores:
    """The recall@5, recall@10, scene_hit@5 and mrr of one query, where any piece of a turn counts as the turn.

    scene_hit@5 says whether one of the first five scenes contains a gold turn.
    """
    numbers = {turn.act.label or str(number): number for number, turn in enumerate(story.current_turns, 1)}
    scenes = [turn.act.group or turn.id for turn in story.current_turns]
    gold_turns = {numbers.get(label, 0) for label in gold}
    turns = list(dict.fromkeys(piece.number for piece in recalled))
    first = list(dict.fromkeys(scenes[turn - 1] for turn in turns))[:5]
    rank = next((at for at, turn in enumerate(turns, 1) if turn in gold_turns), 0)
    return {
        "recall@5": len(gold_turns.intersection(turns[:5])) / len(gold_turns),
        "recall@10": len(gold_turns.intersection(turns[:10])) / len(gold_turns),
        "scene_hit@5": float(any(scenes[turn - 1] in first for turn in gold_turns if turn)),
        "mrr": 1 / rank if rank else 0.0,
    }
