"""The author edits or deletes the message of a turn after it was played."""

from __future__ import annotations

import re
from pathlib import Path

from bot.runs.requests import child_id
from tests.promises.talk import Events, Talk
from tests.works.story.writer import START, Writer, choices, last, playing, request, texts


async def reworded(talk: Talk, run: str, text: str, edit: str) -> Events:
    """What is shown after a message was edited."""
    assert talk.app is not None
    start = len(talk.events)
    assert await talk.app.reword("local", run, text, edit)
    past = await talk.app.request_of("local", run)
    assert past is not None
    await talk.app.ended(child_id(past, f"edit/{edit}"))
    return talk.events[start:]


async def test_the_bot_asks_about_an_edit_of_an_earlier_turn_and_it_is_decided_once(
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
        new_prompt = writer.scenes[-1]
        assert "green door" in last(new_prompt)
        assert "I wait." not in str(new_prompt)
        dice = [re.findall(r"<dice>.*?</dice>", last(one)) for one in (writer.scenes[1], new_prompt)]
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


async def test_an_edited_message_rewords_its_turn_and_a_deleted_one_blanks_it(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        run = (await talk.say("I knock on the red door."))[-1]["run"]
        assert talk.app is not None
        edited = await reworded(talk, run, "I knock on the green door.", "1")
        assert "The turn of scene 2 now has the new words." in texts(edited)
        assert [choice["command"] for choice in choices(edited)] == ["/story retry"]
        assert await reworded(talk, run, "I knock on the green door.", "1") == [], "the event came twice"
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


async def test_talk_outside_the_story_never_becomes_words_of_a_turn(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        run = (await talk.say("I knock on the red door."))[-1]["run"]
        edited = await reworded(talk, run, "((I order pizza, is that all right?))", "1")
        assert "outside of the story. Its turn keeps the earlier words" in texts(edited)
        await talk.say("I wait.")
        assert "red door" in str(writer.scenes[-1])
        branch = choices(await reworded(talk, run, "I knock on the green door.", "2"))[0]["command"]
        assert "outside of the story" in texts(await reworded(talk, run, "(OOC: pizza it is)", "3"))
        assert "outside of the story" in str(await talk.say(branch))
        await talk.say("I listen.")
        assert "pizza" not in str(writer.asked)


async def test_a_reworded_turn_keeps_its_dice(tmp_path: Path, writer: Writer) -> None:
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
