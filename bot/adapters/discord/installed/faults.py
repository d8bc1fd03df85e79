"""What can go wrong between us and Discord as a whole, as a sentence with what to do about it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import aiohttp
import discord

from bot.events import Sorry

if TYPE_CHECKING:
    from bot.config import DiscordConfig

# Discord's documentation, "Gateway Close Event Codes": those after which connecting again does not help.
_CLOSED: Final = {
    4004: "discord_run.token_refused",
    4010: "discord_run.shards_wrong",
    4011: "discord_run.shards_few",
    4014: "discord_run.intent_off",
}


@asynccontextmanager
async def in_words(settings: DiscordConfig) -> AsyncGenerator[None, None]:
    """Turn what discord.py and the network raise into a Sorry."""
    try:
        yield
    except discord.LoginFailure:
        raise Sorry("discord_run.token_refused", variable=settings.token_env) from None
    except discord.PrivilegedIntentsRequired:
        raise Sorry("discord_run.intent_off") from None
    except discord.ConnectionClosed as closed:
        key = _CLOSED.get(closed.code, "discord_run.closed")
        raise Sorry(key, variable=settings.token_env, code=closed.code) from closed
    except discord.HTTPException as fault:
        raise Sorry("discord_run.refused", status=fault.status, url=settings.api_base) from fault
    except (discord.GatewayNotFound, aiohttp.ClientError, TimeoutError, OSError) as fault:
        raise Sorry("discord_run.unreachable", url=settings.api_base) from fault
