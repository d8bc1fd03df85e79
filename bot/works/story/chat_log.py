"""Reads a chat log of JSON lines into the rows of a new story, a turn a line; bad lines are named and left out.

A line is {"id", "speaker", "text", "time"?, "scene"?}; ids and scenes may be numbers. Knows no database.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import PurePath
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from bot.events import UserError
from bot.works.story.json_import import LARGEST_MB, NAME_CHARS, BadLine, Imported
from storage.stories import BranchRow, NodeRow, StoryRow

TURNS = 200_000
"""The most lines of a log: the memory of so many turns takes some 125 MB."""

LINE_CHARS = 100_000

BEGINNING = 1_000_000
"""How many bytes are read to tell a log from a story: more than its first line may have."""
FIRST_LINES = 100
"""How many lines are tried for that: the first ones may be bad."""


def is_chat_log(data: bytes) -> bool:
    """Whether the first line that can be read is one of a chat log, and the file no whole story."""
    for line in data[:BEGINNING].removeprefix(BOM_UTF8).split(b"\n", FIRST_LINES)[:FIRST_LINES]:
        try:
            row = json.loads(decoded(line))
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and {"speaker", "format"} & row.keys():
            return "speaker" in row
    return False


def read_chat_log(data: bytes, file: str, space: str, id: str = "") -> Imported:
    """The story of a log's lines; without an `id` the same log is the same story, so that an import that was killed
    goes on.

    Raises UserError ("story.import_…"), which names `file`, where none can be taken in.
    """
    if len(data) > LARGEST_MB * 1_000_000:
        raise UserError("story.import_large", file=file, limit=LARGEST_MB)
    lines = data.removeprefix(BOM_UTF8).split(b"\n")
    if len(lines) > TURNS + 1:
        raise UserError("story.import_long", file=file, limit=TURNS)
    id, now = id or story_id(space, data), datetime.now(UTC)
    nodes, bad, labels = list[NodeRow](), list[BadLine](), set[str]()
    for number, line in enumerate(map(decoded, lines), 1):
        if not line.strip():
            continue
        body, key = _body(line)
        if body is not None and body["label"] in labels:
            body, key = None, "story.import_line_twice"
        if body is None:
            bad.append(BadLine(number, key))
            continue
        labels.add(body["label"])
        node = f"{id}/{len(nodes) + 1}"
        body_json = json.dumps(body, ensure_ascii=False)
        nodes.append(NodeRow(len(nodes) + 1, node, space, id, id, "act", node, "", "", body_json, now))
    if not nodes:
        raise UserError("story.import_no_lines", file=file)
    title = PurePath(file).stem[:NAME_CHARS] or file[:NAME_CHARS]
    story = StoryRow(id, space, title, "", now, now, offered=True)
    branch = BranchRow(id, space, id, "", "", "", 0, 0, "", now)
    return Imported(story, [branch], nodes, {}, len(nodes), bad)


def story_id(space: str, data: bytes) -> str:
    """The id of the story of a log with these contents."""
    return str(uuid5(NAMESPACE_OID, f"{space}/{sha256(data).hexdigest()}"))


def decoded(line: bytes) -> str:
    """Each by itself: where a file is cut in the middle of a character, the lines before are what they were."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", errors="replace")  # what older programs write


def json_object(line: str) -> dict[str, Any] | None:
    """None for what is no object, or cannot be kept: half a pair of surrogates may stand in a line as an escape."""
    try:
        tree = json.loads(line)
        json.dumps(tree, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return tree if isinstance(tree, dict) else None


def _body(line: str) -> tuple[dict[str, Any] | None, str]:
    """The body of a line's turn, or why it has none."""
    if len(line) > LINE_CHARS:
        return None, "story.import_line_long"
    if (row := json_object(line)) is None:
        return None, "story.import_line_unreadable"
    values = {name: _text(row.get(name)) for name in ("id", "speaker", "text", "time", "scene")}
    if not values["id"] or not values["speaker"] or not (values["text"] or "").strip():
        return None, "story.import_line_lacking"
    body = {"mode": "say", "text": values["text"], "name": values["speaker"], "label": values["id"]}
    body |= {"when": values["time"]} if values["time"] else {}
    body |= {"group": values["scene"]} if values["scene"] else {}
    return body, ""


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else None
