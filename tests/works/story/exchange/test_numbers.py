"""Numbers in JSON are exported as they were imported."""

from __future__ import annotations

import json

import pytest

from bot.works.story.exchange.card import card, card_of
from bot.works.story.exchange.lorebook import lorebook_of, world_info
from bot.works.story.exchange.numbers import dump, read, value_of
from bot.works.story.exchange.sillytavern import read_sillytavern, sillytavern
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import fold

NUMBERS = (
    f"[1, 1.0, 1.10, 1e3, 1E+3, -0, -0.0, 0.1, 12345678901234567890, 0.30000000000000004, {'9' * 5_000}]"
)
MORE = f'"x": {NUMBERS}, "temperature": 1.0, "big": 1e3'


def test_numbers_are_written_as_they_were_read() -> None:
    assert dump(read(NUMBERS)) == NUMBERS
    assert [value_of(number) for number in read("[1, 1.0, 1e3, -0, 1.50, true]")] == [
        1,
        1,
        1_000,
        0,
        1.5,
        None,
    ]
    assert dump({"a": [read("1.50")]}, indent=2) == json.dumps({"a": [1.5]}, indent=2).replace("1.5", "1.50")
    for bad in ("1e999", "[1", "01"):
        with pytest.raises(ValueError, match=r"."):
            read(bad)


def test_a_lorebook_is_exported_with_its_authors_numbers_which_also_take_effect() -> None:
    row = f'{{"uid": 0, "key": ["sea"], "order": 5e1, "probability": 30.0, {MORE}, "content": "D."}}'
    book = lorebook_of(read(f'{{"entries": {{"0": {row}}}, {MORE}}}'))
    assert (book.entries[0]["order"], book.entries[0]["probability"]) == (50, 30)
    out = dump(world_info(book.entries, book.source))
    assert MORE in out
    assert row[1:-1] in out


def test_a_changed_card_is_exported_with_its_authors_numbers() -> None:
    tree = read(
        f'{{"spec": "chara_card_v2", "spec_version": "2.0", "data": {{"name": "Mira", "description": "A", {MORE}}}}}'
    )
    sheet = card_of(tree, "mira.json", "Ana").sheet
    assert MORE in dump(card("Mira", {**sheet, "about": "Another"}, "", ""))


def test_a_chat_is_exported_with_its_authors_numbers_and_note() -> None:
    note = f'"note_prompt": "{{{{char}}}} fears {{{{user}}}}.", "note_interval": 1.0, {MORE}'
    header = f'{{"user_name": "Ana", "character_name": "Mira", "chat_metadata": {{{note}}}}}'
    said = f'{{"name": "Mira", "is_user": false, "send_date": 1.7e12, "mes": "Hm.", "extra": {{{MORE}}}}}'
    chat = f"{header}\n{said}\n"
    taken = read_sillytavern(chat.encode(), "sea.jsonl", "local", "s")
    story = fold([Part("s")], taken.nodes)
    assert story.settings["note"] == "Mira fears Ana."
    assert story.current_turns[0].created_at.year == 2023
    bodies = [(node.id if node.kind != "set" else "", json.loads(node.body)) for node in taken.nodes]
    sources = {id: body["source"] for id, body in bodies if "source" in body}
    assert sillytavern(story, "Ana", "Mira", sources) == chat, "the same bytes"
    story.settings["note"] = "It snows."
    changed = sillytavern(story, "Ana", "Mira", sources).splitlines()[0]
    assert read(changed)["chat_metadata"]["note_prompt"] == "It snows."
    assert MORE in changed
    off = chat.replace('"note_interval": 1.0', '"note_interval": 0')
    taken = read_sillytavern(off.encode(), "sea.jsonl", "local", "s")
    assert "note" not in fold([Part("s")], taken.nodes).settings, (
        "a note that is switched off is not imported"
    )
    plain = json.loads(sillytavern(story, "Ana", "Mira", {}).splitlines()[0])
    assert plain["chat_metadata"] == {"note_prompt": "It snows.", "note_interval": 1}
