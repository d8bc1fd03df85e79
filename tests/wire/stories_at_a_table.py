"""An evening at a table: two characters for each player, changing sheets, a fight, and the game master's plans.

On Discord a proxy posts what one of the characters does.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable
from typing import Any, TypeVar

from tests.adapters.discord.test_proxied import PLURALKIT
from tests.wire.driver import Driver, Talk
from tests.wire.stories_played import CAI, PLAYERS, WAITING, Writer, in_order, kept, over, seen
from tests.wire.story import ANA, BIA, PREMISE, count

T = TypeVar("T")
SELVES = {ANA: ("Mira", "Bo"), BIA: ("Ada", "Gil"), CAI: ("Tess", "Ulf")}
NAMES = sum(SELVES.values(), ())
ORDER = ("Ada", "Tess", "Bo", "Gil", "Ulf", "Mira", "Rat")
"""As the turns go round. Nobody plays the last one: the game master ends its turn."""
A_ROUND = len(ORDER) - 1
"""Turns of the players in a round."""
PROXIED = "Ada"
HIT_POINTS = 500
PLAN = "the drowned captain waits at stair"
"""In every plan, with a number; nobody but the game master may ever read it."""


async def an_evening(d: Driver, turns: int, kills: int, seed: str) -> None:
    """Play `turns` turns of three players with two characters each, with `kills` kills -9 at random moments."""
    chance, writer = random.Random(seed), Writer()
    d.model.script = writer
    before = len(kept(d, "act"))
    try:
        talk = await d.ask(ANA, PREMISE, verb="story start", cast="; ".join(NAMES))
        await d.rest(1)
        await _set_up(d, talk)
        hook = await _proxy(d, talk) if hasattr(d, "discord") else None
        # One of the kills always comes before a proxy's message.
        strikes = {7, *chance.sample([n for n in range(1, turns + 1) if n != 7], kills - 1)}
        hit, dazed, plans = dict.fromkeys(NAMES, 0), dict[str, int](), 0
        for n in range(1, turns + 1):
            person, name = PLAYERS[n % 3], _acting(n)
            early = n in strikes and hook is not None and n % 12 == 7
            if hook is not None and name == PROXIED:
                await _proxied(d, talk, hook, n, killed=early)
            else:
                await _asked(d, d.mention(person, talk, f"{name}: turn number {n}"))
            if name in dazed and (left := dazed.pop(name) - 1):
                dazed[name] = left
            if n % A_ROUND == 0:
                await _command(d, ANA, talk, "story initiative", step="next")
            if n % 4 == 0:
                hit[name] += n % 7
                await _command(d, person, talk, "story sheet", character=name, change=f"hp -{n % 7}")
            if n % 5 == 0:
                plans += 1
                await _plan(d, talk, f"{PLAN} {plans}.")
            if n % 5 == 1:
                dazed[name] = 1 + n // 5 % 2
                change = f"+dazed {dazed[name]}"
                await _command(d, person, talk, "story sheet", character=name, change=change)
            if n in strikes and not early:
                await d.redeliver()
                await asyncio.sleep(chance.random())
                await d.restart()
                await seen(lambda: d.states().count("") <= WAITING)
        await over(d)
    finally:
        d.model.script = None
    in_order(d, talk, writer, turns, before)
    acts = kept(d, "act")[before + 1 :]
    assert [act["character"] for act in acts] == [_acting(n) for n in range(1, turns + 1)]
    for name, points in hit.items():
        shown = await d.command(ANA, "story sheet", talk=talk, character=name)
        bears = f"{HIT_POINTS - points}/{HIT_POINTS}"
        await d.until(lambda: count(shown.said(), bears) == 1)  # noqa: B023
        if name in dazed:
            is_dazed = f"dazed (rounds left: {dazed[name]})"
            await d.until(lambda: count(shown.said(), is_dazed) == 1)  # noqa: B023
        else:
            await over(d)
            assert not count(shown.said(), "dazed"), shown.said()
    await over(d)
    await _in_a_fight(d, talk, writer, turns)
    assert not [prompt for prompt in d.model.prompts if PLAN in prompt]
    for place in (talk, d.channel()):
        assert not [post.text for post in place.posts() if PLAN in post.text]
    exported = await d.command(BIA, "story export", talk=talk)
    await over(d)
    assert PLAN not in str(exported.said())
    listed = await _plan(d, talk)
    await d.until(lambda: all(count(listed.said(), f"{PLAN} {n}.") == 1 for n in range(1, plans + 1)))


def _acting(n: int) -> str:
    """The character who takes this turn."""
    return SELVES[PLAYERS[n % 3]][n // 3 % 2]


async def _set_up(d: Driver, talk: Talk) -> None:
    """Set up the characters, their hit points and the order of the fight."""
    for person, names in SELVES.items():
        for name in names:
            await _command(d, person, talk, "story play", character=name)
    await _command(d, ANA, talk, "story sheet", template="5e")
    for name in NAMES:
        change = f"hp {HIT_POINTS}/{HIT_POINTS}"
        await _command(d, ANA, talk, "story sheet", character=name, change=change)
    order = ", ".join(f"{name} {30 - n}" for n, name in enumerate(ORDER))
    await _command(d, ANA, talk, "story initiative", step=f"begin {order}")
    await _bind(d)


async def _in_a_fight(d: Driver, talk: Talk, writer: Writer, turns: int) -> None:
    """Check that each scene's prompt had the right turn of the fight: none was skipped or counted twice."""
    for n, told in writer.scenes:
        if n:
            ahead = ORDER[n % A_ROUND or A_ROUND]
            fight = f"round {1 + (n - 1) // A_ROUND}; order: {', '.join(ORDER)}; the turn after this scene: {ahead}"
            assert fight in told, n
    shown = await d.command(ANA, "story initiative", talk=talk)
    await over(d)
    said = "\n".join(shown.said())
    assert f"Initiative, round {1 + turns // A_ROUND}" in said, said
    assert re.findall(r"▶ \**(\w+)", said) == [ORDER[turns % A_ROUND]], said
    assert re.findall(r"^- (?:▶ \W*)?(\w+)", said, re.MULTILINE) == [*ORDER], said


async def _proxy(d: Any, talk: Any) -> Any:
    """The webhook of a proxy that posts as one of Bia's characters."""
    await _command(d, BIA, talk, "story proxy", name=PROXIED)
    await d.choose(BIA, talk, "Yes, they are mine")
    await d.until(lambda: count(talk.said(), "are now turns of Bia") == 1)
    return d.discord.webhook(d.channels[0], "PluralKit Proxy", d.people[BIA], PLURALKIT)


async def _proxied(d: Any, talk: Any, hook: Any, n: int, *, killed: bool) -> None:
    """Take a turn through a proxy, which posts after the player's own message and deletes it."""
    # The player's own words wait two seconds for the proxy's.
    await seen(lambda: d.states().count("") <= WAITING)
    own = await d.discord.say(d.people[BIA], talk.home(), f"A: turn number {n}")
    if killed:
        await asyncio.sleep(0.5)
        await d.restart()
    await _asked(d, d.discord.proxy(hook, talk.home(), PROXIED, f"turn number {n}"))
    await d.discord.delete(own)


async def _asked(d: Driver, asking: Awaitable[T]) -> T:
    """Ask once few others wait, and wait until the request is stored: later requests queue behind it."""
    await seen(lambda: d.states().count("") <= WAITING)
    before = len(d.runs())
    result = await asking
    await seen(lambda: len(d.runs()) > before)
    return result


async def _command(d: Driver, person: str, talk: Talk, line: str, **options: str) -> Talk:
    return await _asked(d, d.command(person, line, talk=talk, **options))


async def _bind(d: Any) -> None:
    """Give the game master's screen direct messages on Slack, where everybody could read a command in a thread."""
    if hasattr(d, "slack"):
        await _asked(d, d.direct(ANA, "story screen"))


async def _plan(d: Any, talk: Talk, text: str = "") -> Talk:
    """Store a plan; without a text, read all plans."""
    if hasattr(d, "slack"):
        direct: Talk = await _asked(d, d.direct(ANA, f"story plan {text}".strip()))
        return direct
    return await _command(d, ANA, talk, "story plan", **({"text": text} if text else {}))
