"""A small story file as a tree, in which most kinds of references occur."""

from __future__ import annotations

import json
from typing import Any

from bot.works.story.exchange.json_import import Imported, read_story

TIME = "2026-03-04T05:06:07.000008+00:00"
SMALL: dict[str, Any] = {
    "format": "sutradhar-story",
    "version": 1,
    "title": "The door in the sea",
    "author": 1,
    "time": TIME,
    "branches": [
        {"id": 1, "author": 1, "time": TIME},
        {"id": 2, "name": "shut", "parent": 1, "turn": 3, "cut": 5, "until": 7, "author": 2, "time": TIME},
    ],
    "nodes": [
        {"id": 1, "branch": 1, "kind": "set", "author": 1, "body": {"premise": "A door.", "gm": 1}},
        {"id": 2, "branch": 1, "kind": "cast", "body": {"name": "Mira", "sheet": {"about": "a diver"}}},
        {"id": 3, "branch": 1, "kind": "act", "author": 1, "body": {"mode": "open", "text": "", "name": "Ana"}},
        {"id": 4, "branch": 1, "kind": "scene", "turn": 3, "body": {"text": "The sea is flat.", "at": 3}},
        {"id": 5, "branch": 1, "kind": "choices", "turn": 3, "body": {"scene": 4, "choices": ["Go.", "Stay."]}},
        {"id": 6, "branch": 1, "kind": "act", "author": 2, "body": {"mode": "act", "text": "I go.", "name": "Bo"}},
        {"id": 7, "branch": 1, "kind": "scene", "turn": 6, "body": None},
        {"id": 8, "branch": 2, "kind": "flip", "turn": 3, "author": 2, "body": {"scene": 4}},
        {"id": 9, "branch": 2, "kind": "lore", "body": {"id": "1", "entry": {"keys": ["lamp"], "content": "Oil."}}},
        {"id": 10, "branch": 1, "kind": "head", "turn": 3, "author": 1, "body": {}},
        {"id": 11, "branch": 1, "kind": "set", "author": 2, "body": {"passed": {"author": 1, "after": 3}}},
    ],
}  # fmt: skip
SMALL["nodes"] = [{**node, "time": TIME} for node in SMALL["nodes"]]


def file_of(tree: Any) -> bytes:
    return json.dumps(tree).encode()


def read(tree: Any) -> Imported:
    return read_story(file_of(tree), "story.json", "local")
