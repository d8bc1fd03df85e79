"""A recurring person who is not in the cast is offered once, under the scene, and added with a button."""

from __future__ import annotations

import re
from pathlib import Path

from bot.works.story.world import state
from bot.works.story.world.enlisting import first_sheet, offered_people
from tests.works.story.extractor import Service, looked_into, playing, standing
from tests.works.story.tale import Tale
from tests.works.story.test_party import told
from tests.works.story.writer import START, texts

OFFER = "/story enlist -- "


async def test_a_recurring_person_is_offered_once_and_added(tmp_path: Path, service: Service) -> None:
    seen = [standing("Bo", mood="sly"), standing("Mira"), standing("Zoe", present=False)]
    memory = {"character": "Bo", "kind": "action", "text": "He stole the lamp."}
    async with playing(tmp_path / "data", service) as talk:
        for number in range(1, 5):
            service.finds(characters=seen, memories=[memory] if number == 3 else [])
            await talk.say(START + " --cast 'Mira: a diver'" if number == 1 else f"I wait {number}.")
            await looked_into(talk, number)
            if number == 2:
                assert OFFER not in str(talk.events)
            if number == 3:
                await talk.until(lambda events: OFFER in str(events))
        assert set(re.findall(rf"{OFFER}(\w+)", str(talk.events))) == {"Bo"}
        third = next(event for event in talk.events if OFFER in str(event))
        assert third["event"] == "changed"
        assert "Scene 3" in third["title"]
        assert "Add Bo to the cast" in str(third)
        start = len(talk.events)
        assert "Bo is in the cast" in texts(await talk.say("/story enlist -- Bo"))
        again = [event for event in talk.events[start:] if event["event"] == "changed"]
        assert again
        assert OFFER not in str(again), "the button is gone"
        assert "**Bo**: He stole the lamp. mood: sly" in texts(await talk.say("/story cast"))
        await talk.say("/story cast Bo: a smuggler")
        assert "already in the cast" in texts(await talk.say("/story enlist -- Bo"))
        assert "**Bo**: a smuggler" in texts(await talk.say("/story cast")), "a late press changes no sheet"


async def test_an_added_person_is_removed_with_the_scene(tmp_path: Path, service: Service) -> None:
    async with playing(tmp_path / "data", service) as talk:
        for number in range(1, 4):
            service.finds(characters=[standing("Bo")])
            await talk.say(START if number == 1 else f"I wait {number}.")
            await looked_into(talk, number)
        await talk.until(lambda events: OFFER in str(events))
        await talk.say("/story enlist -- Bo")
        assert "**Bo**" in texts(await talk.say("/story cast"))
        await talk.say("/story undo")
        assert "**Bo**" not in texts(await talk.say("/story cast"))
        refused = await talk.say("/story enlist -- Bo")
        assert "no longer part of this branch" in str(refused)
        unknown = await told(talk, "enlist", "Zoe", answers="run")
        assert "No scene suggests “Zoe” for the cast. To add somebody: `/story cast Zoe: …`" in unknown


def test_cast_members_players_and_earlier_offers_are_not_offered() -> None:
    tale = Tale()
    names = ("Bo", "Ana", "Mira", "Kai", "Zoe", "Eli", "Narrator")
    tale.add("cast", {"name": "Mira", "sheet": {"about": "a diver"}})
    tale.add("cast", {"name": "Mira", "sheet": None})
    tale.add("party", {"person": "u1", "name": "Kai", "here": True})
    rows = [{"name": name, "present": True, "dead": name == "Zoe"} for name in names]
    for number in range(2):
        turn = tale.turn("I wait.", f"Rain {number}.")
        tale.add("extracted", {"scene": tale.nodes[-1].id, "state": rows}, turn)
    story = tale.story
    turns, characters = story.current_turns, state.characters(story)
    assert offered_people(story, turns, characters, rows) == ["Bo", "Eli"]
    assert offered_people(story, turns[:1], state.characters(story, turns[:1]), rows) == []
    turn = tale.turn("I wait.", "Snow.")
    tale.add("extracted", {"scene": tale.nodes[-1].id, "state": rows, "noticed": ["Bo"]}, turn)
    story = tale.story
    assert offered_people(story, story.current_turns, state.characters(story), rows) == ["Eli"]
    assert first_sheet(story, "Bo") == {}
