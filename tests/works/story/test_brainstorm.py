"""A brainstorm continues over several turns, and its ideas can be put into the story."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.works.story.turn.brainstorm import ELEMENTS, Brainstorm, read_brainstorm
from tests.fakes.reply import Reply
from tests.works.story.writer import START, Writer, choices, last, playing, texts

IDEAS = (
    "- A choir of bees.\n- The sea freezes.\n"
    "character: Old Tom: a keeper who counts the waves\nplace: The mill: it grinds salt\nevent: The bell cracks."
)


async def test_a_brainstorm_continues(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        writer.next = [Reply(pieces=[IDEAS])]
        first = await talk.say("/story ideas weather")
        assert "/story ideas --further" in [choice["command"] for choice in choices(first)]
        assert "<ideas>" not in last(writer.asked[-1])
        writer.next = [Reply("- Bees sing a dirge.")]
        await talk.say("/story ideas --further darker")
        assert "<ideas>\nweather\n- A choir of bees.\n- The sea freezes.\n</ideas>" in last(writer.asked[-1])
        writer.next = [Reply("- Bees sing at noon.")]
        await talk.say("/story ideas --further lighter again")
        assert "darker\n- Bees sing a dirge." in last(writer.asked[-1])
        assert "A choir of bees." in texts(await talk.say("/story show"))
        writer.next = [Reply("- Fog.")]
        await talk.say("/story ideas something else")
        assert "bees" not in last(writer.asked[-1]), "a new one starts over"
        await talk.say("I wait.")
        await talk.say("/story undo")
        await talk.say("/story undo")
        await talk.say("/story ideas --further more")
        assert "Fog" not in last(writer.asked[-1]), "it went with the scene behind which it was"


async def test_before_a_story_starts_the_form_has_the_ideas(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        writer.next = [Reply(pieces=[IDEAS])]
        offered = choices(await talk.say("/story ideas weather"))
        on = next(choice for choice in offered if choice["command"] == "/story ideas --further")
        assert on["filled"] == "1. A choir of bees.\n2. The sea freezes."
        assert not [choice for choice in offered if "cast" in choice["command"]]


async def test_elements_go_into_the_story(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        writer.next = [Reply(pieces=[IDEAS])]
        lines = [choice["command"] for choice in choices(await talk.say("/story ideas weather"))]
        cast, place, thread = (
            next(line for line in lines if verb in line) for verb in ("cast", "lore", "threads")
        )
        await talk.say(cast)
        assert "**Old Tom**: a keeper who counts the waves" in texts(await talk.say("/story cast"))
        await talk.say(place)
        assert "**The mill**: it grinds salt" in texts(await talk.say("/story lore"))
        await talk.say(thread)
        assert "The bell cracks." in texts(await talk.say("/story threads"))
        await talk.say("/story chapter Stairs --events 'the lamp goes out'")
        writer.next = [Reply(pieces=[IDEAS])]
        lines = [choice["command"] for choice in choices(await talk.say("/story ideas weather"))]
        assert not [line for line in lines if "cast" in line], "Old Tom is there already"
        await talk.say(next(line for line in lines if "--events" in line))
        shown = texts(await talk.say("/story chapter"))
        assert "1. ☐ the lamp goes out" in shown
        assert "2. ☐ The bell cracks." in shown


@pytest.mark.parametrize(
    ("text", "ideas", "elements"),
    [
        ("", [], []),
        ("- **Place:** The mill: it grinds\n- An idea: with a colon.", ["An idea: with a colon."],
         [("place", "The mill", "it grinds")]),
        ("character: Tom\nplace: : nothing\nevent: It's late; they go", [], [("event", "", "It’s late, they go")]),
        ("Personagem: Zé: um faroleiro", [], [("character", "Zé", "um faroleiro")]),
        ("\n".join(f"event: {n}" for n in range(9)), [], [("event", "", str(n)) for n in range(ELEMENTS)]),
        ("character: " + "x" * 99 + ": long", [], []),
    ],
)  # fmt: skip
def test_story_elements_are_parsed_from_a_models_text(
    text: str, ideas: list[str], elements: list[tuple[str, str, str]]
) -> None:
    assert read_brainstorm(text, 5) == Brainstorm(ideas, elements)
