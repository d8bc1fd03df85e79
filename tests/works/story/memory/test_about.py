"""A piece knows when and where it is: its chapter or day, and its place, as its branch has them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.retrieval.embedding import Embedding
from bot.works.story.config import RecallConfig
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import Story, fold
from bot.works.story.memory.excerpts import query_of
from bot.works.story.memory.index import Piece, Pieces
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.pieces import pieces_of
from bot.works.story.memory.ranking import Query
from bot.works.story.world.state import chapter_titles, chapters, title_at
from storage.db import Database
from storage.story_vectors import StoryVectors
from tests.fakes import migrated
from tests.works.story.tale import Line, Tale

PAGODA = '{"id": "c", "title": "The Pagoda"}'
BY_WORDS = RecallConfig().without(["events", "neighbours", "scene"])


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    db = await Database.open(migrated.database(tmp_path / migrated.STORAGE))
    embedding = Embedding(Config(Path(), Path(), embedding=EmbeddingConfig("none")))
    yield Memory(StoryVectors(db), embedding, BY_WORDS)
    await db.close()


async def found(memory: Memory, story: Story, query: str, branch: str = "main") -> list[str]:
    recalled = await memory.recall("local", "story", branch, story, Query(query), 10)
    return [piece.turn for piece in recalled]


def prefixes(story: Story) -> list[str]:
    """The text before each player's words in their piece."""
    known = chapter_titles(story, story.path)
    made = (pieces_of(turn, title_at(known, at)) for at, turn in enumerate(story.current_turns))
    return [
        pieces[0].prefixed.partition(": ")[0] for pieces in (next(iter(by_node.values())) for by_node in made)
    ]


def two_chapters() -> tuple[Tale, list[str]]:
    tale = Tale()
    turns = [tale.turn("I look at the lamp.", "It burns blue.")]
    tale.add("chapter", {"id": "c1", "title": "The Cellar"}, turns[-1])
    turns.append(tale.turn("I look at the lamp again.", "It burns green."))
    tale.add("chapter", {"id": "c2", "title": "The Deck"}, turns[-1])
    turns.append(tale.turn("I look at the lamp once more.", "It burns red."))
    return tale, turns


def test_a_played_turn_has_its_chapter_or_the_day_on_which_it_was_played() -> None:
    tale, turns = two_chapters()
    tale.add("extracted", {"scene": f"n{int(turns[2][1:]) + 1}", "place": "the bow"}, turns[2])
    assert prefixes(tale.story) == ["Ana (2026-03-04)", "Ana (The Cellar)", "Ana (The Deck, the bow)"]
    said = {"mode": "say", "text": "Hello.", "name": "Gina", "label": "7"}
    tale = Tale()
    tale.add("act", said)
    assert prefixes(tale.story) == ["Gina"], "a chat log was not played on the day of its import"


async def test_the_search_uses_the_current_chapter(memory: Memory) -> None:
    tale, turns = two_chapters()
    story = tale.story
    for turn, chapter in zip(turns, ("", "The Cellar", "The Deck"), strict=True):
        assert query_of(story, story.turns[turn], RecallConfig()).chapter == chapter
    query = Query("lamp", chapter="The Cellar")
    by = RecallConfig(chapter=1.0)
    assert (await memory.recall("local", "story", "main", story, query, 1, by=by))[0].turn == turns[1]
    assert (await found(memory, story, "In the cellar"))[:1] == [turns[1]]


async def test_a_chapter_named_later_also_covers_the_very_beginning(memory: Memory) -> None:
    tale = Tale()
    turns = [tale.turn(f"Step {n}.", f"We climb to floor {n}.") for n in range(2)]
    story = tale.story
    assert not await found(memory, story, "the pagoda")
    story.add(Line(90, "n90", "chapter", "", PAGODA))
    assert {*await found(memory, story, "the pagoda")} == {*turns}


async def test_a_place_found_later_changes_only_the_pieces_of_its_turn(memory: Memory) -> None:
    tale = Tale()
    turns = [tale.turn(f"Step {n}.", f"We climb to floor {n}.") for n in range(3)]
    story = tale.story
    assert not await found(memory, story, "the pagoda")
    tale.add("extracted", {"scene": f"n{int(turns[1][1:]) + 1}", "place": "the pagoda"}, turns[1])
    story.add(tale.nodes[-1])
    assert {*await found(memory, story, "the pagoda")} == {turns[1]}


async def test_a_branch_does_not_use_the_chapters_of_another(memory: Memory) -> None:
    tale = Tale()
    turns = [tale.turn(f"Step {n}.", f"We climb to floor {n}.") for n in range(3)]
    other = fold([Part("main")], tale.nodes)
    own = fold([Part("main")], [*tale.nodes, Line(90, "n90", "chapter", turns[0], PAGODA)])
    assert {*await found(memory, own, "the pagoda")} == {*turns[1:]}
    assert not await found(memory, other, "the pagoda", "other")
    assert {*await found(memory, own, "the pagoda")} == {*turns[1:]}


def test_chapter_titles_follow_undone_turns() -> None:
    tale, turns = two_chapters()
    tale.add("head", {}, turns[0])
    tale.add("chapter", {"id": "c3", "title": "The Attic"}, turns[0])
    tale.add("head", {}, turns[2])
    story = tale.story
    known = chapter_titles(story, story.path)
    for at in range(story.length):
        begun = chapters(story, story.current_turns[:at])
        assert title_at(known, at) == (begun[-1].title if begun else "")


def test_a_node_is_added_once_for_each_chapter_and_place_that_it_is_known_by() -> None:
    index = Pieces("en")
    plain, placed = Piece("", "It rings."), Piece("", "It rings.", "The Deck", "the bow")
    assert (index.add("scene", [plain]), index.add("scene", [placed])) == (range(1), range(1, 2))
    assert (index.add("scene", [plain]), index.add("scene", [placed])) == (range(1), range(1, 2))
    assert index.of("scene", ("The Deck", "")) is None
    assert index.nodes == ["scene", "scene"], "their vectors are the same"
