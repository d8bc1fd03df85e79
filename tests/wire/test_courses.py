"""A course on all three platforms: added from an attachment, outlined, questioned with tools, its lessons linked."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.reply import Reply
from tests.kill.instants import on_one_of
from tests.wire.conftest import Take
from tests.wire.story import ANA, BIA

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

COURSE = b"""Course Title: Knots at Sea
Course Link: https://example.org/knots
Course Instructor: Mo

Lesson 1: The Bowline
Lesson Link: https://example.org/knots/1
The rabbit leaves its hole, goes round the tree and back into the hole.

Lesson 2: The Reef Knot
Lesson Link: https://example.org/knots/2
Right over left, then left over right; it never holds two ropes of different thickness.
"""


async def taken_in(
    d: Any, platform: str, folder: Path, name: str = "knots.txt", data: bytes = COURSE
) -> None:
    if platform == "slack":
        person, channel = d.people[BIA], d.channels[0]
        await d.slack.say(person, channel, "course add", mention=True, files=[(name, data)])
    elif platform == "discord":
        await d.command(BIA, "course add", file=(name, data))
    else:
        path = folder / name
        path.write_bytes(data)
        await d.command(BIA, "course add", paths=str(path))


def shown(talk: Any) -> str:
    return "\n".join(talk.said())


@pytest.mark.parametrize("platform", ["discord", "slack", "terminal"])
async def test_a_course_can_be_added_outlined_and_questioned(
    platform: str, take: Take, tmp_path: Path
) -> None:
    d = await take(platform)
    runs = len(d.states())
    await taken_in(d, platform, tmp_path)
    await d.rest(runs + 1)
    listed = await d.command(ANA, "course list")
    await d.rest(runs + 2)
    assert "Knots at Sea" in shown(listed)
    outlined = await d.command(ANA, "course outline", course="knots")
    await d.rest(runs + 3)
    assert "https://example.org/knots/2" in shown(outlined)
    search = ("search_course_content", json.dumps({"query": "reef knot ropes", "course_name": "knots"}))
    d.model.queue += [
        Reply(calls=[search]),
        Reply("It never holds two ropes of different thickness [1]."),
    ]
    asked = await d.ask(ANA, "What does a reef knot not hold?", verb="course ask")
    await d.rest(runs + 4)
    assert "It never holds two ropes of different thickness" in shown(asked)
    if platform == "terminal":  # the exit code for programs: see docs/json.md
        events = [event for run in asked.runs() for event in d._events(run)]
        assert [event["link"] for event in events if event["event"] == "citation"] == [
            "https://example.org/knots/2"
        ]
    else:
        assert "https://example.org/knots/2" in shown(asked)
    assert "2. The Reef Knot" in shown(asked)
    d.check()


@pytest.mark.parametrize("platform", ["discord", "slack", "terminal"])
async def test_a_zip_of_lessons_becomes_a_course_and_its_broken_file_is_named(
    platform: str, take: Take, tmp_path: Path
) -> None:
    d = await take(platform)
    runs = len(d.states())
    files = {
        "tides/SUMMARY.md": b"- [Ebb](b.md)\n- [Flood](a.md)\n- [Deck](deck.pptx)\n",
        "tides/README.md": b"# Tides\n\nInstructor: Mo\n\nThe sea rises and falls.",
        "tides/a.md": b"---\nlink: https://example.org/tides/flood\n---\n# Flood\n\nThe water rises for six hours.",
        "tides/b.md": b"# Ebb\n\nThe water falls.",
        "tides/deck.pptx": b"PK\x03\x04 broken",
    }
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    await taken_in(d, platform, tmp_path, "tides.zip", zipped.getvalue())
    await d.rest(runs + 1)
    outlined = await d.command(ANA, "course outline", course="tides")
    await d.rest(runs + 2)
    said = shown(outlined)
    assert said.index("1: Ebb") < said.index("2: Flood")
    assert "https://example.org/tides/flood" in said
    assert "Mo" in said
    search = ("search_course_content", json.dumps({"query": "water rises hours", "course_name": "tides"}))
    d.model.queue += [Reply(calls=[search]), Reply("It rises for six hours [1].")]
    asked = await d.ask(ANA, "How long does the water rise?", verb="course ask")
    await d.rest(runs + 3)
    assert "It rises for six hours" in shown(asked)
    assert "2. Flood" in shown(asked)
    assert "could not read deck.pptx" in shown(asked)
    d.check()


@pytest.mark.parametrize("platform", on_one_of("slack", "discord"))
async def test_an_answer_cut_off_by_kill_9_is_completed_with_one_search(
    platform: str, take: Take, tmp_path: Path
) -> None:
    d = await take(platform)
    runs = len(d.states())
    await taken_in(d, platform, tmp_path)
    await d.rest(runs + 1)
    sentence = "It never holds two ropes of different thickness"
    passage = f"{sentence} [1]. Sailors who tie it so have lost more than one good boat to it."
    search = ("search_course_content", json.dumps({"query": "reef knot ropes"}))
    d.model.queue.append(Reply(calls=[search]))
    d.model.hold(passage)
    before = len(d.model.prompts)
    asked = await d.ask(ANA, "What does a reef knot not hold?", verb="course ask")
    await d.until(lambda: sentence[:20] in shown(asked))
    d.model.queue.append(Reply(passage))
    await d.restart()
    await d.rest(runs + 2)
    assert shown(asked).count(sentence) == 1
    assert shown(asked).count("good boat") == 1
    assert "https://example.org/knots/2" in shown(asked)
    assert len(d.model.prompts) - before == 3, "the search round is neither asked nor paid again"
    d.check()
