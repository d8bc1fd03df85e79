"""Faults on the way to Discord: at the end the same messages are shown, each once.

A sample by default, all with SUTRADHAR_KILLS=all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from tests.kill.instants import ALL
from tests.wire.on_discord import DiscordTalk, OnDiscord
from tests.wire.story import ANA, QUESTION, count

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


async def reconnect(d: OnDiscord) -> None:
    """Op 7: Discord asks the client to reconnect."""
    await d.discord.reconnect()


async def invalidate(d: OnDiscord) -> None:
    """Op 9: the session becomes invalid, and Discord sends every event again."""
    await d.discord.invalidate(False)


async def invalidate_resumably(d: OnDiscord) -> None:
    await d.discord.invalidate(True)


async def drop(d: OnDiscord) -> None:
    """The socket breaks; the RESUME repeats earlier events."""
    await d.discord.replay(20)


async def limit_edits(d: OnDiscord) -> None:
    d.discord.fail("PATCH", "*/messages/*", status=429, times=2, retry_after=0.7)


async def limit_posts(d: OnDiscord) -> None:
    d.discord.fail("POST", "*/messages", status=429, times=2, retry_after=0.7)


async def break_edits(d: OnDiscord) -> None:
    d.discord.fail("PATCH", "*/messages/*", status=502, times=2)


async def break_posts(d: OnDiscord) -> None:
    d.discord.fail("POST", "*/messages", status=500, times=2)


async def lose_answers_to_posts(d: OnDiscord) -> None:
    """Discord posts the messages, but the bot gets no response."""
    d.discord.fail("POST", "*/messages", times=1, lost=True)


async def lose_answers_to_edits(d: OnDiscord) -> None:
    d.discord.fail("PATCH", "*/messages/*", times=2, lost=True)


async def cut_posts(d: OnDiscord) -> None:
    """The connection breaks before Discord has done anything."""
    d.discord.fail("POST", "*/messages", status=0, times=2)


async def slow(d: OnDiscord) -> None:
    """Calls take longer than the pause between two edits."""
    for method in ("PATCH", "POST"):
        d.discord.fail(method, "*/messages*", status=200, times=4, delay=1.6)


async def slow_thread(d: OnDiscord) -> None:
    d.discord.fail("POST", "*/threads", status=200, delay=2.5)


async def break_thread(d: OnDiscord) -> None:
    d.discord.fail("POST", "*/threads", status=500, times=2)


FAULTS: tuple[Callable[[OnDiscord], Awaitable[None]], ...] = (
    *(reconnect, invalidate, invalidate_resumably, drop),
    *(limit_edits, limit_posts, break_edits, break_posts, lose_answers_to_posts, lose_answers_to_edits),
    *(cut_posts, slow, slow_thread, break_thread),
)


SOME = FAULTS if ALL else (drop, limit_edits)
OTHERS = FAULTS if ALL else (invalidate, lose_answers_to_posts)


@pytest.mark.parametrize("fault", SOME, ids=lambda fault: fault.__name__)
async def test_an_answer_is_complete_after_a_fault_in_the_middle_of_it(
    fault: Callable[[OnDiscord], Awaitable[None]], driver: OnDiscord
) -> None:
    d = driver
    gate = d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await fault(d)
    gate.set()
    await d.rest(1)
    await whole(d, talk)


@pytest.mark.parametrize("fault", OTHERS, ids=lambda fault: fault.__name__)
async def test_an_answer_is_complete_after_a_fault_before_it(
    fault: Callable[[OnDiscord], Awaitable[None]], driver: OnDiscord
) -> None:
    d = driver
    gate = d.model.hold(at=0)
    talk = await d.ask(ANA, QUESTION)
    await fault(d)
    gate.set()
    await d.rest(1)
    await whole(d, talk)


async def whole(d: OnDiscord, talk: DiscordTalk) -> None:
    """Check that there is one complete answer, and that the bot receives what is said afterwards."""
    texts = talk.said()
    assert count(texts, "four hours of walking") == 1, texts
    assert count(texts, "the Night takes the next turn") == 1, texts
    assert not [post for post in talk.posts() if "stop" in post.actions]
    await d.connected()
    await d.mention(ANA, talk, "and while running?")
    await d.rest(2)
    assert count(talk.said(), "four hours of walking") == 2
    assert len(d.model.prompts) == 2
    assert not d.discord.limited, "a known rate limit is not hit again"
    assert "Traceback" not in d.process.log(), d.process.log()
