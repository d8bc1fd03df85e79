"""A story played line by line through the real application, with a scripted writer."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bot.budget import text_tokens
from bot.events import Author, File, Place, Request
from bot.kind import Typed
from bot.runs.requests import child_id
from bot.words import words
from bot.works.story.config import StoryConfig
from bot.works.story.exchange.json_export import exported
from bot.works.story.exchange.json_import import imported
from bot.works.story.log.logs import node
from storage.stories import Spot
from tests.fakes.reply import Reply
from tests.fakes.wires import WIRES
from tests.promises.talk import Events, Talk, settings, talking
from tests.works.story.tale import prose
from tests.works.story.writer import START, Writer, choices, last, playing, request, texts


async def test_a_table_plays(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        opening = await talk.say(START)
        assert "number 1" in texts(opening)
        assert [choice["label"] for choice in choices(opening)][:3] == [
            "Open the door.",
            "Call into the dark.",
            "Walk away.",
        ]
        second = await talk.say("I open the door.")
        assert "number 2" in texts(second)
        (spoken,) = (event for event in second if event["event"] == "speak")
        heard = ("This is what was written as number 2.", "scene", "narrator")
        assert (spoken["text"], spoken["key"], spoken["speaker"]) == heard
        assert "number 3" in texts(await talk.say("/story say Hello?"))
        assert "number 4" in texts(await talk.say("/story continue"))
        sent = [message["content"] for message in writer.scenes[-1]["messages"]]
        assert any("A lighthouse keeper" in text for text in sent)
        assert 'how="act">\nI open the door.' in "\n".join(sent)
        assert 'how="say">\nHello?' in "\n".join(sent)
        assert "This is what was written as number 3." in sent
        shown = texts(await talk.say("/story show"))
        assert "4 scenes" in shown


async def test_another_version_is_written_from_the_same_bytes(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say("I open the door.")
        again = await talk.say("/story retry")
        assert "number 3" in texts(again)
        assert writer.scenes[-1]["messages"] == writer.scenes[-2]["messages"]
        assert "◀ 2/2" in [choice["label"] for choice in choices(again)]
        await talk.say("/story direct Slower.")
        await talk.say("/story retry")
        assert writer.scenes[-1]["messages"] == writer.scenes[-2]["messages"], "not what was set since"
        assert "Version 2 of 3" in texts(await talk.say("/story flip back"))
        await talk.say("I go in.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert "number 3" in sent
        assert "number 2" not in sent
        assert "number 4" not in sent
        assert "Slower." in sent


async def test_a_story_takes_over_where_another_work_was_talked_to(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say("How long does a candle burn?")
        await talk.say(START)
        await talk.say("I wait.")
        assert "I wait." in last(writer.scenes[-1])


async def test_undo_redo_and_an_edit(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say("I open the door.")
        await talk.say("/story undo")
        await talk.say("I walk away.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert "I open the door." not in sent
        assert "nothing to bring back" in str(await talk.say("/story redo"))
        await talk.say("/story undo")
        assert "number 4" in texts(await talk.say("/story continue"))
        await talk.say("/story undo")
        await talk.say("I walk away.")
        await talk.say("/story edit The gulls are silent.")
        await talk.say("I listen.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert "The gulls are silent." in sent
        assert "number 5" not in sent


async def test_a_branch_shares_its_past_and_nothing_else(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say("I open the door.")
        await talk.say("/story remember The lamp is out.")
        await talk.say("/story fork shut --scene 1")
        await talk.say("I leave it shut.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert "number 1" in sent
        assert "I open the door." not in sent
        assert "The lamp is out." not in sent
        await talk.say("/story switch main")
        await talk.say("I go in.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert "I open the door." in sent
        assert "I leave it shut." not in sent
        tree = await talk.say("/story branches")
        assert re.search(r"- \*\*main\*\* ← you are here.*\n  - \*\*shut\*\*", texts(tree))
        assert any(event["event"] == "picture" for event in tree)


async def test_talk_and_questions_stay_out_of_the_story(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say("((back in five minutes))")
        await talk.say("/story ooc And me, too.")
        writer.next.append(Reply("It is a door in the sea."))
        assert "It is a door in the sea." in texts(await talk.say("/story ask What is it?"))
        writer.next.append(Reply("", finish="refusal"))
        assert "declined to answer" in str(await talk.say("/story ask Who drowned there?"))
        await talk.say("I wait.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        for talked in ("five minutes", "me, too", "What is it?", "It is a door"):
            assert talked not in sent


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("/story start 🗝️🌊", "needs a premise"),
        ("/story start " + "a b " * 25_000, "has 100012 characters"),
        ("/story act I wait.", "No story is played here"),
        ("/story undo", "No story is played here"),
    ],
)
async def test_bad_input_gets_a_sentence(
    tmp_path: Path, writer: Writer, line: str, sentence: str | None
) -> None:
    async with playing(tmp_path, writer) as talk:
        events = await talk.say(line)
        failed = [event for event in events if event["event"] == "failed"]
        assert len(failed) == 1
        assert sentence is None or sentence in failed[0]["text"]
        assert not writer.asked


async def test_a_writer_that_fails_loses_no_turn(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        for reply, said in (
            (Reply(pieces=["  "]), "wrote nothing"),
            (Reply("A scene that stops in the", finish="length"), "cut off here"),
            (Reply("I would rather", finish="refusal"), "nobody's fault"),
            (Reply(status=500, times=9), "Your turn is kept"),
            (Reply("Half of a scene", fault="drop"), "cut off in the middle"),
            (Reply("This is what was written as number 1."), "repeated the last scene"),
        ):
            writer.numbers = count(1)
            await talk.say(START)
            writer.next += [reply] * reply.times
            assert said in str(await talk.say("I open the door."))
            writer.next.clear()
            await talk.say("/story retry")
            assert "I open the door." in str(writer.scenes[-1]["messages"]), said


async def test_garbage_for_choices_leaves_ones_own_words(tmp_path: Path, writer: Writer) -> None:
    writer.choices = "…\n***\n" + "x" * 500
    async with playing(tmp_path, writer) as talk:
        opening = await talk.say(START)
        assert choices(opening)[0]["label"] == "Something else…"


async def test_one_after_the_other(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        assert "one after the other" in texts(await talk.say("/story mode round-robin"))
        assert "There is no mode" in str(await talk.say("/story mode chaos"))
        await talk.say("I knock.")
        assert "Nobody's turn is pending" in str(await talk.say("/story pass"))


async def test_dice_are_rolled_by_code_and_seen_by_the_writer(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        played = await talk.say("I climb down the wet rope. check Athletics +2 dc 1")
        assert "**Athletics**, DC 1:" in texts(played)
        assert re.search(
            r"<dice>check Athletics: 1d20 \+ 2, total \d+, DC 1, success by \d+", last(writer.scenes[-1])
        )
        dice = texts(played).partition("🎲 ")[2].splitlines()[0]
        assert f"🎲 {dice}" in texts(await talk.say("/story retry")), "another version is of the same dice"
        assert "more than 100 dice" in str(await talk.say("I throw [[999d6]]."))


async def test_the_lorebook_comes_up_by_its_keywords(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say("/story lore lamp, lantern: The lamp burns whale oil.")
        await talk.say("/story lore gull: Gulls know the way.")
        await talk.say("/story lore --always -- : The sea has no bottom.")
        await talk.say("I lift the LANTERN.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert "whale oil" in sent
        assert "Gulls know" not in sent
        assert sent.index("no bottom") < sent.index("whale oil")
        assert "3. **always**" in texts(await talk.say("/story lore"))
        assert "removed from the lorebook" in texts(await talk.say("/story lore --remove 1"))


async def test_two_of_the_cast_deal_with_each_other_by_a_preset(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START + " --cast 'Mira: a diver; Bo'")
        await talk.say("/story relation Mira, Bo: rivals")
        assert "There is no preset" in str(await talk.say("/story relation Mira, Bo: dancers"))
        await talk.say("/story cast Mira --style 'short, dry sentences' --player you")
        await talk.say("I wait.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert "<relations>" in sent
        assert '<style of="Mira">short, dry sentences</style>' in sent
        assert "Mira" in texts(await talk.say("/story relation"))


async def test_ideas_are_kept_and_one_can_become_a_story(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        writer.next.append(Reply(pieces=["- A heist in a library.\n- A choir of bees."]))
        thought = await talk.say("/story ideas something odd")
        assert [choice["command"] for choice in choices(thought)] == [
            "/story start -- A heist in a library.",
            "/story start -- A choir of bees.",
            "/story ideas --further",
        ]


async def test_an_admin_gets_the_last_prompts_as_files(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say("I open the door.")
        files = [event for event in await talk.say("/story prompt") if event["event"] == "attachment"]
        assert [file["name"] for file in files] == ["prompt_sent.json", "prompt_sent_choices.json"]


async def test_a_vote_is_counted_by_going_on(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START + " --mode vote")
        assert "Nobody has voted yet" in str(await talk.say("/story continue"))
        await talk.say("I open the door.")
        assert "I open the door." in last(writer.scenes[-1])


async def test_a_turn_that_a_crash_has_taken_again_is_taken_once(tmp_path: Path, writer: Writer) -> None:
    """As if the process had been killed between the turn's node and the step's end."""
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        assert talk.app is not None
        place = Place("terminal", "local", "terminal", "t")
        work: Any = talk.app.works["story"]
        act = Request("twice", place, Author("a", "A"), "story", "act", text="I knock.")
        first = await work.scene_verbs._act(act)
        again = await work.scene_verbs._act(act)
        assert again == first
        assert first.n == 2
        undo = Request("back", place, Author("a", "A"), "story", "undo")
        done = await work.table._versions.undo(undo, words("en"))
        assert await work.table._versions.undo(undo, words("en")) == done
        assert "1 scenes" not in texts(await talk.say("/story show"))
        assert "1 scene on" in texts(await talk.say("/story show"))


async def reworded(talk: Talk, run: str, text: str, edit: str) -> Events:
    """What is shown because a message was edited."""
    assert talk.app is not None
    start = len(talk.events)
    assert await talk.app.reword("local", run, text, edit)
    past = await talk.app.request_of("local", run)
    assert past is not None
    await talk.app.ended(child_id(past, f"edit/{edit}"))
    return talk.events[start:]


async def test_an_edit_of_an_earlier_turn_is_asked_about_and_decided_once(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        run = (await talk.say("I knock on the red door. [[10d20]]"))[-1]["run"]
        await talk.say("I wait.")
        await talk.say("I listen.")
        assert talk.app is not None
        first = await reworded(talk, run, "I knock on the blue door. [[10d20]]", "1")
        asked = await reworded(talk, run, "I knock on the green door. [[10d20]]", "2")
        assert "2 more scenes were written" in texts(asked)
        assert "green" not in str(writer.asked), "nothing has changed yet"
        branch, words_only, leave = [choice["command"] for choice in choices(asked)]
        assert leave == ""
        await talk.say(branch)
        anew = writer.scenes[-1]
        assert "green door" in last(anew)
        assert "I wait." not in str(anew)
        dice = [re.findall(r"<dice>.*?</dice>", last(one)) for one in (writer.scenes[1], anew)]
        assert dice[0] == dice[1] != [], "they stay as they fell"
        shown = texts(await talk.say("/story show"))
        assert "2 scenes on the branch “scene 2, in other words”" in shown
        await talk.say("/story switch main")
        refused = await talk.app.perform(
            request("late", words_only[len("/story reword ") :], verb="reword", answers=asked[0]["run"])
        )
        assert await refused.wait() == "failed"
        decided = [event for event in talk.events if event["run"] == "late"]
        assert "already been decided" in texts(decided) + str(decided)
        way = choices(first)[1]["command"][len("/story reword ") :]
        only = request("only", way, verb="reword", answers=first[0]["run"])
        assert await (await talk.app.perform(only)).wait() == "done"
        await talk.say("I turn back.")
        assert "green door" in str(writer.scenes[-1]), "an earlier question means the words of now"
        assert "red door" not in str(writer.scenes[-1])
        assert "I wait." in str(writer.scenes[-1])
        assert await talk.app.forget("local", run)
        await talk.say("I sit down.")
        assert "green door" not in str(writer.scenes[-1])


async def test_an_edited_message_words_its_turn_anew_a_deleted_one_blanks_it(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        run = (await talk.say("I knock on the red door."))[-1]["run"]
        assert talk.app is not None
        edited = await reworded(talk, run, "I knock on the green door.", "1")
        assert "The turn of scene 2 now has the new words." in texts(edited)
        assert [choice["command"] for choice in choices(edited)] == ["/story retry"]
        assert await reworded(talk, run, "I knock on the green door.", "1") == [], "told of twice"
        await talk.say("/story retry")
        assert "green door" in last(writer.scenes[-1])
        assert "red door" not in str(writer.scenes[-1])
        await talk.say("I wait.")
        asked = await reworded(talk, run, "I run.", "2")
        assert "1 more scene was written after it. Nothing has changed yet." in texts(asked)
        assert await talk.app.forget("local", run)
        await talk.say("I listen.")
        sent = str(writer.scenes[-1])
        assert "green door" not in sent
        assert "red door" not in sent
        assert "number 3" in sent, "the scene stays"
        data = (tmp_path / "data" / "sutradhar.db").read_bytes() + (
            tmp_path / "data" / "engine.db"
        ).read_bytes()
        assert b"red door" not in data


async def test_players_take_turns_in_their_order_and_one_can_be_passed(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START + " --mode round-robin")
        assert talk.app is not None

        async def act(id: str, who: str) -> str:
            assert talk.app is not None
            return await (await talk.app.perform(request(id, "I wait.", who=who))).wait()

        assert [await act("1", "Ana"), await act("2", "Bia")] == ["done", "done"]
        assert await act("3", "Bia") == "failed"
        assert "It is Ana's turn." in str(talk.events[-2])
        assert "next is Bia" in texts(await talk.say("/story pass"))
        assert await act("4", "Bia") == "done"


async def test_a_game_master_hears_what_others_want_and_makes_it_happen(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START + " --mode gm")
        assert talk.app is not None
        await (await talk.app.perform(request("1", "I want to dive.", who="Bia"))).wait()
        assert len(writer.scenes) == 1
        await talk.say("The tide turns.")
        assert '<intent by="Bia">I want to dive.</intent>' in last(writer.scenes[-1])


async def test_the_votes_are_counted_and_the_winner_is_played(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        run = (await talk.say(START + " --mode vote"))[-1]["run"]
        assert talk.app is not None
        votes = talk.app.records.votes
        for who, n in (("ana", 0), ("bia", 1), ("cai", 1)):
            await votes.give("local", run, 0, who, n)
        played = texts(await talk.say("/story continue"))
        assert "2 of 3 votes for: Call into the dark." in played
        assert "Call into the dark." in last(writer.scenes[-1])


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_two_hundred_turns_by_three_players_come_in_order_and_once(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        assert talk.app is not None
        tickets = []
        for n in range(200):
            asked = request(f"turn{n}", f"This is turn {n}.", who=("Ana", "Bia", "Cai")[n % 3])
            tickets.append(await talk.app.perform(asked))
            if n % 7 == 0:
                assert not (await talk.app.perform(asked)).fresh, "a redelivery"
        assert {await ticket.wait() for ticket in tickets} == {"done"}
        taken = [re.findall(r"This is turn (\d+)\.", last(asked))[-1] for asked in writer.scenes[1:]]
        assert taken == [str(n) for n in range(200)]
        played = await talk.app.works["story"].table._logs.here(Place("terminal", "local", "terminal", "t"))  # type: ignore[attr-defined]
        assert [turn.act.text for turn in played.story.current_turns[1:]] == [
            f"This is turn {n}." for n in range(200)
        ]
        assert all(len(turn.scenes) == 1 for turn in played.story.current_turns)


async def test_a_story_is_open_to_who_began_it_or_took_a_turn_and_where_it_is_played(
    tmp_path: Path, writer: Writer
) -> None:
    """Threads of one channel may be private, so that a story is not the whole channel's."""
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
        whole = await stories.whole("local", row.id)
        assert whole is not None
        copy = imported(exported(*whole).encode(), "story.json", "local")
        await stories.take_in(copy.story, copy.branches, copy.nodes, copy.bodies)
        hers = Spot("local", "terminal", "terminal", "hers")
        assert copy.story.id in [story.id for story in await stories.open_to("local", "bia", hers)]
        await stories.play(hers, copy.story.id, copy.story.id, "opened")
        assert [story.id for story in await stories.open_to("local", "bia", hers)] == [copy.story.id]
        await stories.play(hers, row.id, row.id, "another")
        assert copy.story.id not in [story.id for story in await stories.open_to("local", "cai")]


async def test_a_story_that_is_taken_back_loses_its_title_and_can_still_be_opened(
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


async def test_ideas_that_were_kept_can_be_read_again(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        writer.next = [Reply(pieces=["- A storm of moths.\n- The sea freezes."])]
        await talk.say("/story ideas weather")
        assert "- A storm of moths." in texts(await talk.say("/story show"))


async def test_a_turn_that_is_worded_anew_keeps_its_dice(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        run = (await talk.say("I leap over the gap. [[10d20]]"))[-1]["run"]
        rolled = re.findall(r"<dice>.*?</dice>", last(writer.scenes[-1]))
        assert rolled
        assert talk.app is not None
        await reworded(talk, run, "I climb down into the gap. [[10d20]]", "1")
        await talk.say("/story retry")
        assert "I climb down" in last(writer.scenes[-1])
        assert re.findall(r"<dice>.*?</dice>", last(writer.scenes[-1])) == rolled


async def test_a_version_that_was_flipped_to_has_no_votes_to_count(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START + " --mode vote")
        await talk.say("/story retry")
        await talk.say("/story flip back")
        again = next(event["run"] for event in reversed(talk.events) if event["event"] == "choices")
        assert talk.app is not None
        await talk.app.records.votes.give("local", again, 0, "ana", 2)
        before = len(writer.scenes)
        await talk.say("/story continue")
        assert len(writer.scenes) == before
        assert "Walk away." not in last(writer.scenes[-1])


def elsewhere(id: str, who: str, verb: str, text: str = "") -> Request:
    place = Place("terminal", "local", "terminal", "elsewhere")
    return Request(id, place, Author(who, who), "story", verb, text=text)


async def ended(talk: Talk, asked: Request) -> Events:
    assert talk.app is not None
    await (await talk.app.perform(asked)).wait()
    return [event for event in talk.events if event["run"] == asked.id]


async def test_a_branch_is_played_in_one_thread_and_taken_back_with_a_press(
    tmp_path: Path, writer: Writer
) -> None:
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


async def test_two_threads_that_play_one_branch_at_once_mix_no_turns(tmp_path: Path, writer: Writer) -> None:
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
        played = await talk.app.works["story"].table._logs.here(Place("terminal", "local", "terminal", "t"))  # type: ignore[attr-defined]
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


async def test_without_a_premise_a_terminal_asks_for_it_on_the_next_line(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        asked = await talk.say("/story start --tone eerie")
        assert "What the story is about:" in asked[0]["text"]
        assert "number 1" in texts(await talk.say("A door in the sea --title is no option here"))
        shown = texts(await talk.say("/story show"))
        assert "A door in the sea --title is no option here" in shown
        assert "eerie" in shown


async def test_a_character_is_made_by_a_form(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        (new,) = choices(await talk.say("/story cast"))
        assert (new["command"], new["form"]) == ("/story cast", True)
        assert "is in the cast" in texts(
            await talk.say(
                "/story cast Mira --about a diver --player Ana --picture https://example.org/mira.png"
            )
        )
        assert "**Mira** (played by Ana): a diver" in texts(await talk.say("/story cast"))
        refused = await talk.say("/story cast Mira --picture mira.png")
        assert "must be a web address" in refused[0]["text"]


async def test_a_branch_has_a_thread_of_its_own_and_the_old_one_goes_on(
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


async def test_nobody_types_what_a_run_begins(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        (refused,) = [event for event in await talk.say("/story opened") if event["event"] == "failed"]
        assert "opened" in refused["text"]


async def test_what_is_too_long_is_told_and_the_story_stays(tmp_path: Path, writer: Writer) -> None:
    """A hundred thousand characters, as a platform's form or paste may bring them, and typed in a terminal."""
    async with playing(tmp_path, writer) as talk:
        long = "I go on " * 12_500
        await talk.say("/story show")
        begun = await ended(talk, request("begins", long, verb="start"))
        assert "That premise has 99999 characters; the limit is 8000." in str(begun)
        assert choices(await ended(talk, request("empty", "", verb="start")))[0]["form"]
        assert not writer.asked
        await talk.say(START)
        for verb in ("act", "say"):
            told = await ended(talk, request(f"long-{verb}", long, verb=verb))
            assert "That turn has 99999 characters; the limit is 4000." in str(told)
        assert "has 100010 characters" in str(await talk.say(f"/story act {long}"))
        assert len(writer.scenes) == 1
        assert "number 2" in texts(await talk.say("I go on."))


async def test_a_file_is_no_turn_and_nothing_of_it_is_told(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        (tmp_path / "turn.txt").write_text("I go on. " * 11_112)
        file = File("turn.txt", str(tmp_path / "turn.txt"), 100_008)
        alone = await ended(talk, replace(request("alone", ""), files=(file,)))
        assert "I don't read files as turns" in str(alone)
        assert len(writer.scenes) == 1
        beside = await ended(talk, replace(request("beside", "I wait."), files=(file,)))
        assert "only your own text counts" in str(beside)
        assert "number 2" in texts(beside)
        assert "I go on." not in str(writer.scenes[-1])


@pytest.mark.slow
async def test_a_lorebook_of_ten_thousand_entries_stays_within_its_share(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        run = (await talk.say(START))[-1]["run"]
        assert talk.app is not None
        entries = [
            {"keys": ["lamp" if n < 3_000 else f"key{n}"], "content": f"Entry {n}: {prose(n, 30)}"}
            for n in range(10_000)
        ]
        nodes = [
            node("lore", f"{n}", "lore", {"id": str(n), "entry": entry}, author="ana")
            for n, entry in enumerate(entries)
        ]
        await talk.app.resources.stories.append("local", run, run, nodes)
        await talk.say("I wait.")
        began = time.process_time()
        assert "number 3" in texts(await talk.say("I lift the lamp."))
        assert time.process_time() - began < 5
        contents = [message["content"] for message in writer.scenes[-1]["messages"]]
        numbers = [int(number) for number in re.findall(r"Entry (\d+):", contents[-1])]
        assert 50 < len(numbers) < 3_000
        assert max(numbers) < 3_000
        config = talk.app.config.section(StoryConfig)
        assert text_tokens(contents[-1]) < config.window * config.lore_share + 500
        assert sum(map(text_tokens, contents)) < config.window * config.share


async def test_a_place_and_a_person_have_their_own_settings_in_a_story(tmp_path: Path) -> None:
    first, second = Writer(), Writer()
    async with (
        WIRES["chat"].service(first) as one,
        WIRES["chat"].service(second) as other,
        talking(settings(tmp_path / "data", one, other)) as talk,
    ):
        await talk.say(START)
        assert (len(first.scenes), len(second.scenes)) == (1, 0)
        await talk.say("/settings set model.writer second:small --for channel")
        await talk.say("/settings set language pt-BR")
        played = await talk.say("I open the door.")
        assert (len(first.scenes), len(second.scenes)) == (1, 1)
        assert "Cena 2" in str(played)
        assert "Siga" in str(choices(played))
        await talk.say("/settings reset model.writer --for channel")
        await talk.say("/story retry")
        assert (len(first.scenes), len(second.scenes)) == (2, 1)


async def test_a_scene_is_hushed_before_another_version_of_it_and_once_it_counts_no_more(
    tmp_path: Path, writer: Writer
) -> None:
    hushed: asyncio.Queue[tuple[str, str, int]] = asyncio.Queue()

    async def hush(request: Request, stage: str) -> None:
        hushed.put_nowait((request.id, stage, len(writer.scenes)))

    async with playing(tmp_path, writer) as talk:
        first = await talk.say(START)
        assert talk.app is not None
        talk.app.attach(replace(talk.app.platforms["terminal"], hush=hush))
        second = await talk.say("/story retry")
        assert hushed.get_nowait() == (first[0]["run"], "scene", 1), "before the other one is asked for"
        for command in ("/story flip back", "/story edit It rains.", "/story undo"):
            await talk.say(command)
            assert hushed.get_nowait()[:2] == (second[0]["run"], "scene"), command
        await talk.say("/story redo")
        assert hushed.empty()
        await talk.say("/story stopcard")
        async with asyncio.timeout(60):
            while (await hushed.get())[0] != second[0]["run"]:
                pass  # the version before, once more
