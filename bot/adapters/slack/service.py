"""The adapter of Slack for `run`: connects clients, workspaces, listeners and views. One per process.

Independent of events and blocks, which belong to the listeners and the view.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bot.adapters.health import Connections
from bot.adapters.log_redaction import announce
from bot.adapters.markdown import clean
from bot.adapters.slack.installed.clients import PACE, Clients
from bot.adapters.slack.installed.http import Flow, Http
from bot.adapters.slack.installed.rotation import ConfiguredToken, lineage
from bot.adapters.slack.installed.sockets import Sockets
from bot.adapters.slack.installed.workspaces import Store, Workspaces, bolt_app, installation_store
from bot.adapters.slack.manifest import PUBLIC
from bot.adapters.slack.placing import (
    PLATFORM,
    Location,
    for_one,
    guest,
    new_thread,
    origin_at,
    origin_of,
    private_place,
)
from bot.adapters.slack.received import (
    commands,
    home_tab,
    messages,
    presses,
    setup,
    windows,
)
from bot.adapters.slack.received.fetched import Files, ThreadReader
from bot.adapters.slack.received.groups import Groups
from bot.adapters.slack.received.intake import Intake, unattended
from bot.adapters.slack.received.people import People
from bot.adapters.slack.shown import narration
from bot.adapters.slack.shown.home import view_of
from bot.adapters.slack.shown.taken_back import take_back
from bot.adapters.stored_choices import VoteCounts
from bot.adapters.surface import PlaceClosed, SurfaceFault
from bot.adapters.writer import Writers
from bot.events import TransientError
from bot.platforms import Platform, Standing

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncApp

    from bot.adapters.operating import Operating
    from bot.adapters.slack.installed.credentials import Credentials
    from bot.app import App
    from bot.config import Config
    from bot.events import Place, Request
    from bot.words import Words


ANY: Final = re.compile(".*", re.DOTALL)
NAME_S: Final = 2.0
"""Seconds to wait for a channel's name."""


class Slack:
    """The Slack adapter. Call `prepare`, then `App.start`, then `run`. Create it in the event loop; `close` it, even if
    it was never prepared.
    """

    def __init__(
        self,
        app: App,
        config: Config,
        credentials: Credentials,
        say: Words,
        operating: Operating | None = None,
    ) -> None:
        settings = config.slack
        self.app = app
        self.config = config
        self.settings = settings
        self._say = say
        self._credentials = credentials
        self.clients = Clients(settings, sure=app.sure)
        # Needed in "socket" mode too: events of workspaces that installed over HTTP earlier arrive at every socket.
        database, pair = app.records.database, (credentials.client_id, credentials.client_secret)
        self.store = Store(database, *pair, self.clients.bare()) if credentials.client_id else None
        self._expiring = None
        if credentials.bot and credentials.refresh:
            kept = installation_store(database, lineage(credentials.refresh))
            tokens = (credentials.bot, credentials.refresh)
            self._expiring = ConfiguredToken(kept, pair, self.clients.bare(), tokens)
        shared = database.lease is not None
        self.workspaces = Workspaces(self.clients, credentials.bot, self.store, self._expiring, shared=shared)
        self.people = People(self.workspaces, settings.admins)
        self.writers = Writers(PACE, sure=app.sure)
        self.groups = Groups(self.workspaces)
        self.intake = Intake(app, config, self.workspaces, self.people)
        self.intake.counts = VoteCounts(self.writers)
        self.bolt = bolt_app(
            self.workspaces,
            self.clients.bare(),
            credentials.signing,
            uninstalled=say("slack_run.uninstalled"),
        )
        self._source: Sockets | Http = self._listening(operating)
        self._announced = False

    @property
    def http(self) -> Http | None:
        """The server of mode "http"."""
        return self._source if isinstance(self._source, Http) else None

    def _listening(self, operating: Operating | None) -> Sockets | Http:
        if self.settings.mode == "socket":
            client = self.clients.bare(self._credentials.app)
            return Sockets(self.bolt, client, self.settings, self._ready)
        flow = None
        if self.store is not None and self._credentials.installs:
            pair = (self._credentials.client_id, self._credentials.client_secret)
            flow = Flow(self.settings, pair, self.clients.bare(), self.store, self._installed)
        return Http(self.bolt, self.settings, flow, operating)

    async def prepare(self) -> None:
        """Ask Slack which workspace and bot the tokens belong to, and attach the views. Raises UserError
        ("slack_run.…").
        """
        if self._credentials.bot:
            own = await self.workspaces.learn()
            # Perhaps the app was removed and installed again: then nothing announces its return.
            await self.app.records.departures.note_return(own.team or own.enterprise)
        if isinstance(self._source, Sockets):
            await self._source.admit()
        register(self.bolt, self.intake, self.store)
        await self.intake.sweep()
        files = Files(self.workspaces, self.settings)
        reader = ThreadReader(self.workspaces, self.people)
        to_slack = (self.app.records, self.workspaces, self.writers)
        clips = self.app.clips(
            partial(narration.post, *to_slack), key=PLATFORM, unpost=partial(narration.unpost, *to_slack)
        )
        self.app.attach(
            Platform(
                PLATFORM,
                partial(view_of, self.app.records, self.workspaces, self.writers),
                files.fetch,
                reader,
                origin_at,
                new_thread,
                private_place=private_place,
                read_whole_thread=reader.whole,
                read_last=reader.last,
                read_linked=reader.linked,
                read_pins=reader.pins,
                read_transcript=files.transcript,
                speak=clips.speak,
                speaks_again=True,
                hush=clips.hush,
                narrates=clips.narrates,
                reader=clips,
                without_words=lambda origin: origin_of(origin).to_json(title="", asked=""),
                take_back=partial(take_back, self.app.records, self.workspaces),
                guest=guest,
                check_may_post=self._check_may_post,
                for_one=for_one,
                channel_name=self._channel_name,
                person_name=self._person_name,
                standing=self._standing,
                find=self._find,
                knows=self._knows,
            )
        )

    async def _channel_name(self, place: Place) -> str:
        """The channel's name. Asks Slack, which may take a moment, or may no longer know the channel."""
        origin = origin_of(origin_at(place))
        try:
            async with asyncio.timeout(NAME_S):
                client = await self.workspaces.client(origin.team, origin.enterprise)
                answer: Any = await client.conversations_info(channel=place.channel)
        except (SurfaceFault, TimeoutError):
            return ""
        name = answer["channel"].get("name")
        return f"#{clean(name)}" if name else ""

    async def _check_may_post(self, request: Request) -> None:
        """Ask Slack whether the bot is in the channel or may post there anyway; if Slack does not answer, it may."""
        if request.place.channel.startswith("@"):
            return
        origin = origin_of(request.origin)
        try:
            async with asyncio.timeout(NAME_S):
                client = await self.workspaces.client(origin.team, origin.enterprise)
                answer: Any = await client.conversations_info(channel=origin.channel)
        except PlaceClosed:  # a private channel
            raise TransientError("slack_thread.not_later") from None
        except (SurfaceFault, TimeoutError):
            return
        channel = answer["channel"]
        public = not channel.get("is_private") and PUBLIC in answer.headers.get("x-oauth-scopes", "")
        if not (channel.get("is_member") or channel.get("is_im") or public):
            raise TransientError("slack_thread.not_later")

    async def _person_name(self, place: Place, person: str) -> str:
        """The person's name. Asks Slack briefly about a person who is not cached."""
        origin = origin_of(origin_at(place))
        location = Location(person, origin.team, place.channel, origin.enterprise)
        return (await self.people.person(location)).name

    async def _standing(self, place: Place, person: str, groups: Collection[str]) -> Standing:
        listed = await self.groups.at_place(place) if groups else {}
        theirs = tuple(id for id in groups if id in listed and person in listed[id].members)
        origin = origin_of(origin_at(place))
        seen = await self.people.person(Location(person, origin.team, place.channel, origin.enterprise))
        return Standing(theirs, seen.admin)

    async def _knows(self, place: Place, kind: str, id: str) -> bool:
        """Whether the id exists there, according to Slack; without an answer the result is False."""
        match kind:
            case "channel":
                return await self._channel_name(replace(place, channel=id)) != ""
            case "person":
                return await self._person_name(place, id) != ""
            case "group":
                return id in await self.groups.at_place(place)
            case _:
                return False

    async def _find(self, place: Place, kind: str, typed: str) -> tuple[str, str] | None:
        name = typed.removeprefix("@").strip().casefold()
        if kind == "person":
            return self.people.named(place.space, name)
        groups = (await self.groups.at_place(place)).values()
        found = [group for group in groups if name in map(str.casefold, (group.id, group.handle, group.name))]
        return (found[0].id, found[0].name) if len(found) == 1 else None

    async def run(self) -> None:
        """Receive events until `stop_receiving`. Raises UserError when it cannot continue."""
        if isinstance(self._source, Http):
            await self._source.start()
            self._ready()
        await self._source.run()

    def connections(self) -> Connections:
        """The sockets, or the server that Slack calls."""
        return self._source.connections()

    async def stop_receiving(self) -> None:
        """Receive nothing more; messages can still be sent."""
        await self._source.stop_receiving()
        await self.intake.close()
        await self.groups.close()
        if self.store is not None:
            await self.store.rotation.close()
        if self._expiring is not None:
            await self._expiring.close()

    async def close(self) -> None:
        self.writers.close()
        await self.clients.close()

    def _installed(self, team: str, enterprise: str, user: str) -> None:
        self.workspaces.forget(team, enterprise)
        self.intake.later(self._welcome(team, enterprise, user))
        self.intake.later(
            unattended(
                "a workspace's return was not stored",
                self.app.records.departures.note_return(team or enterprise),
            )
        )

    async def _welcome(self, team: str, enterprise: str, user: str) -> None:
        with suppress(PlaceClosed):  # already revoked
            await setup.install(await self.workspaces.client(team, enterprise), user)

    def _ready(self) -> None:
        """Print once that the bot is connected."""
        if self._announced:
            return
        self._announced = True
        own, lines = self.workspaces.own, []
        if self.http is not None:
            host, port = self.settings.http_host, self.http.port
            lines.append(self._say("slack_run.listening", host=host, port=port))
            if self._credentials.installs:
                lines.append(self._say("slack_run.installs"))
        if own is not None:
            lines.append(self._say("slack_run.ready", who=own.name, where=own.place))
        for line in lines:
            announce(line)


def register(bolt: AsyncApp, intake: Intake, store: Store | None) -> None:
    """Register all listeners; the last ones acknowledge everything else, which Slack would otherwise send again."""
    setup.listen(bolt, intake, store)
    for module in (messages, commands, presses, windows, home_tab):
        module.listen(bolt, intake)
    for listens in (
        bolt.event,
        bolt.action,
        bolt.command,
        bolt.shortcut,
        bolt.view,
        bolt.view_closed,
        bolt.options,
    ):
        register_for: Callable[..., Any] = listens
        register_for(ANY)(_acknowledge)


async def _acknowledge(ack: Callable[[], Awaitable[object]]) -> None:
    await ack()
