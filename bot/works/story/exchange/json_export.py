"""Writes a whole story as the JSON of docs/story-format.md: every branch, version and undone turn, without anybody's
id.

Nodes, branches and people are numbered within the file, so that an imported story is exported as the same bytes. Knows
no database and no file.
"""

from __future__ import annotations

import base64
import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from bot.works.story.exchange.card import key_of
from bot.works.story.log.nodes import lineage
from bot.works.story.log.stop_card import is_withdrawn, withdrawn_by_cards
from bot.works.story.log.story import fold

if TYPE_CHECKING:
    from datetime import datetime

    from storage.stories import BranchRow, NodeRow, StoryRow

FORMAT: Final = "sutradhar-story"
VERSION: Final = 1

FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "act": {
        "mode": "mode",
        "text": "text",
        "name": "text?",
        "character": "text?",
        "speaker": "text?",
        "rolls": "texts?",
        "dice": "texts?",
        "when": "text?",
        "group": "text?",
        "label": "text?",
        "source": "text?",
    },
    "scene": {
        "text": "text",
        "at": "place?",
        "model": "text?",
        "stopped": "flag?",
        "edited": "flag?",
        "lore": "keys?",
        "acts_for": "texts?",
        "lore_tokens": "whole number?",
        "timed_lore": "keys?",
        "source": "text?",
    },
    "choices": {"scene": "scene", "choices": "texts"},
    "hint": {"scene": "scene", "text": "text"},
    "flip": {"scene": "scene?", "act": "act?"},
    "head": {},
    "set": {
        "title": "text?",
        "premise": "text?",
        "genre": "text?",
        "tone": "text?",
        "view": "text?",
        "tense": "text?",
        "sheets": "text?",
        "sheet_rules": "text?",
        "prose": "text?",
        "prose_lines": "texts?",
        "length": "text?",
        "mode": "text?",
        "note": "text?",
        "language": "text?",
        "gm": "person?",
        "passed": "passed?",
        "plot_check_mode": "check?",
        "deadline": "whole number?",
        "source": "text?",
        "lore_source": "text?",
    },
    "cast": {"name": "text", "sheet": "sheet", "scene": "scene?"},
    "sheet": {
        "name": "text",
        "changes": "list of change?",
        "removed": "flag?",
        "scene": "scene?",
        "proposal": "whole number?",
    },
    "initiative": {"order": "list of fighter", "round": "whole number", "at": "whole number"},
    "lore": {"id": "key", "entry": "entry"},
    "memory": {"id": "key", "text": "text or null"},
    "idea": {"id": "key", "text": "text or null"},
    "preset": {"pair": "pair", "preset": "text", "lines": "texts"},
    "intent": {"name": "text", "text": "text"},
    "forgotten": {"node": "act or scene"},
    "extracted": {
        "scene": "act or scene",
        "summary": "text?",
        "place": "text?",
        "time": "text?",
        "state": "list of seen?",
        "memories": "list of memory?",
        "events": "texts?",
        "done": "keys?",
        "flags": "texts?",
        "crossed": "texts?",
        "failed": "whole number?",
        "turns": "whole number?",
        "lines": "whole numbers?",
        "opened": "list of event?",
        "closed": "keys?",
        "noticed": "texts?",
        "changes": "list of proposal?",
    },
    "settled": {"scene": "scene"},
    "hidden": {"hidden": "flag"},
    "ticked": {"event": "key", "happened": "flag"},
    "thread": {"id": "key", "text": "text", "open": "flag"},
    "corrected": {"character": "text", "field": "text", "value": "text"},
    "chapter": {
        "id": "key",
        "title": "text",
        "location": "text?",
        "time": "text?",
        "scenario": "text?",
        "key_events": "list of event?",
        "climax": "text?",
        "resolution": "text?",
        "scene": "scene?",
    },
    "arc": {"milestones": "list of milestone"},
    "party": {"person": "person", "name": "text", "here": "flag", "plays": "text?", "selves": "texts?"},
    "summed": {"of": "nodes", "text": "text"},
    "safety": {"rating": "rating?", "lines": "text?", "veils": "text?"},
    "stopcard": {},
}
"""The exported fields of each kind of node (`nodes.Kind`), with their types; "?" marks optional ones. Whispers and
asides are never exported: they are for one or two people.

No other field is exported. The run and the stage of a scene are left out, since they identify a platform's message.
"""

WITHIN: Final[Mapping[str, Mapping[str, str]]] = {
    "passed": {"author": "person?", "after": "turn", "count": "whole number?"},
    "entry": {
        "keys": "texts",
        "content": "text",
        "secondary_keys": "texts?",
        "logic": "logic?",
        "name": "text?",
        "constant": "flag?",
        "enabled": "flag?",
        "case_sensitive": "flag?",
        "whole_words": "flag?",
        "depth": "whole number or null?",
        "order": "whole number?",
        "position": "position?",
        "probability": "whole number?",
        "group": "text?",
        "source": "text?",
    },
    "seen": {
        "name": "text",
        "where": "text?",
        "holding": "text?",
        "wearing": "text?",
        "mood": "text?",
        "relations": "pairs?",
        "dead": "flag?",
        "present": "flag?",
    },
    "memory": {"character": "text", "kind": "sort", "text": "text"},
    "event": {"id": "key", "text": "text"},
    "milestone": {"id": "key", "act": "whole number", "text": "text"},
    "fighter": {"name": "text", "score": "whole number"},
    "proposal": {"name": "text", "text": "text", "changes": "list of change"},
    "change": {
        "field": "text",
        "to": "whole number?",
        "by": "whole number?",
        "most": "whole number?",
        "on": "flag?",
        "rounds": "whole number?",
    },
}
"""The same for the fields of nested objects (of `bot.works.story.world.lorebook.LoreEntry` for a lorebook)."""


def export_json(
    story: StoryRow, branches: Sequence[BranchRow], nodes: Sequence[NodeRow], cards: Mapping[str, bytes] = {}
) -> str:
    """The file's text. `branches` are in the order of their creation, `nodes` in that of their numbers; `cards` are the
    files of characters' cards by their `key_of`.
    """
    return _Writer(story, branches, nodes, cards).text()


class _Writer:
    def __init__(
        self,
        story: StoryRow,
        branches: Sequence[BranchRow],
        nodes: Sequence[NodeRow],
        cards: Mapping[str, bytes],
    ) -> None:
        nodes = [row for row in nodes if row.kind in FIELDS]
        self._story = story
        self._branches = _parents_first(branches)
        self._nodes = nodes
        self._branch_numbers = {row.id: n for n, row in enumerate(self._branches, 1)}
        self._node_numbers = {row.id: n for n, row in enumerate(nodes, 1)}
        self._seqs = [row.seq for row in nodes]
        self._carded, self._unpinned = self._withdrawn()
        self._people: dict[str, int] = {}
        self._keys: dict[str, str] = {}
        self._cards = cards
        self._carriers: dict[str, int] = {}
        """The first node whose sheet has each of these cards."""

    def _withdrawn(self) -> tuple[set[str], set[str]]:
        """The result of `withdrawn_by_cards` for the story's branches."""
        if not any(row.kind == "stopcard" for row in self._nodes):
            return set(), set()
        branches = {row.id: row for row in self._branches}
        return withdrawn_by_cards([fold(lineage(branches, row.id), self._nodes) for row in self._branches])

    def text(self) -> str:
        head = {
            "format": FORMAT,
            "version": VERSION,
            "title": self._story.title,
            **self._made(self._story.author_id, self._story.created_at),
        }
        lines = [f"{_json(name)}: {_json(value)}" for name, value in head.items()]
        lines += [f'"branches": {_listed(map(self._branch, self._branches))}']
        lines += [f'"nodes": {_listed(map(self._node, self._nodes))}']
        cards = [
            {"node": node, "file": base64.b64encode(self._cards[key]).decode()}
            for key, node in self._carriers.items()
        ]
        lines += [f'"cards": {_listed(cards)}'] if cards else []
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def _made(self, author: str, at: datetime) -> dict[str, Any]:
        return {**({"author": self._person(author)} if author else {}), "time": at.isoformat()}

    def _branch(self, row: BranchRow) -> dict[str, Any]:
        tree: dict[str, Any] = {"id": self._branch_numbers[row.id]}
        if row.parent:
            tree |= {
                "name": row.name,
                "parent": self._branch_numbers[row.parent],
                "turn": self._node_numbers.get(row.turn, 0),
                "cut": self._place(row.cut),
                "until": self._place(row.until),
            }
        return tree | self._made(row.author_id, row.created_at)

    def _node(self, row: NodeRow) -> dict[str, Any]:
        tree: dict[str, Any] = {
            "id": self._node_numbers[row.id],
            "branch": self._branch_numbers.get(row.branch_id, 1),
            "kind": row.kind,
        }
        if row.turn != row.id and (turn := self._node_numbers.get(row.turn, 0)):
            tree["turn"] = turn
        fields = json.loads(row.body) if row.body else None
        # The node keeps its place, as a node whose words were withdrawn does.
        if fields and is_withdrawn(row, fields, self._carded, self._unpinned):
            fields = None
        body = self._fields(FIELDS[row.kind], fields) if fields is not None else None
        if row.kind == "cast" and body and (key := key_of(body["sheet"] or {})) in self._cards:
            self._carriers.setdefault(key, tree["id"])
        return tree | self._made(row.author_id, row.created_at) | {"body": body}

    def _fields(self, fields: Mapping[str, str], body: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: self._value(fields[name].removesuffix("?"), value)
            for name, value in body.items()
            if name in fields
        }

    def _value(self, holds: str, value: Any) -> Any:
        match holds:
            case "scene" | "act" | "turn" | "act or scene":
                return self._node_numbers.get(value, 0)
            case "place":
                return self._place(value)
            case "person":
                return self._person(value)
            case "key":
                return self._keys.setdefault(value, str(len(self._keys) + 1))
            case "nodes":
                return [self._node_numbers.get(id, 0) for id in value]
            case "keys":
                return [self._value("key", item) for item in value]
            case str() if holds.startswith("list of "):
                return [self._fields(WITHIN[holds.removeprefix("list of ")], item) for item in value]
            case "passed" | "entry":
                return self._fields(WITHIN[holds], value) if value is not None else None
            case _:
                return value

    def _place(self, seq: int) -> int:
        """How many of the story's nodes have this number or a lower one; the number itself may belong to another
        story.
        """
        return bisect_right(self._seqs, seq)

    def _person(self, author: str) -> int:
        return self._people.setdefault(author, len(self._people) + 1) if author else 0


def _parents_first(rows: Sequence[BranchRow]) -> list[BranchRow]:
    """The branches, each after its parent; the order of their times is not enough, since a clock may be set back."""
    by_id = {row.id: row for row in rows}

    def depth(row: BranchRow) -> int:
        steps, at = 0, row
        while at.parent:
            steps, at = steps + 1, by_id[at.parent]
        return steps

    return sorted(rows, key=depth)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _listed(rows: Iterable[Mapping[str, Any]]) -> str:
    """One object for each line, for readers and for comparing two exports."""
    return "[\n" + ",\n".join(map(_json, rows)) + "\n]"
