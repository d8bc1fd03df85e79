"""What players can ask a story's memory: moments with their reasons, pins, what to recall no more, and
recaps.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from bot.budget import text_tokens
from bot.prompts import PromptFile
from bot.works.story.turn.recap import OWN_TURN, RecapRange, recap_prompt
from bot.works.story.turn.turn_plan import TurnPlan
from tests.fakes.reply import Body, Reply
from tests.promises.talk import Events
from tests.works.story.tale import Tale, prose
from tests.works.story.writer import START, Writer, choices, last, playing, texts

DRESS = "At the rooftop party Mira wears the red sundress."


def failed(events: Events) -> str:
    (sentence,) = (str(event["text"]) for event in events if event["event"] == "failed")
    return sentence


async def test_a_moment_is_found_with_its_scene_and_why(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        assert "No story" in failed(await talk.say("/story recall the sundress"))
        await talk.say(START)
        writer.next.append(Reply(DRESS))
        await talk.say("We climb to the roof.")
        await talk.say("I look down.")
        events = await talk.say("/story recall what was the sundress like?")
        assert "**Scene 2** · same words" in texts(events)
        assert f"> {DRESS}" in texts(events)
        assert any(event["event"] == "link" for event in events), events
        assert "The story says nothing about that" in texts(await talk.say("/story recall xylophones"))
        assert "3 scenes" in texts(await talk.say("/story show")), "to recall is no turn"


async def test_a_button_pins_a_moment_or_stops_recalling_it(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        writer.next.append(Reply(DRESS))
        await talk.say("We climb to the roof.")
        offered = choices(await talk.say("/story recall sundress"))
        await talk.say(next(choice["command"] for choice in offered if choice["label"] == "Pin 1"))
        assert "red sundress" in texts(await talk.say("/story remember"))
        await talk.say("I go on.")
        assert "<memories>" in str(writer.scenes[-1]["messages"])
        assert "no longer recall" in texts(
            await talk.say(next(choice["command"] for choice in offered if choice["label"] == "Forget 1"))
        )
        assert DRESS not in texts(await talk.say("/story recall sundress"))
        assert DRESS in str(writer.scenes[-1]["messages"]), "the story itself is as it was"


async def test_a_recap_covers_the_requested_scenes(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        writer.next.append(Reply(DRESS))
        await talk.say("We climb to the roof.")
        await talk.say("I look down.")

        def recapped() -> Body:
            return writer.asked[-1]

        writer.next.append(Reply("You climbed, and looked."))
        assert "You climbed" in texts(await talk.say("/story recap 2 --words 50"))
        asked = last(recapped())
        assert DRESS in asked
        assert "This is what was written as number 1." not in asked
        assert "about 50 words" in str(recapped()["messages"])
        writer.next.append(Reply("All of it."))
        await talk.say("/story recap")
        assert "This is what was written as number 1." in last(recapped())
        writer.next.append(Reply("Only half of", finish="SAFETY"))
        assert "declined to answer" in str(await talk.say("/story recap"))
        writer.next.append(Reply("You looked."))
        one = await talk.say("/story recap 3")
        assert [event["title"] for event in one if event["event"] == "stage"] == ["Scene 3"]
        assert "9" in failed(await talk.say("/story recap 9"))
        assert "3 scenes" in texts(await talk.say("/story show"))


async def test_the_table_sees_what_fills_the_context_window(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        assert "No story" in failed(await talk.say("/story context"))
        await talk.say(START)
        await talk.say("/story lore lamp: It burns whale oil.")
        await talk.say("I lift the lamp.")
        asked = len(writer.asked)
        shown = texts(await talk.say("/story context"))
        assert len(writer.asked) == asked, "no model is asked"
        lines = [line for line in shown.splitlines() if "█" in line]
        assert [line.split("` ")[1].split(":")[0] for line in lines] == [
            "The premise, the cast and what always applies",
            "The last scenes",
            "Lore that came up",
            "The turn, and what to write",
            "Room for the answer",
            "Free",
        ]
        numbers = [int(line.split(": ")[1].split(" ")[0].replace(",", "")) for line in lines]
        sent = [str(message["content"]) for message in writer.scenes[-1]["messages"]]
        assert abs(sum(numbers[:4]) - sum(map(text_tokens, sent))) < 10, "what was sent, and nothing else"
        assert 0 < numbers[2] < 20
        bars = [line.count("█") for line in lines]
        assert bars.index(max(bars)) == numbers.index(max(numbers))


@pytest.mark.parametrize(
    "since", ["me", "my turn", "since my last turn", "the last turn", "desde o meu último turno", "meu turno"]
)
def test_the_askers_own_turn_can_be_named_in_many_ways(since: str) -> None:
    assert OWN_TURN.fullmatch(since)
    assert not OWN_TURN.fullmatch(f"{since} 3")


@pytest.mark.parametrize(("scenes", "tokens"), [(10, 20_000), (300, 20_000), (300, 8_000), (2_000, 8_000)])
def test_a_recap_covers_a_long_story_and_has_its_end_in_full(scenes: int, tokens: int) -> None:
    tale = Tale()
    for n in range(scenes):
        turn = tale.turn(f"I do thing {n}.", prose(n, 60))
        if n == 1:
            tale.add("extracted", {"scene": tale.nodes[-1].id, "summary": "Mira finds the bell."}, turn)
    taken = TurnPlan(prompts={"story_recap": PromptFile().read()["story_recap"]}, tokens=tokens, answer=6_000)
    asked = recap_prompt(tale.story, RecapRange(taken, 2), 100).messages[0].text
    assert text_tokens(asked) <= tokens + 200
    numbers = [int(number) for number in re.findall(r'<scene n="(\d+)">', asked)]
    assert numbers == sorted(set(numbers))
    assert (numbers[0], numbers[-1]) == (2, scenes)
    assert len(numbers) == scenes - 1 or max(b - a for a, b in pairwise(numbers)) <= scenes * 80 // tokens + 1
    assert prose(scenes - 1, 60) in asked, "the last one whole"
    assert (prose(1, 60) in asked) == (scenes == 10)
    assert ("Mira finds the bell." in asked) == (scenes > 10), "in a sentence of the small model's"
    assert text_tokens(asked) > tokens * 0.9 or scenes == 10, "as much of it as there is room for"
