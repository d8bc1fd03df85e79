"""The table of verbs and Discord's commands have the same verbs and options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discord import AppCommandOptionType, AppCommandType, app_commands

from bot.adapters.discord.installed.setup import payload
from bot.adapters.discord.received.commands import FILES
from bot.adapters.discord.service import Sutradhar
from bot.commands import TABLE
from bot.verb import Verb

DISCORD_ONLY = {"setup", "free-chat"}
GUILD_ONLY = DISCORD_ONLY
"""Both are about a server and its threads."""
NOT_ALONE = {"party", "voice"}
"""These need other people, or a voice channel, but work where the bot is a guest of the server."""
KINDS = {
    "text": AppCommandOptionType.string,
    "link": AppCommandOptionType.string,
    "number": AppCommandOptionType.integer,
    "flag": AppCommandOptionType.boolean,
    "person": AppCommandOptionType.user,
    "group": AppCommandOptionType.role,
    "channel": AppCommandOptionType.channel,
}
MOST_CHARS = 6_000
"""Of a text option (Discord's documentation, "Application Command Option Structure")."""


def commands(client: Sutradhar) -> dict[str, app_commands.Command[Any, ..., Any]]:
    """Every slash command by its path."""
    found = client.tree.walk_commands(type=AppCommandType.chat_input)
    return {command.qualified_name: command for command in found if isinstance(command, app_commands.Command)}


def path(row: Verb) -> str:
    """The words after the slash on Discord."""
    return row.name if row.bare else f"{row.group or row.work} {row.name}"


async def test_every_verb_has_its_command_and_every_command_its_verb(client: Sutradhar) -> None:
    assert set(commands(client)) - DISCORD_ONLY == {path(row) for row in TABLE}
    assert set(commands(client)) >= DISCORD_ONLY


async def test_a_verbs_options_are_its_commands_options(client: Sutradhar) -> None:
    by_path = commands(client)
    for row in TABLE:
        command = by_path[path(row)]
        assert {parameter.display_name: parameter.type for parameter in command.parameters} == dict(
            _wanted(row)
        ), row.path
        for parameter in command.parameters:
            option, argument = row.option(parameter.display_name), row.argument
            if option is None and argument is not None and parameter.display_name == argument.name:
                assert tuple(choice.value for choice in parameter.choices) == argument.choices, row.path
            if option is not None:
                assert parameter.required is option.required, (row.path, option.name)
                choices = tuple(choice.value for choice in parameter.choices)
                assert choices == option.choices, (row.path, option.name)


def _wanted(row: Verb) -> Iterator[tuple[str, AppCommandOptionType]]:
    """The options by the table: attachments for files, and one for each word that no window asks for."""
    if row.argument is not None and row.argument.many:
        yield from ((name, AppCommandOptionType.attachment) for name in FILES)
    elif row.argument is not None:
        for name in row.argument.name.split()[: 1 if row.rewords else None]:
            yield name, KINDS[row.argument.kind]
    for option in row.options:
        file = option.completes == "path"
        yield option.name, AppCommandOptionType.attachment if file else KINDS[option.kind]


async def test_a_text_option_has_the_tables_choices_or_limit(client: Sutradhar) -> None:
    by_path = commands(client)
    for row in TABLE:
        for parameter in by_path[path(row)].parameters:
            if parameter.type is not AppCommandOptionType.string or parameter.choices:
                continue
            limits = row.option(parameter.display_name) or row.argument
            assert limits is not None
            assert parameter.max_value == limits.limit <= MOST_CHARS, (row.path, parameter.display_name)


async def test_discord_completes_what_the_terminal_completes(client: Sutradhar) -> None:
    by_path = commands(client)
    for row in TABLE:
        completed = {
            parameter.display_name for parameter in by_path[path(row)].parameters if parameter.autocomplete
        }
        wanted = {option.name for option in row.options if option.completes not in ("", "path")}
        if row.argument is not None and row.argument.completes not in ("", "path"):
            wanted.update(row.argument.name.split()[: 1 if row.rewords else None])
        assert completed == wanted, row.path


async def test_every_command_works_wherever_the_bot_can_be_installed(client: Sutradhar) -> None:
    for command in await payload(client.tree):
        name = command["name"]
        installs, contexts = ([0] if name in GUILD_ONLY else [0, 1]), [0, 1, 2]
        if name in GUILD_ONLY | NOT_ALONE:
            contexts = [0]
        assert (command["integration_types"], command["contexts"]) == (installs, contexts), name


async def test_only_guild_managers_see_the_commands_for_prompts(client: Sutradhar) -> None:
    restricted = {
        one["name"]: int(one["default_member_permissions"])
        for one in await payload(client.tree)
        if one.get("default_member_permissions")
    }
    assert restricted == {"prompts": 1 << 5, "setup": 1 << 5}


async def test_discord_accepts_the_whole_tree(client: Sutradhar) -> None:
    """Discord's limits: 100 commands, 25 options each, 8000 characters for a command with its translations."""
    tree = await payload(client.tree)
    assert len(tree) <= 100
    for command in tree:
        assert len(command.get("options", [])) <= 25
        assert _characters(command) <= 8000, command["name"]


def _characters(node: dict[str, Any]) -> int:
    names = [node.get("name", ""), node.get("description", "")]
    names += [
        text
        for key in ("name_localizations", "description_localizations")
        for text in (node.get(key) or {}).values()
    ]
    inside = [*node.get("options", []), *node.get("choices", [])]
    return sum(map(len, names)) + sum(map(_characters, inside))
