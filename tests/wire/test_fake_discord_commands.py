"""Commands of the fake Discord: which ones may be registered, and how people use them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.small_bot import table


def command(**more: Any) -> dict[str, Any]:
    return {"name": "roll", "description": "Roll dice", "type": 1} | more


def option(**more: Any) -> dict[str, Any]:
    return {"name": "dice", "description": "Which", "type": 3} | more


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (command(name="Roll"), "APPLICATION_COMMAND_INVALID_NAME"),
        (command(name="roll dice"), "STRING_TYPE_REGEX"),
        (command(name="x" * 33), "0.name: BASE_TYPE_BAD_LENGTH"),
        (command(name=""), "0.name"),
        (command(description=""), "0.description"),
        (command(description="x" * 101), "0.description"),
        (command(name_localizations={"pt-BR": "Rolar"}), "0.name_localizations.pt-BR"),
        (command(name_localizations={"pt": "rolar"}), "BASE_TYPE_CHOICES"),
        (command(description_localizations={"pt-BR": "x" * 101}), "0.description_localizations.pt-BR"),
        (command(options=[option(name="a b")]), "0.options.0.name"),
        (command(options=[option(), option()]), "must be unique"),
        (command(options=[option(name=str(n)) for n in range(26)]), "0.options"),
        (command(options=[option(), option(name="b", required=True)]), "REQUIRED_INVALID"),
        (command(options=[option(type=12)]), "0.options.0.type"),
        (
            command(options=[option(choices=[{"name": str(n), "value": str(n)} for n in range(26)])]),
            "choices",
        ),
        (command(options=[option(choices=[{"name": "x" * 101, "value": "a"}])]), "choices.0.name"),
        (command(options=[option(max_length=6001)]), "max_length"),
        (command(options=[option(type=6, max_length=10)]), "max_length"),
        (command(options=[option(type=6, choices=[{"name": "a", "value": "a"}])]), "choices"),
        (command(options=[option(channel_types=[2])]), "channel_types"),
        (command(options=[option(choices=[{"name": "a", "value": "a"}], autocomplete=True)]), "AUTOCOMPLETE"),
        (command(options=[option(type=4, choices=[{"name": "a", "value": "a"}])]), "NUMBER_TYPE_COERCE"),
        (command(options=[option(type=1), option(name="b")]), "mutually exclusive"),
        (command(options=[option(type=1, options=[option(type=1)])]), "TYPE_INVALID"),
        (command(default_member_permissions="x"), "default_member_permissions"),
        (command(integration_types=[2]), "integration_types"),
        (command(contexts=[0, 0]), "contexts"),
        (command(type=3, description="x"), "APPLICATION_COMMAND_MENU"),
        (
            command(
                options=[
                    option(
                        type=1,
                        name=f"s{n}",
                        options=[option(name=f"o{m}", description="x" * 100) for m in range(10)],
                    )
                    for n in range(8)
                ]
            ),
            "exceeds maximum size",
        ),
    ],
)
async def test_an_invalid_command_is_refused_and_the_old_ones_stay(bad: dict[str, Any], why: str) -> None:
    async with table() as t:
        before = list(t.fake.commands.everywhere)
        path = f"/applications/{t.fake.application_id}/commands"
        assert why in await t.refused(50035, "PUT", path, [bad], status=400)
        assert t.fake.commands.everywhere == before


async def test_two_commands_with_the_same_name_are_refused() -> None:
    async with table() as t:
        path = f"/applications/{t.fake.application_id}/commands"
        assert "unique" in await t.refused(50035, "PUT", path, [command(), command()])
        menu = {"name": "roll", "type": 3}
        assert len(await t.bot.raw("PUT", path, [command(), menu])) == 2


async def test_names_may_be_in_any_script() -> None:
    async with table() as t:
        path = f"/applications/{t.fake.application_id}/commands"
        names = ["regras-já", "ルール", "नियम", "กฎ", "règle_'s"]
        commands = await t.bot.raw("PUT", path, [command(name=name) for name in names])
        assert [command["name"] for command in commands] == names


async def test_a_command_keeps_its_id_and_a_guilds_own_comes_first() -> None:
    async with table() as t:
        everywhere = f"/applications/{t.fake.application_id}/commands"
        own = f"/applications/{t.fake.application_id}/guilds/{t.guild.id}/commands"
        [first] = await t.bot.raw("PUT", everywhere, [command()])
        [again] = await t.bot.raw("PUT", everywhere, [command(description="New")])
        assert first["id"] == again["id"]
        assert await t.bot.raw("GET", everywhere) == [again]
        await t.bot.raw("PUT", own, [command(description="Here")])
        assert t.fake.commands.find(t.guild.id, 1, "roll")["description"] == "Here"
        assert t.fake.commands.find(None, 1, "roll")["description"] == "New"
        elsewhere = t.fake.guild("Elsewhere", bot=False)
        await t.refused(50001, "PUT", own.replace(str(t.guild.id), str(elsewhere.id)), [])


async def test_people_use_a_command_in_their_language() -> None:
    async with table() as t:
        [ask] = [command for command in t.fake.commands.everywhere if command["name"] == "rules"]
        ask["name_localizations"] = {"pt-BR": "regras"}
        ask["options"][0]["name_localizations"] = {"pt-BR": "perguntar"}
        ask["options"][0]["options"][0]["name_localizations"] = {"pt-BR": "pergunta"}
        asked = await t.fake.slash(t.ana, t.channel, "regras perguntar", pergunta="O quê?")
        assert asked.kind == 5
        assert t.bot.question == ("O quê?", None)


async def test_input_that_a_client_cannot_send_raises_a_clear_error() -> None:
    async with table() as t:
        with pytest.raises(LookupError, match="nobody registered 'rule'"):
            await t.fake.slash(t.ana, t.channel, "rule ask")
        with pytest.raises(LookupError, match="no 'lookup'"):
            await t.fake.slash(t.ana, t.channel, "rules lookup")
        with pytest.raises(LookupError, match="goes on with \\['ask'\\]"):
            await t.fake.slash(t.ana, t.channel, "rules")
        with pytest.raises(LookupError, match="wants the option 'question'"):
            await t.fake.slash(t.ana, t.channel, "rules ask")
        with pytest.raises(LookupError, match="no option \\['shelves'\\]"):
            await t.fake.slash(t.ana, t.channel, "rules ask", question="q", shelves="x")
        with pytest.raises(TypeError, match="question is a text"):
            await t.fake.slash(t.ana, t.channel, "rules ask", question=5)
        with pytest.raises(ValueError, match="0 to 6000"):
            await t.fake.slash(t.ana, t.channel, "rules ask", question="x" * 6001)
        with pytest.raises(PermissionError):
            await t.fake.slash(t.ana, t.channel, "secret")
        with pytest.raises(LookupError, match="is not in Elsewhere"):
            await t.fake.slash(t.ana, t.fake.guild("Elsewhere").text("x"), "hello")


async def test_managers_can_use_commands_for_managers() -> None:
    async with table() as t:
        bia = t.fake.user("Bia")
        t.guild.join(bia, manage=True)
        assert (await t.fake.slash(bia, t.channel, "secret")).text == "yes"


async def test_the_application_describes_itself() -> None:
    async with table() as t:
        info = await t.bot.application_info()
        assert (info.id, info.flags.gateway_message_content_limited) == (t.fake.application_id, True)
