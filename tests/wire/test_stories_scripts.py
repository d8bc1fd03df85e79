"""Stories about screenplays on three platforms: added, questioned, followed up, shown, counted, kept private.

And a kill -9 while the extractor reads the scenes.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.discord.component_rules import GALLERY
from tests.fakes.reply import Reply
from tests.kill.instants import ALL
from tests.wire.conftest import Take
from tests.wire.story import ANA, BIA
from tests.works.script.test_answer import FERRY

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

SECRET = "Title: The Secret\n\nINT. CELLAR - NIGHT\n\nThe zeppelin waits.\n"
SCENES = 12


async def taken_in(d: Any, platform: str, folder: Path, text: str, visible: str) -> None:
    """Ana gives her script to the bot."""
    if platform == "slack":
        line, file = f"script add --visible {visible}", ("play.fountain", text.encode())
        await d.slack.say(d.people[ANA], d.channels[0], line, mention=True, files=[file])
    elif platform == "discord":
        # A new process has not registered its commands yet.
        await d.until(lambda: bool(d.discord.commands.all(d.guilds[0].id)))
        await d.command(ANA, "script add", file=("play.fountain", text.encode()), visible=visible)
    else:
        (folder / "play.fountain").write_text(text, encoding="utf-8")
        await d.command(ANA, "script add", paths=str(folder / "play.fountain"), visible=visible)


def shown(talk: Any) -> str:
    return "\n".join(talk.said())


def pictures(d: Any, platform: str) -> dict[str, str]:
    """The public pictures, with their alternative texts."""
    if platform == "terminal":
        events = [event for run in d.begun() for event in d._events(run) if event["event"] == "picture"]
        return {event["name"]: event["alt"] for event in events}
    if platform == "slack":
        return {file.name: file.alt for message in d.everything() for file in message.files}
    galleries = [
        part for message in d.everything() for part in parts(message.components) if part["type"] == GALLERY
    ]
    shown = [item for gallery in galleries for item in gallery["items"]]
    return {item["media"]["url"].partition("?")[0].rpartition("/")[2]: item["description"] for item in shown}


def parts(components: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All components, including nested ones."""
    return [part for component in components for part in (component, *parts(component.get("components", [])))]


@pytest.mark.parametrize("platform", ["discord", "slack", "terminal"])
async def test_a_screenplay_can_be_added_and_questioned(platform: str, take: Take, tmp_path: Path) -> None:
    d = await take(platform)
    d.model.form = json.dumps({"summary": "It rains."})

    async def says(talk: Any, *words: str) -> None:
        """Wait until the conversation has this text, and all runs have ended."""
        await d.until(lambda: all(word in shown(talk) for word in words))
        await d.until(lambda: "" not in d.states())

    async def told(line: str, *words: str, person: str = ANA, **options: Any) -> None:
        await says(await d.command(person, line, **options), *words)

    await taken_in(d, platform, tmp_path, FERRY, "space")
    await d.until(lambda: bool(d.states()) and "" not in d.states())
    await told("script list", "**The Ferry**: 4 scenes" if platform != "slack" else "The Ferry")

    lookup = ("search_script", json.dumps({"query": "lamp oil"}))
    scene_text = 'In Scene 2 she says "Ours went down with the lamp oil." and then "all is lost".'
    d.model.queue += [Reply(calls=[lookup]), Reply("I have it."), Reply(scene_text)]
    talk = await d.ask(ANA, "What is the theme of the lamp?", verb="script ask")
    await says(talk, "Ours went down with the lamp oil.", "all is lost (not in the screenplay word for word)")
    assert "Ours went down with the lamp oil." in d.model.prompts[-1], "the answer is made from the evidence"

    d.model.queue.append(Reply("The lamp stands for hope."))
    await d.mention(BIA, talk, "And what does the lamp stand for?")
    await says(talk, "The lamp stands for hope.")
    assert "What is the theme of the lamp?" in d.model.prompts[-1], "the conversation continues in the thread"
    pressed = await d.choose(BIA, talk, "Scene 2")
    await d.until(lambda: "Whose boat is that?" in shown(talk) + shown(pressed))

    d.model.queue.append(Reply(pieces=["1. A fog.\n2. A second boat."]))
    await says(
        await d.ask(ANA, "What could the night cost them?", verb="script brainstorm"),
        "Kept with",
        "ideas 1–2",
    )
    await told("script ideas", "A second boat.", script="The Ferry")

    await told("script report", "4 scenes", script="The Ferry")
    posted = pictures(d, platform)
    assert set(posted) >= {"pace.png", "presence.png", "together.png"}
    assert posted["presence.png"].startswith("A row for each character")

    if platform != "terminal":  # where Ana and Bia are the same person
        before = len(d.states())
        await taken_in(d, platform, tmp_path, SECRET, "me")
        await d.until(lambda: len(d.states()) > before and "" not in d.states())
        await told("script list", "The Secret")
        await told("script list", "1 screenplay", person=BIA)
        await told("script scenes", "no screenplay “The Secret”", person=BIA, script="The Secret")
        before = len(d.model.prompts)
        asked = {"question": "Where is the zeppelin?", "script": "The Secret"}
        await told("script ask", "no screenplay “The Secret”", person=BIA, **asked)
        assert len(d.model.prompts) == before
    d.check()


@dataclass
class Analyst:
    """Writes a card for each scene; pauses at call number `held`, until the bot is killed."""

    held: int
    asked: list[str] = field(default_factory=list)

    def __call__(self, body: dict[str, Any]) -> Reply:
        prompt = "\n".join(str(message["content"]) for message in body["messages"])
        if "write the card" not in prompt:
            return Reply(pieces=[json.dumps({"acts": [], "characters": [], "threads": []})])
        self.asked.append(prompt)
        gates = {0: asyncio.Event()} if len(self.asked) == self.held else {}
        return Reply(pieces=[json.dumps({"summary": "It rains.", "purpose": ""})], gates=gates)


@pytest.mark.parametrize(
    "platform",
    ["discord", pytest.param("slack", marks=pytest.mark.skipif(not ALL, reason="make test-kill has it"))],
)
async def test_each_scene_is_read_once_despite_a_kill_9(platform: str, take: Take, tmp_path: Path) -> None:
    d = await take(platform)
    d.model.written = analyst = Analyst(held=5)
    rooms = "".join(f"INT. ROOM {n} - DAY\n\nRain on roof {n}.\n\n" for n in range(SCENES))
    await taken_in(d, platform, tmp_path, f"Title: Rooms\n\n{rooms}", "space")
    await d.until(lambda: len(analyst.asked) == 5)
    await d.restart()
    await d.until(lambda: len(analyst.asked) == SCENES + 1)
    await d.rest(1)
    talk = await d.command(ANA, "script analysis")
    await d.until(lambda: f"{SCENES} of {SCENES} scenes are analysed." in shown(talk))
    await d.rest(2)
    asked = Counter(analyst.asked)
    assert sorted(asked.values()) == [1] * (SCENES - 1) + [2], (
        "the kill costs the call in progress, and no other"
    )
    d.check()
