"""What people ask on Discord, by an interaction or a message, as the request that it makes: which conversation it
belongs to, where its answer goes, what it says, which files come with it.

Decides by plain values alone: asks neither the network nor the storage. Where a request came from is kept with it, as
JSON, so that a run which a crash cut off finds its messages again after a restart.
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

from bot.adapters.markdown import clean
from bot.commands import OPENLY
from bot.events import Author, File, Place, Request, Sorry
from bot.runs.requests import event_id

if TYPE_CHECKING:
    from bot.adapters.intake import Invocation
    from storage.threads import ThreadRow

PLATFORM = "discord"

TOKEN_SECONDS = 15 * 60
"""How long an interaction's token lives (Discord's documentation, "Receiving and Responding")."""

AnswerPlace = Literal["thread", "here", "response", "there"]
"""Where a run's messages stand.

"thread": in a thread (or forum post) that is opened for it. "here": in `channel`, as the bot's own messages.
"response": as the answer to the interaction itself, which `private` ones and the bot's guests have to be.
"there": where the request's place is by now, for nobody has written: a schedule, say, has begun the run.
"""

_PRIVATE = "private:"
"""What the conversation is called that somebody has in private where others read along, before their id."""
_OPENS_THREADS = {ChannelType.text, ChannelType.news, ChannelType.forum, ChannelType.media}
_THREADS = {ChannelType.public_thread, ChannelType.private_thread, ChannelType.news_thread}
_SMALL = re.compile(r"(?:> )?-# ")


@dataclass(frozen=True, slots=True)
class Location:
    """Where a person is. `channel` is what they look at; for a thread, `parent` is the channel it hangs from.

    `message` is what they wrote there, None if they did not write. `installed`: the guild itself has installed the
    bot, or this is a DM with the bot. `member`: the bot can post here by itself, not only as an answer to an
    interaction.
    """

    user: int
    channel: int
    kind: ChannelType
    parent: int | None = None
    guild: int | None = None
    message: int | None = None
    installed: bool = True
    member: bool = True

    @property
    def space(self) -> str:
        """The tenant: the guild, or the person alone where only they brought the bot along."""
        return str(self.guild) if self.guild is not None and self.installed else f"user:{self.user}"

    @property
    def thread(self) -> bool:
        return self.kind in _THREADS

    @property
    def real(self) -> str:
        """What `storage.threads` calls the thread; the client may not have seen yet that a message stands in one."""
        perhaps = self.thread or self.message is not None
        return str(self.channel) if self.guild is not None and perhaps else ""

    @property
    def direct(self) -> bool:
        """A DM with the bot."""
        return self.guild is None and self.member


@dataclass(frozen=True, slots=True)
class Origin:
    """`channel` is where the person was, `message` what they wrote (a mention, a reply, a DM), if they wrote.

    `token` is the interaction's, "" for a message; it dies at `until` (seconds since the epoch).
    `member` is False where the bot is only a guest (user install): nothing but the token works there.
    `title` is what a thread that is opened gets as its name; `asked` is what the person asked, to be shown.
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

    def to_json(self, **more: str) -> str:
        """As JSON, with `more` of its fields."""
        return json.dumps(asdict(self) | more, ensure_ascii=False, separators=(",", ":"))


def origin_of(kept: str) -> Origin:
    """The origin that `kept` wrote. Raises ValueError, KeyError or TypeError for anything else."""
    return Origin(**json.loads(kept))


def origin_at(place: Place) -> str:
    """The origin of an answer in a place where nobody has written: the bot posts it there by itself.

    What somebody had asked in private is answered in their direct messages.
    """
    user = place.thread.removeprefix(_PRIVATE) if place.thread.startswith(_PRIVATE) else ""
    return Origin(
        home="there",
        channel=0 if user else int(place.channel),
        application=0,
        guild=int(place.space) if place.space.isdecimal() else None,
        user=int(user or 0),
        private=user != "",
    ).to_json()


def new_thread(request: Request, id: str, title: str) -> tuple[Place, str] | None:
    """Where a thread of its own stands in the request's channel, and the origin of what begins it.

    None in direct messages, which have no threads, in private, and where the bot is a guest.
    """
    origin = origin_of(request.origin)
    if origin.private or not origin.member or origin.guild is None:
        return None
    channel = int(request.place.channel)
    there = replace(origin, home="thread", channel=channel, message=None, token="", until=0.0, title=title)
    return replace(request.place, thread=id), there.to_json()


def for_one(kept: str) -> bool:
    """Whether the answer is for whoever asked alone. A DM with the bot is a space of its own."""
    return origin_of(kept).private


def spot(interaction: discord.Interaction) -> Location:
    """Where the interaction happened. Raises Sorry where it does not say."""
    channel, user = interaction.channel, interaction.user
    if channel is None or not isinstance(user, discord.User | discord.Member):
        raise Sorry("discord.nowhere")
    guild = interaction.guild_id
    if guild is None:
        context = interaction.context
        direct = channel.type is ChannelType.private and (context.dm_channel or not context.private_channel)
        return Location(user.id, channel.id, channel.type, installed=direct, member=direct)
    present = interaction.client.get_guild(guild) is not None
    # An interaction that names no installation at all is the guild's where the bot is one of its members.
    installed = interaction.is_guild_integration() or (present and not interaction.is_user_integration())
    may = interaction.app_permissions
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
    )


def spot_of(message: discord.Message) -> Location:
    """Where the message stands; the bot reads only what its own installation lets it read."""
    channel = message.channel
    return Location(
        message.author.id,
        channel.id,
        channel.type or ChannelType.text,  # a channel that is not known has none
        parent=getattr(channel, "parent_id", None),
        guild=message.guild.id if message.guild else None,
        message=message.id,
    )


def within(spot: Location, held: ThreadRow | None) -> Location:
    """The same; a thread that is held is one even if the client has not seen it yet."""
    if held is None or spot.thread:
        return spot
    return replace(spot, kind=ChannelType.public_thread, parent=int(held.channel))


def manages(event: discord.Interaction | discord.Message, spot: Location) -> bool:
    """Whether the person is in charge: of the guild, or of the space that is theirs alone."""
    if spot.space.startswith("user:"):
        return True
    if isinstance(event, discord.Interaction):
        may = event.permissions
    elif isinstance(event.author, discord.Member):
        may = event.author.guild_permissions
    else:
        return False
    return may.manage_guild or may.administrator


def missing(client: discord.Client, channel_id: int, *needed: str) -> str | None:
    """The first of these permissions that the bot lacks in a channel, as far as it knows."""
    channel = client.get_channel(channel_id)
    if not isinstance(channel, discord.abc.GuildChannel | discord.Thread) or channel.guild.me is None:
        return None
    try:
        may = channel.permissions_for(channel.guild.me)
    except discord.ClientException:  # a thread whose channel is not known
        return None
    for name in needed:
        if not getattr(may, name):
            return name
    return None


def home(spot: Location, *, ordered: bool, private: bool = False, threads: bool = True) -> AnswerPlace:
    """Where the answer stands. To a message there is no response to give."""
    if private or not spot.member:
        return "response"
    if not ordered:
        return "here" if spot.message is not None else "response"
    if spot.thread or spot.direct or spot.kind not in _OPENS_THREADS:
        return "here"
    return "thread" if threads else "here"


def place(
    spot: Location, *, event: int, goes: AnswerPlace, held: ThreadRow | None = None, private: bool = False
) -> Place:
    """The conversation. `held` says what a real thread that the bot opened is called; `event` names a new one."""
    if private:
        thread = f"{_PRIVATE}{spot.user}"
    elif spot.thread:
        thread = held.thread if held is not None else str(spot.channel)
    else:
        thread = str(event) if goes == "thread" else ""
    return Place(PLATFORM, spot.space, str(spot.parent or spot.channel), thread)


def request_of(
    event: discord.Interaction | discord.Message,
    here: Location,
    asked: Invocation,
    held: ThreadRow | None,
    locale: str,
    *,
    threads: bool,
    us: int,
) -> tuple[Request, Origin]:
    """The request, and where its answer goes. Raises Sorry for a message that asks for something private.

    `held` is what the bot holds in this thread; without `threads` none is opened. `us` is the application.
    """
    row, options = asked.row, dict(asked.options)
    pressed = event if isinstance(event, discord.Interaction) else None
    shown = pressed is not None and pressed.message is not None and pressed.message.flags.ephemeral
    # In a DM with the bot everything is private already, and what is personal is so where it stands.
    private = (bool(options.get("private")) or shown) and not here.direct and not asked.personal
    # What is private is a conversation of its own; personal answers are only shown to one person.
    alone = private or (asked.personal and not here.direct)
    if pressed is None:
        if alone and (asked.plain or (asked.personal and row.urgent)):
            options[OPENLY], alone = True, False
        elif alone:
            raise Sorry("discord.only_slash", verb=row.path)
        options.pop("private", None)
    goes = home(here, ordered=row.ordered and not asked.lacks, private=alone, threads=threads)
    token = pressed.token if pressed is not None else ""
    if pressed is not None and pressed.type is discord.InteractionType.component and goes == "here":
        token = ""  # where the answer stands as messages of its own, a button needs no response beside them
    origin = Origin(
        home=goes,
        channel=here.channel,
        application=us,
        guild=here.guild,
        user=here.user,
        message=here.message,
        token=token,
        until=time.time() + TOKEN_SECONDS if token else 0.0,
        member=here.member,
        private=alone,
    )
    who = event.user if isinstance(event, discord.Interaction) else event.author
    request = replace(asked, options=options).request(
        event_id(PLATFORM, here.space, str(event.id)),
        place(here, event=event.id, goes=goes, held=held, private=private),
        Author(str(here.user), clean(who.display_name), admin=manages(event, here)),
        locale,
        origin,
    )
    return replace(request, adults=for_adults(event.channel)), origin


def for_adults(channel: object) -> bool:
    """Whether Discord lets nobody but adults in: a thread is as its channel, and what is not known is not."""
    return isinstance(channel, discord.abc.GuildChannel | discord.Thread) and bool(
        getattr(channel, "is_nsfw", bool)()
    )


def files_of(attached: Sequence[discord.Attachment | None]) -> tuple[File, ...]:
    """As a request carries them; a work refuses those that it can't read, one by one. Raises Sorry."""
    found: list[File] = []
    for one in attached:
        if isinstance(one, discord.Attachment):
            found.append(File(one.filename, "", one.size, one.url))
        elif one is not None:
            raise Sorry("discord.outdated")  # named, but not sent along
    return tuple(found)


def heard(message: discord.Message, me: int) -> str:
    """What the message says without the bot's own mention; other people's are their names."""
    names = {one.id: f"@{one.display_name}" for one in message.mentions}
    names |= {one.id: f"@{one.name}" for one in message.role_mentions}
    names |= {one.id: f"#{one.name}" for one in message.channel_mentions}

    def named(found: re.Match[str]) -> str:
        return names.get(int(found[1]), found[0])

    text = re.sub(rf"[ \t]*<@!?{me}>[ \t]*", " ", message.content)
    return re.sub(r"<(?:@[!&]?|#)(\d{1,20})>", named, text).strip().lstrip(",:;").strip()


def text_of(message: discord.Message) -> str:
    """What there is to read in the message: as its content, in its components and embeds, or passed on with it."""
    found: list[str] = []
    parts: list[discord.Message | discord.MessageSnapshot] = [message, *message.message_snapshots]
    for part in parts:
        found += [part.content, *_displayed(part.components)]
        for embed in part.embeds:
            fields = [f"{field.name or ''}\n{field.value or ''}" for field in embed.fields]
            found += [embed.title or "", embed.description or "", *fields]
    return "\n\n".join(text.strip() for text in found if text.strip())


def _displayed(components: Sequence[object]) -> Iterator[str]:
    """The text displays, however deep, without the small print under an answer: sources, notes, what goes on."""
    for one in components:
        if isinstance(one, discord.TextDisplay):
            yield "\n".join(line for line in one.content.split("\n") if not _SMALL.match(line))
        yield from _displayed(getattr(one, "children", ()))
