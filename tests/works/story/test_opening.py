"""Who may open a story, and the one thread in which a branch is played."""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path

from bot.events import Author, Place, Request
from bot.kind import Typed
from bot.works.story.exchange.json_export import export_json
from bot.works.story.exchange.json_import import read_story
from storage.stories import Spot
from tests.fakes.wires import WIRES
from tests.promises.talk import settings, talking
from tests.works.story.writer import START, Writer, choices, ended, last, playing, request, texts


async def test_a_story_can_be_opened_by_its_author_its_players_and_in_its_place(
    tmp_path: Path, writer: Writer
) -> None:
    """Threads of one channel may be private, so a story does not belong to the whole channel."""
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        assert talk.app is not None
        asked = count()

        async def by(who: str, thread: str, verb: str, text: str = "") -> str:
            place = Place("terminal", "local", "terminal", thread)
            run = Request(f"asked-{next(asked)}", place, Author(who, who), "story", verb, text=text)
            await (await talk.app.perform(run)).wait()  # type: ignore[union-attr]
            return str([event for event in talk.events if event["run"] == run.id])

        async def completed(who: str) -> bool:
            assert talk.app is not None
            return "The door" in await talk.app.complete("story", Typed("local", "", author=who))

        assert "**The door**" not in await by("bia", "hers", "open")
        assert "number 1" not in await by("bia", "hers", "open", "The door")
        assert "**The door**" in await by("bia", "t", "open")
        assert not await completed("bia")
        await by("bia", "t", "act", "I knock.")
        assert "**The door**" in await by("bia", "hers", "open")
        assert await completed("bia")
        await by("ana", "t", "start", "Another story in the same thread")
        assert "**The door**" not in await by("cai", "hers", "open"), "played nowhere is not played by nobody"
        (row,) = [row for row in await talk.app.resources.stories.all("local") if row.title == "The door"]
        assert await completed(row.author_id)


async def test_an_imported_story_is_anybodys_until_somebody_opens_it(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        assert talk.app is not None
        stories = talk.app.resources.stories
        (row,) = await stories.all("local")
        whole = await stories.load("local", row.id)
        assert whole is not None
        copy = read_story(export_json(*whole).encode(), "story.json", "local")
        await stories.import_story(copy.story, copy.branches, copy.nodes, copy.bodies)
        hers = Spot("local", "terminal", "terminal", "hers")
        assert copy.story.id in [story.id for story in await stories.open_to("local", "bia", hers)]
        await stories.play(hers, copy.story.id, copy.story.id, "opened")
        assert [story.id for story in await stories.open_to("local", "bia", hers)] == [copy.story.id]
        await stories.play(hers, row.id, row.id, "another")
        assert copy.story.id not in [story.id for story in await stories.open_to("local", "cai")]


async def test_a_story_whose_start_is_undone_loses_its_title_and_can_still_be_opened(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        run = (await talk.say(START + " --cast Mira"))[-1]["run"]
        fork = (await talk.say("/story fork The secret way"))[-1]["run"]
        assert talk.app is not None
        await talk.app.forget("local", run)
        await talk.app.forget("local", fork)
        text = str(await talk.say("/story open")) + str(await talk.say("/story branches"))
        assert "Untitled story" in text
        assert "The door" not in text
        assert "secret way" not in text


def elsewhere(id: str, who: str, verb: str, text: str = "") -> Request:
    place = Place("terminal", "local", "terminal", "elsewhere")
    return Request(id, place, Author(who, who), "story", verb, text=text)


async def test_a_branch_is_played_in_one_thread_and_a_button_moves_it(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        (await ended(talk, request("knocks", "I knock.", who="Bia")))
        assert "number 2" in texts(await ended(talk, elsewhere("opens", "bia", "open", "The door")))
        assert "number 3" in texts(await ended(talk, elsewhere("acts", "bia", "act", "I go in.")))
        forgets = request("forgets", "a-node", verb="forget", answers="knocks")
        assert "played in another thread" in texts(await ended(talk, forgets))
        world = tmp_path / "world.json"
        await asyncio.to_thread(
            world.write_text, '{"entries": {"0": {"key": ["lamp"], "content": "It burns oil."}}}'
        )
        assert "played in another thread" in str(await talk.say(f"/story import {world}"))
        for line in ("I wait.", "/story undo", "/story direct Slower.", "/story cast all", "/story retry"):
            events = await talk.say(line)
            assert "played in another thread" in texts(events)
            (link,) = [event for event in events if event["event"] == "link"]
            assert link["title"] == "where it continues"
        back, fork = [choice["command"] for choice in choices(events)]
        assert "3 scenes on" in texts(await talk.say("/story show"))
        await talk.say(fork)
        assert "number 4" in texts(await talk.say("I wait."))
        assert "number 5" in texts(await ended(talk, elsewhere("on", "bia", "continue")))
        await talk.say("/story switch main")
        assert "number 6" in texts(await talk.say("I wait."))
        assert back.startswith("/story switch ")
        assert "played in another thread" in texts(
            await ended(talk, elsewhere("late", "bia", "act", "I rest."))
        )
        assert "number 7" in texts(await talk.say("I wait."))


async def test_two_threads_that_play_one_branch_at_once_do_not_mix_turns(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await ended(talk, request("knocks", "I knock.", who="Bia"))
        assert talk.app is not None
        (row,) = await talk.app.resources.stories.all("local")
        asked = [elsewhere("opens", "bia", "open", "The door")]
        for n in range(15):  # each order with each taking over, once
            here = request(f"here-{n}", f"Ana's turn {n}.")
            there = elsewhere(f"there-{n}", "bia", "act", f"Bia's turn {n}.")
            asked += [here, there] if n % 3 else [there, here]
            if n % 5 == 0:
                asked.append(elsewhere(f"takes-{n}", "bia", "switch", row.alias))
            if n % 5 == 2:
                asked.append(request(f"takes-{n}", row.alias, verb="switch"))
        tickets = [await talk.app.perform(request) for request in asked]
        assert {await ticket.wait() for ticket in tickets} == {"done"}
        shown = {
            request.text: texts([event for event in talk.events if event["run"] == request.id])
            for request in asked
            if request.verb == "act"
        }
        terminal = Place("terminal", "local", "terminal", "t")
        played = await talk.app.works["story"].table._logs.played_in(terminal)  # type: ignore[attr-defined]
        told = [turn.act.text for turn in played.story.current_turns[2:]]
        assert sorted(told) == sorted(text for text, said in shown.items() if "number" in said)
        assert all("number" in said or "another thread" in said for said in shown.values())
        assert {text[:3] for text in told} == {"Ana", "Bia"}
        for name in ("Ana", "Bia"):
            numbers = [int(text.split()[-1][:-1]) for text in told if text.startswith(name)]
            assert numbers == sorted(numbers)
        for n, scene in enumerate(played.story.current_turns[1:], 1):
            before = played.story.current_turns[n - 1].scene
            assert before.text in [message["content"] for message in writer.scenes[n]["messages"]], scene.act


async def test_a_new_branch_has_its_own_thread_and_the_old_one_continues(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say("I knock.")
        forked = await talk.say("/story fork The door stays shut --scene 1 --thread")
        assert "in its own thread" in texts(forked)
        (there,) = [event["place"]["thread"] for event in forked if event["event"] == "elsewhere"]
        assert there.startswith("the-door-stays-shut-")
        await talk.until(lambda events: any(event["event"] == "changed" for event in events))
        assert not [event for event in talk.events if event.get("title") == "where it comes from"], (
            "unseen here"
        )
        await talk.say("I wait.")
        assert "I knock." in str(writer.scenes[-1])
    async with WIRES["chat"].service(writer) as service:
        config = settings(tmp_path / "data", service)
        async with talking(config, thread=there) as talk:
            assert "1 scene on the branch “The door stays shut”" in texts(await talk.say("/story show"))
            await talk.say("I turn back.")
            assert "I turn back." in last(writer.scenes[-1])
            assert "I knock." not in str(writer.scenes[-1])
