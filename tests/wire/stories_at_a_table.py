"""An evening at a table: two characters a player, sheets that change, and plans that only the game master reads."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable
from typing import Any, TypeVar

from tests.wire.driver import Driver, Talk
from tests.wire.stories import ANA, BIA, PREMISE, count
from tests.wire.stories_played import CAI, PLAYERS, WAITING, Writer, in_order, kept, over, seen

T = TypeVar("T")
SELVES = {ANA: ("Mira", "Bo"), BIA: ("Ada", "Gil"), CAI: ("Tess", "Ulf")}
HIT_POINTS = 500
PLAN = "the drowned captain waits at stair"
"""In every plan, with a number; nobody but the game master may ever read it."""


async def an_evening(d: Driver, turns: int, kills: int, seed: str) -> None:
    """So many turns by three players as two characters each, with so many kills -9 anywhere in them."""
    chance, writer = random.Random(seed), Writer()
    d.model.script = writer
    before = len(kept(d, "act"))
    try:
        talk = await d.ask(ANA, PREMISE, verb="story start", cast="; ".join(sum(SELVES.values(), ())))
        await d.rest(1)
        for person, names in SELVES.items():
            for name in names:
                await _command(d, person, talk, "story play", character=name)
        await _command(d, ANA, talk, "story sheet", template="5e")
        for name in sum(SELVES.values(), ()):
            change = f"hp {HIT_POINTS}/{HIT_POINTS}"
            await _command(d, ANA, talk, "story sheet", character=name, change=change)
        await _bind(d)
        strikes = sorted(chance.sample(range(1, turns + 1), kills))
        hit, plans = dict.fromkeys(sum(SELVES.values(), ()), 0), 0
        for n in range(1, turns + 1):
            person = PLAYERS[n % 3]
            name = SELVES[person][n // 3 % 2]
            await _asked(d, d.mention(person, talk, f"{name}: turn number {n}"))
            if n % 4 == 0:
                hit[name] += n % 7
                await _command(d, person, talk, "story sheet", character=name, change=f"hp -{n % 7}")
            if n % 5 == 0:
                plans += 1
                await _plan(d, talk, f"{PLAN} {plans}.")
            if n in strikes:
                await d.redeliver()
                await asyncio.sleep(chance.random())
                await d.restart()
                await seen(lambda: d.states().count("") <= WAITING)
        await over(d)
    finally:
        d.model.script = None
    in_order(d, talk, writer, turns, before)
    acts = kept(d, "act")[before + 1 :]
    assert [act["character"] for act in acts] == [
        SELVES[PLAYERS[n % 3]][n // 3 % 2] for n in range(1, turns + 1)
    ]
    for name, points in hit.items():
        shown = await d.command(ANA, "story sheet", talk=talk, character=name)
        left = f"{HIT_POINTS - points}/{HIT_POINTS}"
        await d.until(lambda: count([*shown.said(), *talk.said()], left) >= 1)  # noqa: B023
    await over(d)
    assert not [prompt for prompt in d.model.prompts if PLAN in prompt]
    for place in (talk, d.channel()):
        assert not [post.text for post in place.posts() if PLAN in post.text]
    exported = await d.command(BIA, "story export", talk=talk)
    await over(d)
    assert PLAN not in str(exported.said())
    listed = await _plan(d, talk)
    await d.until(lambda: all(count(listed.said(), f"{PLAN} {n}.") == 1 for n in range(1, plans + 1)))


async def _asked(d: Driver, asking: Awaitable[T]) -> T:
    """Ask, once few others wait, and wait until the request is kept: what comes next is asked behind it."""
    await seen(lambda: d.states().count("") <= WAITING)
    before = len(d.runs())
    result = await asking
    await seen(lambda: len(d.runs()) > before)
    return result


async def _command(d: Driver, person: str, talk: Talk, line: str, **options: str) -> Talk:
    return await _asked(d, d.command(person, line, talk=talk, **options))


async def _bind(d: Any) -> None:
    """On Slack a command in a thread is read by all: there the game master's screen is a direct message."""
    if hasattr(d, "slack"):
        await _asked(d, d.direct(ANA, "story screen"))


async def _plan(d: Any, talk: Talk, text: str = "") -> Talk:
    """Keep a plan; without a text, read them all."""
    if hasattr(d, "slack"):
        direct: Talk = await _asked(d, d.direct(ANA, f"story plan {text}".strip()))
        return direct
    return await _command(d, ANA, talk, "story plan", **({"text": text} if text else {}))
