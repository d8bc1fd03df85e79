"""A table with several people on Discord and Slack, through kill -9: session zero, parts, whispers, deadlines."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest
import pytest_asyncio

from tests.fakes.reply import Reply
from tests.kill.instants import ALL
from tests.kill.remains import live
from tests.wire.conftest import PLATFORMS
from tests.wire.shared_bot import SharedBot
from tests.wire.stories_played import over, seen
from tests.wire.story import ANA, BIA, CHOICES, PREMISE, count
from tests.wire.test_schedules import due_now, left

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.asyncio(loop_scope="module")]
ROUNDS = 6 if ALL else 1
SECRET = "the lamp is a trapdoor in disguise"


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["discord", "slack"])
async def table(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Any]:
    shared: SharedBot[Any] = SharedBot(tmp_path_factory.mktemp("house"), *PLATFORMS[request.param], tables=1)
    yield await shared.table()
    await shared.close()


@pytest_asyncio.fixture(loop_scope="module")
async def driver(table: Any) -> AsyncIterator[Any]:
    yield table
    await over(table)


def struck_on_slack_alone(d: Any) -> None:
    """Skip shared cases on Discord in `make test-slow`; `make test-kill` runs them on both platforms."""
    if not ALL and not hasattr(d, "slack"):
        pytest.skip("make test-kill has it")


async def test_a_session_zero_continues_after_a_kill(driver: Any) -> None:
    d = driver
    talk = await d.ask(ANA, PREMISE, verb="story zero")
    await d.until(lambda: count(talk.said(), "What tone") == 1 and "eerie" in d.open_buttons(talk))
    await d.choose(BIA, talk, "eerie")
    await d.until(lambda: count(talk.said(), "Who is it for?") == 1 and "teen" in d.open_buttons(talk))
    assert "eerie" not in d.open_buttons(talk), "answered questions cannot be pressed again"
    await d.choose(ANA, talk, "Back")
    await d.until(lambda: count(talk.said(), "So far: eerie") == 1 and "tender" in d.open_buttons(talk))
    await d.restart()
    await d.choose(BIA, talk, "tender")
    await d.until(lambda: count(talk.said(), "Who is it for?") == 2 and "teen" in d.open_buttons(talk))
    await d.choose(BIA, talk, "teen")
    await d.until(lambda: count(talk.said(), "never come up") == 1)
    await d.mention(ANA, talk, "spiders")
    await d.until(lambda: count(talk.said(), "off-screen") == 1 and "Skip" in d.open_buttons(talk))
    for asked in ("Who is in it?", "have sheets with numbers?", "How do you take turns?", "Begin now?"):
        await d.choose(BIA, talk, "Skip")
        await d.until(lambda asked=asked: count(talk.said(), asked) == 1)
    d.model.queue += [Reply("The sea is flat."), CHOICES]
    await d.choose(ANA, talk, "Begin the story")
    await d.until(lambda: count(talk.said(), "The sea is flat.") == 1 and not d.model.queue)
    assert "lines: spiders" in d.model.prompts[0]
    d.check()


async def test_only_two_people_can_read_a_whisper(driver: Any) -> None:
    d = driver
    await d.restart()  # the limit on people's turns starts again
    before = len(d.model.prompts)
    d.model.queue += [Reply("The sea is flat again."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.until(lambda: count(talk.said(), "flat again") == 1 and not d.model.queue)
    await d.command(BIA, "story join", talk=talk)
    await d.until(lambda: count(talk.said(), "is at the table") == 1)
    answer = await (await whispering(d, ANA, talk, f"{BIA}: {SECRET}"))
    await d.until(lambda: count(talk.said(), f"A whisper for {BIA}.") == 1)
    if not hasattr(d, "slack"):  # there it is a response to the window, which is gone
        await d.until(lambda: count(answer.said(), "Only") == 1)
    read = await d.choose(ANA, talk, "Read my whispers")
    await d.until(lambda: count(read.said(), SECRET) == 1)
    cai = await d.choose("Cai", talk, "Read my whispers")
    await d.until(lambda: bool(cai.said()))
    assert SECRET not in str(cai.said())
    read = await d.choose(BIA, talk, "Read my whispers")
    await d.until(lambda: count(read.said(), SECRET) == 1)
    d.model.queue += [Reply("The lamp burns on."), CHOICES]
    await d.mention(BIA, talk, "I look at the lamp.")
    await d.until(lambda: count(talk.said(), "The lamp burns on.") == 1 and not d.model.queue)
    assert not [
        post
        for post in (*talk.posts(), *d.channel().posts())
        if SECRET in post.text and not post.by.startswith(ANA)
    ]
    assert SECRET not in str(d.model.prompts[before:])
    assert "Traceback" not in d.process.log(), d.process.log()


async def whispering(d: Any, person: str, talk: Any, text: str) -> Coroutine[Any, Any, Any]:
    """Send a whisper; in a Slack thread, where everybody could read it, through a button and its window."""
    if not hasattr(d, "slack"):
        return d.command(person, "story whisper", talk=talk, text=text)  # type: ignore[no-any-return]
    for view in d.slack.views:
        view.open = view.open and view.user is not d.people[person]
    offered = await d.command(person, "story whisper", talk=talk)
    opened = await d.choose(person, offered, "Write a whisper")
    await d.until(lambda: any(view.open and view.user is d.people[person] for view in d.slack.views))
    return d.fill(person, talk, opened, text)  # type: ignore[no-any-return]


async def struck(d: Any, chance: random.Random, asked: Coroutine[Any, Any, Any]) -> None:
    """Kill the bot at some instant after it has stored the request."""
    before = len(d.states())
    answering = asyncio.create_task(asked)
    await seen(lambda: len(d.states()) > before)
    await asyncio.sleep(chance.random() * 0.3)
    await d.restart()
    await asyncio.gather(answering, return_exceptions=True)
    await over(d)


def kept(d: Any, kind: str) -> int:
    return len(live(d.process.data / "sutradhar.db", f"SELECT id FROM story_nodes WHERE kind = '{kind}'"))


async def test_every_action_of_a_table_happens_once_whenever_the_bot_is_killed(driver: Any) -> None:
    struck_on_slack_alone(driver)
    d, chance = driver, random.Random("party")
    await d.restart()  # the limit on people's turns starts again
    d.model.queue += [Reply("The sea is flat at noon."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start", mode="round-robin", cast="Mira: a diver")
    await d.until(lambda: count(talk.said(), "flat at noon") == 1)
    await over(d)
    await d.command(ANA, "story join", talk=talk)
    await d.until(lambda: count(talk.said(), "is at the table") == 1)
    who = {name: name if hasattr(d, "slack") else d.people[name] for name in (ANA, BIA)}
    masters: tuple[tuple[str, str, dict[str, Any], str], ...] = (
        (ANA, "pass", {}, "turn is skipped; next is"),
        (ANA, "gm", {"who": who[BIA]}, f"{BIA} is now the game master"),
        (BIA, "gm", {"who": who[ANA]}, f"{ANA} is now the game master"),
        (BIA, "missed", {}, "A candle burns"),
    )
    for n in range(ROUNDS):
        party, whispers, settings = kept(d, "party"), kept(d, "whisper"), kept(d, "set")
        for person, verb, options, sentence in (
            (BIA, "join", {}, "is at the table"),
            (BIA, "play", {"character": "Mira"}, "plays Mira"),
            (ANA, "whisper", {"text": f"{BIA}: {SECRET}, {n}"}, "A whisper for"),
            *(masters if ALL else ()),
            (BIA, "leave", {}, "has left the table"),
        ):
            before = count(talk.said(), sentence)
            asked = (
                await whispering(d, person, talk, options["text"])
                if verb == "whisper"
                else d.command(person, f"story {verb}", talk=talk, **options)
            )
            await struck(d, chance, asked)
            await d.until(lambda said=sentence, before=before: count(talk.said(), said) == before + 1)
        assert (kept(d, "party"), kept(d, "whisper")) == (party + 3, whispers + 1)
        assert kept(d, "set") == settings + (3 if ALL else 0)
    assert not [
        post
        for post in (*talk.posts(), *d.channel().posts())
        if SECRET in post.text and not post.by.startswith(ANA)
    ]
    assert "Traceback" not in d.process.log(), d.process.log()


async def test_an_overdue_turn_is_skipped_once_whenever_the_bot_is_killed(driver: Any) -> None:
    struck_on_slack_alone(driver)
    d, chance = driver, random.Random("deadline")
    await d.restart()
    d.model.queue += [Reply("The sea is flat at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start", mode="round-robin")
    await d.until(lambda: count(talk.said(), "flat at dusk") == 1)
    await over(d)
    for person in (ANA, BIA):
        await d.command(person, "story join", talk=talk)
    await d.until(lambda: count(talk.said(), "is at the table") == 2)
    d.model.queue += [Reply("The lamp burns."), CHOICES]
    await d.mention(ANA, talk, "I light the lamp.")
    await d.until(lambda: count(talk.said(), "The lamp burns.") == 1 and not d.model.queue)
    await d.command(ANA, "story deadline", talk=talk, span="2 days")
    await d.until(lambda: count(talk.said(), "a turn may take 2 days") == 1 and d.states().count("") == 0)
    for n, passed in enumerate((BIA, ANA)):  # then all players have been skipped, and the story pauses
        # The next player's row; the previous one stays until its run has certainly begun.
        await d.until(lambda: waiting(d) == 1 and not left(d) and d.states().count("") == 0)
        due_now(d, n + 1)
        await asyncio.sleep(chance.random() * 1.5)
        await d.restart()
        await d.until(lambda n=n: count(talk.said(), "has taken too long") == n + 1)
        assert count(talk.said(), f"{passed} has taken too long") == 1, talk.said()
    await d.until(lambda: not waiting(d) and not left(d) and d.states().count("") == 0)
    assert count(talk.said(), "has taken too long") == 2
    assert "Traceback" not in d.process.log(), d.process.log()


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
async def test_an_overdue_vote_is_played_once_whenever_the_bot_is_killed(driver: Any) -> None:
    d, chance, scenes = driver, random.Random("votes"), 0

    def writer(asked: dict[str, Any]) -> Reply:
        choices = "offer the players" in str(asked["messages"][-1]["content"])
        return CHOICES if choices else Reply(f"The door gives way {scenes} times.")

    await d.restart()
    d.model.script = writer
    talk = await d.ask(ANA, PREMISE, verb="story start", mode="vote")
    await d.until(lambda: count(talk.said(), "way 0 times") == 1 and "Open the door." in d.open_buttons(talk))
    await d.command(ANA, "story deadline", talk=talk, span="2 days")
    await d.until(lambda: waiting(d) == 1 and d.states().count("") == 0)
    for scenes in range(1, ROUNDS + 1):
        acts = kept(d, "act")
        await d.choose(BIA, talk, "Open the door.")
        await seen(lambda votes=scenes: len(live(d.process.data / "sutradhar.db", VOTES)) == votes)  # type: ignore[misc]
        due_now(d, scenes)
        await asyncio.sleep(chance.random() * 1.5)
        await d.restart()
        await d.until(lambda n=scenes: count(talk.said(), f"way {n} times") == 1)
        await d.until(lambda: waiting(d) == 1 and not left(d) and d.states().count("") == 0)
        assert kept(d, "act") == acts + 1
        assert count(talk.said(), "1 of 1 vote for") == scenes, talk.said()
    d.model.script = None
    assert "Traceback" not in d.process.log(), d.process.log()


VOTES = "SELECT author_id FROM votes"


def waiting(d: Any) -> int:
    return len(live(d.process.data / "sutradhar.db", "SELECT id FROM schedules WHERE kind = 'deadline'"))
