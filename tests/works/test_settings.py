"""/settings through the real application: who may set what for whom, what the bot says, and that it takes
effect.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.app import App
from bot.config import load
from bot.events import Attachment, Author, Event, Failed, Place, Request, Text
from bot.kind import Typed
from bot.platforms import Platform
from bot.retrieval.intake import Item
from storage.db import new_id
from tests.fakes import migrated
from tests.fakes.chat_completions import ChatService, Reply
from tests.fakes.run import MemoryRun
from tests.fakes.scripted_app import Recorder, asked
from tests.storage.council_rows import council
from tests.works.council.table import table
from tests.works.test_asking import asking

HERE = Place("terminal", "local", "here", "t")
ELSEWHERE = replace(HERE, channel="elsewhere")
ANA, BIA = Author("ana", "Ana"), Author("bia", "Bia", admin=True)
CONFIG = """
[providers.house]
kind = "openai-compatible"
base_url = "{url}"
[roles]
answerer = "house:one"
researcher = "house:scout"
[council]
models = ["house:two", "house:three"]
[embedding]
model = "none"
"""


class Asker:
    """Asks as different people, in different places."""

    def __init__(self, app: App, recorder: Recorder) -> None:
        self.app = app
        self._recorder = recorder

    def request(
        self, work: str, verb: str, text: str, place: Place, author: Author, **options: Any
    ) -> Request:
        made = asked(new_id(), text, work=work, verb=verb)
        return replace(made, place=place, author=author, options=options)

    async def perform(self, request: Request) -> list[Event]:
        await (await self.app.perform(request)).wait()
        return self._recorder.events[request.id]

    async def __call__(
        self,
        verb: str,
        text: str = "",
        *,
        to: str = "",
        place: Place = HERE,
        author: Author = ANA,
        work: str = "settings",
    ) -> str:
        options = {"for": to} if to else {}
        events = await self.perform(self.request(work, verb, text, place, author, **options))
        return "".join(event.text for event in events if isinstance(event, Text | Failed))

    async def row(self, name: str, **whose: Any) -> list[str]:
        """The table's row on a setting: its value, and who set it."""
        lines = [
            line for line in (await self("show", **whose)).splitlines() if line.startswith(f"| `{name}`")
        ]
        return [cell.strip() for cell in lines[0].split("|")[2:4]]

    async def locale(self, place: Place = HERE, author: Author = ANA, app: str = "en") -> str:
        """The language used for a person there whose own application speaks `app`."""
        request = replace(self.request("sessions", "list", "", place, author), locale=app)
        await self.perform(request)
        kept = await self.app.request_of(place.space, request.id)
        assert kept is not None
        return kept.locale


@asynccontextmanager
async def opened(folder: Path, config: str = "", *, file: bool = True) -> AsyncIterator[Asker]:
    recorder = Recorder()
    path = folder / "config.toml" if file else None
    if path is not None:
        path.write_text(config or CONFIG.format(url="http://127.0.0.1:9/v1"), encoding="utf-8")
    app = await App.open(load(path, migrated.folder(folder / "data"), environ={}))
    for platform in ("terminal", "discord"):
        app.attach(Platform(platform, recorder.view))
    await app.start()
    try:
        yield Asker(app, recorder)
    finally:
        await app.close()


@pytest.fixture
async def ask(tmp_path: Path) -> AsyncIterator[Asker]:
    async with opened(tmp_path) as asker:
        yield asker


async def test_a_persons_setting_overrides_the_channels_and_the_channels_the_spaces(ask: Asker) -> None:
    assert [await ask.locale(app=language) for language in ("en", "pt-BR")] == ["en", "pt-BR"], (
        "as the platform says"
    )
    await ask("set", "language Português", to="everyone", author=BIA)
    assert await ask.locale() == "pt-BR"
    await ask("set", "language en", to="channel", author=BIA)
    assert [await ask.locale(place=place) for place in (HERE, ELSEWHERE)] == ["en", "pt-BR"]
    await ask("set", "language pt-BR", to="me")
    assert [await ask.locale(author=person) for person in (ANA, BIA)] == ["pt-BR", "en"]
    assert await ask.locale(place=replace(HERE, space="other")) == "en", "another space has its own"
    assert await ask("reset", "language", to="me") == (
        "`language` is no longer set for you. Here, this channel's value applies: `en`."
    )
    assert await ask.locale() == "en"


async def test_a_setting_survives_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as ask:
        await ask("set", "language pt-BR")
    async with opened(tmp_path) as ask:
        assert await ask.locale() == "pt-BR"


async def test_a_new_language_applies_to_the_confirmation(ask: Asker) -> None:
    assert await ask("set", "language PT") == "Para você, `language` agora é `pt-BR`."
    assert await ask("set", "language en") == "For you, `language` is now `en`."


async def test_the_table_shows_each_value_and_who_set_it_where(ask: Asker) -> None:
    assert await ask.row("language") == ["–", "your app"]
    assert await ask.row("timezone") == ["UTC", "the config"]
    assert await ask.row("model.answerer") == ["house:one", "the config"]
    assert await ask.row("council.chair") == ["house:one", "the config"]
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    await ask("set", "timezone UTC", to="everyone", author=BIA)
    value, by = await ask.row("timezone")
    assert (value, by.partition(today)[0]) == ("UTC", "everyone (Bia, ")
    assert (await ask.row("timezone", author=BIA))[1].startswith(f"everyone (you, {today}")
    await ask("set", "model.answerer house:two", to="channel", author=BIA)
    assert (await ask.row("model.answerer"))[1].startswith("this channel (Bia, ")
    await ask("set", "timezone Europe/Lisbon")
    value, by = await ask.row("timezone")
    assert (value, by.partition(today)[0]) == ("Europe/Lisbon", "you (")
    await ask("criteria", "Is it | true?", work="council", author=BIA)
    assert (await ask("show", author=BIA)).count("Is it \\| true?") == 1

    alone = await ask("show", "timezone")
    assert [line.split("|")[1].strip() for line in alone.splitlines() if line.startswith("|")][2:] == [
        "**you**", "this channel", "everyone", "the config"
    ]  # fmt: skip
    assert "Possible: `en`, `pt-BR`." in await ask("show", "Language")
    assert "free_chat" not in await ask("show"), "nothing in the terminal reads it"
    assert "| `free_chat` | off | the config |" in await ask("show", place=replace(HERE, platform="discord"))


async def test_a_value_that_ends_with_a_full_stop_gets_no_second_one(ask: Asker) -> None:
    told = await ask("set", "instruction Answer briefly.", to="channel", author=BIA)
    assert told == "In this channel, `instruction` is now `Answer briefly.`"


async def test_a_zone_is_suggested_for_a_city_with_its_country(ask: Asker) -> None:
    for typed in ("Paris/France", "paris, France", "France/Paris"):
        assert "Did you mean Europe/Paris?" in await ask("set", f"timezone {typed}")


async def test_a_setting_that_nothing_sets_any_more_shows_no_dash(ask: Asker) -> None:
    await ask("set", "shelf rules", to="everyone", author=BIA)
    told = await ask("reset", "shelf", to="everyone", author=BIA)
    assert told == "`shelf` is no longer set for everyone. Nothing else sets it."


async def test_only_admins_change_shared_settings(ask: Asker) -> None:
    for verb in ("set", "reset"):
        value = " en" if verb == "set" else ""
        for to in ("channel", "everyone"):
            assert "Only admins of this space" in await ask(verb, f"language{value}", to=to)
    assert "Only admins" in await ask("set", "model.answerer house:two", to="everyone")
    for given in ("council.criteria truth", "council.members house:two"):
        assert "everyone shares it" in await ask("set", given)
    assert await ask.row("model.answerer") == ["house:one", "the config"]
    assert "For everyone, `council.criteria` is now `truth`." in await ask(
        "set", "council.criteria truth", author=BIA
    )
    assert "truth" in await ask("criteria", work="council")
    await ask("criteria", "reset", work="council", author=BIA)
    assert (await ask.row("council.criteria"))[1] == "the config"


async def test_the_councils_own_commands_change_the_same_settings(ask: Asker) -> None:
    await ask("members", "house:two effort=high, house:three", work="council", author=BIA)
    assert (await ask.row("council.members"))[0] == "house:two effort=high, house:three"
    await ask("set", "council.chair house:three", author=BIA)
    assert "house:three" in await ask("chair", work="council")
    assert "For everyone" not in await ask("set", "council.chair house:seven", author=BIA)
    await ask("reset", "council.chair", author=BIA)
    assert "house:three" not in await ask("chair", work="council")


REFUSED = (
    ("volume loud", "", "There is no setting called “volume”. The settings are: speed, language, timezone, "),
    ("language", "", "/settings show language"),
    ("language fr", "", "“fr” is not possible for `language`. Possible: en, pt-BR."),
    ("timezone Lisboa", "", "Did you mean Libya, Europe/Lisbon?"),
    ("timezone Mars/Base", "", "I don't know a time zone called “Mars/Base”"),
    ("council.chair house:two", "me", "`council.chair` can be set for: `everyone`."),
    ("council.criteria truth", "channel", "`council.criteria` can be set for: `everyone`."),
    ("model.answerer elsewhere:two", "", "There is no provider “elsewhere”"),
    ("model.answerer house:seven", "", "not one of the models that the config lets spaces choose: house:two"),
    ("model.answerer two", "", "two"),
    ("model.answerer ,", "", "Name at least one model"),
    (
        "model.answerer " + ", ".join(f"house:{n}" for n in range(6)), "",
        "That is 6 models. The limit is 5",
    ),
    ("free_chat on", "", "`free_chat` has an effect only on Discord."),
)  # fmt: skip


async def test_an_invalid_value_gets_a_sentence_with_valid_ones(ask: Asker) -> None:
    for given, to, says in REFUSED:
        assert says in await ask("set", given, to=to, author=BIA)
        assert await ask.app.resources.settings.store.named("local", [given.split()[0]]) == [], given


async def test_a_city_selects_its_time_zone(ask: Asker) -> None:
    for given in ("america/sao_paulo", "São Paulo", "sao paulo"):
        await ask("reset", "timezone")
        assert "`America/Sao_Paulo`" in await ask("set", f"timezone {given}")


async def test_without_a_config_the_value_is_the_default(tmp_path: Path) -> None:
    async with opened(tmp_path, file=False) as ask:
        assert await ask.row("timezone") == ["UTC", "the default"]
        assert "| **the default** | UTC |" in await ask("show", "timezone")
        await ask("set", "timezone Europe/Lisbon")
        assert "The default applies: `UTC`." in await ask("reset", "timezone")


async def test_free_chat_on_discord_needs_the_operators_setting(tmp_path: Path) -> None:
    there = replace(HERE, platform="discord", space="g")
    async with opened(tmp_path) as ask:
        answer = await ask("set", "free_chat on", author=BIA, place=there)
        assert "operator must first set `free_chat = true`" in answer
        assert not await ask.app.resources.settings.free_chat(there)
    more = CONFIG.format(url="http://127.0.0.1:9/v1") + "[discord]\nfree_chat = true\n"
    async with opened(tmp_path, more) as ask:
        settings = ask.app.resources.settings
        assert await settings.free_chat(there)
        await ask("set", "free_chat off", author=BIA, place=there)
        await ask("set", "free_chat on", to="channel", author=BIA, place=there)
        assert [await settings.free_chat(place) for place in (there, replace(there, channel="c"))] == [
            True,
            False,
        ]


async def test_times_are_shown_in_the_effective_time_zone(ask: Asker) -> None:
    resources = ask.app.resources
    at = ("local", "terminal", "here", "t")
    session = await resources.records.sessions.open(*at, "rules", author_id="ana", title="Gates")
    async with resources.records.database.write() as connection:
        await connection.exec_driver_sql(
            f"UPDATE sessions SET updated_at = '2026-03-04 01:06:07' WHERE id = '{session.id}'"
        )
    await resources.councils.begin(council("run-1", channel="here", kind="best", verdict="Yes."))
    await resources.settings.store.set("local", "prompt.rag", "system: x", "ana")
    async with resources.records.database.write() as connection:
        await connection.exec_driver_sql("UPDATE settings SET updated_at = '2026-03-04 01:06:07'")

    async def shown() -> tuple[bool, bool, str]:
        exported = await ask.perform(ask.request("council", "export", "", HERE, ANA))
        (file,) = [event.data.decode() for event in exported if isinstance(event, Attachment)]
        (when,) = [line for line in file.splitlines() if "2026-03-0" in line]
        listed = "2026-03-04 01:06" in await ask("list", work="sessions")
        return listed, "| 2026-03-04 |" in await ask("list", work="prompts"), when

    listed, prompts, when = await shown()
    assert listed
    assert prompts
    assert "2026-03-04 05:06 UTC" in when
    await ask("set", "timezone America/Sao_Paulo")
    assert "2026-03-03 22:06" in await ask("list", work="sessions")
    assert "| 2026-03-03 |" in await ask("list", work="prompts")
    assert "2026-03-04 02:06 -03" in (await shown())[2]


async def test_setting_names_and_then_their_values_are_suggested(ask: Asker) -> None:
    async def offered(typed: str) -> list[str]:
        return await ask.app.complete("setting", Typed("local", typed))

    assert await offered("lang") == ["language"]
    assert await offered("answ") == ["model.answerer", "answers", "unanswered"]
    assert await offered("council.") == ["council.members", "council.chair", "council.criteria"]
    assert await offered("language ") == ["language en", "language pt-BR"]
    assert await offered("language p") == ["language pt-BR"]
    assert await offered("timezone sao p") == ["timezone America/Sao_Paulo"]
    assert await offered("model.answerer house:t") == [
        "model.answerer house:two",
        "model.answerer house:three",
    ]
    assert await offered("nothing x") == []
    assert len(await offered("timezone ")) == 25


async def test_a_place_answers_with_its_chosen_models(tmp_path: Path) -> None:
    said = Reply(pieces=["A candle burns four hours while walking [1]."])
    async with (
        ChatService(lambda body: said, models=("one", "two", "three")) as service,
        opened(tmp_path, CONFIG.format(url=service.base_url)) as ask,
    ):
        resources = ask.app.resources
        (tmp_path / "book.md").write_text("# Light\n\nA candle burns four hours while walking.\n")
        item = Item("book.md", str(tmp_path / "book.md"))
        assert (await resources.intake.take("local", "rules", item, "k", replace=False)).key == ""

        async def asks(
            place: Place, question: str = "How long does a candle burn while walking?"
        ) -> set[str]:
            before = len(service.requests)
            assert "four hours" in await ask("ask", question, work="rules", place=place)
            return {str(body["model"]) for body in service.requests[before:]}

        assert await asks(HERE) == {"one"}
        await ask("set", "model.answerer house:three", to="everyone", author=BIA)
        await ask("set", "model.answerer house:two, house:one", to="channel", author=BIA)
        assert [await asks(place) for place in (HERE, ELSEWHERE)] == [{"two"}, {"three"}]

        # An interrupted run continues with the models with which it started.
        run = MemoryRun()
        run.request = replace(run.request, place=HERE, text="How long does a candle burn while walking?")

        class Bench:
            """The parts of it that `asking` uses."""

            def __init__(self) -> None:
                self.resources = resources

        question = asking(Bench())  # type: ignore[arg-type]
        assert [event async for event in question.run(run)]
        assert service.requests[-1]["model"] == "two"
        await ask("reset", "model.answerer", to="channel", author=BIA)
        del run.kept["answer"]
        again = run.replay()
        again.request = run.request
        assert [event async for event in question.run(again)]
        assert service.requests[-1]["model"] == "two"
        assert await asks(HERE) == {"three"}


async def test_a_model_that_the_config_no_longer_allows_is_skipped(tmp_path: Path) -> None:
    async with opened(tmp_path) as ask:
        await ask("set", "model.answerer house:three", to="everyone", author=BIA)
        await ask("set", "model.answerer house:two", to="channel", author=BIA)
    text = CONFIG.format(url="http://127.0.0.1:9/v1").replace('"house:two", ', "")
    async with opened(tmp_path, text) as ask:
        request = ask.request("rules", "ask", "", HERE, ANA)
        assert await ask.app.resources.settings.roles(request) == {"answerer": ["house:three"]}
        assert (await ask.row("model.answerer"))[0] == "house:three"
        assert "no longer allows it: model.answerer" in await ask("show")


async def test_a_persons_model_overrides_the_channels_and_must_be_allowed_by_the_config(
    tmp_path: Path,
) -> None:
    """Without a list of models in the config an admin may choose any, a person only those of the roles."""
    text = re.sub(r"^models = .*\n", "", CONFIG.format(url="http://127.0.0.1:9/v1"), flags=re.MULTILINE)
    async with opened(tmp_path, text.replace('"house:one"', '["house:one", "house:two effort=high"]')) as ask:

        async def chosen(author: Author) -> list[str]:
            roles = await ask.app.resources.settings.roles(ask.request("rules", "ask", "", HERE, author))
            return roles.get("answerer", [])

        await ask("set", "model.answerer house:seven effort=high", to="channel", author=BIA)
        assert await chosen(ANA) == ["house:seven effort=high"]
        assert "For you, `model.answerer` is now `house:two`." in await ask("set", "model.answerer house:two")
        assert [await chosen(person) for person in (ANA, BIA)] == [["house:two"], ["house:seven effort=high"]]
        assert (await ask.row("model.answerer"))[0] == "house:two"

        assert "house:one, house:two" in await ask("set", "model.answerer house:seven")
        for dear in ("house:one effort=high", "house:one tokens=90000", "house:two, house:one timeout=3000"):
            assert "by its name alone" in await ask("set", f"model.answerer {dear}")
        assert await chosen(ANA) == ["house:two"]
        await ask("set", "model.answerer house:two effort=high, house:one temperature=1")
        assert await chosen(ANA) == ["house:two effort=high", "house:one temperature=1"]
        # One that an earlier config permitted.
        await ask.app.resources.settings.set(HERE, ANA.id, "model.answerer", "house:seven", "person")
        assert await chosen(ANA) == ["house:seven effort=high"]


async def test_a_councils_research_uses_the_places_researcher(tmp_path: Path) -> None:
    async with table(tmp_path) as four:
        await four.settings_store.set("local", "model.researcher", "local:m2", "bia")
        await four.ask(research="cultural_context")
        assert [call for call in four.asked if "research" in call] == ["m2 research-cultural_context"]
