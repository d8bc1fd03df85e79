"""The whole prompt for a turn of a long story: in the order of seed 000, and never larger than the window."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.budget import text_tokens
from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.llm.base import Prompt
from bot.prompts import PromptFile
from bot.retrieval.embedding import Embedding
from bot.works.story.config import RecallConfig, StoryConfig
from bot.works.story.log.turn import Excerpt
from bot.works.story.memory.excerpts import excerpts, query_of
from bot.works.story.memory.memory import Memory
from bot.works.story.turn.turn_plan import (
    TurnPlan,
    applying_entries,
    choices_task,
    lore_search,
    parts,
    prompt,
)
from storage.db import Database
from storage.stories import Spot, Stories
from storage.story_vectors import StoryVectors
from tests.fakes import migrated
from tests.fakes.embedder import Letters
from tests.works.story.tale import Tale, prose

ONE = "openai:one"
ASKED = "I ask for the red sundress of the rooftop party, and for the lighthouses."
DRESS = "At the rooftop party Mira wears the red sundress."
NEAR = "Lighthousekeepers, rooftopmost partymakers, sundressmaking."
"""Of no word of the turn's, and of many of its letters."""
ORDER = {
    "story foundation": "<foundation>",
    "the cast": '<character name="Mira">',
    "dialogue styles": '<style of="Mira">',
    "history": "<history>\nThe harbour: The bell is found",
    "current chapter": "title: The lower stairs\nlocation: below\ntime: night\nscenario: The water rises.",
    "scene batches": "Scene number 25.",
    "interaction history": "<interactions>\nBo and Mira (rivals), scene",
    "states": "<state>\nMira: where: place 34",
    "relations": "<relations>\nMira and Bo are rivals.",
    "focus": "<memories>\n- The lamp must never go out.\n</memories>\n<note>\nSlower.",
    "recent scenes": "Scene number 35.",
    "the last of them": "Scene number 39.",
    "relevant context": "<lore>\nThe lamp burns whale oil.\nThe cathedral of salt.\n</lore>",
    "related past scenes": "<related>\n<past",
    "what has changed since the batches": "<state>\nBo is dead, and stays so.",
    "overused phrases": "<overused>",
    "pacing": "<pacing>\n<milestones>\n- The lamp dies.\n- The door opens.",
    "task": "Your task: write the next scene, in about 120 words.",
    "the turn": f'<turn by="Ana" how="act">\n{ASKED}',
}


def told() -> Tale:
    tale = Tale(note="Slower.")
    tale.add("cast", {"name": "Mira", "sheet": {"about": "a diver", "style": "dry", "player": "Ana"}})
    tale.add("cast", {"name": "Bo", "sheet": {"about": "a thief"}})
    tale.add("preset", {"pair": ["Mira", "Bo"], "preset": "rivals", "lines": ["Mira and Bo are rivals."]})
    tale.add("memory", {"id": "1", "text": "The lamp must never go out."})
    tale.add("lore", {"id": "l1", "entry": {"keys": ["sundress"], "content": "The lamp burns whale oil."}})
    tale.add("lore", {"id": "l2", "entry": {"keys": ["zz"], "content": "The cathedral of salt."}})
    for n in range(40):
        more = {3: DRESS, 7: NEAR, 9: "Mira lets Bo go first."}.get(n, "")
        long = prose(n, 700 if n in (3, 7) else 60)
        turn = tale.turn(f"I do thing {n}.", f"{more}\n{long}")
        state = [{"name": "Mira", "where": f"place {n}", "present": True}]
        if n == 37:
            state.append({"name": "Bo", "dead": True})
        if n == 0:
            events = [{"id": "e0", "text": "The bell is found"}]
            tale.add("chapter", {"id": "c1", "title": "The harbour", "key_events": events}, turn)
        done = ["e0"] if n == 5 else []
        tale.add("extracted", {"scene": tale.nodes[-1].id, "state": state, "done": done}, turn)
        if n == 9:
            events = [
                {"id": f"e{at}", "text": text}
                for at, text in enumerate(("The lamp dies.", "The door opens."), 1)
            ]
            about = {
                "title": "The lower stairs",
                "location": "below",
                "time": "night",
                "scenario": "The water rises.",
            }
            tale.add("chapter", {"id": "c2", **about, "key_events": events, "climax": "The flood."}, turn)
    tale.add("act", {"mode": "act", "text": ASKED, "name": "Ana"})
    return tale


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    db = await Database.open(migrated.database(tmp_path / migrated.STORAGE))
    await Stories(db).create(Spot("local", "terminal", "terminal", "t"), "story", "A story", "ana")
    embedding = Embedding(Config(Path(), Path(), embedding=EmbeddingConfig(ONE)))
    embedding.load = Letters(ONE).load
    yield Memory(StoryVectors(db), embedding, RecallConfig())
    await db.close()


def taken(tale: Tale, window: int) -> TurnPlan:
    """The turn as a run decides it (`SceneVerbs.plan`)."""
    by, recall, file = StoryConfig(), RecallConfig(), PromptFile()
    story, answer = tale.story, 400
    return TurnPlan(
        turn=story.path[-1],
        n=story.length,
        prompts={name: file.read()[name] for name in ("story", "story_scene", "story_choices")},
        tokens=int(window * (by.share - recall.share)) - answer,
        recall_tokens=int(window * recall.share),
        lore_tokens=int(window * by.lore_share),
        answer=answer,
        words=120,
        choices=3,
        phrase_scenes=by.phrase_scenes,
        lore=["l2"],
    )


async def asked(
    memory: Memory, tale: Tale, window: int, *, recall_tokens: int = 0
) -> tuple[Prompt, list[Excerpt]]:
    """The prompt with the excerpts for the turn."""
    story, turn = tale.story, taken(tale, window)
    turn = replace(turn, recall_tokens=recall_tokens or turn.recall_tokens)
    await memory.learn("local", "story", "main", story)
    lore = applying_entries(*lore_search(story, turn), turn)
    without = {turn.turn, *parts(story, turn, lore).full_turns}
    query, by = query_of(story, story.turns[turn.turn], RecallConfig()), RecallConfig()
    found = await excerpts(memory, "local", "story", "main", story, query, by, turn.recall_tokens, without)
    assert not without & {id for excerpt in found for id in excerpt.turns}, "none is in the prompt twice"
    return prompt(story, replace(turn, recalled=found), lore), found


async def test_the_prompt_has_the_order_of_seed_000_from_the_foundation_to_the_task(memory: Memory) -> None:
    tale = told()
    made, _ = await asked(memory, tale, 9_000)
    whole = "\n".join(message.text for message in made.messages)
    places = {name: whole.find(part) for name, part in ORDER.items()}
    assert -1 not in places.values(), places
    assert list(places) == sorted(places, key=lambda name: places[name])
    cached = [n for n, message in enumerate(made.messages) if message.cache]
    stable = "\n".join(message.text for message in made.messages[: cached[1] + 1])
    for name, part in ORDER.items():
        behind = list(ORDER).index(name) >= list(ORDER).index("interaction history")
        assert (part in stable) != behind, (name, "the cache's break is behind the batches")
    prefix = "\n".join(message.text for message in made.messages[:-1])
    assert "The lamp dies." not in prefix, "milestones reach the pacing and the choices alone"
    assert "The flood." not in whole
    assert "The lamp dies." in choices_task(tale.story, taken(tale, 9_000))


@pytest.mark.parametrize("window", [4_000, 6_000, 9_000])
async def test_the_prompt_fits_any_window_and_the_past_is_in_order(memory: Memory, window: int) -> None:
    tale = told()
    made, found = await asked(memory, tale, window)
    whole = "\n".join(message.text for message in made.messages)
    room = int(window * StoryConfig().share)
    assert text_tokens(made.system) + sum(text_tokens(message.text) for message in made.messages) <= room
    related = whole[whole.index("<related>") : whole.index("</related>")] if "<related>" in whole else ""
    assert text_tokens(related) <= window * RecallConfig().share + 10
    numbers = [int(number) for number in re.findall(r'<past scene="(\d+)"', related)]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == len(found)
    assert numbers
    assert (await asked(memory, tale, window))[0] == made, "the same turn gives the same bytes"


def test_with_lore_most_of_the_prompt_is_repeated_from_turn_to_turn() -> None:
    """The last message and the previous turn do not count, because no earlier prompt can have them."""
    shares = {}
    for window in (8_000, 12_000):
        tale = Tale(note="Slower.")
        tale.add("cast", {"name": "Mira", "sheet": {"about": "a diver", "player": "Ana"}})
        tale.add("preset", {"pair": ["Mira", "Bo"], "preset": "rivals", "lines": ["Mira and Bo are rivals."]})
        for n in range(60):
            entry = {"keys": [f"key{n}"], "content": f"Entry {n}. {prose(n, 30 + 7 * n)}"}
            tale.add("lore", {"id": f"l{n}", "entry": entry})
        repeated = repeatable = 0
        story, before = tale.story, list[str]()
        for n in range(90):
            # Now and then lore comes up, of very different lengths, and goes again.
            called = " ".join(f"key{key}" for key in range(60) if (n // 3 + key) % 23 == 0 and n % 5 < 3)
            tale.add("act", {"mode": "act", "text": f"I do thing {n}. {called}", "name": "Ana"})
            story.add(tale.nodes[-1])
            plan = replace(taken(tale, window), turn=story.path[-1])
            lore = applying_entries(*lore_search(story, plan), plan)
            made = prompt(story, plan, lore)
            blocks = [made.system, *(message.text for message in made.messages)]
            assert sum(map(text_tokens, blocks)) <= int(window * StoryConfig().share) - plan.answer, (
                window,
                n,
            )
            same = next(
                (at for at, (new, old) in enumerate(zip(blocks, before, strict=False)) if new != old),
                len(before),
            )
            if n >= 20:
                repeatable += sum(map(text_tokens, blocks[:-3]))
                repeated += sum(map(text_tokens, blocks[:same][: len(blocks) - 3]))
            before = blocks
            told = {
                "text": prose(n, 250),
                "at": 1,
                "lore_tokens": sum(text_tokens(entry.content) for entry in lore),
            }
            scene = tale.add("scene", told, story.path[-1])
            story.add(tale.nodes[-1])
            seen = [{"name": "Mira", "where": f"place {n}", "present": True}]
            tale.add("extracted", {"scene": scene, "state": seen}, story.path[-1])
            story.add(tale.nodes[-1])
        shares[window] = repeated / repeatable
    assert min(shares.values()) >= 0.8, shares


def test_a_line_of_lore_takes_only_its_own_length_of_the_window() -> None:
    with_lore, without = Tale(), Tale()
    with_lore.add("lore", {"id": "l", "entry": {"keys": ["lamp"], "content": "It burns whale oil."}})
    for tale in (with_lore, without):
        for n in range(20):
            tale.turn(f"I do thing {n}.", prose(n, 250))
        tale.add("act", {"mode": "act", "text": "I lift the lamp.", "name": "Ana"})
    for window in (8_000, 12_000, 32_000):
        plan = taken(with_lore, window)
        lore = applying_entries(*lore_search(with_lore.story, plan), plan)
        made = prompt(with_lore.story, plan, lore)
        assert made.messages[-1].text.count("It burns whale oil.") == 1
        plain = prompt(without.story, taken(without, window))
        assert [message.text for message in made.messages[:-1]] == [
            message.text for message in plain.messages[:-1]
        ]


async def test_an_exact_match_quotes_more_of_its_scene(memory: Memory) -> None:
    by = RecallConfig()
    _, found = await asked(memory, told(), 9_000, recall_tokens=2_000)
    chars = {excerpt.turns[0]: excerpt.chars for excerpt in found}
    story = told().story
    by_words, by_meaning = story.path[3], story.path[7]
    assert (by.least_chars, by.most_chars) == (800, 2_000)
    assert chars[by_words] == by.most_chars
    assert chars[by_meaning] == by.least_chars
