"""Stories: the files of character cards, and turns by the end of their id."""

from __future__ import annotations

from dataclasses import replace

from storage.db import Database
from storage.stories import Node, Spot, Stories
from storage.story_cards import CardRow


async def test_files_of_cards_share_one_size_limit(db: Database) -> None:
    stories, spot = Stories(db), Spot("local", "terminal", "c", "t")
    await stories.create(spot, "story", "The door", "ana")
    first = CardRow("local", "story", "a", "run", "ana", b"12345")
    assert await stories.cards.keep(first, 10)
    assert await stories.cards.keep(replace(first, file=b"1234567"), 10), "in its own place"
    assert not await stories.cards.keep(replace(first, card="b", file=b"1234"), 10)
    assert await stories.cards.file("local", "story", "a") == b"1234567"
    assert await stories.cards.file("local", "story", "b") is None
    assert await stories.cards.file("other", "story", "a") is None


async def test_a_turn_is_found_by_the_end_of_its_id(db: Database) -> None:
    stories, spot = Stories(db), Spot("local", "terminal", "c", "t")
    await stories.create(spot, "story", "The door", "ana")
    await stories.append(
        "local",
        "story",
        "story",
        [Node(f"{run}/act", "act", "", run, "", "{}") for run in ("x-12", "y-12", "y_34")],
    )
    assert await stories.turn_ending("local", "12/act") is None, "of two it is neither"
    assert (found := await stories.turn_ending("local", "_34/act")) is not None
    assert found.id == "y_34/act"
    assert await stories.turn_ending("local", "_12/act") is None, "no pattern"
    assert await stories.turn_ending("other", "_34/act") is None
