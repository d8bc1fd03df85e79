"""A story as it stands, folded from the log of what happened in it; and the nodes that the log is made of.

Nothing in a log is overwritten: undo, another version, an edit append nodes that move pointers, and the same nodes
always give the same story. Knows no database: a node is whatever has its fields (`storage.stories.NodeRow`).
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from datetime import datetime

LENGTHS: Final = ("short", "medium", "long")
VIEWS: Final = ("first", "second", "third")
RATINGS: Final = ("everyone", "teen", "mature")
MODES: Final = ("free", "round-robin", "vote", "gm")

CHECKS: Final = ("1", "3", "all")
KINDS: Final = ("action", "dialogue", "relationship")
"""Of what a character remembers."""

QUOTED: Final = 12
"""Characters of what is pinned from what was told, at least: fewer may stand there by chance."""

SCENE: Final = "scene"
"""The stage of a turn's scene, unless its run tells several turns."""

Mode: TypeAlias = Literal["open", "act", "say", "continue"]
"""What a player does in a turn; a story opens with the turn "open"."""

Kind: TypeAlias = Literal[
    "act",
    "scene",
    "choices",
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
    "settled",
    "chapter",
    "safety",
    "stopcard",
    "party",
    "whisper",
]
"""What a node is, and what its body holds:

act       a turn begins, or is worded anew (its `turn` is then another's): {mode, text, name, character?, speaker?,
          rolls?}
scene     a version of the turn's scene: {text, at?, model?, stopped?, edited?, run?, stage?, recalled?, lore?,
          acts_for?}
choices   what is offered under a scene: {scene, choices}
flip      the version of the turn that counts: {scene} or {act}; {run} shows it from now on
head      undo and redo: the story now ends with the node's `turn`, "" for before the first
set       settings by name: {title?, premise?, genre?, tone?, view?, length?, mode?, note?, …}
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
          present?}], memories: [{character, kind, text}], events, done, flags, crossed?, turns?, lines?}; or only
          {scene, failed} while no answer about it could be used, so many times
corrected what a person says of a character as it stands behind the node's `turn`: {character, field, value}
ticked    whether a key event, or the climax of the chapter that is named, has happened behind the node's `turn`, as a
          person says: {event, happened}
settled   what was flagged of a version of the turn's scene counts as it stands now: {scene}
chapter   a chapter that begins behind the node's `turn`; again by the same id, as it has become: {id, title, location,
          time, scenario, key_events: [{id, text}], climax, resolution, scene?}; with `scene` as a cast's
party     somebody has joined or left, or plays a character: {person, name, here, plays?}
whisper   words between the game master and a player, which nobody else is told: {to, name, text}
safety    what the table has agreed on, each part by its name; of the whole story: {rating, lines, veils}
stopcard  the node's `turn` is gone from all branches, with what was played on from it: {}. It is of the whole story
          and nobody's: who played the card is not kept.
"""

SHARED_UP_TO_CUT: Final = frozenset(
    ("set", "cast", "lore", "memory", "idea", "preset", "intent", "forgotten", "chapter", "party", "whisper")
)
"""Of a branch's past, these count up to the turn where it leaves its parent: what was set later is not its own."""


OF_ALL: Final = frozenset(("safety", "stopcard"))
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
class Act:
    """What a player did, in one wording. `rolls` are its dice, a line of data each; `character` is who was played.

    `speaker` is the character who alone replies in the scene, "" where the writer tells one.

    Of a chat log that was imported: `when` it was said, the `group` of turns that make one scene of it, and the
    `label` that the log has for it.
    """

    id: str
    author: str
    name: str
    mode: Mode
    text: str
    character: str = ""
    speaker: str = ""
    rolls: tuple[str, ...] = ()
    withdrawn: bool = False
    when: str = ""
    group: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody who has joined a table or left it, by the node `changed` the last time, `seq` the first time."""

    name: str
    here: bool
    plays: str
    seq: int
    changed: int


@dataclass(frozen=True, slots=True)
class Whisper:
    """From one person, whose `name` is told, to another: by their ids."""

    by: str
    to: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of the past: turns that follow each other, and how much of their text, from which character on."""

    turns: tuple[str, ...]
    start: int
    chars: int


@dataclass(frozen=True, slots=True)
class Seen:
    """A character as a scene leaves it: where, holding, wearing, mood, "" where the scene does not say.

    `present`: it was in the scene itself and took it in, and was not only spoken of.
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
class Extracted:
    """What a small model has found in a scene, or in the words of a chat log's turn; `id` is the node that keeps it.

    `done` are ids of key events, or of a chapter whose climax has come; `flags` are what contradicts the state before,
    `crossed` where it may go beyond the table's rating, lines or veils.

    In a chat log it was found in so many `turns`, of which its own is the last; each of the `events`, and after them
    each of the `memories`, is of the one that comes so many `lines` before that.
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


@dataclass(frozen=True, slots=True)
class Correction:
    """`field` is one of `state.FIELDS`, "dead" (yes or no), or another's name.

    It was made when its turn's scene had so many `versions`.
    """

    character: str
    field: str
    value: str
    versions: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Whether an event has happened, as a person says. It was made when its turn's scene had so many `versions`."""

    event: str
    happened: bool
    versions: int


@dataclass(frozen=True, slots=True)
class KeyEvent:
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Chapter:
    """It begins behind `turn`, "" for before the first; and it counts as long as that `scene` does, "" for always."""

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
    """One version. `at` is the node up to which the story was told to its writer, None of one that a person wrote: the
    `author`, "" where the writer did.

    `run` is the run whose message shows it, as its `stage`. `recalled` is what its writer was told of long
    ago, and `lore` the entries of the lorebook that were near in meaning; None where nobody has looked for anything.
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
    recalled: tuple[Excerpt, ...] | None = None
    lore: tuple[str, ...] | None = None
    extracted: Extracted | None = None
    failed: int = 0
    """How often no answer of the extractor's about it could be used."""
    settled: bool = False
    acts_for: tuple[str, ...] = ()
    """Players' characters for whom it speaks or acts."""

    @property
    def flags(self) -> tuple[str, ...]:
        """What contradicts the state before, while nobody has said what holds."""
        return self.extracted.flags if self.extracted is not None and not self.settled else ()

    @property
    def crossed(self) -> tuple[str, ...]:
        """Where it may go beyond what the table has agreed on, while nobody has said that it stays."""
        return self.extracted.crossed if self.extracted is not None and not self.settled else ()


@dataclass(slots=True)
class Turn:
    """A player's action and the scene that followed, each in versions of which one counts."""

    id: str
    first: int
    """The number of the node that began it, at the time `made`."""
    made: datetime
    after: str = ""
    """The turn before it, "" for none."""
    acts: list[Act] = field(default_factory=list)
    scenes: list[Scene] = field(default_factory=list)
    intents: tuple[tuple[str, str], ...] = ()
    """What others wanted to do, each with a name, which the game master's turn takes up."""
    intended: tuple[str, ...] = ()
    """The nodes of these."""
    act_shown: str = ""
    scene_shown: str = ""
    moves: list[str] = field(default_factory=list)
    """Runs that have shown the scene once more."""
    moved: str = ""
    """The run that has shown its scene once more, in the thread that a branch has of its own."""
    found: Extracted | None = None
    """What was found in its words, where it has no scene."""
    failed: int = 0
    """How often no answer about these could be used."""

    @property
    def act(self) -> Act:
        return next(act for act in self.acts if act.id == self.act_shown)

    @property
    def shown_by(self) -> str:
        """The run whose message shows the scene, whichever version: that of the one written last; "" for none."""
        return self.moved or (self.scenes[-1].run if self.scenes else "")

    @property
    def stage(self) -> str:
        """The stage of that run."""
        return self.scenes[-1].stage if self.scenes and not self.moved else SCENE

    @property
    def words(self) -> list[str]:
        """All that was told in it, in whichever version."""
        texts = [*(act.text for act in self.acts), *(scene.text for scene in self.scenes)]
        return [" ".join(text.split()) for text in texts]

    @property
    def versions(self) -> list[Scene]:
        """Those that can be flipped to."""
        return [scene for scene in self.scenes if not scene.withdrawn]

    @property
    def scene(self) -> Scene | None:
        """The version that counts; the last other one where its writer took it back."""
        last = None
        for scene in self.scenes:
            if not scene.withdrawn:
                last = scene
                if scene.id == self.scene_shown:
                    break
        return last

    @property
    def extracted(self) -> Extracted | None:
        """What was found in the version that counts, or in the turn's words where it has no scene."""
        scene = self.scene
        return self.found if scene is None else scene.extracted


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A character's sheet as the node `id` has it, None of one who has left; see `Kind`, "cast"."""

    id: str
    seq: int
    name: str
    sheet: dict[str, Any] | None
    turn: str
    scene: str


@dataclass(slots=True, weakref_slot=True)
class Story:
    """What has been played on a branch, and how it stands.

    `path` holds every turn of the branch's line in order; the first `length` of them count, those behind were undone.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    sheets: list[_Sheet] = field(default_factory=list)
    lore: dict[str, dict[str, Any]] = field(default_factory=dict)
    lore_nodes: dict[str, str] = field(default_factory=dict)
    """The nodes that hold the entries of the lorebook, by these."""
    lore_seqs: dict[str, int] = field(default_factory=dict)
    """The numbers of these."""
    memories: dict[str, str] = field(default_factory=dict)
    ideas: dict[str, str] = field(default_factory=dict)
    presets: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    intents: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By their nodes: those that no turn has taken up yet."""
    forgotten: set[str] = field(default_factory=set)
    """Nodes that are recalled no more."""
    corrections: dict[str, tuple[Correction, ...]] = field(default_factory=dict)
    ticks: dict[str, tuple[Tick, ...]] = field(default_factory=dict)
    """Both by the turn that they were made behind."""
    chapters: dict[str, Chapter] = field(default_factory=dict)
    """By id, of undone turns, too: `state.chapters` are those that count."""
    turns: dict[str, Turn] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)
    length: int = 0
    seq: int = 0
    party: dict[str, Member] = field(default_factory=dict)
    """By the ids of the people."""
    whispers: list[Whisper] = field(default_factory=list)
    cards: dict[str, str] = field(default_factory=dict)
    """By the turn that a stop card was played under: the run that did."""
    card_at: int = 0
    """The number of the last one's node."""
    carded: set[str] = field(default_factory=set)
    """Turns that are gone with these, and shown nowhere any more."""
    unpinned: set[str] = field(default_factory=set)
    """Memories and ideas that went with them, by id; intents, sheets and lore, by their nodes."""
    changes: list[tuple[int, int]] = field(default_factory=list)
    """Nodes that changed turns which were there: their numbers, and how many turns before stayed as they were.

    Both ascend: what a later node has changed from an earlier turn on is told by the later one alone.
    """
    _cast: dict[str, dict[str, Any]] | None = field(default=None, compare=False, repr=False)

    @property
    def cast(self) -> dict[str, dict[str, Any]]:
        """The sheets of the characters that count, by name."""
        if self._cast is None:
            cast: dict[str, dict[str, Any]] = {}
            for sheet in self.sheets:
                if not sheet.scene or self.shows(sheet.turn, sheet.scene):
                    _put(cast, sheet.name, sheet.sheet)
            self._cast = cast
        return self._cast

    def shows(self, turn: str, scene: str) -> bool:
        """Whether the turn counts, and this version of its scene."""
        if turn not in self.path[: self.length]:
            return False
        current = self.turns[turn].scene
        return current is not None and current.id == scene

    @property
    def told(self) -> list[Turn]:
        """The turns that count, in order."""
        return [self.turns[id] for id in self.path[: self.length]]

    @property
    def head(self) -> Turn | None:
        """The last one that counts."""
        return self.turns[self.path[self.length - 1]] if self.length else None

    @property
    def next(self) -> Turn | None:
        """The one that a redo would bring back."""
        return self.turns[self.path[self.length]] if self.length < len(self.path) else None

    def before(self, turn: str) -> str:
        """The turn before this one of the path, "" before the first. Raises ValueError for one that is not on it."""
        at = self.path.index(turn)
        return self.path[at - 1] if at else ""

    def unchanged_since(self, seq: int) -> int:
        """How many turns, from the first on, are as they were at the node `seq`, as far as they were told then."""
        at = bisect_right(self.changes, seq, key=lambda change: change[0])
        return self.changes[at][1] if at < len(self.changes) else self.length

    def _changed(self, place: int) -> None:
        while self.changes and self.changes[-1][1] >= place:
            self.changes.pop()
        self.changes.append((self.seq, place))

    def end_with(self, turn: str) -> None:
        """Let the story end with this turn, "" for before the first; nothing where it is not on the path."""
        if turn == "" or turn in self.path:
            before = self.length
            self.length = self.path.index(turn) + 1 if turn else 0
            self._changed(min(before, self.length))

    def leave(self, turn: str) -> None:
        """A branch begins behind this turn: what was undone stays behind."""
        self._cast = None
        self.end_with(turn)
        del self.path[self.length :]

    def add(self, node: Node) -> None:
        """Take the next node in. What a later release wrote is passed over."""
        self.seq = max(self.seq, node.seq)
        self._cast = None
        if node.kind == "forgotten" or (node.kind == "chapter" and not node.turn):
            self._changed(0)
        elif node.kind not in ("head", "cast") and node.turn in self.turns:
            places = reversed(range(len(self.path)))  # it is one of the last, nearly always
            place = next((at for at in places if self.path[at] == node.turn), None)
            if place is not None:
                self._changed(place)
        match node.kind:
            case "act":
                self._act(node)
            case "scene":
                self._scene(node)
            case "head":
                self.end_with(node.turn)
            case "stopcard":
                self._stopcard(node)
            case "party" if node.body:
                body = json.loads(node.body)
                first = self.party[body["person"]].seq if body["person"] in self.party else node.seq
                member = Member(body["name"], body["here"], body.get("plays", ""), first, node.seq)
                self.party[body["person"]] = member
            case "whisper" if node.body:
                body = json.loads(node.body)
                self.whispers.append(Whisper(node.author_id, body["to"], body["name"], body["text"]))
            case _:
                if node.body:  # else a person took the words back, and with them what they did
                    self._more(node.kind, node.turn, json.loads(node.body), node)

    def _act(self, node: Node) -> None:
        body: dict[str, Any] = json.loads(node.body) if node.body else {"mode": "act"}
        act = Act(
            node.id,
            node.author_id,
            str(body.get("name", "")),
            body["mode"],
            str(body.get("text", "")),
            str(body.get("character", "")),
            str(body.get("speaker", "")),
            tuple(body.get("rolls", ())),
            withdrawn=not node.body,
            when=str(body.get("when", "")),
            group=str(body.get("group", "")),
            label=str(body.get("label", "")),
        )
        if (turn := self.turns.get(node.turn)) is None:
            # What others want to do is taken up by a player's turn, and not by the reply of a character.
            intents = {} if act.speaker else self.intents
            del self.path[self.length :]
            after = self.path[-1] if self.path else ""
            turn = self.turns[node.turn] = Turn(node.turn, node.seq, node.created_at, after)
            turn.intents, turn.intended = tuple(intents.values()), tuple(intents)
            self.path.append(node.turn)
            self.length += 1
            if not act.speaker:
                self.intents.clear()
        turn.acts.append(act)
        if not act.withdrawn or not turn.act_shown:
            turn.act_shown = act.id

    def gone_with(self, turn: str) -> set[str]:
        """It, and the turns that were played on from it."""
        removed = {turn}
        for id, later in self.turns.items():  # in the order in which they began
            if later.after in removed:
                removed.add(id)
        return removed

    def _stopcard(self, node: Node) -> None:
        """The turn goes, what was played on from it, and what was kept of their words beside the story."""
        self.cards[node.turn], self.card_at = node.run_id, node.seq
        removed = self.gone_with(node.turn)
        self.carded |= removed
        first = next((place for place, id in enumerate(self.path) if id in removed), None)
        if first is not None:
            del self.path[first:]
            self.length = min(self.length, first)
            self._changed(first)
            self.unpinned |= self.intents.keys()  # said behind what is gone
            self.intents.clear()
        removed_turns = [self.turns[id] for id in removed & self.turns.keys()]
        self.unpinned.update(id for turn in removed_turns for id in turn.intended)
        words = [text for turn in removed_turns for text in turn.words]
        self._unwrite(min((turn.first for turn in removed_turns), default=self.seq), words)
        quoting = {id for id, text in self.memories.items() if any(_quoted(text, own) for own in words)}
        self.unpinned |= quoting | self.ideas.keys()
        for id in quoting:
            del self.memories[id]
        self.ideas.clear()

    def _unwrite(self, began: int, words: Sequence[str]) -> None:
        """Sheets and lore that have been written since then with these words go, too."""

        def quotes(text: Any) -> bool:
            quote = " ".join(str(text).split())
            return len(quote) >= QUOTED and any(quote in text for text in words)

        sheets = [sheet for sheet in self.sheets if sheet.seq > began and sheet.sheet and not sheet.scene]
        quoting_ids = {sheet.id for sheet in sheets if any(map(quotes, (sheet.sheet or {}).values()))}
        self.sheets = [sheet for sheet in self.sheets if sheet.id not in quoting_ids]
        lore = [id for id, seq in self.lore_seqs.items() if seq > began and id in self.lore]
        for id in [id for id in lore if quotes(self.lore[id]["content"])]:
            del self.lore[id]
            quoting_ids.add(self.lore_nodes.pop(id))
        self.unpinned |= quoting_ids

    def _scene(self, node: Node) -> None:
        if (turn := self.turns.get(node.turn)) is None:
            return
        body = json.loads(node.body) if node.body else {}
        recalled = body.get("recalled")
        turn.scenes.append(
            Scene(
                node.id,
                str(body.get("text", "")),
                str(body.get("run", node.run_id)),
                node.author_id,
                body.get("at"),
                str(body.get("stage", SCENE)),
                bool(body.get("stopped")),
                bool(body.get("edited")),
                withdrawn=not node.body,
                recalled=tuple(Excerpt(tuple(turns), start, chars) for turns, start, chars in recalled)
                if recalled is not None
                else None,
                lore=tuple(body["lore"]) if "lore" in body else None,
                acts_for=tuple(body.get("acts_for", ())),
            )
        )
        turn.moved = ""
        if node.body:
            turn.scene_shown = node.id

    def _more(self, kind: str, of: str, body: Mapping[str, Any], node: Node) -> None:
        turn, id = self.turns.get(of), node.id
        match kind:
            case "choices" if turn is not None:
                for scene in turn.scenes:
                    if scene.id == body["scene"]:
                        scene.choices = tuple(body["choices"])
            case "flip" if turn is not None:
                turn.scene_shown = body.get("scene", turn.scene_shown)
                turn.moved = body.get("run", turn.moved)
                turn.moves += [body["run"]] if "run" in body else []
                act = body.get("act", turn.act_shown)
                turn.act_shown = act if any(version.id == act for version in turn.acts) else turn.act_shown
            case "set" | "safety":
                self.settings.update(body)
            case "cast":
                sheet, behind = body["sheet"], str(body.get("scene", ""))
                self.sheets.append(_Sheet(id, node.seq, body["name"], sheet, of, behind))
            case "lore":
                _put(self.lore, body["id"], body["entry"])
                _put(self.lore_nodes, body["id"], id if body["entry"] is not None else None)
                self.lore_seqs[body["id"]] = node.seq
            case "memory":
                _put(self.memories, body["id"], body["text"])
            case "idea":
                _put(self.ideas, body["id"], body["text"])
            case "preset":
                first, second = sorted(body["pair"])
                _put(self.presets, (first, second), body if body["preset"] else None)
            case "extracted" if turn is not None and "failed" in body:
                for scene in turn.scenes:
                    if scene.id == body["scene"]:
                        scene.failed = body["failed"]
                if any(act.id == body["scene"] for act in turn.acts):
                    turn.failed = body["failed"]
            case "extracted" if turn is not None:
                for scene in turn.scenes:
                    if scene.id == body["scene"]:
                        scene.extracted = _extracted(body, id)
                if any(act.id == body["scene"] for act in turn.acts):
                    turn.found = _extracted(body, id)
            case "settled" if turn is not None:
                for scene in turn.scenes:
                    scene.settled = scene.settled or scene.id == body["scene"]
            case "corrected":
                correction = Correction(
                    body["character"],
                    body["field"],
                    body["value"],
                    len(turn.scenes) if turn is not None else 0,
                )
                self.corrections[of] = (*self.corrections.get(of, ()), correction)
            case "ticked":
                versions = len(turn.scenes) if turn is not None else 0
                ticked = Tick(body["event"], body["happened"], versions)
                self.ticks[of] = (*self.ticks.get(of, ()), ticked)
            case "chapter":
                self.chapters[body["id"]] = _chapter(of, body)
            case "forgotten":
                self.forgotten.add(body["node"])
            case "intent":
                self.intents[id] = (body["name"], body["text"])


def _quoted(text: str, source: str) -> bool:
    """Whether a memory quotes these words, as one does that was pinned from what was recalled ("Scene 3: …")."""
    quote = " ".join(text.partition(": ")[2].removesuffix(" …").split())
    return len(quote) >= QUOTED and quote in source


def _extracted(body: Mapping[str, Any], id: str) -> Extracted:
    state = tuple(
        Seen(
            character["name"],
            (
                character.get("where", ""),
                character.get("holding", ""),
                character.get("wearing", ""),
                character.get("mood", ""),
            ),
            tuple((other, text) for other, text in character.get("relations", ())),
            bool(character.get("dead")),
            bool(character.get("present")),
        )
        for character in body.get("state", ())
    )
    memories = (CharacterMemory(**memory) for memory in body.get("memories", ()))
    names = ("events", "done", "flags", "crossed")
    events, done, flags, crossed = (tuple(body.get(name, ())) for name in names)
    summary, place, time = (str(body.get(name, "")) for name in ("summary", "place", "time"))
    turns, lines = int(body.get("turns", 1)), tuple(body.get("lines", ()))
    return Extracted(
        summary, place, time, state, tuple(memories), events, done, flags, crossed, id, turns, lines
    )


def _chapter(turn: str, body: Mapping[str, Any]) -> Chapter:
    events = tuple(KeyEvent(event["id"], event["text"]) for event in body.get("key_events", ()))
    texts = {
        name: str(body.get(name, ""))
        for name in ("location", "time", "scenario", "climax", "resolution", "scene")
    }
    return Chapter(body["id"], turn, str(body["title"]), key_events=events, **texts)


def _put(entries: dict[Any, Any], name: Any, value: Any) -> None:
    if value is None:
        entries.pop(name, None)
    else:
        entries[name] = value


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
    """The parts that a branch is told from, the oldest first; as it stood at the node `at`, if that is given."""
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


def folded(parts: Sequence[Part], nodes: Iterable[Node]) -> Story:
    """The story of these parts; `nodes` are all of theirs, in the order of their numbers."""
    story, by_branch = Story(), dict[str, list[Node]]()
    for node in nodes:
        by_branch.setdefault(node.branch_id, []).append(node)
    of_all = by_branch.get("", [])
    for part in parts:
        for node in merge(by_branch.get(part.branch, ()), of_all, key=lambda node: node.seq):
            late = part.cut is not None and node.seq > part.cut and node.kind in SHARED_UP_TO_CUT
            if not late and (part.until is None or node.seq <= part.until):
                story.add(node)
        if part.turn is not None:
            story.leave(part.turn)
            # What came later of the whole story counts in the part that goes on from here.
            of_all = [node for node in of_all if part.until is not None and node.seq > part.until]
    return story


def cut_at(story: Story, turn: str) -> int:
    """Up to which node settings count for a branch that leaves the story behind `turn`: until the next turn began."""
    after = story.path.index(turn) + 1 if turn else 0
    return story.turns[story.path[after]].first - 1 if after < len(story.path) else story.seq
