"""The bot's voice state over REST: asking to speak on a stage, and speaking."""

from __future__ import annotations

from tests.fakes.discord import access
from tests.fakes.discord.channels import STAGE
from tests.fakes.discord.refusal import no
from tests.fakes.discord.rest import Answer, Ask, Route
from tests.fakes.discord.rest_guilds import guild_of
from tests.fakes.discord.voice_states import VoiceState


def _state(ask: Ask, user: int) -> VoiceState:
    state = guild_of(ask).voice_states.get(user)
    if state is None:
        raise no(10065)
    return state


async def mine(ask: Ask) -> Answer:
    return _state(ask, ask.discord.world.bot.id).payload() | {"guild_id": ask.args["guild"]}


async def theirs(ask: Ask) -> Answer:
    return _state(ask, ask.id("user")).payload() | {"guild_id": ask.args["guild"]}


async def change_mine(ask: Ask) -> Answer:
    """Leave the speakers, join them with the permission, or ask to speak."""
    state = _state(ask, ask.discord.world.bot.id)
    if state.channel.type != STAGE or str(ask.body.get("channel_id", state.channel.id)) != str(
        state.channel.id
    ):
        raise no(50024)
    if ask.body.get("suppress") is False:
        access.need(state.channel, "MUTE_MEMBERS")
    if ask.body.get("request_to_speak_timestamp"):
        access.need(state.channel, "REQUEST_TO_SPEAK")
    if "request_to_speak_timestamp" in ask.body:
        state.request_to_speak = ask.body["request_to_speak_timestamp"]
    if isinstance(ask.body.get("suppress"), bool):
        state.suppress = ask.body["suppress"]
    ask.discord.voice.tell(guild_of(ask), state)
    return None


ROUTES = (
    Route("GET", "/guilds/{guild}/voice-states/@me", mine),
    Route("PATCH", "/guilds/{guild}/voice-states/@me", change_mine),
    Route("GET", "/guilds/{guild}/voice-states/{user}", theirs),
)
