"""A workspace of the loopback Slack with the bot as a process, and a crowd that asks and chats there.

Of ten people who ask at the same moment, three write a direct message; the others use the command, two in each channel.
MIX says what a hundred people do: a quick command that only they see, a mention that asks for dice (which Slack reports
twice), or a message to each other. They are in fifty channels, two in each.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import itertools
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from benchmarks.loopback import Answered, Owed, Stage, staged
from benchmarks.paced_model import FIRST_WORD, LAST_WORD
from tests.fakes.slack import Channel, FakeSlack, Message, User
from tests.fakes.slack.delivery import Sent
from tests.wire.busy import busy_core
from tests.wire.stock import LANTERNS

ALONE, IN_CHANNEL = (2, 5, 8), 2
"""Which of ten write to the bot alone; how many of the others share a channel."""
AT_ONCE, CHANNELS = 100, 50
MIX = {"command": 50, "mention": 20, "chatter": 30}
NAMES_S = 35.0
"""In which the bot may ask Slack who fifty people are."""
PATIENCE_S = 400.0
LATE_S = 3.0
"""Slack waits no longer for an acknowledgement."""
STOPPED = "What was shown so far is kept"
CONNECTIONS = 2
"""The sockets that the bot holds open, as [slack] connections has it."""
TOKENS_ENV = {"SLACK_BOT_TOKEN": "bot_token", "SLACK_APP_TOKEN": "app_token"}


@dataclass
class Answer:
    """One question and its answer. Times are of the monotonic clock, 0 until they are known."""

    number: int
    channel: Channel
    sent: Sent
    root: Message | None = None
    first: float = 0.0
    last: float = 0.0

    def look(self, now: float) -> bool:
        """Record what is there by now; returns whether everything is."""
        if not self.last:
            self.root = self.root or next(
                (message for message in self.channel.messages if self._is_root(message)), None
            )
            replies = [message for message in self.root.thread if message.user.bot] if self.root else []
            words = "".join(message.shown for message in replies)
            if not self.first and FIRST_WORD in words:
                self.first = now
            if (
                self.first
                and LAST_WORD in words
                and not any(message.streaming or stoppable(message) for message in replies)
            ):
                self.last = now
        return bool(self.last)

    def _is_root(self, message: Message) -> bool:
        return f"question {self.number}?" in message.shown


@dataclass
class Crowd:
    """A hundred people who do something at once: the events that the bot gets, and the awaited answers."""

    sent: list[Sent] = field(default_factory=list)
    commands: list[Sent] = field(default_factory=list)
    mentions: list[Message] = field(default_factory=list)

    @property
    def answered(self) -> bool:
        heard = (any(reply.user.bot for reply in mention.thread) for mention in self.mentions)
        return answered(self.commands) and all(heard)


class Bench:
    """A bot in a workspace, and the times that the model recorded."""

    def __init__(self, slack: FakeSlack, stage: Stage) -> None:
        self.slack = slack
        self.team = slack.workspace("Table")
        self.people = [self.team.user(f"Guest {n}") for n in range(AT_ONCE)]
        self.channels = [self.team.channel(f"table-{n}") for n in range(CHANNELS)]
        self._stage = stage
        self._asked = 0
        self._first = itertools.count(step=37)

    async def answers(self, at_once: int) -> list[Answered]:
        """This many people ask at the same moment; wait until all is said."""
        pending = list(await asyncio.gather(*(self._ask(n) for n in range(at_once))))
        await self._until(
            lambda: all(look(pending)), lambda: f"{look(pending).count(False)} answers are not whole"
        )
        noted = self._stage.noted()
        return [
            Answered(
                acked(answer.sent),
                answer.first - noted[answer.number]["first"],
                answer.last - noted[answer.number]["last"],
            )
            for answer in pending
        ]

    async def owed(self, number: int, every_s: float) -> list[Owed]:
        """This many people ask, spread over this time or all at once; wait until all is said."""
        pending: list[Answer] = []
        began: list[float] = []
        seen = asyncio.create_task(
            self._until(
                lambda: all(look(pending)) and len(pending) == number,
                lambda: f"{number - look(pending).count(True)} answers are not whole",
            )
        )
        asking = []
        for n in range(number):
            asking.append(asyncio.create_task(self._asked_at(n % AT_ONCE, pending, began)))
            await asyncio.sleep(every_s)
        await asyncio.gather(*asking, seen)
        noted = self._stage.noted()
        return [
            Owed(answer.last - since, answer.last - noted[answer.number]["last"])
            for answer, since in zip(pending, began, strict=True)
        ]

    async def _asked_at(self, n: int, pending: list[Answer], began: list[float]) -> None:
        since = time.monotonic()
        answer = await self._ask(n)
        began.append(since)
        pending.append(answer)

    async def _ask(self, n: int) -> Answer:
        self._asked += 1
        number, person = self._asked, self.people[n]
        question = f"How many hours of walking does a candle burn, question {number}?"
        if n % 10 in ALONE:
            dm = self.team.dm(person)
            message = await self.slack.say(person, dm, question)
            return Answer(number, dm, message.sent[0], message)
        channel = self.channels[n // IN_CHANNEL]
        return Answer(number, channel, await self.slack.command(person, channel, "/rules", f"ask {question}"))

    async def acks(self, number: int, *, busy: bool, pause_s: float | None) -> list[float]:
        """Seconds until each of `number` events was acknowledged, AT_ONCE people acting at a time.

        The next come when all have been answered and `pause_s` has passed; without a pause, once all are acknowledged.
        """
        took: list[float] = []
        crowds: list[Crowd] = []
        with busy_core() if busy else contextlib.nullcontext():
            while len(took) < number:
                crowds.append(await self._crowd())
                took += [acked(command) for command in crowds[-1].sent]
                if pause_s is not None:
                    await self._answered(crowds[-1:])
                    await asyncio.sleep(pause_s)
        await self._answered(crowds)
        return took

    async def _answered(self, crowds: list[Crowd]) -> None:
        await self._until(
            lambda: all(crowd.answered for crowd in crowds), lambda: "not everybody has an answer"
        )

    async def _until(self, true: Callable[[], bool], lacking: Callable[[], str]) -> None:
        """Wait without a description of everything there is, which the fake would write at this size."""
        try:
            await self.slack.until(true, seconds=PATIENCE_S)
        except AssertionError:
            raise RuntimeError(f"after {PATIENCE_S:.0f} s {lacking()}") from None

    async def _crowd(self) -> Crowd:
        crowd = Crowd()
        doing = [kind for kind, number in MIX.items() for _ in range(number)]
        first = next(self._first)  # so that it is not always the same who use commands
        await asyncio.gather(
            *(self._act(crowd, kind, (first + n) % AT_ONCE, n) for n, kind in enumerate(doing))
        )
        return crowd

    async def _act(self, crowd: Crowd, kind: str, index: int, n: int) -> None:
        person, channel = self.people[index], self.channels[n % CHANNELS]
        if kind == "command":
            sent = await self.slack.command(person, channel, "/rules", "roll 1d1 --private")
            crowd.commands.append(sent)
            crowd.sent.append(sent)
            return
        words = "rules roll 1d1" if kind == "mention" else "That was a long night."
        message = await self.slack.say(person, channel, words, mention=kind == "mention")
        crowd.sent += message.sent
        if kind == "mention":
            crowd.mentions.append(message)

    async def introduce(self) -> None:
        """Everybody does something, so that the bot knows them: it may look up fifty people in half a minute."""
        half = AT_ONCE // 2
        for people in (self.people[:half], self.people[half:]):
            commands = await asyncio.gather(*(self._roll(person) for person in people))
            await self._until(functools.partial(answered, commands), lambda: "not everybody has an answer")
            await asyncio.sleep(NAMES_S)

    async def strangers(self) -> list[float]:
        """Seconds until people whom the bot has not met are acknowledged."""
        people = [self.team.user(f"Stranger {n}") for n in range(AT_ONCE)]
        return [
            acked(command) for command in await asyncio.gather(*(self._roll(person) for person in people))
        ]

    async def stop(self) -> float:
        """Seconds from Slack's stop button in the middle of an answer until the bot has said that it stopped."""
        answer = await self._ask(0)
        await self._until(lambda: look([answer])[0] or bool(answer.first), lambda: "no words to stop")
        root = answer.root
        assert root is not None
        sessions, key = self.slack.agents.sessions, (root.channel.id, root.ts)
        # Slack shows its button a moment after the words if the previous crowd has used up its limits.
        await self._until(
            lambda: (session := sessions.get(key)) is not None and session.status == "processing",
            lambda: "Slack shows no stop button",
        )
        began = time.monotonic()
        await self.slack.stop_session(self.people[0], root)
        await self._until(
            lambda: any(STOPPED in message.shown for message in root.thread),
            lambda: "nobody says that it stopped",
        )
        return time.monotonic() - began

    async def _roll(self, person: User) -> Sent:
        return await self.slack.command(person, self.channels[0], "/rules", "roll 1d1 --private")


def look(pending: list[Answer]) -> list[bool]:
    now = time.monotonic()
    return [answer.look(now) for answer in pending]


def answered(commands: list[Sent]) -> bool:
    return all(command.responses for command in commands if command.acked is not None)


def acked(sent: Sent) -> float:
    """Seconds; LATE_S if Slack would have stopped waiting."""
    return LATE_S if sent.acked is None else sent.acked


def stoppable(message: Message) -> bool:
    return any(
        str(element.get("action_id")).startswith("stop:")
        for block in message.blocks
        for element in block.get("elements", [])
    )


@contextlib.asynccontextmanager
async def opened(*, acquainted: bool = True, words: int = 1) -> AsyncIterator[Bench]:
    """Everything runs, the bot is connected and knows everybody, and one unmeasured answer was given.

    Not `acquainted`: it knows only who asked for that answer.
    """
    async with staged(words) as stage, FakeSlack() as slack:
        slack.ack_seconds = slack.triggers.seconds = LATE_S
        bench = Bench(slack, stage)
        tokens = {variable: getattr(slack, which) for variable, which in TOKENS_ENV.items()}
        settings = f'[slack]\napi_base = "{slack.api}"\n'
        process = await stage.bot(settings, {bench.team.id: [LANTERNS]}, tokens)
        try:
            await process.start()
            await slack.connected(CONNECTIONS)
            if acquainted:
                await bench.introduce()
            await bench.answers(1)
            gc.freeze()  # as the bot does: a pause of the fake would count as the bot's
            yield bench
        finally:
            await process.kill()
