"""The driver of the stories on Slack: its fake, and the bot as a separate process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fakes.slack import Channel, FakeSlack, Message, Team, User
from tests.fakes.slack.elements import held
from tests.fakes.slack.story import story
from tests.kill.process import PATIENCE_S
from tests.wire.driver import as_typed
from tests.wire.inbox import newest, requests
from tests.wire.model import Answerer
from tests.wire.process import BotProcess
from tests.wire.slack_talk import SlackTalk, actions, public
from tests.wire.stock import LANTERNS, install, second

REST_S = 2 * PATIENCE_S
"""How many seconds everything may take to finish: a channel gets one post per second."""
CONNECTIONS = 2
LOG_CHARS = 4_000
BURST_S = 5.0  # until Slack allows a full burst of posts again
ENVIRONMENT = ("bot_token", "app_token", "signing_secret", "client_id", "client_secret")
AFTER_A_RESTART = {
    ("chat.update", "streaming_state_conflict"),
    ("chat.stopStream", "message_not_in_streaming_state"),
}
"""Slack's errors for a message that the bot had begun as a stream, if the new process does not know that."""


class OnSlack:
    """A workspace "Table" with a channel "general", twice, in which Ana and Cai talk and Bia is the admin.

    A fake's first workspace is that of the bot's own token; the app was installed in all others by OAuth.
    """

    process_of = BotProcess

    def __init__(self, slack: FakeSlack, answerer: Answerer) -> None:
        self.slack = slack
        self.model = answerer
        self.teams = [self.workspace(), self.workspace()]
        self.tables = [
            {"Ana": team.user("Ana"), "Bia": team.user("Bia", admin=True), "Cai": team.user("Cai")}
            for team in self.teams
        ]
        self.people = self.tables[0]
        self.channels = [team.channel("general") for team in self.teams]
        self.process: BotProcess
        self.begun: list[float] = []
        self.first = 0
        # A clip may have been deleted with its scene before its request is withdrawn.
        self.unavoidable: set[tuple[str, str]] = {("chat.delete", "message_not_found")}

    def workspace(self) -> Team:
        return self.slack.workspace("Table")

    def crowd(self, number: int) -> list[User]:
        """People of the first workspace; a person who asks only once is never rate limited."""
        return [self.teams[0].user(f"Guest {n}") for n in range(number)]

    def settings(self) -> str:
        """The part of config.toml that points the clients to this fake."""
        names = "".join(f'{name}_env = "{variable}"\n' for name, variable in _variables().items())
        return f'[slack]\n{names}api_base = "{self.slack.api.rstrip("/")}"\nconnections = {CONNECTIONS}\n'

    def environ(self) -> dict[str, str]:
        return {variable: getattr(self.slack, name) for name, variable in _variables().items()}

    def books(self, folder: Path) -> dict[str, list[Path]]:
        """The books of each workspace, which direct messages share."""
        first, other = (team.id for team in self.teams)
        return {first: [LANTERNS], other: [second(folder)]}

    async def furnish(self, data: Path) -> None:
        """Store the app's installation in every workspace but the first, whose token is in the environment."""
        teams = list(self.slack.world.teams.values())
        await install(data, self.slack.client_id, teams[1:])

    async def begin(self, process: BotProcess) -> None:
        """Start the process, and wait until it is connected."""
        self.process = process
        await process.start()
        self.begun.append(time.monotonic())
        await self.connected()

    async def sit(self) -> None:
        """Wait until the bot is connected, and ignore what happened at other tables."""
        await self.connected()
        self.process.mark()
        self.first = newest(self.process.data)
        slack = self.slack
        for past in (slack.calls, slack.refused, slack.limited, slack.sent, slack.views_kept.opened):
            past.clear()
        slack.faults.waiting.clear()

    async def connected(self) -> None:
        """Wait for all its sockets; if the process ends instead, report its log."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.slack.sockets.live) < CONNECTIONS:
                assert self.process.alive, self.process.log()
                await asyncio.sleep(0.02)

    # Actions of a story

    async def ask(
        self, person: str, question: str, *, table: int = 0, verb: str = "rules ask", **options: Any
    ) -> SlackTalk:
        user, channel = self.tables[table][person], self.channels[table]
        place = self.teams[table].dm(user) if options.get("private") else channel
        talk = self.next(place, question)
        await self.typed(user, channel, verb, question, **options)
        return talk

    async def command(
        self, person: str, line: str, *, talk: SlackTalk | None = None, **options: Any
    ) -> SlackTalk:
        """Give a command; in a thread, where Slack has no commands, write the line to the bot."""
        user = self.people[person]
        text = as_typed(line, options)
        if talk is not None and talk.root is not None:
            private_talk = self.told(user, talk.channel, talk.root)
            await self.mention(person, talk, text)
            return private_talk
        private_talk = self.told(user, self.channels[0])
        work, _, arguments = text.partition(" ")
        await self.slack.command(user, self.channels[0], f"/{work}", arguments)
        return private_talk

    async def typed(self, user: User, channel: Channel, verb: str, text: str, **options: Any) -> Any:
        """Use a slash command with a text; returns the fake's delivery."""
        work, _, name = verb.partition(" ")
        return await self.slack.command(user, channel, f"/{work}", as_typed(f"{name} {text}", options))

    async def speak(self, person: str, talk: SlackTalk, data: bytes, *, transcript: str = "") -> None:
        user = self.tables[self.teams.index(talk.channel.team)][person]
        self.slack.files.listens = 1 if transcript else 0
        await self.slack.say(
            user,
            talk.channel,
            "",
            thread=talk.root,
            files=[("audio_message.m4a", data)],
            spoken=(2.0, transcript),
        )

    async def mention(self, person: str, talk: SlackTalk, text: str) -> None:
        await self._say(person, talk, text, mention=True)

    async def say(self, person: str, talk: SlackTalk, text: str) -> None:
        await self._say(person, talk, text, mention=False)

    async def _say(self, person: str, talk: SlackTalk, text: str, *, mention: bool) -> Message:
        team = self.teams.index(talk.channel.team)
        user = self.tables[team][person]
        return await self.slack.say(user, talk.channel, text, thread=talk.root, mention=mention)

    async def direct(self, person: str, text: str) -> SlackTalk:
        user = self.people[person]
        dm = self.teams[0].dm(user)
        root = await self.slack.say(user, dm, text)
        return SlackTalk(self.slack, dm, lambda: [root, *public(root.thread)], lambda: root)

    async def press(self, person: str, talk: SlackTalk, action: str) -> SlackTalk:
        user = self.tables[self.teams.index(talk.channel.team)][person]
        await self.until(lambda: any(action in post.actions for post in talk.posts()))
        buttons = [message for message in talk.messages() if action in actions(message)]
        private_talk = self.told(user, talk.channel, talk.root)
        if buttons:
            message = buttons[-1]
            action_id = next(
                element["action_id"]
                for _, element in held(message.blocks)
                if element["action_id"].startswith(action)
            )
            await self.slack.press(user, message, action_id)
        else:
            assert talk.root is not None
            # Held-back words may be sent before the bot learns that Slack has ended its stream.
            self.unavoidable |= {("chat.appendStream", "stopped_by_user")}
            await self.slack.stop_session(user, talk.root)
        return private_talk

    async def choose(self, person: str, talk: SlackTalk, label: str) -> SlackTalk:
        def having() -> list[Message]:
            labels = {
                message.ts: [button.get("text", {}).get("text") for _, button in held(message.blocks)]
                for message in talk.messages()
            }
            return [message for message in talk.messages() if label in labels[message.ts]]

        user = self.tables[self.teams.index(talk.channel.team)][person]
        await self.until(lambda: bool(having()))
        private_talk = self.told(user, talk.channel, talk.root)
        await self.slack.press(user, having()[-1], label)
        return private_talk

    async def fill(
        self, person: str, talk: SlackTalk | None, opened: SlackTalk, text: str, **options: str
    ) -> SlackTalk:
        user = self.tables[self.teams.index(opened.channel.team)][person]
        await self.until(lambda: any(view.user is user and view.open for view in self.slack.views))
        (view,) = [view for view in self.slack.views if view.user is user and view.open]
        begun = talk or self.next(opened.channel, text)
        values = {"text:0": text} | {f"option:{name}": value for name, value in options.items()}
        await self.slack.submit(user, view, {name: {"text": value} for name, value in values.items()})
        return begun

    def open_buttons(self, talk: SlackTalk) -> list[str]:
        elements = [element for message in talk.messages() for _, element in held(message.blocks)]
        return [element["text"]["text"] for element in elements if element["type"] == "button"]

    def thread(self, which: Callable[[SlackTalk], bool]) -> SlackTalk:
        channel = self.channels[0]

        def root() -> Message | None:
            roots = public(channel.messages)
            return next((root for root in roots if which(self.under(lambda: root, channel))), None)  # noqa: B023

        return self.under(root, channel)

    async def menu(self, person: str, talk: SlackTalk, text: str, name: str) -> SlackTalk:
        callback = {"Fork the story here": "story_fork"}[name]
        user = self.tables[self.teams.index(talk.channel.team)][person]
        message = [message for message in talk.messages() if text in message.shown][-1]
        private_talk = self.told(user, talk.channel, talk.root)
        await self.slack.shortcut(user, callback, message)
        return private_talk

    async def edit(self, person: str, talk: SlackTalk, text: str, to: str) -> None:
        (message,) = [
            message for message in talk.messages() if text in message.shown and not message.user.bot
        ]
        await self.slack.edit(message, f"{talk.channel.team.bot.mention} {to}")

    async def delete(self, talk: SlackTalk, text: str) -> None:
        (message,) = [message for message in talk.messages() if message.shown == text]
        await self.slack.delete(message)

    async def attach(self, person: str, name: str, data: bytes, *, shelf: str) -> SlackTalk:
        """Send the file in a message that mentions the bot and names the shelf."""
        user = self.people[person]
        private_talk = self.told(user, self.channels[0])
        text = f"library add --shelf {shelf}"
        await self.slack.say(user, self.channels[0], text, mention=True, files=[(name, data)])
        return private_talk

    async def redeliver(self) -> None:
        """Repeat events as Slack does; what Slack sends only once is sent on another socket, too."""
        # Earlier deliveries may have gone to a process that was killed before it acknowledged them.
        deliveries = [(sent, len(sent.tries)) for sent in self.slack.sent]
        for sent, _ in deliveries:
            if sent.kind == "events_api":
                self.slack.redeliver(sent)
            self.slack.duplicate(sent)
        await self.until(lambda: all(len(sent.tries) > before for sent, before in deliveries))
        await self.until(
            lambda: all(
                attempt.acked is not None for sent, before in deliveries for attempt in sent.tries[before:]
            )
        )

    async def restart(self, *, kill: bool = True) -> None:
        self.unavoidable |= AFTER_A_RESTART
        if kill:
            await self.kill()
        else:
            assert await self.process.leave() == 143, self.process.log()
            await self.gone()
        await self.begin(self.process)

    async def kill(self) -> None:
        """Kill the process with -9; returns once its connections are gone."""
        self.unavoidable |= AFTER_A_RESTART
        await self.process.kill()
        await self.gone()

    async def gone(self) -> None:
        await self.until(lambda: not self.slack.sockets.all)

    async def until(self, true: Callable[[], bool]) -> None:
        await self.slack.until(true, seconds=PATIENCE_S)

    async def rest(self, runs: int) -> None:
        async with asyncio.timeout(REST_S):
            while "" in (states := self.states()) or len(states) < runs:
                assert self.process.alive, self.process.log()
                await asyncio.sleep(0.02)
        await self.until(lambda: not self.processing())

    def processing(self) -> bool:
        """Whether Slack shows a stop button anywhere at this table."""
        mine = {channel.id for team in self.teams for channel in team.channels.values()}
        sessions = self.slack.agents.sessions.items()
        return any(session.status == "processing" for (channel, _), session in sessions if channel in mine)

    def channel(self, table: int = 0) -> SlackTalk:
        channel = self.channels[table]
        return SlackTalk(self.slack, channel, lambda: public(channel.messages))

    # What people see

    def next(self, channel: Channel, question: str) -> SlackTalk:
        """The thread under the bot's next channel message that contains the question."""
        before = set(channel.posts)

        def root() -> Message | None:
            new = (
                message
                for message in public(channel.messages)
                if message.ts not in before and message.user.bot
            )
            return next((message for message in new if question in message.shown), None)

        return self.under(root, channel)

    def under(self, root: Callable[[], Message | None], channel: Channel) -> SlackTalk:
        """The thread under a message that may not be posted yet, without the message itself."""

        def messages() -> list[Message]:
            return public(root_message.thread) if (root_message := root()) is not None else []

        return SlackTalk(self.slack, channel, messages, root)

    def told(self, user: User, channel: Channel, root: Message | None = None) -> SlackTalk:
        """The bot's later messages there and to this person alone, including windows."""
        before, windows = set(channel.posts), len(self.slack.views)

        def messages() -> list[Message]:
            new = [
                post
                for ts, post in channel.posts.items()
                if ts not in before and post.user.bot and post.ephemeral_to in (None, user)
            ]
            if root is not None:
                new = [message for message in new if message.root is root or message.ephemeral_to is user]
            opened = [view for view in self.slack.views[windows:] if view.user is user and view.open]
            return new + [
                Message(channel, view.id, channel.team.bot, blocks=view.blocks, ephemeral_to=user)
                for view in opened
            ]

        return SlackTalk(self.slack, channel, messages, lambda: root)

    def states(self) -> list[str]:
        """How each request of a person's has ended, "" while it has not."""
        return [state for _, state in requests(self.process.data, self.first)]

    def runs(self) -> list[str]:
        return [run for run, _ in requests(self.process.data, self.first)]

    def check(self) -> None:
        log, slack = self.process.log(), self.slack
        assert self.process.alive, log
        assert "Traceback" not in log, log
        kept, file = self.process.log(whole=True), self.process.data / "sutradhar.log"
        kept += file.read_text(encoding="utf-8") if file.exists() else ""
        secrets = [slack.app_token, slack.signing_secret, slack.client_secret]
        secrets += [team.bot_token for team in slack.world.teams.values()]
        secrets += list(slack.hooks.all)  # the path of every response_url
        assert not [secret for secret in secrets if secret in kept], "secrets are never logged"
        refused = [
            refusal for refusal in slack.refused if (refusal.method, refusal.error) not in self.unavoidable
        ]
        assert not refused, refused
        # A new process does not know what the previous one has posted: Slack tells it to wait, and it waits.
        limited = [
            wait for wait in slack.limited if not any(0 <= wait.at - at < BURST_S for at in self.begun)
        ]
        assert not limited, limited
        pinged = [message.shown for message in self.everything() if message.user.bot and message.mentions]
        assert not pinged, pinged

    def story(self) -> str:
        """A description of everything, for the report of a failure."""
        return f"{story(self.slack)}\n{self.process.log()[-LOG_CHARS:]}"

    def everything(self) -> list[Message]:
        """Every message that somebody at this table can see."""
        return [
            message
            for team in self.teams
            for channel in team.channels.values()
            for message in channel.everything
        ]


def _variables() -> dict[str, str]:
    return {name: f"WIRE_SLACK_{name.upper()}" for name in ENVIRONMENT}
