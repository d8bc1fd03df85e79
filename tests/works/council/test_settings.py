"""Admins of a space choose the council's members in chat, in place of config.toml's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from bot.config import load
from bot.events import Author, Stage, Text, UserError
from bot.llm.registry import Models
from bot.settings import Settings as SpaceSettings
from bot.works.council.settings import CHAIRS, CRITERIA_CHARS, Settings
from storage.db import Database
from storage.ledger import Ledger
from storage.settings import SettingsStore
from tests.fakes import migrated
from tests.fakes.run import MemoryRun

CONFIG = """
[providers.house]
kind = "openai-compatible"
base_url = "http://127.0.0.1:9/v1"

[roles]
council = ["house:one effort=low", "openai:gpt-4o"]
chair = "house:one"
"""
SECRET = "sk-that-nobody-sees"
ADMIN = Author("ana", "Ana", admin=True)
GUEST = Author("bia", "Bia")


class Hall:
    """Where settings are changed: `says` returns the title and the text of the answer."""

    def __init__(self, folder: Path, db: Database) -> None:
        self._folder = folder
        self.store = SettingsStore(db)
        self._ledger = Ledger(db)
        self.settings = self.under(CONFIG)
        self._asked = 0

    def under(self, text: str, **environ: str) -> Settings:
        """The same space under another config.toml."""
        file = self._folder / "config.toml"
        file.write_text(text, encoding="utf-8")
        config = load(file, self._folder, environ={"OPENAI_API_KEY": SECRET, **environ})
        return Settings(SpaceSettings(self.store, config), Models(config, self._ledger), config)

    def run(self, verb: str, text: str = "", *, space: str = "here", author: Author = ADMIN) -> MemoryRun:
        run = MemoryRun(space)
        run.request = replace(run.request, work="council", verb=verb, text=text, author=author)
        return run

    async def says(self, run: MemoryRun) -> tuple[str, str]:
        title, text = "", ""
        async with aclosing(self.settings.run(run)) as events:
            async for event in events:
                title += event.title if isinstance(event, Stage) else ""
                text += event.text if isinstance(event, Text) else ""
        return title, text

    async def __call__(
        self, verb: str, text: str = "", *, space: str = "here", author: Author = ADMIN
    ) -> str:
        return (await self.says(self.run(verb, text, space=space, author=author)))[1]

    async def models(self, space: str = "here") -> list[str]:
        return [member.model for member in (await self.settings.seats(space)).members]


@pytest.fixture
async def hall(tmp_path: Path) -> AsyncIterator[Hall]:
    db = await Database.open(migrated.database(tmp_path / migrated.STORAGE))
    yield Hall(tmp_path, db)
    await db.close()


async def test_a_space_chooses_its_own_council_without_affecting_other_spaces(hall: Hall) -> None:
    told = await hall(
        "members", 'house:two persona="a sceptic, who asks “why?”" temperature=1.1; house:two; openai:gpt-4o'
    )
    assert "Saved" in told
    mine = await hall.settings.seats("here")
    assert [member.model for member in mine.members] == ["house:two", "house:two", "openai:gpt-4o"]
    assert mine.members[0].persona == "a sceptic, who asks “why?”"
    assert mine.own == ["members"]
    assert mine.chair == ["house:one"]
    other = await hall.settings.seats("there")
    assert ([str(member) for member in other.members], other.own) == (
        ["house:one effort=low", "openai:gpt-4o"],
        [],
    )
    assert "Reset" in await hall("members", "RESET")
    assert await hall.models() == ["house:one", "openai:gpt-4o"]
    assert "Nothing was set" in await hall("members", "reset")


async def test_a_chair_takes_the_settings_of_a_seat(hall: Hall) -> None:
    await hall("chair", "house:two effort=high, openai:gpt-4o tokens=9000")
    assert (await hall.settings.seats("here")).chair == ["house:two effort=high", "openai:gpt-4o tokens=9000"]


async def test_a_chair_with_those_who_stand_in_and_criteria_are_set_the_same_way(hall: Hall) -> None:
    await hall("chair", "house:two, openai:gpt-4o\nhouse:two")
    await hall("criteria", "Is it true,\n  and kind?")
    seats = await hall.settings.seats("here")
    assert (seats.chair, seats.criteria) == (["house:two", "openai:gpt-4o"], "Is it true, and kind?")
    assert seats.own == ["chair", "criteria"]
    assert "> Is it true, and kind?" in await hall("criteria")
    await hall("criteria", "Padrão")
    assert "> accuracy first" in await hall("criteria")
    newest = (await hall.store.changes("here", 9))[0]
    assert (newest.name, newest.value, newest.author_id) == ("council.criteria", None, ADMIN.id)


async def test_everybody_sees_the_council_and_only_admins_change_it(hall: Hall) -> None:
    assert "house:one" in await hall("members", author=GUEST)
    for verb, text in (("members", "house:two"), ("chair", "reset"), ("criteria", "mine win")):
        with pytest.raises(UserError) as refused:
            await hall(verb, text, author=GUEST)
        assert (refused.value.key, refused.value.values) == ("council_settings.admins", {"name": verb})
    assert await hall.store.of_space("here", "council.") == {}


@pytest.mark.parametrize(
    ("verb", "text", "key"),
    [
        ("members", "elsewhere:two", "council_settings.provider"),
        ("members", "gpt-4o", "members.model"),
        ("members", "house:two volume=11", "members.setting"),
        ("members", " , ; ", "council_settings.nobody"),
        ("members", ", ".join(["house:two"] * 13), "members.many"),
        ("chair", "house:two efort=high", "members.setting_near"),
        ("chair", ", ".join(f"house:{n}" for n in range(CHAIRS + 1)), "council_settings.chairs"),
        ("criteria", "x" * (CRITERIA_CHARS + 1), "council_settings.long"),
    ],
)
async def test_unusable_values_are_refused_and_not_stored(hall: Hall, verb: str, text: str, key: str) -> None:
    with pytest.raises(UserError) as refused:
        await hall(verb, text)
    assert refused.value.key == key
    assert await hall.store.of_space("here", "council.") == {}


async def test_if_the_config_lists_models_spaces_choose_from_those_and_the_configured_members(
    hall: Hall,
) -> None:
    hall.settings = hall.under(CONFIG + '[council]\nmodels = ["house:three"]\n')
    await hall("members", "house:three, openai:gpt-4o")
    with pytest.raises(UserError) as refused:
        await hall("members", "house:two")
    assert refused.value.key == "council_settings.model"
    assert refused.value.values["models"] == "house:three, house:one, openai:gpt-4o"


async def test_a_model_that_the_config_no_longer_allows_is_left_out_and_named(hall: Hall) -> None:
    await hall("members", "house:two, house:three")
    await hall("chair", "house:two")
    hall.settings = hall.under(CONFIG + '[council]\nmodels = ["house:three"]\n')
    assert await hall.models() == ["house:three"]
    assert "no longer" in await hall("members")
    assert (await hall.settings.seats("here")).chair == ["house:one"]
    hall.settings = hall.under(CONFIG + '[council]\nmodels = ["house:four"]\n')
    assert await hall.models() == ["house:one", "openai:gpt-4o"]
    assert (await hall.settings.seats("here")).own == []


async def test_a_member_with_a_removed_provider_does_not_break_the_council(hall: Hall) -> None:
    hall.settings = hall.under(CONFIG.replace("house", "attic"))
    await hall("members", "attic:two, openai:gpt-4o")
    hall.settings = hall.under(CONFIG)
    assert await hall.models() == ["openai:gpt-4o"]


async def test_the_table_shows_available_models_and_prices(hall: Hall) -> None:
    hall.settings = hall.under(CONFIG, OPENAI_API_KEY="")
    title, told = await hall.says(hall.run("members"))
    assert title == "Who is in the council"
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in told.splitlines()[2:4]]
    assert rows[0] == ["1", "house:one", "effort=low", "yes", "unknown"]
    assert rows[1][:4] == ["2", "openai:gpt-4o", "–", "no: OPENAI_API_KEY is not set"]
    assert rows[1][4].startswith("$0.0")
    hall.settings = hall.under(CONFIG)
    told = await hall("members")
    assert "no:" not in told
    assert SECRET not in told


async def test_a_persona_cannot_break_the_table(hall: Hall) -> None:
    await hall("members", 'house:two persona="a | pipe"')
    row = next(line for line in (await hall("members")).splitlines() if line.startswith("| 1 |"))
    assert row.replace("\\|", "").count("|") == 6


async def test_a_change_is_made_once_however_often_its_run_is_replayed(hall: Hall) -> None:
    run = hall.run("members", "house:two")
    first = await hall.says(run)
    await hall("members", "house:three")
    again = run.replay()
    again.request = run.request
    assert await hall.says(again) == first
    assert await hall.models() == ["house:three"]
