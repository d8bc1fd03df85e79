"""Recognises and reads a file that somebody imports: a story, a character, a lorebook.

A stranger's file is read in a process of its own (`bot.readers.child` runs `read`), which answers in lines of JSON, as
the text of a Document, so that the process that serves everybody never parses it at once.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import PurePath
from typing import Any, Final, TypeAlias

from bot.events import UserError
from bot.readers.archive import Archive
from bot.readers.document import NO_LANGUAGE, Document, Progress, sectioned
from bot.readers.sandbox import Sandbox
from bot.works.story.exchange import agnai, ai_dungeon, png, webp
from bot.works.story.exchange.card import CARD_JSON, Card, card_of, is_card
from bot.works.story.exchange.chat_log import is_chat_log, read_chat_log, read_plain
from bot.works.story.exchange.discord_export import is_discord_export, read_discord_export
from bot.works.story.exchange.json_import import (
    LARGEST_MB,
    NAME_CHARS,
    BadLine,
    Imported,
    read_story,
    tree_of,
)
from bot.works.story.exchange.kobold import is_kobold, read_kobold
from bot.works.story.exchange.lorebook import Lorebook, is_lorebook, lorebook_of
from bot.works.story.exchange.novelai import is_novelai, read_novelai
from bot.works.story.exchange.numbers import dump
from bot.works.story.exchange.passages import Destination
from bot.works.story.exchange.rows import Rows, titled
from bot.works.story.exchange.sillytavern import is_sillytavern, read_sillytavern
from storage.db import new_id
from storage.stories import BranchRow, NodeRow, StoryRow

KINDS: Final = (
    ".json", ".jsonl", ".png", ".webp", ".charx", ".lorebook", ".story", ".scenario", ".txt", ".md",
)  # fmt: skip
_BY_FIELDS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("story.import_seems_sillytavern_preset", ("prompts", "prompt_order")),
    ("story.import_seems_sillytavern_preset", ("input_sequence", "output_sequence")),
    ("story.import_seems_sillytavern_preset", ("story_string",)),
    ("story.import_seems_sillytavern_theme", ("main_text_color", "blur_strength")),
    ("story.import_seems_sillytavern_persona", ("personas", "persona_descriptions")),
    ("story.import_seems_sillytavern_script", ("findRegex", "replaceString")),
    ("story.import_seems_sillytavern_script", ("qrList",)),
    ("story.import_seems_preset", ("presetVersion", "parameters")),
    ("story.import_seems_preset", ("temp", "rep_pen")),
    ("story.import_seems_preset", ("temperature", "top_p")),
    ("story.import_seems_character_ai", ("histories",)),
    ("story.import_seems_character_ai", ("participant__name",)),
    ("story.import_seems_character_ai", ("turns", "next_token")),
    ("story.import_seems_oobabooga", ("internal", "visible")),
)
_LISTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("story.import_seems_chatgpt", ("mapping", "create_time")),
    ("story.import_seems_claude", ("chat_messages",)),
    ("story.import_seems_slack", ("type", "ts", "user")),
    ("story.import_seems_discord_package", ("ID", "Timestamp", "Contents")),
)
Found: TypeAlias = Imported | Card | Lorebook
_TOLD: Final = 2_000
"""How many nodes are read between two reports of progress."""


@dataclass(frozen=True, slots=True)
class _Head:
    """The parts of a story other than its nodes."""

    story: StoryRow
    branches: list[BranchRow]
    scenes: dict[str, tuple[dict[str, Any], int]]
    turns: int
    left_out: list[tuple[int, str]]
    cards: dict[str, str]
    counts: dict[str, int]


def read_file(data: bytes, file: str, whose: Destination) -> Found:
    """What the file contains, by its name and its contents. Raises UserError, which names `file`."""
    if len(data) > LARGEST_MB * 1_000_000:
        raise UserError("story.import_large", file=file, limit=LARGEST_MB)
    suffix = PurePath(file).suffix.lower()
    if webp.is_webp(data):
        if not (text := webp.card_text(data)):
            raise UserError("story.import_no_card", file=file)
        return card_of(_card(text.encode("utf-8", "replace"), file), file, whose.player)
    if suffix in (".png", ".webp") or data.startswith(png.SIGNATURE):
        return card_of(_card_of_png(data, file), file, whose.player)
    if suffix == ".charx" or data.startswith(b"PK"):
        return card_of(_card_of_zip(data, file), file, whose.player)
    if is_chat_log(data):
        return read_chat_log(data, file, whose.space, whose.id)
    if is_sillytavern(data):
        return read_sillytavern(data, file, whose.space, whose.id)
    is_json = data.removeprefix(BOM_UTF8).lstrip()[:1] in (b"{", b"[")
    if suffix in (".txt", ".md"):
        if is_json:
            with suppress(UserError):
                return _read_tree(tree_of(data, file), data, file, whose)
        return read_plain(data, file, whose.space, whose.id)
    if suffix == ".jsonl":
        raise UserError("story.import_header", file=file)
    return _read_tree(tree_of(data, file), data, file, whose)


def _read_tree(tree: Any, data: bytes, file: str, whose: Destination) -> Found:
    """What a JSON file contains, by its fields."""
    if ai_dungeon.are_story_cards(tree):
        return ai_dungeon.cards_of(_sound(tree, file))
    if isinstance(tree, dict) and "format" not in tree:
        if "spec" not in tree and agnai.is_character(tree):
            return card_of(agnai.card_tree(_sound(tree, file)), file, whose.player)
        if agnai.is_chat(tree):
            return agnai.read_chat(_sound(tree, file), data, file, whose)
        if agnai.is_book(tree):
            return agnai.book_of(_sound(tree, file))
        if is_novelai(tree):
            return read_novelai(_sound(tree, file), data, file, whose)
        if is_kobold(tree):
            return read_kobold(_sound(tree, file), data, file, whose)
        if is_discord_export(tree):
            return read_discord_export(_sound(tree, file), data, file, whose)
    if isinstance(tree, dict) and is_card(tree):
        return card_of(_sound(tree, file), file, whose.player)
    if isinstance(tree, dict) and "format" not in tree:
        if is_lorebook(tree):
            return lorebook_of(_sound(tree, file))
        if (adventure := ai_dungeon.found_within(tree)) is not None:
            return ai_dungeon.read_ai_dungeon(_sound(dict(adventure), file), data, file, whose)
    if not isinstance(tree, dict) or "format" not in tree:
        raise UserError(seems_to_be(tree), file=file)
    story = read_story(data, file, whose.space, whose.id)
    for card_file in map(base64.b64decode, story.cards.values()):
        (_card_of_png if card_file.startswith(png.SIGNATURE) else _card_of_zip)(card_file, file)
    return story


def story_of(card: Card, whose: Destination, author: str = "") -> Imported:
    """A story that begins with the character's greetings, each a version of the first scene."""
    rows = Rows(whose.id or new_id(), whose.space, card.name)
    rows.add("set", {"title": card.name, **({"premise": card.scenario} if card.scenario else {})})
    rows.add("cast", {"name": card.name, "sheet": card.sheet}, author=author)
    for n, entry in enumerate(card.book.entries):
        rows.add("lore", {"id": f"lore-{n}", "entry": entry})
    if card.greetings:
        turn = rows.add("act", {"mode": "open", "text": "", "name": whose.player})
        rows.versions(turn, card.greetings, 0)
    return rows.imported()


def story_of_book(book: Lorebook, file: str, whose: Destination) -> Imported:
    """A story that has not begun yet, with the lorebook."""
    rows = Rows(whose.id or new_id(), whose.space, book.name.strip()[:NAME_CHARS] or titled(file))
    if book.source:
        rows.add("set", {"lore_source": book.source})
    for n, entry in enumerate(book.entries):
        rows.add("lore", {"id": f"lore-{n}", "entry": entry})
    return rows.imported()


def _sound(tree: Any, file: str) -> Any:
    """The file without unpaired surrogates, which JSON can contain as escapes but no database stores."""
    try:
        dump(tree).encode()
    except (UnicodeEncodeError, RecursionError) as fault:
        raise UserError("story.import_unreadable", file=file) from fault
    return tree


def _card_of_png(data: bytes, file: str) -> dict[str, Any]:
    if not data.startswith(png.SIGNATURE):
        raise UserError("story.import_no_png", file=file)
    try:
        texts = png.texts(data, png.CARDS)
    except png.BombError as fault:
        raise UserError("library.file_bomb", name=file) from fault
    except ValueError as fault:
        raise UserError("story.import_broken_card", file=file) from fault
    text = texts.get("ccv3") or texts.get("chara")
    if not text:
        raise UserError("story.import_no_card", file=file)
    try:
        return _card(png.from_base64(text), file)
    except binascii.Error as fault:
        raise UserError("story.import_broken_card", file=file) from fault


def _card_of_zip(data: bytes, file: str) -> dict[str, Any]:
    archive = Archive(file, data)
    # Nothing of it is ever written to disk, but such a name is a sign of an attack.
    if any(
        name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/") for name in archive.names
    ):
        raise UserError("story.import_paths", file=file)
    if CARD_JSON not in archive:
        raise UserError("story.import_no_card", file=file)
    return _card(archive.read(CARD_JSON), file)


def _card(text: bytes, file: str) -> dict[str, Any]:
    try:
        tree = tree_of(text, file)
    except UserError as error:
        raise UserError("story.import_broken_card", file=file) from error
    if not isinstance(tree, dict) or not is_card(tree):
        raise UserError("story.import_broken_card", file=file)
    sound: dict[str, Any] = _sound(tree, file)
    return sound


class Strangers:
    """Reads files in processes of their own, one at a time."""

    def __init__(self) -> None:
        readers = dict.fromkeys(KINDS, __name__)
        self._sandbox = Sandbox(at_once=1, readers=readers, check=lambda name, data: None)

    async def found(self, data: bytes, file: str, whose: Destination, progress: Progress) -> Found:
        """The result of `read_file`. Raises UserError, also as `Sandbox.read` does."""
        head = json.dumps(asdict(whose)).encode()
        document = await self._sandbox.read(file, head + b"\n" + data, progress)
        return await asyncio.to_thread(parse_lines, document.text)


def read(name: str, data: bytes, progress: Progress) -> Document:
    """Read a file for `bot.readers.child`: `data` is a Whose as JSON, a line end, and the file."""
    head, _, contents = data.partition(b"\n")
    try:
        imported = read_file(contents, name, Destination(**json.loads(head)))
        lines = [
            json.dumps(line, ensure_ascii=False, default=datetime.isoformat)
            for line in _lines_of(imported, progress)
        ]
    except UserError as error:
        lines = [
            json.dumps(
                {"kind": "sorry", "key": error.key, "values": {k: str(v) for k, v in error.values.items()}}
            )
        ]
    text = "\n".join(lines)
    return Document(name, text, NO_LANGUAGE, sectioned(text, []))


def _lines_of(imported: Found, progress: Progress) -> Iterator[Any]:
    if isinstance(imported, Card):
        yield {"kind": "card", "found": asdict(replace(imported, book=replace(imported.book, entries=[])))}
        yield from imported.book.entries
        return
    if isinstance(imported, Lorebook):
        yield {"kind": "lore", "found": asdict(replace(imported, entries=[]))}
        yield from imported.entries
        return
    left_out = [(bad_line.number, bad_line.key) for bad_line in imported.left_out]
    yield {
        "kind": "story",
        "head": asdict(
            _Head(
                imported.story,
                imported.branches,
                imported.scenes,
                imported.turns,
                left_out,
                imported.cards,
                imported.counts,
            )
        ),
    }
    for n, node in enumerate(imported.nodes):
        if n % _TOLD == 0:
            progress(n, len(imported.nodes))
        yield asdict(node)


def parse_lines(text: str) -> Found:
    from pydantic import TypeAdapter

    first, *lines = text.split("\n")
    header = json.loads(first)
    match header["kind"]:
        case "sorry":
            raise UserError(str(header["key"]), **header["values"])
        case "card":
            card = TypeAdapter(Card).validate_python(header["found"])
            return replace(card, book=replace(card.book, entries=[json.loads(line) for line in lines]))
        case "lore":
            book = TypeAdapter(Lorebook).validate_python(header["found"])
            return replace(book, entries=[json.loads(line) for line in lines])
    head = TypeAdapter(_Head).validate_python(header["head"])
    adapter = TypeAdapter(NodeRow)
    nodes = [adapter.validate_json(line) for line in lines]
    bad = [BadLine(number, key) for number, key in head.left_out]
    return Imported(head.story, head.branches, nodes, head.scenes, head.turns, bad, head.cards, head.counts)


def seems_to_be(tree: Any) -> str:
    """The key of a sentence about the file, which is not a story. It says which export to use."""
    if isinstance(tree, dict):
        return _known(tree, (*_BY_FIELDS, *_LISTS))
    if isinstance(tree, list) and tree and isinstance(tree[0], dict):
        return _known(tree[0], _LISTS)
    return "story.import_other"


def _known(row: Mapping[str, Any], kinds: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    return next((key for key, names in kinds if all(name in row for name in names)), "story.import_other")
