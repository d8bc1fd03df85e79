"""Chat logs as the rows of a new story.

A log is JSON lines without a header, {"id", "speaker", "text", "time"?, "scene"?}, whose ids and scenes may be numbers.
A plain text has lines `NAME: words`; lines without a name belong to the speaker above. Bad lines are reported and left
out. Knows no database.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from typing import Any

from bot.events import UserError
from bot.works.story.exchange.json_import import BadLine, Imported
from bot.works.story.exchange.rows import (
    BEGINNING,
    LINE_CHARS,
    Rows,
    decoded,
    json_object,
    lines_of,
    name_of,
    story_id,
    titled,
)

_SAID = re.compile(r"[ \t]*(?:\*\*|__)?(\w[^:\n]{0,59}?)(?:\*\*|__)?[ \t]*:(?:\*\*|__)?[ \t]*(.*)")

FIRST_LINES = 100
"""How many lines are tried to recognise a log: the first ones may be bad."""


def is_chat_log(data: bytes) -> bool:
    """Whether the first readable line is one of a chat log, and the file is not a whole story."""
    for line in data[:BEGINNING].removeprefix(BOM_UTF8).split(b"\n", FIRST_LINES)[:FIRST_LINES]:
        try:
            row = json.loads(decoded(line))
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and {"speaker", "format"} & row.keys():
            return "speaker" in row
    return False


def read_chat_log(data: bytes, file: str, space: str, id: str = "") -> Imported:
    """The story of a log's lines. Without an `id` the same log gives the same story, so that an interrupted import can
    continue.

    Raises UserError ("story.import_…"), which names `file`, if no line can be imported.
    """
    rows, bad, labels = Rows(id or story_id(space, data), space, titled(file)), list[BadLine](), set[str]()
    for number, line in enumerate(lines_of(data, file), 1):
        if not line.strip():
            continue
        body, key = _log_line(line)
        if body is not None and body["label"] in labels:
            body, key = None, "story.import_line_twice"
        if body is None:
            bad.append(BadLine(number, key))
            continue
        labels.add(body["label"])
        rows.add("act", body)
    if not rows.turns:
        raise UserError("story.import_no_lines", file=file)
    return rows.imported(bad=bad)


def read_plain(data: bytes, file: str, space: str, id: str) -> Imported:
    """The story of a text with lines `NAME: words`. Raises UserError ("story.import_…") if it has none."""
    rows, bad, messages = Rows(id, space, titled(file)), list[BadLine](), list[tuple[str, list[str], int]]()
    for number, line in enumerate(lines_of(data, file), 1):
        if len(line) > LINE_CHARS:
            bad.append(BadLine(number, "story.import_line_long"))
        elif (match := _SAID.fullmatch(line)) and match[2][:2] != "//":
            messages.append((name_of(match[1]), [match[2]], number))
        elif messages:
            messages[-1][1].append(line)
        elif line.strip():
            bad.append(BadLine(number, "story.import_line_nobody"))
    for name, lines, number in messages:
        if text := "\n".join(lines).strip():
            rows.add("act", {"mode": "say", "text": text, "name": name, "label": str(number)})
        else:
            bad.append(BadLine(number, "story.import_line_silent"))
    if not rows.turns:
        raise UserError("story.import_nobody", file=file)
    return rows.imported(bad=sorted(bad, key=lambda line: line.number))


def _log_line(line: str) -> tuple[dict[str, Any] | None, str]:
    """The body of a line's turn, or the reason why there is none."""
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
