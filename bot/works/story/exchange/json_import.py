"""Reads a file of docs/story-format.md into the rows of a new story; any fault is reported in a sentence.

The ids are new, so that a file may be imported twice. Unknown fields and kinds of nodes are ignored. Knows no database.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NoReturn, get_args

from bot.events import UserError
from bot.works.story.exchange.card import CARD_MB, key_of
from bot.works.story.exchange.json_export import FIELDS, FORMAT, VERSION, WITHIN
from bot.works.story.exchange.numbers import read
from bot.works.story.log.nodes import CHECKS, KINDS, OF_ALL, RATINGS
from bot.works.story.log.turn import Mode
from bot.works.story.world.lorebook import Logic
from storage.db import new_id
from storage.stories import BranchRow, NodeRow, StoryRow
from storage.story_cards import CardRow

LARGEST_MB = 100
"""The maximum size of a file; a story of 1,000 scenes takes about 2 MB."""
NAME_CHARS = 200
"""The maximum length of a title or a branch's name; those made here are shorter."""

_AMONG: Mapping[str, Collection[str]] = {
    "mode": get_args(Mode),
    "logic": get_args(Logic),
    "position": ("before", "after"),
    "check": CHECKS,
    "rating": RATINGS,
    "sort": KINDS,
}


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of a chat log that was left out: its number in the file, and the key of a sentence with the reason."""

    number: int
    key: str


@dataclass(frozen=True, slots=True)
class Imported:
    """A story to be stored, whose branches and scenes refer to positions among the nodes.

    `scenes` are those whose bodies contain a position, by id: the body, and the position. `turns` counts those of all
    branches. `cards` are the files of characters' cards, in base64, by their `key_of`. `counts` has the number of other
    left-out parts by the keys of sentences.
    """

    story: StoryRow
    branches: list[BranchRow]
    nodes: list[NodeRow]
    scenes: dict[str, tuple[dict[str, Any], int]]
    turns: int
    left_out: list[BadLine] = field(default_factory=list)
    cards: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def card_rows(self, run_id: str = "", author: str = "") -> list[CardRow]:
        """The cards as rows of `run_id`, by the person who imports the story."""
        of = (self.story.space, self.story.id)
        return [CardRow(*of, key, run_id, author, base64.b64decode(file)) for key, file in self.cards.items()]

    def bodies(self, seqs: Sequence[int]) -> dict[str, str]:
        return {id: _json({**body, "at": seqs[place]}) for id, (body, place) in self.scenes.items()}


def read_story(data: bytes, file: str, space: str, id: str = "") -> Imported:
    """The story of a file's contents, in this space, with this id or a new one.

    Raises UserError ("story.import_…"), which names `file`.
    """
    if len(data) > LARGEST_MB * 1_000_000:
        raise UserError("story.import_large", file=file, limit=LARGEST_MB)
    tree = tree_of(data, file)
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        raise UserError("story.import_other", file=file)
    version = tree.get("version")
    if type(version) is not int or version != VERSION:
        written_version = version if type(version) is int else "?"
        raise UserError("story.import_version", file=file, version=written_version, known=VERSION)
    return _Reader(file, space, id or new_id()).story(tree)


def tree_of(data: bytes, file: str) -> Any:
    """The parsed contents of a JSON file. Raises UserError."""
    try:
        text = data.decode("utf-8-sig")
        return read(text, constant=_refused)
    except (ValueError, RecursionError) as error:
        raise UserError("story.import_unreadable", file=file) from error


def _refused(name: str) -> NoReturn:
    raise ValueError(name)


@dataclass(slots=True)
class _Reader:
    file: str
    space: str
    id: str
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    acts: set[int] = field(default_factory=set)
    begun: set[int] = field(default_factory=set)
    """The acts that begin a turn."""
    scenes: set[int] = field(default_factory=set)
    summed: set[int] = field(default_factory=set)
    places: list[int] = field(default_factory=lambda: [0])
    """The position of a file's node among those that are kept, by the node's number in the file."""

    def story(self, tree: Mapping[str, Any]) -> Imported:
        title = self._name(tree.get("title"), "title")
        if not title.strip():
            self._wrong("title")
        author, created = self._made(tree, "")
        row = StoryRow(self.id, self.space, title, author, created, self.now, offered=True)
        nodes = self._numbered(tree, "nodes")
        for number, node in enumerate(nodes, 1):
            kind = self._text(node.get("kind"), f"nodes[{number}].kind")
            self.places.append(self.places[-1] + (kind in FIELDS))
            if kind == "act":
                self.acts.add(number)
                self.begun |= {number} if node.get("turn", 0) == 0 else set()
            elif kind == "scene":
                self.scenes.add(number)
            elif kind == "summed":
                self.summed.add(number)
        branches = self._branches(self._numbered(tree, "branches"))
        rows: list[NodeRow] = []
        at: dict[str, tuple[dict[str, Any], int]] = {}
        for number, node in enumerate(nodes, 1):
            if node["kind"] in FIELDS:
                rows.append(self._node(number, node, branches, at))
        return Imported(row, branches, rows, at, len(self.begun), cards=self._cards(tree, nodes))

    def _cards(self, tree: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """The files of the cards that are used by the sheets of these nodes, by key."""
        rows = tree.get("cards", [])
        if not isinstance(rows, list):
            self._wrong("cards")
        files = {}
        for number, row in enumerate(rows, 1):
            where = f"cards[{number}]"
            of = self._number(row.get("node") if isinstance(row, dict) else 0, f"{where}.node", len(nodes))
            node = nodes[of - 1] if of else self._wrong(f"{where}.node")
            sheet = (node["body"] or {}).get("sheet") if node["kind"] == "cast" else None
            key = key_of(sheet or {}) or self._wrong(f"{where}.node")
            files[key] = self._text(row.get("file"), f"{where}.file")
            try:
                size = len(base64.b64decode(files[key], validate=True))
            except (binascii.Error, ValueError):
                self._wrong(f"{where}.file")
            if size > CARD_MB * 1_000_000:
                self._wrong(f"{where}.file")
        return files

    def _branches(self, branches: Sequence[Mapping[str, Any]]) -> list[BranchRow]:
        if not branches or "parent" in branches[0]:
            self._wrong("branches[1]")
        # Sorted, since for branches with equal times the ids decide which comes first.
        ids = [self.id, *sorted(new_id() for _ in branches[1:])]
        rows = []
        for number, branch in enumerate(branches, 1):
            where = f"branches[{number}]"
            author, created = self._made(branch, f"{where}.")
            name = parent = turn = ""
            cut = until = 0
            if number > 1:
                name = self._name(branch.get("name"), f"{where}.name")
                before = self._number(branch.get("parent"), f"{where}.parent", number - 1)
                parent = ids[before - 1] if before else self._wrong(f"{where}.parent")
                turn = self._reference(branch.get("turn"), f"{where}.turn", self.begun)
                cut = self._place(branch.get("cut"), f"{where}.cut")
                until = self._place(branch.get("until"), f"{where}.until")
            rows.append(
                BranchRow(
                    ids[number - 1], self.space, self.id, name, parent, turn, cut, until, author, created
                )
            )
        return rows

    def _node(
        self,
        number: int,
        node: Mapping[str, Any],
        branches: Sequence[BranchRow],
        at: dict[str, tuple[dict[str, Any], int]],
    ) -> NodeRow:
        """The row of a node. `at` collects the bodies of scenes that refer to a position."""
        where, kind, id = f"nodes[{number}]", node["kind"], self._id(number)
        branch = self._number(node.get("branch"), f"{where}.branch", len(branches))
        if not branch:
            self._wrong(f"{where}.branch")
        turn = self._reference(node.get("turn", 0), f"{where}.turn", self.begun)
        author, created = self._made(node, f"{where}.")
        text = ""
        if node.get("body", ...) is not None:  # otherwise its words were withdrawn
            body = self._fields(FIELDS[kind], node.get("body"), f"{where}.body")
            text = _json(body)
            if kind == "scene" and "at" in body:
                at[id] = body, body["at"]
        if kind == "act" and not turn:
            turn = id
        row = branches[branch - 1].id if kind not in OF_ALL else ""
        return NodeRow(
            self.places[number], id, self.space, self.id, row, kind, turn, "", author, text, created
        )

    def _fields(self, fields: Mapping[str, str], value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._wrong(where)
        for name, holds in fields.items():
            if name not in value and not holds.endswith("?"):
                self._wrong(f"{where}.{name}")
        return {
            name: self._value(fields[name].removesuffix("?"), part, f"{where}.{name}")
            for name, part in value.items()
            if name in fields
        }

    def _value(self, holds: str, value: Any, where: str) -> Any:
        if value is None and holds in ("sheet", "entry", "text or null", "whole number or null"):
            return None
        match holds:
            case "text" | "text or null":
                return self._text(value, where)
            case "texts" | "pair":
                if not isinstance(value, list) or (holds == "pair" and len(value) != 2):
                    self._wrong(where)
                return [self._text(part, where) for part in value]
            case "flag":
                return value if isinstance(value, bool) else self._wrong(where)
            case "whole number" | "whole number or null":
                return value if type(value) is int else self._wrong(where)
            case "mode" | "logic" | "position" | "check" | "sort" | "rating":
                known = isinstance(value, str) and value in _AMONG[holds]
                return value if known else self._wrong(where)
            case (
                "keys"
                | "pairs"
                | "nodes"
                | "whole numbers"
                | "list of seen"
                | "list of memory"
                | "list of event"
                | "list of milestone"
                | "list of change"
                | "list of proposal"
                | "list of fighter"
            ):
                if not isinstance(value, list):
                    self._wrong(where)
                of = {
                    "keys": "key",
                    "pairs": "pair",
                    "nodes": "act, scene or summed",
                    "whole numbers": "whole number",
                }.get(holds, holds.removeprefix("list of "))
                return [self._value(of, part, where) for part in value]
            case "key":
                return self._text(value, where) or self._wrong(where)
            case "turn":
                return self._reference(value, where, self.begun)
            case "act":
                return self._reference(value, where, self.acts)
            case "scene":
                return self._reference(value, where, self.scenes)
            case "act or scene":
                return self._reference(value, where, self.acts | self.scenes)
            case "act, scene or summed":
                return self._reference(value, where, self.acts | self.scenes | self.summed)
            case "place":
                return self._place(value, where)
            case "person":
                return self._person(value, where)
            case "sheet":
                if not isinstance(value, dict):
                    self._wrong(where)
                return {self._text(key, where): self._text(part, where) for key, part in value.items()}
            case _:
                return self._fields(WITHIN[holds], value, where)

    def _text(self, value: Any, where: str) -> str:
        if not isinstance(value, str):
            self._wrong(where)
        try:
            value.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            self._wrong(where)
        return value

    def _name(self, value: Any, where: str) -> str:
        """A text for a database column, in which Postgres allows no NUL."""
        text = self._text(value, where)
        return text if len(text) <= NAME_CHARS and "\0" not in text else self._wrong(where)

    def _numbered(self, tree: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
        """A list of objects that are numbered from 1."""
        rows = tree.get(name)
        if not isinstance(rows, list):
            self._wrong(name)
        for number, row in enumerate(rows, 1):
            if not isinstance(row, dict) or type(row.get("id")) is not int or row["id"] != number:
                self._wrong(f"{name}[{number}].id")
        return rows

    def _number(self, value: Any, where: str, most: int) -> int:
        return value if type(value) is int and 0 <= value <= most else self._wrong(where)

    def _place(self, value: Any, where: str) -> int:
        return self.places[self._number(value, where, len(self.places) - 1)]

    def _reference(self, value: Any, where: str, among: Collection[int]) -> str:
        number = self._number(value, where, len(self.places) - 1)
        if number and number not in among:
            self._wrong(where)
        return self._id(number) if number else ""

    def _id(self, number: int) -> str:
        return f"{self.id}/{number}"

    def _person(self, value: Any, where: str) -> str:
        """An id that no platform uses, since the person is unknown here."""
        number = self._number(value, where, 1_000_000)
        return f"{self.id}/person-{number}" if number else ""

    def _made(self, row: Mapping[str, Any], where: str) -> tuple[str, datetime]:
        """The author and the time."""
        author = self._person(row.get("author", 0), f"{where}author")
        if "time" not in row:
            return author, self.now
        try:
            created = datetime.fromisoformat(self._text(row["time"], f"{where}time"))
            return author, created.astimezone(UTC) if created.tzinfo else self._wrong(f"{where}time")
        except (ValueError, OverflowError):
            self._wrong(f"{where}time")

    def _wrong(self, where: str) -> NoReturn:
        raise UserError("story.import_wrong", file=self.file, where=where)


def _json(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False)
