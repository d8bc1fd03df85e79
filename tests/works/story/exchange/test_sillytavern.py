"""Chats of other programs keep their speakers, each swipe as a version, and each bad line is named by number."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.events import UserError
from bot.works.story.exchange.json_import import Imported
from bot.works.story.exchange.passages import Destination
from bot.works.story.exchange.reading import read_file
from bot.works.story.exchange.sillytavern import sillytavern
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import Story, fold
from bot.works.story.log.turn import Scene

WHOSE = Destination("local", "story", "Ana")
HEADER = {
    "user_name": "Ana",
    "character_name": "Mira",
    "create_date": "2026-03-04 @05h 06m 07s 008ms",
    "chat_metadata": {"note": "x"},
}
CHAT: list[dict[str, Any]] = [
    HEADER,
    {
        "name": "Mira",
        "is_user": False,
        "send_date": "March 4, 2026 5:06am",
        "mes": "You are late.",
        "swipes": ["You are early.", "You are late."],
        "swipe_id": 1,
    },
    {"name": "Ana", "is_user": True, "send_date": "2026-03-04T05:07:00+00:00", "mes": "The storm."},
    {"name": "Mira", "is_user": False, "send_date": 1_772_600_880_000, "mes": "It has a name."},
    {"name": "Bo", "is_user": False, "mes": "Soup?", "swipes": ["Soup?", "Bread?", ""], "swipe_id": 0},
    {"name": "Ana", "is_user": True, "mes": "Both."},
]


def lines(*rows: Any) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def story_in(data: bytes, file: str) -> tuple[Story, Imported]:
    imported = read_file(data, file, WHOSE)
    assert isinstance(imported, Imported)
    return fold([Part("story")], imported.nodes), imported


def went_out(story: Story, imported: Imported, character: str = "Mira") -> str:
    bodies = {row.id if row.kind != "set" else "": json.loads(row.body) for row in imported.nodes}
    sources = {id: body["source"] for id, body in bodies.items() if "source" in body}
    return sillytavern(story, "?", character, sources)


def told(story: Story) -> list[tuple[str, str, str, list[str]]]:
    return [
        (
            turn.act.name,
            turn.act.text,
            turn.act.speaker,
            [version.text for version in turn.versions if turn.scene]
            and [turn.scene.text if turn.scene else "", *(version.text for version in turn.versions)],
        )
        for turn in story.current_turns
    ]


def test_swipes_become_versions_and_the_shown_one_is_current() -> None:
    story, imported = story_in(lines(*CHAT), "storm.jsonl")
    assert told(story) == [
        ("", "", "", ["You are late.", "You are early.", "You are late."]),
        ("Ana", "The storm.", "", ["It has a name.", "It has a name."]),
        ("", "", "Bo", ["Soup?", "Soup?", "Bread?"]),
        ("Ana", "Both.", "", []),
    ]
    assert imported.story.title == "storm"
    assert imported.turns == 4
    assert set(story.cast) == {"Mira", "Bo"}
    assert [f"{turn.created_at:%Y-%m-%d %H:%M}" for turn in story.current_turns[:2]] == [
        "2026-03-04 05:06",
        "2026-03-04 05:07",
    ]
    assert not imported.left_out


def test_an_exported_chat_is_imported_as_the_same_story() -> None:
    story, _ = story_in(lines(*CHAT), "storm.jsonl")
    out = sillytavern(story, "?", "Mira", {})
    again, imported = story_in(out.encode(), "storm.jsonl")
    assert told(again) == told(story)
    assert not imported.left_out
    assert sillytavern(again, "?", "Mira", {}) == out
    given, written = CHAT[1:], [json.loads(line) for line in out.splitlines()][1:]
    for one, other in zip(given, written, strict=True):
        assert (one["name"], one["is_user"], one["mes"]) == (other["name"], other["is_user"], other["mes"])
        assert [text for text in one.get("swipes", [one["mes"]]) if text] == other.get("swipes", [one["mes"]])
        assert one.get("swipe_id", 0) == other.get("swipe_id", 0)


FULL: list[dict[str, Any]] = [
    {**HEADER, "chat_metadata": {"note": "x", "variables": {"a": [1, None]}}, "unknown": "ü"},
    {"name": "System", "is_user": False, "is_system": True, "mes": "Before all.", "extra": {"type": "help"}},
    {
        "name": "Mira", "is_user": False, "is_system": False, "send_date": "March 4, 2026 5:06am",
        "mes": "You are late.", "swipe_id": 1, "swipes": ["You are early.", "You are late.", ""], "force": "x",
        "swipe_info": [{"extra": {"token_count": n}, "gen_started": f"2026-03-0{n}"} for n in range(3)],
        "extra": {"api": "openai", "model": "gpt", "reasoning": "She waits.", "bias": None},
    },
    {"name": "Ana", "is_user": True, "is_system": True, "mes": "Hidden by Ana.", "send_date": 1_772_600_880_000},
    {"name": "Ana the Tall", "is_user": True, "mes": "The storm.", "extra": {"file": {"name": "a.txt"}}},
    {"name": "Mira", "is_user": False, "mes": "It has a name.", "extra": {}, "gen_finished": "2026"},
    {"name": "Bo", "is_user": False, "mes": "Soup?", "swipes": ["Bread?"], "swipe_id": 7, "avatar": "bo.png"},
    {"is_system": True, "mes": ""},
]  # fmt: skip


def test_a_chat_is_exported_with_every_field_that_it_had() -> None:
    story, imported = story_in(lines(*FULL), "storm.jsonl")
    assert not imported.left_out
    assert "Hidden by Ana" not in str(told(story))
    assert [json.loads(line) for line in went_out(story, imported).splitlines()] == FULL
    again, imported = story_in(went_out(story, imported).encode(), "storm.jsonl")
    assert [json.loads(line) for line in went_out(again, imported).splitlines()] == FULL


def test_changed_scenes_are_exported_changed_and_the_rest_unchanged() -> None:
    story, imported = story_in(lines(*FULL), "storm.jsonl")
    mira, storm = story.current_turns[0], story.current_turns[1]
    mira.scene_shown = mira.scenes[0].id
    storm.scenes.append(Scene("new", "It has none.", ""))
    storm.scene_shown = "new"
    out = [json.loads(line) for line in went_out(story, imported).splitlines()]
    assert out[2] == FULL[2] | {"mes": "You are early.", "swipe_id": 0}
    assert out[5] == FULL[5] | {
        "mes": "It has none.", "swipes": ["It has a name.", "It has none."], "swipe_id": 1
    }  # fmt: skip
    assert [*out[:2], *out[3:5], *out[6:]] == [*FULL[:2], *FULL[3:5], *FULL[6:]]
    mira.scenes.append(Scene("newer", "You are here.", ""))
    out = [json.loads(line) for line in went_out(story, imported).splitlines()]
    assert out[2]["swipes"] == ["You are early.", "You are late.", "You are here."]
    assert out[2]["swipe_info"] == [*FULL[2]["swipe_info"][:2], {}]


def test_each_bad_line_is_named_and_the_others_are_imported() -> None:
    data = lines(
        HEADER,
        CHAT[1],
        {"name": "Ana"},
        {"name": "Ana", "is_user": True, "mes": " "},
        {"name": "System", "is_system": True, "mes": "hidden"},
    )
    data += b'{"name": "Ana", "mes": "\\ud800"}\n[1]\n{"broken\n' + b"\xff\xfe\n" + lines(CHAT[2])
    story, imported = story_in(data, "storm.jsonl")
    assert [(bad.number, bad.key.rpartition("import_")[2]) for bad in imported.left_out] == [
        (3, "message_lacking"),
        (4, "message_lacking"),
        (6, "line_unreadable"),
        (7, "line_unreadable"),
        (8, "line_unreadable"),
        (9, "line_unreadable"),
    ]
    assert story.length == 2


def test_a_number_that_names_no_swipe_does_not_change_what_is_shown() -> None:
    row = {"name": "Mira", "mes": "Shown.", "swipes": ["One.", 2, None], "swipe_id": 7}
    story, _ = story_in(lines(HEADER, row), "a.jsonl")
    assert told(story) == [("", "", "", ["Shown.", "One.", "Shown."])]


@pytest.mark.parametrize(
    ("rows", "key"),
    [
        ([{"user": "Ana"}, *CHAT[1:]], "import_header"),
        ([HEADER], "import_no_messages"),
        ([HEADER, {"name": "Ana"}], "import_no_messages"),
    ],
)
def test_a_chat_without_a_header_or_without_a_message_is_refused(rows: list[Any], key: str) -> None:
    with pytest.raises(UserError) as refused:
        story_in(lines(*rows), "a.jsonl")
    assert refused.value.key == f"story.{key}"


def test_a_chat_without_its_header_is_imported_and_exported_with_one() -> None:
    story, imported = story_in(lines(*CHAT[1:]), "storm.jsonl")
    assert told(story) == told(story_in(lines(*CHAT), "storm.jsonl")[0])
    assert not imported.left_out
    out = [json.loads(line) for line in went_out(story, imported).splitlines()]
    assert out[0].keys() >= {"user_name", "character_name", "chat_metadata"}
    assert out[1:] == CHAT[1:]


PLAIN = """\ufeffFound on a beach.

Ana: I knock.
Again, and louder.

**Mira:** Go away: I am busy.
Bo Two-Hats:
https://example.org is no name
MIRA : No.
"""


def test_speakers_are_recognised_in_a_plain_text() -> None:
    story, imported = story_in(PLAIN.encode(), "beach.txt")
    assert [(turn.act.name, turn.act.text, turn.act.label) for turn in story.current_turns] == [
        ("Ana", "I knock.\nAgain, and louder.", "3"),
        ("Mira", "Go away: I am busy.", "6"),
        ("Bo Two-Hats", "https://example.org is no name", "7"),
        ("MIRA", "No.", "9"),
    ]
    assert [(bad.number, bad.key) for bad in imported.left_out] == [(1, "story.import_line_nobody")]


def test_a_text_without_speakers_is_refused() -> None:
    for text in (b"Once upon a time.\n", b"\n", b"Ana:\n"):
        with pytest.raises(UserError) as refused:
            story_in(text, "a.txt")
        assert refused.value.key == "story.import_nobody"


def test_a_long_line_is_read_quickly() -> None:
    story, imported = story_in(b"a" * 99_000 + b"\nAna: hi\n" + b" " * 99_000 + b"x\n", "a.txt")
    assert story.length == 1
    assert [bad.number for bad in imported.left_out] == [1]
