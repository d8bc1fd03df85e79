"""Measures Discord over loopback: seconds to the acknowledgement and to the first words, and the number of
calls.

`python -m benchmarks.discord soak [MINUTES]` instead keeps ten tables talking for five minutes and prints the memory;
`… burst` prints how soon the answers to many simultaneous questions are there.
The fake Discord runs in this process; the bot, as a user starts it, and the model run in separate ones.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import itertools
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import psutil

from benchmarks.figures import Figure, table
from benchmarks.loopback import (
    BURST,
    BURST_WORDS,
    STEADY_S,
    Answered,
    Owed,
    Stage,
    of_a_burst,
    of_steady_questions,
    staged,
)
from benchmarks.paced_model import FIRST_WORD, LAST_WORD, TOKENS, TOKENS_A_SECOND
from benchmarks.times import ms, p95, p99, spread
from tests.fakes.discord import FakeDiscord
from tests.fakes.discord.asked import SECONDS_TO_ANSWER
from tests.kill import books
from tests.wire.busy import busy_core
from tests.wire.model import Answerer
from tests.wire.on_discord import DiscordTalk, OnDiscord
from tests.wire.stock import LANTERNS

ANA = "Ana"
SESSIONS = {1: 5, 10: 3, 100: 1}
"""How many people ask at once, each in a separate channel, and how often."""
ACKS, AT_ONCE = 2_000, 100
PAUSE_S = 1.0
"""Seconds between a hundred commands and the next: the runs of the first have then ended."""
COMPLETIONS, SECTIONS = 400, 10_000
EDIT_PAUSE_S = 1.2
GLOBAL_LIMIT = 50
"""Calls a second that Discord allows a bot; answers to interactions do not count."""
PATIENCE_S = 120.0
GLOBAL_REFILL_S = 6.0
TABLES = 10
"""So few that they share channels, and so many that none of them has used up its threads."""


class Bench:
    """A bot on a server with a hundred channels, and the times that the model recorded."""

    def __init__(self, driver: OnDiscord, stage: Stage) -> None:
        self.driver = driver
        self.discord = driver.discord
        self.channels = [driver.guilds[0].text(f"table-{n}") for n in range(max(SESSIONS))]
        self.crowds = itertools.cycle(driver.crowd(AT_ONCE) for _ in range(ACKS // AT_ONCE))
        self._stage = stage
        self._asked = 0

    async def answers(self, at_once: int) -> list[Answered]:
        """Ask in `at_once` channels at the same moment; wait for all answers."""
        return await self.answered("rules ask", "question", self.channels[:at_once])

    async def answered(self, verb: str, option: str, places: Sequence[Any]) -> list[Answered]:
        """The same for a verb whose `option` takes a person's words, in channels or threads."""
        tables = zip(next(self.crowds), places, strict=False)
        return list(
            await asyncio.gather(*(self._answer(user, verb, option, where) for user, where in tables))
        )

    async def _answer(self, user: Any, verb: str, option: str, where: Any) -> Answered:
        self._asked += 1
        number, before = self._asked, {message.id for message in where.messages}
        words = f"How many hours of walking does a candle burn, question {number}?"
        options: dict[str, Any] = {option: words}
        interaction = await self.discord.slash(user, where, verb, **options)
        whole_talk = self.driver.talk(interaction, where)
        talk = DiscordTalk(
            lambda: [message for message in whole_talk.messages() if message.id not in before],
            whole_talk.home,
        )
        first = await self._seen(lambda: FIRST_WORD in "".join(talk.said()))
        last = await self._seen(lambda: whole(talk))
        model = self._stage.noted()[number]
        assert interaction.acked is not None
        return Answered(interaction.acked, first - model["first"], last - model["last"])

    async def owed(self, number: int, every_s: float, tables: int) -> list[Owed]:
        """This many ask in this many channels, spread over this time or all at once; wait until all is said."""

        async def ask(user: Any, where: Any) -> Owed:
            began = time.monotonic()
            answer = await self._answer(user, "rules ask", "question", where)
            return Owed(time.monotonic() - began, answer.last)

        asking = []
        for n, user in zip(range(number), itertools.chain.from_iterable(self.crowds), strict=False):
            asking.append(asyncio.create_task(ask(user, self.channels[n % tables])))
            await asyncio.sleep(every_s)
        return list(await asyncio.gather(*asking))

    async def _seen(self, true: Callable[[], bool]) -> float:
        await self.discord.until(true, seconds=PATIENCE_S)
        return time.monotonic()

    async def acks(self, number: int, *, busy: bool, pause_s: float = 0.0) -> list[float]:
        """Seconds until each of `number` commands was acknowledged, AT_ONCE of them at a time.

        The next come when all have been answered and `pause_s` has passed.
        """
        took: list[float] = []
        with busy_core() if busy else nullcontext():
            while len(took) < number:
                interactions = await asyncio.gather(
                    *(
                        self.discord.slash(user, self.channels[0], "rules roll", expression="1d1")
                        for user in next(self.crowds)
                    )
                )
                # One check for all: a hundred tasks that each check every change would distort the measurement.
                await self._seen(functools.partial(all_answered, interactions))
                took += [interaction.acked for interaction in interactions if interaction.acked is not None]
                await asyncio.sleep(pause_s)
        return took

    async def completions(self, number: int) -> list[float]:
        """Seconds until suggestions of names were there, for a book of SECTIONS sections."""
        took = []
        for n in range(number):
            prefix = ("", "l", "lantern 1", "river 99", "no such thing")[n % 5]
            began = time.monotonic()
            await self.discord.autocomplete(
                self.driver.people[ANA], self.driver.channels[1], "rules lookup", focused="name", name=prefix
            )
            took.append(time.monotonic() - began)
        return took

    def memory_mb(self) -> float:
        # Only the bot's own memory: its share of libraries depends on the other processes that use them.
        memory = psutil.Process(self.driver.process.pid).memory_full_info()
        return float(getattr(memory, "uss", memory.rss)) / 1e6


def all_answered(interactions: list[Any]) -> bool:
    return all(interaction.response is not None for interaction in interactions)


def whole(talk: DiscordTalk) -> bool:
    """Whether the answer is complete and has no stop button."""
    return LAST_WORD in "".join(talk.said()) and not any("stop" in post.actions for post in talk.posts())


@asynccontextmanager
async def opened(words: int = 1) -> AsyncIterator[Bench]:
    """A bench with everything running, the bot connected, and one unmeasured answer given."""
    async with staged(words) as stage, FakeDiscord() as discord:
        discord.ack_seconds = SECONDS_TO_ANSWER
        driver = OnDiscord(discord, Answerer())
        guild_id, user = (str(guild.id) for guild in driver.guilds)
        long = books.write(stage.folder / "long.md", SECTIONS)
        process = await stage.bot(driver.settings(), {guild_id: [LANTERNS], user: [long]}, driver.environ())
        try:
            await driver.begin(process)
            bench = Bench(driver, stage)
            await bench.answers(1)
            gc.freeze()  # as the bot does: a pause of the fake would count as the bot's
            yield bench
        finally:
            await process.kill()


def figures() -> Iterator[Figure]:
    yield from asyncio.run(_measured())


async def _measured() -> list[Figure]:
    async with opened() as bench:
        figures: list[Figure] = []
        for at_once, rounds in SESSIONS.items():
            calls = len(bench.discord.calls)
            answers = [answer for _ in range(rounds) for answer in await bench.answers(at_once)]
            figures += _of_answers(at_once, answers, (len(bench.discord.calls) - calls) / len(answers))
        figures += _of_pace(bench)
        figures += await _of_acks(bench)
        return [*figures, await _of_completion(bench)]


def _of_answers(at_once: int, answers: list[Answered], calls: float) -> list[Figure]:
    label = f"{at_once} at once" if at_once > 1 else "one alone"
    acks, firsts, lasts = ([getattr(answer, name) for answer in answers] for name in ("ack", "first", "last"))
    judged = at_once == 10
    return [
        Figure(f"acknowledged, {label}", spread(acks)),
        Figure(
            f"first words after the model's first token, {label}",
            spread(firsts),
            "p95 ≤ 150 ms" if judged else "",
            good=p95(firsts) <= 0.150 if judged else None,
        ),
        Figure(f"last words after the model's last token, {label}", spread(lasts)),
        Figure(f"calls for {TOKENS} tokens at {TOKENS_A_SECOND} a second, {label}", f"{calls:.1f}"),
    ]


def _of_pace(bench: Bench) -> list[Figure]:
    pauses = [
        later - earlier
        for channel in bench.channels
        for thread in channel.threads
        for message in thread.messages
        for (earlier, _), (later, _) in zip(message.edits, message.edits[1:], strict=False)
    ]
    shortest, most, limited = (
        min(pauses, default=EDIT_PAUSE_S),
        busiest_second(bench),
        len(bench.discord.limited),
    )
    keeps_pace = (
        shortest >= EDIT_PAUSE_S - 0.05
    )  # the pause is the bot's, measured on this side of the socket
    reach = f"≥ {EDIT_PAUSE_S} s"
    return [
        Figure("429s", f"{limited}", "0", good=not limited),
        Figure("shortest pause between two edits of a message", f"{shortest:.2f} s", reach, good=keeps_pace),
        Figure(
            "most calls in a second, interactions apart",
            f"{most}",
            f"≤ {GLOBAL_LIMIT}",
            good=most <= GLOBAL_LIMIT,
        ),
    ]


def busiest_second(bench: Bench) -> int:
    """The most calls within any second that count towards Discord's global limit."""
    times = sorted(
        call.at for call in bench.discord.calls if "/interactions/" not in call.path and "/webhooks/" not in call.path
    )  # fmt: skip
    most = first = 0
    for n, at in enumerate(times):
        while times[first] <= at - 1:
            first += 1
        most = max(most, n - first + 1)
    return most


async def _of_acks(bench: Bench) -> list[Figure]:
    await bench.acks(2 * AT_ONCE, busy=False, pause_s=PAUSE_S)
    idle = await bench.acks(ACKS, busy=False, pause_s=PAUSE_S)
    busy = await bench.acks(ACKS, busy=True, pause_s=PAUSE_S)
    unending = await bench.acks(ACKS, busy=True)
    reached, ratio = p99(busy), p99(busy) / p99(idle)
    shown = f"p99 {ms(reached)} ({ratio:.1f} × idle, n {len(busy)})"
    label = f"acknowledged, {AT_ONCE} commands at once"
    return [
        Figure(f"{label}, idle", f"p99 {ms(p99(idle))} (n {len(idle)})"),
        Figure(f"{label}, beside a busy core", shown, "p99 < 300 ms", good=reached < 0.3),
        Figure(
            f"{label}, beside a busy core, the next {AT_ONCE} before these have ended",
            f"p99 {ms(p99(unending))} (n {len(unending)})",
        ),
    ]


async def _of_completion(bench: Bench) -> Figure:
    took = await bench.completions(COMPLETIONS)
    label = f"names completed, {SECTIONS:,} sections"
    return Figure(label, spread(took), "p95 < 100 ms", "", p95(took) < 0.1)


async def burst() -> list[Figure]:
    """The times of many people who ask at once, each in a separate channel or in ten; and of one who asks
    each second.
    """
    async with opened(BURST_WORDS) as bench:
        figures = of_a_burst(await bench.owed(BURST, 0.0, BURST))
        await asyncio.sleep(GLOBAL_REFILL_S)
        figures += of_a_burst(await bench.owed(BURST, 0.0, TABLES))
        await asyncio.sleep(GLOBAL_REFILL_S)
        figures += of_steady_questions(await bench.owed(STEADY_S, 1.0, TABLES))
        limited = len(bench.discord.limited)
        return [*figures, Figure("429s", f"{limited}", "0", good=not limited)]


async def soak(minutes: float) -> list[Figure]:
    """Ten tables that never stop asking."""
    async with opened() as bench:
        began = time.monotonic()
        samples, count = [(0.0, bench.memory_mb())], 0
        while (spent := time.monotonic() - began) < minutes * 60:
            count += len(await bench.answers(10))
            samples.append((spent / 60, bench.memory_mb()))
        # Memory loaded with the first answers is no leak. In less than ten minutes it still grows:
        # discord.py forgets a channel's rate limits only when they have not been asked for in five.
        slope = statistics.linear_regression(*zip(*samples[len(samples) // 2 :], strict=True)).slope
        limited = len(bench.discord.limited)
        return [
            Figure("answers", f"{count} in {minutes:g} min"),
            Figure("429s", f"{limited}", "0", "", not limited),
            Figure("refused calls", f"{len(bench.discord.refused)}", "0", "", not bench.discord.refused),
            Figure(
                "memory (USS) at the start and at the end", f"{samples[0][1]:.0f} and {samples[-1][1]:.0f} MB"
            ),
            Figure("slope of the memory in the second half", f"{slope:+.2f} MB a minute"),
        ]


if __name__ == "__main__":
    if sys.argv[1:] == ["burst"]:
        print(table(asyncio.run(burst())))
    elif sys.argv[1:2] == ["soak"]:
        print(table(asyncio.run(soak(float(sys.argv[2]) if sys.argv[2:] else 5))))
    else:
        sys.exit(
            "usage: python -m benchmarks.discord soak [MINUTES]|burst; make bench ARGS=discord for the figures"
        )
