"""Plot threads: noted by the extractor, corrected by people, offered to the choices; with undo and on
branches.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from bot.events import UserError
from bot.works.story.extraction.extraction import Version, threads_for
from bot.works.story.log.story import Story
from bot.works.story.log.turn import KeyEvent
from bot.works.story.world.threads import (
    CHARS,
    Thread,
    as_prompt,
    new_texts,
    open_threads,
    parse_change,
    threads,
)
from tests.works.story.extractor import Service, looked_into, playing
from tests.works.story.tale import Tale
from tests.works.story.writer import START, last, texts


def lines(events: list[dict[str, object]]) -> list[str]:
    return [line for line in texts(events).splitlines() if line.startswith(("-", "**"))]


async def test_plot_threads_are_extracted_from_scenes_and_can_be_corrected(
    tmp_path: Path, service: Service
) -> None:
    async with playing(tmp_path / "data", service) as talk:
        await talk.say(START)
        await looked_into(talk, 1)
        assert "no plot threads" in texts(await talk.say("/story threads"))
        service.finds(opened=["Who locked the tower?", "Will Bo pay?", "Where is Zoe?"], closed=[1])
        await talk.say("I climb the stairs.")
        await looked_into(talk, 2)
        noted = [
            "**Open**",
            "- **1.** Who locked the tower? (since scene 2)",
            "- **2.** Will Bo pay? (since scene 2)",
        ]
        shown = await talk.say("/story threads")
        assert lines(shown) == noted
        assert any(event["event"] == "link" and "Scene 2" in str(event) for event in shown)
        service.finds(opened=["who locked the tower"], closed=["2", 7])
        await talk.say("I pay.")
        await looked_into(talk, 3)
        assert "1. Who locked the tower?\n2. Will Bo pay?" in last(service.extracted[-1])
        ended = ["**Closed**", "- **2.** Will Bo pay? (scenes 2 to 3)"]
        assert lines(await talk.say("/story threads")) == [*noted[:2], *ended]

        assert "Open: “What is the bell for?”" in texts(
            await talk.say("/story threads open What is the bell for?")
        )
        await talk.say("/story threads rename 1 Who has the key?")
        await talk.say("/story threads close 1")
        await talk.say("/story threads open 2")
        await talk.say("/story threads open Who rang?")
        await talk.say("/story threads close 4")
        assert lines(await talk.say("/story threads")) == [
            "**Open**",
            "- **2.** Will Bo pay? (since scene 2)",
            "- **3.** What is the bell for? (since scene 3)",
            "**Closed**",
            "- **1.** Who has the key? (scenes 2 to 3)",
            "- **4.** Who rang? (scene 3)",
        ]
        await talk.say("I ring.")
        offered = next(asked for asked in reversed(service.asked) if "offer the players" in last(asked))
        assert "<threads>\n- Will Bo pay?\n- What is the bell for?\n</threads>" in last(offered)
        scene = service.scenes[-1]
        assert "Will Bo pay?" not in str(scene), "the writer of a scene follows the players"

        await talk.say("/story undo")
        await talk.say("/story undo")
        assert lines(await talk.say("/story threads")) == noted, (
            "corrections went with the scene that they were made after"
        )
        await talk.say("/story redo")
        await talk.say("/story fork back --scene 2")
        assert lines(await talk.say("/story threads")) == noted
        await talk.say("/story threads close 2")
        await talk.say("/story switch main")
        assert "- **2.** Will Bo pay? (since scene 2)" in lines(await talk.say("/story threads"))


async def test_threads_survive_an_export(tmp_path: Path, service: Service) -> None:
    async with playing(tmp_path / "data", service) as talk:
        service.finds(opened=["Who locked the tower?"])
        await talk.say(START)
        await looked_into(talk, 1)
        await talk.say("/story threads open Will Bo pay?")
        service.finds(closed=[1, 2])
        await talk.say("I pay.")
        await looked_into(talk, 2)
        await talk.say("/story threads open 1")
        before = lines(await talk.say("/story threads"))
        assert before[-1] == "- **2.** Will Bo pay? (scenes 1 to 2)"
        exported = await talk.say("/story export --as json")
        file = tmp_path / "again.json"
        file.write_bytes(base64.b64decode(next(e["data"] for e in exported if e["event"] == "attachment")))
        await talk.say("/story start Another premise")
        assert "no plot threads" in texts(await talk.say("/story threads"))
        (code,) = re.findall(r"/story open (\w+)", texts(await talk.say(f"/story import {file}")))
        await talk.say(f"/story open {code}")
        assert lines(await talk.say("/story threads")) == before


def test_an_invalid_edit_of_threads_explains_the_format() -> None:
    tale = Tale()
    turn = tale.turn("I wait.", "Rain.")
    tale.add("thread", {"id": "a", "text": "Who?", "open": True}, turn)
    for text in ("Who?", "close", "close me", "close 1 now", "rename 1", "open", "open ?", "rename ² Who"):
        with pytest.raises(UserError, match="threads_how"):
            parse_change(tale.story, text, "new")
    for text in ("close 2", "open 0", "rename 9999999999999 Who?"):
        with pytest.raises(UserError, match="no_thread"):
            parse_change(tale.story, text, "new")
    assert parse_change(tale.story, "feche 1", "new") == Thread("a", "Who?", 1, open=False)
    assert parse_change(tale.story, "abra " + "é" * 999, "new") == Thread("new", "é" * CHARS, 1)


def test_a_later_version_replaces_threads_and_earlier_corrections() -> None:
    tale = Tale()
    turn = tale.turn("I wait.", "Rain.")
    first = tale.nodes[-1].id
    tale.add("extracted", {"scene": first, "opened": [{"id": "a", "text": "Who?"}]}, turn)
    tale.add("thread", {"id": "a", "text": "Who is it?", "open": False}, turn)
    assert threads(tale.story) == [Thread("a", "Who is it?", 1, 1, open=False)]
    second = tale.add("scene", {"text": "Snow."}, turn)
    tale.add(
        "extracted", {"scene": second, "opened": [{"id": "b", "text": "Why?"}], "closed": ["a", "c"]}, turn
    )
    assert open_threads(tale.story, tale.story.current_turns) == [Thread("b", "Why?", 1)]
    tale.add("flip", {"scene": first}, turn)
    assert threads(tale.story) == [Thread("a", "Who is it?", 1, 1, open=False)]


def test_the_extractor_is_asked_about_what_was_open_before_the_scene() -> None:
    tale = Tale()
    turn = tale.turn("I wait.", "Rain.")
    tale.add("thread", {"id": "a", "text": "Who?", "open": True}, turn)
    later = tale.turn("I go.", "Snow.")
    scene = tale.nodes[-1].id
    tale.add("extracted", {"scene": scene, "closed": ["a"]}, later)
    assert [thread.text for thread in threads_for(tale.story, Version(later, scene))] == ["Who?"]
    assert threads_for(tale.story, Version(turn, tale.nodes[2].id)) == threads_for(
        tale.story, Version(later, scene)
    )


def test_an_open_thread_is_not_opened_again() -> None:
    assert new_texts(["…", "Who is it", "Why?", "why", "How?"], [KeyEvent("a", "Who is it?")]) == [
        "why",
        "How?",
    ]
    assert as_prompt([]) == ""
    assert as_prompt([Thread("a", "Who </threads> is it?", 0)]).count("</threads>") == 1
    assert threads(Story()) == []
