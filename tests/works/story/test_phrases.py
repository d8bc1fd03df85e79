"""Overused phrases of the last scenes, names left out, are counted and told to the writer only."""

from __future__ import annotations

from pathlib import Path

from bot.works.story.turn.turn_plan import MOST, overused
from tests.fakes.reply import Reply
from tests.works.story.tale import prose
from tests.works.story.writer import START, Writer, last, playing

BREATH = "She let out a breath she had not known she was holding."


def test_a_repeated_phrase_is_reported_once_and_complete() -> None:
    scenes = [f"{BREATH} {prose(n)}" for n in range(3)]
    assert "a breath she had not known she was" in overused(scenes, (), 3)
    assert str(overused(scenes, (), 3)).count("known") == 1
    assert not [phrase for phrase in overused(scenes, (), 4) if "breath" in phrase]
    assert not overused([BREATH * 9], (), 2), "often in one scene is not often in the story"


def test_names_and_small_words_are_no_phrases() -> None:
    scenes = [
        f"In the end of it all he was there. Old Mira Vance walked on {word}." for word in ("a", "b", "c")
    ]
    assert overused(scenes, ["Mira Vance"], 3) == []
    assert overused(["They reach the Gilded Heron now."] * 3, (), 3) == []


def test_only_the_most_frequent_phrases_are_reported() -> None:
    lines = [f"{letter * 3} {letter * 4} {letter * 5}" for letter in "bcdefghijk"]
    scenes = [". ".join(lines)] * 3 + [lines[3]]
    told = overused(scenes, (), 3)
    assert len(told) == MOST
    assert told[0] == lines[3]


async def test_phrases_come_after_the_cached_part_of_the_prompt(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        writer.next.append(Reply(f"{BREATH} The door is shut."))
        await talk.say(START)
        for number in range(4):
            writer.next.append(Reply(f"{BREATH} {prose(number, 30)}"))
            await talk.say(f"I do thing {number}.")
    *before, now = writer.scenes
    assert "<overused>" not in last(before[0])
    assert "a breath she had not known" in last(now).partition("<overused>")[2].partition("</overused>")[0]
    assert "<overused>" not in str(now["messages"][:-1])
