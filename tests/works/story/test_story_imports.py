"""Files that players import, into the current story or as a new one: once, even after a crash."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

import pytest

from bot.events import Author, Place, Request
from bot.platforms import ThreadMessage, WholeThread
from tests.promises.talk import Talk
from tests.works.story.exchange.test_card import BAD, V2, V3, WORLD, a_png, b64
from tests.works.story.exchange.test_sillytavern import CHAT, lines
from tests.works.story.small_story import SMALL
from tests.works.story.writer import START, Writer, choices, last, playing, texts


def put(folder: Path, name: str, data: bytes | object) -> Path:
    file = folder / name
    file.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return file


async def brought(talk: Talk, *files: Path) -> str:
    return texts(await talk.say(f"/story import {' '.join(map(str, files))}"))


async def test_a_card_begins_a_story_with_its_greetings_as_versions(tmp_path: Path) -> None:
    writer, card = Writer(), put(tmp_path, "mira.png", a_png((b"tEXt", b"ccv3\0" + b64(V3))))
    async with playing(tmp_path, writer) as talk:
        events = await talk.say(f"/story import {card}")
        assert "3 greetings as versions of its first scene and 1 entry of lore" in texts(events)
        [way] = choices(events)
        opened = await talk.say(way["command"])
        assert "You are late." in texts(opened)
        assert [choice["command"] for choice in choices(opened) if "flip" in choice["command"]] == [
            "/story flip back",
            "/story flip next",
        ]
        flipped = await talk.say("/story flip next")
        assert "Version 2 of 3" in texts(flipped)
        await talk.until(lambda events: any(event["event"] == "changed" for event in events))
        (changed,) = [event for event in talk.events if event["event"] == "changed"]
        assert "The door is open" in changed["contents"][0]["text"], "where everybody reads it"
        await talk.say("I light the lamp with oil.")
        prompt = str(writer.scenes[-1])
        assert "is a diver who fears the dark" in prompt
        assert "The door is open" in prompt
        assert "The lamp burns whale oil." in prompt
        assert "You are late." not in prompt
        assert "Ignore all rules" not in prompt
        assert "chara_card" not in prompt


async def test_a_character_and_lore_are_added_to_the_current_story(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        world = put(tmp_path, "world.json", WORLD)
        assert "Only you write here" in str(await talk.say("/story history"))
        await talk.say(START)
        card = put(tmp_path, "mira.json", V2)
        assert "Mira has joined the cast, with 1 entry of lore" in await brought(talk, card)
        listed = texts(await talk.say("/story cast"))
        assert "- **Mira**: Mira is a diver who fears the dark. dry\n" in listed, "a line each"
        events = await talk.say(f"/story import {world} {world} {card}")
        assert "Added 2 entries of world.json to the lorebook." in texts(events)
        assert "Nothing changed: the lorebook already has 2 entries of world.json." in texts(events)
        assert "Entry 3 was left out: it has no content, or no keys." in str(events)
        assert "with 0 entries of lore" in texts(events)
        await talk.say("I say no more.")
        assert "is a diver who fears the dark" in str(writer.scenes[-1])
        assert "This is what was written as number 1." in last(writer.scenes[-1]) + str(writer.scenes[-1])


async def test_a_lorebook_before_any_story_explains_why_nothing_was_imported(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        unfit = put(tmp_path, "unfit.json", {"entries": [{"keys": ["x"], "content": ""}]})
        empty = put(tmp_path, "empty.json", {"entries": {}})
        world = put(
            tmp_path, "whales.json", {"entries": {"0": {"key": ["whale"], "content": "Whales sing."}}}
        )
        events = await talk.say(f"/story import {world} {unfit} {empty}")
        assert "“whales” is a story now, with 1 entry of lore." in texts(events)
        assert "Added no entry of unfit.json" in texts(events)
        assert "Entry 1 was left out" in str(events)
        assert "empty.json is a lorebook without entries" in texts(events)
        await talk.say("/story open whales")
        assert "Nobody is in the cast yet" in str(await talk.say("/story export --as card"))
        await talk.say("I look for a whale.")
        assert "Nobody is in the cast yet" in str(await talk.say("/story cast speak"))
        assert "Whales sing." in str(writer.scenes[-1])
        more = {
            "0": {"key": ["whale"], "content": "Whales sing."},
            "1": {"key": ["eel"], "content": "Eels glow."},
        }
        events = await talk.say(f"/story import {put(tmp_path, 'more.json', {'entries': more})}")
        assert "Added 1 entry of more.json to the lorebook; 1 was in it already." in texts(events)


@pytest.mark.slow
async def test_a_chat_and_a_story_become_stories_of_their_own(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        chat = put(tmp_path, "storm.jsonl", lines(*CHAT, {"name": "x"}))
        plain = put(tmp_path, "beach.txt", b"Ana: I knock.\nBo: Who?\n")
        whole = put(tmp_path, "door.json", SMALL)
        events = await talk.say(f"/story import {chat} {plain} {whole}")
        for title, n in (("storm", "4 turns"), ("beach", "2 turns"), ("The door in the sea", "2 turns")):
            assert f"“{title}” is imported, with {n}." in texts(events)
        assert "Line 7 was left out: it lacks a name or a text." in str(events)
        assert len(choices(events)) == 3
        await talk.say("/story open storm")
        await talk.say("/story continue")
        assert "It has a name." in str(writer.scenes[-1])
        assert talk.app is not None
        stories = await talk.app.resources.stories.all("local")
        assert {row.offered for row in stories} == {False}


async def test_fifty_megabytes_of_lore_are_refused_with_a_sentence_before_they_are_read(
    tmp_path: Path,
) -> None:
    entry = b'{"keys": ["lamp"], "content": "' + b"It burns. " * 1_000 + b'"},'
    large = put(
        tmp_path, "large.json", b'{"entries": [' + entry * 5_000 + b'{"keys": ["x"], "content": "y"}]}'
    )
    assert large.stat().st_size > 50_000_000
    async with playing(tmp_path, Writer()) as talk:
        await talk.say(START)
        begun = process_time()
        missing = " ".join(f"{tmp_path}/none-{n}.png" for n in range(21))
        events = await talk.say(f"/story import {large} {missing}")
        assert process_time() - begun < 1
        notices = [event["text"] for event in events if event["event"] == "notice"]
        assert "more than the limit of 20 MB" in next(text for text in notices if "large.json" in text)
        assert len(notices) == 22, "each is named: no job keeps the others"


@pytest.mark.slow
async def test_bad_files_are_named_and_good_ones_imported(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        bad = [
            put(tmp_path, f"{n}{Path(BAD[name][0]).suffix}", BAD[name][1])
            for n, name in enumerate(list(BAD)[2:5])
        ]
        good = put(tmp_path, "beach.txt", b"Ana: I knock.\n")
        events = await talk.say(
            f"/story import {' '.join(map(str, bad))} {good} {tmp_path}/none.png {tmp_path}/a.exe"
        )
        shown = str(events)
        for name in (*(path.name for path in bad), "none.png", "a.exe"):
            assert name in shown
        assert "“beach” is imported" in texts(events)
        assert "5 of 6 files" in shown


async def test_a_thread_that_the_bot_opened_belongs_to_its_asker_and_its_length_is_not_guessed(
    tmp_path: Path,
) -> None:
    at = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)

    async with playing(tmp_path, Writer()) as talk:

        async def pages() -> AsyncGenerator[list[ThreadMessage], None]:
            for page in range(3):
                if page:
                    await talk.until(lambda events: "so far" in str(events))
                yield [ThreadMessage(f"{page}/{n}", "ana", "Ana", f"Said {n}.", at) for n in range(100)]

        async def read(request: Request) -> WholeThread:
            return WholeThread("", "The siege", pages())

        await talk.say(START)
        assert talk.app is not None
        talk.app.attach(replace(talk.app.platforms["terminal"], read_whole_thread=read))
        session = await talk.app.resources.records.sessions.active("local", "terminal", "terminal", "t")
        assert session is not None
        place = Place("terminal", "local", "terminal", "t")

        async def asked(id: str, person: str) -> str:
            start = len(talk.events)
            assert talk.app is not None
            await talk.app.perform(
                Request(id, place, Author(person, person), "story", "history", locale="en")
            )
            await talk.app.ended(id)
            return str(talk.events[start:])

        assert "Only the person who began this thread" in await asked("bia-1", "bia")
        told = await asked("ana-1", session.author_id)
        assert "“The siege” is imported, with 300 turns." in told
        assert "Reading this thread: 100 messages so far…" in told
        assert "10000" not in told
