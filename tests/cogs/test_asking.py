"""How a slash command becomes a request: its author, its place, and the response to its sender."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import discord
import pytest
from simcord.enums import InteractionType

from bot.adapters.discord.received.placing import origin_of
from bot.config import LimitsConfig
from bot.runs.requests import event_id
from tests.cogs.table import Table, command, said

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = "Can a grappled creature cast spells?"
ASK = InteractionType.APPLICATION_COMMAND


async def test_a_question_is_a_request_of_its_guild(table: Table) -> None:
    asked = await table.ana.slash(
        table.general, "rules ask", question=QUESTION, shelf="rules", k=3, strategy="multi-hop"
    )
    request = table.asked
    assert (request.work, request.verb, request.text) == ("rules", "ask", QUESTION)
    assert request.options == {"shelf": "rules", "k": 3, "strategy": "multi-hop"}
    assert (request.place.platform, request.place.space) == ("discord", table.space)
    assert (request.author.id, request.author.name) == (str(table.ana.id), "Ana")
    assert request.locale == "en"
    assert asked.deferred
    assert not asked.ephemeral


async def test_a_question_in_a_channel_names_its_thread_before_it_is_opened(table: Table) -> None:
    await table.ana.slash(table.general, "rules ask", question=QUESTION)
    place = table.asked.place
    assert place.channel == str(table.general.id)
    assert table.asked.id == event_id("discord", table.space, place.thread)
    assert (table.origin.home, table.origin.title, table.origin.asked) == ("thread", QUESTION, QUESTION)


async def test_a_look_up_is_answered_by_the_response_itself(table: Table) -> None:
    await table.ana.slash(table.general, "rules lookup", name="Grappled")
    assert table.asked.place.thread == ""
    assert table.origin.home == "response"
    assert table.origin.token


async def test_a_setting_takes_three_options_and_is_answered_ephemerally(table: Table) -> None:
    asked = await table.ana.slash(
        table.general, "settings set", setting="language", value="pt-BR", **{"for": "me"}
    )
    assert (table.asked.text, table.asked.options) == ("language pt-BR", {"for": "me"})
    await table.ended()
    assert asked.ephemeral
    await table.ana.slash(table.general, "rules lookup", name="Grappled")
    kept = await table.world.app.request_of(table.space, table.requests[-1].id)
    assert kept is not None
    assert (kept.verb, kept.locale) == ("lookup", "pt-BR")
    refused = await table.ana.slash(table.general, "library reindex")
    assert "administra" in said(refused), "messages outside runs are in the set language, too"


async def test_a_private_question_is_a_separate_conversation(table: Table) -> None:
    asked = await table.ana.slash(table.general, "rules ask", question=QUESTION, private=True)
    assert asked.ephemeral
    assert table.asked.place.thread == f"private:{table.ana.id}"
    assert (table.origin.home, table.origin.private) == ("response", True)


async def test_each_thread_is_a_separate_conversation(table: Table) -> None:
    thread = table.thread()
    await table.ana.slash(thread, "rules ask", question=QUESTION)
    assert table.asked.place.channel == str(table.general.id)
    assert table.asked.place.thread == str(thread.id)
    assert table.origin.home == "here"
    assert table.origin.channel == thread.id


async def test_a_thread_that_the_bot_opened_keeps_its_conversation(table: Table) -> None:
    thread = table.thread()
    threads = table.world.app.resources.records.threads
    await threads.bind(table.space, str(table.general.id), "12345", str(thread.id))
    await table.ana.slash(thread, "rules ask", question=QUESTION)
    assert (table.asked.place.channel, table.asked.place.thread) == (str(table.general.id), "12345")


async def test_a_dm_is_the_persons_own_space_where_nothing_is_marked_private(table: Table) -> None:
    carla = table.world.person("Carla")
    await carla.slash("rules ask", question=QUESTION, private=True)
    request = table.asked
    assert request.place.space == f"user:{carla.id}"
    assert request.place.thread == ""
    assert request.author.admin
    assert (table.origin.home, table.origin.private) == ("here", False)


async def test_a_user_install_alone_uses_the_persons_own_space(table: Table) -> None:
    """The guild has not installed the bot, so the guild's data are out of reach."""
    owners = {"1": str(table.ana.id)}
    await table.deliver(ASK, command("rules ask", question=QUESTION), authorizing_integration_owners=owners)
    request = table.asked
    assert request.place.space == f"user:{table.ana.id}"
    assert request.author.admin
    assert (table.origin.home, table.origin.member) == ("response", False)


async def test_with_both_installs_the_guilds_space_is_used(table: Table) -> None:
    owners = {"0": table.space, "1": str(table.ana.id)}
    await table.deliver(ASK, command("rules ask", question=QUESTION), authorizing_integration_owners=owners)
    assert table.asked.place.space == table.space
    assert not table.asked.author.admin


async def test_in_a_guild_without_the_bot_the_answer_is_the_response(table: Table) -> None:
    owners = {"0": "77", "1": str(table.ana.id)}
    await table.deliver(
        ASK,
        command("rules ask", question=QUESTION),
        authorizing_integration_owners=owners,
        guild_id="77",
        guild={"id": "77", "locale": "en-US", "features": []},
    )
    assert table.asked.place.space == "77"
    assert (table.origin.home, table.origin.member) == ("response", False)


async def test_where_the_bot_may_not_write_the_answer_is_the_response(table: Table) -> None:
    may = discord.Permissions(view_channel=True, read_message_history=True)
    await table.deliver(ASK, command("rules ask", question=QUESTION), app_permissions=str(may.value))
    assert table.origin.home == "response"
    assert table.asked.place.space == table.space


async def test_people_with_a_portuguese_client_get_portuguese(table: Table) -> None:
    await table.deliver(ASK, command("rules ask", question=QUESTION), locale="pt-BR")
    assert table.asked.locale == "pt-BR"
    told = await table.deliver(ASK, command("library reindex"), by=table.ana.id, locale="pt-BR")
    assert "administra" in said(told)


async def test_an_interaction_delivered_twice_is_handled_once(table: Table) -> None:
    first = await table.deliver(ASK, command("rules roll", expression="1d1"))
    payload = next(
        entry[2] for entry in reversed(table.env.backend.transcript) if entry[1] == "INTERACTION_CREATE"
    )
    acknowledged = len(table.env.http_requests)
    await table.redeliver(payload, first)
    assert len(table.requests) == 1
    assert len(table.env.http_requests) == acknowledged


async def test_a_redelivered_interaction_does_not_count_again(table: Table) -> None:
    first = await table.deliver(ASK, command("rules roll", expression="1d1"))
    payload = next(
        entry[2] for entry in reversed(table.env.backend.transcript) if entry[1] == "INTERACTION_CREATE"
    )
    for _ in range(LimitsConfig().commands):
        await table.redeliver(payload, first)
    another = await table.deliver(ASK, command("rules roll", expression="1d1"))
    assert len(table.requests) == 2
    assert another.deferred


async def test_a_request_that_cannot_be_stored_is_refused(table: Table) -> None:
    with closing(sqlite3.connect(table.world.config.data_dir / "sutradhar.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        refused = await table.ana.slash(table.general, "rules roll", expression="2d6")
        assert not refused.deferred
        assert "using the database" in said(refused)
        other.rollback()
    assert table.requests == []


async def test_a_stored_request_runs_even_if_discord_did_not_wait(table: Table) -> None:
    table.env.inject_error("POST", "/interactions/*/*/callback", status=404, code=10062)
    asked = await table.ana.slash(table.general, "rules roll", expression="2d6")
    await table.ended()
    assert not asked.acknowledged
    assert table.world.record.statuses[table.asked.id] == "done"


async def test_a_council_gets_the_chosen_options_and_answers_in_a_thread(table: Table) -> None:
    chosen = {"level": "single", "research": "all", "debate": True, "follow": True, "yes": True}
    await table.ana.slash(table.general, "council ask", question=QUESTION, **chosen)
    assert (table.asked.work, table.asked.text, table.asked.options) == ("council", QUESTION, chosen)
    assert table.origin.home == "thread"


@pytest.mark.parametrize(
    ("path", "field", "value"),
    [
        ("council members", "list", 'openai:x, local:y persona="a sceptic"'),
        ("council chair", "models", "openai:x, local:y"),
        ("council criteria", "text", "Is it true?"),
        ("council show", "what", "ballots 2"),
    ],
)
async def test_a_councils_question_is_the_text_of_the_request(
    table: Table, path: str, field: str, value: str
) -> None:
    await table.bia.slash(table.general, path, **{field: value})
    assert (table.asked.verb, table.asked.text, table.asked.options) == (path.split()[1], value, {})


async def test_the_seventh_question_within_half_a_minute_must_wait(table: Table) -> None:
    for _ in range(6):
        await table.ana.slash(table.general, "rules ask", question=QUESTION)
    refused = await table.ana.slash(table.general, "rules ask", question=QUESTION)
    assert "at once" in said(refused)
    assert len(table.requests) == 6
    await table.ana.slash(table.general, "stop")
    await table.bia.slash(table.general, "rules roll", expression="1d1")
    assert [request.verb for request in table.requests[6:]] == ["stop", "roll"]


async def test_only_an_admin_can_add_a_book(table: Table) -> None:
    refused = await table.ana.slash(
        table.general, "library add", file=("a.md", b"# A\n\nText."), shelf="rules"
    )
    assert "people who manage" in said(refused)
    assert table.requests == []


async def test_a_job_may_be_named_or_left_out(table: Table) -> None:
    for named in ({"job": "4f6a1c"}, {}):
        await table.ana.slash(table.general, "library cancel", **named)
        request = table.requests[-1]
        assert (request.verb, request.text, request.author.admin) == ("cancel", named.get("job", ""), False)


async def test_a_question_may_have_a_file(table: Table) -> None:
    await table.ana.slash(table.general, "rules ask", question=QUESTION, file=("a.md", b"# A\n\nText."))
    assert [(file.name, file.size) for file in table.asked.files] == [("a.md", 10)]
    assert table.asked.text == QUESTION


async def test_attachments_of_a_command_are_the_files_of_its_request(table: Table) -> None:
    await table.bia.slash(
        table.general,
        "library add",
        file=("a.md", b"# A\n\nText."),
        file2=("b.txt", b"Text."),
        shelf="rules",
        replace=True,
    )
    request = table.asked
    assert [(file.name, file.path, file.size) for file in request.files] == [
        ("a.md", "", 10),
        ("b.txt", "", 5),
    ]
    assert all(file.url.startswith("https://") for file in request.files)
    assert request.options == {"shelf": "rules", "replace": True}
    assert request.author.admin


@pytest.mark.parametrize("verb", ["sessions list", "usage"])
async def test_personal_results_are_shown_to_nobody_else(table: Table, verb: str) -> None:
    asked = await table.ana.slash(table.general, verb)
    assert asked.ephemeral
    assert table.asked.place.thread == ""


@pytest.mark.parametrize(
    "verb", ["new", "rules books", "library list", "library jobs", "council criteria", "council stats"]
)
async def test_a_command_without_options_runs_at_once(table: Table, verb: str) -> None:
    asked = await table.ana.slash(table.general, verb)
    assert asked.deferred
    await table.ended()
    assert table.world.record.statuses[table.asked.id] == "done"


async def test_a_game_master_may_write_many_entries_at_once(table: Table) -> None:
    for n in range(9):
        await table.bia.slash(table.general, "world lore", entry=f"lamp{n}: It burns.")
    assert [request.verb for request in table.requests] == ["lore"] * 9


async def test_people_and_channels_are_chosen_from_lists(table: Table) -> None:
    voice = table.guild.create_voice_channel("Table talk")
    bia = f"<@{table.bia.id}|Bia>"
    await table.ana.slash(table.thread(), "party gm", who=table.bia)
    await table.ana.slash(table.thread(), "story cast", character="Mira: a diver", player=table.bia)
    await table.ana.slash(table.general, "voice join", channel=voice)
    gm, cast, join = table.requests
    assert (gm.text, cast.options["player"], join.text) == (bia, bia, f"<#{voice.id}|Table talk>")
    assert origin_of(gm.origin).asked == "/story gm @Bia"
