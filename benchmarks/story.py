"""Measures stories: how much of each prompt a service has cached, how prompts grow, and the cost of a turn
and a fork.

All stories here are alike: a scene of SCENE_WORDS words, three choices, a player's sentence. A long story is put into
the storage as its log and continued from there.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from itertools import count, takewhile
from operator import eq
from pathlib import Path

from benchmarks.discord import PATIENCE_S, opened, whole
from benchmarks.figures import Figure
from benchmarks.paced_model import CHOICES, CHOICES_ASKED
from benchmarks.times import ms, p95, spread
from bot.budget import text_tokens
from bot.config import Config
from bot.events import Place
from bot.works.story.log.logs import node, spot
from storage.db import Database
from storage.stories import Stories
from tests.fakes.chat_completions import ChatService
from tests.fakes.model_service import Body, ModelService, Reply
from tests.fakes.run import MemoryRun
from tests.fakes.wires import WIRES
from tests.promises.talk import KEY, Talk, settings, talking
from tests.works.story.tale import prose

SCENE_WORDS = 250
TURNS = 100
EARLY, LATE = 50, 300
"""Scenes between which prompts are not to grow. Each is the first of TURNS measured ones: once a window is full
the oldest scenes go, many at once, so that prompts grow and shrink again every 35 scenes."""
LONG = 1_000
TIMED_TURNS = 50
FORKS, FORKED_AT = 30, 900
TABLES, ROUNDS = 10, 4
WIRE_NAMES = {"messages": "Anthropic", "responses": "OpenAI Responses", "chat": "chat completions"}
THREAD = "bench"
PLACE = Place("terminal", "local", "terminal", THREAD)
START = "/story start A lighthouse keeper finds a door in the sea --title The door"
NAMES = ("Mira", "Bo", "Ada", "Gil", "Tess", "Ulf")
A_TABLE = (
    *(f"/story cast {name}: a diver who fears the dark" for name in NAMES),
    "/story sheet --template 5e",
    *(
        f"/story sheet {name} hp 20/20; str 16; dex 14; con 12; wis 13; cha 8; athletics 5; +tired 900; torches 3"
        for name in NAMES
    ),
    f"/story initiative begin {', '.join(f'{name} {20 - n}' for n, name in enumerate(NAMES))}, Rat 2",
    *(f"/story plan The keeper of stair {n} is the drowned captain's child." for n in range(1, 6)),
    *(f"/story plan --tell {n}" for n in range(1, 6)),
)
"""The lines that set up six sheets, a fight, and plans for the writer to follow."""
HURT = 4
"""Turns from one change of a sheet to the next."""
REST_S = 0.25
"""After a turn, for what a run does behind its end."""


class Writer:
    """Writes the scenes, and offers the choices at once; `asked` has the prompts for each, and for both."""

    def __init__(self, wire: str, scenes: int = 0) -> None:
        self.service: ModelService = WIRES[wire].service(self._reply)
        self.asked: list[list[str]] = []
        self.scenes: list[list[str]] = []
        self._numbers = count(scenes + 1)

    def _reply(self, body: Body) -> Reply:
        texts = list(self.service.texts(body))
        self.asked.append(texts)
        if CHOICES_ASKED in texts[-1]:
            return Reply(pieces=[CHOICES])
        self.scenes.append(texts)
        return Reply(pieces=[prose(next(self._numbers), SCENE_WORDS)])


def line(number: int) -> str:
    """A player's typed line."""
    return f"/story act I go down to step number {number}, and hold the lamp over the water."


async def play(talk: Talk, first: int, turns: int) -> None:
    for number in range(first, first + turns):
        events = await talk.say(line(number))
        assert sum(event["event"] == "choices" for event in events) == 2, events


def figures() -> Iterator[Figure]:
    yield from asyncio.run(_prompts())
    yield asyncio.run(_at_a_table())
    yield from asyncio.run(_own_time())
    yield from asyncio.run(_own_time(("/story gm Ana", *A_TABLE), ", with six sheets, a fight and plans"))
    yield asyncio.run(_first_words())
    yield from asyncio.run(_forks())


async def _prompts() -> list[Figure]:
    figures, early = [], list[list[str]]()
    for wire, name in WIRE_NAMES.items():
        writer = Writer(wire)
        with tempfile.TemporaryDirectory() as folder:
            async with writer.service as service, talking(settings(Path(folder) / "data", service)) as talk:
                await talk.say(START)
                await play(talk, 2, TURNS - 1)
                share = read_share(service) if wire != "chat" else repeated_share(writer.asked)
                if wire == "chat":
                    await play(talk, TURNS + 1, EARLY - 1)
                    early = writer.scenes[EARLY - 1 :]
        label = f"share of input tokens read before, {TURNS} turns, {name}"
        figures.append(Figure(label, f"{share:.1%}", "≥ 85 %", "92 %", share >= 0.85))
    return [*figures, _growth(early, await _late())]


async def _at_a_table() -> Figure:
    """The repeated share of prompts with sheets, a fight and plans, while the sheets change."""
    writer = Writer("chat")
    with tempfile.TemporaryDirectory() as folder:
        async with writer.service as service, talking(settings(Path(folder) / "data", service)) as talk:
            await talk.say(START)
            for typed in A_TABLE:
                await talk.say(typed)
            for number in range(2, TURNS + 1):
                await play(talk, number, 1)
                if number % HURT == 0:
                    await talk.say(f"/story sheet {NAMES[number % len(NAMES)]} hp -1")
    told = "\n".join(writer.scenes[-1])
    assert all(part in told for part in ("<sheets>", "<initiative>", "<secrets>")), told
    share = repeated_share(writer.asked)
    label = f"share of words repeated, {TURNS} turns with six sheets, a fight and plans"
    return Figure(label, f"{share:.1%}", "≥ 85 %", "92 %", share >= 0.85)


def read_share(service: ModelService) -> float:
    """The share of all sent tokens that the service's cache provided, by its own rules."""
    read = service.cache_read_tokens
    return read / (service.input_tokens + read + service.cache_write_tokens)


def repeated_share(prompts: list[list[str]]) -> float:
    """The share for a service that caches its last request: the common beginning of a prompt and the one
    before.

    `prompts` are the texts of each prompt, in order.
    """
    repeated = total = 0
    before: list[str] = []
    for texts in prompts:
        # Where a message ends is part of what the model reads.
        words = [word for text in texts for word in (*text.split(), "\n")]
        repeated += sum(takewhile(bool, map(eq, before, words)))
        total += len(words)
        before = words
    return repeated / total


async def _late() -> list[list[str]]:
    """The prompts of the TURNS scenes from LATE on."""
    writer = Writer("chat", LATE - 1)
    with tempfile.TemporaryDirectory() as folder:
        async with writer.service as service:
            config = settings(Path(folder) / "data", service)
            await kept(config, LATE - 1)
            async with talking(config, thread=THREAD) as talk:
                await play(talk, LATE, TURNS)
    return writer.scenes


def _growth(early: list[list[str]], late: list[list[str]]) -> Figure:
    first, last = (
        [sum(map(text_tokens, texts)) for texts in texts_of_scenes] for texts_of_scenes in (early, late)
    )
    assert len(first) == len(last) == TURNS
    before, after = statistics.mean(first), statistics.mean(last)
    shown = (
        f"{after / before - 1:+.1%} ({before:,.0f} → {after:,.0f}; these two scenes {first[0]:,} and {last[0]:,}; "
        f"at most {max(first):,} and {max(last):,})"
    )
    label = f"tokens of a scene's prompt, scene {EARLY} → {LATE}, mean of {TURNS} turns from there"
    return Figure(label, shown, "+ ≤ 5 %", "0", after <= 1.05 * before)


async def kept(config: Config, scenes: int) -> None:
    """Store a story with this many scenes that no process has open, played at PLACE."""
    database = await Database.open(f"sqlite+aiosqlite:///{config.data_dir / 'sutradhar.db'}")
    try:
        stories, at = Stories(database), 0
        await stories.create(spot(PLACE), "story", "The door", "ana")
        premise = {"title": "The door", "premise": "A lighthouse keeper finds a door in the sea"}
        await stories.append(
            PLACE.space, "story", "story", [node("start", "set", "set", premise, author="ana")]
        )
        for first in range(1, scenes + 1, 100):
            nodes = []
            for number in range(first, min(first + 100, scenes + 1)):
                run, turn = f"run-{number}", f"run-{number}/act"
                words = line(number).removeprefix("/story act ")
                act = {"mode": "act" if number > 1 else "open", "text": words, "name": "Ana"}
                scene = {"text": prose(number, SCENE_WORDS), "at": at + 1}
                choices = {"scene": f"{run}/scene", "choices": CHOICES.replace("- ", "").splitlines()}
                nodes += [
                    node(run, "act", "act", act, author="ana"),
                    node(run, "scene", "scene", scene, turn=turn),
                    node(run, "choices", "choices", choices, turn=turn),
                ]
            at = await stories.append(PLACE.space, "story", "story", nodes)
    finally:
        await database.close()


async def _own_time(first: Sequence[str] = (), more: str = "") -> list[Figure]:
    """The processor time of a separate bot process from a typed line until the model has its request.

    The lines `first` are typed before the turns; `more` says what they do.
    """
    turn_begun: asyncio.Queue[float] = asyncio.Queue()
    numbers = count(LONG + 1)
    pid = 0

    def reply(body: Body) -> Reply:
        if CHOICES_ASKED in service.last(body):
            return Reply(pieces=[CHOICES])
        turn_begun.put_nowait(processor_s(pid))
        assert ("<sheets>" in service.last(body)) is bool(first)
        return Reply(pieces=[prose(next(numbers), SCENE_WORDS)])

    service = ChatService(reply)
    with tempfile.TemporaryDirectory() as folder:
        async with service:
            config = settings(Path(folder) / "data", service)
            await kept(config, LONG)
            chat = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bot", "--config", str(Path(folder) / "data.toml")),
                *("--data", str(config.data_dir), "chat", "--json", "--thread", THREAD),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "FAKE_KEY": KEY, "SUTRADHAR_LOCALE": "en", "LOGNAME": "ana"},
            )
            pid = chat.pid
            assert chat.stdin is not None
            assert chat.stdout is not None
            for typed in first:
                chat.stdin.write(typed.encode() + b"\n")
                await _done(chat.stdout)
            took = []
            for number in range(LONG + 1, LONG + TIMED_TURNS + 2):
                await _rest(pid)
                began = processor_s(pid)
                chat.stdin.write(line(number).encode() + b"\n")
                took.append(await turn_begun.get() - began)
                await _done(chat.stdout)
            chat.stdin.close()
            await chat.wait()
    cold, *warm = took
    label = f"own processor time from a turn to the model call, {LONG:,} scenes{more}"
    return [
        Figure(label, spread(warm), "p95 ≤ 60 ms", "25 ms", p95(warm) <= 0.060),
        Figure(f"{label}, the first one of a process", ms(cold)),
    ]


async def _done(stdout: asyncio.StreamReader) -> None:
    async for line_of_json in stdout:
        event = json.loads(line_of_json)
        assert event["event"] != "failed", event
        if event["event"] == "done":
            return


def processor_s(pid: int) -> float:
    """The process's processor time in seconds, all threads included (Linux: clock_getcpuclockid(3))."""
    return time.clock_gettime((~pid << 3) | 2)


async def _rest(pid: int) -> None:
    """Wait until the process has nothing to do."""
    before = -1.0
    while (now := processor_s(pid)) - before > 0.004:
        before = now
        await asyncio.sleep(REST_S)


async def _first_words() -> Figure:
    async with opened() as bench:
        tables = bench.channels[:TABLES]
        stories_begun = await asyncio.gather(
            *(
                bench.discord.slash(player, table, "story start", premise="A keeper of candles")
                for player, table in zip(next(bench.crowds), tables, strict=False)
            )
        )
        talks = [
            bench.driver.talk(interaction, table)
            for interaction, table in zip(stories_begun, tables, strict=True)
        ]
        await bench.discord.until(lambda: all(map(whole, talks)), seconds=PATIENCE_S)
        threads = [table.threads[-1] for table in tables]
        answers = [
            answer for _ in range(ROUNDS) for answer in await bench.answered("story act", "what", threads)
        ]
        firsts = [answer.first for answer in answers]
    label = f"first words on Discord after the model's first token, {TABLES} tables at once"
    return Figure(label, spread(firsts), "p95 ≤ 150 ms", "60 ms", p95(firsts) <= 0.150)


async def _forks() -> list[Figure]:
    """A fork by itself, and with all that the bot does around a verb.

    Each waits until the process has nothing else to do: after a story is opened the bot prepares its memory in
    threads, and a verb has work to do behind its answer.
    """
    writer, own = Writer("chat", LONG), os.getpid()
    alone, processor, seconds = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        async with writer.service as service:
            config = settings(Path(folder) / "data", service)
            await kept(config, LONG)
            async with talking(config, thread=THREAD) as talk:
                await talk.say("/story show")
                assert talk.app is not None
                for number in range(2 * FORKS):
                    await _rest(own)
                    if number % 2:
                        began = time.perf_counter()
                        await talk.say(f"/story fork take {number} --scene {FORKED_AT}")
                        seconds.append(time.perf_counter() - began)
                    else:
                        run = MemoryRun()
                        forked = replace(
                            run.request,
                            id=f"fork-{number}",
                            place=PLACE,
                            work="story",
                            verb="fork",
                            text=f"take {number}",
                            options={"scene": FORKED_AT},
                        )
                        run.request = forked
                        began, spent = time.perf_counter(), time.process_time()
                        async with aclosing(talk.app.works["story"].run(run)) as events:
                            async for _ in events:
                                pass
                        alone.append(time.perf_counter() - began)
                        processor.append(time.process_time() - spent)
                    await talk.say("/story switch main")
    label = f"fork at scene {FORKED_AT} of {LONG:,}"
    return [
        Figure(f"{label}, processor", spread(processor), "p95 ≤ 20 ms", "", p95(processor) <= 0.020),
        Figure(f"{label}, by the clock", spread(alone)),
        Figure(f"{label}, from the typed line to the end of the answer", spread(seconds)),
    ]
