"""A brainstorm's ideas are stored with the script, reach the next brainstorm, and go with the person who
asked.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.events import Author, Choices
from bot.works.script.ideas import MOST_KEPT, in_answer
from storage.scripts import Reader
from tests.fakes.reply import Reply
from tests.works.course.desk import opened, words_of
from tests.works.script.test_answer import FERRY, asked, prompts
from tests.works.script.test_scripts import ADA, BO, Room

LISTED = (
    "Three ways:\n\n1. **Fog.** It comes in at\n   Scene 2.\n2. A second boat.\n\nTell me which one you like."
)


@pytest.mark.parametrize(
    ("answer", "ideas"),
    [
        ("1) A fog.\n   - thick\n\n   It stays.\n\n2) A boat.", ["A fog. - thick It stays.", "A boat."]),
        ("- A fog.\n- A boat.\n", ["A fog.", "A boat."]),
        ("**1.** A fog.\n**2.** A boat.", ["A fog.", "A boat."]),
        ("Let there be 2. fog.", ["Let there be 2. fog."]),
        (" \n", []),
        ("".join(f"{n}. Idea.\n" for n in range(40)), ["Idea."] * MOST_KEPT),
    ],
)  # fmt: skip
def test_ideas_are_extracted_from_an_answer(answer: str, ideas: list[str]) -> None:
    assert in_answer(answer) == ideas


async def test_ideas_are_stored_with_the_script_and_sent_to_the_next_brainstorm(tmp_path: Path) -> None:
    async with asked(tmp_path, [Reply(pieces=[LISTED]), Reply("1. A gull.")]) as (room, service):
        answer = words_of(await room.events(ADA, "script brainstorm", "What could the night cost them?"))
        assert "A second boat." in answer
        assert "Kept with “The Ferry”: ideas 1–2." in answer
        assert "three to five different ideas" in prompts(service)[0]
        assert "<ideas>" not in prompts(service)[0]
        assert "Kept with “The Ferry”: idea 3." in words_of(
            await room.events(BO, "script brainstorm", "Something with a gull", tools="off")
        )
        assert (
            "<ideas>\\n- **Fog.** It comes in at Scene 2.\\n- A second boat.\\n</ideas>"
            in prompts(service)[1]
        )

        # People delete the ideas that they asked for; the script's owner can delete all.
        listed = await room.events(BO, "script ideas")
        assert "The Ferry: 3 ideas" in words_of(listed)
        assert "- **2** · A second boat." in words_of(listed)
        (buttons,) = [event for event in listed if isinstance(event, Choices)]
        assert [choice.label for choice in buttons.choices] == ["Delete 3"]
        verb, _, rest = buttons.choices[0].command.removeprefix("/script ").partition(" ")
        assert "Only the person who asked for idea 1" in await room.said(BO, "drop", "1")
        assert "has no idea 9" in await room.said(BO, "drop", "9")
        id, _, script = rest.partition(" --script ")
        assert "Deleted idea 3." in await room.said(BO, verb, id, script=script)
        assert "Deleted idea 1." in await room.said(ADA, "drop", "#1")
        assert "The Ferry: 1 idea" in await room.said(ADA, "ideas")

        await room.said(ADA, "share", "The Ferry", visible="me")
        assert "no screenplay" in (await room.said(BO, "ideas", "The Ferry")).lower()
        assert "no screenplay" in (await room.said(BO, "drop", "2", script="The Ferry")).lower()


async def test_ideas_are_deleted_with_their_person_and_with_the_script(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        room = Room(desk)
        await room.has(ADA, FERRY, "space")
        scripts, reader = desk.app.resources.scripts, Reader("local", "bo")
        (row,) = await scripts.all(reader)
        assert await scripts.keep_ideas(reader, row.id, "r1", ["Fog.", "Rain."]) == [1, 2]
        assert await scripts.keep_ideas(reader, row.id, "r1", ["Fog.", "Rain."]) == [1, 2]
        assert await scripts.keep_ideas(Reader("local", "ada"), row.id, "r2", ["A gull."]) == [3]
        assert await scripts.keep_ideas(Reader("other", "bo"), row.id, "r3", ["A leak."]) == []
        boss = Author("boss", "Boss", admin=True)
        assert "Deleted idea 1." in await room.said(boss, "drop", "1")
        assert "Deleted" in await room.said(BO, "privacy delete", yes="yes")
        assert [idea.text for idea in await scripts.ideas(reader, row.id)] == ["A gull."]
        # Without a model there are no ideas, and none is stored.
        for what in ("What of the lamp?", "Zeppelins"):
            brainstormed = await room.said(ADA, "brainstorm", what)
            assert "needs a language model" in brainstormed
            assert "No scene has these words" not in brainstormed
        assert "needs a language model" in await room.said(ADA, "ask", "Punch up the zeppelin")
        assert len(await scripts.ideas(reader, row.id)) == 1
        await room.said(ADA, "remove", "The Ferry")
        await room.has(ADA, FERRY, "space")
        assert await scripts.ideas(reader, row.id) == []
