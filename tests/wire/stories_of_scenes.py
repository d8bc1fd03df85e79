"""Stories about tables that play, by text or by voice."""

from __future__ import annotations

from tests.fakes.reply import Reply
from tests.speech.recordings import ogg
from tests.wire.driver import Driver
from tests.wire.story import ANA, BIA, CHOICES, PREMISE, Told, count

told = Told()


@told.usual
async def a_table_plays_a_story(d: Driver) -> None:
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.rest(1)
    assert count(talk.said(), "The lamp goes out at dusk.") == 1
    d.model.queue += [Reply("A gull answers from below."), CHOICES]
    await d.mention(BIA, talk, "I call out three times.")
    await d.rest(2)
    assert count(talk.said(), "A gull answers from below.") == 1
    assert "The lamp goes out at dusk." in d.model.prompts[-2], "the writer knows the earlier scenes"
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


@told.usual
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
    assert count(shown.said(), "2 scenes") == 1, "the turn was stored once"


@told.usual
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


@told.usual
async def a_window_behind_a_mention(d: Driver) -> None:
    """A command typed in a thread cannot open a window; its button can."""
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


@told.usual
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
    assert "A gull answers" not in d.model.prompts[-2], "that scene is on another branch"


@told.usual
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


@told.usual
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


@told.slow
async def threads_of_branches_and_edits_between_kills(d: Driver) -> None:
    """The bot is killed when the fork is requested, when it is announced, and when the thread exists."""
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
        requests += 2  # the fork, and the run that starts its thread
        await d.until(lambda fork=fork: count(fork.said(), "The lamp goes out at dusk.") == 1)  # type: ignore[misc]
        assert count(talk.said(), f"“{name}” continues") == 1
    assert len(d.runs()) == requests
    d.model.queue += [Reply("The wind drops."), CHOICES]
    await d.mention(ANA, talk, "I wait.")
    await d.rest(requests + 1)
    await d.edit(ANA, talk, "I knock once.", "I knock twice.")
    # The platform does not repeat events that the bot missed.
    await d.until(lambda: len(d.runs()) == requests + 2)
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


@told.usual
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
    assert "I open the door, slowly." in d.model.prompts[-2], "a spoken turn is a turn like a typed one"
    await d.redeliver()
    shown = await d.command(BIA, "story show", talk=talk)
    await d.rest(4)
    assert count(shown.said(), "2 scenes") == 1
    assert len(d.model.ear.heard) == listened + 1, "a redelivered recording is not transcribed again"


@told.slow
async def spoken_turns_between_kills(d: Driver) -> None:
    """Kills during the transcription and during the scene; a correction in the window; silence; a shutdown."""
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
    # The old form of a message is deleted last.
    await d.until(lambda: count(talk.said(), "The hinges give") == 1)
    await d.rest(3)
    assert "I open the door." in d.model.prompts[-2]
    d.model.ear.hears = "Forget it."
    await d.speak(ANA, talk, SPOKEN)
    await d.until(lambda: "Cancel" in d.open_buttons(talk))
    await d.choose(ANA, talk, "Cancel")
    await d.until(lambda: "Cancel" not in d.open_buttons(talk))
    shown = await d.command(BIA, "story show", talk=talk)
    await d.until(lambda: count(shown.said(), "2 scenes") == 1)


@told.slow
async def a_clip_that_the_platform_has_heard(d: Driver) -> None:
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.rest(1)
    listened, d.model.ear.hears = len(d.model.ear.heard), "I call out."
    await d.speak(ANA, talk, SPOKEN, transcript="I call out.")
    await d.until(lambda: count(talk.said(), "I call out.") == 1)
    transcribed = len(d.model.ear.heard) - listened
    assert transcribed == (0 if "Slack" in type(d).__name__ else 1), (
        "the platform's own transcript comes first"
    )
    await d.rest(2)
