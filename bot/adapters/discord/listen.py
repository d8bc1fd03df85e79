"""Which messages are for the bot, and what they say once its own name is taken out.

Hands them to the reception; knows no command and no work.
"""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import suppress
from typing import TYPE_CHECKING

import discord

from bot.adapters.discord.deletions import Deletions
from bot.adapters.discord.mentions import heard
from bot.adapters.discord.placing import PLATFORM, spot_of
from bot.adapters.discord.spoken import typed
from bot.adapters.discord.welcome import Welcome
from bot.adapters.turns import Turns
from bot.events import Place
from bot.readers.kinds import readable

if TYPE_CHECKING:
    from bot.adapters.discord.client import Sutradhar
    from storage.threads import ThreadRow

ASIDE = ("//", "((")
"""What a message in a thread with free chat begins with that is not meant for the bot."""
EVERYBODY = re.compile(r"@(everyone|here)\b")
READS_FILES = re.compile(r"/\s*((library\s+)?add|(rules\s+)?ask)\b", re.IGNORECASE)
TYPING_S = 8.0
"""How often people are shown that the bot is at it; Discord shows it for 10 s ("Trigger Typing Indicator")."""
_SPOKEN = (discord.MessageType.default, discord.MessageType.reply)

_log = logging.getLogger(__name__)


async def load(client: Sutradhar) -> None:
    """Everything that the bot hears besides interactions."""
    turns = Turns()
    listener, deletions, welcome = Listener(client, turns), Deletions(client, turns), Welcome(client)
    for hears in (
        listener.on_message,
        deletions.on_raw_message_edit,
        deletions.on_raw_message_delete,
        deletions.on_raw_bulk_message_delete,
        deletions.on_raw_thread_delete,
        deletions.on_guild_remove,
        welcome.on_guild_join,
    ):
        client.add_listener(hears)


class Listener:
    """Takes in what people say to the bot; one per client."""

    def __init__(self, client: Sutradhar, turns: Turns) -> None:
        self._client = client
        self._turns = turns
        self._typing: set[asyncio.Task[None]] = set()
        self._typed: dict[int, float] = {}

    async def on_message(self, message: discord.Message) -> None:
        if message.author.bot or message.webhook_id is not None or message.type not in _SPOKEN:
            return
        if not _may_answer(message):
            return
        async with self._turns.of(message.channel.id):
            await self._listen(message)

    async def _listen(self, message: discord.Message) -> None:
        if message.guild is None:
            await self._hear(message)
        elif self._addressed(message):
            if message.content or message.attachments or self._client.intents.message_content:
                await self._hear(message)
            else:  # a reply that does not ping: Discord kept its text from us
                await self._explain(message)
        elif isinstance(message.channel, discord.Thread):
            await self._overhear(message)

    def _addressed(self, message: discord.Message) -> bool:
        """Named by a mention of its own, or replied to. A role's mention and @everyone's are nobody's."""
        me = self._me
        return any(one.id == me for one in message.mentions) or _answers(message) == me

    async def _overhear(self, message: discord.Message) -> None:
        """A message in a thread that does not name the bot: its own only where free chat is on."""
        threads, space = self._client.app.house.threads, spot_of(message).space
        held = await threads.held(space, str(message.channel.id))
        if held is None:
            return
        if not self._client.intents.message_content:
            await self._explain(message)
        elif self._for_others(message) or not await self._free_chat(held):
            return
        elif heard(message, self._me) or _books(message):  # and not, say, a sticker
            await self._hear(message)

    async def _free_chat(self, held: ThreadRow) -> bool:
        """As the thread says, else its channel, its server, the config."""
        if held.free_chat is not None:
            return held.free_chat
        place = Place(PLATFORM, held.space, held.channel, held.thread)
        return await self._client.app.house.settings.free_chat(place)

    def _for_others(self, message: discord.Message) -> bool:
        answers = _answers(message)
        return bool(
            message.mentions
            or message.role_mentions
            or EVERYBODY.search(message.content)  # also from somebody who may not call them
            or (answers is not None and answers != self._me)
            or message.content.lstrip().startswith(ASIDE)
        )

    async def _hear(self, message: discord.Message) -> None:
        text, books = heard(message, self._me), _books(message)
        say = self._client.reception.words_of(message)
        reception = self._client.reception
        hint = "books" if books and not _reads_files(text) else "" if text else "short"
        if hint and reception.cool(message.author.id, spot_of(message).space):
            hint = ""  # nobody gets the bot to talk without end
        if hint == "books":
            await _tell(message, say("welcome.books", file=books[0]), "b")
        elif hint:
            await _tell(message, say("welcome.short", name=self._name(message)), "h")
        if text:
            self._type(message)
            await reception.message(message, text)

    def _type(self, message: discord.Message) -> None:
        """Show that the bot is at it, unless Discord still shows it from the message before."""
        channel, now = message.channel.id, asyncio.get_running_loop().time()
        if now - self._typed.get(channel, -TYPING_S) < TYPING_S:
            return
        self._typed = {one: at for one, at in self._typed.items() if now - at < TYPING_S} | {channel: now}
        typing = asyncio.create_task(_type(message))
        self._typing.add(typing)
        typing.add_done_callback(self._typing.discard)

    async def _explain(self, message: discord.Message) -> None:
        """Without the Message Content intent, once in each thread: how to be heard there."""
        threads, space = self._client.app.house.threads, spot_of(message).space
        thread = str(message.channel.id)
        if await threads.held(space, thread) is None or await threads.explained(space, thread):
            await _tell(
                message,
                self._client.reception.words_of(message)("welcome.unheard", name=self._name(message)),
                "e",
            )

    @property
    def _me(self) -> int:
        assert self._client.user is not None, "no message comes before READY"
        return self._client.user.id

    def _name(self, message: discord.Message) -> str:
        """What people type after the @."""
        me = message.guild.me if message.guild is not None else self._client.user
        return me.display_name if me is not None else ""


def _answers(message: discord.Message) -> int | None:
    """Whose message this one is a reply to; None for none, or for one that is gone."""
    if message.type is not discord.MessageType.reply or message.reference is None:
        return None
    replied = message.reference.resolved
    return replied.author.id if isinstance(replied, discord.Message) else None


def _reads_files(text: str) -> bool:
    """Whether the message is a question, which its files may answer, or the command that puts them on a shelf."""
    line = typed(text)
    return bool(text) and (not line.startswith("/") or READS_FILES.match(line) is not None)


def _books(message: discord.Message) -> list[str]:
    files = [one.filename for one in message.attachments]
    return [name for name in files if readable(name)]


def _may_answer(message: discord.Message) -> bool:
    me = message.guild.me if message.guild is not None else None
    if me is None or isinstance(message.channel, discord.DMChannel | discord.PartialMessageable):
        return True
    may = message.channel.permissions_for(me)
    return may.send_messages_in_threads if isinstance(message.channel, discord.Thread) else may.send_messages


async def _type(message: discord.Message) -> None:
    with suppress(discord.HTTPException):  # a courtesy, no more
        await message.channel.typing()


async def _tell(message: discord.Message, text: str, nonce: str) -> None:
    """A sentence in answer to the message; the nonce makes it one when Discord delivers the message twice."""
    none = discord.AllowedMentions.none()
    try:
        await message.channel.send(
            text,
            reference=message.to_reference(fail_if_not_exists=False),
            allowed_mentions=none,
            nonce=f"{nonce}{message.id}",
        )
    except discord.Forbidden:  # answering to a message takes a permission that plain ones do not
        with suppress(discord.HTTPException):
            await message.channel.send(text, allowed_mentions=none, nonce=f"{nonce}{message.id}")
    except discord.HTTPException as fault:
        _log.info("a message could not be answered: %s", fault)
