"""Stories in files of NovelAI's formats."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping, Sequence
from typing import Any


class Document:
    """NovelAI's MessagePack: records, and strings bundled behind the values."""

    def __init__(self) -> None:
        self.bundles, self.records = ["", ""], dict[tuple[str, ...], int]()

    def whole(self, tree: Mapping[str, Any]) -> bytes:
        value = self.value(tree)
        head, rest = value[:6], value[6:]
        bundled = b"\xd6b" + struct.pack(">I", 4 + len(rest))
        tail = b"".join(
            b"\xdb" + struct.pack(">I", len(text.encode())) + text.encode() for text in self.bundles
        )
        return b"\xd4\x14\0" + head + bundled + rest + tail

    def value(self, value: Any) -> bytes:
        if isinstance(value, str):
            which = int(value.isascii())
            self.bundles[which] += value
            units = len(value.encode("utf-16-le")) // 2
            return b"\xc1" + (self.number(units) if which else b"\xd1" + struct.pack(">h", -units))
        if isinstance(value, int):
            return self.number(value)
        if isinstance(value, list):
            return b"\xdc" + struct.pack(">H", len(value)) + b"".join(map(self.value, value))
        if all(isinstance(name, str) for name in value):
            names, known = tuple(value), tuple(value) in self.records
            number = self.records.setdefault(names, 0x40 + len(self.records))
            head = bytes([number]) if known else b"\xd4r" + bytes([number]) + self.value(list(names))
            return head + b"".join(map(self.value, value.values()))
        pairs = b"".join(self.number(key) + self.value(part) for key, part in value.items())
        return b"\xde" + struct.pack(">H", len(value)) + pairs

    def number(self, value: int) -> bytes:
        return bytes([value]) if value < 0x40 else b"\xcb" + struct.pack(">d", value)


def section(text: str, *parts: tuple[int, int], type: int = 1) -> dict[str, Any]:
    listed = [{"position": 0, "data": who, "length": length} for who, length in parts]
    return {"type": type, "text": text, "meta": {1: listed}}


SECTIONS = {
    7: section("The sea is flat.", (2, 16)),
    1721623941149152: section("Eine Tür 🚪 steht darin.", (2, 20)),
    9: section("I knock.", (2, 1), (1, 7)),
    10: section("It opens.", (2, 9)),
    11: section("", type=2),
}

LOREBOOK = {
    "lorebookVersion": 5, "settings": {}, "categories": [],
    "entries": [{"text": "Oil for ${name}.", "displayName": "Lamp", "keys": ["lamp"], "enabled": True}, {"text": ""}],
}  # fmt: skip

CONTEXT = [{"text": "A lighthouse.", "contextConfig": {}}, {"text": "Be brief.", "contextConfig": {}}]


def novelai(packed: bytes, **content: Any) -> dict[str, Any]:
    return {
        "storyContainerVersion": 1,
        "metadata": {"storyMetadataVersion": 1, "title": "The door", "description": "About a door."},
        "content": {
            "storyContentVersion": 6, "context": CONTEXT, "lorebook": LOREBOOK, "ephemeralContext": [],
            "document": base64.b64encode(packed).decode().rstrip("="), **content,
        },
    }  # fmt: skip


def document_of(sections: Mapping[int, Any], order: Sequence[int]) -> bytes:
    tree = {"sections": dict(sections), "order": list(order), "dirtySections": {0: 0}, "step": 1}
    return Document().whole(tree)


STORY = novelai(document_of(SECTIONS, [*SECTIONS, 12]))
