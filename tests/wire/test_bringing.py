"""Players import things on each of the three platforms, and use their own threads; a kill -9 duplicates nothing."""

from __future__ import annotations

import base64
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.kill.instants import ALL
from tests.wire.conftest import Take
from tests.wire.story import ANA, BIA
from tests.works.story.exchange.test_card import V3, a_png, b64
from tests.works.story.exchange.test_sillytavern import CHAT, lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

CARD = a_png((b"tEXt", b"ccv3\0" + b64(V3)))


async def brought(d: Any, platform: str, folder: Path, name: str, data: bytes) -> Any:
    if platform == "discord":
        return await d.command(ANA, "exchange import", file=(name, data))
    if platform == "slack":
        private_talk = d.told(d.people[ANA], d.channels[0])
        await d.slack.say(d.people[ANA], d.channels[0], "story import", mention=True, files=[(name, data)])
        return private_talk
    path = folder / name
    path.write_bytes(data)
    return await d.command(ANA, "story import", paths=str(path))


def shown(talk: Any) -> str:
    return "\n".join(talk.said())


def count(d: Any, table: str) -> int:
    with closing(sqlite3.connect(d.process.data / "sutradhar.db")) as database:
        return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.mark.parametrize("platform", ["discord", "slack", "terminal"])
async def test_a_card_that_is_attached_becomes_a_story(platform: str, take: Take, tmp_path: Path) -> None:
    d = await take(platform)
    runs = len(d.states())
    talk = await brought(d, platform, tmp_path, "mira.png", CARD)
    await d.rest(runs + 1)
    assert "3 greetings as versions of its first scene and 1 entry of lore" in shown(talk)
    bad = await brought(d, platform, tmp_path, "bare.png", a_png())
    await d.rest(runs + 2)
    assert "bare.png was not imported: it has no character card in it." in shown(bad)
    verb = "exchange export" if platform == "discord" else "story export"
    out = await d.command(ANA, verb, story="Mira", **{"as": "card-json"})
    await d.rest(runs + 3)
    if platform == "terminal":  # the exit code for programs: see docs/json.md
        [file] = [event for run in out.runs() for event in d._events(run) if event["event"] == "attachment"]
        name, data = file["name"], base64.b64decode(file["data"])
    else:
        [(name, data)] = [(file.name, file.data) for message in out.messages() for file in message.files]
    assert (name, json.loads(data)) == ("Mira.json", V3)
    d.check()


@pytest.mark.parametrize(
    "platform",
    ["discord", pytest.param("slack", marks=pytest.mark.skipif(not ALL, reason="make test-kill has it"))],
)
async def test_a_chat_import_cut_off_by_kill_9_becomes_one_story(
    platform: str, take: Take, tmp_path: Path
) -> None:
    d = await take(platform)
    runs, stories = len(d.states()), count(d, "stories")
    long = [{"name": "Ana", "is_user": True, "mes": f"Turn {n}."} for n in range(3_000)]
    talk = await brought(d, platform, tmp_path, "storm.jsonl", lines(*CHAT, *long))
    await d.until(lambda: len(d.states()) > runs)
    await d.restart()
    await d.rest(runs + 1)
    assert "“storm” is imported, with 3004 turns." in shown(talk)
    assert count(d, "stories") == stories + 1
    d.check()


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
async def test_a_card_and_lore_cut_off_by_kills_are_imported_once(take: Take, tmp_path: Path) -> None:
    d = await take("discord")
    runs, stories, cards = len(d.states()), count(d, "stories"), count(d, "story_cards")
    talk = await brought(d, "discord", tmp_path, "mira.png", CARD)
    await d.until(lambda: count(d, "stories") > stories)
    await d.restart()
    await d.rest(runs + 1)
    assert (count(d, "stories"), count(d, "story_cards")) == (stories + 1, cards + 1)
    assert "1 entry of lore" in shown(talk)
    opened = await d.command(ANA, "story open", story="Mira")
    await d.rest(runs + 2)
    nodes = count(d, "story_nodes")
    book = {"entries": [{"keys": [f"key {n}"], "content": f"Entry {n}."} for n in range(3_000)]}
    asked = await d.discord.slash(
        d.people[ANA], opened.home(), "exchange import", file=("world.json", json.dumps(book).encode())
    )
    for least in (200, 1_000, 2_000):
        await d.until(lambda: count(d, "story_nodes") >= nodes + least)  # noqa: B023
        await d.restart()
    await d.rest(runs + 3)
    assert "3000 entries of world.json" in shown(d.talk(asked, opened.home(), private=True))
    assert count(d, "story_nodes") == nodes + 3_000
    d.check()


async def test_a_discord_threads_opener_can_turn_it_into_a_story(take: Take) -> None:
    d = await take("discord")
    ana, bia = d.people[ANA], d.people[BIA]
    thread = d.discord.thread(ana, d.channels[0], "The siege", "The mill burns.")
    for n in range(105):
        await d.discord.say(bia if n % 2 else ana, thread, f"Said {n}.")
    runs = len(d.states())
    asked = await d.discord.slash(bia, thread, "exchange history")
    await d.rest(runs + 1)
    answer = d.talk(asked, thread, private=True)
    assert "“The siege” is imported, with 106 turns." in shown(answer)  # Bia is an admin
    asked = await d.discord.slash(ana, thread, "exchange history")
    await d.rest(runs + 2)
    assert "“The siege” is imported, with 106 turns." in shown(d.talk(asked, thread, private=True))
    cai = d.people["Cai"]
    asked = await d.discord.slash(cai, thread, "exchange history")
    await d.rest(runs + 3)
    assert "Only the person who began this thread" in shown(d.talk(asked, thread, private=True))
    asked = await d.discord.slash(ana, d.channels[0], "exchange history")
    await d.rest(runs + 4)
    assert "This is not a thread" in shown(d.talk(asked, d.channels[0], private=True))


async def test_a_slack_threads_opener_can_turn_it_into_a_story(take: Take) -> None:
    d = await take("slack")
    ana, bia, channel = d.people[ANA], d.people[BIA], d.channels[0]
    root = await d.slack.say(ana, channel, "The siege\nThe mill burns.")
    for n in range(210):
        await d.slack.say(bia if n % 2 else ana, channel, f"Said {n} to {ana.mention}.", thread=root)
    runs = len(d.states())
    private_talk = d.told(ana, channel, root)
    await d.slack.say(ana, channel, "story history", thread=root, mention=True)
    await d.rest(runs + 1)
    assert "“The siege” is imported, with 211 turns." in shown(private_talk)
    with closing(sqlite3.connect(d.process.data / "sutradhar.db")) as database:
        rows = database.execute(
            "SELECT author_id, body FROM story_nodes WHERE kind = 'act' ORDER BY seq DESC LIMIT 2"
        )
        bodies = [(author, json.loads(body)) for author, body in rows]
    assert [(author, body["name"], body["text"]) for author, body in bodies] == [
        (bia.id, BIA, f"Said 209 to @{ANA}."),
        (ana.id, ANA, f"Said 208 to @{ANA}."),
    ]


@pytest.mark.parametrize("platform", ["discord", "slack"])
async def test_a_thread_opened_by_the_bot_belongs_to_the_first_asker(platform: str, take: Take) -> None:
    d = await take(platform)
    runs = len(d.states())
    talk = await d.ask(ANA, "What happens to the speed of a grappled creature?")
    await d.rest(runs + 1)
    await d.say(BIA, talk, "So it cannot flee.")
    refused = await d.command("Cai", f"{'exchange' if platform == 'discord' else 'story'} history", talk=talk)
    await d.rest(runs + 2)
    assert "Only the person who began this thread" in shown(refused)
    answer = await d.command(ANA, f"{'exchange' if platform == 'discord' else 'story'} history", talk=talk)
    await d.rest(runs + 3)
    assert "is imported, with" in shown(answer)
    d.check()
