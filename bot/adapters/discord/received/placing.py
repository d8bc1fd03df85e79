"""Makes the request of an interaction or a message on Discord: its conversation, the place of its answer, its text and
files.

Its decisions use plain values only, neither the network nor the storage. The origin is stored with the request, as
JSON, so that an interrupted run finds its messages after a restart.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import discord
from discord import ChannelType

from bot.adapters import intake
from bot.adapters.markdown import clean
from bot.commands import KINDS, OPENLY, UNDER
from bot.events import Author, File, Place, Request, UserError
from bot.runs.requests import event_id
from bot.verb import PRIVATE, SHARE

if TYPE_CHECKING:
    from bot.adapters.invocation import Invocation
    from storage.sessions import ThreadRow

PLATFORM = "discord"

TOKEN_SECONDS = 15 * 60
"""Seconds for which an interaction's token is valid (Discord's documentation, "Receiving and Responding")."""

AnswerPlace = Literal["thread", "here", "response", "there"]
"""The place of a run's messages.

"thread": a thread (or forum post) opened for the run. "here": `channel`, as the bot's own messages. "response": the
response to the interaction, for private answers and where the bot is a guest. "there": the present place of the
conversation, for a run without a person's message, such as a scheduled one.
"""

_OWN = "user:"
"""The prefix of a person's own space; their id follows."""
_PRIVATE = "private:"
"""The prefix of the thread key of a person's private conversation in a public channel; the person's id follows."""
_OPENS_THREADS = {ChannelType.text, ChannelType.news, ChannelType.forum, ChannelType.media}
_THREADS = {ChannelType.public_thread, ChannelType.private_thread, ChannelType.news_thread}
_SMALL = re.compile(r"(?:> )?-# ")


@dataclass(slots=True)
class Location:
    """A person's location. `channel` is the channel or thread; for a thread, `parent` is its channel.

    `message` is the message that they wrote, None for an interaction. `installed`: the guild itself has installed the
    bot, or this is a DM with the bot. `member`: the bot can post here by itself, not only in response to an
    interaction. `admin`: the person is an admin of the guild, or alone in the space.

    Derived from these: `space` is the tenant (the guild, or the person where only they have installed the bot).
    `thread`: whether the channel is a thread. `real` is the thread's id in `storage.sessions`. `direct`: whether it is
    a DM with the bot.
    """

    user: int
    channel: int
    kind: ChannelType
    parent: int | None = None
    guild: int | None = None
    message: int | None = None
    installed: bool = True
    member: bool = True
    admin: bool = False
    space: str = field(init=False)
    thread: bool = field(init=False)
    real: str = field(init=False)
    direct: bool = field(init=False)

    def __post_init__(self) -> None:
        self.space = str(self.guild) if self.guild is not None and self.installed else f"{_OWN}{self.user}"
        self.thread = self.kind in _THREADS
        # A message may be in a thread that the client does not know yet.
        perhaps = self.thread or self.message is not None
        self.real = str(self.channel) if self.guild is not None and perhaps else ""
        self.direct = self.guild is None and self.member


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request came from. `channel` is where the person was, `message` what they wrote, None for an interaction.

    `token` is the interaction's, "" for a message; it expires at `until` (seconds since the epoch). `pressed`: a button
    was pressed, so the response is the message with the button and only follow-ups belong to the run. `member` is False
    where the bot is only a guest (user install): only the token works there. `title` is the name of a new thread;
    `asked` is the question as shown.
    """

    home: AnswerPlace
    channel: int
    application: int
    guild: int | None = None
    user: int = 0
    message: int | None = None
    token: str = field(default="", repr=False)
    until: float = 0.0
    member: bool = True
    private: bool = False
    title: str = ""
    asked: str = ""
    pressed: bool = False

    def to_json(self, **more: str) -> str:
        """As JSON, with `more` of its fields. Where nothing was pressed, it equals an earlier release's form."""
        fields = asdict(self) | more
        if not self.pressed:
            del fields["pressed"]
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def origin_of(stored: str) -> Origin:
    """Read `Origin.to_json`. Raises ValueError, KeyError or TypeError for anything else."""
    return Origin(**json.loads(stored))


def origin_at(place: Place) -> str:
    """The origin of an answer that responds to no message: the bot posts it in the place on its own.

    A private conversation is answered in the person's direct messages, and so is one in a person's own space, because
    the bot is a guest elsewhere.
    """
    private, guild = place.thread.startswith(_PRIVATE), place.space.isdecimal()
    user = (
        place.thread.removeprefix(_PRIVATE) if private else "0" if guild else place.space.removeprefix(_OWN)
    )
    return Origin(
        home="there",
        channel=0 if private else int(place.channel),
        application=0,
        guild=int(place.space) if guild else None,
        user=int(user),
        private=private,
    ).to_json()


def guest(request: Request) -> bool:
    """Whether the bot can only respond where the request was made, and cannot post there on its own."""
    return not origin_of(request.origin).member and not request.place.space.isdecimal()


def private_place(place: Place, user: str) -> Place:
    """The place of a user's direct messages, in the same space."""
    return replace(place, thread=f"{_PRIVATE}{user}")


def new_thread(request: Request, id: str, title: str) -> tuple[Place, str] | None:
    """The place and the origin of a new thread in the request's channel.

    None in direct messages, which have no threads, in private conversations, and where the bot is a guest.
    """
    origin = origin_of(request.origin)
    if origin.private or not origin.member or origin.guild is None:
        return None
    channel = int(request.place.channel)
    thread_origin = replace(
        origin, home="thread", channel=channel, message=None, token="", until=0.0, title=title
    )
    return replace(request.place, thread=id), thread_origin.to_json()


def for_one(stored: str) -> bool:
    """Whether only the asker may see the answer. A DM with the bot is a space of its own."""
    return origin_of(stored).private


def unseen(stored: str) -> bool:
    """Whether only the asker reads the answer, because it is private or in a DM with the bot."""
    origin = origin_of(stored)
    return origin.private or (origin.guild is None and origin.member and origin.home != "there")


def location_of(interaction: discord.Interaction) -> Location:
    """The location of an interaction. Raises UserError where it names none."""
    channel, user = interaction.channel, interaction.user
    if channel is None or not isinstance(user, discord.User | discord.Member):
        raise UserError("discord.nowhere")
    guild = interaction.guild_id
    if guild is None:
        context = interaction.context
        direct = channel.type is ChannelType.private and (context.dm_channel or not context.private_channel)
        return Location(user.id, channel.id, channel.type, installed=direct, member=direct, admin=True)
    present = interaction.client.get_guild(guild) is not None
    # An interaction that names no installation belongs to the guild if the bot is a member of it.
    installed = interaction.is_guild_integration() or (present and not interaction.is_user_integration())
    theirs, may = interaction.permissions, interaction.app_permissions
    thread = channel.type in _THREADS
    posts = may.view_channel and (may.send_messages_in_threads if thread else may.send_messages)
    return Location(
        user.id,
        channel.id,
        channel.type,
        parent=getattr(channel, "parent_id", None),
        guild=guild,
        installed=installed,
        member=installed and present and (posts or not may.value),
        admin=not installed or theirs.manage_guild or theirs.administrator,
    )


def location_of_message(message: discord.Message) -> Location:
    """The location of a message. The bot receives only messages that its own installation permits."""
    channel, author = message.channel, message.author
    theirs = author.guild_permissions if isinstance(author, discord.Member) else discord.Permissions.none()
    return Location(
        author.id,
        channel.id,
        channel.type or ChannelType.text,  # an unknown channel has none
        parent=getattr(channel, "parent_id", None),
        guild=message.guild.id if message.guild else None,
        message=message.id,
        admin=message.guild is None or theirs.manage_guild or theirs.administrator,
    )


def within(location: Location, thread_row: ThreadRow | None) -> Location:
    """A message's location as a thread, if the bot has a row for it, even if the client does not know it yet."""
    if thread_row is None or location.thread:
        return location
    return replace(location, kind=ChannelType.public_thread, parent=int(thread_row.channel))


def missing(client: discord.Client, channel_id: int, *needed: str) -> str | None:
    """The first of these permissions that the bot lacks in a channel; None if it lacks none, or the
    channel is unknown.
    """
    channel = client.get_channel(channel_id)
    if not isinstance(channel, discord.abc.GuildChannel | discord.Thread) or channel.guild.me is None:
        return None
    try:
        may = channel.permissions_for(channel.guild.me)
    except discord.ClientException:  # a thread of an unknown channel
        return None
    for name in needed:
        if not getattr(may, name):
            return name
    return None


def home(location: Location, *, ordered: bool, private: bool = False, threads: bool = True) -> AnswerPlace:
    """The place of the answer. A message has no response to use."""
    if private or not location.member:
        return "response"
    if not ordered:
        return "here" if location.message is not None else "response"
    if location.thread or location.direct or location.kind not in _OPENS_THREADS:
        return "here"
    return "thread" if threads else "here"


def place(
    location: Location,
    *,
    event: int = 0,
    goes: AnswerPlace = "here",
    thread_row: ThreadRow | None = None,
    private: bool = False,
) -> Place:
    """The conversation's place. `thread_row` is the row of a thread that the bot has opened; `event` is that of a new
    one.
    """
    if private:
        thread = f"{_PRIVATE}{location.user}"
    elif location.thread:
        thread = thread_row.thread if thread_row is not None else str(location.channel)
    else:
        thread = str(event) if goes == "thread" else ""
    return Place(PLATFORM, location.space, str(location.parent or location.channel), thread)


def request_of(
    event: discord.Interaction | discord.Message,
    location: Location,
    invocation: Invocation,
    thread_row: ThreadRow | None,
    locale: str,
    *,
    threads: bool,
    us: int,
) -> tuple[Request, Origin]:
    """The request and its origin. Raises UserError for a message that asks for something private.

    `thread_row` is the row of this thread, if the bot has opened it; without `threads` no thread is opened. `us` is the
    application's id.
    """
    row, options = invocation.row, dict(invocation.options)
    pressed = event if isinstance(event, discord.Interaction) else None
    ephemeral = pressed is not None and pressed.message is not None and pressed.message.flags.ephemeral
    # In a DM with the bot everything is already private.
    personal = row.personal and not options.get(SHARE.name)
    shared = KINDS[row.work].shared
    # Something that belongs to a scene is done where the scene is, even by a button that only one person sees.
    kept = ephemeral and UNDER not in options and (not shared or row.option(PRIVATE.name) is not None)
    private = (bool(options.get(PRIVATE.name)) or kept) and not location.direct and not personal
    # A private conversation has its own place; a personal answer, or one about shared play, is only shown to one
    # person.
    alone = private or (personal and not location.direct)
    if pressed is None:
        if alone and (invocation.plain or (personal and row.urgent)):
            options[OPENLY], alone = True, False
        elif alone:
            raise UserError("discord.only_slash", verb=row.path)
        options.pop(PRIVATE.name, None)
    goes = home(
        location, ordered=row.ordered and not row.lacks(invocation.text), private=alone, threads=threads
    )
    typed = pressed is not None and pressed.type is not discord.InteractionType.component
    if goes == "here" and typed and row.brief and not row.asks_models(invocation.text, options):
        goes = "response"  # one message, the answer to the command
    token = pressed.token if pressed is not None else ""
    origin = Origin(
        home=goes,
        channel=location.channel,
        application=us,
        guild=location.guild,
        user=location.user,
        message=location.message,
        token=token,
        until=time.time() + TOKEN_SECONDS if token else 0.0,
        member=location.member,
        private=alone,
        # An answer in the bot's own messages needs no response to the button, but a failure is shown to one person.
        pressed=pressed is not None and not typed and goes == "here",
    )
    member = event.user if isinstance(event, discord.Interaction) else event.author
    request = intake.request_of(
        replace(invocation, options=options),
        event_id(PLATFORM, location.space, str(event.id)),
        place(location, event=event.id, goes=goes, thread_row=thread_row, private=private and not shared),
        Author(str(location.user), clean(member.display_name), location.admin, groups=groups_of(member)),
        locale,
        origin,
    )
    return replace(request, adults=for_adults(event.channel)), origin


def groups_of(member: discord.User | discord.Member) -> tuple[str, ...] | None:
    """The ids of a member's roles; None for a person who is on no server, or on an unknown one."""
    return tuple(str(role.id) for role in member.roles) if isinstance(member, discord.Member) else None


def for_adults(channel: object) -> bool:
    """Whether Discord admits only adults: a thread inherits this from its channel, and an unknown channel counts as
    open.
    """
    return isinstance(channel, discord.abc.GuildChannel | discord.Thread) and bool(
        getattr(channel, "is_nsfw", bool)()
    )


def file_of(attachment: discord.Attachment) -> File:
    """An attachment as a file of a request; works refuse files that they cannot read."""
    return File(attachment.filename, "", attachment.size, attachment.url)


def own_role(message: discord.Message) -> int:
    """The id of the bot's own role on this server, 0 if it has none."""
    role = message.guild.self_role if message.guild is not None else None
    return role.id if role is not None else 0


def text_without_mention(message: discord.Message, me: int) -> str:
    """The message's text without the bot's own mention, and with names for other mentions."""
    names = {user.id: f"@{user.display_name}" for user in message.mentions}
    names |= {role.id: f"@{role.name}" for role in message.role_mentions}
    names |= {channel.id: f"#{channel.name}" for channel in message.channel_mentions}

    def mention(match: re.Match[str]) -> str:
        return names.get(int(match[1]), match[0])

    text = re.sub(rf"[ \t]*<@(?:!?{me}|&{own_role(message)})>[ \t]*", " ", message.content)
    return re.sub(r"<(?:@[!&]?|#)(\d{1,20})>", mention, text).strip().lstrip(",:;").strip()


def text_of(message: discord.Message) -> str:
    """All text of a message: content, components, embeds and forwarded messages."""
    texts: list[str] = []
    parts: list[discord.Message | discord.MessageSnapshot] = [message, *message.message_snapshots]
    for part in parts:
        texts += [part.content, *_displayed(part.components)]
        for embed in part.embeds:
            fields = [f"{field.name or ''}\n{field.value or ''}" for field in embed.fields]
            texts += [embed.title or "", embed.description or "", *fields]
    return "\n\n".join(text.strip() for text in texts if text.strip())


def _displayed(components: Sequence[object]) -> Iterator[str]:
    """The text displays at any depth, without the small print under an answer: sources, notes, status."""
    for component in components:
        if isinstance(component, discord.TextDisplay):
            yield "\n".join(line for line in component.content.split("\n") if not _SMALL.match(line))
        yield from _displayed(getattr(component, "children", ()))
