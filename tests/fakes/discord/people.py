"""People's actions: use a command, press, submit, say, edit, delete. Each sends the bot the event."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.fakes.discord import modals, permissions, rules
from tests.fakes.discord.asked import AUTOCOMPLETE, COMMAND, COMPONENT, MODAL, SECONDS_TO_ANSWER, Asked
from tests.fakes.discord.channels import Channel, Thread
from tests.fakes.discord.command_rules import MESSAGE, USER
from tests.fakes.discord.commands import Keep, filled
from tests.fakes.discord.messages import BUTTON, REPLY, SELECTS, VOICE, Message, walk
from tests.fakes.discord.world import User

if TYPE_CHECKING:
    from tests.fakes.discord.rest_webhooks import Hook
    from tests.fakes.discord.service import FakeDiscord


class People:
    def __init__(self, discord: FakeDiscord) -> None:
        self.discord = discord

    async def slash(
        self,
        user: User,
        channel: Channel,
        line: str,
        /,
        *,
        guest: bool = False,
        wait: float | None = None,
        **options: Any,
    ) -> Asked:
        """Use a command; returns once the bot has acknowledged it, or after `wait` seconds, Discord's by default. A
        `guest` uses their own installation; in places without the bot everybody does.
        """
        command, chain = self._command(channel, line)
        guest = self._allowed(user, channel, command, guest)
        data = filled(command, chain, options, self._keep(channel))
        return await self._ask(COMMAND, user, channel, data, guest, None, wait)

    async def autocomplete(
        self,
        user: User,
        channel: Channel,
        line: str,
        /,
        *,
        focused: str,
        guest: bool = False,
        **options: Any,
    ) -> list[dict[str, Any]]:
        """Type into the option `focused`; returns the choices that the bot offers."""
        command, chain = self._command(channel, line)
        guest = self._allowed(user, channel, command, guest)
        data = filled(command, chain, options, self._keep(channel), focused)
        asked = await self._ask(AUTOCOMPLETE, user, channel, data, guest, None, None)
        if asked.choices is None:
            raise TimeoutError(f"no choices for {line!r} within {asked.timeout} s")
        return asked.choices

    async def menu(
        self,
        user: User,
        target: Message | User,
        name: str,
        *,
        channel: Channel | None = None,
        guest: bool = False,
        wait: float | None = None,
    ) -> Asked:
        """Use the context menu of a message, or of a person in a channel."""
        channel_of_target = target.channel if isinstance(target, Message) else channel
        if channel_of_target is None:
            raise LookupError(f"{target} is chosen in which channel?")
        kind = MESSAGE if isinstance(target, Message) else USER
        command = self.discord.commands.find(
            channel_of_target.guild.id if channel_of_target.guild else None, kind, name
        )
        guest = self._allowed(user, channel_of_target, command, guest)
        resolved_as = "messages" if kind == MESSAGE else "users"
        data = {
            "id": command["id"],
            "name": command["name"],
            "type": kind,
            "target_id": str(target.id),
            "resolved": {resolved_as: {str(target.id): target.payload()}},
        }
        return await self._ask(COMMAND, user, channel_of_target, data, guest, None, wait)

    async def press(
        self,
        user: User,
        message: Message | None,
        which: str,
        *,
        values: Sequence[str] = (),
        guest: bool | None = None,
        wait: float | None = None,
    ) -> Asked:
        """Press a button or choose `values` in a select: by its label, placeholder or custom id."""
        if message is None:
            raise LookupError(f"there is no message with {which!r}")
        component = self._component(user, message, which)
        data = {
            "component_type": component["type"],
            "custom_id": component["custom_id"],
            "id": component["id"],
        }
        if component["type"] in SELECTS:
            data["values"] = modals.picked(component, list(values))
        if guest is None:
            owners = (message.interaction or {}).get("authorizing_integration_owners", {"0": ""})
            guest = "0" not in owners
        return await self._ask(COMPONENT, user, message.channel, data, guest, message, wait)

    async def submit(
        self, user: User, asked: Asked, values: Mapping[str, Any], *, wait: float | None = None
    ) -> Asked:
        """Fill in the form that answered `asked`, by custom ids, and send it."""
        if asked.modal is None:
            raise LookupError(f"{asked} opened no form")
        data = {"custom_id": asked.modal["custom_id"], "components": modals.filled(asked.modal, values)}
        return await self._ask(MODAL, user, asked.channel, data, asked.guest, asked.source, wait)

    async def say(
        self,
        user: User,
        where: Channel,
        text: str = "",
        *,
        mention: bool = False,
        reply_to: Message | None = None,
        files: Sequence[tuple[str, bytes]] = (),
        ping: bool = True,
    ) -> Message:
        """Write a message. `mention` adds a mention of the bot; a reply notifies its author unless `ping` is off."""
        self._present(user, where)
        if isinstance(where, Thread) and where.locked:
            raise PermissionError(f"{where} is locked: {user.name} cannot write there")
        if isinstance(where, Thread) and where.archived:
            where.set_archived(False)
        if mention:
            text = f"{self.discord.world.bot.mention} {text}"
        message = Message(
            self.discord.world.ids.next(),
            where,
            user,
            text,
            files=[self.discord.files.keep(where.id, name, data) for name, data in files],
            created=time.time(),
            type=REPLY if reply_to else 0,
            reply_to=reply_to,
        )
        self.discord.post.mention(
            message, {"allowed_mentions": {"parse": ["users", "roles"], "replied_user": ping}}
        )
        return self.discord.post.put(message)

    async def speak(
        self, user: User, where: Channel, data: bytes, seconds: float, *, reply_to: Message | None = None
    ) -> Message:
        """Send a voice message: one file without a text (Discord's documentation, "Voice Messages")."""
        self._present(user, where)
        file = self.discord.files.keep(where.id, "voice-message.ogg", data, "audio/ogg")
        file = replace(file, seconds=seconds)
        self.discord.files.kept[file.id] = file
        message = Message(
            self.discord.world.ids.next(),
            where,
            user,
            files=[file],
            flags=VOICE,
            created=time.time(),
            type=REPLY if reply_to else 0,
            reply_to=reply_to,
        )
        self.discord.post.mention(message, {"allowed_mentions": {"parse": ["users"], "replied_user": True}})
        return self.discord.post.put(message)

    async def proxy(self, hook: Hook, where: Channel, name: str, text: str) -> Message:
        """Post a person's words under another name through a webhook, as a proxy such as PluralKit does."""
        message = Message(
            self.discord.world.ids.next(),
            where,
            User(hook.id, name, bot=True),
            text,
            created=time.time(),
            webhook=hook.id,
            application=hook.application,
        )
        self.discord.post.mention(message, {"allowed_mentions": {"parse": ["users", "roles"]}})
        return self.discord.post.put(message)

    async def edit(self, message: Message, text: str) -> None:
        """Edit a message as the person who wrote it."""
        message.content = text
        message.named = rules.named(text, self.discord.world)
        message.edited = time.time()
        message.edits.append((time.monotonic(), text))
        self.discord.post.told(message)

    async def delete(self, message: Message) -> None:
        self.discord.post.remove(message)

    async def _ask(
        self,
        type: int,
        user: User,
        channel: Channel,
        data: dict[str, Any],
        guest: bool,
        source: Message | None,
        wait: float | None,
    ) -> Asked:
        self._present(user, channel)
        timeout = self.discord.ack_seconds
        asked = Asked(self.discord.world.ids.next(), type, user, channel, data, guest, source, timeout)
        self.discord.asked[str(asked.id)] = asked
        self.discord.tokens[asked.token] = asked
        self.discord.gateway.emit(
            "INTERACTION_CREATE", self.payload(asked), guild=channel.guild, on_sent=asked.begin
        )
        await self._answered(asked, timeout if wait is None else wait)
        return asked

    async def _answered(self, asked: Asked, seconds: float) -> None:
        """Wait for the acknowledgement; if the bot has disconnected, only as long as Discord does."""
        ends = time.monotonic() + seconds
        while (remaining := ends - time.monotonic()) > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(asked.answered.wait(), min(remaining, SECONDS_TO_ANSWER))
                return
            if remaining > SECONDS_TO_ANSWER and not self.discord.gateway.live:
                asked.failed = True
                return

    def payload(self, asked: Asked) -> dict[str, Any]:
        """INTERACTION_CREATE as the gateway sends it."""
        channel, guild = asked.channel, asked.channel.guild
        payload: dict[str, Any] = {
            "id": str(asked.id),
            "application_id": str(self.discord.application_id),
            "type": asked.type,
            "token": asked.token,
            "version": 1,
            "data": asked.data,
            "channel_id": str(channel.id),
            "channel": channel.payload(),
            "locale": asked.user.locale,
            "entitlements": [],
            "entitlement_sku_ids": [],
            "authorizing_integration_owners": asked.owners,
            "context": asked.context,
            "attachment_size_limit": rules.FILE_BYTES,
            "app_permissions": str(
                channel.permissions if guild and guild.home else permissions.bits(permissions.PRIVATE)
            ),
        }
        if guild is None:
            payload["user"] = asked.user.payload()
        else:
            member = guild.members[asked.user.id]
            bits = str(permissions.bits(member.permissions))
            payload |= {
                "guild_id": str(guild.id),
                "guild": {"id": str(guild.id), "locale": guild.locale, "features": []},
                "guild_locale": guild.locale,
                "member": guild.member_payload(asked.user) | {"permissions": bits},
            }
            payload["channel"]["permissions"] = bits
        if asked.source is not None:
            payload["message"] = asked.source.payload()
        return payload

    def _command(self, channel: Channel, line: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        return self.discord.commands.line(channel.guild.id if channel.guild else None, line)

    def _keep(self, channel: Channel) -> Keep:
        return lambda name, content: self.discord.files.keep(channel.id, name, content)

    def _component(self, user: User, message: Message, which: str) -> dict[str, Any]:
        """The component with this label or custom id, which the person must be able to press."""
        if message.deleted:
            raise LookupError(f"{message} is gone")
        if message.only_for not in (None, user):
            raise LookupError(f"{user.name} does not see {message}")
        for component in walk(message.components):
            if component["type"] not in (BUTTON, *SELECTS) or "custom_id" not in component:
                continue
            if which in (component.get("label"), component["custom_id"], component.get("placeholder")):
                if component.get("disabled"):
                    raise LookupError(f"{which!r} is greyed out")
                return component
        raise LookupError(f"no {which!r} on {message}")

    def _present(self, user: User, channel: Channel) -> None:
        if channel.guild is not None and user.id not in channel.guild.members:
            raise LookupError(f"{user.name} is not in {channel.guild.name}")
        if channel.guild is None and user not in channel.recipients:
            raise LookupError(f"{user.name} is not in {channel}")

    def _allowed(self, user: User, channel: Channel, command: Mapping[str, Any], guest: bool) -> bool:
        """Check that the client shows the command to that person there; returns whether they are a guest."""
        guild = channel.guild
        guest = guest or not channel.reachable
        wanted = 1 if guest else 0
        types = command["integration_types"] or [0]
        # A guild's install brings the commands to its members' DMs with the bot too.
        if wanted not in types:
            raise LookupError(f"/{command['name']} is for installs {types}, not {wanted}")
        context = 0 if guild else 1 if channel.reachable else 2
        if command["contexts"] is not None and context not in command["contexts"]:
            raise LookupError(f"/{command['name']} is for contexts {command['contexts']}, not {context}")
        needed = command["default_member_permissions"]
        if guild is not None and needed is not None:
            bits = permissions.bits(guild.members[user.id].permissions)
            if int(needed) == 0 or int(needed) & ~bits:
                raise PermissionError(f"{user.name} may not use /{command['name']} in {guild.name}")
        return guest
