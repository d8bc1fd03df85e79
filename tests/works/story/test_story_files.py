"""What the reader of a story file reads, skips, and refuses with a sentence."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events import UserError
from bot.words import words
from bot.works.story.exchange.json_export import FIELDS, WITHIN, export_json
from bot.works.story.exchange.json_import import LARGEST_MB, read_story
from bot.works.story.exchange.passages import Destination
from bot.works.story.exchange.reading import read_file
from bot.works.story.log.nodes import lineage
from bot.works.story.log.story import fold
from bot.works.story.turn import context
from bot.works.story.turn.context import Frame
from tests.works.story.exchange.test_card import a_png
from tests.works.story.small_story import SMALL, file_of, read


def test_the_example_of_the_manual_is_a_story() -> None:
    page = Path("docs/story-format.md").read_text(encoding="utf-8")
    found = read_story(page.split("```json\n")[1].split("```")[0].encode(), "story.json", "local")
    assert found.turns == 3
    assert {name for kind in FIELDS.values() for name in kind} <= set(re.findall(r"`(\w+)`", page))
    assert {name for part in WITHIN.values() for name in part} <= set(re.findall(r"`(\w+)`", page))


def test_unknown_fields_are_skipped() -> None:
    tree = deepcopy(SMALL)
    tree["nodes"].append({"id": 12, "branch": 1, "kind": "weather", "turn": 3, "body": {"deep": [[[]]]}})
    tree["nodes"].append(
        {"id": 13, "branch": 1, "kind": "scene", "turn": 3, "body": {"text": "Rain.", "at": 12}}
    )
    tree["nodes"][2]["body"]["mood"] = {"a": 1}
    tree["mood"] = tree["branches"][0]["mood"] = "grey"
    found = read(tree)
    assert [node.kind for node in found.nodes][-2:] == ["set", "scene"]
    assert json.loads(found.bodies(range(14))[found.nodes[-1].id])["at"] == 11
    assert "mood" not in str(found)


def _put(tree: Any, path: str, value: Any) -> Any:
    """A copy of the tree with this value there; `...` removes it."""
    made = at = deepcopy(tree)
    *names, last = [int(name) if name.isdecimal() else name for name in path.split(".")]
    for name in names:
        at = at[name]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return made


WRONG: list[tuple[str, Any, str]] = [
    ("format", "a-recipe", "other"),
    ("version", 2, "version"),
    ("version", True, "version"),
    ("version", ..., "version"),
    ("title", "", "wrong"),
    ("title", "a" * 1_000, "wrong"),
    ("title", "half of \ud83d", "wrong"),
    ("nodes", {}, "wrong"),
    ("branches", [], "wrong"),
    ("branches.1.parent", 2, "wrong"),
    ("branches.1.parent", 0, "wrong"),
    ("branches.1.until", 12, "wrong"),
    ("branches.1.turn", 4, "wrong"),
    ("nodes.3.id", 3, "wrong"),
    ("nodes.3.turn", 99, "wrong"),
    ("nodes.3.turn", 5, "wrong"),
    ("nodes.3.branch", 3, "wrong"),
    ("nodes.3.branch", 0, "wrong"),
    ("nodes.3.kind", None, "wrong"),
    ("nodes.3.body", "", "wrong"),
    ("nodes.3.body", ..., "wrong"),
    ("nodes.3.body.text", 7, "wrong"),
    ("nodes.3.body.text", "\udc00", "wrong"),
    ("nodes.3.body.at", 12, "wrong"),
    ("nodes.3.author", -1, "wrong"),
    ("nodes.3.time", "yesterday", "wrong"),
    ("nodes.3.time", "2026-03-04T05:06:07", "wrong"),
    ("nodes.3.time", "0001-01-01T00:00:00+14:00", "wrong"),
    ("nodes.4.body.scene", 3, "wrong"),
    ("nodes.5.body.mode", "fly", "wrong"),
    ("nodes.1.body.sheet", {"about": [[]]}, "wrong"),
    ("nodes.8.body.entry.depth", 1.5, "wrong"),
    ("nodes.8.body.entry.keys", "lamp", "wrong"),
    ("nodes.0.body.gm", "person-1", "wrong"),
    ("nodes.10.body.passed", {"author": 1}, "wrong"),
    ("cards", {}, "wrong"),
    ("cards", ["face"], "wrong"),
    ("cards", [{"node": 2, "file": "iVBO"}], "wrong"),  # its sheet has no card
    ("cards", [{"node": 3, "file": "iVBO"}], "wrong"),
]

TEXTS_OF_NO_STORY: list[tuple[bytes, str]] = [
    (b"", "unreadable"),
    (b"INT. HOUSE - DAY", "unreadable"),
    ("{}".encode("utf-16"), "unreadable"),
    (b'{"a": NaN}', "unreadable"),
    (b'{"a": 1e999}', "unreadable"),
    (b"[" * 200_000, "unreadable"),
    (b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "unreadable"),
    (b"9" * 10_000, "other"),
    (b"[]", "other"),
    (b"{}", "other"),
]


@pytest.mark.parametrize(
    ("file", "key"),
    [
        ("*", "story.import_wrong"),
        ("ü", "story.import_wrong"),
        (7, "story.import_wrong"),
        (base64.b64encode(b"x" * 8_000_001).decode(), "story.import_wrong"),
        (base64.b64encode(a_png()).decode(), "story.import_no_card"),
        (base64.b64encode(b"GIF89a").decode(), "library.file_damaged"),
    ],
)
def test_an_invalid_card_file_is_refused_with_its_story(file: object, key: str) -> None:
    tree = _put(SMALL, "nodes.1.body.sheet.card", "{}") | {"cards": [{"node": 2, "file": file}]}
    with pytest.raises(UserError) as error:
        read_file(file_of(tree), "story.json", Destination("local"))
    assert error.value.key == key
    assert "story.json" in words("en")(key, **error.value.values)


def test_bad_files_are_refused_with_a_reason() -> None:
    wrong = [(file_of(_put(SMALL, path, value)), said) for path, value, said in WRONG]
    large = (b" " * (LARGEST_MB * 1_000_000 + 1), "large")
    for data, said in [*wrong, *TEXTS_OF_NO_STORY, large]:
        with pytest.raises(UserError) as error:
            read_story(data, "story.json", "local")
        assert error.value.key == f"story.import_{said}", data[-2_000:]
        sentence = words("en")(error.value.key, **error.value.values)
        assert "story.json" in sentence
        assert "\n" not in sentence
        assert "{" not in sentence


def _paths(tree: Any, at: str = "") -> Iterator[str]:
    for name, part in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield f"{at}{name}"
        if isinstance(part, dict | list):
            yield from _paths(part, f"{at}{name}.")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 14) | st.text(max_size=4) | st.floats(allow_nan=False),
    lambda parts: st.lists(parts, max_size=2) | st.dictionaries(st.text(max_size=4), parts, max_size=2),
    max_leaves=4,
)

PATHS = st.sampled_from(list(_paths(SMALL)))


@given(changes=st.lists(st.tuples(PATHS, JSON | st.just(...)), min_size=1, max_size=3))
def test_every_imported_story_can_be_played(changes: list[tuple[str, Any]]) -> None:
    tree = SMALL
    for path, value in changes:
        try:
            tree = _put(tree, path, value)
        except (LookupError, TypeError):  # the value to change no longer exists
            continue
    try:
        found = read(tree)
    except UserError:
        return
    bodies = found.bodies(range(len(found.nodes) + 1))
    nodes = [replace(node, body=bodies.get(node.id, node.body)) for node in found.nodes]
    branches = {row.id: row for row in found.branches}
    for id in branches:
        story = fold(lineage(branches, id), nodes)
        context.prompt(story, Frame("You write.", "Go on.", tokens=4_000, answer=400))
    text = export_json(found.story, found.branches, nodes)
    again = read_story(text.encode(), "story.json", "local")
    assert again.turns == found.turns
