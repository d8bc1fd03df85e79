"""The writer gets excerpts of the right past scenes: once, the same for each version, and of this branch
only.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot.works.story.config import RecallConfig, StoryConfig
from tests.fakes.reply import Body, Reply
from tests.fakes.wires import WIRES
from tests.promises.talk import Talk, settings, talking
from tests.works.story.tale import prose
from tests.works.story.writer import START, Writer, last, texts

DRESS = "At the rooftop party Mira wears the red sundress, and everybody looks at her."
WINDOW = 2_600
STANDARD = RecallConfig()
SCENES = 13


@asynccontextmanager
async def playing(
    tmp_path: Path,
    writer: Writer,
    strategy: str = "hybrid",
    *,
    extractor: str = "",
    recall: Mapping[str, float] | None = None,
) -> AsyncIterator[Talk]:
    """A story whose prompts have room for about six scenes."""
    async with WIRES["chat"].service(writer, models=("small", "tiny")) as service:
        config = settings(tmp_path / "data", service)
        if extractor:
            config = replace(config, roles=replace(config.roles, extractor=(extractor,)))
        sections = {
            StoryConfig: StoryConfig(window=WINDOW, recent=2, batch=2, short=30, choices=0, extract=False),
            RecallConfig: RecallConfig(
                strategy=strategy,  # type: ignore[arg-type]
                share=0.2,
                **(recall or {}),  # type: ignore[arg-type]
            ),
        }
        async with talking(replace(config, sections=sections)) as talk:
            yield talk


@pytest.fixture(scope="module")
def _told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    async def tell() -> None:
        async with playing(folder, writer := Writer()) as talk:
            await talk.say(START)
            writer.next.append(Reply(DRESS))
            await talk.say("We climb to the roof.")
            for number in range(3, SCENES):
                writer.next.append(Reply(prose(number, 60)))
                await talk.say(f"I go down to step number {number}.")
        assert DRESS not in str(writer.scenes[-1]["messages"])

    folder = tmp_path_factory.mktemp("told")
    asyncio.run(tell())
    return folder / "data"


@pytest.fixture
def told(_told: Path, tmp_path: Path) -> None:
    """A story whose second scene mentions the sundress and is no longer in any prompt."""
    shutil.copytree(_told, tmp_path / "data")


def related(writer: Writer) -> str:
    """The excerpts in the writer's last prompt."""
    task = last(writer.scenes[-1])
    return task[task.index("<related>") : task.index("</related>")] if "<related>" in task else ""


class Parting(Writer):
    """A writer that also splits turns, as a small model does; with `fails` it returns a service's error."""

    def __init__(self) -> None:
        super().__init__()
        self.parted: list[Body] = []
        self.fails = False

    def __call__(self, asked: Body) -> Reply:
        if asked["model"] != "tiny":
            return super().__call__(asked)
        if "<turn>" not in last(asked) or "<scene>" in last(asked):  # a scene that it looks into
            return Reply("{}")
        self.parted.append(asked)
        return Reply("- red sundress\n- rooftop party", status=400 if self.fails else 200)


@pytest.mark.usefixtures("told")
async def test_the_scene_that_a_turn_mentions_is_recalled(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say("I ask Mira about the sundress of the party.")
        assert '<past scene="2">\nAna: We climb' not in related(writer)
        assert DRESS in related(writer)
        assert 'scene="2"' in related(writer)
        first = writer.scenes[-1]["messages"]
        await talk.say("/story retry")
        assert writer.scenes[-1]["messages"] == first, "another version is written from the same bytes"
        (sent, *_) = [event for event in await talk.say("/story prompt") if event["event"] == "attachment"]
        shown = json.loads(base64.b64decode(sent["data"]))["messages"]
        assert [message["text"] for message in shown] == [message["content"] for message in first[1:]], (
            "what it remembered, too"
        )
        await talk.say("/story cast Bo: a thief")
        writer.next.append(Reply("They speak of the red sundress, and of the rooftop party."))
        await talk.say("I ask Bo about the sundress of the party.")
        assert DRESS in related(writer), "of whom the narrator tells"
        await talk.say("/story cast speak Bo")
        assert "Write the reply" in last(writer.asked[-1])
        assert DRESS not in str(writer.asked[-1]["messages"]), "he was not there"


async def test_scenes_that_are_in_the_prompt_are_not_repeated(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        writer.next.append(Reply(DRESS))
        await talk.say("We climb to the roof.")
        await talk.say("I ask Mira about the sundress of the party.")
        assert str(writer.scenes[-1]["messages"]).count(DRESS) == 1
        assert related(writer) == ""


@pytest.mark.usefixtures("told")
async def test_linear_memory_recalls_nothing(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer, "linear") as talk:
        await talk.say("I ask Mira about the sundress of the party.")
        assert DRESS not in str(writer.scenes[-1]["messages"])


async def test_discarded_versions_and_sibling_branches_are_never_recalled(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        writer.next.append(Reply("The sundress lies torn on the floor."))
        await talk.say("We climb to the roof.")
        writer.next.append(Reply(DRESS))
        await talk.say("/story retry")
        for number in range(3, SCENES):
            writer.next.append(Reply(prose(number, 60)))
            await talk.say(f"I go down to step number {number}.")
        await talk.say("/story fork aside --scene 3")
        writer.next.append(Reply("Only here Mira burns the sundress."))
        await talk.say("I burn it.")
        await talk.say("/story switch main")
        await talk.say("I ask Mira about the sundress of the party.")
        assert DRESS in related(writer)
        assert "torn" not in str(writer.scenes[-1]["messages"])
        assert "burns" not in str(writer.scenes[-1]["messages"])


@pytest.mark.usefixtures("told")
async def test_a_turn_without_content_is_searched_by_the_state_of_the_story(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        writer.next.append(Reply("Somebody speaks of a sundress, and of a party."))
        await talk.say("I listen.")
        await talk.say("/story continue")
        assert DRESS in related(writer)


@pytest.mark.usefixtures("told")
async def test_a_small_model_splits_a_turn_into_searches(tmp_path: Path) -> None:
    writer = Parting()
    async with playing(tmp_path, writer, extractor="fake:tiny", recall={"decomposition": 0.3}) as talk:
        await talk.say("The garment of that evening hangs on her chair again.")
        assert DRESS in related(writer), "the turn shares no word with the scene"
        asked, before = writer.parted[-1], len(writer.parted)
        assert "garment of that evening" in last(asked)
        writer.fails = True
        await talk.say("I ask Mira about the sundress of the party.")
        assert len(writer.parted) == before + 1
        assert DRESS in related(writer), "without its answer the turn itself is searched for"
        await talk.say("I go.")
        assert len(writer.parted) == before + 1, "so short a turn has no parts"


@pytest.mark.usefixtures("told")
async def test_a_turn_is_split_only_if_the_configuration_says_so(tmp_path: Path) -> None:
    writer = Parting()
    async with playing(tmp_path, writer, extractor="fake:tiny") as talk:
        await talk.say("I ask Mira about the sundress of the party.")
        assert DRESS in related(writer)
        assert not writer.parted


@pytest.mark.usefixtures("told")
async def test_other_stories_are_never_recalled(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say("/sessions new")
        await talk.say('/story start Another story --title "Another"')
        for number in range(2, SCENES):
            writer.next.append(Reply(prose(number, 60)))
            await talk.say(f"I go down to step number {number}.")
        await talk.say("I ask Mira about the sundress of the party.")
        assert DRESS not in str(writer.scenes[-1]["messages"])


@pytest.mark.slow
@pytest.mark.parametrize(("recall", "scenes"), [({}, 2), ({"least": 0.99}, 1), ({"pieces": 1}, 1)])
async def test_the_number_of_excerpts_is_configurable(
    tmp_path: Path, writer: Writer, recall: dict[str, float], scenes: int
) -> None:
    async with playing(tmp_path, writer, recall=recall) as talk:
        await talk.say(START)
        for text in (DRESS, "Mira hangs the red sundress of that party over a chair. " + prose(1, 60)):
            writer.next.append(Reply(text))
            await talk.say("We go on.")
        for number in range(4, SCENES):
            writer.next.append(Reply(prose(number, 60)))
            await talk.say(f"I go down to step number {number}.")
        await talk.say("I ask Mira about the red sundress of the party.")
        assert related(writer).count("sundress") == scenes


@pytest.mark.parametrize(("recall", "first"), [({}, 2), ({"chapter": 2.0}, 3)])
async def test_players_can_recall_by_chapter_too(
    tmp_path: Path, writer: Writer, recall: dict[str, float], first: int
) -> None:
    async with playing(tmp_path, writer, recall=recall) as talk:
        await talk.say(START)
        writer.next += [
            Reply(DRESS),
            Reply("A red curtain moves. Nobody is at home, and it rains on the roof."),
        ]
        await talk.say("We climb.")
        await talk.say("/story chapter The house")
        await talk.say("We wait.")
        text = texts(await talk.say("/story recall the red sundress of the rooftop party"))
        assert text.index(f"**Scene {first}**") < text.index(f"**Scene {5 - first}**")
