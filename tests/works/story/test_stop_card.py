"""What goes with a scene that a stop card removes, or that no longer counts."""

from __future__ import annotations

from bot.works.story.world.state import chapter_titles, chapters
from tests.works.story.tale import Tale


def test_other_players_plans_are_removed_with_the_scene_that_they_followed() -> None:
    tale = Tale()
    tale.turn("I go in.", "The door opens.")
    append_turn = tale.add("intent", {"name": "Bia", "text": "I hold the lamp."})
    stopped = tale.turn("I look.", "Spiders.")
    open_ = tale.add("intent", {"name": "Bia", "text": "I kill the spiders."})
    tale.add("stopcard", {}, stopped)
    tale.turn("I go out.", "The sea is flat.")
    assert [turn.intents for turn in tale.story.current_turns] == [(), ()]
    assert tale.story.withdrawn == {append_turn, open_}, "and no file has it"


def test_characters_that_the_writer_made_up_are_removed_with_their_scene() -> None:
    """Whether it is undone, told another way or stopped; they return with it."""
    tale = Tale()
    tale.add("cast", {"name": "Mira", "sheet": {"about": "a diver"}})
    opening = tale.turn("I walk.", "A house.")
    first = tale.turn("I knock.", "Somebody opens.")
    behind = {"scene": tale.nodes[-1].id}
    tale.add("cast", {"name": "Bo", "sheet": {"about": "a doorman"}, **behind}, first)
    tale.add("chapter", {"id": "c1", "title": "Inside", **behind}, first)
    tale.add("chapter", {"id": "c2", "title": "Said by Ana"}, first)

    def there() -> tuple[list[str], list[str], list[tuple[int, str]]]:
        story = tale.story
        shown = chapter_titles(story, [turn.id for turn in story.current_turns])
        return list(story.cast), [chapter.title for chapter in chapters(story)], shown

    all_there = ["Mira", "Bo"], ["Inside", "Said by Ana"], [(2, "Said by Ana")]
    assert there() == all_there
    tale.add("head", {}, opening)
    assert there() == (["Mira"], [], [])
    tale.add("head", {}, first)
    assert there() == all_there
    tale.add("scene", {"text": "Nobody opens."}, first)
    assert there() == (["Mira"], ["Said by Ana"], [(2, "Said by Ana")])
    tale.add("flip", behind, first)
    assert there() == all_there
    tale.add("cast", {"name": "Bo", "sheet": {"about": "a doorman, says Ana"}})
    tale.add("stopcard", {}, first)
    assert there() == (["Mira", "Bo"], [], [])
    assert tale.story.cast["Bo"]["about"] == "a doorman, says Ana"


def test_notes_on_a_scene_are_removed_with_its_stop_card() -> None:
    tale = Tale()
    tale.add("lore", {"id": "old", "entry": {"keys": ["x"], "content": "Spiders come out of the wall."}})
    turn = tale.turn("I knock.", "There: spiders come out of the wall. Spiders come out of the wall.")
    tale.add("lore", {"id": "new", "entry": {"keys": ["y"], "content": "spiders come out\nof the wall."}})
    tale.add("lore", {"id": "own", "entry": {"keys": ["z"], "content": "The lamp burns whale oil."}})
    tale.add("cast", {"name": "Io", "sheet": {"about": "spiders come out of the wall"}})
    tale.add("cast", {"name": "Bo", "sheet": {"about": "a cook"}})
    tale.add("stopcard", {}, turn)
    story = tale.story
    assert list(story.lore) == ["old", "own"]
    assert list(story.cast) == ["Bo"]
    assert {"n5", "n7"} <= story.withdrawn
