"""A turn of a story: a player's action and the scene that followed, in their versions, with what was extracted from
them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from datetime import datetime

SCENE: Final = "scene"
"""The stage of a turn's scene, unless its run tells several turns."""
SAID: Final = "said"
"""The stage of a player's words under their character's name, where characters have names of their own."""
TALK: Final = ("((", "(OOC", "(ooc")
"""Prefixes of a message that is no turn but talk outside of the story."""

Mode: TypeAlias = Literal["open", "act", "say", "continue", "end"]
"""A player's action in a turn; a story begins with the turn "open", and may close with "end"."""


@dataclass(frozen=True, slots=True)
class Act:
    """A player's action, in one wording. `rolls` are its dice as the writer reads them, one line of data each, and
    `dice` as people do; `character` is the character played.

    `speaker` is the character who replies alone in the scene, "" where the writer tells it.

    For lines of an imported chat log: `when` a line was said, the `group` of turns that make up its scene, and the
    line's `label` in the log.
    """

    id: str
    author: str
    name: str
    mode: Mode
    text: str
    character: str = ""
    speaker: str = ""
    rolls: tuple[str, ...] = ()
    dice: tuple[str, ...] = ()
    withdrawn: bool = False
    when: str = ""
    group: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of the past: consecutive turns, the start of the excerpt in their text, and its length, in characters."""

    turns: tuple[str, ...]
    start: int
    chars: int


@dataclass(frozen=True, slots=True)
class Seen:
    """A character's state after a scene: where, holding, wearing, mood, "" where the scene does not say.

    `present`: it was in the scene itself and noticed it, rather than only being mentioned.
    """

    name: str
    values: tuple[str, str, str, str]
    relations: tuple[tuple[str, str], ...] = ()
    dead: bool = False
    present: bool = False


@dataclass(frozen=True, slots=True)
class CharacterMemory:
    """`kind` is "action", "dialogue" or "relationship"."""

    character: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class KeyEvent:
    """An event of a chapter, or a plot thread."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """A change to one `field` of a sheet: its value becomes `to`, or changes `by`; `most` is its maximum. A condition
    begins or ends according to `on`, and ends after `rounds` rounds, with 0 never.
    """

    field: str
    to: int | None = None
    by: int | None = None
    most: int | None = None
    on: bool | None = None
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class Proposal:
    """A scene's change to the sheet of the character `name`, as the extractor reports it; `text` is the change for
    people.
    """

    name: str
    text: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a small model has found in a scene, or in the words of a chat log's turn; `id` is the node that stores it.

    `done` are ids of key events, or of a chapter whose climax has happened; `flags` are contradictions to the state
    before, `crossed` possible violations of the table's rating, lines or veils. `opened` are the plot threads that
    begin in it, `closed` the ids of those that end; `noticed` are recurring people outside the cast.

    In a chat log it was found in `turns` turns, the last of which has it; `lines` says for each of the `events`, and
    then each of the `memories`, how many lines before that it was found.
    """

    summary: str = ""
    place: str = ""
    time: str = ""
    state: tuple[Seen, ...] = ()
    memories: tuple[CharacterMemory, ...] = ()
    events: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    crossed: tuple[str, ...] = ()
    id: str = ""
    turns: int = 1
    lines: tuple[int, ...] = ()
    opened: tuple[KeyEvent, ...] = ()
    closed: tuple[str, ...] = ()
    noticed: tuple[str, ...] = ()
    changes: tuple[Proposal, ...] = ()
    """What the scene did to characters with sheets."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A person's correction. `field` is one of `state.FIELDS`, "dead" (yes or no), or another character's name.

    When it was made, its turn's scene had `versions` versions.
    """

    character: str
    field: str
    value: str
    versions: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A person's statement whether an event has happened. When it was made, its turn's scene had `versions`
    versions.
    """

    event: str
    happened: bool
    versions: int


@dataclass(frozen=True, slots=True)
class SheetChange:
    """The changes by the node `id` to the sheet of the character `name`, or its removal (`removed`).

    They count as long as their `turn` does, and this version `scene` of it; "" for always. `proposal` is the number,
    from 1, of the scene's proposal that they decide.
    """

    id: str
    name: str
    changes: tuple[Change, ...] = ()
    removed: bool = False
    turn: str = ""
    scene: str = ""
    proposal: int = 0


@dataclass(frozen=True, slots=True)
class Fighter:
    """A fighter in the order of a fight, with the initiative."""

    name: str
    score: int


@dataclass(frozen=True, slots=True)
class Initiative:
    """The order of a fight, the index of the fighter whose turn it is, and the round, from 1; without an order the
    fight is over. It counts as long as its `turn` does; "" for always.
    """

    order: tuple[Fighter, ...] = ()
    round: int = 1
    at: int = 0
    turn: str = ""


@dataclass(frozen=True, slots=True)
class ThreadChange:
    """A person's change of a plot thread. When it was made, its turn's scene had `versions` versions."""

    id: str
    text: str
    open: bool
    versions: int


@dataclass(frozen=True, slots=True)
class Milestone:
    """A stage of a story's arc, in one of three acts."""

    id: str
    act: int
    text: str


@dataclass(frozen=True, slots=True)
class Aside:
    """A person's question to the writer outside the story, in the turn `turn`: by which `verb`, and `about` whom."""

    run: str
    author: str
    turn: str
    verb: str
    about: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter. It begins after `turn`, "" for before the first; it counts as long as that `scene` does, "" for
    always.
    """

    id: str
    turn: str
    title: str
    location: str = ""
    time: str = ""
    scenario: str = ""
    key_events: tuple[KeyEvent, ...] = ()
    climax: str = ""
    resolution: str = ""
    scene: str = ""


@dataclass(slots=True)
class Scene:
    """One version of a scene. `at` is the last node that its writer was given, None for a version that a person wrote:
    the `author`, "" for the writer.

    `run` is the run whose message shows it, in its `stage`. What was searched for its writer is only in its node
    (`Logs.searched`).
    """

    id: str
    text: str
    run: str
    author: str = ""
    at: int | None = None
    stage: str = SCENE
    stopped: bool = False
    edited: bool = False
    withdrawn: bool = False
    choices: tuple[str, ...] = ()
    extracted: Extracted | None = None
    failed: int = 0
    """How many of the extractor's answers about it could not be used."""
    settled: bool = False
    acts_for: tuple[str, ...] = ()
    """The players' characters for whom it speaks or acts."""
    lore_tokens: int = 0
    """How many tokens of the lorebook its writer was given."""
    timed_lore: tuple[str, ...] = ()
    """The ids of its writer's entries that stay, or cool down, from then on."""
    hint: str = ""
    """Somebody's wish for this version alone."""

    @property
    def flags(self) -> tuple[str, ...]:
        """Contradictions to the state before it, until somebody has settled them."""
        return self.extracted.flags if self.extracted is not None and not self.settled else ()

    @property
    def crossed(self) -> tuple[str, ...]:
        """Possible violations of the table's agreement, until somebody has settled them."""
        return self.extracted.crossed if self.extracted is not None and not self.settled else ()


@dataclass(slots=True)
class Turn:
    """A player's action and the scene that followed, each in versions of which one counts."""

    id: str
    first: int
    """The number of its first node, stored at the time `made`."""
    made: datetime
    after: str = ""
    """The turn before it; "" for none."""
    acts: list[Act] = field(default_factory=list)
    scenes: list[Scene] = field(default_factory=list)
    intents: tuple[tuple[str, str], ...] = ()
    """Other players' intentions (name, text), which this turn of the game master includes."""
    intended: tuple[str, ...] = ()
    """The nodes of `intents`."""
    act_shown: str = ""
    scene_shown: str = ""
    moves: list[str] = field(default_factory=list)
    """Runs that have posted the scene in a new message."""
    moved: str = ""
    """The run that has posted its scene in a branch's own thread."""
    found: Extracted | None = None
    """What was extracted from its text, if it has no scene."""
    failed: int = 0
    """How many extractions from its text have failed."""

    @property
    def act(self) -> Act:
        return next(act for act in self.acts if act.id == self.act_shown)

    @property
    def shown_by(self) -> str:
        """The run whose message shows the scene, in any version: the run of the version written last; "" for none."""
        return self.moved or (self.scenes[-1].run if self.scenes else "")

    @property
    def stage(self) -> str:
        """The stage of that run."""
        return self.scenes[-1].stage if self.scenes and not self.moved else SCENE

    @property
    def words(self) -> list[str]:
        """The texts of all its wordings and versions."""
        texts = [*(act.text for act in self.acts), *(scene.text for scene in self.scenes)]
        return [" ".join(text.split()) for text in texts]

    @property
    def lore_tokens(self) -> int:
        """The maximum number of the lorebook's tokens that the writer of a version was given."""
        return max((scene.lore_tokens for scene in self.scenes), default=0)

    @property
    def timed_lore(self) -> tuple[str, ...]:
        """The `timed_lore` of the version that counts; for a person's version, of the last one by a writer."""
        scene = self.scene
        if scene is None or scene.at is None:
            scene = next((own for own in reversed(self.scenes) if own.at is not None), None)
        return scene.timed_lore if scene is not None else ()

    @property
    def versions(self) -> list[Scene]:
        """The versions that can be chosen."""
        return [scene for scene in self.scenes if not scene.withdrawn]

    @property
    def scene(self) -> Scene | None:
        """The version that counts; if its author withdrew it, the last other one."""
        last = None
        for scene in self.scenes:
            if not scene.withdrawn:
                last = scene
                if scene.id == self.scene_shown:
                    break
        return last

    @property
    def extracted(self) -> Extracted | None:
        """What was extracted from the version that counts, or from the turn's text if it has no scene."""
        scene = self.scene
        return self.found if scene is None else scene.extracted


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody who has joined a table or left it: last by the node `changed`, first by the node `seq`."""

    name: str
    here: bool
    plays: str
    seq: int
    changed: int
    selves: tuple[str, ...] = ()
    """All characters of this person, who speaks as the one in `plays`."""


@dataclass(frozen=True, slots=True)
class Whisper:
    """A whisper from one person, with the `name`, to another; people are given by id."""

    by: str
    to: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class SheetVersion:
    """A character's sheet since the node `id`; None for a character who has left (see `Kind`, "cast")."""

    id: str
    seq: int
    name: str
    sheet: dict[str, Any] | None
    turn: str
    scene: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary by the node `id`; `author` is the person who has corrected it, "" for a model."""

    id: str
    text: str
    author: str = ""
