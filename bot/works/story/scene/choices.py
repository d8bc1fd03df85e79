"""The choices under a scene: parsed from a model's text, offered as buttons, and later disabled."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.events import Changed, Choice, Choices, Event, Link, Notice, Request, Speaker, Stage, Text
from bot.words import Words, words
from bot.works.story.log.logs import TAKEN_AWAY
from bot.works.story.log.story import Story
from bot.works.story.log.turn import SCENE, Act, Proposal, Scene, Turn
from storage.stories import ALIAS

LABEL_CHARS = 75
"""The maximum length of a button's label (Discord's limit is 80, Slack's 75); the choice itself is not cut."""
CHOICE_CHARS = 300
JSON_CHARS = 20_000
"""The maximum length of an answer that is read as JSON."""
_BULLET = re.compile(r"^\s*(?:[-*•–—]+|\(?\d{1,2}[.):]|[A-Fa-f][.)])\s+")
_WORDS = re.compile(
    r"^([^\S\n]*+(?:(?:[-*+>]|\d++[.)]|#{1,6}+)[^\S\n]++)*+)(\S++(?:[^\S\n]++\S++)*+)", re.MULTILINE
)
"""A line's marks, and its words."""

CODE: Final = 8
"""How many characters of the end of a run's id name a turn."""


@dataclass(frozen=True, slots=True)
class Before:
    """The message of the previous scene: the scene of the last turn, or, with `again`, the version that a new one
    replaces. `n` is the scene's number; `by` is the name of the person who asked for the other version.
    """

    run: str
    text: str
    stage: str = SCENE
    speaker: Speaker | None = None
    turn: str = ""
    n: int = 0
    again: bool = False
    by: str = ""

    def passed_over(self, story: Story, say: Words) -> Changed | None:
        """The new content of its message; None if a stop card has withdrawn it meanwhile."""
        if (turn := story.turns.get(self.turn)) is None or self.turn in story.carded:
            return None
        if not self.again:
            return scene_changed(story, turn, say, self.speaker) if turn.shown_by else None
        title = f"{say('story.scene', n=self.n)} · {_by(say('story.replaced'), self.by)}"
        contents = (Text(struck(below_dice(turn, self.text).text)),)
        return Changed(self.run, self.stage, title, contents, in_place=True, speaker=self.speaker)


def read_choices(text: str, most: int) -> list[str]:
    """Parse the choices that a model wrote: its JSON, the lines of its list, or its short lines; each once."""
    text = "\n".join(f"- {choice}" for choice in _json_choices(text)) or text.replace("**", "").replace(
        "__", ""
    )
    lines = [line.strip().strip('*_`"“”').strip() for line in text.splitlines()]
    listed = [_BULLET.sub("", line).strip('*_`"“” ') for line in lines if _BULLET.match(line)]
    listed_lines = listed or [line for line in lines if line and len(line) <= 120 and not line.endswith(":")]
    labels = [" ".join(line.split())[:CHOICE_CHARS] for line in listed_lines]
    return list(dict.fromkeys(line for line in labels if any(map(str.isalnum, line))))[:most]


def _json_choices(text: str) -> list[str]:
    """The texts of a JSON list or object; none without JSON."""
    opening = min((at for at in (text.find("["), text.find("{")) if at >= 0), default=-1)
    closing = max(text.rfind("]"), text.rfind("}"))
    if not 0 <= opening < closing < JSON_CHARS:
        return []
    try:
        found = json.loads(text[opening : closing + 1])
    except (ValueError, RecursionError):
        return []
    rows = (
        next((row for row in found.values() if isinstance(row, list)), [])
        if isinstance(found, dict)
        else found
    )
    texts = (next(iter(row.values()), "") if isinstance(row, dict) else row for row in rows)
    return [" ".join(row.split()) for row in texts if isinstance(row, str)]


def words_of(story: Story, request: Request) -> Words:
    """The words of the story's language: its scenes keep that language, whoever presses."""
    return words(str(story.settings.get("language") or request.locale))


def under(story: Story, id: str) -> str:
    """What the buttons of the present scene belong to: the version that counts, or the turn if nothing was written for
    it, or the story with this `id` before its first turn.
    """
    return under_turn(story.head) or id


def under_turn(turn: Turn | None) -> str:
    return "" if turn is None else turn.scene.id if turn.scene is not None else turn.id


def played_elsewhere(run: str, branch: str, under: str, say: Words) -> tuple[Event, ...]:
    """The events that say in a thread that its branch is now played in another one, with a link to the run there."""
    ways = (
        Choice(say("story.button_take_back"), f"/story switch {branch[-ALIAS:]}"),
        Choice(say("story.button_fork"), "/story fork", under=under),
    )
    link = (Link(run, say("story.where_it_goes_on")),) if run else ()
    return (Stage(SCENE, ""), Text(say(TAKEN_AWAY)), *link, Choices(say("story.what_now"), ways))


def ways(
    choices: Sequence[str], turn: Turn | None, say: Words, *, votes: bool = False, cut: bool = False
) -> list[Choices]:
    """The buttons after a scene: the choices, "something else", another version, back, continue; the rest if it was
    cut.
    """
    groups, of = [], under_turn(turn)
    own, card = something_else(say, of), (stopcard(turn.id, say),) if turn is not None else ()
    if turn is not None and turn.act.mode == "end" and turn.scene is not None:
        book, page = (
            Choice(say(f"story.end_{kind}"), f"/story export --as {kind}") for kind in ("epub", "markdown")
        )
        groups.append(Choices(say("story.ended"), (book, page, *card)))
    elif choices and votes:
        groups.append(
            Choices(say("story.vote"), tuple(Choice(label(choice), "") for choice in choices), votes=True)
        )
        winner = Choice(say("story.play_winner"), "/story continue", under=of)
        groups.append(Choices(say("story.vote_over"), (winner, own, *card)))
    else:
        groups.append(Choices(say("story.what_now"), (*acts(choices, of), own, *card)))
    buttons = []
    if turn is not None and len(turn.versions) > 1 and turn.scene is not None:
        at, count = turn.versions.index(turn.scene) + 1, len(turn.versions)
        buttons += [
            Choice(f"◀ {at}/{count}", "/story flip back", under=of),
            Choice(f"{at}/{count} ▶", "/story flip next", under=of),
        ]
    if cut:
        buttons.append(Choice(say("story.button_more"), "/story more", under=of))
    buttons += [
        Choice(say("story.button_continue"), "/story continue", under=of),
        Choice(say("story.button_retry"), "/story retry", under=of),
        Choice(say("story.button_hint"), "/story retry", say("story.hint_ask"), under=of),
        Choice(say("story.button_undo"), "/story undo", under=of),
    ]
    groups.append(Choices(say("story.or"), tuple(buttons)))
    return groups


def ways_after_refusal(turn: str, say: Words) -> Choices:
    """The buttons after the model has refused to write the turn's scene."""
    return Choices(
        say("story.refused_what"),
        (
            Choice(say("story.button_retry"), "/story retry", under=turn),
            Choice(say("story.button_soften"), "/story retry --soften", under=turn),
            Choice(say("story.button_own_words"), "/story edit", say("story.own_words_ask"), under=turn),
            Choice(say("story.button_model"), "/settings set model.writer", say("story.model_ask")),
        ),
    )


def scene_changed(
    story: Story, turn: Turn, say: Words, speaker: Speaker | None = None, *, by: str = ""
) -> Changed:
    """The present content of a scene's message. The present scene has its open flags and the buttons for continuing; an
    earlier one shows which choice was taken; a withdrawn one is struck out, with the name `by`. A scene that counts
    always has the stop card. Expects a turn with a scene.
    """
    scene, at = turn.scene, _number(story, turn) - 1
    assert scene is not None
    title, last = say("story.scene", n=at + 1), story.head is turn
    if turn.id in story.hidden:
        title = f"{title} · {say('story.is_hidden')}"
    card = Choices("", (stopcard(turn.id, say),))
    text = below_dice(turn, scene.text)
    if turn.id not in story.path[: story.length]:
        title = f"{title} · {_by(say('story.taken_back'), by)}"
        contents: tuple[Text | Choices | Notice, ...] = (Text(struck(text.text)),)
        return Changed(turn.shown_by, turn.stage, title, contents, in_place=True, speaker=speaker)
    notices = [say("story.scene_stopped")] if scene.stopped else []
    notices += [say("story.hinted", hint=scene.hint)] if scene.hint else []
    groups: Sequence[Choices]
    if last:
        votes = story.settings.get("mode") == "vote"
        groups = ways(scene.choices, turn, say, votes=votes, cut=scene.stopped)
    else:
        groups = (*_taken(scene, story.turns[story.path[at + 1]].act, say), card)
    flags = flagged(scene, at + 1, say, last=last)
    contents = (
        text,
        *map(Notice, notices),
        *flags,
        *groups,
        *_noticed(story, scene, say),
        *_proposed(story, scene, say),
    )
    return Changed(
        turn.shown_by, turn.stage, title, contents, in_place=not last, speaker=speaker, answer=True
    )


def carded(story: Story, id: str, say: Words) -> Changed | None:
    """Removes the buttons from the place of the last stop card, once the turn has continued from there; None if other
    turns came in between, or no card was played.
    """
    if (turn := story.turns.get(id)) is None:
        return None
    before = story.turns.get(turn.after)
    if not (before.first if before is not None else 0) < story.card_at < turn.first:
        return None
    last = next((id for id in reversed(story.turns) if id in story.carded), "")
    run = story.turns[last].shown_by or last.partition("/")[0] if last else ""
    text = (Text(say("story.carded")),)
    return Changed(run, story.turns[last].stage, "", text, in_place=True) if run else None


def _taken(scene: Scene, act: Act, say: Words) -> tuple[Choices, ...]:
    """The choices under a scene, with the one that the next turn took; none if nothing was offered."""
    options = [*acts(scene.choices), something_else(say)]
    taken = len(options) - 1
    if act.text in scene.choices:
        taken = scene.choices.index(act.text)
    elif act.mode == "continue":
        options.append(Choice(say("story.button_continue"), "/story continue"))
        taken = -1 if act.speaker else len(options) - 1
    elif not scene.choices:
        return ()
    return (Choices(say("story.what_now"), tuple(options), taken=taken, by=act.name),)


def _by(what: str, name: str) -> str:
    return f"{what} · {name}" if name else what


def _number(story: Story, turn: Turn) -> int:
    """The number of the turn's scene, also of one that is no longer on any branch."""
    number, id = 0, turn.id
    while id and id in story.turns:
        number, id = number + 1, story.turns[id].after
    return number


def struck(text: str) -> str:
    """Markdown with each line struck out."""
    return _WORDS.sub(lambda line: f"{line[1]}~~{line[2].replace('~~', '')}~~", text)


def flagged(scene: Scene, number: int, say: Words, *, last: bool = False) -> tuple[Notice | Choices, ...]:
    """What violates the table's agreement or contradicts the state, with buttons to handle it; nothing once somebody
    has decided.

    For a scene that is not the `last` one, a branch is offered; the last one can be written again (`ways`).
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
    correct = Choice(
        say("story.flag_correct"), "/story correct", say("story.flag_correct_how"), under=scene.id
    )
    how = (
        Choice(say("story.flag_keep"), f"/story settle {scene.id}", under=scene.id),
        *((correct,) if scene.flags else ()),
        *(() if last else (fork_here(scene.id, number, say),)),
    )
    return (*notices, *of_flags, Choices(say("story.flag_what"), how))


def _noticed(story: Story, scene: Scene, say: Words) -> tuple[Choices, ...]:
    """A button for each person who recurs up to this scene and is not in the cast."""
    cast = {name.casefold() for name in story.cast}
    names = scene.extracted.noticed if scene.extracted is not None else ()
    offered = tuple(
        Choice(label(say("story.button_enlist", name=name)), f"/story enlist -- {name}", under=scene.id)
        for name in names
        if name.casefold() not in cast
    )
    return (Choices(say("story.noticed"), offered),) if offered else ()


def open_proposals(story: Story, scene: Scene) -> list[tuple[int, Proposal]]:
    """The changes to sheets by the scene that nobody has applied or ignored yet, by number."""
    if scene.extracted is None:
        return []
    decided = {change.proposal for change in story.sheet_changes if change.scene == scene.id}
    return [(n, own) for n, own in enumerate(scene.extracted.changes, 1) if n not in decided]


def _proposed(story: Story, scene: Scene, say: Words) -> tuple[Choices, ...]:
    """Buttons that apply the scene's changes to sheets, and one that ignores them."""
    if not (proposals := open_proposals(story, scene)):
        return ()
    ways = []
    for n, own in proposals:
        text = label(say("story.sheet_apply", name=own.name, changes=own.text))
        ways.append(Choice(text, f"/story apply {n} {scene.id}", under=scene.id))
    ignore = Choice(say("story.sheet_ignore"), f"/story apply 0 {scene.id}", under=scene.id)
    return (Choices(say("story.sheet_proposed"), (*ways, ignore)),)


def below_dice(turn: Turn | None, text: str) -> Text:
    """The text of a scene, below its turn's dice."""
    dice = turn.act.dice if turn is not None else ()
    return Text("".join(f"🎲 {line}\n\n" for line in dice) + text)


def acts(choices: Sequence[str], under: str = "") -> tuple[Choice, ...]:
    return tuple(Choice(label(choice), f"/story act -- {choice}", under=under) for choice in choices)


def fork_here(under: str, number: int, say: Words) -> Choice:
    """The button for a branch. `number` is for people who type the line; the button knows its scene."""
    return Choice(say("story.fork_here"), f"/story fork --scene {number}", under=under)


def stopcard(turn: str, say: Words) -> Choice:
    return Choice(say("story.button_stopcard"), f"/story stopcard {card_code(turn)}", under=turn)


def card_code(turn: str) -> str:
    """The end of a turn's id, for typing where there are no buttons; unique within a story."""
    run, _, key = turn.rpartition("/")
    return f"{run[-CODE:]}/{key}"


def something_else(say: Words, under: str = "") -> Choice:
    return Choice(say("story.something_else"), "/story act", say("story.what_do_you_do"), under=under)


def label(text: str) -> str:
    return text if len(text) <= LABEL_CHARS else text[: LABEL_CHARS - 1].rstrip() + "…"
