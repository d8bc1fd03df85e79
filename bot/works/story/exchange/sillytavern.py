"""Chats of SillyTavern as the rows of a new story, and a story as such a chat.

The file is JSON lines: a header (`chat_metadata`, `user_name`, `character_name`), then one line for each message
(`name`, `is_user`, `mes`, `send_date`, and `swipes` with `swipe_id`, which are versions here). Bad lines are reported
and left out. Knows no database.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from bot.events import UserError
from bot.works.story.exchange.card import with_names
from bot.works.story.exchange.json_import import BadLine, Imported
from bot.works.story.exchange.numbers import dump, value_of
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
from bot.works.story.limits import NOTE_CHARS
from bot.works.story.log.story import Story
from bot.works.story.world.cast import MOST_CHARACTERS

SWIPES: Final = 100
"""The maximum number of versions of one message."""
_HEADER: Final = ("chat_metadata", "user_name", "character_name")
_DATES: Final = (
    "%B %d, %Y %I:%M%p",
    "%Y-%m-%d @%Hh %Mm %Ss %fms",
    "%Y-%m-%d@%Hh%Mm%Ss",
    "%Y-%m-%d @%Hh %Mm %Ss",
)
"""The formats of times that SillyTavern has used over the years."""


def is_sillytavern(data: bytes) -> bool:
    """Whether the first line is the header of such a chat, or one of its messages."""
    return _header(data) is not None


def read_sillytavern(data: bytes, file: str, space: str, id: str) -> Imported:
    """The story of a chat. Raises UserError ("story.import_…") for another file, or without any message."""
    if (header := _header(data)) is None:
        raise UserError("story.import_header", file=file)
    character = name_of(header.get("character_name"))
    rows, bad, cast = Rows(id or story_id(space, data), space, titled(file)), list[BadLine](), set[str]()
    turn, entries = "", [_Message(header)]
    for number, line in enumerate(lines_of(data, file), 1):
        if (number == 1 and header) or not line.strip():
            continue
        message, key = _message(line)
        if message is None:
            bad.append(BadLine(number, key))
        elif message.get("is_system") is True:
            entries[-1].hidden.append(message)
        else:
            entries.append(_Message(message))
    note = _note(header)
    if header or entries[0].hidden:
        rows.add("set", {"source": entries[0].source} | ({"note": note} if note else {}))
    said_by = (
        name_of(entry.message.get("name"))
        for entry in entries[1:]
        if entry.message.get("is_user") is not True
    )
    character = character or next(said_by, "")
    for entry in entries[1:]:
        message, source = entry.message, entry.source
        name, at, text = name_of(message["name"]), moment(message.get("send_date")), str(message["mes"])
        if message.get("is_user") is True:
            turn = rows.add("act", {"mode": "act", "text": text, "name": name, "source": source}, at=at)
            continue
        if name and name not in cast and len(cast) < MOST_CHARACTERS:
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


def sillytavern(story: Story, player: str, character: str, sources: Mapping[str, str]) -> str:
    """A story as SillyTavern's chat; `character` narrates what no character says.

    Messages of an imported chat keep all their fields: `sources` are those of acts and scenes by id, and of the chat
    under "".
    """
    turns = story.current_turns
    start = turns[0].created_at if turns else datetime.now(UTC)
    player = next((turn.act.name for turn in turns if turn.act.name and turn.act.text), player)
    header: dict[str, Any] = {"user_name": player, "character_name": character}
    header |= {"create_date": start.isoformat(), "chat_metadata": {}}
    chat = _source(sources.get("", "")) or _Message(header)
    lines = [_with_note(chat.message or header, str(story.settings.get("note") or "")), *chat.hidden]
    for turn in turns:
        act, plain = turn.act, {"is_system": False, "send_date": turn.created_at.isoformat()}
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
            lines.append(_with_versions(message, texts, versions.index(turn.scene)))
        lines += source.hidden if source else []
    return "".join(f"{dump(line)}\n" for line in lines)


def _with_versions(message: Mapping[str, Any], texts: Sequence[str], shown: int) -> dict[str, Any]:
    """The message with these versions, of which that with the index `shown` is shown; what is equal stays unchanged."""
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
    """An original message of SillyTavern's, or the header, and the hidden messages after it, which no reader sees."""

    message: dict[str, Any]
    hidden: list[dict[str, Any]] = field(default_factory=list)

    @property
    def source(self) -> str:
        return dump(asdict(self))


def _source(text: str) -> _Message | None:
    """The contents of a node's `source`, which may come from a stranger's file."""
    stored = json_object(text) if text else None
    message, hidden = (stored or {}).get("message"), (stored or {}).get("hidden")
    if not isinstance(message, dict) or not isinstance(hidden, list):
        return None
    return _Message(
        message, [hidden_message for hidden_message in hidden if isinstance(hidden_message, dict)]
    )


def _header(data: bytes) -> dict[str, Any] | None:
    """The header; None for another file, and empty where the messages begin at once, as some programs write them."""
    first = data[:BEGINNING].removeprefix(BOM_UTF8).partition(b"\n")[0]
    row = json_object(decoded(first))
    if row is not None and "mes" in row and "name" in row:
        return {}
    is_header = row is not None and sum(name in row for name in _HEADER) > 1
    return row if is_header else None


def _note(header: Mapping[str, Any]) -> str:
    """The chat's author's note, with its macros replaced by names; "" if there is none, or it is off."""
    metadata = header.get("chat_metadata")
    if not isinstance(metadata, dict):
        return ""
    note = metadata.get("note_prompt")
    if not isinstance(note, str) or value_of(metadata.get("note_interval")) == 0:
        return ""
    names = name_of(header.get("character_name")), name_of(header.get("user_name"))
    return with_names(note, *names).strip()[:NOTE_CHARS]


def _with_note(header: Mapping[str, Any], note: str) -> dict[str, Any]:
    """The header with this note; unchanged if the note is the same."""
    if note == _note(header):
        return dict(header)
    metadata = header.get("chat_metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return {**header, "chat_metadata": {**metadata, "note_prompt": note, "note_interval": 1}}


def _message(line: str) -> tuple[dict[str, Any] | None, str]:
    """A line's message, or the reason why there is none."""
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
    """The versions of a message, and the index of the shown one, which is decided by its text even if its number
    differs.
    """
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


def moment(value: Any) -> datetime | None:
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
