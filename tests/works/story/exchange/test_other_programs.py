"""Stories, characters and lore are imported from the files of other programs."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest

from bot.events import UserError
from bot.words import words
from bot.works.story.exchange.card import Card, card
from bot.works.story.exchange.json_import import Imported
from bot.works.story.exchange.lorebook import Lorebook, lorebook_of, world_info
from bot.works.story.exchange.msgpackr import DEPTH, unpacked
from bot.works.story.exchange.passages import Destination
from bot.works.story.exchange.reading import Found, parse_lines, read, read_file, seems_to_be
from bot.works.story.log.nodes import Part, lineage
from bot.works.story.log.story import Story, fold
from tests.works.story.exchange.novelai import LOREBOOK, STORY, novelai

WHOSE = Destination("local", "story", "Ana")


def in_json(tree: Any) -> bytes:
    return json.dumps(tree).encode()


def story_in(tree: Any, file: str = "sea.json") -> tuple[Story, Imported]:
    imported = read_file(in_json(tree), file, WHOSE)
    assert isinstance(imported, Imported)
    return fold([Part("story")], imported.nodes), imported


def told(story: Story) -> list[tuple[str, str, str]]:
    return [
        (turn.act.name or turn.act.speaker, turn.act.text, turn.scene.text if turn.scene else "")
        for turn in story.current_turns
    ]


WORLD_INFO = {
    "key": "lamp, lantern", "keysecondary": "oil", "keyanti": "", "content": "It burns whale oil.",
    "comment": "The lamp", "folder": None, "selective": True, "constant": False, "probability": "100",
    "wigroup": "Things", "widisabled": False,
}  # fmt: skip
KOBOLD: dict[str, Any] = {
    "gamestarted": True, "prompt": "The sea is flat.", "memory": "A lighthouse.", "authorsnote": "Be brief.",
    "anotetemplate": "[Author's note: <|>]", "actions": [" A door stands in it.", "\n\n> You knock.\n\n", "It opens."],
    "actions_metadata": {}, "wifolders_d": {}, "wifolders_l": [],
    "worldinfo": [WORLD_INFO, {**WORLD_INFO, "content": "Gone.", "widisabled": True}, {"key": "", "content": ""}],
    "savedsettings": {"opmode": 2, "chatname": "Bo", "chatopponent": "Mira||$||Old Tom"},
}  # fmt: skip


def of_kobold(opmode: int | None, *actions: str) -> dict[str, Any]:
    return {
        **KOBOLD,
        "actions": list(actions),
        "savedsettings": {**KOBOLD["savedsettings"], "opmode": opmode},
    }


def test_a_kobold_story_is_imported_as_it_was_played() -> None:
    story, imported = story_in(KOBOLD)
    assert told(story) == [
        ("", "", "The sea is flat. A door stands in it."),
        ("Ana", "You knock.", "It opens."),
    ]
    assert (story.settings["premise"], story.settings["note"]) == ("A lighthouse.", "Be brief.")
    lamp, gone = story.lore.values()
    assert (lamp["keys"], lamp["secondary_keys"], lamp["name"]) == (["lamp", "lantern"], ["oil"], "The lamp")
    assert not gone["enabled"]
    assert not imported.left_out
    assert world_info([lamp])["entries"]["0"]["key"] == ["lamp", "lantern"]

    prose, imported = story_in(of_kobold(1, " A door.<|p|12ab|p|>", "> A quote."))
    assert told(prose) == [("", "", "The sea is flat."), ("", "", "A door."), ("", "", "> A quote.")]
    assert imported.counts == {"story.import_left_pictures": 1}

    chat, _ = story_in(of_kobold(3, "\nMira: Late.\nAgain.", "\nBo: The storm.\nOld Tom: Aye: it was."))
    assert told(chat) == [
        ("", "", "The sea is flat."),
        ("Mira", "", "Late.\nAgain."),
        ("Bo", "The storm.", "Aye: it was."),
    ]
    for begin, end in (
        ("\n{{[INPUT]}}\n", "\n{{[OUTPUT]}}\n"),
        ("\n{{[INPUT_END]}}\n{{[INPUT]}}\n", "\n{{[INPUT_END]}}\n{{[OUTPUT]}}\n"),
    ):
        instructed, _ = story_in(
            of_kobold(4, f"{begin}Tell.{end}", "There was.", f"{begin}On.{end}And then.")
        )
        assert told(instructed)[1:] == [("Ana", "Tell.", "There was."), ("Ana", "On.", "And then.")]
    tagged = of_kobold(4, "\n### In:\nTell.\n### Out:\nThere was.")
    tagged["savedsettings"] |= {"instruct_starttag": "\n### In:\n", "instruct_endtag": "\n### Out:\n"}
    assert told(story_in(tagged)[0])[1:] == [("Ana", "Tell.", "There was.")]


def test_a_koboldai_united_story_is_imported() -> None:
    tree = {
        "file_version": 2, "gamename": "The door", "prompt": "The sea.", "memory": "", "authornote": "Brief.",
        "actions": {"action_count": 1, "actions": {
            "0": {"Selected Text": "\n> You knock.\n", "Options": []}, "1": {"Selected Text": "It opens."}, "2": {},
        }},
        "worldinfo_v2": {"folders": {}, "entries": {"0": {
            "uid": 0, "key": ["lamp"], "keysecondary": [], "content": "Oil.", "comment": "", "selective": False,
            "constant": True,
        }}},
    }  # fmt: skip
    story, imported = story_in(tree)
    assert told(story) == [("", "", "The sea."), ("Ana", "You knock.", "It opens.")]
    assert (imported.story.title, story.settings["note"], imported.counts) == (
        "The door", "Brief.", {"story.import_left_broken": 1},
    )  # fmt: skip
    assert [entry["constant"] for entry in story.lore.values()] == [True]


def test_the_branches_of_kobold_lite_are_imported() -> None:
    tree = {
        **KOBOLD,
        "altbranches": [
            ["The sea is flat.", " A door stands in it.[<|h|12ab|h|>]", "\n\n> You knock.\n\n", "It opens.",
             "\n\n> I go in.\n"],
            None,
            ["The sea is flat.", " A door stands in it.", "\n\n> You wait.\n\n", "It sinks."],
            ["A desert.", 7],
            "damaged",
        ],
    }  # fmt: skip
    played, imported = story_in(tree)
    start = ("", "", "The sea is flat. A door stands in it.")
    assert told(played) == [start, ("Ana", "You knock.", "It opens.")]
    branches = {row.id: row for row in imported.branches}
    assert [row.name for row in imported.branches] == ["", "Branch 1", "Branch 3", "Branch 4"]
    stories = [fold(lineage(branches, row.id), imported.nodes) for row in imported.branches[1:]]
    assert [told(story) for story in stories] == [
        [start, ("Ana", "You knock.", "It opens."), ("Ana", "I go in.", "")],
        [start, ("Ana", "You wait.", "It sinks.")],
        [("", "", "A desert.")],
    ]
    assert [story.settings["premise"] for story in stories] == ["A lighthouse."] * 3
    assert (imported.turns, imported.counts) == (
        5,
        {"story.import_left_pictures": 1, "story.import_left_broken": 1},
    )


def test_kobolds_alternatives_become_versions_of_the_scene() -> None:
    def option(text: str, **more: bool) -> dict[str, Any]:
        return {"text": text, "Pinned": False, "Previous Selection": True, "Edited": False, **more}

    newer = {
        "file_version": 2, "prompt": "The sea.", "worldinfo_v2": {}, "actions": {"actions": {
            "0": {"Selected Text": "\n> You knock.\n", "Options": [option("> You wait.")]},
            "1": {"Selected Text": " It opens.", "Options": [option(" It stays shut."), option(" It opens. "),
                                                            option("It stays shut."), option("It burns.")]},
            "2": {"Selected Text": " You enter.", "Options": "none"},
        }},
    }  # fmt: skip
    story, imported = story_in(newer)
    turn = story.current_turns[1]
    assert [scene.text for scene in turn.scenes] == [
        "It stays shut. You enter.", "It burns. You enter.", "It opens. You enter.",
    ]  # fmt: skip
    assert told(story)[1] == ("Ana", "You knock.", "It opens. You enter.")
    assert imported.counts == {"story.import_left_versions": 1}  # what the player would have done
    older = {
        **of_kobold(1, " A door.", " It opens."),
        "actions_metadata": {
            "1": {
                "Selected Text": " It opens.",
                "Alternative Text": [{"Text": " It sinks.", "Pinned": True}],
            },
            "2": {"Selected Text": "", "Alternative Text": [{"Text": "Gone."}]},
        },
    }
    story, imported = story_in(older)
    assert [scene.text for scene in story.current_turns[2].scenes] == ["It sinks.", "It opens."]
    assert not imported.counts


def test_a_novelai_story_is_imported_with_who_wrote_what() -> None:
    story, imported = story_in(STORY, "sea.story")
    assert told(story) == [
        ("", "", "The sea is flat.\n\nEine Tür 🚪 steht darin."),
        ("Ana", "I knock.", "It opens."),
    ]
    assert (imported.story.title, story.settings) == (
        "The door",
        story.settings | {"premise": "A lighthouse.", "note": "Be brief."},
    )
    assert [entry["content"] for entry in story.lore.values()] == ["Oil for ${name}."]
    assert [(bad.number, bad.key) for bad in imported.left_out] == [(2, "story.import_entry_lacking")]
    assert imported.counts == {"story.import_left_pictures": 1, "story.import_left_broken": 1}
    older = novelai(b"", document=None, story={"fragments": [
        {"data": "The sea.\nA door.", "origin": "ai"}, {"data": " I knock.", "origin": "user"},
    ]})  # fmt: skip
    assert told(story_in(older)[0]) == [("", "", "The sea.\n\nA door."), ("Ana", "I knock.", "")]
    for document in (b"", b"\xd4\x14\0\x90", b"\x91" * 500, STORY["content"]["document"].encode()[:90]):
        with pytest.raises(UserError) as refused:
            story_in(novelai(document, document=base64.b64encode(document or b"\xc0").decode()))
        assert refused.value.key == "story.import_document"


def test_messagepack_is_read_as_its_specification_says_and_never_without_end() -> None:
    for data, value in (
        (b"\xc2", False), (b"\xff", -1), (b"\xa2ab", "ab"), (b"\xd9\1a", "a"), (b"\xc4\1a", b"a"),
        (b"\x81\1\xc0", {1: None}),
        (b"\xcd\1\0", 256), (b"\xd3" + b"\xff" * 8, -1), (b"\xcb\x3f\xe0\0\0\0\0\0\0", 0.5), (b"\xc7\2\x14\x91\1", [1]),
        (b"\xd6\xff\0\0\0\0", None), (b"\x7f", 127), (b"\x91" * DEPTH + b"\x90", None),
    ):  # fmt: skip
        found = unpacked(data)
        assert value is None or found == value
    for data in (
        b"",
        b"\xdf\xff\xff\xff\xff",
        b"\xdd\xff\xff\xff\xff\xc0",
        b"\x91" * 99_999,
        b"\xdb\xff\xff\xff\xffa",
        b"\x81\x90\1",
    ):
        with pytest.raises(ValueError, match=r"cut off|nested|no MessagePack"):
            unpacked(data)


def test_a_novelai_scenario_opens_the_story_with_its_defaults() -> None:
    tree = {
        "scenarioVersion": 3, "title": "The door", "description": "About a door.", "author": "", "tags": [],
        "prompt": "${name[Bo]:Who are you?} sees a ${thing}.", "context": [{"text": ""}, {"text": "For ${name}."}],
        "placeholders": [{"key": "thing", "defaultValue": "door"}], "lorebook": LOREBOOK, "settings": {},
        "ephemeralContext": [{"text": "x"}],
    }  # fmt: skip
    story, imported = story_in(tree, "sea.scenario")
    assert told(story) == [("", "", "Bo sees a door.")]
    assert (story.settings["premise"], story.settings["note"]) == ("About a door.", "For Bo.")
    assert [entry["content"] for entry in story.lore.values()] == ["Oil for Bo."]
    assert imported.counts == {"story.import_placeholders": 2, "story.import_left_ephemeral": 1}


CARDS: list[dict[str, Any]] = [
    {"keys": "lamp, lantern", "value": "It burns oil.", "type": "class", "title": "The lamp", "description": "?",
     "useForCharacterCreation": False},
    {"keys": "", "value": "Nothing calls it.", "type": "race", "title": "", "description": ""},
]  # fmt: skip
ADVENTURE = {
    "data": {"adventure": {
        "id": "1", "title": "The door", "description": "?", "memory": "A lighthouse.", "authorsNote": "Be brief.",
        "actionWindow": [
            {"id": "4", "text": "It opens.", "type": "continue", "createdAt": "2026-03-04T05:09:00.000Z"},
            {"id": "3", "text": "\n> You knock.\n", "type": "do", "createdAt": "2026-03-04T05:08:00.000Z"},
            {"id": "2", "text": "It bites.", "type": "continue", "createdAt": "2026-03-04T05:07:00.000Z",
             "undoneAt": "x"},
            {"id": "1", "text": "The sea.", "type": "start", "createdAt": "2026-03-04T05:06:00.000Z"},
            {"id": "0", "text": None, "type": "do", "createdAt": ""},
        ],
        "storyCards": [CARDS[0]],
    }},
}  # fmt: skip


def test_ai_dungeons_cards_scenarios_and_adventures_are_imported() -> None:
    book = read_file(in_json(CARDS), "cards.json", WHOSE)
    assert isinstance(book, Lorebook)
    assert [(entry["name"], entry["keys"], entry["content"]) for entry in book.entries] == [
        ("The lamp", ["lamp", "lantern"], "It burns oil.")
    ]
    assert [(bad.number, bad.key) for bad in book.left_out] == [(2, "story.import_entry_lacking")]
    assert lorebook_of(world_info(book.entries)).entries[0]["keys"] == ["lamp", "lantern"]
    story, imported = story_in(ADVENTURE)
    assert told(story) == [("", "", "The sea."), ("Ana", "You knock.", "It opens.")]
    assert (imported.story.title, story.settings["premise"], story.settings["note"], len(story.lore)) == (
        "The door", "A lighthouse.", "Be brief.", 1,
    )  # fmt: skip
    assert f"{story.current_turns[1].created_at:%H:%M}" == "05:08"
    assert imported.counts == {"story.import_left_undone": 1, "story.import_left_broken": 1}
    scenario = {
        "title": "T",
        "prompt": "The sea.",
        "memory": "",
        "authorsNote": "",
        "storyCards": CARDS,
        "options": [{}],
    }
    story, imported = story_in(scenario)
    assert told(story) == [("", "", "The sea.")]
    assert imported.counts == {"story.import_left_options": 1}
    asks = {**scenario, "options": None, "prompt": "You are ${Your name?}, ${Your  trade}. ${Your name?}!"}
    story, imported = story_in(asks)
    assert told(story)[0][2].startswith("You are ${Your name?}")
    assert imported.counts == {"story.import_left_blanks": 2}


BOOK = {
    "kind": "memory", "name": "The coast", "description": "", "entries": [{
        "name": "Lamp", "entry": "It burns oil.", "keywords": ["lamp"], "priority": 10, "weight": 7, "enabled": False,
    }],
}  # fmt: skip
CHARACTER = {
    "kind": "character", "name": "Mira", "description": "Mine.", "scenario": "A lighthouse.",
    "greeting": "{{char}} waits.",
    "sampleChat": "{{char}}: No.", "persona": {"kind": "text", "attributes": {"text": ["A diver."]}},
    "culture": "en-us",
    "alternateGreetings": ["Late."], "characterBook": BOOK, "tags": ["sea"],
}  # fmt: skip
CHAT = {
    "name": "Exported", "greeting": "", "sampleChat": "", "scenario": "A lighthouse.", "messages": [
        {"characterId": "imported", "msg": "You are late.", "state": None},
        {"handle": "Bo", "userId": "u", "msg": "The storm."},
        {"characterId": "imported", "msg": "It has a name."}, {"msg": None},
    ],
}  # fmt: skip


def test_agnais_characters_chats_and_books_are_imported() -> None:
    found = read_file(in_json(CHARACTER), "mira.json", WHOSE)
    assert isinstance(found, Card)
    assert (found.name, found.sheet["about"], found.sheet["style"], found.scenario, found.greetings) == (
        "Mira", "A diver.", "Mira: No.", "A lighthouse.", ["Mira waits.", "Late."],
    )  # fmt: skip
    out = card("Mira", found.sheet, "", "")
    assert out["data"]["extensions"]["agnai"] == CHARACTER
    assert read_file(in_json(out), "mira.json", WHOSE) == found
    book = read_file(in_json(BOOK), "book.json", WHOSE)
    assert isinstance(book, Lorebook)
    for [entry] in (book.entries, found.book.entries):
        assert (entry["keys"], entry["content"], entry["order"], entry["enabled"]) == (
            ["lamp"],
            "It burns oil.",
            7,
            False,
        )
    traits = {**CHARACTER, "persona": {"kind": "wpp", "attributes": {"species": ["human", "diver"]}}}
    found = read_file(in_json(traits), "mira.json", WHOSE)
    assert isinstance(found, Card)
    assert found.sheet["about"] == "species: human, diver"
    story, imported = story_in(CHAT)
    assert told(story) == [("", "", "You are late."), ("Bo", "The storm.", "It has a name.")]
    assert (story.settings["premise"], imported.story.title) == ("A lighthouse.", "sea")
    assert imported.counts == {"story.import_left_broken": 1}


def message(id: int, content: str, **more: Any) -> dict[str, Any]:
    author = {
        "id": "9",
        "name": "ana_1",
        "discriminator": "0000",
        "nickname": "Ana",
        "isBot": False,
        "roles": [],
    }
    return {
        "id": str(id), "type": "Default", "timestamp": f"2024-03-04T05:0{id}:07.008+02:00", "timestampEdited": None,
        "isPinned": False, "content": content, "author": author, "attachments": [], "embeds": [],
        "reactions": [], **more,
    }  # fmt: skip


BOT = {"id": "8", "name": "Dice", "nickname": None, "isBot": True}
DISCORD: dict[str, Any] = {
    "guild": {"id": "1", "name": "Table"}, "channel": {"id": "2", "type": "GuildTextChat", "name": "the-door"},
    "dateRange": {"after": None, "before": None}, "exportedAt": "2026-01-01T00:00:00+00:00",
    "messages": [
        message(5, "", type="ChannelPinnedMessage"), message(4, "", attachments=[{"fileName": "map.png"}]),
        message(3, "", author=BOT, embeds=[
            {"title": "Roll", "description": "17", "fields": [{"name": "DC", "value": "12"}]},
        ]),
        message(2, "I knock.", type="Reply", reference={"messageId": "1"}), message(1, "The sea."), message(6, " "),
        message(7, "joined", type="GuildMemberJoin"), message(8, "/roll", type="20"), message(8, "twice"), "no message",
        message(9, "Again?", type="Reply", reference={"messageId": "2"}),
        message(10, "Aye. " * 30, type="Reply", reference={"messageId": "404"}),
        message(11, "No.", type="Reply", reference={"messageId": "9"}),
        message(12, "", type="Default", reference={"messageId": "77"}, forwardedMessage={"content": "Two\nlines."}),
        message(13, "So.", type="Reply", reference={"messageId": "10"}),
    ],
    "messageCount": 10,
}  # fmt: skip


def test_a_discord_channel_is_imported_as_a_log_with_speakers_and_dates() -> None:
    story, imported = story_in(DISCORD)
    assert [(turn.act.name, turn.act.text, turn.act.label) for turn in story.current_turns] == [
        ("Ana", "The sea.", "1"),
        ("Ana", "I knock.", "2"),
        ("Dice", "Roll\n17\nDC: 12", "3"),
        ("Ana", "[map.png]", "4"),
        ("Ana", "/roll", "8"),
        ("Ana", "> Ana: I knock.\n\nAgain?", "9"),
        ("Ana", ("Aye. " * 30).strip(), "10"),
        ("Ana", "> Ana: Again?\n\nNo.", "11"),
        ("Ana", "> Two\n> lines.", "12"),
        ("Ana", f"> Ana: {('Aye. ' * 24).strip()} …\n\nSo.", "13"),
    ]
    assert story.current_turns[0].act.when == "2024-03-04T03:01:07+00:00"
    assert f"{story.current_turns[1].created_at:%Y-%m-%d %H:%M}" == "2024-03-04 03:02"
    assert imported.story.title == "the-door"
    assert imported.counts == {
        "story.import_left_system": 2, "story.import_left_silent": 1, "story.import_left_broken": 2,
        "story.import_left_replies": 1,
    }  # fmt: skip
    with pytest.raises(UserError) as refused:
        story_in({**DISCORD, "messages": []})
    assert refused.value.key == "story.import_nobody_wrote"
    same = [read_file(in_json(DISCORD), "a.json", Destination("local")) for _ in range(2)]
    assert all(isinstance(one, Imported) for one in same)
    assert len({one.story.id for one in same if isinstance(one, Imported)}) == 1


def test_a_files_kind_is_recognised_by_its_contents() -> None:
    for tree, kind in (
        (STORY, Imported),
        (CARDS, Lorebook),
        (CHARACTER, Card),
        (DISCORD, Imported),
        (KOBOLD, Imported),
    ):
        for file in ("a.json", "a.txt", "a.story", "a.lorebook"):
            assert isinstance(read_file(in_json(tree), file, WHOSE), kind), file
    assert isinstance(read_file(b"[Ana]: hi\nAna: {ho}\n", "a.txt", WHOSE), Imported)


OTHERS: dict[str, Any] = {
    "sillytavern_preset": {"prompts": [], "prompt_order": [], "temperature": 1, "top_p": 1},
    "sillytavern_theme": {"name": "Dark", "main_text_color": "", "blur_strength": 1},
    "sillytavern_persona": {"personas": {}, "persona_descriptions": {}},
    "sillytavern_script": {"findRegex": "", "replaceString": ""},
    "preset": {"temp": 1, "rep_pen": 1},
    "character_ai": {"histories": {"histories": []}},
    "oobabooga": {"internal": [], "visible": []},
    "chatgpt": [{"title": "", "mapping": {}, "create_time": 1}],
    "claude": [{"uuid": "", "name": "", "chat_messages": []}],
    "slack": [{"type": "message", "ts": "1.2", "user": "U", "text": ""}],
    "discord_package": [{"ID": 1, "Timestamp": "", "Contents": ""}],
}


def test_another_kind_of_file_is_named_in_the_refusal() -> None:
    for kind, tree in OTHERS.items():
        assert seems_to_be(tree) == f"story.import_seems_{kind}"
        with pytest.raises(UserError) as refused:
            read_file(in_json(tree), "other.json", WHOSE)
        assert refused.value.key == f"story.import_seems_{kind}"
        for locale in ("en", "pt-BR"):
            assert "other.json" in words(locale)(refused.value.key, **refused.value.values)
    unknown: list[Any] = [1, [], [1], {}]
    assert [seems_to_be(tree) for tree in unknown] == ["story.import_other"] * 4


def test_no_damaged_file_breaks_the_reader() -> None:
    """100 variants of each kind: each is read or refused with a sentence."""
    chance = random.Random(38)
    junk: list[Any] = [None, -1, 1e9, "", "x" * 500, [], {}, [[[]]], {"a": {}}, True, "\ud800"]

    def damaged(tree: Any) -> Any:
        if chance.random() < 0.04:
            return chance.choice(junk)
        if isinstance(tree, dict):
            return {key: damaged(value) for key, value in tree.items() if chance.random() > 0.02}
        return [damaged(value) for value in tree] if isinstance(tree, list) else tree

    head = in_json({"space": "local", "id": "story", "player": "Ana"}) + b"\n"
    results = dict[str, int]()
    kinds: list[Any] = [KOBOLD, STORY, CARDS, ADVENTURE, CHARACTER, CHAT, BOOK, DISCORD]
    for tree in kinds:
        for n in range(100):
            data = in_json(damaged(tree))
            if n % 4 == 0:
                data = data[: chance.randrange(len(data))]
            if n % 4 == 1 and tree is STORY:
                document = bytearray(base64.b64decode(str(STORY["content"]["document"]) + "=="))
                for _ in range(3):
                    document[chance.randrange(len(document))] = chance.randrange(256)
                data = in_json(novelai(bytes(document)))
            try:
                found: Found = parse_lines(read("a.json", head + data, lambda done, total: None).text)
                result = type(found).__name__
            except UserError as error:
                named = "a.json" in words("en")(error.key, **error.values)
                result = "refused" if named else "refused without a name"
            results[result] = results.get(result, 0) + 1
    assert set(results) == {"Imported", "Card", "Lorebook", "refused"}
    assert min(results.values()) > 30
