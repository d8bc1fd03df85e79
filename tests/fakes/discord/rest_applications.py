"""The application itself: its description, its commands, the address of its gateway."""

from __future__ import annotations

from typing import Any

from tests.fakes.discord import command_rules
from tests.fakes.discord.limits import Bucket
from tests.fakes.discord.refusal import Refusal, no
from tests.fakes.discord.rest import Answer, Ask, Route

COMMANDS = Bucket("commands", 5, 20.0)
GATEWAY = Bucket("gateway", 2, 5.0)
ME = Bucket("me", 30, 30.0)


async def me(ask: Ask) -> Answer:
    return ask.discord.world.bot.payload() | {
        "verified": True,
        "mfa_enabled": True,
        "email": None,
        "flags": 0,
        "locale": "en-US",
    }


async def application(ask: Ask) -> Answer:
    discord = ask.discord
    return {
        "id": str(discord.application_id),
        "name": discord.world.bot.name,
        "icon": None,
        "description": "",
        "summary": "",
        "type": None,
        "bot": discord.world.bot.payload(),
        "bot_public": True,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "flags": discord.flags,
        "owner": {"id": "1", "username": "owner", "discriminator": "0", "global_name": None, "avatar": None},
        "team": None,
        "approximate_guild_count": sum(guild.home for guild in discord.world.guilds.values()),
        "integration_types_config": {"0": {}, "1": {}},
        "redirect_uris": [],
        "interactions_endpoint_url": discord.interactions_endpoint_url,
    }


async def gateway(ask: Ask) -> Answer:
    return {"url": ask.discord.gateway_url}


async def gateway_bot(ask: Ask) -> Answer:
    spent = len(ask.discord.gateway.identified)
    start = {
        "total": 1000,
        "remaining": max(0, 1000 - spent),
        "reset_after": 86_400_000,
        "max_concurrency": ask.discord.gateway.max_concurrency,
    }
    return {
        "url": ask.discord.gateway_url,
        "shards": ask.discord.gateway.shards,
        "session_start_limit": start,
    }


def _list(ask: Ask) -> tuple[list[dict[str, Any]], int | None]:
    """The list of commands in the path, and its guild."""
    if ask.args["application"] != str(ask.discord.application_id):
        raise no(50001)
    if "guild" not in ask.args:
        return ask.discord.commands.everywhere, None
    guild = ask.discord.world.guilds.get(ask.id("guild"))
    if guild is None or not guild.home:
        raise no(50001)
    return ask.discord.commands.by_guild.setdefault(guild.id, []), guild.id


async def put_commands(ask: Ask) -> Answer:
    commands, guild = _list(ask)
    if ask.rows is None:
        raise Refusal(400, 50035, "Invalid Form Body")
    checked = command_rules.check(ask.rows)
    old = {(command["type"], command["name"]): command["id"] for command in commands}
    commands[:] = [_registered(ask, checked_command, guild, old) for checked_command in checked]
    return list(commands)


def _registered(
    ask: Ask, command: dict[str, Any], guild: int | None, old: dict[tuple[int, str], str]
) -> dict[str, Any]:
    kind = command.get("type", 1)
    id = old.get((kind, command["name"])) or str(ask.discord.world.ids.next())
    filled: dict[str, Any] = {
        "description": "",
        "default_member_permissions": None,
        "dm_permission": True,
        "nsfw": False,
        "name_localizations": None,
        "description_localizations": None,
        "integration_types": [0],
        "contexts": None,
        "options": [],
    }
    filled |= command | {"type": kind, "id": id, "version": str(ask.discord.world.ids.next())}
    filled["application_id"] = str(ask.discord.application_id)
    if filled["default_member_permissions"] is not None:
        filled["default_member_permissions"] = str(filled["default_member_permissions"])
    return filled | ({"guild_id": str(guild)} if guild else {})


async def get_commands(ask: Ask) -> Answer:
    return list(_list(ask)[0])


async def get_command(ask: Ask) -> Answer:
    for command in _list(ask)[0]:
        if command["id"] == ask.args["command"]:
            return command
    raise no(10063)


_EVERYWHERE = "/applications/{application}/commands"
_GUILD = "/applications/{application}/guilds/{guild}/commands"
ROUTES = (
    Route("GET", "/users/@me", me, ME, ""),
    Route("GET", "/applications/@me", application, ME, ""),
    Route("GET", "/oauth2/applications/@me", application, ME, ""),
    Route("GET", "/gateway", gateway, token=False),
    Route("GET", "/gateway/bot", gateway_bot, GATEWAY, ""),
    *(Route("PUT", path, put_commands, COMMANDS, "guild") for path in (_EVERYWHERE, _GUILD)),
    *(Route("GET", path, get_commands) for path in (_EVERYWHERE, _GUILD)),
    *(Route("GET", path + "/{command}", get_command) for path in (_EVERYWHERE, _GUILD)),
)
