"""Measures Slack over loopback: seconds to the acknowledgement and to the first words, and the number of
calls.

Takes about fourteen minutes, because Slack's limits per minute must refill before each crowd. The fake Slack, which
keeps those limits, runs in this process; the bot, as a user starts it, and the model run in separate ones.
`slack_crowd` says who asks what and where.
`python -m benchmarks.slack words`, in about ninety seconds: first and last words for one person who asks alone.
`python -m benchmarks.slack burst`, in about six minutes: how soon the answers to many questions are there.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
from collections.abc import Iterator

from benchmarks.figures import Figure, table
from benchmarks.loopback import BURST, BURST_WORDS, STEADY_S, Answered, of_a_burst, of_steady_questions
from benchmarks.paced_model import TOKENS, TOKENS_A_SECOND
from benchmarks.slack_crowd import AT_ONCE, LATE_S, Bench, opened
from benchmarks.times import ms, p95, p99, spread
from tests.fakes.slack.limits import Limited

SESSIONS = {1: 5, 10: 2, 100: 1}
"""How many people ask at once, and how often."""
EVENTS = 2_000
ALONE = 8
"""Answers to one who asks alone, where nothing else is measured: Slack lets as many streams begin meanwhile."""
FIRST_S = 0.15
"""At the 95th percentile, from the model's first token to the first words of one who asks alone."""
PAUSE_S = 1.0
"""Between a hundred and the next hundred: the runs of the first have ended by then."""
REFILL_S = 61.0
"""Until Slack's limits per minute have refilled, so that no call is refused."""


def figures() -> Iterator[Figure]:
    yield from asyncio.run(_measured())


async def _measured() -> list[Figure]:
    async with opened() as bench:
        figures: list[Figure] = []
        for at_once, rounds in SESSIONS.items():
            calls, limited = len(bench.slack.calls), len(bench.slack.limited)
            answers: list[Answered] = []
            for n in range(rounds):
                if at_once > 1 or n == 0:
                    await asyncio.sleep(REFILL_S)
                answers += await bench.answers(at_once)
            call_count = len(bench.slack.calls) - calls
            figures += _of_answers(at_once, answers, call_count, bench.slack.limited[limited:])
        await asyncio.sleep(REFILL_S)
        stopped = await bench.stop()
        figures.append(
            Figure("stopped by Slack's own button, and said so", ms(stopped), "≤ 2000 ms", good=stopped <= 2)
        )
        return figures + await _of_acks(bench)


async def words() -> list[Figure]:
    """The times of one person who asks alone, and whom the bot does not know yet."""
    async with opened(acquainted=False) as bench:
        calls, limited = len(bench.slack.calls), len(bench.slack.limited)
        answers = [answer for _ in range(ALONE) for answer in await bench.answers(1)]
        return _of_answers(1, answers, len(bench.slack.calls) - calls, bench.slack.limited[limited:])


async def burst() -> list[Figure]:
    """The times of many people who ask at once, and of one who asks each second."""
    async with opened(words=BURST_WORDS) as bench:
        await asyncio.sleep(REFILL_S)
        limited = len(bench.slack.limited)
        figures = of_a_burst(await bench.owed(BURST, 0.0))
        await asyncio.sleep(REFILL_S)
        figures += of_steady_questions(await bench.owed(STEADY_S, 1.0))
        refused = bench.slack.limited[limited:]
        return [*figures, Figure("429s", f"{len(refused)}", "0", good=not refused)]


def _of_answers(at_once: int, answers: list[Answered], calls: int, limited: list[Limited]) -> list[Figure]:
    label = f"{at_once} at once" if at_once > 1 else "one alone"
    acks, firsts, lasts = ([getattr(answer, name) for answer in answers] for name in ("ack", "first", "last"))
    pace = f"calls for {TOKENS} tokens at {TOKENS_A_SECOND} a second, {label}"
    alone = at_once == 1
    refused = " ".join([str(len(limited)), *sorted({call.method for call in limited})])
    return [
        Figure(f"acknowledged, {label}", spread(acks)),
        Figure(
            f"first words after the model's first token, {label}",
            spread(firsts),
            f"p95 < {ms(FIRST_S)}" if alone else "",
            good=p95(firsts) < FIRST_S if alone else None,
        ),
        Figure(f"last words after the model's last token, {label}", spread(lasts)),
        Figure(pace, f"{calls / len(answers):.1f}"),
        Figure(f"429s, {label}", refused, "0", good=not limited),
    ]


async def _of_acks(bench: Bench) -> list[Figure]:
    await bench.acks(2 * AT_ONCE, busy=False, pause_s=PAUSE_S)
    idle = await bench.acks(EVENTS, busy=False, pause_s=PAUSE_S)
    busy = await bench.acks(EVENTS, busy=True, pause_s=PAUSE_S)
    await asyncio.sleep(REFILL_S)
    unending = await bench.acks(EVENTS, busy=True, pause_s=None)
    strangers = await bench.strangers()
    reached, ratio = p99(busy), p99(busy) / p99(idle)
    label = f"acknowledged, {AT_ONCE} people at once"
    return [
        Figure(f"{label}, idle", percentiles(idle)),
        Figure(
            f"{label}, beside a busy core",
            f"{percentiles(busy)}; p99 {ratio:.1f} × idle",
            "p99 < 300 ms",
            good=reached < 0.3,
        ),
        Figure(
            f"{label}, beside a busy core, the next {AT_ONCE} before these have their answers",
            percentiles(unending),
        ),
        Figure(f"{label}, idle, none of whom it knows", percentiles(strangers)),
    ]


def percentiles(values: list[float]) -> str:
    text = (
        f"p50 {ms(statistics.median(values))}, p95 {ms(p95(values))}, p99 {ms(p99(values))}, n {len(values)}"
    )
    late = sum(value >= LATE_S for value in values)
    return f"{text}, of which {late} not within {LATE_S:.0f} s" if late else text


if __name__ == "__main__":
    parts = {"words": words, "burst": burst}
    if len(sys.argv) != 2 or sys.argv[1] not in parts:
        sys.exit("usage: python -m benchmarks.slack words|burst; make bench ARGS=slack for the other figures")
    print(table(asyncio.run(parts[sys.argv[1]]())))
