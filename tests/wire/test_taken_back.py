"""Deleted words: no message of the bot, thread title, file or row contains them any more."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.reply import Reply
from tests.kill.instants import on_one_of
from tests.wire.conftest import Convened, Take
from tests.wire.council_model import QUESTION as COUNCIL
from tests.wire.story import ANA, BIA, CHOICES, QUESTION, count
from tests.wire.test_courses import taken_in
from tests.wire.test_quizzes import WRITTEN
from tests.wire.test_schedules import due_now

pytestmark = [pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


def words() -> Iterator[str]:
    """Unique words."""
    return (f"zyx{n:03}qua" for n in itertools.count(100))


def of_bot(message: Any) -> bool:
    return bool(message.author.bot if hasattr(message, "author") else message.user.bot)


def shown(d: Any) -> list[str]:
    """Everything that the bot shows: its messages with their buttons and files, and the titles of threads."""
    texts = []
    for message in d.everything():
        # Nobody can delete an ephemeral message on Slack; it disappears when the client is reloaded.
        if not of_bot(message) or message.deleted or getattr(message, "ephemeral_to", None):
            continue
        names = [file.name for file in message.files]
        buttons = [str(getattr(button, "label", button)) for button in message.buttons]
        whole = message.text if hasattr(d, "discord") else f"{message.shown} {message.text}"
        texts.append(" ".join([whole, *names, *buttons]))
    if hasattr(d, "discord"):
        return texts + [thread.name for channel in d.channels for thread in channel.threads]
    agents = d.slack.agents
    texts += [f"{view.title} {view.blocks}" for view in d.slack.views if view.open]
    return texts + [session.title for session in agents.sessions.values()] + list(agents.titles.values())


def holding(d: Any, planted: list[str]) -> dict[str, list[str]]:
    texts = shown(d)
    return {word: [text for text in texts if word in text] for word in planted}


def kept(data: Path, planted: list[str]) -> set[str]:
    """ "TABLE: WORD" for each of these words that a table contains."""
    found = set()
    for database in data.glob("*.db"):
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (table,) in names:
                for row in connection.execute(f'SELECT * FROM "{table}"'):
                    found |= {f"{table}: {word}" for word in planted if word in repr(row)}
    return found


async def nowhere(d: Any, planted: list[str]) -> None:
    def gone() -> bool:
        return not any(holding(d, planted).values())

    try:
        await d.until(gone)
    except (TimeoutError, AssertionError):
        assert not {word: texts for word, texts in holding(d, planted).items() if texts}
    assert not kept(d.process.data, planted)


async def settled(d: Any) -> None:
    await d.until(lambda: "" not in d.states())


async def say_with_a_file(d: Any, text: str, name: str) -> Any:
    """Ask the bot in a message with a file; returns the message."""
    service = d.discord if hasattr(d, "discord") else d.slack
    files = [(name, b"# Lamps\n\nA lit lantern shows things thirty feet away.\n")]
    runs = len(d.runs())
    message = await service.say(d.people[ANA], d.channels[0], text, mention=True, files=files)
    await d.rest(runs + 1)
    return message


@pytest.mark.parametrize(
    ("platform", "struck"),
    [
        ("discord", False),
        ("slack", False),
        pytest.param("discord", True, marks=pytest.mark.slow),
        pytest.param("slack", True, marks=pytest.mark.slow),
    ],
)
async def test_nothing_of_a_person_who_deletes_everything_remains(
    take: Take, platform: str, struck: bool
) -> None:
    d, new, planted = await take(platform), words(), list[str]()

    def word() -> str:
        planted.append(next(new))
        return planted[-1]

    talk = await d.ask(ANA, f"{QUESTION} {word()}")
    await settled(d)
    await d.mention(ANA, talk, f"and {word()} while running?")
    await settled(d)
    await d.command(ANA, "sessions rename", talk=talk, title=f"About {word()}")
    await settled(d)
    await d.command(ANA, "schedule reminder", text=f"Bring {word()}", when="in 3 hours")
    await settled(d)
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    played = await d.ask(ANA, f"The keeper of {word()} wakes", verb="story start", title=f"Tower {word()}")
    await d.until(lambda: count(played.said(), "The lamp goes out at dusk.") == 1 and not d.model.queue)
    for verb in ("story act", "story say"):
        d.model.queue += [Reply(f"Told after {verb}."), CHOICES]
        text = {"story act": "what", "story say": "words"}[verb]
        await d.command(ANA, verb, talk=played, **{text: f"I mention {word()}."})
        await d.until(lambda verb=verb: count(played.said(), f"Told after {verb}.") == 1)
        await settled(d)
    d.model.queue += [Reply("A gull answers."), CHOICES]
    await d.mention(ANA, played, f"I call {word()} three times.")
    await d.until(lambda: count(played.said(), "A gull answers.") == 1)
    await settled(d)
    d.model.queue += [Reply("The tide turns."), CHOICES]
    opened = await d.command(ANA, "story start")
    begun = await d.fill(ANA, None, opened, f"A boat of {word()}", cast=f"{word()}: a diver", tone="eerie")
    await d.until(lambda: count(begun.said(), "The tide turns.") == 1 and not d.model.queue)
    await settled(d)
    await d.ask(ANA, f"Is {word()} a page?", verb="rules lookup")
    await say_with_a_file(d, f"{QUESTION} {word()}", f"{word()}.md")
    await settled(d)
    await d.command(ANA, "schedule reminder", text=f"Wake {word()}", when="in 300 days")
    await settled(d)
    due_now(d)
    await d.until(lambda: any("⏰" in text and planted[-1] in text for text in shown(d)))
    await settled(d)
    seen = [text for texts in holding(d, planted).values() for text in texts]
    assert len(seen) > 3, "otherwise there is nothing to delete"
    deleting = asyncio.create_task(d.command(ANA, "privacy delete", yes=True))
    if struck:
        runs = len(d.states())
        await d.until(lambda: len(d.states()) > runs)
        await d.restart()
    await asyncio.gather(deleting, return_exceptions=struck)
    await settled(d)
    await nowhere(d, planted)
    assert any("A gull answers." in text for text in shown(d)), "a scene belongs to the table"
    d.check()


@pytest.mark.parametrize("platform", ["discord", "slack"])
async def test_a_deleted_message_and_a_stop_card_also_delete_quotations(take: Take, platform: str) -> None:
    d, new = await take(platform), words()
    asked, told, beside = next(new), next(new), next(new)
    await d.mention(ANA, d.channel(), f"{QUESTION} {asked}")
    await d.until(lambda: d.states() == ["done"])
    platform_of = d.discord if platform == "discord" else d.slack
    (message,) = [one for one in d.everything() if asked in one.text and not of_bot(one)]
    await platform_of.delete(message)
    await nowhere(d, [asked])
    message = await say_with_a_file(d, f"{QUESTION} {beside}", f"file-{beside}.md")
    await settled(d)
    await platform_of.delete(message)
    await nowhere(d, [beside])

    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, f"The keeper of {told} wakes", verb="story start")
    await d.until(lambda: count(talk.said(), "The lamp goes out at dusk.") == 1 and not d.model.queue)
    await settled(d)
    assert any(holding(d, [told]).values())
    await d.choose(BIA, talk, "✋ Stop card")
    await d.until(lambda: not any(holding(d, [told]).values()))
    d.check()


@pytest.mark.slow
@pytest.mark.parametrize("platform", on_one_of("discord", "slack"))
async def test_no_deleted_words_remain_after_a_kill_during_the_deletion(
    take: Take, platform: str, tmp_path: Path
) -> None:
    d, new = await take(platform), words()
    asked, begun, told, answered = next(new), next(new), next(new), next(new)
    service = d.discord if platform == "discord" else d.slack

    async def struck(planted: str) -> None:
        """kill -9 once the request is stored without its words: before, only the platform knows the deletion."""
        await d.until(lambda: f"inbox: {planted}" not in kept(d.process.data, [planted]))
        await d.restart()
        await settled(d)
        await nowhere(d, [planted])

    await d.mention(ANA, d.channel(), f"{QUESTION} {asked}")
    await d.until(lambda: d.states() == ["done"])
    (message,) = [one for one in d.everything() if asked in one.text and not of_bot(one)]
    await service.delete(message)
    await struck(asked)

    talk = await d.ask(ANA, f"{QUESTION} {begun}")
    await settled(d)
    await d.command(ANA, "sessions rename", talk=talk, title="Lamps")
    await settled(d)
    await d.command(ANA, "sessions delete", session="Lamps")
    await struck(begun)

    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    played = await d.ask(ANA, f"The keeper of {told} wakes", verb="story start")
    await d.until(lambda: count(played.said(), "The lamp goes out at dusk.") == 1 and not d.model.queue)
    await settled(d)
    assert any(holding(d, [told]).values())
    runs = len(d.states())
    await d.choose(BIA, played, "✋ Stop card")
    await d.until(lambda: len(d.states()) > runs)
    await d.restart()
    await settled(d)
    await d.until(lambda: not any(holding(d, [told]).values()))

    runs = len(d.states())
    await taken_in(d, platform, tmp_path)
    await d.rest(runs + 1)
    d.model.form = WRITTEN
    quiz = await d.ask(ANA, "knots", verb="course quiz", lesson="2", questions=1)
    await d.rest(runs + 2)
    opened = await d.choose(ANA, quiz, "In words…")
    await d.fill(ANA, quiz, opened, f"two ropes and {answered}")
    await d.rest(runs + 3)
    await d.command(ANA, "privacy delete", yes=True)
    await struck(answered)
    if (
        platform == "discord"
    ):  # after the kill it repeats deletions, and searches other places for deleted messages
        again = [
            refusal for refusal in d.discord.refused if (refusal.method, refusal.code) == ("DELETE", 10008)
        ]
        d.discord.refused[:] = [refusal for refusal in d.discord.refused if refusal not in again]
    d.check()


@pytest.mark.slow
async def test_recordings_are_deleted_with_their_request(take: Take) -> None:
    d, (word,) = await take("slack, narrated"), itertools.islice(words(), 1)
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, "A keeper wakes", verb="story start")

    def clips() -> list[Any]:
        files = d.slack.files.all.values()
        return [file for file in files if file.name.endswith(".mp3") and not file.deleted]

    await d.until(lambda: len(clips()) == 1 and not d.model.queue)
    await settled(d)
    d.model.queue += [Reply("A gull answers."), CHOICES]
    await d.mention(ANA, talk, f"I call {word} three times.")
    await d.until(lambda: len(clips()) == 2 and not d.model.queue)
    await settled(d)
    (message,) = [one for one in d.everything() if word in one.text and not of_bot(one)]
    await d.slack.delete(message)
    await d.until(lambda: len(clips()) == 1)
    await nowhere(d, [word])
    d.check()


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["discord", "slack"])
async def test_a_councils_question_and_plan_are_deleted_with_the_person(
    convened: Convened, platform: str
) -> None:
    d, _ = await convened(platform)
    new = words()
    planted = [next(new), next(new)]
    talk = await d.ask(ANA, f"{COUNCIL} {planted[0]}", verb="council ask")
    await d.until(lambda: any(planted[0] in text for text in shown(d)))
    await settled(d)
    runs = len(d.runs())
    await d.mention(ANA, talk, f"and with {planted[1]} among them?")
    await d.rest(runs + 1)
    await d.command(ANA, "privacy delete", yes=True)
    await settled(d)
    await nowhere(d, planted)
    d.check()
