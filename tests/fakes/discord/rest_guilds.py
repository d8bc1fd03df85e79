"""Guilds, their members and channels; users and DMs."""

from __future__ import annotations

from tests.fakes.discord.refusal import no
from tests.fakes.discord.rest import Answer, Ask, Route
from tests.fakes.discord.world import Guild


def guild_of(ask: Ask) -> Guild:
    guild = ask.discord.world.guilds.get(ask.id("guild"))
    if guild is None:
        raise no(10004)
    if not guild.home:
        raise no(50001)
    return guild


async def my_guilds(ask: Ask) -> Answer:
    return [
        {
            "id": str(guild.id),
            "name": guild.name,
            "icon": None,
            "banner": None,
            "owner": False,
            "permissions": guild.roles()[1]["permissions"],
            "features": [],
        }
        for guild in ask.discord.world.guilds.values()
        if guild.home
    ]


async def guild(ask: Ask) -> Answer:
    return guild_of(ask).payload()


async def channels(ask: Ask) -> Answer:
    return [channel.payload() for channel in guild_of(ask).channels]


async def roles(ask: Ask) -> Answer:
    return list(guild_of(ask).roles())


async def member(ask: Ask) -> Answer:
    guild = guild_of(ask)
    user = ask.discord.world.bot.id if ask.args["user"] == "@me" else ask.id("user")
    if user not in guild.members:
        raise no(10007)
    return guild.member_payload(guild.members[user].user)


async def user(ask: Ask) -> Answer:
    user = ask.discord.world.users.get(ask.id("user"))
    if user is None:
        raise no(10013)
    return user.payload()


async def open_dm(ask: Ask) -> Answer:
    recipient = str(ask.body.get("recipient_id"))
    user = ask.discord.world.users.get(int(recipient)) if recipient.isdecimal() else None
    if user is None:
        raise no(10013)
    return ask.discord.world.private(user).payload()


async def leave(ask: Ask) -> Answer:
    ask.discord.kick(guild_of(ask))
    return None


ROUTES = (
    Route("GET", "/users/@me/guilds", my_guilds),
    Route("DELETE", "/users/@me/guilds/{guild}", leave),
    Route("POST", "/users/@me/channels", open_dm),
    Route("GET", "/users/{user}", user),
    Route("GET", "/guilds/{guild}", guild),
    Route("GET", "/guilds/{guild}/channels", channels),
    Route("GET", "/guilds/{guild}/roles", roles),
    Route("GET", "/guilds/{guild}/members/{user}", member),
)
