"""What doctor says about Discord, and the invitation: what is wrong, and what to click."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.adapters.discord.installed import doctor
from bot.adapters.discord.installed.doctor import examine, ours
from bot.adapters.discord.installed.setup import FOR_VOICE, PERMISSIONS, invite, link, personal_link, wanted
from bot.config import Config, DiscordConfig, Secrets, load
from bot.events import UserError
from bot.words import words
from tests.fakes.discord import FakeDiscord


@pytest.fixture
async def fake() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as fake:
        yield fake


def config(fake: FakeDiscord, **settings: object) -> Config:
    discord = DiscordConfig(api_base=fake.api, **settings)  # type: ignore[arg-type]
    return replace(load(environ={}), discord=discord)


async def told(fake: FakeDiscord, locale: str = "en", **settings: object) -> dict[str, bool | None]:
    """Each check: whether it passed, and its sentence without the first word."""
    checks = await examine(config(fake, **settings), fake.token, words(locale))
    return {text.removeprefix("Discord").lstrip(":, "): well for well, text in checks}


async def test_doctor_finds_no_fault_in_a_complete_setup(fake: FakeDiscord) -> None:
    fake.guild("Table")
    fake.guild("Chair", ["administrator"])
    fake.commands.everywhere[:] = await ours(config(fake))
    checks = await told(fake, free_chat=True)
    assert checks.pop("the token in DISCORD_TOKEN is valid, for Sutradhar#4821")
    assert checks.pop("the Message Content intent is on, as free_chat needs")
    assert checks.pop("in 2 servers, with every permission it needs")
    assert checks.pop("28 commands are registered and match this release")
    assert checks.pop("1000 of 1000 starts left today, 1 shard recommended")
    (latency,) = checks.items()
    assert latency[0].startswith("answers in ")
    assert latency[1] is True


async def test_a_refused_token_says_where_to_get_a_new_one(fake: FakeDiscord) -> None:
    checks = await examine(config(fake), "another", words("en"))
    ((well, text),) = checks
    assert well is False
    assert "Reset Token" in text
    assert "another" not in text


async def test_a_missing_network_gets_one_sentence() -> None:
    async with FakeDiscord() as fake:
        gone = config(fake)
    ((well, text),) = await examine(gone, "a.b.c", words("pt-BR"))
    assert well is False
    assert f"Não consigo acessar o Discord em {gone.discord.api_base}" in text


@pytest.mark.parametrize(
    ("free_chat", "well", "says"), [(True, False, "“Message Content Intent”"), (False, None, "not needed")]
)
async def test_a_disabled_intent_is_a_fault_only_if_it_is_needed(
    free_chat: bool, well: bool | None, says: str
) -> None:
    async with FakeDiscord(portal=()) as fake:
        checks = await told(fake, free_chat=free_chat)
    assert [text for text, is_well in checks.items() if is_well is well and says in text]


@pytest.mark.parametrize(
    ("locale", "names"),
    [("en", "Send Messages, Create Public Threads"), ("pt-BR", "Enviar mensagens, Criar tópicos públicos")],
)
async def test_missing_permissions_are_named_for_each_server(
    fake: FakeDiscord, locale: str, names: str
) -> None:
    fake.guild("Table").forbid("send_messages", "create_public_threads")
    fake.guild("Chair")
    checks = await told(fake, locale)
    (lacking,) = [text for text, well in checks.items() if text.startswith("Table")]
    assert names in lacking
    assert checks[lacking] is False
    assert not [text for text in checks if "Chair" in text]


async def test_many_servers_that_lack_something_are_counted(fake: FakeDiscord) -> None:
    for n in range(doctor.NAMED + 3):
        fake.guild(f"Table {n}", [])
    checks = await told(fake)
    assert sum(text.startswith("Table") for text in checks) == doctor.NAMED
    assert "3 more servers lack permissions." in checks


async def test_without_a_server_doctor_explains_how_to_invite_the_bot(fake: FakeDiscord) -> None:
    assert [text for text in await told(fake) if "doctor --invite" in text]


async def test_an_interactions_endpoint_url_is_reported(fake: FakeDiscord) -> None:
    fake.interactions_endpoint_url = "https://example.org/discord"
    assert [text for text, well in (await told(fake)).items() if well is False and "empty that field" in text]


async def test_the_token_of_another_application_is_reported(fake: FakeDiscord) -> None:
    checks = await told(fake, application_id=7)
    assert [text for text, well in checks.items() if well is False and "application_id = 7" in text]


async def test_before_the_first_start_no_commands_are_registered(fake: FakeDiscord) -> None:
    assert [text for text in await told(fake) if "no commands are registered yet" in text]


async def test_commands_of_another_release_are_named(fake: FakeDiscord) -> None:
    fake.commands.everywhere[:] = await ours(config(fake))
    for command in fake.commands.everywhere:
        if command["name"] == "help":
            command["options"] = []
    assert [text for text in await told(fake) if "do not match this release (help)" in text]


async def test_a_test_server_without_the_bot_is_named(fake: FakeDiscord) -> None:
    guild = fake.guild("Table", bot=False)
    checks = await told(fake, sync_guilds=(guild.id,))
    assert [text for text, well in checks.items() if well is False and str(guild.id) in text]


def test_the_invitation_requests_only_the_needed_permissions() -> None:
    assert link(123) == (
        "https://discord.com/oauth2/authorize?client_id=123&scope=bot+applications.commands"
        f"&permissions={wanted().value}"
    )
    needed = (*PERMISSIONS, *FOR_VOICE)
    assert all(getattr(wanted(), name) for name in needed)
    assert wanted().value.bit_count() == len(needed)
    assert not wanted().administrator
    assert not wanted().mention_everyone
    assert personal_link(123).endswith("client_id=123&scope=applications.commands&integration_type=1")


def test_an_invitation_needs_no_token_if_the_config_names_the_application(
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = replace(load(environ={}), discord=DiscordConfig(application_id=123))
    assert invite(settings, "en") == 0
    assert capsys.readouterr().out == link(123) + "\n"


def test_an_invitation_without_an_application_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        invite(replace(load(environ={}), secrets=Secrets({}, {})), "en")
    assert caught.value.key == "discord_doctor.invite_unknown"
