"""`story export` and `story import` of the command line: a story to a file, and a file's story into a space.

Knows nothing of arguments and prints nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bot.events import Sorry
from bot.house import House
from bot.works.story.exporting import exported
from bot.works.story.importing import LARGEST_MB, Imported, imported
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.config import Config
    from storage.stories import Stories, StoryRow

MOST = 100_000
"""Stories of a space that are looked through for a name."""


async def write(config: Config, space: str, name: str, file: Path) -> StoryRow:
    """Write the story of that id, code or title to the file, as JSON. Raises Sorry, and leaves no half of a file."""
    async with _stories(config) as stories:
        row = await _named(stories, space, name)
        found = await stories.whole(space, row.id)
    assert found is not None, "this process alone has the data folder"
    text = await asyncio.to_thread(exported, *found)
    try:
        await asyncio.to_thread(_written, file, text)
    except OSError as error:
        raise Sorry("story.export_unwritable", file=file, reason=error.strerror or error) from error
    return row


async def take_in(config: Config, space: str, file: Path) -> Imported:
    """Take the story of a file into the space: all of it or, with a Sorry, nothing."""
    try:
        data = await asyncio.to_thread(_beginning, file)
    except OSError as error:
        raise Sorry("story.import_gone", file=file, reason=error.strerror or error) from error
    found = await asyncio.to_thread(imported, data, file.name, space)
    async with _stories(config) as stories:
        await stories.take_in(found.story, found.branches, found.nodes, found.bodies)
    return found


@asynccontextmanager
async def _stories(config: Config) -> AsyncGenerator[Stories, None]:
    house = await House.open(config)
    try:
        yield house.stories
    except StorageFault as fault:
        raise Sorry(f"storage.{fault.kind}") from fault
    finally:
        await house.close()


async def _named(stories: Stories, space: str, name: str) -> StoryRow:
    if (row := await stories.story(space, name)) is not None:
        return row
    wanted = " ".join(name.split()).casefold()
    rows = await stories.all(space, limit=MOST)
    found = [row for row in rows if wanted in (row.alias, row.title.casefold())]
    if not found:
        raise Sorry("story.no_story", name=name)
    if len(found) > 1:
        raise Sorry("story.many_stories", name=name, codes=", ".join(row.alias for row in found[:20]))
    return found[0]


def _written(file: Path, text: str) -> None:
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
    """As much of it as shows that it is too large."""
    with file.open("rb") as opened:
        return opened.read(LARGEST_MB * 1_000_000 + 1)
