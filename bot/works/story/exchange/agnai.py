"""Agnai's characters, chats and memory books.

A character (`kind` "character") has `persona.attributes`, `greeting`, `sampleChat`; a chat `messages` with `msg`, with
`characterId` where the character speaks; a book (`kind` "memory") entries with `entry`, `keywords` and `weight`. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.works.story.exchange.card import V2
from bot.works.story.exchange.json_import import Imported
from bot.works.story.exchange.lorebook import Lorebook, lorebook_of
from bot.works.story.exchange.passages import Destination, Passage, StoryContents, text_of


def is_character(tree: Mapping[str, Any]) -> bool:
    return isinstance(tree.get("persona"), dict) and "name" in tree and "greeting" in tree


def is_chat(tree: Mapping[str, Any]) -> bool:
    rows = tree.get("messages")
    return (
        isinstance(rows, list) and bool(rows) and all(isinstance(row, dict) and "msg" in row for row in rows)
    )


def is_book(tree: Mapping[str, Any]) -> bool:
    return tree.get("kind") == "memory" and isinstance(tree.get("entries"), list)


def card_tree(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The character as a V2 card, with the file itself in its extensions."""
    attributes = tree["persona"].get("attributes")
    lines = [
        f"{name}: {text}" if name != "text" else text
        for name, values in (attributes.items() if isinstance(attributes, dict) else ())
        if (
            text := ", ".join(value for value in values if isinstance(value, str))
            if isinstance(values, list)
            else ""
        )
    ]
    book = tree.get("characterBook")
    fields = {
        "name": tree.get("name"),
        "description": "\n".join(lines),
        "personality": "",
        "scenario": tree.get("scenario"),
        "first_mes": tree.get("greeting"),
        "mes_example": tree.get("sampleChat"),
        "creator_notes": text_of(tree.get("description")),
        "system_prompt": text_of(tree.get("systemPrompt")),
        "post_history_instructions": text_of(tree.get("postHistoryInstructions")),
        "alternate_greetings": tree.get("alternateGreetings") or [],
        "tags": tree.get("tags") or [],
        "creator": text_of(tree.get("creator")),
        "character_version": text_of(tree.get("characterVersion")),
        "extensions": {"agnai": dict(tree)},
    }
    if isinstance(book, dict):
        fields["character_book"] = {**book, "entries": _entries(book)}
    return {"spec": V2, "spec_version": "2.0", "data": fields}


def book_of(tree: Mapping[str, Any]) -> Lorebook:
    return lorebook_of({"name": tree.get("name"), "entries": _entries(tree)})


def _entries(book: Mapping[str, Any]) -> list[Any]:
    listed = book.get("entries")
    names = {"weight": "insertion_order", "secondaryKeys": "secondary_keys", "keywords": "keys"}
    return [
        {names.get(name, name): value for name, value in row.items()} if isinstance(row, dict) else row
        for row in (listed if isinstance(listed, list) else ())
    ]


def read_chat(tree: Mapping[str, Any], data: bytes, file: str, whose: Destination) -> Imported:
    """The story of a chat. Raises UserError ("story.import_…")."""
    title = text_of(tree.get("name"))
    telling = StoryContents(title if title != "Exported" else "", premise=text_of(tree.get("scenario")))
    for row in tree["messages"]:
        if not isinstance(row["msg"], str):
            telling.counts["story.import_left_broken"] += 1
            continue
        by_player = not row.get("characterId")
        telling.passages.append(
            Passage(row["msg"], by_player, text_of(row.get("handle")) if by_player else "")
        )
    return telling.imported(data, file, whose)
