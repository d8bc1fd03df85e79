"""Character sheets: numbers by a template, changed by people, stored in the story's log."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from bot.events import UserError
from bot.retrieval.library import Library
from bot.works.story.exchange.json_export import export_json
from bot.works.story.exchange.json_import import read_story
from bot.works.story.log.turn import Change
from bot.works.story.sheet.changes import parse
from bot.works.story.sheet.checks import Checks
from bot.works.story.sheet.sheet import Sheet
from bot.works.story.sheet.sheet_verbs import template_settings
from bot.works.story.sheet.template import RULES, Template, from_log, read
from bot.works.story.turn.dice import DiceRequest, Roll, find, for_people, for_writer, roll_dice
from tests.promises.talk import Talk
from tests.works.story.extractor import Service, looked_into
from tests.works.story.extractor import playing as with_extractor
from tests.works.story.test_dice import SAY
from tests.works.story.test_party import begin, told
from tests.works.story.test_story_exports import out
from tests.works.story.writer import START, Writer, choices, last, playing, texts

CAST = "/story cast Mira: a diver"


async def template(name: str) -> Template:
    return from_log((await template_settings((), name, "en"))[RULES])


async def test_a_sheet_shows_scores_with_their_modifiers_counters_conditions_and_things(
    tmp_path: Path,
) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await talk.say(START)
        assert "no character “Mira” in this story yet" in str(await talk.say("/story sheet Mira hp -4"))
        await talk.say(CAST)
        assert "Dungeons & Dragons 5e" in texts(await talk.say("/story sheet --template 5e"))
        told = texts(await talk.say("/story sheet Mira hp 12/12; str 16; athletics +5; torches 3; +poisoned"))
        assert told == "**Mira**: Hit points 12/12, Strength 16 (+3), Athletics +5, torches 3, +poisoned."
        assert "Hit points 8/12" in texts(await talk.say("/story sheet Mira hp -4"))
        assert "Hit points 0/12" in texts(await talk.say("/story sheet mira hp −40"))
        assert "Hit points 12/12" in texts(await talk.say("/story sheet Mira hp +99"))
        card = texts(await talk.say("/story sheet Mira"))
        assert "| Strength | 16 | +3 |" in card
        assert "| Dexterity | 10 | +0 |" in card
        assert "**Counters:** Hit points 12/12" in card
        assert "**Skills:** Athletics +5" in card
        assert "**Conditions:** poisoned" in card
        assert "**Things:** torches 3" in card
        await talk.say("/story sheet Mira --change '-poisoned; torches 0'")
        assert not re.search("poisoned|torches", texts(await talk.say("/story sheet Mira")))
        assert "**Mira**: Hit points 12/12" in texts(await talk.say("/story sheet"))
        assert "no longer has a sheet" in texts(await talk.say("/story sheet Mira --remove"))
        assert "| Strength | 10 | +0 |" in texts(await talk.say("/story sheet Mira"))


async def test_events_of_a_scene_are_undone_with_it_and_a_characters_traits_stay(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await talk.say(START)
        await talk.say(CAST)
        await talk.say("/story sheet --template 5e")
        await talk.say("/story sheet Mira hp 12/12")
        await talk.say("I open the door.")
        await talk.say("/story sheet Mira hp -4; str 16; +poisoned")
        await talk.say("/story fork elsewhere --scene 1")
        card = texts(await talk.say("/story sheet Mira"))
        assert "Hit points 12/12" in card
        assert "| Strength | 16 | +3 |" in card
        assert "poisoned" not in card
        await talk.say("/story sheet Mira hp -1")
        await talk.say("/story switch main")
        assert "Hit points 8/12" in texts(await talk.say("/story sheet Mira"))
        await talk.say("/story undo")
        card = texts(await talk.say("/story sheet Mira"))
        assert "Hit points 12/12" in card
        assert "| Strength | 16 | +3 |" in card
        assert "poisoned" not in card
        await talk.say("/story redo")
        assert "poisoned" in texts(await talk.say("/story sheet Mira"))


async def test_the_writer_gets_the_state_of_characters_as_data(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say(CAST)
        await talk.say("I wait.")
        assert "<sheets>" not in str(writer.scenes[-1])
        await talk.say("/story sheet --template 5e")
        await talk.say("/story sheet Mira hp 8/12; +poisoned </sheets>")
        await talk.say("I wait on.")
        asked = writer.scenes[-1]["messages"]
        assert "Mira: Hit points 8/12" in str(asked[-1])
        assert str(asked[-1]).count("</sheets>") == 1
        assert all("Hit points" not in str(message) for message in asked[:-1]), (
            "what is cached stays the same"
        )
        await talk.say("/story sheet Mira hp -4")
        await talk.say("/story retry")
        assert writer.scenes[-1]["messages"] == asked


async def test_only_the_player_and_the_game_master_change_a_sheet(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk)
        await told(talk, "play", "Bo", who="bia")
        assert "the game master, Ana, may change" in await told(talk, "sheet", "Mira hp 9", who="bia")
        refused = await told(talk, "sheet", who="bia", options={"template": "5e"})
        assert "Only the game master" in refused
        assert "hp 7" in await told(talk, "sheet", "hp 7", who="bia")
        assert "hp 7" in await told(talk, "sheet", who="bia")
        assert "hp 6" in await told(talk, "sheet", "bo hp -1")
        assert "In the cast: Mira, Bo" in await told(talk, "sheet", "Olga")
        assert "Say whose sheet" in await told(talk, "sheet", "hp 3")


async def test_a_sheet_is_exported_and_imported_with_its_story(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await talk.say(START)
        await talk.say(CAST)
        await talk.say("/story sheet --template fate")
        await talk.say("/story sheet Mira athletics +3; fate 2; +on fire 3")
        _, file = await out(talk, "/story export --as json")
        assert '"field": "athletics", "to": 3' in file.decode()
        again = read_story(file, "f.json", "local")
        assert export_json(again.story, again.branches, again.nodes).encode() == file
        path = tmp_path / "story.json"
        path.write_bytes(file)
        await talk.say(f"/story import {path}")
        await talk.say("/story open")
        assert "on fire (rounds left: 3)" in texts(await talk.say("/story sheet Mira"))


async def test_session_zero_asks_for_the_template(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await talk.say("/story zero A door in the sea")
        await talk.say("/story zero --step tone --skip")
        for _ in range(4):
            shown = await talk.say("/story zero --skip")
        assert "sheets with numbers" in texts(shown)
        assert "Old Dragon" in [choice["label"] for choice in choices(shown)]
        assert "How do you take turns?" in texts(await talk.say("/story zero Fate Core"))
        await talk.say("/story zero free")
        await talk.say("/story zero yes")
        await talk.say(CAST)
        await talk.say("/story sheet Mira fight +2")
        assert "| Fight | +2 |" in texts(await talk.say("/story sheet Mira"))


async def test_typed_values_are_read_by_the_template() -> None:
    dnd, fate, free = await template("5e"), await template("Fate Básico"), await template("free")
    assert parse("Força 16, acrobacia +2; HP: 4/9", dnd) == [
        Change("str", to=16),
        Change("acrobatics", to=2),
        Change("hp", to=4, most=9),
    ]
    assert parse("str +2; hp =3; sleight of hand -1", dnd) == [
        Change("str", by=2),
        Change("hp", to=3),
        Change("sleight-of-hand", to=-1),
    ]
    assert parse("athletics +2\nathletics -1", fate) == [
        Change("athletics", to=2),
        Change("athletics", to=-1),
    ]
    assert parse("+on fire 3; -wet; rope +1; hp /20", free) == [
        Change("on fire", on=True, rounds=3),
        Change("wet", on=False),
        Change("rope", by=1),
        Change("hp", most=20),
    ]
    for wrong in ("", ";", "hp", "12", "hp ++3", "a" * 70 + " 3", ";".join(["hp 1"] * 40)):
        with pytest.raises(UserError):
            parse(wrong, dnd)


def test_an_own_template_is_read_and_a_wrong_one_is_named(tmp_path: Path) -> None:
    own = tmp_path / "own.yml"
    own.write_text(
        "mine:\n  title: {en: Mine, pt-BR: Meu}\n  attributes:\n    wit: {en: Wit, pt-BR: Graça}\n"
    )
    assert {"5e", "fate", "pbta", "old-dragon", "free", "mine"} <= read((own,)).keys()
    for text in (
        "mine: 3",
        "mine: {title: {en: Mine}}",
        "mine: {title: {en: M, pt-BR: M}, dice: 'd'}",
        "mine: {title: {en: M, pt-BR: M}, skills: {a: {en: A, pt-BR: A, of: b}}}",
        "mine: {title: {en: M, pt-BR: M}, start: 99999999}",
    ):
        own.write_text(text)
        with pytest.raises(UserError, match=r"story\.sheet_template_wrong"):
            read((own,))
    own.write_text("mine: [")
    with pytest.raises(UserError, match=r"story\.preset_unreadable"):
        read((own,))


def test_an_unreadable_template_of_an_imported_story_becomes_the_free_one() -> None:
    for text in ("", "[]", "{", '{"name": 3}', '{"name": "x", "dice": "999d999"}', "[" * 10_000):
        assert from_log(text) == Template()


async def mira(name: str, typed: str = "", locale: str = "en") -> Checks:
    """Her checks with a template and these values on her sheet."""
    by = await template(name)
    sheet = Sheet("Mira", by)
    for change in parse(typed, by) if typed else ():
        sheet.apply(change)
    return Checks(sheet, locale)


FIVE = "str 16; dex 8; athletics +5; wis-save +2"
CHECKS = {
    "check Athletics": DiceRequest("1d20+5", check="Athletics"),
    "I climb. Check athletics dc 15, advantage.": DiceRequest("1d20+5", 1, "Athletics", 15),
    "check Sleight of Hand +1d4 dc 12": DiceRequest("1d20-1+1d4", 0, "Sleight of Hand", 12),
    "check strength to lift the gate": DiceRequest("1d20+3", check="Strength"),
    "teste de Atletismo cd 10": DiceRequest("1d20+5", check="Athletics", dc=10),
    "save dex dc 13 dis": DiceRequest("1d20-1", -1, "Dexterity save", 13),
    "Teste de resistência de Sabedoria CD 11": DiceRequest("1d20+2", check="Wisdom save", dc=11),
    "I lift it [check str dc 10] and run.": DiceRequest("1d20+3", check="Strength", dc=10),
    "I lift it (check str) and run.": DiceRequest("1d20+3", check="Strength"),
    "damage 1d8+str": DiceRequest("1d8+3"),
    "roll 2d6 - dex + 1d4": DiceRequest("2d6+1+1d4"),
    "check Cooking +2 dc 9": DiceRequest("1d20+2", check="Cooking", dc=9),
}


@pytest.mark.parametrize("text", CHECKS)
async def test_a_check_takes_the_modifier_from_the_sheet(text: str) -> None:
    assert find(text, await mira("5e", FIVE)) == [CHECKS[text]]


@pytest.mark.parametrize(
    "text",
    [
        "I check the history of the place.",
        "I check history books.",
        "I quietly check perception.",
        "check Athletics?",
        "check the door",
        "check Cooking",
        "save Mira",
        "I save strength for later.",
    ],
)
async def test_prose_stays_prose(text: str) -> None:
    assert find(text, await mira("5e", FIVE)) == []


async def test_without_a_sheet_no_check_without_a_number_is_recognised() -> None:
    assert find("check Athletics") == []
    assert find("check Athletics", await mira("free")) == []
    assert find("check lockpicks", await mira("free", "lockpicks +3")) == [
        DiceRequest("1d20+3", check="lockpicks")
    ]


async def test_templates_compute_checks_their_own_way() -> None:
    english, portuguese = SAY["en"], SAY["pt-BR"]
    (under,) = find("check strength +2", await mira("old-dragon", "str 13"))
    assert under == DiceRequest("1d20", 0, "Strength", 15, under=True)
    rolled_under = Roll("1d20", "1d20 (14) = `14`", 14, 0, "Strength", 15, under=True)
    assert rolled_under.success
    assert for_people(rolled_under, english) == "**Strength**, at most 15: 1d20 (14) = `14`, success (+1)"
    assert for_writer(rolled_under) == "check Strength: 1d20, total 14, at most 15 succeeds, success by 1"
    assert not Roll("1d20", "", 20, 20, "Strength", 20, under=True).success
    (against,) = find("check strength dc 12", await mira("old-dragon", "str 13"))
    assert against == DiceRequest("1d20+1", 0, "Strength", 12)
    (moved,) = find("check cool", await mira("pbta", "cool +2"))
    assert moved.expression == "2d6+2"
    for total, names in ((12, "strong hit"), (8, "weak hit"), (3, "miss"), (-1, "miss")):
        assert Roll("2d6", "", total, 0, "Cool", results=moved.results).result("en") == names
    shown = Roll("2d6 + 2", "2d6 (6, 1) + 2 = `9`", 9, 0, "Frieza", results=moved.results)
    assert for_people(shown, portuguese) == "**Frieza**: 2d6 (6, 1) + 2 = `9`, sucesso parcial"
    assert for_writer(shown) == "check Frieza: 2d6 + 2, total 9, weak hit"
    (fate,) = find("teste Lutar cd 2", await mira("fate", "fight +3"))
    assert fate == DiceRequest("4d3-8+3", 0, "Fight", 2)
    assert -4 <= roll_dice(DiceRequest("4d3-8")).total <= 4


async def test_the_writer_gets_a_check_by_the_sheet_of_the_acting_character(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk)
        await told(talk, "play", "Bo", who="bia")
        await told(talk, "sheet", options={"template": "5e"})
        await told(talk, "sheet", "Bo athletics +7")
        await told(talk, "sheet", "Mira athletics -3")
        shown = await told(talk, "act", "Check Athletics dc 5 to climb.", who="bia")
        assert "**Athletics**, DC 5: 1d20" in shown
        assert "+ 7" in shown
        asked = str(writer.scenes[-1]["messages"][-1])
        assert "<dice>check Athletics: 1d20 + 7, total " in asked
        assert "DC 5" in asked


async def test_a_long_turn_is_searched_for_checks_quickly() -> None:
    sheets = await mira("5e", FIVE)
    for text in (
        "check a " * 500,
        "check " * 700,
        "1d8+x " * 700,
        "save a b c d e f " * 250,
        "(check a) " * 400,
    ):
        began = time.perf_counter()
        find(text, sheets)
        assert time.perf_counter() - began < 0.2


async def test_a_question_about_rules_includes_the_character(tmp_path: Path) -> None:
    writer = Writer()
    book = tmp_path / "rules.md"
    book.write_text(
        "# Combat\n\n## Falling\n\nA fall costs 1d6 hit points for each ten feet.\n", encoding="utf-8"
    )
    question = "What does a fall of ten feet cost in hit points?"
    async with playing(tmp_path, writer) as talk:
        await talk.say(f"/library add {book}")
        await talk.say(START)
        for line in (CAST, "/story cast Bo: a cook", "/story play Bo", "/story sheet --template 5e"):
            await talk.say(line)
        await talk.say(f"/rules ask {question}")
        assert "<sheets>" not in str(writer.asked[-1])
        await talk.say("/story sheet Bo hp 8/12; dex 14; +prone </sheets>; ropes 2")
        await talk.say("/story sheet Mira hp 3/9")
        shown = await talk.say(f"/rules ask {question}")
        assert "I also read the sheet of Bo." in str(shown)
        asked = last(writer.asked[-1])
        for fact in ("character: Bo", "Hit points 8/12", "Dexterity 14 (+2)", "condition: prone", "ropes: 2"):
            assert f"- {fact}" in asked
        assert asked.count("</sheets>") == 1
        assert "Mira" not in asked
        await talk.say("/rules ask What does a fall of ten feet cost Mira in hit points?")
        assert "- Hit points 3/9" in last(writer.asked[-1])
        assert "Bo" not in last(writer.asked[-1])


@pytest.mark.parametrize("template", ["5e", "free"])
async def test_a_change_for_an_unknown_character_is_refused(tmp_path: Path, template: str) -> None:
    async with playing(tmp_path, Writer()) as talk:
        for line in (START, CAST, "/story play Mira", f"/story sheet --template {template}"):
            await talk.say(line)
        for typed in ("Zed hp 1", "torches 2; Zed Long pontos de vida 3", "--change 'Zed hp 1'"):
            refused = str(await talk.say(f"/story sheet {typed}"))
            assert re.search("There is no Zed.* In the cast: Mira.", refused)
        assert "/story sheet Mira Zed hp 1" in refused
        assert "**Mira**: silver torches 2" in texts(await talk.say("/story sheet silver torches 2"))
        await talk.say("/story sheet Mira ring of hp 1")
        assert "ring of hp 3" in texts(await talk.say("/story sheet ring of hp +2")), "it is on the sheet"


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        ("How far can Mira jump?", "How far can you jump?"),
        ("What is Mira's jumping distance?", "What is your jumping distance?"),
        ("A que distância a Mira pode saltar?", "A que distância a você pode saltar?"),
        ("How far can Odo jump?", "How far can Odo jump?"),  # not of the story
        ("How far can Ash jump?", "How far can Ash jump?"),  # the book says this name
        ("May Bo reroll?", "May Bo reroll?"),  # a house rule says this name
    ],
)
async def test_a_search_leaves_out_names_that_only_the_story_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str, searched: str
) -> None:
    searches: list[str] = []
    search = Library.search

    async def recorded(self: Library, space: str, shelf: str, question: str, **rest: Any) -> Any:
        searches.append(question)
        return await search(self, space, shelf, question, **rest)

    monkeypatch.setattr(Library, "search", recorded)
    book = tmp_path / "rules.md"
    book.write_text(
        "# Rules\n\n## Jumping\n\nYou jump ten feet after a run. Ash trees are higher.\n", "utf-8"
    )
    async with playing(tmp_path, Writer()) as talk:
        await talk.say(f"/library add {book}")
        await talk.say("/rules house Bo may reroll once a day.")
        for line in (
            START,
            "/story cast Mira: a diver",
            "/story cast Ash: a cook",
            "/story cast Bo: a smith",
        ):
            await talk.say(line)
        await talk.say(f"/rules ask {question}")
        assert searched in searches, searches


SHEETED = (
    "/story cast Mira: a diver",
    "/story cast Bo: a cook",
    "/story sheet --template 5e",
    "/story sheet Mira hp 12/12",
)
APPLY = re.compile(r"/story apply \d \S+")


async def with_proposals(talk: Talk, service: Service, *changes: tuple[str, str]) -> list[str]:
    """Play a scene that changes characters; returns the lines of its buttons."""
    await talk.say(START)
    for line in SHEETED:
        await talk.say(line)
    await looked_into(talk, 1)
    service.finds(changes=[{"character": name, "change": change} for name, change in changes])
    await talk.say("I wait.")
    await talk.until(lambda events: APPLY.search(str(events)))
    return list(dict.fromkeys(APPLY.findall(str(talk.events).replace("'", " ").replace('"', " "))))


async def test_changes_from_a_scene_to_a_sheet_are_proposed_and_applied_with_a_button(tmp_path: Path) -> None:
    service = Service()
    async with with_extractor(tmp_path / "data", service) as talk:
        found = [("mira", "hp -4; +poisoned 3, str 3"), ("Zoe", "hp -1"), ("Mira", "hp -4; broken")]
        apply, ignore = await with_proposals(talk, service, *found)
        assert "<sheets>" in last(service.extracted[-1])
        shown = next(event for event in talk.events if "/story apply" in str(event))
        assert "Apply: Mira, Hit points −4, +poisoned" in str(shown)
        assert shown["event"] == "changed"
        assert "Hit points 12/12" in texts(await talk.say("/story sheet Mira")), (
            "nothing is applied by itself"
        )
        start = len(talk.events)
        assert "Hit points 8/12, +poisoned" in texts(await talk.say(apply))
        assert "/story apply" not in str(talk.events[start:]), "the button is gone"
        assert "already decided this" in str(await talk.say(apply))
        assert "already decided this" in str(await talk.say(ignore))
        card = texts(await talk.say("/story sheet Mira"))
        assert "Hit points 8/12" in card
        assert "poisoned (rounds left: 3)" in card
        await talk.say("/story undo")
        assert "Hit points 12/12" in texts(await talk.say("/story sheet Mira"))
        assert "no longer part of this branch" in str(await talk.say(apply)), "it dies with its scene"
        await talk.say("/story redo")
        assert "Hit points 8/12" in texts(await talk.say("/story sheet Mira"))
        await talk.say("/story retry")
        assert "Hit points 12/12" in texts(await talk.say("/story sheet Mira")), (
            "another version did not do it"
        )


async def test_a_proposal_can_be_ignored_and_is_exported_with_the_story(tmp_path: Path) -> None:
    service = Service()
    async with with_extractor(tmp_path / "data", service) as talk:
        apply, ignore = await with_proposals(talk, service, ("Mira", "hp -4"))
        _, file = await out(talk, "/story export --as json")
        again = read_story(file, "f.json", "local")
        assert '"text": "Hit points −4"' in file.decode()
        assert export_json(again.story, again.branches, again.nodes).encode() == file
        assert "stay as they are" in texts(await talk.say(ignore))
        assert "already decided this" in str(await talk.say(apply))
        assert "Hit points 12/12" in texts(await talk.say("/story sheet Mira"))


async def test_only_the_player_and_the_game_master_apply_a_proposal(tmp_path: Path) -> None:
    service = Service()
    async with with_extractor(tmp_path / "data", service) as talk:
        apply, *_ = await with_proposals(talk, service, ("Mira", "hp -4"), ("Bo", "hp -1"))
        await told(talk, "join", who="bia")
        number, scene = apply.removeprefix("/story apply ").split()
        for text in (f"{number} {scene}", f"0 {scene}"):
            assert "may change this sheet" in await told(talk, "apply", text, who="bia", answers="run")
        await told(talk, "play", "Mira", who="bia")
        assert "Hit points 8/12" in await told(talk, "apply", f"{number} {scene}", who="bia", answers="run")


async def test_the_buttons_of_a_sheet_change_it_in_its_own_message(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await talk.say(START)
        for line in SHEETED:
            await talk.say(line)
        shown = await talk.say("/story sheet Mira")
        by_label = {choice["label"]: choice for choice in choices(shown)}
        assert list(by_label) == ["Hit points −1", "Hit points +1", "Change…"]
        assert by_label["Hit points −1"]["command"] == "/story sheet Mira hp -1"
        assert by_label["Change…"]["asks"].startswith("What changes")
        assert "11/12, +wet" in texts(await talk.say(by_label["Change…"]["command"] + " -- hp -1; +wet"))
        assert "In the cast: Mira, Bo" in str(await talk.say("/story sheet --of Zoe -- hp -1"))


async def test_the_buttons_of_a_sheet_work_for_a_name_with_an_apostrophe(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await talk.say(START)
        await talk.say("/story cast D'Arcy Long: a smith")
        shown = await talk.say("/story sheet D'Arcy Long torches 3")
        window = next(choice for choice in choices(shown) if choice["label"] == "Change…")
        assert "**D'Arcy Long**: torches 2" in texts(await talk.say(f"{window['command']} -- torches -1"))
