"""The extractor reads an imported chat log in stretches, in the background, and links its findings to lines."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bot.works.story.exchange.chat_log import read_chat_log
from bot.works.story.exchange.json_export import export_json
from bot.works.story.exchange.json_import import read_story
from bot.works.story.extraction.stretches import STRETCH_CHARS, lines_back, stretches
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import Story, fold
from bot.works.story.world import state
from bot.works.story.world.state import turns_unknown_to
from tests.fakes.reply import Reply
from tests.promises.talk import Talk
from tests.works.story.extractor import Service, looked_into, playing, standing
from tests.works.story.tale import Tale
from tests.works.story.writer import last, texts

LINES = [
    ("1", "Gina", "I hid the silver key under the third step."),
    ("1", "Jon", "Nobody will look there."),
    ("1", "Gina", "Swear that you tell no one."),
    ("2", "Gina", "The boat leaves at dawn."),
    ("2", "Jon", "Then I stay here."),
]


def log() -> bytes:
    given = [{"id": f"L{n}", "scene": scene, "speaker": who, "text": text, "time": f"{scene} May 2023"}
             for n, (scene, who, text) in enumerate(LINES)]  # fmt: skip
    return "\n".join(map(json.dumps, given)).encode()


async def opened(talk: Talk) -> str:
    """Import the log and play it here; returns the story's id."""
    await talk.say("/help")  # the house is there from the first line on
    assert talk.app is not None
    read = read_chat_log(log(), "log.jsonl", "local")
    await talk.app.resources.stories.import_story(read.story, read.branches, read.nodes, read.bodies)
    assert "**Jon**: Then I stay here." in texts(await talk.say("/story open log"))
    return read.story.id


def told(*lines: tuple[str, str, str]) -> Tale:
    tale = Tale()
    for number, (group, name, text) in enumerate(lines):
        tale.add("act", {"mode": "say", "text": text, "name": name, "label": f"L{number}", "group": group})
    return tale


def cut(story: Story, lines: int = 1_000) -> list[list[int]]:
    return [[story.path.index(turn.id) for turn in stretch] for stretch in stretches(story, lines)]


async def test_a_chat_log_is_read_by_the_extractor_once_it_is_played(tmp_path: Path) -> None:
    service = Service()
    async with playing(tmp_path / "data", service) as talk:
        hidden = {
            "character": "Gina",
            "kind": "action",
            "text": "She hid the silver key under the third step.",
        }
        service.finds(
            summary="Gina hides a key.", place="the stairs", memories=[hidden], contradictions=["Jon holds it."],
            events=["Jon swears to tell no one."], characters=[standing("Gina", holding="a map"), standing("Jon")],
        )  # fmt: skip
        service.finds(characters=[standing("Jon", where="the harbour")])
        await opened(talk)
        await looked_into(talk, 2)
        first, second = map(last, service.extracted)
        assert "[1 May 2023]\nGina: I hid the silver key under the third step.\nJon: Nobody" in first
        assert "boat" not in first
        assert "<cast>Gina, Jon</cast>" in first
        assert "holding: a map" in second, "the state that the first stretch leaves"
        assert "[2 May 2023]\nGina: The boat leaves at dawn." in second
        shown = texts(await talk.say("/story state"))
        assert "holding: a map" in shown
        assert "where: the harbour" in shown
        assert "She hid the silver key" in texts(await talk.say("/story characters Gina"))
        assert "Jon swears to tell no one." in texts(await talk.say("/story plot"))
        await talk.say("/story state Gina holding: an oar")
        assert "holding: an oar" in texts(await talk.say("/story state"))
        assert "does not fit" not in str(talk.events), "a log was played elsewhere"
        await talk.say("I go on.")
        await looked_into(talk, 3)
        assert len(service.extracted) == 3, "each stretch once"
        await talk.say("/story fork early --scene 2")
        assert "a map" not in texts(await talk.say("/story state")), (
            "found in lines that the fork has not lived through"
        )
        await looked_into(talk, 4)
        assert "Swear" not in last(service.extracted[-1])


@pytest.mark.slow
async def test_reading_a_log_continues_after_an_outage_and_a_restart(tmp_path: Path) -> None:
    service = Service()
    service.broken[""] = Reply(status=401)
    async with playing(tmp_path / "data", service) as talk:
        await opened(talk)
        async with asyncio.timeout(60):
            await service.begun.wait()
    service.broken.clear()
    async with playing(tmp_path / "data", service) as talk:
        await talk.say("/story open log")
        await looked_into(talk, 2)


async def test_a_line_that_a_model_refuses_does_not_delay_others(tmp_path: Path) -> None:
    service = Service()
    service.broken["silver key"] = Reply(status=400)
    service.finds(characters=[standing("Jon", where="the harbour")])
    async with playing(tmp_path / "data", service) as talk:
        await opened(talk)
        await looked_into(talk, 2)
        assert "the harbour" in texts(await talk.say("/story state"))


def test_a_stretch_is_a_short_part_of_one_scene() -> None:
    tale = told(*LINES, *[("3", "Jon", "x" * (STRETCH_CHARS // 2 - 4))] * 5)
    tale.turn("I go on.", "It rains.")
    assert cut(tale.story) == [[0, 1, 2], [3, 4], [5, 6], [7, 8], [9]]
    assert cut(tale.story, 3) == [[7, 8], [9]]
    assert cut(tale.story, 0) == []


def test_a_finished_stretch_is_not_read_again() -> None:
    tale = told(*LINES)
    path = tale.story.path
    tale.add("extracted", {"scene": path[2], "turns": 3}, path[2])
    assert cut(tale.story) == [[3, 4]]
    tale.add("head", {}, path[1])
    assert cut(tale.story) == [[0, 1]]
    tale.add("extracted", {"scene": path[1], "turns": 2}, path[1])
    tale.add("head", {}, path[4])
    assert cut(tale.story) == [[3, 4]]


def test_each_finding_belongs_to_the_line_that_tells_it() -> None:
    stretch = told(*LINES).story.current_turns[:3]
    said = [
        "Gina hid a silver key.",
        "Jon thinks nobody will look there.",
        "To tell no one is sworn.",
        "Rain falls.",
    ]
    assert lines_back(said, stretch) == [2, 1, 0, 0]


def test_characters_seen_in_a_stretch_were_present_only_in_a_known_scene() -> None:
    seen = [{"name": "Zoe", "where": "the stairs", "present": True}]
    tale = told(*LINES)
    path = tale.story.path
    tale.add("extracted", {"scene": path[2], "turns": 3, "state": seen}, path[2])
    assert turns_unknown_to(tale.story, "Zoe") == {*path[3:]}
    tale = told(*(("", who, text) for _, who, text in LINES))
    path = tale.story.path
    tale.add("extracted", {"scene": path[4], "turns": 5, "state": seen}, path[4])
    assert turns_unknown_to(tale.story, "Zoe") == {*path}


def test_a_correction_overrides_late_findings_in_a_log() -> None:
    tale = told(*LINES)
    path = tale.story.path
    tale.add("corrected", {"character": "Jon", "field": "where", "value": "the boat"}, path[4])
    seen = [{"name": "Jon", "where": "the harbour"}]
    tale.add("extracted", {"scene": path[4], "turns": 2, "state": seen}, path[4])
    assert state.characters(tale.story)["jon"].fields["where"] == "the boat"


async def test_findings_in_a_log_are_exported_and_imported(tmp_path: Path) -> None:
    service = Service()
    async with playing(tmp_path / "data", service) as talk:
        service.finds(characters=[standing("Gina", holding="a map")], events=["Gina hides a key."])
        id = await opened(talk)
        await looked_into(talk, 2)
        assert talk.app is not None
        whole = await talk.app.resources.stories.load("local", id)
        assert whole is not None
    again = read_story(export_json(*whole).encode(), "log.json", "local")
    story = fold([Part(again.branches[0].id)], again.nodes)
    assert state.characters(story)["gina"].fields["holding"] == "a map"
    found = story.current_turns[2].extracted_from_text
    assert found is not None
    assert (found.turns, found.lines) == (3, (2,))
    assert not stretches(story, 1_000)
