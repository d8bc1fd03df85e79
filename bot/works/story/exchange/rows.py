"""Builds the nodes of a new story for the readers of other programs' files, with what these readers share.

Knows no format and no database.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import PurePath
from typing import Any, Final
from uuid import NAMESPACE_OID, uuid5

from bot.events import UserError
from bot.works.story.exchange.json_import import LARGEST_MB, NAME_CHARS, BadLine, Imported
from bot.works.story.exchange.numbers import dump, read
from storage.stories import BranchRow, NodeRow, StoryRow

SPEAKER_CHARS: Final = 80

TURNS = 200_000
"""The maximum number of lines in a log: the memory of this many turns takes about 125 MB."""

LINE_CHARS = 100_000

BEGINNING = 1_000_000
"""How many bytes are read to tell a log from a story: more than its first line may have."""


class Rows:
    """The nodes of a new story, in the order in which they are added."""

    def __init__(self, id: str, space: str, title: str) -> None:
        self._id, self._space, self._title = id, space, title
        self._now = datetime.now(UTC)
        self.nodes: list[NodeRow] = []
        self.branches = [BranchRow(id, space, id, "", "", "", 0, 0, "", self._now)]
        self.turns = 0

    def add(
        self, kind: str, body: Mapping[str, Any], turn: str = "", author: str = "", at: datetime | None = None
    ) -> str:
        """Add a node; returns its id. An act without a turn begins one."""
        seq = len(self.nodes) + 1
        id = f"{self._id}/{seq}"
        if kind == "act" and not turn:
            turn, self.turns = id, self.turns + 1
        self.nodes.append(
            NodeRow(
                seq,
                id,
                self._space,
                self._id,
                self.branches[-1].id,
                kind,
                turn,
                "",
                author,
                json.dumps(body, ensure_ascii=False),
                at or self._now,
            )
        )
        return id

    def fork(self, name: str, turn: str) -> None:
        """Begin a branch of the first one, after this turn; later nodes are added to it."""
        first, at = self.branches[0], sum(node.branch_id == self._id for node in self.nodes)
        id = str(uuid5(NAMESPACE_OID, f"{self._id}/branch/{len(self.branches)}"))
        self.branches.append(replace(
            first, id=id, name=name, parent=first.id, turn=turn, cut=at, until=at,
            created_at=first.created_at + timedelta(microseconds=len(self.branches)),  # branches are sorted by age
        ))  # fmt: skip

    def versions(
        self, turn: str, texts: Sequence[str], shown: int, at: datetime | None = None, source: str = ""
    ) -> None:
        """Add scenes to the turn; the one with the index `shown` counts, and the first has the `source` of all."""
        more = [{"source": source} if source and not n else {} for n in range(len(texts))]
        ids = [self.add("scene", {"text": text, **more[n]}, turn, at=at) for n, text in enumerate(texts)]
        if 0 <= shown < len(ids) - 1:
            self.add("flip", {"scene": ids[shown]}, turn, at=at)

    def imported(self, author: str = "", bad: Sequence[BadLine] = ()) -> Imported:
        story = StoryRow(self._id, self._space, self._title, author, self._now, self._now, offered=True)
        branches = [replace(branch, author_id=author) for branch in self.branches]
        return Imported(story, branches, self.nodes, {}, self.turns, list(bad))


def story_id(space: str, data: bytes) -> str:
    """The id of a story made from a log with these contents."""
    return str(uuid5(NAMESPACE_OID, f"{space}/{sha256(data).hexdigest()}"))


def lines_of(data: bytes, file: str) -> Iterator[str]:
    if len(data) > LARGEST_MB * 1_000_000:
        raise UserError("story.import_large", file=file, limit=LARGEST_MB)
    lines = data.removeprefix(BOM_UTF8).split(b"\n")
    if len(lines) > TURNS + 1:
        raise UserError("story.import_long", file=file, limit=TURNS)
    return (decoded(line).removesuffix("\r").replace("\0", "") for line in lines)


def decoded(line: bytes) -> str:
    """Decode one line: if a file is cut in the middle of a character, the other lines are not affected."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", errors="replace")  # the encoding of older programs


def json_object(line: str) -> dict[str, Any] | None:
    """The object in a line; None for anything else, or for text that cannot be stored, such as an unpaired
    surrogate.
    """
    try:
        tree = read(line)
        dump(tree).encode()
    except (ValueError, RecursionError):
        return None
    return tree if isinstance(tree, dict) else None


def name_of(value: Any) -> str:
    return " ".join(value.replace("\0", "").split())[:SPEAKER_CHARS] if isinstance(value, str) else ""


def titled(file: str) -> str:
    return PurePath(file).stem[:NAME_CHARS] or file[:NAME_CHARS]
