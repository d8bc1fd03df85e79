"""Exported files can be imported again unchanged, and contain nothing that was taken back."""

from __future__ import annotations

import base64
import io
import json
import sqlite3
import zipfile
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

from bot.events import Author, Place, Request
from bot.works.story.exchange.card import Card
from bot.works.story.exchange.json_import import read_story
from bot.works.story.exchange.passages import Destination
from bot.works.story.exchange.reading import read_file
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import fold
from bot.works.story.sheet.sheet import sheet_of
from tests.promises.talk import Events, Talk, of
from tests.works.story.exchange.test_card import V1, V3, WORLD, a_png, b64
from tests.works.story.exchange.test_sillytavern import CHAT, lines
from tests.works.story.test_story_imports import put
from tests.works.story.writer import START, Writer, choices, playing, texts


def file_of(events: Events) -> tuple[str, bytes]:
    [attachment] = of(events, "attachment", "picture")
    return attachment["name"], base64.b64decode(attachment["data"])


async def out(talk: Talk, line: str) -> tuple[str, bytes]:
    return file_of(await talk.say(line))


async def test_an_imported_file_is_exported_unchanged(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await talk.say(START)
        card = put(tmp_path, "mira.png", a_png((b"tEXt", b"ccv3\0" + b64(V3))))
        await talk.say(f"/story import {card} {put(tmp_path, 'world.json', WORLD)}")
        await talk.say("/story cast Bo: a cook --style short")
        name, png = await out(talk, "/story export --as card --character mira")
        assert name == "Mira.png"
        found = read_file(png, name, Destination("local"))
        assert isinstance(found, Card)
        assert json.loads(found.sheet["card"]) == V3
        name, data = await out(talk, "/story export --as card-json --character Mira")
        assert json.loads(data) == V3
        name, data = await out(talk, "/story export --as card-json --character Bo")
        assert (name, json.loads(data)["data"]["description"]) == ("Bo.json", "a cook")
        name, data = await out(talk, "/story export --as lorebook")
        assert json.loads(data)["extensions"] == WORLD["extensions"]
        rows = list(json.loads(data)["entries"].values())
        assert [row["content"] for row in rows] == ["The lamp burns whale oil.", "It burns.", "It rains."]
        assert rows[1] == WORLD["entries"]["0"]
        assert "Whose card?" in str(await talk.say("/story export --as card"))
        await talk.say(f"/story import {put(tmp_path, 'storm.jsonl', lines(*CHAT))}")
        name, data = await out(talk, "/story export storm --as chat")
        assert name == "storm.jsonl"
        assert [json.loads(line) for line in data.decode().splitlines()] == CHAT


async def test_a_card_keeps_its_picture_until_its_importer_is_deleted(tmp_path: Path) -> None:
    pixels = zlib.compress(bytes(151))
    picture = a_png((b"tEXt", b"Title\0A diver"), (b"tEXt", b"ccv3\0" + b64(V3)), pixels=pixels)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("assets/icon/main.webp", b"a face")
        archive.writestr("card.json", json.dumps({**V3, "data": {**V3["data"], "name": "Bo"}}))  # type: ignore[dict-item]
    large = a_png((b"tEXt", b"chara\0" + b64({**V1, "name": "Io"})), pixels=b"x" * 8_000_000)
    async with playing(tmp_path, Writer()) as talk:
        alone = await talk.say(f"/story import {put(tmp_path, 'mira.png', picture)}")
        assert "is a story now" in texts(alone)
        assert await out(talk, "/story export Mira --as card") == ("Mira.png", picture)
        await talk.say(START)
        await talk.say(f"/story import {tmp_path}/mira.png {put(tmp_path, 'bo.charx', packed.getvalue())}")
        assert await out(talk, "/story export --as card --character mira") == ("Mira.png", picture)
        assert await out(talk, "/story export --as card --character bo") == ("Bo.charx", packed.getvalue())
        name, whole = await out(talk, "/story export --as json")
        taken = await talk.say(f"/story import {put(tmp_path, 'door.json', whole)}")
        await talk.say(choices(taken)[0]["command"])
        assert await out(talk, "/story export --as card --character mira") == ("Mira.png", picture)
        _, again = await out(talk, "/story export --as json")
        assert json.loads(again)["cards"] == json.loads(whole)["cards"]
        shared = read_story((await out(talk, "/story share"))[1], name, "another")
        assert {row.file for row in shared.card_rows()} == {picture, packed.getvalue()}
        name, of_picture = await out(talk, "/story export --as card-charx --character mira")
        assert (name, of_picture[:2]) == ("Mira.charx", b"PK")
        name, of_archive = await out(talk, "/story export --as card-png --character bo")
        assert (name, of_archive[1:4]) == ("Bo.png", b"PNG")
        await talk.say("/story cast Mira: A captain now.")
        await talk.say("/story cast Bo: A cook now.")
        name, changed = await out(talk, "/story export --as card --character mira")
        assert pixels in changed
        assert b"Title\0A diver" in changed
        card = read_file(changed, name, Destination("local"))
        assert isinstance(card, Card)
        assert card.sheet["about"] == "A captain now."
        _, changed = await out(talk, "/story export --as card --character bo")
        with zipfile.ZipFile(io.BytesIO(changed)) as archive:
            assert archive.read("assets/icon/main.webp") == b"a face"
            assert json.loads(archive.read("card.json"))["data"]["description"] == "A cook now."
        text = str(await talk.say(f"/story import {put(tmp_path, 'io.png', large)}"))
        assert "io.png is larger than 8 MB" in text
        assert len((await out(talk, "/story export --as card --character io"))[1]) < 100_000
        near = a_png((b"tEXt", b"chara\0" + b64({**V1, "name": "Jo"})), pixels=b"x" * 5_000_000)
        await talk.say(f"/story import {put(tmp_path, 'jo.png', near)}")
        assert "1 picture of cards is not in it" in str(await talk.say("/story export --as json"))
        await talk.say("/privacy delete --yes")
        assert talk.app is not None
        database = tmp_path / "data" / "sutradhar.db"
        with closing(sqlite3.connect(database)) as connection:
            assert connection.execute("SELECT count(*) FROM story_cards").fetchone() == (0,)


async def test_a_shared_story_keeps_its_prose_its_sheets_and_its_fight(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await talk.say(START)
        await talk.say("/story cast Mira: a captain")
        await talk.say("/story prose sparse --tense present")
        await talk.say("/story sheet --template 5e")
        await talk.say("/story sheet Mira hp 12/12; str 16; +poisoned 3")
        await talk.say("I knock.")
        await talk.say("/story sheet Mira hp -4")
        await talk.say("I run away.")
        await talk.say("/story sheet Mira hp -8")
        await talk.say("/story undo")
        await talk.say("/story initiative begin Mira 12, Rat 3")
        name, data = await out(talk, "/story share")
        found = read_story(data, name, "another")
        story = fold([Part(found.story.id)], found.nodes)
        assert story.settings["tense"] == "present"
        assert story.settings["prose_lines"]
        mira = sheet_of(story, "Mira")
        hit_points = mira.template.field("hp")
        assert hit_points is not None
        assert (mira.score(hit_points), mira.most[hit_points.key]) == (8, 12)
        assert [condition.name for condition in mira.conditions.values()] == ["poisoned"]
        assert story.initiative is not None
        assert [fighter.name for fighter in story.initiative.order] == ["Mira", "Rat"]


async def test_a_shared_export_has_only_what_was_told_and_the_full_one_is_for_the_owner(
    tmp_path: Path,
) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await talk.say(START.replace("The door", "The door."))
        await talk.say("/story direct A secret note.")
        await talk.say("/story safety --lines spiders")
        await talk.say("/story remember A secret pin.")
        await talk.say("I knock.")
        await talk.say("/story retry")
        await talk.say("I run away.")
        await talk.say("/story undo")
        name, data = await out(talk, "/story share")
        assert name == "The door.json"
        text = data.decode()
        for gone in ("secret", "I run away", "number 2.", '"author"'):
            assert gone not in text
        found = read_story(data, name, "another")
        story = fold([Part(found.story.id)], found.nodes)
        assert [turn.act.text for turn in story.current_turns] == ["", "I knock."]
        assert story.settings["lines"] == "spiders"
        assert [turn.scene.text for turn in story.current_turns if turn.scene] == [
            "This is what was written as number 1.",
            "This is what was written as number 3.",
        ]
        _, whole = await out(talk, "/story export --as json")
        assert b"I run away" in whole
        assert len(read_story(whole, name, "another").nodes) > len(found.nodes)
        name, book = await out(talk, "/story export")
        assert name == "The door.md"
        assert b"number 3." in book
        assert b"number 2." not in book
        name, book = await out(talk, "/story export --as epub")
        assert book[30:58] == b"mimetypeapplication/epub+zip"
        assert talk.app is not None
        place = Place("terminal", "local", "terminal", "t")
        bia: dict[str, Any] = {"options": {"as": "json"}, "locale": "en"}
        await talk.app.perform(Request("bia-1", place, Author("bia", "Bia"), "story", "export", **bia))
        await talk.app.ended("bia-1")
        assert "`/story share` gives you the story as it is now" in texts(talk.events) + str(talk.events[-3:])
