"""The story's state that the extractor finds in scenes: chapters, contradictions, corrections, late answers,
branches.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bot.works.story.config import StoryConfig
from bot.works.story.extraction import extraction
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import fold
from bot.works.story.turn import context
from bot.works.story.turn.context import Frame
from bot.works.story.world import state
from tests.fakes.reply import Reply
from tests.works.story.extractor import Service, looked_into, playing, standing
from tests.works.story.tale import Tale, prose
from tests.works.story.writer import START, last, texts

FRAME = Frame("You tell a story.", "Your task: write the next scene.", tokens=20_000, answer=1_000)


async def test_state_is_extracted_from_scenes_and_can_be_corrected(tmp_path: Path, service: Service) -> None:
    async with playing(tmp_path / "data", service) as talk:
        mira = standing(
            "Mira", where="the stairs", holding="a lamp", relations=[{"other": "Bo", "feeling": "wary"}]
        )
        service.finds(characters=[mira], events=["The door opens."])
        await talk.say(START + " --cast 'Mira: a diver; Bo'")
        await looked_into(talk, 1)
        text = texts(await talk.say("/story state mira"))
        assert "where: the stairs" in text
        assert "towards Bo: wary" in text
        await talk.say("/story state Mira holding: a bell")
        assert "holding: a bell" in texts(await talk.say("/story state"))
        service.finds(characters=[standing("Mira", holding="an oar")])
        await talk.say("I wait.")
        await looked_into(talk, 2)
        assert "holding: an oar" in texts(await talk.say("/story state"))
        await talk.say("/story undo")
        assert "holding: a bell" in texts(await talk.say("/story state"))
        assert "The door opens." in texts(await talk.say("/story plot"))
        assert "last seen in scene 1" in texts(await talk.say("/story characters"))


def test_a_chapter_has_ended_only_if_all_its_milestones_have_happened() -> None:
    tale = Tale()
    first = tale.turn("I wake.", "Fog.")
    events = [{"id": "e1", "text": "the bell is found"}]
    one = {
        "id": "c1",
        "title": "One",
        "key_events": events,
        "climax": "the door closes",
        "resolution": "Bo weds",
    }
    tale.add("chapter", one, first)
    found = tale.turn("I search.", "The bell is found.")
    bell = {"scene": tale.nodes[-1].id, "done": ["e1"]}
    tale.add("extracted", bell, found)
    tale.add("chapter", {"id": "c2", "title": "Two"}, found)
    told = state.chapter_prompt(tale.story, tale.story.current_turns)
    assert "One: the bell is found" in told
    assert "the door closes" not in told
    assert "Bo weds" not in told
    tale.add("extracted", bell | {"done": ["e1", "c1"]}, found)
    told = state.chapter_prompt(tale.story, tale.story.current_turns)
    assert "One: the bell is found; the door closes; Bo weds" in told


def test_a_climax_without_milestones_guides_the_writer_and_is_looked_for() -> None:
    tale = Tale()
    first = tale.turn("I search.", "Nothing.")
    tale.add("chapter", {"id": "c1", "title": "One", "key_events": [], "climax": "the door closes"}, first)
    story = tale.story
    assert "the door closes" in state.guidance(story, story.current_turns, "1")
    looked_for = extraction.events_for(story, extraction.StateBefore(story.current_turns, {}), "1")
    assert [event.text for event in looked_for] == ["the door closes"]


async def test_milestones_are_only_in_the_prompts_for_choices_and_pacing(
    tmp_path: Path, service: Service
) -> None:
    async with playing(tmp_path / "data", service) as talk:
        await talk.say(START)
        await talk.say(
            "/story chapter The stairs --location below --events 'the bell is found; the lamp dies' --check 1"
        )
        await talk.say("/story chapter --climax 'the door closes' --resolution 'they are home'")
        for n in range(4):
            await looked_into(talk, n + 1)
            await talk.say(f"I do thing {n}.")
        asked = [prompt for prompt in service.asked if "next scene" in last(prompt)]
        offered = [prompt for prompt in service.asked if "offer the players" in last(prompt)]
        assert all("below" in str(prompt["messages"]) for prompt in asked)
        assert all("the bell is found" in last(choice) for choice in offered[1:])
        assert all("the lamp dies" not in str(prompt) for prompt in service.asked), (
            "only the next one is looked for"
        )
        for request in asked:
            *prefix, task = request["messages"]
            assert "the bell is found" not in str(prefix)
            assert ("the bell is found" in str(task)) == ("<pacing>" in str(task))
        assert "<pacing>" not in last(asked[0])
        assert last(asked[-1]).index("the bell is found") < last(asked[-1]).index("Your task: write")
        await looked_into(talk, 5)
        checks = (
            {"1": True, "2": False},
            {"1": True},
            [{"number": 1, "happened": True}],
        )  # also in the form of the seed project
        for sentence, check in zip(
            ("the bell is found", "the lamp dies", "the door closes"), checks, strict=True
        ):
            service.finds(key_events=check)
            count = len(service.extracted)
            await talk.say("I go on.")
            await looked_into(talk, count + 1)
            assert f"1. {sentence}" in str(service.extracted[-1])
            assert "2. " not in last(service.extracted[-1]), "only the next one is looked for"
        count = len(service.extracted)
        await talk.say("I go home.")
        await looked_into(talk, count + 1)
        assert "they are home" in last(
            [prompt for prompt in service.asked if "offer the players" in last(prompt)][-1]
        )
        assert texts(await talk.say("/story plot")).count("☑") == 3, "and the climax"
        files = {
            event["name"]: json.loads(base64.b64decode(event["data"]))
            for event in await talk.say("/story prompt")
            if event["event"] == "attachment"
        }
        assert list(files) == ["prompt_sent.json", "prompt_sent_choices.json", "prompt_plot_extraction.json"]
        sent = {
            "prompt_sent.json": service.scenes[-1],
            "prompt_sent_choices.json": service.asked[-1],
            "prompt_plot_extraction.json": service.extracted[-1],
        }
        for name, body in sent.items():
            assert files[name]["messages"][-1]["text"] == last(body), name


def test_a_clock_that_jumps_back_does_not_change_the_order() -> None:
    tale = Tale()
    first = tale.turn("I wait.", "Bo rows away.")
    tale.add("extracted", {"scene": tale.nodes[-1].id, "state": [{"name": "Bo", "where": "the boat"}]}, first)
    second = tale.turn("I wait.", "Bo lands.")
    tale.add(
        "extracted", {"scene": tale.nodes[-1].id, "state": [{"name": "Bo", "where": "the pier"}]}, second
    )
    late = datetime(2031, 1, 1, tzinfo=UTC)
    nodes = [replace(node, created_at=late - timedelta(days=node.seq)) for node in tale.nodes]
    story = fold([Part("main")], nodes)
    assert [turn.id for turn in story.current_turns] == [first, second]
    assert state.characters(story)["bo"].fields["where"] == "the pier"


async def test_the_dead_stay_dead_and_a_contradiction_is_flagged(tmp_path: Path, service: Service) -> None:
    async with playing(tmp_path / "data", service) as talk:
        service.finds(characters=[standing("Bo", dead=True)])
        await talk.say(START)
        await looked_into(talk, 1)
        service.finds(characters=[standing("Bo", where="the deck")], contradictions=["Mira holds Bo's oar."])
        await talk.say("I wait.")
        await looked_into(talk, 2)
        assert "Bo is dead" in last(service.scenes[-1])
        await talk.until(lambda events: "/story correct" in str(events))
        assert "Mira holds Bo's oar." in str(talk.events)
        assert "Bo is dead, and acts here" in str(talk.events)
        assert "(dead)" in texts(await talk.say("/story state"))
        flagged = len(talk.events)
        changed = next(event for event in reversed(talk.events) if "/story correct" in str(event))
        assert str(changed).count("'Write it another way'") == 1, (
            "below the scene, and not beside keep and correct, too"
        )
        (line,) = set(re.findall(r"/story settle [^\"']+", str(talk.events)))
        assert "no longer flagged" in texts(await talk.say(line))
        await talk.say("/story retry")
        assert "acts here" not in str(await talk.say("/story flip back")), "kept for good"
        assert "acts here" not in str(talk.events[flagged:])
        await talk.say("/story cast Bo: a pilot")
        assert "Bo is dead and does not speak" in str(await talk.say("/story cast speak Bo"))
        await talk.say("/story state Bo dead: no")
        assert "(dead)" not in texts(await talk.say("/story state"))


async def test_a_character_that_a_player_brings_back_lives(tmp_path: Path, service: Service) -> None:
    async with playing(tmp_path / "data", service) as talk:
        service.finds(characters=[standing("Bo", dead=True, present=False)])
        await talk.say(START)
        await looked_into(talk, 1)
        service.next.append(Reply("“I was cold,” Bo said."))
        service.finds(characters=[standing("Bo", mood="glad")])
        await talk.say("I bring Bo back to life.")
        assert "Bo, dead: no" in last(service.scenes[-1])
        await looked_into(talk, 2)
        assert "dead" not in str(service.extracted[-1]["messages"][-1]["content"]).partition("<scene>")[0]
        assert "(dead)" not in texts(await talk.say("/story state"))
        await talk.say("/story retry")
        assert "Bo, dead: no" in last(service.scenes[-1]), "also of another version"
        await talk.say("/story undo")
        assert "(dead)" in texts(await talk.say("/story state"))
        assert "acts here" not in str(talk.events)


async def test_a_correction_overrides_another_version(tmp_path: Path, service: Service) -> None:
    async with playing(tmp_path / "data", service) as talk:
        service.finds(characters=[standing("Bo", dead=True)])
        await talk.say(START)
        await looked_into(talk, 1)
        service.finds(characters=[standing("Bo", where="the deck")])
        await talk.say("I wait.")
        await looked_into(talk, 2)
        await talk.until(lambda events: "Bo is dead, and acts here" in str(events))
        await talk.say("/story state Bo dead: no")
        flagged = len(talk.events)
        service.finds(characters=[standing("Bo", where="the mast")])
        await talk.say("/story retry")
        assert "Bo is dead" not in last(service.scenes[-1])
        assert "Bo, dead: no" in last(service.scenes[-1])
        await looked_into(talk, 3)
        assert "dead, and stays so" not in last(service.extracted[-1])
        text = texts(await talk.say("/story state"))
        assert "the mast" in text
        assert "(dead)" not in text
        assert "acts here" not in str(talk.events[flagged:])
        files = {
            event["name"]: event["data"]
            for event in await talk.say("/story prompt")
            if event["event"] == "attachment"
        }
        sent = json.loads(base64.b64decode(files["prompt_plot_extraction.json"]))
        assert sent["messages"][-1]["text"] == last(service.extracted[-1])


async def test_a_scene_stays_flagged_when_the_story_goes_on(tmp_path: Path, service: Service) -> None:
    def shown(events: list[dict[str, Any]], words: str) -> str:
        """The scene with these words as last shown."""
        return str(
            next(event for event in reversed(events) if event["event"] == "changed" and words in str(event))
        )

    async with playing(tmp_path / "data", service) as talk:
        await talk.say(START)
        await looked_into(talk, 1)
        service.next.append(Reply("The sea takes Bo's oar."))
        service.finds(contradictions=["Mira holds Bo's oar."])
        await talk.say("I wait.")
        await talk.until(lambda events: "/story correct" in str(events))
        await talk.say("I row.")
        await talk.until(lambda events: "'taken':" in shown(events, "The sea takes Bo's oar."))
        later = shown(talk.events, "The sea takes Bo's oar.")
        assert "Mira holds Bo's oar." in later
        assert "/story correct" in later
        assert "/story retry" not in later, "that would rewrite the last scene"
        assert "/story fork --scene 2" in later
        (line,) = set(re.findall(r"/story settle [^\"']+", later))
        await talk.say(line)
        await talk.until(lambda events: "Mira holds" not in shown(events, "The sea takes Bo's oar."))


async def test_a_branch_knows_only_its_own_past(tmp_path: Path, service: Service) -> None:
    async with playing(tmp_path / "data", service) as talk:
        service.finds(characters=[standing("Bo", where="the boat")])
        await talk.say(START)
        await looked_into(talk, 1)
        service.finds(characters=[standing("Bo", where="the secret cave")])
        await talk.say("I row.")
        await looked_into(talk, 2)
        await talk.say("/story state Bo mood: furious")
        await talk.say("/story fork shut --scene 1")
        text = texts(await talk.say("/story state"))
        assert "the boat" in text
        assert "secret" not in text
        assert "furious" not in text
        await talk.say("/story switch main")
        assert "secret" in texts(await talk.say("/story state"))


async def test_bad_input_gets_a_sentence(tmp_path: Path, service: Service) -> None:
    async with playing(tmp_path / "data", service) as talk:
        await talk.say(START)
        for line, sentence in (
            ("/story state Mira: x", "Give a character"),
            ("/story state Mira shoes: red", "neither a field nor a character"),
            ("/story state Nobody", "There is no character “Nobody” in this story yet"),
            ("/story chapter --location below", "give the chapter a title"),
            ("/story chapter", "no chapter yet"),
        ):
            assert sentence in str(await talk.say(line)), line


def test_a_late_extraction_loses_to_a_correction_and_a_later_version_wins() -> None:
    tale = Tale()
    turn = tale.turn("I wait.", "Mira drops the lamp.")
    first = tale.nodes[-1].id
    tale.add("corrected", {"character": "Mira", "field": "holding", "value": "the lamp"}, turn)
    seen = {"name": "Mira", "holding": "nothing"}
    tale.add("extracted", {"scene": first, "state": [seen]}, turn)
    assert state.characters(tale.story)["mira"].fields["holding"] == "the lamp"
    second = tale.add("scene", {"text": "Mira takes the oar.", "at": 1}, turn)
    assert state.characters(tale.story)["mira"].fields["holding"] == "the lamp"
    tale.add("extracted", {"scene": second, "state": [seen | {"holding": "the oar"}]}, turn)
    assert state.characters(tale.story)["mira"].fields["holding"] == "the oar"
    tale.add("flip", {"scene": first}, turn)
    assert state.characters(tale.story)["mira"].fields["holding"] == "the lamp"


async def test_a_wrong_tick_is_corrected_by_hand(tmp_path: Path, service: Service) -> None:
    async with playing(tmp_path / "data", service) as talk:
        await talk.say(START)
        await looked_into(talk, 1)
        await talk.say("/story chapter One --events 'the bell is found; the lamp dies' --climax 'a flood'")
        service.finds(key_events=[{"number": 1, "happened": True}])
        await talk.say("I wait.")
        await looked_into(talk, 2)
        assert "1. ☑ the bell is found" in texts(await talk.say("/story plot"))
        assert "open again" in texts(await talk.say("/story plot The bell: no"))
        text = texts(await talk.say("/story plot"))
        assert "1. ☐ the bell is found" in text
        past, _, coming = text.partition("What is to come")
        assert "a flood" not in past
        assert "a flood" in coming
        await talk.say("/story retry")
        await looked_into(talk, 3)
        assert "1. the bell is found" in last(service.extracted[-1])
        await talk.say("/story plot 1: yes")
        await talk.say("/story plot 2: sim")
        text = texts(await talk.say("/story plot"))
        assert "☐ **Climax:** a flood" in text
        assert text.count("☑") == 2
        await talk.say("/story undo")
        assert "☑" not in texts(await talk.say("/story plot")), "corrected behind the turn that was undone"
        assert "Name an event" in str(await talk.say("/story plot 3: yes"))
        assert "Name an event" in str(await talk.say("/story plot the lamp"))


def test_a_late_extraction_loses_to_a_correction_of_an_event_and_a_later_version_wins() -> None:
    tale = Tale()
    turn = tale.turn("I wait.", "Mira finds no bell.")
    tale.add("chapter", {"id": "c1", "title": "One", "key_events": [{"id": "e1", "text": "the bell"}]}, turn)
    turn = tale.turn("I search.", "No bell.")
    first = tale.nodes[-1].id
    tale.add("ticked", {"event": "e1", "happened": False}, turn)
    tale.add("extracted", {"scene": first, "done": ["e1"]}, turn)
    assert state.happened_ids(tale.story) == set()
    assert state.scenes_without_event(tale.story, tale.story.current_turns) == 1, (
        "what did not happen moves no chapter on"
    )
    second = tale.add("scene", {"text": "The bell.", "at": 1}, turn)
    tale.add("extracted", {"scene": second, "done": ["e1"]}, turn)
    assert state.happened_ids(tale.story) == {"e1"}
    tale.add("flip", {"scene": first}, turn)
    assert state.happened_ids(tale.story) == set()


async def test_a_characters_memories_are_shown(tmp_path: Path, service: Service) -> None:
    async with playing(tmp_path / "data", service) as talk:
        remembered = {"character": "Mira", "kind": "relationship", "text": "Bo saved her."}
        service.finds(characters=[standing("Mira", where="the stairs")], memories=[remembered])
        await talk.say(START + " --cast 'Mira: a diver; Zoe'")
        await looked_into(talk, 1)
        memory = {"character": "Mira", "kind": "action", "text": "She rang the bell."}
        service.finds(memories=[memory, {"character": "Bo", "kind": "dialogue", "text": "She thanked him."}])
        await talk.say("I wait.")
        await looked_into(talk, 2)
        text = texts(await talk.say("/story characters mira"))
        assert "where: the stairs" in text
        assert "scene 1, relationship: Bo saved her." in text
        assert "scene 2, action: She rang the bell." in text
        assert "thanked" not in text
        assert "She thanked him." in texts(await talk.say("/story characters Bo"))
        assert "Zoe" in texts(await talk.say("/story characters zoe"))
        assert "Nothing is known about Ana" in str(await talk.say("/story characters Ana"))
        await talk.say("/story undo")
        assert "rang the bell" not in texts(await talk.say("/story characters Mira"))


def test_the_beginning_of_a_prompt_stays_the_same_between_batches() -> None:
    tale, starts = Tale(), list[str]()
    for n in range(30):
        turn = tale.turn(f"I do thing {n}.", prose(n))
        seen = {"name": "Mira", "where": f"place {n}"}
        tale.add("extracted", {"scene": tale.nodes[-1].id, "state": [seen]}, turn)
        asked = context.prompt(tale.story, FRAME)
        starts.append(next((m.text for m in asked.messages if "<state>" in m.text), ""))
    assert len(set(starts)) == 6, "none yet, and one for each full batch"
    assert "place 24" in starts[-1]


def test_a_batch_goes_into_the_prompt_with_the_state_that_it_leaves() -> None:
    def states(batch: int) -> dict[int, set[str]]:
        """The state in the prompt's beginning while it has this many turns."""
        tale, found = Tale(), dict[int, set[str]]()
        frame, late = replace(FRAME, batch=batch, recent=1), list[tuple[str, str, int]]()
        for n in range(30):
            asked = context.prompt(tale.story, frame)
            text = next((m.text for m in asked.messages if "<state>" in m.text), "")
            found.setdefault(max(0, n - 1) // batch * batch, set()).add(text)
            turn = tale.turn(f"I do thing {n}.", prose(n, 20))
            late.append((turn, tale.nodes[-1].id, n))
            if len(late) == 4:
                for of, scene, at in late:
                    tale.add(
                        "extracted", {"scene": scene, "state": [{"name": "Mira", "where": f"place {at}"}]}, of
                    )
                late.clear()
        return found

    by = StoryConfig(batch=5, extract_every=4)
    assert by.aligned == 8
    assert all(len(said) == 1 for said in states(by.aligned).values())
    assert any(len(said) > 1 for said in states(by.batch).values()), "what the alignment is for"
    assert [StoryConfig(batch=5, extract_every=every).aligned for every in (1, 2, 5, 7)] == [5, 6, 5, 7]
    assert StoryConfig(batch=5, extract_every=4, extract=False).aligned == 5


def test_the_extractor_looks_for_a_limited_number_of_events() -> None:
    tale = Tale()
    events = [{"id": f"e{n}", "text": f"event {n}"} for n in range(9)]
    tale.add("chapter", {"id": "c", "title": "One", "key_events": events, "climax": "!"}, "")
    (chapter,) = tale.story.chapters.values()
    done = [{f"e{n}" for n in range(count)} for count in range(10)]
    assert [len(state.events_to_check(chapter, some, "1")) for some in done] == [1] * 9 + [0]
    assert [len(state.events_to_check(chapter, some, "3")) for some in done] == [3] * 7 + [2, 1, 0]
    assert [len(state.events_to_check(chapter, some, "all")) for some in done] == [
        2,
        2,
        2,
        4,
        4,
        4,
        3,
        2,
        1,
        0,
    ]
