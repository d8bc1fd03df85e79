"""What completes a typed argument: names of stories, and of parts of the story that is played in the place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bot.events import Author
from bot.works.story.config import StoryConfig
from bot.works.story.log.logs import logs_of
from bot.works.story.sheet.template import templates
from bot.works.story.turn.session_zero import STEPS
from bot.works.story.world.presets import prose_styles
from bot.works.story.world.selves import selves
from bot.works.story.world.state import chapters, characters

if TYPE_CHECKING:
    from bot.kind import Typed
    from bot.resources import Resources
    from bot.works.story.log.story import Story
    from storage.stories import StoryRow


async def branch(resources: Resources, typed: Typed) -> list[str]:
    names = [
        branch.name
        for story in await _open_to(resources, typed)
        for branch in await resources.stories.branches(typed.space, story.id)
    ]
    return [name for name in dict.fromkeys(names) if name and name.lower().startswith(typed.prefix.lower())]


async def title(resources: Resources, typed: Typed) -> list[str]:
    return [
        row.title for row in await _open_to(resources, typed) if typed.prefix.lower() in row.title.lower()
    ]


async def character(resources: Resources, typed: Typed) -> list[str]:
    story = await _story(resources, typed)
    return _fitting(story.cast, typed) if story is not None else []


async def own_character(resources: Resources, typed: Typed) -> list[str]:
    """The characters of the person who types."""
    story = await _story(resources, typed)
    return _fitting(selves(story, Author(typed.author, "")), typed) if story is not None else []


async def kept(resources: Resources, typed: Typed) -> list[str]:
    """The characters and worlds that the person can use."""
    rows = await resources.records.story_library.seen_by(typed.space, typed.author)
    return _fitting([row.name for row in rows], typed)


async def location(resources: Resources, typed: Typed) -> list[str]:
    """The locations of the story's chapters and characters."""
    story = await _story(resources, typed)
    if story is None:
        return []
    of_chapters = (chapter.location for chapter in chapters(story))
    of_characters = (character.fields.get("location", "") for character in characters(story).values())
    return _fitting([*of_chapters, *of_characters], typed)


async def version(resources: Resources, typed: Typed) -> list[str]:
    """The numbers of the last scene's versions, and "next" and "back"."""
    story = await _story(resources, typed)
    count = len(story.head.versions) if story is not None and story.head is not None else 0
    return _fitting(["next", "back", *map(str, range(1, count + 1))], typed)


async def prose(resources: Resources, typed: Typed) -> list[str]:
    styles = prose_styles(resources.config.section(StoryConfig).prose)
    return _fitting(await styles.all(), typed)


async def template(resources: Resources, typed: Typed) -> list[str]:
    return _fitting(await templates(resources.config.section(StoryConfig).sheets), typed)


async def step(resources: Resources, typed: Typed) -> list[str]:
    return _fitting(STEPS, typed)


def _fitting(names: Iterable[str], typed: Typed) -> list[str]:
    """The different names that contain the typed text."""
    prefix = typed.prefix.strip().casefold()
    return [name for name in dict.fromkeys(names) if name and prefix in name.casefold()]


async def _story(resources: Resources, typed: Typed) -> Story | None:
    if typed.place is None:
        return None
    played = await logs_of(resources.stories).played_in(typed.place)
    return played.story if played is not None else None


async def _open_to(resources: Resources, typed: Typed) -> list[StoryRow]:
    """The stories with titles that the person may open."""
    rows = await resources.stories.open_to(typed.space, typed.author, limit=200)
    return [row for row in rows if row.title]
