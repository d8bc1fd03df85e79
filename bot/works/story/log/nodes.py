"""The nodes of which a story's log is made, and how branches share them.

Nothing in a log is overwritten: undo, another version, an edit append nodes that move pointers. Knows no database: a
node is whatever has its fields (`storage.stories.NodeRow`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from datetime import datetime

LENGTHS: Final = ("short", "medium", "long")
VIEWS: Final = ("first", "second", "third")
TENSES: Final = ("past", "present")
RATINGS: Final = ("everyone", "teen", "mature")
MODES: Final = ("free", "round-robin", "vote", "gm")
CHECKS: Final = ("1", "3", "all")
KINDS: Final = ("action", "dialogue", "relationship")
"""Of what a character remembers."""

Kind: TypeAlias = Literal[
    "act",
    "scene",
    "choices",
    "hint",
    "flip",
    "head",
    "set",
    "cast",
    "lore",
    "memory",
    "idea",
    "preset",
    "intent",
    "forgotten",
    "extracted",
    "corrected",
    "ticked",
    "thread",
    "arc",
    "aside",
    "settled",
    "hidden",
    "chapter",
    "safety",
    "stopcard",
    "party",
    "whisper",
    "summed",
    "sheet",
    "initiative",
    "screen",
]
"""What a node is, and what its body holds:

act       a turn begins, or is worded anew (its `turn` is then another's): {mode, text, name, character?, speaker?,
          rolls?}
scene     a version of the turn's scene: {text, at?, model?, stopped?, edited?, run?, stage?, recalled?, lore?,
          acts_for?, lore_tokens?, timed_lore?}
choices   what is offered under a scene: {scene, choices}
hint      what somebody wished for a version of a scene, which was written by it: {scene, text}
flip      the version of the turn that counts: {scene} or {act}; {run} shows it from now on
head      undo and redo: the story now ends with the node's `turn`, "" for before the first
set       settings by name: {title?, premise?, genre?, tone?, view?, tense?, length?, prose?, prose_lines?, mode?,
          note?, language?, …}; `prose` is the name of a style, `prose_lines` are its instructions for the writer;
          `sheets` is the name of the sheets' template, `sheet_rules` the template as JSON
cast      a character's sheet by name, or None: {name, sheet, scene?}; with `scene` the writer has thought it up
          behind that version of the node's `turn`, and it counts as long as that does
lore      an entry of the lorebook by id, or None: {id, entry}
memory    a pinned memory by id, or None: {id, text}
idea      an idea by id, or None: {id, text}
preset    how two characters deal with each other, "" for nothing said: {pair, preset, lines}
intent    what somebody wants to do, until the game master's next turn: {text, name}
forgotten a node whose words are recalled no more: {node}
extracted what a small model has found in a version of the turn's scene, or in an act that has none: {scene, summary,
          place, time, state: [{name, where, holding, wearing, mood, relations: [[other, text]], dead,
          present?}], memories: [{character, kind, text}], events, done, flags, crossed?, opened?: [{id, text}],
          closed?, noticed?, changes?, turns?, lines?}; or only {scene, failed} while no answer about it could be used,
          so many times
corrected what a person says of a character as it stands behind the node's `turn`: {character, field, value}
ticked    whether a key event, or the climax of the chapter that is named, has happened behind the node's `turn`, as a
          person says: {event, happened}
thread    a plot thread behind the node's `turn`, as a person says: {id, text, open}
aside     what a person has asked the writer beside the story, and the answer: {verb, about, question, answer}
settled   what was flagged of a version of the turn's scene counts as it stands now: {scene}
hidden    whether the node's `turn` is kept out of prompts, though it counts: {hidden}
chapter   a chapter that begins behind the node's `turn`; again by the same id, as it has become: {id, title, location,
          time, scenario, key_events: [{id, text}], climax, resolution, scene?}; with `scene` as a cast's
arc       the milestones of the story, in order: {milestones: [{id, act, text}]}
party     somebody has joined or left, or plays a character: {person, name, here, plays?, selves?}
whisper   words between the game master and a player, which nobody else is told: {to, name, text}
screen    what is kept behind the game master's screen, of the whole story, by its `kind`: a place {platform, channel},
          a plan {n, text}, a roll {n, text, rolled, for}, a trial {n, text, scene, after, act}; or a change of the
          entry `n`: {told?, shown?, removed?}
safety    what the table has agreed on, each part by its name; of the whole story: {rating, lines, veils}
sheet     changes of a character's numbers behind the node's `turn`, which count as long as that does, and as the
          version `scene` of it; without a turn always; or its sheet is gone: {name, changes?: [{field, to?, by?,
          most?, on?, rounds?}], removed?, scene?, proposal?}; with `proposal`, a number from 1, it decides on that of
          the scene's `changes`: {name, text, changes}
initiative
          the order of a fight behind the node's `turn`, whose turn it is by index, and the round; an empty order once
          it is over: {order: [{name, score}], round, at}
summed    scenes, or summaries, in one text, by their nodes; `turn` is the last of them, and the author of a
          correction is who wrote it. It counts wherever these stand, so it is of the whole story: {of, text}
stopcard  the node's `turn` is gone from all branches, with what was played on from it: {}. It is of the whole story
          and nobody's: who played the card is not kept.
"""

SHARED_UP_TO_CUT: Final = frozenset(
    (
        "set",
        "cast",
        "lore",
        "memory",
        "idea",
        "preset",
        "intent",
        "forgotten",
        "chapter",
        "arc",
        "party",
        "whisper",
    )
)
"""Of a branch's past, these count up to the turn where it leaves its parent: what was set later is not its own."""

OF_ALL: Final = frozenset(("safety", "stopcard", "summed", "screen"))
"""These are of all branches, whichever they were made on: their nodes are of none (`branch_id` "")."""


class Node(Protocol):
    """One row of the log. `body` is JSON, or "" once its words were withdrawn."""

    @property
    def seq(self) -> int: ...
    @property
    def id(self) -> str: ...
    @property
    def branch_id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def turn(self) -> str: ...
    @property
    def run_id(self) -> str: ...
    @property
    def author_id(self) -> str: ...
    @property
    def body(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...


class Branch(Protocol):
    """See `storage.stories.BranchRow`."""

    @property
    def id(self) -> str: ...
    @property
    def parent(self) -> str: ...
    @property
    def turn(self) -> str: ...
    @property
    def cut(self) -> int: ...
    @property
    def until(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Part:
    """As much of a branch's log as another one shares; the next part leaves it behind `turn`.

    `until` bounds its nodes, `cut` those of SHARED_UP_TO_CUT; None where all of them count. `turn` is None of the last.
    """

    branch: str
    until: int | None = None
    cut: int | None = None
    turn: str | None = None


def lineage(branches: Mapping[str, Branch], leaf: str, at: int | None = None) -> list[Part]:
    """The parts that make up a branch, the oldest first; as of the node `at`, if given."""
    parts: list[Part] = []
    until, cut, turn = at, at, None
    branch: Branch | None = branches[leaf]
    while branch is not None:
        parts.append(Part(branch.id, until, cut, turn))
        until = branch.until if until is None else min(until, branch.until)
        cut = branch.cut if cut is None else min(cut, branch.cut)
        turn = branch.turn
        branch = branches.get(branch.parent) if branch.parent else None
    return parts[::-1]
