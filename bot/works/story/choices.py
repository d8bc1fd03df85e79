"""The choices under a scene: parsed from a model's text, offered as buttons, and disabled later."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.events import Changed, Choice, Choices, Event, Link, Notice, Speaker, Stage, Text
from bot.words import Words
from bot.works.story.logs import TAKEN_AWAY
from bot.works.story.story import Story
from bot.works.story.turn import SCENE, Scene, Turn
from storage.stories import ALIAS

LABEL_CHARS = 75
"""The longest label of a button (Discord's limit is 80, Slack's 75); the choice itself is not cut."""
CHOICE_CHARS = 300
_BULLET = re.compile(r"^\s*(?:[-*•–—]+|\(?\d{1,2}[.):]|[A-Fa-f][.)])\s+")


CODE: Final = 8
"""How many characters of the end of a run's id name a turn."""


@dataclass(frozen=True, slots=True)
class Before:
    """The scene that was the last one: the buttons of its message are disabled. `taken`: the choice that was pressed.

    It is the version `scene` of the `turn`, which is number `n`. `again`: another version takes its place.
    """

    run: str
    title: str
    text: str
    choices: list[str] = field(default_factory=list)
    taken: int | None = None
    stage: str = SCENE
    speaker: Speaker | None = None
    turn: str = ""
    scene: str = ""
    n: int = 0
    again: bool = False

    def greyed(self, story: Story, say: Words) -> Changed:
        """The new content of its message; its flags can still be settled while the scene counts."""
        turn = story.turns.get(self.turn)
        scene = turn.scene if turn is not None else None
        flags = flagged(scene, self.n, say) if scene is not None and scene.id == self.scene else ()
        contents: tuple[Text | Choices | Notice, ...] = (below_dice(turn, self.text), *flags)
        if self.choices:
            options = (*acts(self.choices), something_else(say))
            chosen = len(options) - 1 if self.taken is None else self.taken
            contents = (*contents, Choices(say("story.what_now"), options, taken=chosen))
        if self.turn:
            contents = (*contents, Choices("", (stopcard(self.turn, say),)))
        return Changed(self.run, self.stage, self.title, contents, in_place=True, speaker=self.speaker)


def read_choices(text: str, most: int) -> list[str]:
    """Parses the choices that a model wrote: the lines of its list, or without a list its short lines; each once."""
    lines = [line.strip().strip('*_`"“”').strip() for line in text.splitlines()]
    listed = [_BULLET.sub("", line).strip('*_`"“” ') for line in lines if _BULLET.match(line)]
    listed_lines = listed or [line for line in lines if line and len(line) <= 120 and not line.endswith(":")]
    labels = [" ".join(line.split())[:CHOICE_CHARS] for line in listed_lines]
    return list(dict.fromkeys(line for line in labels if any(map(str.isalnum, line))))[:most]


def played_elsewhere(run: str, branch: str, say: Words) -> tuple[Event, ...]:
    """The events that tell a thread that its branch is played in another one, where the run has begun it."""
    ways = (
        Choice(say("story.button_take_back"), f"/story switch {branch[-ALIAS:]}"),
        Choice(say("story.button_fork"), "/story fork"),
    )
    link = (Link(run, say("story.where_it_goes_on")),) if run else ()
    return (Stage(SCENE, ""), Text(say(TAKEN_AWAY)), *link, Choices(say("story.what_now"), ways))


def ways(choices: Sequence[str], turn: Turn | None, say: Words, *, votes: bool = False) -> list[Choices]:
    """The buttons after a scene: the choices, "something else", another version, back, on."""
    groups = []
    own, card = something_else(say), (stopcard(turn.id, say),) if turn is not None else ()
    if choices and votes:
        groups.append(
            Choices(say("story.vote"), tuple(Choice(label(choice), "") for choice in choices), votes=True)
        )
        winner = Choice(say("story.play_winner"), "/story continue")
        groups.append(Choices(say("story.vote_over"), (winner, own, *card)))
    else:
        groups.append(Choices(say("story.what_now"), (*acts(choices), own, *card)))
    buttons = []
    if turn is not None and len(turn.versions) > 1 and turn.scene is not None:
        at, count = turn.versions.index(turn.scene) + 1, len(turn.versions)
        buttons += [
            Choice(f"◀ {at}/{count}", "/story flip back"),
            Choice(f"{at}/{count} ▶", "/story flip next"),
        ]
    buttons += [
        Choice(say("story.button_continue"), "/story continue"),
        Choice(say("story.button_retry"), "/story retry"),
        Choice(say("story.button_undo"), "/story undo"),
    ]
    groups.append(Choices(say("story.or"), tuple(buttons)))
    return groups


def ways_after_refusal(say: Words) -> Choices:
    """The buttons after the model has refused to write the scene."""
    return Choices(
        say("story.refused_what"),
        (
            Choice(say("story.button_retry"), "/story retry"),
            Choice(say("story.button_soften"), "/story retry --soften"),
            Choice(say("story.button_own_words"), "/story edit", say("story.own_words_ask")),
            Choice(say("story.button_model"), "/settings set model.writer", say("story.model_ask")),
        ),
    )


def scene_changed(story: Story, turn: Turn, say: Words, speaker: Speaker | None = None) -> Changed:
    """The new content of a scene's message: with its open flags, and the ways to go on.

    Of a scene that others have followed only the flag can still be answered. The turn has a scene.
    """
    scene, at = turn.scene, story.path.index(turn.id)
    assert scene is not None
    last = story.head is turn
    contents: list[Text | Choices | Notice] = [
        below_dice(turn, scene.text),
        *flagged(scene, at + 1, say, last=last),
    ]
    if last:
        contents += ways(scene.choices, turn, say)
    elif scene.choices:
        options = (*acts(scene.choices), something_else(say))
        text = story.turns[story.path[at + 1]].act.text if at + 1 < len(story.path) else ""
        chosen = scene.choices.index(text) if text in scene.choices else len(options) - 1
        contents.append(Choices(say("story.what_now"), options, taken=chosen))
    if story.head is not turn:
        contents.append(Choices("", (stopcard(turn.id, say),)))
    return Changed(turn.shown_by, turn.stage, say("story.scene", n=at + 1), tuple(contents), speaker=speaker)


def flagged(scene: Scene, number: int, say: Words, *, last: bool = False) -> tuple[Notice | Choices, ...]:
    """What goes beyond the table's agreement or contradicts the state, and what can be done about it; nothing once
    somebody has decided.

    The `last` scene can be written another way, also where it acts for a player; behind the others a branch can go on.
    """
    acts_for = (Notice(say("story.acts_for", names=", ".join(scene.acts_for))),)
    notices = acts_for if last and scene.acts_for else ()
    of_flags = [
        Notice("\n".join([say(f"story.{name}"), *(f"- {flag}" for flag in flags)]))
        for name, flags in (("crossed", scene.crossed), ("flagged", scene.flags))
        if flags
    ]
    if not of_flags:
        return notices
    correct = Choice(say("story.flag_correct"), "/story correct", say("story.flag_correct_how"))
    how = (
        Choice(say("story.flag_keep"), f"/story keep {scene.id}"),
        *((correct,) if scene.flags else ()),
        Choice(say("story.button_retry"), "/story retry")
        if last
        else Choice(say("story.fork_here"), f"/story fork --scene {number}"),
    )
    return (*notices, *of_flags, Choices(say("story.flag_what"), how))


def below_dice(turn: Turn | None, text: str) -> Text:
    """The text of a scene, below the dice of its turn."""
    dice = turn.act.dice if turn is not None else ()
    return Text("".join(f"🎲 {line}\n\n" for line in dice) + text)


def acts(choices: Sequence[str]) -> tuple[Choice, ...]:
    return tuple(Choice(label(choice), f"/story act -- {choice}") for choice in choices)


def stopcard(turn: str, say: Words) -> Choice:
    return Choice(say("story.button_stopcard"), f"/story stopcard {card_code(turn)}")


def card_code(turn: str) -> str:
    """The end of a turn's id, to be typed where there are no buttons; unique within a story."""
    run, _, key = turn.rpartition("/")
    return f"{run[-CODE:]}/{key}"


def something_else(say: Words) -> Choice:
    return Choice(say("story.something_else"), "/story act", say("story.what_do_you_do"))


def label(text: str) -> str:
    return text if len(text) <= LABEL_CHARS else text[: LABEL_CHARS - 1].rstrip() + "…"
