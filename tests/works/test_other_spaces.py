"""Nobody reads or changes another space's data, whatever ids, names and buttons they have."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import Table as SqlTable

from bot.events import Attachment, Author, Choices, File, Picture, Place, Request, UserError
from bot.platforms import Platform, Standing
from storage import tables
from storage.db import new_id
from tests.fakes.scripted_app import Recorder
from tests.works.test_settings import Asker, opened

pytestmark = pytest.mark.asyncio(loop_scope="module")

PLATFORMS = ("discord", "slack")
NAMES = {"victim": "Vera Secret", "hoard": "secret-hall", "guild": "Secret Guild"}
"""What the platform calls the people, channels and groups of the space that is attacked."""
MEMBER, ADMIN = Author("mallory", "Mallory", groups=()), Author("root", "Root", admin=True, groups=())
BOSS, VICTIM = (
    Author("boss", "Boss Secret", admin=True, groups=()),
    Author("victim", "Vera Secret", groups=()),
)
SPENT = 54_321


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asker(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Asker]:
    recorder = Recorder()

    def mine(place: Place, id: str) -> str:
        return NAMES.get(id, "") if place.space.startswith("rich") else ""

    async def name(place: Place, id: str) -> str:
        return mine(place, id)

    async def channel(place: Place) -> str:
        return mine(place, place.channel)

    async def standing(place: Place, person: str, groups: Collection[str]) -> Standing:
        return Standing(())

    async def find(place: Place, kind: str, typed: str) -> tuple[str, str] | None:
        return (typed, found) if (found := mine(place, typed)) else None

    async with opened(tmp_path_factory.mktemp("spaces")) as asker:
        for platform in PLATFORMS:
            views = Platform(
                platform, recorder.view, person_name=name, channel_name=channel, standing=standing, find=find
            )
            asker.app.attach(views)
        asker._recorder = recorder
        yield asker


def attached(file: Path) -> tuple[File, ...]:
    return (File(file.name, str(file), file.stat().st_size),)


class Attack:
    """A space with secrets, another space, and everything that was said there."""

    def __init__(self, asker: Asker, platform: str) -> None:
        self.asker, self.app = asker, asker.app
        mark = new_id()
        self.theirs = Place(platform, f"rich-{mark}", "hoard", "t")
        self.ours = Place(platform, f"poor-{mark}", "yard", "t")
        self.said: list[str] = []

    async def do(self, path: str, text: str, place: Place, author: Author, **more: Any) -> Request:
        """A request and its answer; a refusal is a sentence, too."""
        work, _, verb = path.partition(" ")
        answers, files = more.pop("answers", ""), more.pop("files", ())
        request = replace(
            Request(new_id(), place, author, work, verb, more, text), answers=answers, files=files
        )
        try:
            await (await self.app.perform(request)).wait()
        except UserError as error:
            self.said.append(f"{error.key} {error.values}")
            return request
        for event in self.asker._recorder.events[request.id]:
            if isinstance(event, Attachment):
                self.said.append(event.data.decode(errors="replace"))
            elif isinstance(event, Picture):
                self.said.append(event.alt)
            else:
                self.said.append(repr(event))
        return request

    async def furnish(self, tmp_path: Path) -> Sequence[Request]:
        """Create the secrets, and the runs with buttons for them."""
        boss: dict[str, Any] = {"place": self.theirs, "author": BOSS}
        here: dict[str, Any] = {**boss, "for": "channel"}
        await self.do("settings set", "instruction Secretly be a pirate.", **here)
        await self.do("settings set", "listens mentions", **here)
        await self.do("settings deny", "story", **boss, person="victim")
        await self.do("settings allow", "council", **boss, group="guild")
        await self.do("settings budget", "77777 tokens", **boss, person="victim")
        await self.do("settings budget", "88888 tokens", **boss, whose="channel")
        await self.do("rules house", "The secret password is swordfish.", **boss)
        ledger, space = self.app.resources.ledger, self.theirs.space
        row = await ledger.reserve(
            space, "run", "step", VICTIM.id, "secret:model", SPENT, None, channel="hoard"
        )
        await ledger.settle(space, row, input_tokens=SPENT, output_tokens=0, cost_usd=None)
        file = tmp_path / "settings.toml"
        file.write_text('[[access]]\nwhat = "rules"\nperson = "victim"\nallow = false\n', encoding="utf-8")
        text = tmp_path / "rules.txt"
        text.write_text("1. Nobody may pass the secret gate.\n", encoding="utf-8")
        preview = await self.do("settings import", "", **boss, files=attached(file))
        adopted = await self.do("rules house", "", **boss, files=attached(text))
        channels = await self.do("settings channels", "", **boss)
        offered = [
            event
            for run in (preview, adopted)
            for event in self.asker._recorder.events[run.id]
            if isinstance(event, Choices)
        ]
        assert len(offered) == 2, "each shows what it would do, and waits for a press"
        self.said.clear()
        return preview, adopted, channels

    async def kept(self, space: str) -> list[tuple[Any, ...]]:
        """All settings of the space, with their history."""
        rows: list[tuple[Any, ...]] = []
        for table in (tables.settings, tables.setting_changes, tables.ledger):
            assert isinstance(table, SqlTable)
            async with self.app.records.database.read() as connection:
                found = await connection.execute(table.select().where(table.c.space == space))
                rows += [tuple(row) for row in found]
        return sorted(rows, key=repr)


@pytest.fixture(params=PLATFORMS)
def attack(asker: Asker, request: pytest.FixtureRequest) -> Attack:
    return Attack(asker, request.param)


SECRETS = ("ecret", "victim", "hoard", "guild", "77777", "88888", str(SPENT), "swordfish", "pirate")
"""`ecret`: also at the beginning of a sentence."""


async def read(attack: Attack, place: Place, author: Author) -> None:
    """Call everything that shows a space's data."""
    for path in ("show", "channels", "access", "budget", "history", "export"):
        await attack.do(f"settings {path}", "", place, author)
    for setting in ("instruction", "listens", "works"):
        await attack.do("settings show", setting, place, author)
    await attack.do("rules house", "", place, author)
    await attack.do("privacy export", "", place, author)
    for by in ("work", "model", "person", "channel", "day"):
        await attack.do("house usage", "", place, author, by=by, csv=True)
    await attack.do("house usage", "", place, author, picture=True)


async def test_a_spaces_own_admin_sees_all_of_its_data(attack: Attack, tmp_path: Path) -> None:
    await attack.furnish(tmp_path)
    await read(attack, attack.theirs, BOSS)
    assert [secret for secret in SECRETS if not any(secret in said for said in attack.said)] == []


@pytest.mark.parametrize("author", [MEMBER, ADMIN], ids=["member", "admin"])
async def test_no_data_of_another_space_is_shown(attack: Attack, author: Author, tmp_path: Path) -> None:
    await attack.furnish(tmp_path)
    await read(attack, attack.ours, author)
    assert len(attack.said) > 15
    assert [secret for secret in SECRETS if any(secret in said for said in attack.said)] == []


@pytest.mark.parametrize("author", [MEMBER, ADMIN], ids=["member", "admin"])
async def test_ids_of_another_space_change_nothing_there(
    attack: Attack, author: Author, tmp_path: Path
) -> None:
    await attack.furnish(tmp_path)
    before = await attack.kept(attack.theirs.space)
    for whom in ({"person": "victim"}, {"group": "guild"}, {"person": "<@victim|V>"}, {}):
        for verb in ("allow", "deny"):
            for what in ("story", "council", "models"):
                await attack.do(f"settings {verb}", what, attack.ours, author, **whom)
                await attack.do(f"settings {verb}", what, attack.ours, author, **whom, remove=True)
        await attack.do("settings budget", "off", attack.ours, author, **whom)
        await attack.do("settings budget", "1 tokens", attack.ours, author, **whom)
    await attack.do("settings budget", "off", attack.ours, author, whose="channel")
    for scope in ("channel", "category", "everyone"):
        await attack.do("settings set", "instruction Ours.", attack.ours, author, **{"for": scope})
        await attack.do("settings reset", "listens", attack.ours, author, **{"for": scope})
    await attack.do("rules house", "", attack.ours, author, remove=1)
    await attack.do("rules house", "Ours.", attack.ours, author, change=1)
    file = tmp_path / "theirs.toml"
    file.write_text(
        '[channels.hoard]\nworks = "rules"\n[[access]]\nwhat = "story"\nperson = "victim"\nallow = true\n'
        '[[budgets]]\namount = "5 tokens"\nchannel = "hoard"\n[house_rules]\n1 = "Ours."\n',
        encoding="utf-8",
    )
    await attack.do("settings import", "", attack.ours, author, files=attached(file), yes=True)
    assert await attack.kept(attack.theirs.space) == before
    assert not any(
        secret in said for said in attack.said for secret in ("ecret", "swordfish", "pirate", "77777")
    )


@pytest.mark.parametrize("author", [MEMBER, ADMIN], ids=["member", "admin"])
async def test_a_button_cannot_answer_a_run_of_another_space(
    attack: Attack, author: Author, tmp_path: Path
) -> None:
    runs = await attack.furnish(tmp_path)
    before = await attack.kept(attack.theirs.space)
    for run in runs:
        for path in ("settings import", "rules adopt", "rules house", "voice play", "settings channels"):
            for more in ({}, {"yes": True}, {"under": f"run:{run.id}"}):
                await attack.do(path, "", attack.ours, author, answers=run.id, **more)
        assert await attack.app.request_of(attack.ours.space, run.id) is None
        assert not await attack.app.forget(attack.ours.space, run.id)
        assert not await attack.app.reword(attack.ours.space, run.id, "Ours.")
        assert await attack.app.stop_run(attack.ours.space, run.id) == 0
    assert await attack.kept(attack.theirs.space) == before
    assert [secret for secret in SECRETS if any(secret in said for said in attack.said)] == []
    ours = await attack.kept(attack.ours.space)
    assert not any(secret in repr(row) for row in ours for secret in SECRETS), "nor is it copied"
