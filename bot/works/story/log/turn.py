"""What a story consists of: turns with their scenes, what was extracted from these, chapters, members and so on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from datetime import datetime

SCENE: Final = "scene"
"""The stage of a turn's scene, unless its run writes several scenes."""
SAID: Final = "said"
"""The stage of a player's words, where they are shown under their character's name."""
TALK: Final = ("((", "(OOC", "(ooc")
"""Prefixes of a message that is talk outside the story, and no turn."""

Mode: TypeAlias = Literal["open", "act", "say", "continue", "end"]
"""What a turn does; a story begins with an "open" turn, and may close with an "end" turn."""


@dataclass(frozen=True, slots=True)
class Act:
    """One wording of a player's action, which the person `author`, called `name`, did as `character`.

    `rolls` are its dice for the writer, `dice` the same for people. `speaker` is the character who alone replies in
    the scene, "" if the writer narrates it.

    A line of an imported chat log has the time `when` it was said, the `group` of lines that form its scene, and its
    `label` in the log.
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
    """Consecutive turns of the past: the `chars` characters from `start` on in their joined text."""

    turns: tuple[str, ...]
    start: int
    chars: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What a scene says about a character's state: `values` are where, holding, wearing and mood, "" for unsaid ones.

    `relations` are (other character, text). `present` means that the character witnessed the scene.
    """

    name: str
    values: tuple[str, str, str, str]
    relations: tuple[tuple[str, str], ...] = ()
    dead: bool = False
    present: bool = False


@dataclass(frozen=True, slots=True)
class CharacterMemory:
    """What a character remembers of a scene; `kind` is "action", "dialogue" or "relationship"."""

    character: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class KeyEvent:
    """An event that a chapter plans, or a plot thread."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """A change to one `field` of a sheet: its value becomes `to`, or changes `by`; `most` is its new maximum.

    For a condition, `on` says whether it begins or ends; it lasts `rounds` rounds, or without end if 0.
    """

    field: str
    to: int | None = None
    by: int | None = None
    most: int | None = None
    on: bool | None = None
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change to the sheet of the character `name` that the extractor found in a scene; `text` says it to people."""

    name: str
    text: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Extracted:
    """What the extractor found in a scene, or in the lines of a chat log; `id` is the node that stores it.

    `done` are the ids of key events that happened, or of a chapter whose climax did. `flags` are contradictions to the
    earlier state, `crossed` possible violations of the table's rating, lines or veils. `opened` are the plot threads
    that begin, `closed` the ids of those that end. `noticed` are the names of recurring people outside the cast.

    In a chat log it covers `turns` lines and belongs to the last of them. `lines` says, for each of the `events` and
    then each of the `memories`, how many lines before the last one it was found.
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


@dataclass(frozen=True, slots=True)
class Correction:
    """A person's correction of a state. `field` is one of `state.FIELDS`, "dead" (yes or no) or another character.

    `versions` is how many versions its turn's scene had at the time.
    """

    character: str
    field: str
    value: str
    versions: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A person's statement whether a key event has happened; `versions` as in `Correction`."""

    event: str
    happened: bool
    versions: int


@dataclass(frozen=True, slots=True)
class SheetChange:
    """The changes by the node `id` to the sheet of the character `name`, or its removal (`removed`).

    They count as long as their `turn` and its version `scene` do, or always if these are "". `proposal` is the number,
    from 1, of the scene's proposal that they decide; 0 for none.
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
    """The order of a fight; `at` is the index of the fighter whose turn it is. The fight is over if the order is empty.

    It counts as long as its `turn` does, or always if that is "".
    """

    order: tuple[Fighter, ...] = ()
    round: int = 1
    at: int = 0
    turn: str = ""


@dataclass(frozen=True, slots=True)
class ThreadChange:
    """A person's change of a plot thread; `versions` as in `Correction`."""

    id: str
    text: str
    open: bool
    versions: int


@dataclass(frozen=True, slots=True)
class Milestone:
    """A milestone of a story's arc, in one of its three acts (1 to 3)."""

    id: str
    act: int
    text: str


@dataclass(frozen=True, slots=True)
class Aside:
    """A person's question to the writer outside the story, after `turn`, by this `verb`; `about` names a character."""

    run: str
    author: str
    turn: str
    verb: str
    about: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter, which begins after `turn`, or before the first if that is "".

    It counts as long as the version `scene` of that turn does, or always if that is "".
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
    """One version of a scene, shown by the message of `run` and `stage`.

    `author` is the person who wrote it, "" for the writer; `at` is the last node that the writer knew, None for a
    person's version. What searches found for the writer is only in the node (`Logs.searches_of`).
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
    """How many extractions from it have failed."""
    settled: bool = False
    acts_for: tuple[str, ...] = ()
    """The players' characters for whom it speaks or acts."""
    lore_tokens: int = 0
    """How many tokens of the lorebook were in its prompt."""
    timed_lore: tuple[str, ...] = ()
    """The ids of the entries in its prompt that stay, or cool down, from then on."""
    hint: str = ""
    """Somebody's wish for this version alone."""

    @property
    def flags(self) -> tuple[str, ...]:
        """Contradictions to the earlier state; empty once somebody has settled them."""
        return self.extracted.flags if self.extracted is not None and not self.settled else ()

    @property
    def crossed(self) -> tuple[str, ...]:
        """Possible violations of the table's agreement; empty once somebody has settled them."""
        return self.extracted.crossed if self.extracted is not None and not self.settled else ()


@dataclass(slots=True)
class Turn:
    """A player's action and the scene that followed, each in versions of which one counts."""

    id: str
    first: int
    """The number of its first node."""
    created_at: datetime
    after: str = ""
    """The turn before it; "" for the first."""
    acts: list[Act] = field(default_factory=list)
    scenes: list[Scene] = field(default_factory=list)
    intents: tuple[tuple[str, str], ...] = ()
    """Other players' intentions (name, text) that this turn of the game master includes."""
    intended: tuple[str, ...] = ()
    """The nodes of `intents`."""
    act_shown: str = ""
    scene_shown: str = ""
    moves: list[str] = field(default_factory=list)
    """Runs that have posted the scene in a new message."""
    moved: str = ""
    """The run that has posted its scene again, in the thread of a branch; "" for none."""
    extracted_from_text: Extracted | None = None
    """What was extracted from its text, if it has no scene."""
    failed: int = 0
    """How many extractions from its text have failed."""

    @property
    def act(self) -> Act:
        return next(act for act in self.acts if act.id == self.act_shown)

    @property
    def shown_by(self) -> str:
        """The run whose message shows the scene: that of its last version, or `moved`; "" for none."""
        return self.moved or (self.scenes[-1].run if self.scenes else "")

    @property
    def stage(self) -> str:
        """The stage of `shown_by` that shows the scene."""
        return self.scenes[-1].stage if self.scenes and not self.moved else SCENE

    @property
    def words(self) -> list[str]:
        """The texts of all wordings and versions, withdrawn ones included, with single spaces."""
        texts = [*(act.text for act in self.acts), *(scene.text for scene in self.scenes)]
        return [" ".join(text.split()) for text in texts]

    @property
    def lore_tokens(self) -> int:
        """The largest `lore_tokens` of its versions."""
        return max((scene.lore_tokens for scene in self.scenes), default=0)

    @property
    def timed_lore(self) -> tuple[str, ...]:
        """The `timed_lore` of the version that counts, or of the writer's last one if a person wrote that."""
        scene = self.scene
        if scene is None or scene.at is None:
            scene = next((version for version in reversed(self.scenes) if version.at is not None), None)
        return scene.timed_lore if scene is not None else ()

    @property
    def versions(self) -> list[Scene]:
        """The versions that have not been withdrawn."""
        return [scene for scene in self.scenes if not scene.withdrawn]

    @property
    def scene(self) -> Scene | None:
        """The version that counts: the chosen one, or the last one if that was withdrawn; None for none."""
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
        return self.extracted_from_text if scene is None else scene.extracted


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody who has joined a table; `at_table` is False after leaving.

    `seq` is the number of their first "party" node, `changed` that of the last.
    """

    name: str
    at_table: bool
    plays: str
    seq: int
    changed: int
    selves: tuple[str, ...] = ()
    """All characters of this person, whose turns are those of `plays`."""


@dataclass(frozen=True, slots=True)
class Whisper:
    """A whisper from the person `by`, called `name`, to the person `to`."""

    by: str
    to: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class SheetVersion:
    """A character's sheet since the node `id`; None once the character has been removed (`Kind`, "cast")."""

    id: str
    seq: int
    name: str
    sheet: dict[str, Any] | None
    turn: str
    scene: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of scenes; `author` is the person who has corrected it, "" for a model's."""

    id: str
    text: str
    author: str = ""
