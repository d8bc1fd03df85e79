"""The choices and buttons under a scene: parsed from a model's text, offered, and later disabled."""

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
_LINE = re.compile(
    r"^([^\S\n]*+(?:(?:[-*+>]|\d++[.)]|#{1,6}+)[^\S\n]++)*+)(\S++(?:[^\S\n]++\S++)*+)", re.MULTILINE
)
"""A line of Markdown that is not blank: its marks, such as "- " or "> ", and its words."""

CODE_CHARS: Final = 8
"""How many characters of the end of a run's id are part of a stop card's code."""


@dataclass(frozen=True, slots=True)
class PreviousMessage:
    """The message whose buttons a new scene replaces: that of the scene before, or of its own earlier version.

    `again` means the latter; then `by` is the name of the person who asked for another version of the scene `n`.
    """

    run: str
    text: str
    stage: str = SCENE
    speaker: Speaker | None = None
    turn: str = ""
    n: int = 0
    again: bool = False
    by: str = ""

    def changed(self, story: Story, say: Words) -> Changed | None:
        """The message without its buttons; None if a stop card has withdrawn the turn meanwhile."""
        if (turn := story.turns.get(self.turn)) is None or self.turn in story.withdrawn_turns:
            return None
        if not self.again:
            return scene_changed(story, turn, say, self.speaker) if turn.shown_by else None
        title = f"{say('story.scene', n=self.n)} · {_with_name(say('story.replaced'), self.by)}"
        contents = (Text(struck_out(with_dice(turn, self.text).text)),)
        return Changed(self.run, self.stage, title, contents, in_place=True, speaker=self.speaker)


def read_choices(text: str, most: int) -> list[str]:
    """At most `most` different choices that a model wrote as JSON, as a list, or as short lines."""
    if choices := _json_choices(text):
        text = "\n".join(f"- {choice}" for choice in choices)
    else:
        text = text.replace("**", "").replace("__", "")
    lines = [line.strip().strip('*_`"“”').strip() for line in text.splitlines()]
    listed = [_BULLET.sub("", line).strip('*_`"“” ') for line in lines if _BULLET.match(line)]
    listed = listed or [line for line in lines if line and len(line) <= 120 and not line.endswith(":")]
    labels = [" ".join(line.split())[:CHOICE_CHARS] for line in listed]
    return list(dict.fromkeys(label for label in labels if any(map(str.isalnum, label))))[:most]


def _json_choices(text: str) -> list[str]:
    """The texts of a JSON list or object; none without JSON."""
    opening = min((at for at in (text.find("["), text.find("{")) if at >= 0), default=-1)
    closing = max(text.rfind("]"), text.rfind("}"))
    if not 0 <= opening < closing < JSON_CHARS:
        return []
    try:
        rows = json.loads(text[opening : closing + 1])
    except (ValueError, RecursionError):
        return []
    if isinstance(rows, dict):
        rows = next((value for value in rows.values() if isinstance(value, list)), [])
    texts = (next(iter(row.values()), "") if isinstance(row, dict) else row for row in rows)
    return [" ".join(row.split()) for row in texts if isinstance(row, str)]


def words_of(story: Story, request: Request) -> Words:
    """The words of the story's language, which its scenes keep for people with other languages."""
    return words(str(story.settings.get("language") or request.locale))


def present_buttons_owner(story: Story, id: str) -> str:
    """The `Choice.under` of the present scene's buttons; before the first turn, the `id` of the story."""
    return buttons_owner(story.head) or id


def buttons_owner(turn: Turn | None) -> str:
    """The `Choice.under` of the buttons under a turn: the version that counts, or the turn if it has no scene."""
    if turn is None:
        return ""
    return turn.scene.id if turn.scene is not None else turn.id


def played_elsewhere(run: str, branch: str, under: str, say: Words) -> tuple[Event, ...]:
    """The answer in a thread whose branch is now played in another one, with a link to the run there."""
    choices = (
        Choice(say("story.button_take_back"), f"/story switch {branch[-ALIAS:]}"),
        Choice(say("story.button_fork"), "/story fork", under=under),
    )
    link = (Link(run, say("story.where_it_goes_on")),) if run else ()
    return (Stage(SCENE, ""), Text(say(TAKEN_AWAY)), *link, Choices(say("story.what_now"), choices))


def buttons_after(
    choices: Sequence[str], turn: Turn | None, say: Words, *, votes: bool = False, cut: bool = False
) -> list[Choices]:
    """The buttons under the present scene: its choices or a vote on them, its versions, and what else can be done.

    `cut` means that the scene was stopped, so that the rest can be asked for.
    """
    groups, owner = [], buttons_owner(turn)
    other = something_else_button(say, owner)
    card = (stopcard_button(turn.id, say),) if turn is not None else ()
    if turn is not None and turn.act.mode == "end" and turn.scene is not None:
        book, page = (
            Choice(say(f"story.end_{kind}"), f"/story export --as {kind}") for kind in ("epub", "markdown")
        )
        groups.append(Choices(say("story.ended"), (book, page, *card)))
    elif choices and votes:
        groups.append(
            Choices(say("story.vote"), tuple(Choice(label(choice), "") for choice in choices), votes=True)
        )
        winner = Choice(say("story.play_winner"), "/story continue", under=owner)
        groups.append(Choices(say("story.vote_over"), (winner, other, *card)))
    else:
        groups.append(Choices(say("story.what_now"), (*act_buttons(choices, owner), other, *card)))
    buttons = []
    if turn is not None and len(turn.versions) > 1 and turn.scene is not None:
        at, count = turn.versions.index(turn.scene) + 1, len(turn.versions)
        buttons += [
            Choice(f"◀ {at}/{count}", "/story flip back", under=owner),
            Choice(f"{at}/{count} ▶", "/story flip next", under=owner),
        ]
    if cut:
        buttons.append(Choice(say("story.button_more"), "/story more", under=owner))
    buttons += [
        Choice(say("story.button_continue"), "/story continue", under=owner),
        Choice(say("story.button_retry"), "/story retry", under=owner),
        Choice(say("story.button_hint"), "/story retry", say("story.hint_ask"), under=owner),
        Choice(say("story.button_undo"), "/story undo", under=owner),
    ]
    groups.append(Choices(say("story.or"), tuple(buttons)))
    return groups


def buttons_after_refusal(turn: str, say: Words) -> Choices:
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
    """The message of a turn's scene as it must look now; the turn must have a scene.

    The present scene has the buttons for continuing, an earlier one shows which choice was taken, and an undone one is
    struck out, with the name `by` of the person who undid it.
    """
    scene, at = turn.scene, _number(story, turn) - 1
    assert scene is not None
    title, last = say("story.scene", n=at + 1), story.head is turn
    if turn.id in story.hidden:
        title = f"{title} · {say('story.is_hidden')}"
    card = Choices("", (stopcard_button(turn.id, say),))
    text = with_dice(turn, scene.text)
    if turn.id not in story.path[: story.length]:
        title = f"{title} · {_with_name(say('story.taken_back'), by)}"
        contents: tuple[Text | Choices | Notice, ...] = (Text(struck_out(text.text)),)
        return Changed(turn.shown_by, turn.stage, title, contents, in_place=True, speaker=speaker)
    notices = [say("story.scene_stopped")] if scene.stopped else []
    notices += [say("story.hinted", hint=scene.hint)] if scene.hint else []
    groups: Sequence[Choices]
    if last:
        votes = story.settings.get("mode") == "vote"
        groups = buttons_after(scene.choices, turn, say, votes=votes, cut=scene.stopped)
    else:
        groups = (*_taken_choice(scene, story.turns[story.path[at + 1]].act, say), card)
    flags = flag_notices(scene, at + 1, say, last=last)
    contents = (
        text,
        *map(Notice, notices),
        *flags,
        *groups,
        *_enlist_buttons(story, scene, say),
        *_proposal_buttons(story, scene, say),
    )
    return Changed(
        turn.shown_by, turn.stage, title, contents, in_place=not last, speaker=speaker, answer=True
    )


def stop_card_changed(story: Story, id: str, say: Words) -> Changed | None:
    """The message of the last stop card without its buttons, once the turn `id` has continued from there.

    None if no card was played directly before this turn.
    """
    if (turn := story.turns.get(id)) is None:
        return None
    before = story.turns.get(turn.after)
    if not (before.first if before is not None else 0) < story.stop_card_seq < turn.first:
        return None
    last = next((id for id in reversed(story.turns) if id in story.withdrawn_turns), "")
    run = story.turns[last].shown_by or last.partition("/")[0] if last else ""
    text = (Text(say("story.carded")),)
    return Changed(run, story.turns[last].stage, "", text, in_place=True) if run else None


def _taken_choice(scene: Scene, act: Act, say: Words) -> tuple[Choices, ...]:
    """The choices under an earlier scene, with the one that the next turn took; none if nothing was offered."""
    options = [*act_buttons(scene.choices), something_else_button(say)]
    taken = len(options) - 1
    if act.text in scene.choices:
        taken = scene.choices.index(act.text)
    elif act.mode == "continue":
        options.append(Choice(say("story.button_continue"), "/story continue"))
        taken = -1 if act.speaker else len(options) - 1
    elif not scene.choices:
        return ()
    return (Choices(say("story.what_now"), tuple(options), taken=taken, by=act.name),)


def _with_name(title: str, name: str) -> str:
    return f"{title} · {name}" if name else title


def _number(story: Story, turn: Turn) -> int:
    """The number of the turn's scene, from 1, even if the turn is no longer on the branch."""
    number, id = 0, turn.id
    while id and id in story.turns:
        number, id = number + 1, story.turns[id].after
    return number


def struck_out(text: str) -> str:
    """Markdown with each line struck out."""
    return _LINE.sub(lambda line: f"{line[1]}~~{line[2].replace('~~', '')}~~", text)


def flag_notices(
    scene: Scene, number: int, say: Words, *, last: bool = False
) -> tuple[Notice | Choices, ...]:
    """Notices of what violates the table's agreement or contradicts the state, with buttons to settle it.

    Under a scene that is not the `last` one, a button offers a branch instead of another version.
    """
    acts_for = (Notice(say("story.acts_for", names=", ".join(scene.acts_for))),)
    notices = acts_for if last and scene.acts_for else ()
    flag_lists = [
        Notice("\n".join([say(f"story.{name}"), *(f"- {flag}" for flag in flags)]))
        for name, flags in (("crossed", scene.crossed), ("flagged", scene.flags))
        if flags
    ]
    if not flag_lists:
        return notices
    correct = Choice(
        say("story.flag_correct"), "/story correct", say("story.flag_correct_how"), under=scene.id
    )
    buttons = (
        Choice(say("story.flag_keep"), f"/story settle {scene.id}", under=scene.id),
        *((correct,) if scene.flags else ()),
        *(() if last else (fork_button(scene.id, number, say),)),
    )
    return (*notices, *flag_lists, Choices(say("story.flag_what"), buttons))


def _enlist_buttons(story: Story, scene: Scene, say: Words) -> tuple[Choices, ...]:
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
    """The scene's changes to sheets that nobody has applied or ignored yet, with their numbers from 1."""
    if scene.extracted is None:
        return []
    decided = {change.proposal for change in story.sheet_changes if change.scene == scene.id}
    return [(n, proposal) for n, proposal in enumerate(scene.extracted.changes, 1) if n not in decided]


def _proposal_buttons(story: Story, scene: Scene, say: Words) -> tuple[Choices, ...]:
    """Buttons that apply the scene's changes to sheets, and one that ignores them."""
    if not (proposals := open_proposals(story, scene)):
        return ()
    buttons = []
    for n, proposal in proposals:
        text = label(say("story.sheet_apply", name=proposal.name, changes=proposal.text))
        buttons.append(Choice(text, f"/story apply {n} {scene.id}", under=scene.id))
    ignore = Choice(say("story.sheet_ignore"), f"/story apply 0 {scene.id}", under=scene.id)
    return (Choices(say("story.sheet_proposed"), (*buttons, ignore)),)


def with_dice(turn: Turn | None, text: str) -> Text:
    """The text of a scene, below its turn's dice."""
    dice = turn.act.dice if turn is not None else ()
    return Text("".join(f"🎲 {line}\n\n" for line in dice) + text)


def act_buttons(choices: Sequence[str], under: str = "") -> tuple[Choice, ...]:
    return tuple(Choice(label(choice), f"/story act -- {choice}", under=under) for choice in choices)


def fork_button(under: str, number: int, say: Words) -> Choice:
    """The button for a branch after a scene, whose `number` is in the command for people who type it."""
    return Choice(say("story.fork_here"), f"/story fork --scene {number}", under=under)


def stopcard_button(turn: str, say: Words) -> Choice:
    return Choice(say("story.button_stopcard"), f"/story stopcard {card_code(turn)}", under=turn)


def card_code(turn: str) -> str:
    """A turn's code for typing where there are no buttons: the end of its id, unique within a story."""
    run, _, key = turn.rpartition("/")
    return f"{run[-CODE_CHARS:]}/{key}"


def something_else_button(say: Words, under: str = "") -> Choice:
    return Choice(say("story.something_else"), "/story act", say("story.what_do_you_do"), under=under)


def label(text: str) -> str:
    """The text, shortened for a button."""
    return text if len(text) <= LABEL_CHARS else text[: LABEL_CHARS - 1].rstrip() + "…"
