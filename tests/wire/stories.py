"""What people do with the bot, written once for every platform. Each story asserts what people see.

A story is a coroutine over a `Driver`; `STORIES` has them by name, and `SLOW_STORIES` those that run only with the slow
tests, next to the other tests that kill the bot.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.reply import Reply
from tests.speech.recordings import ogg
from tests.wire.driver import Driver
from tests.wire.on_terminal import ChatProcess

QUESTION = "How many hours of walking does a candle burn?"
ANA, BIA = "Ana", "Bia"
FILES = Path(__file__).resolve().parents[1] / "readers" / "files"

Story = Callable[[Driver], Awaitable[None]]
STORIES: dict[str, Story] = {}
SLOW_STORIES: dict[str, Story] = {}


def story(story: Story) -> Story:
    STORIES[story.__name__.replace("_", " ")] = story
    return story


def slow_story(story: Story) -> Story:
    SLOW_STORIES[story.__name__.replace("_", " ")] = story
    return story


def count(texts: list[str], words: str) -> int:
    """How often the words occur in the texts."""
    return sum(text.count(words) for text in texts)


@story
async def a_cited_answer(d: Driver) -> None:
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    texts = talk.said()
    assert count(texts, "four hours of walking") == 1, texts
    assert count(texts, "the Night takes the next turn") == 1, "and all of it"
    assert "[1]" in texts[-1]
    assert "Candles" in texts[-1], "the source is named"
    assert QUESTION in "".join(post.text for post in d.channel().posts()), "everybody sees what was asked"
    assert not [post for post in talk.posts() if "stop" in post.actions]


@story
async def a_follow_up_by_mention_in_the_thread(d: Driver) -> None:
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    d.model.queue.append(Reply("It burns for one hour of running [1]."))
    await d.mention(BIA, talk, "and while running?")
    await d.rest(2)
    posts = talk.posts()
    (asked,) = [n for n, post in enumerate(posts) if "and while running?" in post.text and post.by == BIA]
    assert count([post.text for post in posts[:asked]], "four hours of walking") == 1
    assert count([post.text for post in posts[asked:]], "It burns for one hour of running") == 1
    assert QUESTION in d.model.prompts[-1], "the follow-up knows what was said before"


@story
async def a_redelivered_event(d: Driver) -> None:
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    before = talk.posts()
    await d.redeliver()
    again = await d.command(ANA, "rules roll", expression="1d1")
    await d.rest(2)
    assert again.said()
    assert talk.posts() == before
    assert len(d.model.prompts) == 1


@story
async def stop(d: Driver) -> None:
    gate = d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await d.press(ANA, talk, "stop")
    await d.until(lambda: not any("stop" in post.actions for post in talk.posts()))
    gate.set()
    await d.mention(ANA, talk, "and while running?")
    await d.until(lambda: count(talk.said(), "the Night takes the next turn") == 1)
    assert count(talk.said(), "A candle burns for") == 2, "what was shown stays"
    assert len(d.model.prompts) == 2


@story
async def retry(d: Driver) -> None:
    d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await d.press(ANA, talk, "stop")
    await d.rest(1)
    await d.press(BIA, talk, "retry")
    await d.rest(2)
    texts = talk.said()
    assert count(texts, "A candle burns for") == 2, "what was stopped stays"
    assert count(texts, "the Night takes the next turn") == 1
    assert "the Night takes the next turn" in texts[-1], "and the new answer follows it"


@story
async def kill_9_mid_stream(d: Driver) -> None:
    d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await d.restart()
    await d.rest(1)
    texts = talk.said()
    assert count(texts, "A candle burns for") == 1, "the message goes on where it stood"
    assert count(texts, "the Night takes the next turn") == 1
    assert not [post for post in talk.posts() if "stop" in post.actions]
    assert len(d.model.prompts) == 2, "only the call that was cut off is made again"


@story
async def a_40_000_character_answer(d: Driver) -> None:
    """The bot shows as many tokens as an answer may have, and says so."""
    sentences = [f"Sentence {n:04} says that a candle burns four hours of walking [1]. " for n in range(620)]
    assert sum(map(len, sentences)) > 40_000
    d.model.queue.append(Reply(pieces=sentences, delay_s=0.002))
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    text = "\n".join(talk.said())
    numbers = [int(number) for number in re.findall(r"Sentence (\d{4})", text)]
    assert numbers == list(range(len(numbers))), "nothing is left out, doubled or out of order"
    assert len(text) > 30_000
    assert "length limit" in text or len(numbers) == len(sentences)


@story
async def a_failing_model(d: Driver) -> None:
    error = {
        "message": "Incorrect API key provided",
        "type": "invalid_request_error",
        "code": "invalid_api_key",
    }
    d.model.queue += [Reply(status=401, error=error) for _ in range(5)]
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    texts = talk.said()
    put = "Put" if isinstance(d.process, ChatProcess) else "The bot's operator must put"  # who reads it
    assert f"refused the API key. {put} the right key into" in texts[-1], texts
    assert "A candle burns for four hours of walking" in texts[-1], "the passages themselves are quoted"
    d.model.queue.clear()
    after = await d.ask(ANA, QUESTION)
    await d.rest(2)
    assert "the Night takes the next turn" in after.said()[-1]


@story
async def two_tables_with_the_same_names(d: Driver) -> None:
    """The second table's book says "six hours" where the first one's says "four"."""
    d.model.usual = Reply(status=500)
    first, second = await d.ask(ANA, QUESTION), await d.ask(ANA, QUESTION, table=1)
    await d.rest(2)
    assert "four hours of walking" in first.said()[-1]
    assert "six hours" not in "".join(first.said())
    assert "six hours of walking" in second.said()[-1]
    assert "four hours" not in "".join(second.said())


@story
async def a_private_answer_then_shared(d: Driver) -> None:
    before = d.channel().posts()
    talk = await d.ask(ANA, QUESTION, private=True)
    await d.rest(1)
    assert count(talk.said(), "four hours of walking") == 1
    assert d.channel().posts() == before, "nobody else sees anything"
    await d.press(ANA, talk, "share")
    await d.until(lambda: count([post.text for post in d.channel().posts()], "four hours of walking") == 1)
    assert "Ana" in d.channel().posts()[-1].text or d.channel().posts()[-1].by == ANA, "and who shared it"


@story
async def a_language_of_ones_own_and_then_everything_deleted(d: Driver) -> None:
    answer = await d.command(ANA, "settings set", setting="language", value="pt-BR", **{"for": "me"})
    await d.rest(1)
    assert count(answer.said(), "Para você") == 1, answer.said()
    await d.ask(ANA, QUESTION)
    await d.rest(2)
    await d.command(ANA, "privacy export")  # a file, which goes where each platform takes it
    await d.rest(3)
    would = await d.command(ANA, "privacy delete")
    await d.rest(4)
    assert count(would.said(), "o texto de") == 1, would.said()
    done = await d.command(ANA, "privacy delete", yes=True)
    await d.rest(5)
    assert count(done.said(), "Excluído, com todas as cópias") == 1, done.said()
    again = await d.command(ANA, "sessions list")
    await d.rest(6)
    assert count(again.said(), "You have no conversations yet") == 1, again.said()


@story
async def an_attachment_to_library_add(d: Driver) -> None:
    book = b"# Ferries\n\n## The toll\n\nThe ferry across the Miro costs seven copper coins.\n"
    talk = await d.attach(ANA, "ferries.md", book, shelf="ferries")
    await d.until(lambda: bool(talk.said()))
    assert "Only people who manage" in talk.said()[-1], talk.said()
    talk = await d.attach(BIA, "ferries.md", book, shelf="ferries")
    await d.rest(1)
    assert "ferries" in talk.said()[-1]
    d.model.queue.append(Reply("It costs seven copper coins [1]."))
    answer = await d.ask(ANA, "What does the ferry across the Miro cost?", shelf="ferries")
    await d.rest(2)
    assert "seven copper coins" in answer.said()[-1]


@story
async def a_pdf_and_the_page_of_a_source(d: Driver) -> None:
    book = (FILES / "libreoffice-outline.pdf").read_bytes()
    talk = await d.attach(BIA, "almanac.pdf", book, shelf="almanac")
    await d.rest(1)
    assert "13 sections" in talk.said()[-1]
    locked = await d.attach(
        BIA, "locked.pdf", (FILES / "libreoffice-locked.pdf").read_bytes(), shelf="almanac"
    )
    await d.rest(2)
    assert "this file has a password" in locked.said()[-1]
    d.model.queue.append(Reply("At new moon a guide costs 3 shillings [1]."))
    answer = await d.ask(ANA, "What does a guide cost at new moon?", shelf="almanac")
    await d.rest(3)
    assert "almanac.pdf" in answer.said()[-1]
    assert "p. 2" in answer.said()[-1], answer.said()


@story
async def a_deleted_message(d: Driver) -> None:
    talk = await d.direct(ANA, QUESTION)
    await d.rest(1)
    assert count(talk.said(), "four hours of walking") == 1
    await d.delete(talk, QUESTION)
    await d.until(lambda: count(talk.said(), "four hours of walking") == 0)
    follow = await d.direct(ANA, "and while running?")
    await d.rest(2)
    assert follow.said()
    assert QUESTION not in d.model.prompts[-1], "what was taken back is not read again"


@slow_story
async def buttons_after_a_restart(d: Driver) -> None:
    talk = await d.ask(ANA, QUESTION)
    await d.rest(1)
    await d.restart()
    answer = await d.press(ANA, talk, "sources")
    await d.until(lambda: "A candle burns for four hours of walking" in "".join(answer.said()))
    d.model.hold()
    await d.mention(ANA, talk, "and while running?")
    await d.until(lambda: count(talk.said(), "A candle burns for") == 2)
    await d.press(ANA, talk, "stop")
    await d.until(lambda: not any("stop" in post.actions for post in talk.posts()))
    await d.restart()
    await d.press(ANA, talk, "retry")
    await d.rest(3)
    assert count(talk.said(), "the Night takes the next turn") == 2


@story
async def a_polite_end_in_the_middle(d: Driver) -> None:
    d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: count(talk.said(), "A candle burns for") == 1)
    await d.restart(kill=False)
    await d.rest(1)
    assert count(talk.said(), "A candle burns for") == 1
    assert count(talk.said(), "the Night takes the next turn") == 1


PREMISE = "A lighthouse keeper finds a door in the sea"
CHOICES = Reply(pieces=["- Open the door.\n- Call into the dark."])


@story
async def a_table_plays_a_story(d: Driver) -> None:
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.rest(1)
    assert count(talk.said(), "The lamp goes out at dusk.") == 1
    d.model.queue += [Reply("A gull answers from below."), CHOICES]
    await d.mention(BIA, talk, "I call out three times.")
    await d.rest(2)
    assert count(talk.said(), "A gull answers from below.") == 1
    assert "The lamp goes out at dusk." in d.model.prompts[-2], "the writer knows what was told"
    assert "I call out three times." in d.model.prompts[-2]
    d.model.queue += [Reply("The door swings open."), CHOICES]
    await d.press(ANA, talk, "choice")
    await d.rest(3)
    assert "Open the door." in d.model.prompts[-2], "the choice is a turn like any other"
    assert count(talk.said(), "The door swings open.") == 1
    await d.redeliver()
    shown = await d.command(BIA, "story show", talk=talk)
    await d.rest(4)
    assert count(shown.said(), "3 scenes") == 1
    assert count(talk.said(), "The door swings open.") == 1


@story
async def a_scene_that_a_kill_9_cuts_off(d: Driver) -> None:
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.rest(1)
    d.model.hold(
        "The water rises step by step until it stands at the door and nobody says a word about it.", at=10
    )
    await d.mention(ANA, talk, "I wait on the stairs.")
    await d.until(lambda: count(talk.said(), "The water rises") == 1)
    d.model.queue += [Reply("The water rises and rises. Then it is gone."), CHOICES]
    await d.restart()
    await d.rest(2)
    assert count(talk.said(), "Then it is gone.") == 1
    assert count(talk.said(), "The water rises") == 1, "in the message that was there"
    shown = await d.command(ANA, "story show", talk=talk)
    await d.rest(3)
    assert count(shown.said(), "2 scenes") == 1, "the turn was taken once"


@story
async def a_story_that_begins_in_a_window(d: Driver) -> None:
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    opened = await d.command(ANA, "story start")
    talk = await d.fill(ANA, None, opened, PREMISE, cast="Bo: a lamplighter", tone="eerie", view="third")
    await d.rest(1)
    assert count(talk.said(), "The lamp goes out at dusk.") == 1
    await d.redeliver()
    await d.command(BIA, "story cast", talk=talk)
    await d.rest(2)
    window = await d.choose(BIA, talk, "New character…")
    await d.fill(BIA, talk, window, "Mira: a diver", style="dry")
    await d.rest(3)
    await d.command(ANA, "story cast", talk=talk)
    await d.rest(4)
    assert count(talk.said(), "Mira") >= 1, "she is in the cast"
    assert count(talk.said(), "The lamp goes out at dusk.") == 1


@story
async def a_window_behind_a_mention(d: Driver) -> None:
    """A typed command cannot open a window there; a button does."""
    talk = await d.direct(ANA, "/story start --tone eerie")
    await d.rest(1)
    window = await d.choose(ANA, talk, "Fill it in…")
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    await d.restart()
    await d.fill(ANA, talk, window, PREMISE, genre="mystery")
    await d.rest(2)
    assert count(talk.said(), "The lamp goes out at dusk.") == 1
    prompt = d.model.prompts[0]
    assert "eerie" in prompt
    assert "mystery" in prompt


@story
async def a_scene_is_forked_by_its_menu(d: Driver) -> None:
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.rest(1)
    d.model.queue += [Reply("A gull answers from below."), CHOICES]
    await d.mention(BIA, talk, "I call out three times.")
    await d.rest(2)
    await d.menu(BIA, talk, "The lamp goes out at dusk.", "Fork the story here")
    await d.rest(3)
    assert count(talk.said(), "it continues after scene 1") == 1
    await d.redeliver()
    refused = await d.menu(BIA, talk, "it continues after scene 1", "Fork the story here")
    await d.rest(4)
    assert count(talk.said() + refused.said(), "not a scene of the story") == 1
    theirs = await d.menu(BIA, talk, "I call out three times.", "Fork the story here")
    await d.until(lambda: count(theirs.said(), "not one of my answers") == 1)
    d.model.queue += [Reply("Nothing answers."), CHOICES]
    await d.mention(ANA, talk, "I wait.")
    await d.rest(5)
    assert "The lamp goes out at dusk." in d.model.prompts[-2]
    assert "A gull answers" not in d.model.prompts[-2], "that is another branch"


@story
async def a_branch_in_a_thread_of_its_own(d: Driver) -> None:
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.rest(1)
    d.model.queue += [Reply("A gull answers from below."), CHOICES]
    await d.mention(BIA, talk, "I call out three times.")
    await d.rest(2)
    fork = d.thread(lambda talk: count(talk.said(), "where it comes from") == 1)
    await d.command(BIA, "story fork", talk=talk, name="The door stays shut", scene=1, thread=True)
    await d.until(lambda: count(fork.said(), "The lamp goes out at dusk.") == 1)
    await d.until(lambda: any("→" in text and "The door" in text for text in talk.said()))
    await d.redeliver()
    d.model.queue += [Reply("The wind drops."), CHOICES]
    await d.mention(ANA, fork, "I wait.")
    await d.rest(5)
    assert count(fork.said(), "The wind drops.") == 1
    d.model.queue += [Reply("The gull is gone."), CHOICES]
    await d.mention(ANA, talk, "I listen.")
    await d.rest(6)
    assert count(talk.said(), "The gull is gone.") == 1
    assert "I call out three times." in d.model.prompts[-2]
    assert "I wait." not in d.model.prompts[-2]
    assert count(fork.said(), "The lamp goes out at dusk.") == 1


@story
async def an_edited_turn_that_scenes_have_followed(d: Driver) -> None:
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.rest(1)
    for n, (turn, scene) in enumerate(
        (("I knock once.", "A gull answers."), ("I wait.", "The wind drops.")), 2
    ):
        d.model.queue += [Reply(scene), CHOICES]
        await d.mention(ANA, talk, turn)
        await d.rest(n)
    await d.edit(ANA, talk, "I wait.", "I wait for the tide.")
    await d.rest(4)
    assert count(talk.said(), "The turn of scene 3 now has the new words.") == 1
    await d.edit(ANA, talk, "I knock once.", "I knock twice.")
    await d.rest(5)
    assert count(talk.said(), "1 more scene was written after it") == 1
    await d.redeliver()
    await d.restart()
    d.model.queue += [Reply("Nothing answers."), CHOICES]
    await d.choose(BIA, talk, "Write the scene again, on a new branch")
    await d.rest(6)
    assert count(talk.said(), "Nothing answers.") == 1
    assert "I knock twice." in d.model.prompts[-2]
    assert "I wait" not in d.model.prompts[-2]
    await d.until(
        lambda: not any("Write the scene again, on a new branch" in label for label in d.open_buttons(talk))
    )
    assert count(talk.said(), "has the new words.") == 1
    assert count(talk.said(), "1 more scene was written after it") == 1


@slow_story
async def threads_of_branches_and_edits_between_kills(d: Driver) -> None:
    """The bot is killed as soon as the fork is requested, when it is announced, and when the thread exists."""
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.rest(1)
    d.model.queue += [Reply("A gull answers."), CHOICES]
    await d.mention(ANA, talk, "I knock once.")
    await d.rest(2)
    requests = 2
    for name in ("The first way", "The second way", "The third way"):
        fork = d.thread(
            lambda other, name=name: count(other.said(), name) >= 1 and other.said() != talk.said()  # type: ignore[misc]
        )
        await d.command(BIA, "story fork", talk=talk, name=name, scene=1, thread=True)
        if name == "The second way":
            await d.until(lambda name=name: count(talk.said(), name) >= 1)  # type: ignore[misc]
        elif name == "The third way":
            await d.until(lambda fork=fork: bool(fork.said()))  # type: ignore[misc]
        await d.restart()
        requests += 2  # the fork, and what begins its thread
        await d.until(lambda fork=fork: count(fork.said(), "The lamp goes out at dusk.") == 1)  # type: ignore[misc]
        assert count(talk.said(), f"“{name}” continues") == 1
    assert len(d.runs()) == requests
    d.model.queue += [Reply("The wind drops."), CHOICES]
    await d.mention(ANA, talk, "I wait.")
    await d.rest(requests + 1)
    await d.edit(ANA, talk, "I knock once.", "I knock twice.")
    await d.until(lambda: len(d.runs()) == requests + 2)  # the platform tells nobody again who was away
    await d.restart()
    await d.until(lambda: count(talk.said(), "1 more scene was written after it") == 1)
    await d.choose(BIA, talk, "Change only the turn's words")
    await d.restart()
    await d.rest(requests + 3)
    assert count(talk.said(), "all scenes stay as they are") == 1
    d.model.queue += [Reply("The tide turns."), CHOICES]
    await d.mention(ANA, talk, "I listen.")
    await d.rest(requests + 4)
    assert "I knock twice." in d.model.prompts[-2]
    assert "I knock once." not in d.model.prompts[-2]


SPOKEN = ogg(1.0)


@story
async def a_turn_is_spoken(d: Driver) -> None:
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.rest(1)
    d.model.ear.hears = "I open the door, slowly."
    listened = len(d.model.ear.heard)
    await d.speak(ANA, talk, SPOKEN)
    await d.until(lambda: "Play it" in d.open_buttons(talk))
    assert count(talk.said(), "I open the door, slowly.") == 1
    assert [upload["file"] for upload in d.model.ear.heard[listened:]] == [SPOKEN]
    d.model.queue += [Reply("The hinges give."), CHOICES]
    answer = await d.choose(BIA, talk, "Play it")
    await d.until(lambda: "the person who said that" in "".join(answer.said()))
    await d.choose(ANA, talk, "Play it")
    await d.until(lambda: count(talk.said(), "The hinges give.") == 1)
    await d.until(lambda: "Play it" not in d.open_buttons(talk))
    await d.rest(3)
    assert "I open the door, slowly." in d.model.prompts[-2], "it is a turn as if it had been typed"
    await d.redeliver()
    shown = await d.command(BIA, "story show", talk=talk)
    await d.rest(4)
    assert count(shown.said(), "2 scenes") == 1
    assert len(d.model.ear.heard) == listened + 1, "what comes again is not listened to again"


@slow_story
async def spoken_turns_between_kills(d: Driver) -> None:
    """Killed while it is listened to, and in the middle of the scene; changed in the window; without a word; left."""
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.rest(1)
    d.model.ear.answers, listened = [None], len(d.model.ear.heard)
    d.model.ear.hears = "I open the daw."
    await d.speak(ANA, talk, SPOKEN)
    await d.until(lambda: len(d.model.ear.heard) == listened + 1)
    await d.restart()
    await d.until(lambda: "Change it…" in d.open_buttons(talk))
    await d.restart()
    opened = await d.choose(ANA, talk, "Change it…")
    d.model.hold("The hinges give, and behind them there is nothing but the sea and the sound of it.", at=8)
    await d.fill(ANA, talk, opened, "I open the door.")
    await d.until(lambda: count(talk.said(), "The hinges give") == 1)
    d.model.queue += [Reply("The hinges give. It is dark."), CHOICES]
    await d.restart()
    await d.until(lambda: count(talk.said(), "It is dark.") == 1 and "Change it…" not in d.open_buttons(talk))
    await d.until(lambda: count(talk.said(), "The hinges give") == 1)  # the old form of a message goes last
    await d.rest(3)
    assert "I open the door." in d.model.prompts[-2]
    d.model.ear.hears = "Forget it."
    await d.speak(ANA, talk, SPOKEN)
    await d.until(lambda: "Cancel" in d.open_buttons(talk))
    await d.choose(ANA, talk, "Cancel")
    await d.until(lambda: "Cancel" not in d.open_buttons(talk))
    shown = await d.command(BIA, "story show", talk=talk)
    await d.until(lambda: count(shown.said(), "2 scenes") == 1)


@slow_story
async def a_clip_that_the_platform_has_heard(d: Driver) -> None:
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.rest(1)
    listened, d.model.ear.hears = len(d.model.ear.heard), "I call out."
    await d.speak(ANA, talk, SPOKEN, transcript="I call out.")
    await d.until(lambda: count(talk.said(), "I call out.") == 1)
    transcribed = len(d.model.ear.heard) - listened
    assert transcribed == (0 if "Slack" in type(d).__name__ else 1), "the platform's own transcript first"
    await d.rest(2)


ON_BOTH = ("a cited answer", "stop", "kill 9 mid stream", "a table plays a story")
LONG = ("a 40 000 character answer",)
"""For `make test-slow` on both platforms."""


def by_turns(turn: int) -> list[Any]:
    """The stories for one of two platforms (0 or 1): in `make test` every other one, in `make test-slow` the rest.

    The latter run with everything read aloud.
    """
    now = {name for number, name in enumerate(STORIES) if (number + turn) % 2 == 0} | set(ON_BOTH)
    return [
        pytest.param(name, marks=[] if name in now - set(LONG) else [pytest.mark.slow]) for name in STORIES
    ]
