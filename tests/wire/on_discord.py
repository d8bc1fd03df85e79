"""The driver of the stories on Discord: its fake, and the bot as a separate process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bot import commands
from tests.fakes.discord import FakeDiscord, Member
from tests.fakes.discord.story import story
from tests.fakes.discord.voice_heard import Listener
from tests.kill.process import PATIENCE_S
from tests.wire.driver import Post
from tests.wire.inbox import newest, requests
from tests.wire.model import Answerer
from tests.wire.process import BotProcess
from tests.wire.stock import LANTERNS, second

REST_S = 2 * PATIENCE_S
"""How many seconds everything may take to finish: a long answer is twenty messages, and at most five are sent in five
seconds.
"""
TOKEN_ENV = "WIRE_TOKEN"
LOG_CHARS = 4_000


class DiscordTalk:
    """A conversation over messages of the fake; `messages` returns the present ones."""

    def __init__(self, messages: Callable[[], list[Any]], home: Callable[[], Any], asked: Any = None) -> None:
        self._messages = messages
        self.home = home
        self.asked = asked

    def messages(self) -> list[Any]:
        return [message for message in self._messages() if not message.deleted]

    def posts(self) -> list[Post]:
        return [Post(message.author.name, message.text, actions(message)) for message in self.messages()]

    def said(self) -> list[str]:
        return [message.text for message in self.messages() if message.author.bot]


def actions(message: Any) -> tuple[str, ...]:
    """The actions of the buttons: the first word of their custom_ids."""
    return tuple(button.custom_id.split(":")[0] for button in message.buttons if button.custom_id)


class OnDiscord:
    """A guild "Table" with a channel "general", twice, where Ana and Cai play and Bia is the admin."""

    process_of = BotProcess

    def __init__(self, discord: FakeDiscord, answerer: Answerer) -> None:
        self.discord = discord
        self.model = answerer
        self.people = {name: discord.user(name) for name in ("Ana", "Bia", "Cai")}
        self.guilds = [discord.guild("Table"), discord.guild("Table")]
        self.channels = [guild.text("general") for guild in self.guilds]
        for guild in self.guilds:
            guild.join(self.people["Ana"], manage=False)
            guild.join(self.people["Bia"], manage=True)
            guild.join(self.people["Cai"], manage=False)
        self.process: BotProcess
        self.first = 0

    def crowd(self, number: int) -> list[Any]:
        """People of the first guild; a person who asks only once is never rate limited."""
        people = [self.discord.user(f"Guest {n}") for n in range(number)]
        for person in people:
            self.guilds[0].join(person)
        return people

    def settings(self) -> str:
        """The part of config.toml that points the client to this fake."""
        return (
            f'[discord]\ntoken_env = "{TOKEN_ENV}"\napplication_id = {self.discord.application_id}\n'
            f'api_base = "{self.discord.api}"\ngateway_url = "{self.discord.gateway_url}"\n'
        )

    def environ(self) -> dict[str, str]:
        return {TOKEN_ENV: self.discord.token}

    def invite(self, guild: Any) -> None:
        """Let the bot join a guild with its channels."""
        bot = self.discord.world.bot
        guild.home, guild.members[bot.id] = True, Member(bot, [guild.bot_role], frozenset(), time.time())
        # Discord sends `unavailable` only for guilds that the bot was already in.
        joined = {name: value for name, value in guild.create_payload().items() if name != "unavailable"}
        self.discord.gateway.emit("GUILD_CREATE", joined, guild=guild)

    async def invited(self) -> tuple[Any, DiscordTalk]:
        """Invite the bot into a new guild of Bia's; returns the channel and its conversation."""
        await self.settled()
        guild = self.discord.guild("Newcomers", bot=False)
        guild.join(self.people["Bia"], manage=True)
        channel = guild.text("general")
        self.invite(guild)
        return channel, DiscordTalk(lambda: channel.messages, lambda: channel)

    def books(self, folder: Path) -> dict[str, list[Path]]:
        """The books of each table, and of Ana's own space for direct messages and user installs."""
        first, other = (str(guild.id) for guild in self.guilds)
        return {first: [LANTERNS], other: [second(folder)], f"user:{self.people['Ana'].id}": [LANTERNS]}

    async def furnish(self, data: Path) -> None:
        """Do nothing: Discord itself says which guilds the bot is in."""

    async def sit(self) -> None:
        """Wait until the bot is connected, and ignore what happened at other tables."""
        await self.connected()
        self.process.mark()
        self.first = newest(self.process.data)
        voice = self.discord.voice
        for past in (self.discord.calls, self.discord.refused, self.discord.limited, voice.violations):
            past.clear()
        self.discord.faults.waiting.clear()
        self.discord.asked.clear()

    def voice(self, person: str = "Ana", *, table: int = 0, name: str = "Table talk") -> Listener:
        """Put a person into the guild's voice channel, which is created if needed; returns the listener."""
        guild = self.guilds[table]
        channel = next((channel for channel in guild.channels if channel.name == name), None) or guild.voice(
            name
        )
        return self.discord.voice.enter(self.people[person], channel)

    async def begin(self, process: BotProcess) -> None:
        """Start the process, and wait until it is connected."""
        self.process = process
        await process.start()
        await self.connected()

    async def connected(self) -> None:
        """Wait until the client is logged in; if the process ends instead, report its log."""
        async with asyncio.timeout(PATIENCE_S):
            while not self.discord.gateway.live:
                assert self.process.alive, self.process.log()
                await asyncio.sleep(0.02)

    async def settled(self) -> None:
        """Wait until the client knows its guilds: only then does it welcome new ones."""
        async with asyncio.timeout(PATIENCE_S):
            while "On Discord as" not in self.process.log(whole=True):  # noqa: ASYNC110 - a process shows no more
                await asyncio.sleep(0.02)

    # Actions of a story

    async def ask(
        self, person: str, question: str, *, table: int = 0, verb: str = "rules ask", **options: Any
    ) -> DiscordTalk:
        channel = self.channels[table]
        row = next(row for row in commands.TABLE if row.path == verb)
        field = row.argument.name if row.argument is not None else "question"
        values: dict[str, Any] = {field: question, **options}
        grouped = f"{row.group} {row.name}" if row.group else verb  # as Discord groups them
        asked = await self.discord.slash(self.people[person], channel, grouped, **values)
        return self.talk(asked, channel)

    async def command(
        self, person: str, line: str, *, talk: DiscordTalk | None = None, **options: Any
    ) -> DiscordTalk:
        place = talk.home() if talk else self.channels[0]
        row = next((row for row in commands.TABLE if row.path == line and row.group), None)
        line = f"{row.group} {row.name}" if row is not None else line  # as Discord groups them
        asked = await self.discord.slash(self.people[person], place, line, **options)
        return self.talk(asked, place, private=True)

    async def mention(self, person: str, talk: DiscordTalk, text: str) -> None:
        await self.discord.say(self.people[person], talk.home(), text, mention=True)

    async def say(self, person: str, talk: DiscordTalk, text: str) -> None:
        await self.discord.say(self.people[person], talk.home(), text)

    async def speak(self, person: str, talk: DiscordTalk, data: bytes, *, transcript: str = "") -> None:
        """Speak as a reply to the bot's message: a voice message cannot contain a mention."""
        bots = [message for message in talk.messages() if message.author.bot]
        await self.discord.speak(self.people[person], talk.home(), data, 2.0, reply_to=bots[-1])

    async def direct(self, person: str, text: str) -> DiscordTalk:
        dm = self.discord.dm(self.people[person])
        first = len(dm.messages)
        await self.discord.say(self.people[person], dm, text)
        return DiscordTalk(lambda: dm.messages[first:], lambda: dm)

    async def press(self, person: str, talk: DiscordTalk, action: str) -> DiscordTalk:
        await self.until(lambda: any(action in actions(message) for message in talk.messages()))
        message = [message for message in talk.messages() if action in actions(message)][-1]
        custom_id = next(
            button.custom_id for button in message.buttons if str(button.custom_id).startswith(f"{action}:")
        )
        pressed = await self.discord.press(self.people[person], message, custom_id)
        return self.talk(pressed, talk.home(), private=True)

    async def choose(self, person: str, talk: DiscordTalk, label: str) -> DiscordTalk:
        def having() -> list[Any]:
            return [
                message
                for message in talk.messages()
                if any(label == button.label for button in message.buttons)
            ]

        await self.until(lambda: bool(having()))
        pressed = await self.discord.press(self.people[person], having()[-1], label)
        return self.talk(pressed, talk.home(), private=True)

    async def fill(
        self, person: str, talk: DiscordTalk | None, opened: DiscordTalk, text: str, **options: str
    ) -> DiscordTalk:
        values = {"text": text} | {f"option:{name}": value for name, value in options.items()}
        sent = await self.discord.submit(self.people[person], opened.asked, values)
        return talk or self.talk(sent, opened.home())

    def open_buttons(self, talk: DiscordTalk) -> list[str]:
        return [
            str(button.label)
            for message in talk.messages()
            for button in message.buttons
            if not button.disabled
        ]

    def thread(self, which: Callable[[DiscordTalk], bool]) -> DiscordTalk:
        def found() -> Any:
            talks = {
                thread.id: DiscordTalk(lambda one=thread: list(one.messages), lambda: None)  # type: ignore[misc]
                for thread in self.channels[0].threads
            }
            return next((thread for thread in self.channels[0].threads if which(talks[thread.id])), None)

        return DiscordTalk(lambda: list(channel.messages) if (channel := found()) else [], found)

    async def menu(self, person: str, talk: DiscordTalk, text: str, name: str) -> DiscordTalk:
        message = [message for message in talk.messages() if text in message.text][-1]
        chosen = await self.discord.menu(self.people[person], message, name)
        return self.talk(chosen, talk.home(), private=True)

    async def edit(self, person: str, talk: DiscordTalk, text: str, to: str) -> None:
        (message,) = [
            message for message in talk.messages() if text in message.text and not message.author.bot
        ]
        await self.discord.edit(message, f"{self.discord.world.bot.mention} {to}")

    async def delete(self, talk: DiscordTalk, text: str) -> None:
        (message,) = [message for message in talk.messages() if message.text == text]
        await self.discord.delete(message)

    async def attach(self, person: str, name: str, data: bytes, *, shelf: str) -> DiscordTalk:
        return await self.command(person, "library add", file=(name, data), shelf=shelf)

    async def redeliver(self) -> None:
        await self.discord.replay(20)
        await self.connected()

    async def restart(self, *, kill: bool = True) -> None:
        if kill:
            await self.kill()
        else:
            assert await self.process.leave() == 143, self.process.log()
            await self.until(lambda: not self.discord.gateway.live)
        await self.begin(self.process)

    async def kill(self) -> None:
        """Kill the process with -9; returns once its connection is gone."""
        await self.process.kill()
        await self.until(lambda: not self.discord.gateway.live)

    async def until(self, true: Callable[[], bool]) -> None:
        await self.discord.until(true, seconds=PATIENCE_S)

    async def rest(self, runs: int) -> None:
        async with asyncio.timeout(REST_S):
            while "" in (states := self.states()) or len(states) < runs:
                assert self.process.alive, self.process.log()
                await asyncio.sleep(0.02)

    def channel(self, table: int = 0) -> DiscordTalk:
        channel = self.channels[table]
        return DiscordTalk(lambda: channel.messages, lambda: channel)

    # What people see

    def talk(self, asked: Any, channel: Any, *, private: bool = False) -> DiscordTalk:
        """The conversation in which an interaction is answered: its own response, or the thread opened from it."""

        def home() -> Any:
            return asked.response.thread or channel if asked.response else channel

        def messages() -> list[Any]:
            if private or asked.ephemeral:
                return [*filter(None, (asked.response,)), *asked.followups]
            return list(home().messages) if asked.response else []

        return DiscordTalk(messages, home, asked)

    def states(self) -> list[str]:
        """How each request of a person's has ended, "" while it has not."""
        return [state for _, state in requests(self.process.data, self.first)]

    def runs(self) -> list[str]:
        return [run for run, _ in requests(self.process.data, self.first)]

    def check(self) -> None:
        log = self.process.log()
        assert self.process.alive, log
        assert "Traceback" not in log, log
        file = self.process.data / "sutradhar.log"
        logged = log + (file.read_text(encoding="utf-8") if file.exists() else "")
        secrets = [self.discord.token, *(asked.token for asked in self.discord.asked.values())]
        secrets += [hook.token for hook in self.discord.hooks.values()]
        assert not [secret for secret in secrets if secret in logged], "tokens are never logged"
        # A process killed before it acknowledged a command cannot answer it there: 10015.
        unheard = [asked.token for asked in self.discord.asked.values() if asked.acked is None]
        refused = [
            refusal
            for refusal in self.discord.refused
            if not (refusal.code == 10015 and any(token in refusal.path for token in unheard))
        ]
        assert not refused, refused
        # A process that starts within a second of a kill cannot know the earlier calls of the gateway's route.
        limited = [call for call in self.discord.calls if call.status == 429 and call.route != "/gateway/bot"]
        assert not limited, limited
        assert not self.discord.voice.violations, self.discord.voice.violations
        pinged = [message.text for message in self.everything() if message.author.bot and message.mentions]
        assert not pinged, pinged

    def story(self) -> str:
        """A description of everything, for the report of a failure."""
        return f"{story(self.discord)}\n{self.process.log()[-LOG_CHARS:]}"

    def everything(self) -> list[Any]:
        """Every message that anybody can see."""
        places = [*self.channels, *(thread for channel in self.channels for thread in channel.threads)]
        return [message for place in places for message in place.messages]
