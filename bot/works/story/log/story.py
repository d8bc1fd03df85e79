"""The present state of a story, folded from the nodes of its log: the same nodes always give the same story."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from heapq import merge
from typing import Any, Final, TypeVar

from bot.works.story.log.bodies import (
    act_of,
    chapter_of,
    extracted_of,
    initiative_of,
    scene_of,
    sheet_change_of,
)
from bot.works.story.log.nodes import SHARED_UP_TO_CUT, Node, Part
from bot.works.story.log.turn import (
    Aside,
    Chapter,
    Correction,
    Initiative,
    Member,
    Milestone,
    SheetChange,
    SheetVersion,
    Summary,
    ThreadChange,
    Tick,
    Turn,
    Whisper,
)

T = TypeVar("T")

SETTINGS_FIELDS: Final = (
    "settings", "sheets", "lore", "lore_nodes", "lore_seqs", "memories", "ideas", "presets", "forgotten", "chapters",
    "arc", "arc_turn", "party", "whispers", "settings_seq",
)  # fmt: skip
"""The fields that nodes of SHARED_UP_TO_CUT set; `intents` is left out because turns take them away."""
QUOTE_CHARS: Final = 12
"""The minimum length of a text that counts as a quotation: a shorter one may match by chance."""


@dataclass(slots=True, weakref_slot=True)
class Story:
    """What has been played on a branch, and its present state.

    `path` has the ids of the branch's turns in order; the first `length` of them count, later ones were undone.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    sheets: list[SheetVersion] = field(default_factory=list)
    lore: dict[str, dict[str, Any]] = field(default_factory=dict)
    lore_nodes: dict[str, str] = field(default_factory=dict)
    """The node of each entry of the lorebook, by the entry's id."""
    lore_seqs: dict[str, int] = field(default_factory=dict)
    """The numbers of these nodes."""
    memories: dict[str, str] = field(default_factory=dict)
    ideas: dict[str, str] = field(default_factory=dict)
    presets: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    intents: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Players' intentions (name, text) that no turn has included yet, by node."""
    forgotten: set[str] = field(default_factory=set)
    """Nodes that a search of the past must never find again."""
    hidden: set[str] = field(default_factory=set)
    """Turns that count but are in no prompt."""
    corrections: dict[str, tuple[Correction, ...]] = field(default_factory=dict)
    ticks: dict[str, tuple[Tick, ...]] = field(default_factory=dict)
    threads: dict[str, tuple[ThreadChange, ...]] = field(default_factory=dict)
    """Corrections, ticks and changes of plot threads, by the turn after which they were made."""
    asides: list[Aside] = field(default_factory=list)
    """Includes those of undone turns: `asides.earlier` gives those that count."""
    sheet_changes: list[SheetChange] = field(default_factory=list)
    """Includes those of undone turns: `counting_changes` gives those that count."""
    initiatives: list[Initiative] = field(default_factory=list)
    """Includes those of undone turns: `initiative` gives the one that counts."""
    chapters: dict[str, Chapter] = field(default_factory=dict)
    """The chapters by id, including those of undone turns: `state.chapters` gives those that count."""
    arc: tuple[Milestone, ...] = ()
    arc_turn: str = ""
    """The turn after which the arc was made; a stop card that withdraws the turn withdraws the arc."""
    turns: dict[str, Turn] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)
    length: int = 0
    seq: int = 0
    party: dict[str, Member] = field(default_factory=dict)
    """The members by the ids of the people."""
    whispers: list[Whisper] = field(default_factory=list)
    screen: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """The author and the body of each node of the game master's screen, in order (`Kind`, "screen")."""
    stop_cards: dict[str, str] = field(default_factory=dict)
    """The run of a stop card, by the turn under which it was played."""
    stop_card_seq: int = 0
    """The number of the last stop card's node."""
    withdrawn_turns: set[str] = field(default_factory=set)
    """Turns that stop cards have withdrawn: they are shown nowhere."""
    withdrawn: set[str] = field(default_factory=set)
    """What else stop cards have withdrawn: memories and ideas as "KIND ID"; intents, sheets and lore by node."""
    changes: list[tuple[int, int]] = field(default_factory=list)
    """The nodes that changed existing turns: (the node's number, how many turns at the beginning it left unchanged).

    Both numbers ascend, since a change removes the earlier ones that left more turns unchanged.
    """
    summaries: dict[tuple[str, ...], Summary] = field(default_factory=dict)
    """Summaries by the nodes from which they are made."""
    summary_seq: int = 0
    """The number of the last summary's node."""
    settings_seq: int = 0
    """The number of the last node of SHARED_UP_TO_CUT."""
    cache: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What other modules have computed from the story, by module, so that the next turn can continue from there."""
    _cast: dict[str, dict[str, Any]] | None = field(default=None, compare=False, repr=False)
    _shared: set[str] = field(default_factory=set, compare=False, repr=False)
    """Turns whose objects another `Story` uses too: each copies a turn before changing it."""

    @property
    def cast(self) -> dict[str, dict[str, Any]]:
        """The sheets of the present characters, by name."""
        if self._cast is None:
            cast: dict[str, dict[str, Any]] = {}
            for sheet in self.sheets:
                if not sheet.scene or self.shows(sheet.turn, sheet.scene):
                    _put(cast, sheet.name, sheet.sheet)
            self._cast = cast
        return self._cast

    def shows(self, turn: str, scene: str) -> bool:
        """Whether both the turn and this version of its scene count."""
        if turn not in self.path[: self.length]:
            return False
        current = self.turns[turn].scene
        return current is not None and current.id == scene

    @property
    def counting_changes(self) -> list[SheetChange]:
        """The changes of sheets that count, in order."""
        current = {*self.path[: self.length], ""}
        counting = [change for change in self.sheet_changes if change.turn in current]
        return [change for change in counting if not change.scene or self.shows(change.turn, change.scene)]

    @property
    def initiative(self) -> Initiative | None:
        """The fight that is going on; None for none."""
        current = {*self.path[: self.length], ""} if self.initiatives else set[str]()
        last = next((fight for fight in reversed(self.initiatives) if fight.turn in current), None)
        return last if last is not None and last.order else None

    @property
    def current_turns(self) -> list[Turn]:
        """The turns that count, in order."""
        return [self.turns[id] for id in self.path[: self.length]]

    @property
    def head(self) -> Turn | None:
        """The last turn that counts; None before the first."""
        return self.turns[self.path[self.length - 1]] if self.length else None

    @property
    def head_id(self) -> str:
        """The id of the last turn that counts; "" before the first."""
        return self.path[self.length - 1] if self.length else ""

    def turn_showing(self, scene: str) -> Turn | None:
        """The turn that counts and shows this version of its scene; None if there is none."""
        turns = (turn for turn in self.current_turns if turn.scene is not None and turn.scene.id == scene)
        return next(turns, None)

    def shown_turn(self, id: str) -> Turn | None:
        """The turn, if a message shows its scene and no stop card has withdrawn it; otherwise None."""
        turn = self.turns.get(id)
        if turn is None or turn.scene is None or not turn.shown_by or id in self.withdrawn_turns:
            return None
        return turn

    @property
    def redo_turn(self) -> Turn | None:
        """The turn that a redo would restore; None for none."""
        return self.turns[self.path[self.length]] if self.length < len(self.path) else None

    def before(self, turn: str) -> str:
        """The turn before this one on the path, "" for the first. Raises ValueError for a turn that is not on it."""
        at = self.path.index(turn)
        return self.path[at - 1] if at else ""

    def unchanged_since(self, seq: int) -> int:
        """How many of the first turns have not changed since the node `seq`."""
        at = bisect_right(self.changes, seq, key=lambda change: change[0])
        return self.changes[at][1] if at < len(self.changes) else self.length

    def _changed_from(self, index: int) -> None:
        """Note that the last added node has changed the turns from this index of the path on."""
        while self.changes and self.changes[-1][1] >= index:
            self.changes.pop()
        self.changes.append((self.seq, index))

    def end_with(self, turn: str) -> None:
        """Make this turn the last that counts; "" for none. Has no effect if the turn is not on the path."""
        if turn == "" or turn in self.path:
            before = self.length
            self.length = self.path.index(turn) + 1 if turn else 0
            self._changed_from(min(before, self.length))

    def cut_after(self, turn: str) -> None:
        """Drop the turns after this one from the path, as at the beginning of a branch; "" drops all."""
        self._cast = None
        self.end_with(turn)
        del self.path[self.length :]

    def branched(self, turn: str) -> Story:
        """A copy that ends with this turn, for a new branch; changes to one do not affect the other."""
        self._shared = {*self.turns}
        story = _copied(self)
        story.cache = {}
        story.cut_after(turn)
        return story

    def share(self, past: Story) -> None:
        """Let an earlier state of this branch use this story's objects for the turns that have not changed since."""
        same = [id for id in self.path[: self.unchanged_since(past.seq)] if id in past.turns]
        past.turns.update((id, self.turns[id]) for id in same)
        self._shared.update(same)

    def take_settings(self, shared: Story) -> None:
        """Replace the settings by those of `shared`, which was folded only from nodes of SHARED_UP_TO_CUT and
        OF_ALL.
        """
        for name in SETTINGS_FIELDS:
            setattr(self, name, getattr(shared, name))
        included = {id for turn in self.turns.values() for id in turn.intended}
        self.intents = {id: intent for id, intent in shared.intents.items() if id not in included}
        self._cast = None

    def add(self, node: Node) -> None:
        """Apply the next node. Kinds of later releases are ignored."""
        self.seq = max(self.seq, node.seq)
        if node.turn in self._shared:
            self._shared.remove(node.turn)
            turn = self.turns[node.turn] = _copied(self.turns[node.turn])
            turn.scenes = [_copied(scene) for scene in turn.scenes]
        if node.kind in SHARED_UP_TO_CUT:
            self.settings_seq = node.seq
        self._cast = None
        if node.kind == "forgotten" or (node.kind == "chapter" and not node.turn):
            self._changed_from(0)
        elif node.kind not in ("head", "cast", "summed", "sheet", "initiative") and node.turn in self.turns:
            indexes = reversed(range(len(self.path)))  # nearly always it is one of the last
            index = next((at for at in indexes if self.path[at] == node.turn), None)
            if index is not None:
                self._changed_from(index)
        match node.kind:
            case "act":
                self._act(node)
            case "scene":
                self._scene(node)
            case "head":
                self.end_with(node.turn)
            case "stopcard":
                self._withdraw(node)
            case _:
                if node.body:  # "" once its author has withdrawn it
                    self._apply_body(node, json.loads(node.body))

    def _act(self, node: Node) -> None:
        act = act_of(node)
        if (turn := self.turns.get(node.turn)) is None:
            # A player's turn includes what others want to do; a character's reply does not.
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

    def turns_from(self, turn: str) -> set[str]:
        """The turn and all that follow it, on the path and off it."""
        removed = {turn}
        for id, later in self.turns.items():  # in the order of their beginnings
            if later.after in removed:
                removed.add(id)
        return removed

    def _withdraw(self, node: Node) -> None:
        """Withdraw a stop card's turn, the turns that follow it, and what quotes their words."""
        if node.turn in self.stop_cards:  # two processes played the card at the same time
            return
        self.stop_cards[node.turn], self.stop_card_seq = node.run_id, node.seq
        removed = self.turns_from(node.turn)
        self.withdrawn_turns |= removed
        first = next((index for index, id in enumerate(self.path) if id in removed), None)
        if first is not None:
            del self.path[first:]
            self.length = min(self.length, first)
            self._changed_from(first)
            self.withdrawn |= self.intents.keys()  # they were said after a withdrawn turn
            self.intents.clear()
        removed_turns = [self.turns[id] for id in removed & self.turns.keys()]
        self.withdrawn.update(id for turn in removed_turns for id in turn.intended)
        words = [text for turn in removed_turns for text in turn.words]
        self._withdraw_quotes(min((turn.first for turn in removed_turns), default=self.seq), words)
        quoting = {id for id, text in self.memories.items() if _quotes(_quotation(text), words)}
        self.withdrawn |= {f"memory {id}" for id in quoting} | {f"idea {id}" for id in self.ideas}
        for id in quoting:
            del self.memories[id]
        self.ideas.clear()
        if self.arc_turn in removed:
            self.arc = ()

    def _withdraw_quotes(self, since: int, words: Sequence[str]) -> None:
        """Withdraw sheets and lore that were written after the node `since` and quote these words."""
        sheets = [sheet for sheet in self.sheets if sheet.seq > since and sheet.sheet and not sheet.scene]
        quoting = {
            sheet.id for sheet in sheets if any(_quotes(text, words) for text in (sheet.sheet or {}).values())
        }
        self.sheets = [sheet for sheet in self.sheets if sheet.id not in quoting]
        lore = [id for id, seq in self.lore_seqs.items() if seq > since and id in self.lore]
        for id in [id for id in lore if _quotes(self.lore[id]["content"], words)]:
            del self.lore[id]
            quoting.add(self.lore_nodes.pop(id))
        self.withdrawn |= quoting

    def _scene(self, node: Node) -> None:
        if (turn := self.turns.get(node.turn)) is None:
            return
        turn.scenes.append(scene_of(node))
        turn.moved = ""
        if node.body:
            turn.scene_shown = node.id

    def _apply_body(self, node: Node, body: dict[str, Any]) -> None:
        """Apply a node of the other kinds, whose body is read as JSON."""
        turn = self.turns.get(node.turn)
        scenes = turn.scenes if turn is not None else []
        scene = next((version for version in scenes if version.id == body.get("scene")), None)
        match node.kind:
            case "choices" if scene is not None:
                scene.choices = tuple(body["choices"])
            case "hint" if scene is not None:
                scene.hint = body["text"]
            case "settled" if scene is not None:
                scene.settled = True
            case "flip" if turn is not None:
                turn.scene_shown = body.get("scene", turn.scene_shown)
                turn.moved = body.get("run", turn.moved)
                turn.moves += [body["run"]] if "run" in body else []
                if any(act.id == body.get("act") for act in turn.acts):
                    turn.act_shown = body["act"]
            case "set" | "safety":
                self.settings.update(body)
            case "cast":
                sheet, after = body["sheet"], str(body.get("scene", ""))
                self.sheets.append(SheetVersion(node.id, node.seq, body["name"], sheet, node.turn, after))
            case "lore":
                _put(self.lore, body["id"], body["entry"])
                _put(self.lore_nodes, body["id"], node.id if body["entry"] is not None else None)
                self.lore_seqs[body["id"]] = node.seq
            case "memory":
                _put(self.memories, body["id"], body["text"])
            case "idea":
                _put(self.ideas, body["id"], body["text"])
            case "preset":
                first, second = sorted(body["pair"])
                _put(self.presets, (first, second), body if body["preset"] else None)
            case "extracted" if scene is not None:
                if "failed" in body:
                    scene.failed = body["failed"]
                else:
                    scene.extracted = extracted_of(body, node.id)
            case "extracted" if turn is not None and any(act.id == body["scene"] for act in turn.acts):
                if "failed" in body:
                    turn.failed = body["failed"]
                else:
                    turn.extracted_from_text = extracted_of(body, node.id)
            case "hidden":
                (self.hidden.add if body["hidden"] else self.hidden.discard)(node.turn)
            case "corrected":
                correction = Correction(body["character"], body["field"], body["value"], len(scenes))
                self.corrections[node.turn] = (*self.corrections.get(node.turn, ()), correction)
            case "ticked":
                tick = Tick(body["event"], body["happened"], len(scenes))
                self.ticks[node.turn] = (*self.ticks.get(node.turn, ()), tick)
            case "initiative":
                self.initiatives.append(initiative_of(node.turn, body))
            case "sheet":
                self.sheet_changes.append(sheet_change_of(node.id, node.turn, body))
            case "aside":
                self.asides.append(Aside(node.run_id, node.author_id, node.turn, **body))
            case "arc":
                self.arc = tuple(Milestone(**milestone) for milestone in body["milestones"])
                self.arc_turn = node.turn
            case "thread":
                change = ThreadChange(body["id"], body["text"], body["open"], len(scenes))
                self.threads[node.turn] = (*self.threads.get(node.turn, ()), change)
            case "chapter":
                self.chapters[body["id"]] = chapter_of(node.turn, body)
            case "summed":
                self.summaries[tuple(body["of"])] = Summary(node.id, body["text"], node.author_id)
                self.summary_seq = node.seq
            case "forgotten":
                self.forgotten.add(body["node"])
            case "intent":
                self.intents[node.id] = (body["name"], body["text"])
            case "party":
                before, plays = self.party.get(body["person"]), body.get("plays", "")
                first = before.seq if before is not None else node.seq
                selves = tuple(body.get("selves", [plays] if plays else []))
                member = Member(body["name"], body["here"], plays, first, node.seq, selves)
                self.party[body["person"]] = member
            case "whisper":
                self.whispers.append(Whisper(node.author_id, body["to"], body["name"], body["text"]))
            case "screen":
                self.screen.append((node.author_id, body))


def _copied(value: T) -> T:
    """A copy of a dataclass object with copies of its dictionaries, lists and sets."""
    copy = object.__new__(type(value))
    for slot in fields(value):  # type: ignore[arg-type]
        part = getattr(value, slot.name)
        setattr(copy, slot.name, part.copy() if isinstance(part, (dict, list, set)) else part)
    return copy


def _quotes(text: Any, sources: Iterable[str]) -> bool:
    """Whether the text, if it has at least QUOTE_CHARS characters, occurs in one of these sources."""
    quote = " ".join(str(text).split())
    return len(quote) >= QUOTE_CHARS and any(quote in source for source in sources)


def _quotation(memory: str) -> str:
    """The words that a memory quotes if it is a pinned passage ("Scene 3: …")."""
    return memory.partition(": ")[2].removesuffix(" …")


def _put(entries: dict[Any, Any], name: Any, value: Any) -> None:
    """Set the entry, or remove it if the value is None."""
    if value is None:
        entries.pop(name, None)
    else:
        entries[name] = value


def fold(parts: Sequence[Part], nodes: Iterable[Node]) -> Story:
    """The story of a branch's parts; `nodes` are all their nodes and those of OF_ALL, in the order of their numbers."""
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
            story.cut_after(part.turn)
            # Later nodes of the whole story are applied in the next part.
            of_all = [node for node in of_all if part.until is not None and node.seq > part.until]
    return story


def cut_at(story: Story, turn: str) -> int:
    """The number of the last node whose settings count for a branch after `turn`: the one before the next turn's."""
    after = story.path.index(turn) + 1 if turn else 0
    return story.turns[story.path[after]].first - 1 if after < len(story.path) else story.seq
