"""The nodes of a story's log, and how branches share them.

A log is append-only: undo, another version and an edit append nodes that move pointers.
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
"""The kinds of a character's memories."""

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

act       a turn begins, or is reworded (its `turn` is then another's): {mode, text, name, character?, speaker?,
          rolls?}
scene     a version of the turn's scene: {text, at?, model?, stopped?, edited?, run?, stage?, recalled?, lore?,
          acts_for?, lore_tokens?, timed_lore?}
choices   the choices under a scene: {scene, choices}
hint      somebody's wish, with which a version of a scene was written: {scene, text}
flip      the version of the turn that counts: {scene} or {act}; {run} shows it from now on
head      undo and redo: the story now ends with the node's `turn`, "" for before the first
set       settings by name: {title?, premise?, genre?, tone?, view?, tense?, length?, prose?, prose_lines?, mode?,
          note?, language?, …}; `prose` is the name of a style, `prose_lines` are its instructions for the writer;
          `sheets` is the name of the sheets' template, `sheet_rules` the template as JSON
cast      a character's sheet by name, or None: {name, sheet, scene?}; with `scene` the writer has invented it
          after that version of the node's `turn`, and it counts as long as that does
lore      an entry of the lorebook by id, or None: {id, entry}
memory    a pinned memory by id, or None: {id, text}
idea      an idea by id, or None: {id, text}
preset    how two characters deal with each other, "" for unset: {pair, preset, lines}
intent    what somebody wants to do, until the game master's next turn: {text, name}
forgotten a node whose words are no longer recalled: {node}
extracted what a small model has found in a version of the turn's scene, or in an act that has none: {scene, summary,
          place, time, state: [{name, where, holding, wearing, mood, relations: [[other, text]], dead,
          present?}], memories: [{character, kind, text}], events, done, flags, crossed?, opened?: [{id, text}],
          closed?, noticed?, changes?, turns?, lines?}; or only {scene, failed}, the number of
          failures, while no answer about it could be used
corrected a person's correction of a character's state after the node's `turn`: {character, field, value}
ticked    a person's statement whether a key event, or the climax of the named chapter, has happened after the
          node's `turn`: {event, happened}
thread    a person's change of a plot thread after the node's `turn`: {id, text, open}
aside     a person's question to the writer outside the story, and the answer: {verb, about, question, answer}
settled   the flags of a version of the turn's scene are accepted: {scene}
hidden    whether the node's `turn` is left out of prompts although it counts: {hidden}
chapter   a chapter that begins after the node's `turn`; a later node with the same id replaces it: {id, title,
          location, time, scenario, key_events: [{id, text}], climax, resolution, scene?}; `scene` as for "cast"
arc       the milestones of the story, in order: {milestones: [{id, act, text}]}
party     somebody has joined or left, or plays a character: {person, name, here, plays?, selves?}
whisper   words between the game master and a player, which nobody else sees: {to, name, text}
screen    the contents of the game master's screen, for the whole story, by `kind`: a place {platform, channel},
          a plan {n, text}, a roll {n, text, rolled, for}, a trial {n, text, scene, after, act}; or a change of the
          entry `n`: {told?, shown?, removed?}
safety    the table's agreement, each part by its name; for the whole story: {rating, lines, veils}
sheet     changes of a character's numbers after the node's `turn`, which count as long as the turn and its version
          `scene` do, or always without a turn; or the removal of the sheet: {name, changes?: [{field, to?, by?,
          most?, on?, rounds?}], removed?, scene?, proposal?}; with `proposal`, a number from 1, it decides on that of
          the scene's `changes`: {name, text, changes}
initiative
          the order of a fight after the node's `turn`, the index of the fighter whose turn it is, and the round; an
          empty order once it is over: {order: [{name, score}], round, at}
summed    a summary of scenes or summaries, by their nodes; `turn` is the last of them, and a correction has its
          writer as author. It counts wherever these nodes do, so it belongs to the whole story: {of, text}
stopcard  the node's `turn` is withdrawn from all branches, with everything played after it: {}. It belongs to the
          whole story and has no author: who played the card is not stored.
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
"""A branch has its parent's nodes of these kinds only up to the turn after which it begins."""

OF_ALL: Final = frozenset(("safety", "stopcard", "summed", "screen"))
"""Nodes of these kinds belong to all branches, wherever they were made: their `branch_id` is ""."""


class Node(Protocol):
    """One row of the log (`storage.stories.NodeRow`). `body` is JSON, or "" once its words were withdrawn."""

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
    """A branch (`storage.stories.BranchRow`), which leaves its `parent` after `turn`.

    It has the parent's nodes up to `until`, and of SHARED_UP_TO_CUT only those up to `cut`.
    """

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
    """The nodes that a branch has of one log, its own or an ancestor's; the next part begins after `turn`.

    `until` is the number of its last node, `cut` that of its last node of SHARED_UP_TO_CUT; None means no limit.
    `turn` is None for the last part.
    """

    branch: str
    until: int | None = None
    cut: int | None = None
    turn: str | None = None


def lineage(branches: Mapping[str, Branch], leaf: str, at: int | None = None) -> list[Part]:
    """The parts that make up a branch, the oldest first; as they were at the node `at`, if given."""
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
