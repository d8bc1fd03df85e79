"""The Discord adapter for `run`, and the attachments that it fetches from Discord when a work asks for them."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import discord
from yarl import URL

import cogs
from bot.adapters.discord.installed.client import Client, faults_as_sorry
from bot.adapters.discord.installed.setup import sync
from bot.adapters.discord.installed.shards import shard_of
from bot.adapters.discord.received import presses
from bot.adapters.discord.received.commands import Translator
from bot.adapters.discord.received.history import last_messages, linked_thread, pinned_messages, whole_thread
from bot.adapters.discord.received.intake import Intake
from bot.adapters.discord.received.messages import Listener
from bot.adapters.discord.received.placing import (
    PLATFORM,
    for_adults,
    groups_of,
    guest,
    missing,
    new_thread,
    origin_at,
    origin_of,
    private_place,
    unseen,
)
from bot.adapters.discord.shown.home import reopen, view_of
from bot.adapters.discord.shown.surface import as_surface_faults
from bot.adapters.discord.shown.taken_back import take_back
from bot.adapters.discord.voice.captions import post_clip, unpost_clips
from bot.adapters.discord.voice.channels import VoiceChannels
from bot.adapters.download import Downloads
from bot.adapters.health import Connections
from bot.adapters.log_redaction import announce
from bot.adapters.markdown import clean
from bot.adapters.surface import SurfaceFault
from bot.events import File, Place, Request, TransientError, UserError
from bot.platforms import Platform, Standing
from bot.words import words

if TYPE_CHECKING:
    from aiohttp import ClientResponse

    from bot.app import App
    from bot.config import Config, DiscordConfig
    from bot.words import Words

HOSTS: Final = ("cdn.discordapp.com", "media.discordapp.net")
CLIPS: Final = f"{PLATFORM} clips"
"""The key under which clips that are not read aloud in a voice channel are kept."""
_UNREACHABLE: Final = "discord_run.file_unreachable"


class Sutradhar(Client):
    """The client, with all its commands and listeners."""

    async def setup_hook(self) -> None:
        """Set up everything that handles events. Called after the login, before the gateway connects."""
        fetch = Attachments(self.settings).fetch
        post = partial(post_clip, self)
        clips = self.app.clips(post, key=CLIPS, again=False, unpost=partial(unpost_clips, self))
        voice = self.voice = VoiceChannels(self, clips, post)
        await voice.open()
        if self.app.processes is None:
            # Before runs are taken up again, so that what they say is heard in the bot's voice channel.
            await voice.take_up(lambda _: True)
        self.app.attach(
            Platform(
                PLATFORM,
                partial(view_of, self),
                fetch,
                origin=origin_at,
                private_place=private_place,
                new_thread=new_thread,
                reopen=partial(reopen, self),
                read_whole_thread=partial(whole_thread, self),
                read_last=partial(last_messages, self),
                read_linked=partial(linked_thread, self),
                read_pins=partial(pinned_messages, self),
                speak=voice.speak,
                speak_along=voice.speak_along,
                hush=voice.hush,
                narrates=clips.narrates,
                reader=voice,
                adults=self._adults,
                category=self._category,
                channel_name=self._channel_name,
                person_name=self._person_name,
                standing=self._standing,
                find=self._find,
                knows=self._knows,
                without_words=lambda origin: origin_of(origin).to_json(title="", asked=""),
                take_back=partial(take_back, self),
                guest=guest,
                check_may_post=self._check_may_post,
                for_one=unseen,
                hides=True,
                part=shard_of,
                parts=lambda: self.advice.count if self.advice is not None else 1,
            )
        )
        await self.furnish()
        await self.intake.sweep()
        await sync(self.tree, self.app.records.marks, self.settings.sync_guilds)

    async def _adults(self, place: Place) -> bool:
        """Whether the place's channel admits only adults; an unknown channel does not count."""
        channel = None
        if place.channel.isdecimal():
            with suppress(SurfaceFault), as_surface_faults():
                channel = self.get_channel(int(place.channel)) or await self.fetch_channel(int(place.channel))
        return for_adults(channel)

    def _category(self, place: Place) -> str:
        """The id of the category of the place's channel, "" for none."""
        channel = self.get_channel(int(place.channel)) if place.channel.isdecimal() else None
        category = getattr(channel, "category_id", None)
        return str(category) if category is not None else ""

    async def _channel_name(self, place: Place) -> str:
        channel = self.get_channel(int(place.channel)) if place.channel.isdecimal() else None
        if not isinstance(
            channel,
            discord.TextChannel | discord.ForumChannel | discord.VoiceChannel | discord.CategoryChannel,
        ):
            return ""
        if str(channel.guild.id) != place.space:
            return ""
        sign = "" if isinstance(channel, discord.CategoryChannel) else "#"
        return clean(f"{sign}{channel.name}")

    async def _check_may_post(self, request: Request) -> None:
        origin = origin_of(request.origin)
        thread = isinstance(self.get_channel(origin.channel), discord.Thread)
        write = "send_messages_in_threads" if thread else "send_messages"
        if lacks := missing(self, origin.channel, "view_channel", write):
            permission = words(request.locale)(f"discord_doctor.perm_{lacks}")
            raise TransientError("thread.not_later", permission=permission)

    async def _person_name(self, place: Place, person: str) -> str:
        """The member's name if the client knows it; Discord is not asked."""
        guild = self.get_guild(int(place.space)) if place.space.isdecimal() else None
        member = guild.get_member(int(person)) if guild is not None and person.isdecimal() else None
        return clean(member.display_name) if member is not None else ""

    async def _standing(self, place: Place, person: str, groups: Collection[str]) -> Standing:
        """The person's standing. Asks Discord for a member whom the client does not know."""
        guild = self.get_guild(int(place.space)) if place.space.isdecimal() else None
        if guild is None or not person.isdecimal():
            return Standing((), admin=place.space == f"user:{person}")
        try:
            member = guild.get_member(int(person)) or await guild.fetch_member(int(person))
        except discord.NotFound:  # a person who has left is in no group
            return Standing(())
        except (discord.DiscordException, OSError):
            raise TransientError("access.no_groups") from None
        theirs = member.guild_permissions
        return Standing(groups_of(member) or (), theirs.manage_guild or theirs.administrator)

    async def _knows(self, place: Place, kind: str, id: str) -> bool:
        """Whether the id exists there. Asks Discord for a member whom the client does not know."""
        guild = self.get_guild(int(place.space)) if place.space.isdecimal() else None
        if guild is None or not id.isdecimal():
            return False
        match kind:
            case "group":
                return guild.get_role(int(id)) is not None
            case "person":
                try:
                    return (guild.get_member(int(id)) or await guild.fetch_member(int(id))) is not None
                except (discord.DiscordException, OSError):
                    return False
            case _:
                channel = guild.get_channel(int(id))
                return channel is not None and isinstance(channel, discord.CategoryChannel) == (
                    kind == "category"
                )

    async def _find(self, place: Place, kind: str, typed: str) -> tuple[str, str] | None:
        guild = self.get_guild(int(place.space)) if place.space.isdecimal() else None
        if guild is None:
            return None
        name = typed.removeprefix("@").strip().casefold()
        listed = guild.roles if kind == "group" else guild.members
        names = {
            str(one.id): one.name if isinstance(one, discord.Role) else one.display_name for one in listed
        }
        found = [id for id, listed_name in names.items() if name in (id, listed_name.casefold())]
        return (found[0], clean(names[found[0]])) if len(found) == 1 else None

    async def furnish(self) -> None:
        """Add the intake, the commands, the buttons and the listener for messages."""
        self.intake = Intake(self.app, self, self.config)
        await self.tree.set_translator(Translator())
        await cogs.load(self)
        Listener(self).listen()
        self.add_dynamic_items(*presses.ITEMS)


class Discord:
    """The Discord adapter. Call `prepare`, then `App.start`, then `run`. Create it in the event loop; `close` it, even
    if it was never prepared.
    """

    def __init__(self, app: App, config: Config, token: str, say: Words) -> None:
        self._settings = config.discord
        self._token = token
        self._say = say
        self._client = Sutradhar(
            app, config, on_first_ready=self._welcome, on_standby=lambda: announce(say("discord_run.standby"))
        )
        self._begun = False

    async def prepare(self) -> None:
        """Log in, and attach the views. Raises UserError ("discord_run.…")."""
        self._begun = True
        async with faults_as_sorry(self._settings):
            await self._client.login(self._token)
        await self._client.ask_advice()

    async def run(self) -> None:
        """Receive events until `stop_receiving`, for the shards that no other process has. Raises UserError when it
        cannot continue.
        """
        async with faults_as_sorry(self._settings):
            await self._client.connect()

    def connections(self) -> Connections:
        """The shards. All of them are needed, because each has its own servers; other processes may run some."""
        if self._client.standing_by:
            return Connections(enough=True, states={})
        states = self._client.connections()
        return Connections(bool(states) and all(states.values()), states)

    async def stop_receiving(self) -> None:
        """Receive nothing more; messages can still be sent."""
        if self._begun:
            if self._client.voice is not None:  # leaving a voice channel also needs the gateway
                await self._client.voice.close()
            await self._client.stop_receiving()

    async def close(self) -> None:
        if self._begun:
            await self._client.close()

    def _welcome(self, client: Client) -> None:
        """Print that the bot is connected."""
        n = len(client.guilds)
        announce(self._say("discord_run.ready", who=client.user, n=n))
        if not n:
            announce(self._say("discord_run.no_guilds"))


class Attachments:
    """Downloads attachments from Discord's hosts without the bot's token."""

    def __init__(self, settings: DiscordConfig, *, pause_s: float = 1.0) -> None:
        self._downloads = Downloads(_refusal, _UNREACHABLE, pause_s)
        # A proxy or a replacement of Discord's API may also host files.
        self._own = URL(settings.api_base).origin()

    async def fetch(self, _: Request, file: File, path: Path, limit: int) -> None:
        """Write the file's bytes to `path`, at most `limit` of them. Raises UserError.

        The request does not matter: an attachment's address needs no token.
        """
        url = URL(file.url)
        if not url.is_absolute() or not (
            (url.scheme == "https" and url.host in HOSTS) or url.origin() == self._own
        ):
            raise UserError("discord_run.file_elsewhere", name=file.name)
        await self._downloads.fetch(url, file, path, limit)


def _refusal(answer: ClientResponse, _: str) -> str:
    if answer.status == 200:
        return ""
    return _UNREACHABLE if answer.status >= 500 or answer.status == 429 else "discord_run.file_gone"
