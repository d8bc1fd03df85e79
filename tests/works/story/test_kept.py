"""Characters and worlds that outlive a story: kept, brought into another story, shared, and who owns them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bot.events import OptionValue, Place
from bot.works.story.exchange.card import Card
from bot.works.story.exchange.passages import Destination
from bot.works.story.exchange.reading import read_file
from bot.works.story.log.logs import logs_of, node
from storage.people import People
from tests.promises.talk import Talk
from tests.works.story.exchange.test_card import V3, a_png, b64
from tests.works.story.test_party import told
from tests.works.story.test_safety import HERE, asks, whole
from tests.works.story.test_story_exports import out
from tests.works.story.test_story_imports import put
from tests.works.story.writer import START, Writer, playing

THERE = Place("terminal", "local", "terminal", "another")
ELSEWHERE = Place("terminal", "other", "terminal", "another")
WORLD: dict[str, OptionValue] = {"world": True}
PUBLISH: dict[str, OptionValue] = {"publish": True}


async def two_stories(talk: Talk, *, cast: str = "Mira: a diver who fears the dark; Bo") -> None:
    """Bia plays Mira in Ana's story here, and has started stories in another thread and in another space."""
    await talk.say("/help")
    assert await asks(talk, "start", "A door in the sea.", options={"cast": cast}) == "done"
    await asks(talk, "play", "Mira", who="bia")
    await asks(talk, "start", "A well in the desert.", who="bia", place=THERE)
    await asks(talk, "start", "A bell without a rope.", who="bia", place=ELSEWHERE)


async def story_at(talk: Talk, place: Place) -> Any:
    assert talk.app is not None
    played = await logs_of(talk.app.resources.stories).played_in(place)
    assert played is not None
    return played


async def remembers(talk: Talk, text: str) -> None:
    """Add the note that a small model would have made of Mira in the last scene here."""
    assert talk.app is not None
    played = await story_at(talk, HERE)
    turn = played.story.head
    memory = {"character": "Mira", "kind": "action", "text": text}
    body = {"scene": turn.scene.id, "summary": "She dived.", "memories": [memory]}
    extracted = node("small-model", f"extracted-{turn.id}", "extracted", body, turn=turn.id)
    await logs_of(talk.app.resources.stories).append(played, extracted)


async def test_a_character_outlives_a_story_with_or_without_their_memories(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await two_stories(talk)
        await asks(talk, "act", "I dive.", who="bia")
        await remembers(talk, "Mira saw the door open under water.")
        assert "You keep nothing" in await told(talk, "keep", who="bia")
        assert "I keep Mira" in await told(talk, "keep", "mira", who="bia")
        assert "**Mira**: a character" in await told(talk, "keep", who="bia")
        assert "Mira is in the cast" in await told(talk, "bring", "Mira", who="bia", place=THERE)
        story = (await story_at(talk, THERE)).story
        assert story.cast["Mira"] == {"about": "a diver who fears the dark"}, "who plays her is the table's"
        brought = await told(talk, "bring", "Mira", who="bia", place=THERE, options={"lived": True})
        assert "knows what they lived through" in brought
        await asks(talk, "act", "Mira walks to the well.", who="bia", place=THERE)
        assert "past: - Mira saw the door open under water." in whole(writer.scenes[-1])
        await asks(talk, "hide", who="ana")
        await told(talk, "bring", "Mira", who="bia", place=THERE, options={"lived": True})
        assert "past" not in (await story_at(talk, THERE)).story.cast["Mira"], (
            "a hidden scene is not part of the past"
        )


async def test_only_its_player_keeps_a_character(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await two_stories(talk)
        await asks(talk, "act", "I dive.", who="bia")
        await remembers(talk, "Mira saw the door.")
        assert "Mira is played by Bia" in await told(talk, "keep", "Mira", who="cai"), (
            "another's character is not kept"
        )
        await asks(talk, "keep", "Mira", who="bia")
        for verb in ("keep", "bring"):
            assert "You keep nothing" in await told(talk, verb, who="cai")
        assert "You keep nothing called “Mira”" in await told(talk, "bring", "Mira", who="cai", place=THERE)
        assert "You keep nothing called “Mira”" in await told(
            talk, "bring", "Mira", who="bia", place=ELSEWHERE
        )
        assert "Everyone here" in await told(talk, "keep", "Mira", who="bia", options=PUBLISH)
        assert "shared by somebody else" in await told(talk, "keep", who="cai")
        assert "keep nothing" in await told(talk, "keep", who="cai", place=ELSEWHERE), "of another space"
        for option in ("remove", "unpublish"):
            refused = await told(talk, "keep", "Mira", who="cai", options={option: True})
            assert "You keep nothing called “Mira”" in refused, "it is not Cai's"
        shared = await told(talk, "bring", "Mira", who="cai", place=THERE, options={"lived": True})
        assert shared.rstrip().endswith("Mira is in the cast."), "the first story is not open to Cai"
        assert "past" not in (await story_at(talk, THERE)).story.cast["Mira"]
        await told(talk, "keep", "Mira", who="bia", options={"unpublish": True})
        assert "keep nothing" in await told(talk, "keep", who="cai")
        assert "no longer kept" in await told(talk, "keep", "Mira", who="bia", options={"remove": True})
        assert "keep nothing" in await told(talk, "keep", who="bia")


async def test_stories_of_a_world_share_its_lore(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await two_stories(talk)
        await told(talk, "keep", "Harbour", options=WORLD)
        assert "You keep nothing" in await told(talk, "keep"), "there is no lorebook yet"
        await asks(talk, "lore", "lamp: It burns whale oil.")
        await asks(talk, "lore", "bell: It has no rope.", who="bia")
        assert "the world “Harbour”" in await told(talk, "keep", "Harbour", who="bia", options=WORLD)
        assert "2 entries" in await told(talk, "bring", "harbour", who="bia", place=THERE)
        await asks(talk, "act", "I light the lamp.", who="bia", place=THERE)
        assert "It burns whale oil." in whole(writer.scenes[-1])
        await asks(talk, "lore", options={"remove": 2})
        await asks(talk, "lore", "gull: It counts.")
        await asks(talk, "keep", "Harbour", who="bia", options=WORLD)
        await asks(talk, "act", "I look for the gull.", who="bia", place=THERE)
        assert "It counts." in whole(writer.scenes[-1]), "a change comes along before the next turn"
        there = [entry["content"] for entry in (await story_at(talk, THERE)).story.lore.values()]
        assert there == ["It burns whale oil.", "It counts."]
        here = (await story_at(talk, HERE)).story
        await asks(talk, "act", "I wait.")
        assert (await story_at(talk, HERE)).story.lore == here.lore, "where it came from nothing is doubled"
        await asks(talk, "keep", "Harbour", who="bia", place=THERE, options=WORLD)
        await asks(talk, "act", "I wait on.")
        assert len((await story_at(talk, HERE)).story.lore) == 2, (
            "nor when it is kept from another story of it"
        )


async def test_a_kept_world_loses_the_words_of_a_deleted_author(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await two_stories(talk)
        assert talk.app is not None
        library, people = talk.app.resources.records.story_library, People(talk.app.records.database)
        await asks(talk, "lore", "lamp: Ana's words.", who="ana")
        await asks(talk, "lore", "bell: Bia's words.", who="bia")
        await asks(talk, "keep", "Harbour", who="bia", options={**WORLD, **PUBLISH})
        await asks(talk, "keep", "Mira", who="bia")
        exported = await people.rows_about("local", "bia", "now")
        assert {row["name"] for row in exported["story_library"]} == {"Harbour", "Mira"}
        (world,) = [row for row in await library.seen_by("local", "bia") if row.kind == "world"]
        assert "Ana's words" not in json.dumps(exported["story_library_lore"])
        await people.delete("local", "ana", "now", lambda payload: payload)
        left = [json.loads(entry.entry)["content"] for entry in await library.lore("local", world.id)]
        assert left == ["Bia's words."]
        await people.delete("local", "bia", "now", lambda payload: payload)
        assert await library.seen_by("local", "bia") == []
        assert await library.lore("local", world.id) == []
        assert await library.get("other", world.id) is None


async def test_cards_are_imported_to_and_exported_from_the_library(tmp_path: Path) -> None:
    picture = a_png((b"tEXt", b"ccv3\0" + b64(V3)))
    async with playing(tmp_path, Writer()) as talk:
        await talk.say(START)
        await talk.say(f"/story import {put(tmp_path, 'mira.png', picture)}")
        assert await out(talk, "/story keep Mira --card") == ("Mira.png", picture)
        await talk.say("/story start A well in the desert.")
        await talk.say("/story bring mira")
        assert await out(talk, "/story export --as card --character mira") == ("Mira.png", picture)
        await talk.say("/story start A bell without a rope. --cast 'Bo: a cook'")
        name, drawn = await out(talk, "/story keep Bo --card")
        card = read_file(drawn, name, Destination("local"))
        assert isinstance(card, Card)
        assert card.sheet["about"] == "a cook"
