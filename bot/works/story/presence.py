"""Who was present in which turn of a story, and so what a character may know. Pure.

Whoever played or replied was there, and whom the extractor has seen in the scene. To be spoken of is not to be there:
of a scene that nobody has looked into yet, as of a new version, the others know nothing.
"""

from __future__ import annotations

from bot.works.story import state
from bot.works.story.cast import called
from bot.works.story.story import Story
from bot.works.story.turn import Turn


def known_as(story: Story, name: str) -> str:
    """The character's name as the cast has it, or the scenes, or the lines of a chat log; "" for nobody's."""
    plain_name = " ".join(name.split())
    if character := called(story, plain_name):
        return character
    key = plain_name.casefold()
    if (seen := state.characters(story).get(key)) is not None:
        return seen.name
    return next((turn.act.name for turn in story.current_turns if _speaks(turn) == key), "")


def unknown_to(story: Story, character: str) -> set[str]:
    """The turns of which the character knows nothing: it was in none of their scenes."""
    key = character.casefold()
    # Of a chat log the lines of one group are a scene.
    groups = {turn.act.group for turn in story.current_turns if turn.act.group and _was_there(turn, key)}
    return {
        turn.id for turn in story.current_turns if turn.act.group not in groups and not _was_there(turn, key)
    }


def _was_there(turn: Turn, key: str) -> bool:
    if key in (turn.act.character.casefold(), turn.act.speaker.casefold(), _speaks(turn)):
        return True
    extracted = turn.extracted
    if (
        turn.scene is None and not turn.act.group
    ):  # whoever was seen in some stretch of a log was not in all of it
        return False
    return extracted is not None and any(
        character.present and character.name.casefold() == key for character in extracted.state
    )


def _speaks(turn: Turn) -> str:
    """Who says the line, of a chat log's; a player's own name is nobody's in the story."""
    return turn.act.name.casefold() if turn.act.label else ""
