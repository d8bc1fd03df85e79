"""kill -9 from the command to the last edit: the run continues in the same messages, and nothing is paid twice.

`make test-slow` runs half of the slow stories here and the other half on Slack; `make test-kill` runs all on both.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from bot.adapters.discord.text.page import CURSOR
from tests.fakes.reply import Reply
from tests.kill.instants import ALL, sequences
from tests.kill.process import PATIENCE_S
from tests.kill.remains import live
from tests.wire.model import ANSWER
from tests.wire.on_discord import DiscordTalk, OnDiscord, actions
from tests.wire.stories import SLOW_STORIES
from tests.wire.story import ANA, BIA, QUESTION, count
from tests.wire.struck import calls_when_kept, received, settled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

UNKEPT = "SELECT count(*) FROM outbox WHERE message_id IS NULL"
UNAVOIDABLE = (160004, 10062, 40060, 10015, 10003)
"""The answers to a call that is made a second time: the thread exists, the interaction has been answered. And the
answers to what was killed too early: an interaction that was never acknowledged (Unknown Webhook), and a thread
that was not opened yet (Unknown Channel).
"""


@pytest.mark.parametrize(("seed", "shares"), sequences("wire", kills=2, some=1, every=18))
async def test_a_killed_answer_is_finished_in_its_messages(
    seed: int, shares: tuple[float, ...], driver: OnDiscord
) -> None:
    d, chance = driver, random.Random(f"wire {seed}")
    d.model.usual = Reply(ANSWER, delay_s=0.06)
    began = time.monotonic()
    reference = await d.ask(ANA, QUESTION)
    await d.rest(1)
    course_s = time.monotonic() - began
    paid = len(d.model.prompts)
    count_before = len(d.channels[0].messages)

    talk, asked = await asked_and_struck(d, shares[0] * course_s)
    stored = len(received(d)) == 2
    kept = calls_when_kept(d, paid)
    for share in shares[1:]:  # anywhere from the start of the process to the end of the answer
        await d.process.start()
        await asyncio.sleep(share * (chance.random() + course_s))
        await d.kill()
        kept = kept or calls_when_kept(d, paid)
    await d.begin(d.process)
    if not stored:  # it was never acknowledged, so Discord showed Ana that it failed
        assert asked.acked is None
        talk = await d.ask(ANA, QUESTION)
    await d.rest(2)

    if asked.acked is not None or not stored:
        assert plain(talk.said()) == plain(reference.said())
        assert len(d.channels[0].messages) == count_before + 1, "the line that names the asker is there once"
    else:
        texts = [
            message.text for message in d.everything()[count_before:] if message not in reference.messages()
        ]
        assert count(texts, "the Night takes the next turn") == 1, texts
    assert not [post for post in talk.posts() if "stop" in post.actions]
    calls = len(d.model.prompts) - paid
    assert 1 <= calls <= (kept or 1 + len(shares)), "a finished call is not paid again"
    settled(d, calls)
    d.discord.refused[:] = [refusal for refusal in d.discord.refused if refusal.code not in UNAVOIDABLE]
    d.check()


PLACES: dict[str, Callable[[OnDiscord, int], bool]] = {
    "kept": lambda d, before: len(d.states()) > before,
    "acknowledged": lambda d, before: (
        sum(interaction.acked is not None for interaction in d.discord.asked.values()) > before
    ),
    "asked": lambda d, before: len(d.channels[0].messages) > before,
    "opened": lambda d, before: len(d.channels[0].threads) > before,
    "posted": lambda d, before: bool(said_in_new(d, before)),
    "answering": lambda d, before: count(said_in_new(d, before), "A candle") > 0,
    "answered": lambda d, before: count(said_in_new(d, before), "the Night takes the next turn") > 0,
}
"""Between two steps of an answer on its way; the fake sees each as soon as it is done."""


def said_in_new(d: OnDiscord, before: int) -> list[str]:
    """The bot's texts in the new threads."""
    threads = d.channels[0].threads[before:]
    return [message.text for thread in threads for message in thread.messages if message.author.bot]


@pytest.mark.parametrize("place", PLACES if ALL else ("answered",))
async def test_an_answer_survives_a_kill_at_any_stage(place: str, driver: OnDiscord) -> None:
    d = driver
    reference = await d.ask(ANA, QUESTION)
    await d.rest(1)
    threads = len(d.channels[0].threads)
    asking = asyncio.create_task(
        d.discord.slash(d.people[ANA], d.channels[0], "rules ask", question=QUESTION)
    )
    async with asyncio.timeout(PATIENCE_S):
        while not PLACES[place](d, threads):  # noqa: ASYNC110 - the file of the bot's database tells nobody
            await asyncio.sleep(0.001)
    await d.kill()
    asked = await asking
    assert len(received(d)) == 2
    await d.begin(d.process)
    await d.rest(2)
    if asked.acked is None:  # Discord showed Ana a failure, but the answer is there
        everything = "\n".join(message.text for message in d.everything())
        assert everything.count("the Night takes the next turn") == 2
    else:
        assert plain(d.talk(asked, d.channels[0]).said()) == plain(reference.said())
    settled(d, 1)
    assert not [message.text for message in d.everything() if "stop" in actions(message)]
    d.discord.refused[:] = [refusal for refusal in d.discord.refused if refusal.code not in UNAVOIDABLE]
    d.check()


async def asked_and_struck(d: OnDiscord, after_s: float) -> tuple[DiscordTalk, Any]:
    """Ask, and kill the bot `after_s` seconds after the question was sent."""
    asking = asyncio.create_task(
        d.discord.slash(d.people[ANA], d.channels[0], "rules ask", question=QUESTION)
    )
    await asyncio.sleep(after_s)
    await d.kill()
    asked = await asking
    return d.talk(asked, d.channels[0]), asked


def plain(texts: list[str]) -> list[str]:
    """Texts without the ids of threads, which differ, and without the note that a message was restarted."""
    return [re.sub(r"\d{15,}", "ID", re.sub(r"\n?-# ↻ .*", "", text)) for text in texts]


@pytest.mark.parametrize("seed", range(3 if ALL else 1))
async def test_a_private_answer_killed_mid_stream_continues_while_its_token_is_valid(
    seed: int, driver: OnDiscord
) -> None:
    d = driver
    d.model.hold(at=4 + 5 * seed)
    talk = await d.ask(ANA, QUESTION, private=True)
    await d.until(lambda: count(talk.said(), "A candle") == 1)
    # An ephemeral message cannot be searched for: one whose id was not stored is posted again.
    await d.until(lambda: live(d.process.data / "sutradhar.db", UNKEPT) == [(0,)])
    await d.restart()
    await d.rest(1)
    texts = talk.said()
    assert count(texts, "A candle burns for") == 1, texts
    assert count(texts, "the Night takes the next turn") == 1, texts
    assert len(d.model.prompts) == 2
    d.check()


async def test_answers_in_several_channels_all_continue(driver: OnDiscord) -> None:
    d = driver
    d.channels += [d.guilds[0].text(f"table-{n}") for n in range(4)]
    for _ in d.channels[2:]:
        d.model.hold()
    talks = [await d.ask(ANA, QUESTION, table=n) for n in range(2, 6)]
    await d.until(lambda: all(count(talk.said(), "A candle burns for") == 1 for talk in talks))
    await d.restart()
    await d.rest(4)
    for talk in talks:
        assert count(talk.said(), "A candle burns for") == 1
        assert count(talk.said(), "the Night takes the next turn") == 1
    d.check()


async def test_a_stopped_answer_stays_stopped(driver: OnDiscord) -> None:
    d = driver
    d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await d.press(ANA, talk, "stop")
    await d.until(lambda: d.states() == ["stopped"])
    await d.restart()
    await d.until(lambda: not [post for post in talk.posts() if "stop" in post.actions])
    assert [line for line in talk.said() if "What was shown so far is kept" in line]
    assert not [line for line in talk.said() if CURSOR in line]
    await d.mention(ANA, talk, "and while running?")
    await d.rest(2)
    assert count(talk.said(), "A candle burns for") == 2
    assert len(d.model.prompts) == 2
    assert not [post for post in talk.posts() if "stop" in post.actions]
    d.check()


async def test_nobody_is_welcomed_twice(driver: OnDiscord) -> None:
    d = driver
    channel, talk = await d.invited()
    await d.until(lambda: bool(talk.said()))
    (welcome,) = talk.said()
    await d.restart()
    asked = await d.discord.slash(d.people[BIA], channel, "rules roll", expression="1d1")
    await d.until(lambda: bool(asked.text))
    assert len([line for line in talk.said() if line == welcome]) == 1
    d.check()


@pytest.mark.parametrize("name", SLOW_STORIES if ALL else [*SLOW_STORIES][::2])
async def test_story(name: str, driver: OnDiscord) -> None:
    await SLOW_STORIES[name](driver)
    driver.check()
