"""A script is analysed once, in the background; half an analysis is used and called half."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.events import Notice
from bot.readers.screenplay.fountain import fountain
from bot.works.script import analysis
from bot.works.script.analysis import Act, Card, CharacterSheet, Thread, Whole
from bot.works.script.model import Script, script
from storage.scripts import Reader
from tests.fakes.chat_completions import ChatService
from tests.fakes.reply import Reply
from tests.works.course.desk import opened, words_of
from tests.works.script.test_scripts import ADA, Room

WHOLE = {
    "acts": [
        {"title": "The dark", "first": 1, "last": 2, "summary": "No light."},
        {"title": "Beyond", "first": 9, "last": 99, "summary": "There are no such scenes."},
    ],
    "characters": [{"name": "ADA", "who": "A keeper.", "arc": "She lets go."}],
    "threads": [{"title": "The lamp", "summary": "It is lit again.", "scenes": [1, 2, 2, 77]}],
}


def pages(*words: str) -> str:
    scenes = "".join(f"INT. ROOM - DAY\n\n{word}\n\nADA\nYes.\n\n" for word in words)
    return f"Title: Rooms\n\n{scenes}"


@asynccontextmanager
async def analysed(folder: Path, fails: str = "") -> AsyncIterator[tuple[Room, list[str]]]:
    """A room, and the small model's prompts; the model fails if a scene says so."""
    asked: list[str] = []

    def answer(body: dict[str, Any]) -> Reply:
        prompt = json.dumps(body["messages"], ensure_ascii=False)
        asked.append(prompt)
        if fails and fails in prompt:
            return Reply(status=401)
        if "write the card" in prompt:
            return Reply(json.dumps({"summary": f"Card {len(asked)}.", "purpose": "It begins."}))
        if "tell the structure" in prompt:
            return Reply(json.dumps(WHOLE))
        return Reply("An answer.")

    async with ChatService(answer) as service:
        settings = (
            f'[providers.a]\nkind = "openai-compatible"\nbase_url = "{service.base_url}"\n'
            '[roles]\nanswerer = "a:small"\n'
        )
        async with opened(folder, settings) as desk:
            yield Room(desk), asked


async def looked_into(room: Room) -> str:
    """Start or continue the analysis, wait for its end, and return its findings."""
    await room.events(ADA, "script analysis")
    inbox = room.desk.app.resources.records.inbox
    for child in await inbox.children("local", f"{room.runs:032x}"):
        await room.desk.app.ended(child.id)
    return words_of(await room.events(ADA, "script analysis"))


async def test_a_new_draft_pays_only_for_its_changes(tmp_path: Path) -> None:
    async with analysed(tmp_path) as (room, asked):
        await room.has(ADA, pages("A storm.", "A calm.", "A storm."))
        told = await looked_into(room)
        assert "3 of 3 scenes are analysed." in told
        # Two scenes of the same words are one.
        assert [("write the card" in prompt) for prompt in asked] == [True, True, False]
        assert "**The dark** (1–2): No light." in told
        assert "**ADA**: A keeper. She lets go." in told
        assert "**The lamp**: It is lit again. (1, 2)" in told
        assert "Beyond" not in told
        again = len(asked)
        await looked_into(room)
        assert len(asked) == again
        await room.has(ADA, pages("A storm.", "A calm.", "Another storm."), run="second")
        half = words_of(await room.events(ADA, "script analysis"))
        assert "2 of 3 scenes are analysed." in half
        assert "The following is about an earlier draft:" in half
        for child in await room.desk.app.resources.records.inbox.children("local", f"{room.runs:032x}"):
            await room.desk.app.ended(child.id)
        assert len(asked) == again + 2
        assert "Another storm." in asked[again]
        (row,) = await room.desk.app.resources.scripts.all(Reader("local", "ada"))
        assert len(await room.desk.app.resources.scripts.findings(Reader("local", "ada"), row.id)) == 4


async def test_half_an_analysis_is_used_and_called_half(tmp_path: Path) -> None:
    async with analysed(tmp_path, fails="A calm.") as (room, asked):
        await room.has(ADA, pages("A storm.", "A calm.", "An end."))
        assert "1 of 3 scenes are analysed." in await looked_into(room)
        events = await room.events(ADA, "script ask", "What is its structure?", tools="off")
        assert any(isinstance(event, Notice) and "incomplete" in event.text for event in events)
        # A failed call may have been repeated after it.
        assert any("INT. ROOM - DAY; ADA. Card 1" in prompt for prompt in asked)


async def test_without_a_small_model_a_note_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        room = Room(desk)
        await room.has(ADA)
        answer = words_of(await room.events(ADA, "script analysis"))
        assert "0 of 3 scenes are analysed." in answer
        assert "The bot's operator can set ANTHROPIC_API_KEY or OPENAI_API_KEY" in answer


async def test_if_the_config_switches_it_off_a_note_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path, "[script]\nanalyse = false\n") as desk:
        room = Room(desk)
        await room.has(ADA)
        answer = words_of(await room.events(ADA, "script analysis"))
        assert "`[script] analyse` in config.toml is off" in answer
        assert "demo model" not in answer


async def test_findings_are_deleted_with_their_script(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        room = Room(desk)
        await room.has(ADA)
        scripts, reader = desk.app.resources.scripts, Reader("local", "ada")
        (row,) = await scripts.all(reader)
        await scripts.put_finding("local", row.id, "whole", "{}")
        await scripts.put_finding("other", row.id, "scene:1", "{}")
        assert await scripts.findings(reader, row.id) == {"whole": "{}"}
        assert await scripts.findings(Reader("local", "bo"), row.id) == {}
        await scripts.remove("local", row.id)
        await scripts.put_finding("local", row.id, "whole", "{}")
        await room.has(ADA)
        assert await scripts.findings(reader, row.id) == {}


def test_the_summary_is_stored_without_invalid_parts() -> None:
    made = _script()
    whole = Whole(
        [Act("One", 1, 2), Act("Back", 2, 1), Act("Off", 1, 3)],
        [CharacterSheet("ADA", "x" * 5_000), CharacterSheet(" ")],
        [Thread("Lamp", "", [2, 2, 0, 3, 1])],
    )
    found = analysis.from_findings(made, {"whole": analysis.body_of_whole(whole, made)})
    assert found.whole is not None
    assert [act.title for act in found.whole.acts] == ["One"]
    assert [(character.name, len(character.who)) for character in found.whole.characters] == [("ADA", 600)]
    assert found.whole.threads[0].scenes == [2, 1]
    assert found.current
    assert not found.done
    cards = {
        analysis.card_key(scene.content): analysis.body_of_card(Card("It rains.")) for scene in made.scenes
    }
    assert not analysis.from_findings(made, cards).missing


def _script() -> Script:
    return script(fountain(pages("A storm.", "A calm.")))


@pytest.mark.slow
async def test_nothing_is_analysed_twice_even_if_the_bot_stops_in_the_middle(tmp_path: Path) -> None:
    held: list[str] = []

    def answer(body: dict[str, Any]) -> Reply:
        prompt = json.dumps(body["messages"], ensure_ascii=False)
        held.append(prompt)
        if "tell the structure" in prompt:
            return Reply(json.dumps(WHOLE))
        return Reply(json.dumps({"summary": "Rain.", "purpose": ""}))

    async with ChatService(answer) as service:
        settings = (
            f'[providers.a]\nkind = "openai-compatible"\nbase_url = "{service.base_url}"\n'
            '[roles]\nanswerer = "a:small"\n'
        )
        words = [f"Scene of {n}." for n in range(30)]
        async with opened(tmp_path, settings) as desk:
            room = Room(desk)
            assert "A small model is analysing the scenes" in await room.add(ADA, pages(*words))
        before = len(held)
        async with opened(tmp_path, settings) as desk:
            children = await desk.app.resources.records.inbox.children("local", f"{1:032x}")
            assert [await desk.app.ended(child.id) for child in children] == ["done"]
            text = words_of(await Room(desk, runs=9).events(ADA, "script analysis"))
            assert "30 of 30 scenes are analysed." in text
        assert before < 31
        cards = Counter(prompt for prompt in held if "write the card" in prompt)
        # Only a call that was in progress when the process ended may be repeated.
        assert len(cards) == 30
        assert sum(cards.values()) <= 31
