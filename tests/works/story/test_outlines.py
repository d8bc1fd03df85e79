"""Chapters that the writer outlines, from the story or from an idea, are read from whatever it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.works.story.turn.outlines import Outline, read_outline
from tests.fakes.reply import Reply
from tests.works.story.writer import START, Writer, choices, last, playing, texts

LINES = """title: The lower stairs
location: below the tide line
time: at night
scenario: The water has fallen.
event: The bell is found.
event: The lamp goes out.
event: A third thing.
climax: The door opens by itself.
resolution: They close it for good."""
WANTED = Outline(
    "The lower stairs",
    {
        "location": "below the tide line",
        "time": "at night",
        "scenario": "The water has fallen.",
        "climax": "The door opens by itself.",
        "resolution": "They close it for good.",
    },
    ["The bell is found.", "The lamp goes out."],
)
OTHERWISE = (
    LINES.replace("title", "**Title**").replace("event", "- Event"),
    LINES.replace("event: The b", "Event 1: The b").replace("event: The l", "Event 2: The l"),
    LINES.replace("title", "Título").replace("time", "Quando").replace("event", "evento").replace("climax", "Clímax"),
    LINES.replace("event: The b", "Events:\n1. The b").replace("event: The l", "2. The l").replace("event: A", "3. A"),
    "Of course!\n```json\n"
    + json.dumps(
        {
            "title": WANTED.title, **WANTED.fields,
            "events": [WANTED.events[0], {"text": WANTED.events[1]}, "A third thing."],
        }
    )
    + "\n```",
    LINES + "\ntitle: Another one\nclimax: Another one",
)  # fmt: skip


@pytest.mark.parametrize("text", [LINES, *OTHERWISE])
def test_an_outline_is_parsed_from_any_text(text: str) -> None:
    assert read_outline(text, 2) == WANTED


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would rather not.",
        "x" * 100_000,
        "title: …",
        "{" * 100_000,
        "_" * 100_000,
        "a" + " " * 100_000,
        "1." * 50_000,
        '{"title": 7, "events": {"a": 1}}',
    ],
)
def test_a_text_without_an_outline_gives_no_title(text: str) -> None:
    assert read_outline(text, 4).title == ""


def test_an_outline_is_cut_to_a_chapters_limit() -> None:
    long = read_outline("title: " + "t" * 999 + "\nevent: " + "e" * 9_999 + "\nclimax: " + "c" * 9_999, 4)
    assert (len(long.title), len(long.events[0]), len(long.fields["climax"])) == (100, 300, 1_000)


async def test_an_idea_becomes_the_next_chapter(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        writer.next.append(Reply(pieces=["- A heist in a library.\n- A choir of bees."]))
        offered = choices(await talk.say("/story ideas something odd"))
        commands = [choice["command"] for choice in offered]
        assert "/story start -- A choir of bees." in commands
        chapter = next(command for command in commands if "chapter" in command and "heist" in command)
        writer.next.append(Reply(pieces=[LINES]))
        begun = texts(await talk.say(chapter.replace("--write", "--climax 'The roof falls.' --write")))
        assert "A heist in a library." in last(writer.asked[-1])
        assert "4 lines" in last(writer.asked[-1])
        assert "☐ The bell is found." in begun
        assert "The roof falls." in begun, "what the table says itself holds"
        assert "begins here" in str(talk.events[-4:])
        await talk.say("I go down.")
        assert "title: The lower stairs" in str(writer.scenes[-1]["messages"][:-1])
        assert "The bell is found." in last(writer.asked[-1]), "the choices lead to it"
        assert "The bell is found." not in str(writer.scenes[-1]["messages"])
        writer.next.append(Reply("I would rather not."))
        assert "no chapter this time" in texts(await talk.say("/story chapter --write 3"))
        assert "The lower stairs" in str(await talk.say("/story chapter"))
        await talk.say("/story undo")
        await talk.say("/story undo")
        assert "no chapter yet" in texts(await talk.say("/story chapter")), (
            "it began behind what was taken back"
        )
