"""Chats of other programs as the rows of a new story, and a story as SillyTavern's chat.

SillyTavern's file is JSON lines: a header (`chat_metadata`, `user_name`, `character_name`), then a message a line
(`name`, `is_user`, `mes`, `send_date`, and `swipes` with `swipe_id`, which are versions here). A plain text has
`NAME: words`; what stands below without a name is said by the same. Knows no database.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any, Final

from bot.events import Sorry
from bot.works.story.cast import CAST
from bot.works.story.chat_log import BEGINNING, LINE_CHARS, TURNS, decoded, json_object, story_id
from bot.works.story.importing import LARGEST_MB, NAME_CHARS, BadLine, Imported
from bot.works.story.log import Story
from storage.stories import BranchRow, NodeRow, StoryRow

SWIPES: Final = 100
"""Versions of one message."""
SPEAKER_CHARS: Final = 80
_HEADER: Final = ("chat_metadata", "user_name", "character_name")
_SAID = re.compile(r"[ \t]*(?:\*\*|__)?(\w[^:\n]{0,59}?)(?:\*\*|__)?[ \t]*:(?:\*\*|__)?[ \t]*(.*)")
_DATES: Final = (
    "%B %d, %Y %I:%M%p",
    "%Y-%m-%d @%Hh %Mm %Ss %fms",
    "%Y-%m-%d@%Hh%Mm%Ss",
    "%Y-%m-%d @%Hh %Mm %Ss",
)
"""As SillyTavern has written them over the years."""


class Rows:
    """The nodes of a new story, as they come."""

    def __init__(self, id: str, space: str, title: str) -> None:
        self._id, self._space, self._title = id, space, title
        self._now = datetime.now(UTC)
        self.nodes: list[NodeRow] = []
        self.turns = 0

    def add(
        self, kind: str, body: Mapping[str, Any], turn: str = "", author: str = "", at: datetime | None = None
    ) -> str:
        """The new node's id. An act without a turn begins one."""
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
                self._id,
                kind,
                turn,
                "",
                author,
                json.dumps(body, ensure_ascii=False),
                at or self._now,
            )
        )
        return id

    def versions(self, turn: str, texts: Sequence[str], shown: int, at: datetime | None = None) -> None:
        """Scenes of the turn, of which that one counts."""
        ids = [self.add("scene", {"text": text}, turn, at=at) for text in texts]
        if 0 <= shown < len(ids) - 1:
            self.add("flip", {"scene": ids[shown]}, turn, at=at)

    def imported(self, author: str = "", bad: Sequence[BadLine] = ()) -> Imported:
        story = StoryRow(self._id, self._space, self._title, author, self._now, self._now, offered=True)
        branch = BranchRow(self._id, self._space, self._id, "", "", "", 0, 0, author, self._now)
        return Imported(story, [branch], self.nodes, {}, self.turns, list(bad))


def is_sillytavern(data: bytes) -> bool:
    """Whether its first line is the header of such a chat."""
    return _header(data) is not None


def read_sillytavern(data: bytes, file: str, space: str, id: str) -> Imported:
    """The story of a chat. Raises Sorry ("story.import_…") where it has no header, or no line is a message."""
    if len(data) > LARGEST_MB * 1_000_000:
        raise Sorry("story.import_large", file=file, limit=LARGEST_MB)
    if (header := _header(data)) is None:
        raise Sorry("story.import_header", file=file)
    character = _name(header.get("character_name"))
    rows, bad, cast = Rows(id or story_id(space, data), space, _title(file)), list[BadLine](), set[str]()
    turn = ""
    for number, line in enumerate(_lines(data, file), 1):
        if number == 1 or not line.strip():
            continue
        message, key = _message(line)
        if message is None:
            bad.append(BadLine(number, key))
            continue
        name, at, text = _name(message["name"]), _moment(message.get("send_date")), str(message["mes"])
        if message.get("is_user") is True:
            turn = rows.add("act", {"mode": "act", "text": text, "name": name}, at=at)
            continue
        if name and name not in cast and len(cast) < CAST:
            cast.add(name)
            rows.add("cast", {"name": name, "sheet": {}}, at=at)
        if not turn:
            speaker = {"speaker": name} if name and name != character else {}
            mode = "continue" if rows.turns else "open"
            turn = rows.add("act", {"mode": mode, "text": "", "name": "", **speaker}, at=at)
        rows.versions(turn, *_swipes(message, text), at)
        turn = ""
    if not rows.turns:
        raise Sorry("story.import_no_messages", file=file)
    return rows.imported(bad=bad)


def read_plain(data: bytes, file: str, space: str, id: str) -> Imported:
    """The story of a text with `NAME: words`. Raises Sorry ("story.import_…") where nobody says anything in it."""
    if len(data) > LARGEST_MB * 1_000_000:
        raise Sorry("story.import_large", file=file, limit=LARGEST_MB)
    rows, bad, said = Rows(id, space, _title(file)), list[BadLine](), list[tuple[str, list[str], int]]()
    for number, line in enumerate(_lines(data, file), 1):
        if len(line) > LINE_CHARS:
            bad.append(BadLine(number, "story.import_line_long"))
        elif (found := _SAID.fullmatch(line)) and found[2][:2] != "//":
            said.append((_name(found[1]), [found[2]], number))
        elif said:
            said[-1][1].append(line)
        elif line.strip():
            bad.append(BadLine(number, "story.import_line_nobody"))
    for name, lines, number in said:
        if text := "\n".join(lines).strip():
            rows.add("act", {"mode": "say", "text": text, "name": name, "label": str(number)})
        else:
            bad.append(BadLine(number, "story.import_line_silent"))
    if not rows.turns:
        raise Sorry("story.import_nobody", file=file)
    return rows.imported(bad=sorted(bad, key=lambda one: one.number))


def sillytavern(story: Story, player: str, character: str) -> str:
    """A story as it is told, as SillyTavern's chat; `character` is who tells what no character says."""
    told = story.told
    begun = told[0].made if told else datetime.now(UTC)
    player = next((turn.act.name for turn in told if turn.act.name and turn.act.text), player)
    lines: list[dict[str, Any]] = [
        {
            "user_name": player,
            "character_name": character,
            "create_date": begun.isoformat(),
            "chat_metadata": {},
        }
    ]
    for turn in told:
        act, date = turn.act, turn.made.isoformat()
        if act.text and not act.withdrawn:
            lines.append(
                {
                    "name": act.name or player,
                    "is_user": True,
                    "is_system": False,
                    "send_date": date,
                    "mes": act.text,
                }
            )
        if turn.scene is not None:
            swipes = [scene.text for scene in turn.versions]
            lines.append(
                {
                    "name": act.speaker or character,
                    "is_user": False,
                    "is_system": False,
                    "send_date": date,
                    "mes": turn.scene.text,
                    "swipe_id": turn.versions.index(turn.scene),
                    "swipes": swipes,
                }
            )
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def _header(data: bytes) -> dict[str, Any] | None:
    first = data[:BEGINNING].removeprefix(BOM_UTF8).partition(b"\n")[0]
    try:
        given = json.loads(decoded(first))
    except (ValueError, RecursionError):
        return None
    known = isinstance(given, dict) and sum(name in given for name in _HEADER) > 1
    return given if known and "mes" not in given else None


def _lines(data: bytes, file: str) -> Iterator[str]:
    lines = data.removeprefix(BOM_UTF8).split(b"\n")
    if len(lines) > TURNS + 1:
        raise Sorry("story.import_long", file=file, limit=TURNS)
    return (decoded(line).removesuffix("\r").replace("\0", "") for line in lines)


def _message(line: str) -> tuple[dict[str, Any] | None, str]:
    """A line's message, or why there is none."""
    if len(line) > SWIPES * LINE_CHARS:
        return None, "story.import_line_long"
    if (given := json_object(line)) is None:
        return None, "story.import_line_unreadable"
    mes, name = given.get("mes"), given.get("name")
    if not isinstance(mes, str) or not mes.strip() or not isinstance(name, str):
        return None, "story.import_message_lacking"
    if len(mes) > LINE_CHARS:
        return None, "story.import_line_long"
    if given.get("is_system") is True:
        return None, "story.import_message_hidden"
    return given, ""


def _swipes(message: Mapping[str, Any], text: str) -> tuple[list[str], int]:
    """The versions of a message, and which one it shows: its text, whatever its number says."""
    given = message.get("swipes")
    swipes = [one for one in given if isinstance(one, str) and one.strip()] if isinstance(given, list) else []
    swipes = [one for one in swipes if len(one) <= LINE_CHARS][:SWIPES]
    number = message.get("swipe_id")
    if type(number) is int and 0 <= number < len(swipes) and swipes[number] == text:
        return swipes, number
    if text not in swipes:
        swipes.append(text)
    return swipes, swipes.index(text)


def _moment(value: Any) -> datetime | None:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000, UTC)
        if isinstance(value, str):
            at = next(filter(None, (_read(value, form) for form in ("", *_DATES))), None)
            return at.astimezone(UTC) if at is not None and at.tzinfo else at and at.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def _read(value: str, form: str) -> datetime | None:
    value = value.strip()[:60]
    try:
        return datetime.strptime(value, form) if form else datetime.fromisoformat(value)
    except ValueError:
        return None


def _name(value: Any) -> str:
    return " ".join(value.replace("\0", "").split())[:SPEAKER_CHARS] if isinstance(value, str) else ""


def _title(file: str) -> str:
    return PurePath(file).stem[:NAME_CHARS] or file[:NAME_CHARS]
