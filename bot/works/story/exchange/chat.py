"""Chats of other programs and chat logs as the rows of a new story, and a story as SillyTavern's chat.

SillyTavern's file is JSON lines: a header (`chat_metadata`, `user_name`, `character_name`), then a message a line
(`name`, `is_user`, `mes`, `send_date`, and `swipes` with `swipe_id`, which are versions here). A chat log is JSON lines
without a header, {"id", "speaker", "text", "time"?, "scene"?}, whose ids and scenes may be numbers. A plain text has
`NAME: words`; what stands below without a name is said by the same. Bad lines are named and left out. Knows no
database.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import PurePath
from typing import Any, Final
from uuid import NAMESPACE_OID, uuid5

from bot.events import UserError
from bot.works.story.exchange.card import said
from bot.works.story.exchange.json_import import LARGEST_MB, NAME_CHARS, BadLine, Imported
from bot.works.story.exchange.numbers import read, value_of, written
from bot.works.story.limits import NOTE_CHARS
from bot.works.story.log.story import Story
from bot.works.story.world.cast import CAST
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
    rows, bad, labels = Rows(id or story_id(space, data), space, titled(file)), list[BadLine](), set[str]()
    for number, line in enumerate(_lines(data, file), 1):
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
        tree = read(line)
        written(tree).encode()
    except (ValueError, RecursionError):
        return None
    return tree if isinstance(tree, dict) else None


def _log_line(line: str) -> tuple[dict[str, Any] | None, str]:
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

    def versions(
        self, turn: str, texts: Sequence[str], shown: int, at: datetime | None = None, source: str = ""
    ) -> None:
        """Scenes of the turn, of which that one counts; the first has the `source` of all."""
        more = [{"source": source} if source and not n else {} for n in range(len(texts))]
        ids = [self.add("scene", {"text": text, **more[n]}, turn, at=at) for n, text in enumerate(texts)]
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
    """The story of a chat. Raises UserError ("story.import_…") where it has no header, or no line is a message."""
    if (header := _header(data)) is None:
        raise UserError("story.import_header", file=file)
    character = _name(header.get("character_name"))
    rows, bad, cast = Rows(id or story_id(space, data), space, titled(file)), list[BadLine](), set[str]()
    turn, entries = "", [_Message(header)]
    for number, line in enumerate(_lines(data, file), 1):
        if number == 1 or not line.strip():
            continue
        message, key = _message(line)
        if message is None:
            bad.append(BadLine(number, key))
        elif message.get("is_system") is True:
            entries[-1].hidden.append(message)
        else:
            entries.append(_Message(message))
    note = _note(header)
    rows.add("set", {"source": entries[0].source} | ({"note": note} if note else {}))
    for entry in entries[1:]:
        message, source = entry.message, entry.source
        name, at, text = _name(message["name"]), _moment(message.get("send_date")), str(message["mes"])
        if message.get("is_user") is True:
            turn = rows.add("act", {"mode": "act", "text": text, "name": name, "source": source}, at=at)
            continue
        if name and name not in cast and len(cast) < CAST:
            cast.add(name)
            rows.add("cast", {"name": name, "sheet": {}}, at=at)
        if not turn:
            speaker = {"speaker": name} if name and name != character else {}
            mode = "continue" if rows.turns else "open"
            turn = rows.add("act", {"mode": mode, "text": "", "name": "", **speaker}, at=at)
        rows.versions(turn, *_swipes(message, text), at, source)
        turn = ""
    if not rows.turns:
        raise UserError("story.import_no_messages", file=file)
    return rows.imported(bad=bad)


def read_plain(data: bytes, file: str, space: str, id: str) -> Imported:
    """The story of a text with `NAME: words`. Raises UserError ("story.import_…") where nobody says anything in it."""
    rows, bad, messages = Rows(id, space, titled(file)), list[BadLine](), list[tuple[str, list[str], int]]()
    for number, line in enumerate(_lines(data, file), 1):
        if len(line) > LINE_CHARS:
            bad.append(BadLine(number, "story.import_line_long"))
        elif (match := _SAID.fullmatch(line)) and match[2][:2] != "//":
            messages.append((_name(match[1]), [match[2]], number))
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


def sillytavern(story: Story, player: str, character: str, sources: Mapping[str, str]) -> str:
    """A story as SillyTavern's chat; `character` is who tells what no character says.

    What came from such a chat goes out with all fields that it had: `sources` are those of acts and scenes by id, and
    of the chat under "".
    """
    turns = story.current_turns
    start = turns[0].made if turns else datetime.now(UTC)
    player = next((turn.act.name for turn in turns if turn.act.name and turn.act.text), player)
    header: dict[str, Any] = {"user_name": player, "character_name": character}
    chat = _source(sources.get("", "")) or _Message(
        header | {"create_date": start.isoformat(), "chat_metadata": {}}
    )
    lines = [_noted(chat.message, str(story.settings.get("note") or "")), *chat.hidden]
    for turn in turns:
        act, plain = turn.act, {"is_system": False, "send_date": turn.made.isoformat()}
        source = _source(sources.get(turn.id, ""))
        if act.text and not act.withdrawn:
            message = source.message if source else {"name": act.name or player, "is_user": True, **plain}
            lines.append(message | {"mes": act.text})
        lines += source.hidden if source else []
        versions = turn.versions
        source = next((_source(sources[version.id]) for version in versions if version.id in sources), None)
        if turn.scene is not None:
            texts = [scene.text for scene in versions]
            message = (
                source.message if source else {"name": act.speaker or character, "is_user": False, **plain}
            )
            lines.append(_swiped(message, texts, versions.index(turn.scene)))
        lines += source.hidden if source else []
    return "".join(f"{written(line)}\n" for line in lines)


def _swiped(message: Mapping[str, Any], texts: Sequence[str], shown: int) -> dict[str, Any]:
    """The message with these versions, of which that one shows; as it came where nothing has changed."""
    text, swipes = texts[shown], message.get("swipes")
    if "mes" in message and _swipes(message, message["mes"])[0] == texts:
        if text == message["mes"] or not isinstance(swipes, list) or text not in swipes:
            return {**message, "mes": text}
        return {**message, "mes": text, "swipe_id": swipes.index(text)}
    swiped = {**message, "mes": text, "swipe_id": shown, "swipes": texts}
    info = message.get("swipe_info")
    if isinstance(swipes, list) and isinstance(info, list):
        swiped["swipe_info"] = [
            info[swipes.index(text)] if text in swipes[: len(info)] else {} for text in texts
        ]
    return swiped


@dataclass(frozen=True, slots=True)
class _Message:
    """A message of SillyTavern's, or the header, as it came, and the hidden ones behind it, which no reader sees."""

    message: dict[str, Any]
    hidden: list[dict[str, Any]] = field(default_factory=list)

    @property
    def source(self) -> str:
        return written(asdict(self))


def _source(text: str) -> _Message | None:
    """What stands in the source of a node, which may come from a stranger's file."""
    stored = json_object(text) if text else None
    message, hidden = (stored or {}).get("message"), (stored or {}).get("hidden")
    if not isinstance(message, dict) or not isinstance(hidden, list):
        return None
    return _Message(
        message, [hidden_message for hidden_message in hidden if isinstance(hidden_message, dict)]
    )


def _header(data: bytes) -> dict[str, Any] | None:
    first = data[:BEGINNING].removeprefix(BOM_UTF8).partition(b"\n")[0]
    row = json_object(decoded(first))
    is_header = row is not None and "mes" not in row and sum(name in row for name in _HEADER) > 1
    return row if is_header else None


def _note(header: Mapping[str, Any]) -> str:
    """The chat's author's note, with the names that its macros stand for; "" where there is none, or it is off."""
    metadata = header.get("chat_metadata")
    if not isinstance(metadata, dict):
        return ""
    note = metadata.get("note_prompt")
    if not isinstance(note, str) or value_of(metadata.get("note_interval")) == 0:
        return ""
    names = _name(header.get("character_name")), _name(header.get("user_name"))
    return said(note, *names).strip()[:NOTE_CHARS]


def _noted(header: Mapping[str, Any], note: str) -> dict[str, Any]:
    """The header with this note; as it came where the note has not changed."""
    if note == _note(header):
        return dict(header)
    metadata = header.get("chat_metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return {**header, "chat_metadata": {**metadata, "note_prompt": note, "note_interval": 1}}


def _lines(data: bytes, file: str) -> Iterator[str]:
    if len(data) > LARGEST_MB * 1_000_000:
        raise UserError("story.import_large", file=file, limit=LARGEST_MB)
    lines = data.removeprefix(BOM_UTF8).split(b"\n")
    if len(lines) > TURNS + 1:
        raise UserError("story.import_long", file=file, limit=TURNS)
    return (decoded(line).removesuffix("\r").replace("\0", "") for line in lines)


def _message(line: str) -> tuple[dict[str, Any] | None, str]:
    """A line's message, or why there is none."""
    if len(line) > SWIPES * LINE_CHARS:
        return None, "story.import_line_long"
    if (row := json_object(line)) is None:
        return None, "story.import_line_unreadable"
    if row.get("is_system") is True:
        return row, ""
    mes, name = row.get("mes"), row.get("name")
    if not isinstance(mes, str) or not mes.strip() or not isinstance(name, str):
        return None, "story.import_message_lacking"
    if len(mes) > LINE_CHARS:
        return None, "story.import_line_long"
    return row, ""


def _swipes(message: Mapping[str, Any], text: str) -> tuple[list[str], int]:
    """The versions of a message, and which one it shows: its text, whatever its number says."""
    listed = message.get("swipes")
    swipes = (
        [text for text in listed if isinstance(text, str) and text.strip()]
        if isinstance(listed, list)
        else []
    )
    swipes = [text for text in swipes if len(text) <= LINE_CHARS][:SWIPES]
    number = message.get("swipe_id")
    if type(number) is int and 0 <= number < len(swipes) and swipes[number] == text:
        return swipes, number
    if text not in swipes:
        swipes.append(text)
    return swipes, swipes.index(text)


def _moment(value: Any) -> datetime | None:
    try:
        if (number := value_of(value)) is not None:
            return datetime.fromtimestamp(number / 1000, UTC)
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


def titled(file: str) -> str:
    return PurePath(file).stem[:NAME_CHARS] or file[:NAME_CHARS]
