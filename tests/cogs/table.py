"""A table where people play: a guild of the simulated Discord, the real client and a real application.

Answers are recorded rather than shown: these tests are about incoming requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import discord
import simcord
from simcord.actors import MemberActor
from simcord.builders import ChannelHandle, GuildHandle, UserHandle
from simcord.enums import InteractionType
from simcord.interactions import base_payload
from simcord.results import InteractionResult

from bot.adapters.discord.received.placing import Origin, origin_of
from bot.adapters.discord.service import Sutradhar
from bot.app import App
from bot.config import Config
from bot.events import Request
from bot.view import View
from storage.outbox import Outbox
from tests.fakes.scripted_app import Recorder


class Record(Recorder):
    """The recorder, with the requests in the order of their start."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Request] = []

    def view(self, run: str, request: Request, outbox: Outbox) -> View:
        self.requests.append(request)
        return super().view(run, request, outbox)


class Client(Sutradhar):
    """The real client, except for its views."""

    async def setup_hook(self) -> None:
        await self.furnish()
        await self.tree.sync()


class World:
    """One application and one connection, shared by a module's tests; each test has its own table."""

    def __init__(self, app: App, config: Config, env: simcord.Env, client: Client, record: Record) -> None:
        self.app = app
        self.config = config
        self.env = env
        self.client = client
        self.record = record
        self.people = 0

    def person(self, name: str) -> UserHandle:
        self.people += 1
        return self.env.create_user(f"{name.lower()}{self.people}", global_name=name)


class Table:
    """A guild "Table" with a channel "general", where Ana plays and Bia is an admin."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.env = world.env
        self.guild: GuildHandle = world.env.create_guild("Table")
        self.general: ChannelHandle = self.guild.create_text_channel("general")
        self.ana: MemberActor = self.guild.add_member(world.person("Ana"))
        managers = self.guild.create_role("Managers", permissions=discord.Permissions(manage_guild=True))
        self.bia: MemberActor = self.guild.add_member(world.person("Bia"), roles=[managers])
        self._before = len(world.record.requests)

    @property
    def space(self) -> str:
        return str(self.guild.id)

    @property
    def requests(self) -> list[Request]:
        """The requests since the table was made."""
        return self.world.record.requests[self._before :]

    @property
    def asked(self) -> Request:
        """The only request so far."""
        (request,) = self.requests
        return request

    @property
    def origin(self) -> Origin:
        return origin_of(self.asked.origin)

    def thread(self) -> ChannelHandle:
        """A thread that a person opened in the channel."""
        made = self.env.backend.create_thread(self.general.id, "A thread", self.ana.id)
        return next(thread for thread in self.general.threads if thread.id == made.id)

    async def say(
        self, who: MemberActor, text: str, *, channel: ChannelHandle | None = None, **more: Any
    ) -> int:
        """Write a message that mentions the bot; returns its id."""
        assert self.world.client.user is not None
        message_id = await who.send(
            channel or self.general, f"{self.world.client.user.mention} {text}", **more
        )
        return message_id.id

    async def deliver(
        self, type: InteractionType, data: Any, *, by: int | None = None, **changes: Any
    ) -> InteractionResult:
        """Deliver an interaction as the gateway does, with changes that the simulation's actors cannot make."""
        record, payload = base_payload(
            self.env.backend,
            type=type,
            channel_id=self.general.id,
            guild_id=self.guild.id,
            user_id=by or self.ana.id,
            data=data or {},
        )
        payload["data"] = data
        for name, value in changes.items():
            if value is None:
                payload.pop(name, None)
            else:
                payload[name] = value
        return await self.redeliver(payload, InteractionResult(self.env, record))

    async def redeliver(self, payload: Mapping[str, Any], result: InteractionResult) -> InteractionResult:
        self.env.backend.emit("INTERACTION_CREATE", payload)
        await self.env.settle()
        return result

    async def ended(self) -> None:
        """Wait until all requests of this table have ended."""
        for request in self.requests:
            await self.world.app.ended(request.id)


def command(path: str, **options: object) -> dict[str, Any]:
    """The data of a slash command as Discord sends it."""
    kinds = {bool: 5, int: 4, str: 3}
    given = [{"name": name, "type": kinds[type(value)], "value": value} for name, value in options.items()]
    first, *rest = path.split()
    for name in reversed(rest):
        given = [{"name": name, "type": 1, "options": given}]
    return {"id": "1", "name": first, "type": 1, "options": given}


def said(result: InteractionResult) -> str:
    """The only sentence of an interaction's ephemeral answer."""
    messages = [message for message in (result.response, *result.followups) if message is not None]
    (message,) = [message for message in messages if message.content]
    assert message.ephemeral
    return message.content
