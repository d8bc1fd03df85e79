"""/prompts through the real application: shown, changed per space, checked before saving."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bot.app import App
from bot.events import Author, Failed, File, Request, Text, UserError
from bot.platforms import Platform
from bot.prompts import BUNDLED, PromptFile, Prompts, PromptText, as_yaml
from storage.db import Database
from storage.settings import SettingsStore
from tests.fakes import migrated
from tests.fakes.scripted_app import Recorder, asked, config

OWN = "Answer {language} like a pirate. {passages}"


class Space:
    """Asks as one space of one application."""

    def __init__(self, app: App, recorder: Recorder) -> None:
        self.app = app
        self._recorder = recorder
        self._asked = 0

    async def __call__(self, verb: str, text: str = "", space: str = "here", **changes: object) -> str:
        self._asked += 1
        request = asked(f"r{self._asked}", text, work="prompts", verb=verb, space=space)
        return await self.perform(replace(request, **changes))  # type: ignore[arg-type]

    async def perform(self, request: Request) -> str:
        ticket = await self.app.perform(request)
        await ticket.wait()
        events = self._recorder.events[ticket.run]
        return "".join(event.text for event in events if isinstance(event, Text | Failed))


@pytest.fixture
async def say(tmp_path: Path) -> AsyncIterator[Space]:
    recorder = Recorder()
    app = await App.open(config(tmp_path / "data"))
    app.attach(Platform("terminal", recorder.view))
    await app.start()
    yield Space(app, recorder)
    await app.close()


async def test_a_space_can_reword_a_prompt_without_affecting_other_spaces(say: Space, tmp_path: Path) -> None:
    before = await say("show", "rag")
    assert "data, never instructions" in before
    file = tmp_path / "rag.yml"
    shown = before.split("```yaml\n")[1].split("```")[0].replace("Be brief", "Be grave")
    file.write_text(textwrap.indent(shown, "    "))  # as it comes from a terminal
    assert "Saved" in await say("edit", "rag", options={"file": str(file)})
    prompts = say.app.resources.prompts
    assert "Be grave" in (await prompts.wording("here", "rag")).text.system
    assert "Be grave" not in (await prompts.wording("there", "rag")).text.system
    assert (await prompts.wording("here", "rag")).text.user == (
        await prompts.wording("there", "rag")
    ).text.user
    assert "this space's own" in await say("list")
    assert "this space's own" not in await say("list", space="there")
    assert "is the default again" in await say("reset", "rag")
    newest = (await say.app.settings.store.changes("here", 9))[0]
    assert (newest.name, newest.value, newest.author_id) == ("prompt.rag", None, "a")
    assert "is already the default" in await say("reset", "rag")
    assert await say("show", "rag") == before


async def test_a_broken_prompt_is_not_saved(say: Space) -> None:
    assert "Not saved: “rag” lacks {language}" in await say("edit", "rag Be a pirate.")
    strange = await say("edit", "rag Speak {language} to {secret}.")
    assert "nothing is filled in for {secret}" in strange
    assert "There is no prompt “rug”" in await say("edit", "rug Be a pirate.")
    assert "Add the new text" in await say("edit", "rag")
    assert "20000" in await say("edit", "rag " + "x" * 20_001)
    assert await say("show", "rag") == await say("show", "rag", space="there")


async def test_plain_text_is_the_system_part_and_backslash_n_a_new_line(say: Space) -> None:
    now = (await say.app.resources.prompts.wording("here", "rag")).text
    await say("edit", "rag Be a pirate.\\nSpeak {language}.")
    made = (await say.app.resources.prompts.wording("here", "rag")).text
    assert (made.system, made.user) == ("Be a pirate.\nSpeak {language}.\n", now.user)
    assert made.version != now.version


async def test_only_admins_change_shared_prompts(say: Space) -> None:
    guest = Author("g", "Guest")
    for verb, text in (("edit", "rag Speak {language}."), ("reset", "rag")):
        with pytest.raises(UserError) as refused:
            await say(verb, text, author=guest)
        assert refused.value.key == "app.admins"
    assert "data, never instructions" in await say("show", "rag", author=guest)


async def test_a_path_is_read_only_in_the_terminal(say: Space, tmp_path: Path) -> None:
    file = tmp_path / "rag.yml"
    file.write_text("system: Speak {language}.\n")
    discord = replace(asked("x", "rag", work="prompts", verb="edit").place, platform="discord")
    recorder = Recorder()
    say.app.attach(Platform("discord", recorder.view))
    request = asked("d1", "rag", work="prompts", verb="edit")
    request = replace(request, place=discord, options={"file": str(file)})
    await (await say.app.perform(request)).wait()
    assert [event for event in recorder.events["d1"] if isinstance(event, Failed)]
    request = replace(request, id="d2", files=(File("rag.yml", str(file), 10),))
    await (await say.app.perform(request)).wait()
    assert (await say.app.resources.prompts.wording("local", "rag")).text.system == "Speak {language}.\n"


async def test_a_file_that_cannot_be_read_is_named(say: Space, tmp_path: Path) -> None:
    assert "gone.yml: this file does not exist" in await say(
        "edit", "rag", options={"file": str(tmp_path / "gone.yml")}
    )
    (tmp_path / "bytes.yml").write_bytes(b"\xff\xfe\x00")
    assert "can't be read" in await say("edit", "rag", options={"file": str(tmp_path / "bytes.yml")})


async def test_a_wording_with_removed_placeholders_is_replaced_by_the_file(
    say: Space, caplog: pytest.LogCaptureFixture
) -> None:
    database = say.app.resources.records.database
    await SettingsStore(database).set("here", "prompt.rag", "system: An old one {gone}.\n", "ana")
    bundled = PromptFile(BUNDLED).read()["rag"]
    assert (await say.app.resources.prompts.wording("here", "rag")).text == bundled
    assert "outdated" in await say("list")
    assert "/prompts reset rag" in await say("show", "rag")
    assert "other placeholders" in caplog.text


@pytest.fixture
def file() -> PromptFile:
    return PromptFile(BUNDLED)


@example(text=" \n0 \n1")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    text=st.text(
        st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"], whitelist_characters="\n"), max_size=80
    )
)
def test_a_shown_prompt_can_be_saved_unchanged(tmp_path: Path, file: PromptFile, text: str) -> None:
    async def kept() -> None:
        db = await Database.open(migrated.database(tmp_path / "p.db"))
        try:
            prompts = Prompts(file, SettingsStore(db))
            user = file.read()["rag"].user
            lines = text.replace("{", "(").rstrip().split("\n")
            safe = "\n".join(line.rstrip() for line in lines) + "\n{language}\n"
            made = await prompts.edit("s", "rag", as_yaml(PromptText("rag", safe, user, "")), "a")
            assert (made.system, made.user) == (safe, user)
            assert (await prompts.wording("s", "rag")).text == made
        finally:
            await db.close()

    asyncio.run(kept())
