"""People's actions in a run under faults, on Slack and on Discord, and the model that answers them.

Each action has a key, which the model's answer repeats.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.fakes.reply import Reply
from tests.wire.histories import Call
from tests.wire.on_discord import OnDiscord
from tests.wire.on_slack import OnSlack
from tests.wire.story import ANA, BIA, PREMISE

KEY = re.compile(r"[qp]\d+x")
"""The key of an event; with p, of a choice that the model has offered."""
THREADS = 3
ROOMS = 6
CROWD = 200
"""People who ask in turn, so that a message to one of them belongs to one event."""
PLAYERS = (ANA, BIA, "Cai")
SLOWLY = "slowly"
WORDS_S = 20.0
"""How many seconds somebody waits for the first words of an answer before they give up stopping it."""

Kind = Literal["question", "slow question", "turn", "press", "roll"]


@dataclass
class Did:
    """An action. `what` is the fake's object: a message, a delivery or an interaction; None if the action was
    impossible. `stop` is the press of Stop; `began_at` is when the answer's first words were seen.
    """

    key: str
    platform: str
    kind: Kind
    place: str
    at: float
    person: Any
    what: Any = None
    stop: Any = None
    began_at: float = 0.0


@dataclass
class Model:
    """The script of the model service. `down`: it breaks off before the first word."""

    down: bool = False
    calls: list[Call] = field(default_factory=list)
    offered: int = 0

    def __call__(self, body: dict[str, Any]) -> Reply:
        messages = [str(message["content"]) for message in body["messages"]]
        if self.down:
            return Reply(fault="error", at=0)
        if "offer the players" in messages[-1]:
            self.offered += 2
            paths = (self.offered, self.offered + 1)
            return Reply(pieces=["\n".join(f"- Take path p{path}x." for path in paths)])
        keys = KEY.findall(messages[-1])
        key = keys[-1] if keys else "q0x"
        if keys:
            self.calls.append(Call(key, messages[0][:80], time.monotonic()))
        begins, ends = (
            f"Answer {key} begins: a candle burns for four hours of walking [1]. ",
            f"It ends {key}.",
        )
        if SLOWLY in messages[-1]:
            return Reply(pieces=[begins, *(100 * ["It burns on. "]), ends], delay_s=0.15)
        return Reply(begins + ends, delay_s=0.05)

    def alone(self, body: dict[str, Any]) -> Reply:
        """Rewrite a follow-up as a complete question."""
        keys = KEY.findall(str(body["messages"][-1]["content"]))
        question = f"How long does a candle burn, {keys[-1] if keys else ''}?"
        return Reply(pieces=[f'{{"question": "{question}", "translations": []}}'])


class People:
    def __init__(self, chance: random.Random, slack: OnSlack, discord: OnDiscord) -> None:
        self._chance = chance
        self._slack, self._discord = slack, discord
        self.did: list[Did] = []
        self.errors: list[str] = []
        self._n = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._members = slack.crowd(CROWD)
        self._guests = discord.crowd(CROWD)
        team = slack.teams[0]
        self._general = slack.channels[0]
        self._stories, self._slow = team.channel("stories"), team.channel("slow")
        self._roots: list[Any] = []
        self._pressed: set[str] = set()
        # Discord lets the bot open fifty threads in five minutes in each.
        guild = discord.guilds[0]
        discord.channels += [guild.text(f"room {n}") for n in range(ROOMS)]

    async def begin(self) -> None:
        """Start a story on each platform."""
        talk = self._slack.next(self._stories, PREMISE)
        await self._slack.slack.command(self._slack.people[ANA], self._stories, "/story", f"start {PREMISE}")
        await self._slack.until(lambda: bool(self._offers_on_slack(talk)))
        self._on_slack = talk
        self._on_discord = await self._discord.ask(ANA, PREMISE, verb="story start")
        await self._discord.until(lambda: bool(self._offers_on_discord()))

    async def act(self, pause_s: tuple[float, float]) -> None:
        """Do one action after another until cancelled."""
        ways: dict[Callable[[], Awaitable[None]], float] = {
            self._ask_on_slack: 4,
            self._ask_on_discord: 3,
            self._play_on_slack: 2,
            self._play_on_discord: 2,
            self._press_on_slack: 1.5,
            self._press_on_discord: 1.5,
            self._roll_on_slack: 1,
            self._roll_on_discord: 1,
            self._stop_on_slack: 0.7,
            self._stop_on_discord: 0.7,
        }
        while True:
            (way,) = self._chance.choices(list(ways), list(ways.values()))
            task = asyncio.create_task(self._quietly(way()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            await asyncio.sleep(self._chance.uniform(*pause_s))

    async def rest(self, seconds: float) -> None:
        """Wait for actions in progress."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def _quietly(self, doing: Awaitable[None]) -> None:
        try:
            await doing
        except (LookupError, PermissionError):  # a button that is gone by now
            pass
        except Exception as error:
            self.errors.append(repr(error))

    def _new(self, platform: str, kind: Kind, place: str, person: Any, key: str = "") -> Did:
        self._n += 1
        did = Did(key or f"q{self._n}x", platform, kind, place, time.monotonic(), person)
        self.did.append(did)
        return did

    # On Slack

    async def _ask_on_slack(self) -> None:
        member = self._members[self._n % CROWD]
        root = self._chance.choice(self._roots) if len(self._roots) == THREADS else None
        did = self._new("slack", "question", root.ts if root is not None else "", member)
        text = f"How long does a candle burn, {did.key}?"
        did.what = await self._slack.slack.say(
            member, self._general, text, thread=root, mention=True, wait=False
        )
        if root is None:
            did.place = did.what.ts
            self._roots.append(did.what)

    async def _play_on_slack(self) -> None:
        player = self._slack.people[self._chance.choice(PLAYERS)]
        assert self._on_slack.root is not None
        did = self._new("slack", "turn", self._on_slack.root.ts, player)
        text = f"I go on, {did.key}."
        did.what = await self._slack.slack.say(
            player, self._stories, text, thread=self._on_slack.root, mention=True, wait=False
        )

    def _offers_on_slack(self, talk: Any) -> list[tuple[Any, str]]:
        """Each message with choices, and one of them."""
        offers = [(message, label) for message in talk.messages() for label in message.buttons]
        return [(message, label) for message, label in offers if KEY.search(label)]

    async def _press_on_slack(self) -> None:
        offers = self._offers_on_slack(self._on_slack)
        message, label = offers[-1]
        (key,) = KEY.findall(label)
        if key in self._pressed:
            return
        self._pressed.add(key)
        assert self._on_slack.root is not None
        player = self._slack.people[self._chance.choice(PLAYERS)]
        did = self._new("slack", "press", self._on_slack.root.ts, player, key)
        did.what = await self._slack.slack.press(player, message, label)

    async def _roll_on_slack(self) -> None:
        member = self._members[self._n % CROWD]
        did = self._new("slack", "roll", "", member)
        did.what = await self._slack.slack.command(member, self._general, "/rules", f"roll 1d1 [{did.key}]")

    async def _stop_on_slack(self) -> None:
        member = self._members[self._n % CROWD]
        did = self._new("slack", "slow question", "", member)
        text = f"Tell me {SLOWLY}, how long does a candle burn, {did.key}?"
        did.what = root = await self._slack.slack.say(member, self._slow, text, mention=True, wait=False)
        did.place = root.ts
        await self._words(did, lambda: [message.shown for message in root.thread])
        did.stop = await self._slack.slack.stop_session(member, root)

    # On Discord

    async def _ask_on_discord(self) -> None:
        guest = self._guests[self._n % CROWD]
        did = self._new("discord", "question", "", guest)
        did.place = did.key
        text = f"How long does a candle burn, {did.key}?"
        did.what = await self._discord.discord.slash(guest, self._room(), "rules ask", question=text)

    def _room(self) -> Any:
        return self._chance.choice(self._discord.channels[2:])

    async def _play_on_discord(self) -> None:
        player = self._discord.people[self._chance.choice(PLAYERS)]
        home = self._on_discord.home()
        did = self._new("discord", "turn", str(home.id), player)
        did.what = await self._discord.discord.say(player, home, f"I go on, {did.key}.", mention=True)

    def _offers_on_discord(self) -> list[tuple[Any, str]]:
        offers = [
            (message, str(button.label))
            for message in self._on_discord.messages()
            for button in message.buttons
            if not button.disabled
        ]
        return [(message, label) for message, label in offers if KEY.search(label)]

    async def _press_on_discord(self) -> None:
        message, label = self._offers_on_discord()[-1]
        (key,) = KEY.findall(label)
        if key in self._pressed:
            return
        self._pressed.add(key)
        player = self._discord.people[self._chance.choice(PLAYERS)]
        did = self._new("discord", "press", str(self._on_discord.home().id), player, key)
        did.what = await self._discord.discord.press(player, message, label)

    async def _roll_on_discord(self) -> None:
        guest = self._guests[self._n % CROWD]
        did = self._new("discord", "roll", "", guest)
        did.what = await self._discord.discord.slash(
            guest, self._discord.channels[0], "rules roll", expression=f"1d1 [{did.key}]"
        )

    async def _stop_on_discord(self) -> None:
        guest = self._guests[self._n % CROWD]
        did = self._new("discord", "slow question", "", guest)
        did.place = did.key
        text = f"Tell me {SLOWLY}, how long does a candle burn, {did.key}?"
        did.what = asked = await self._discord.discord.slash(guest, self._room(), "rules ask", question=text)
        talk = self._discord.talk(asked, asked.channel)

        def stoppable() -> list[tuple[Any, str]]:
            return [
                (message, str(button.custom_id))
                for message in talk.messages()
                for button in message.buttons
                if str(button.custom_id).startswith("stop:") and did.key in message.text
            ]

        await self._words(did, lambda: [message.text for message, _ in stoppable()])
        message, stop = stoppable()[-1]
        did.stop = await self._discord.discord.press(guest, message, stop)

    async def _words(self, did: Did, texts: Callable[[], list[str]]) -> None:
        """Wait until the answer has begun, and read a bit of it. Raises LookupError."""
        ends = time.monotonic() + WORDS_S
        while not any(f"Answer {did.key}" in text for text in texts()):
            if time.monotonic() > ends:
                raise LookupError("no answer has begun")
            await asyncio.sleep(0.1)
        did.began_at = time.monotonic()
        await asyncio.sleep(self._chance.uniform(0, 1.5))
