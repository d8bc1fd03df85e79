"""Initiative: the order of a fight, whose turn it is, and what ends with a turn; stored in the story's log."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.events import UserError
from bot.works.story.exchange.json_export import export_json
from bot.works.story.exchange.json_import import read_story
from bot.works.story.log.turn import Fighter, Initiative
from bot.works.story.sheet.initiative import add, advance, delay, fighters, first_round, remove
from tests.promises.talk import Talk
from tests.works.story.tale import Tale
from tests.works.story.test_party import begin, told
from tests.works.story.test_safety import asks
from tests.works.story.test_story_exports import out
from tests.works.story.writer import START, Writer, choices, playing, texts

MIRA, RAT, BO = Fighter("Mira", 18), Fighter("Rat", 12), Fighter("Bo", 7)
FIGHT = first_round([BO, MIRA, RAT])


def test_the_order_goes_round_and_counts_rounds() -> None:
    assert Initiative((MIRA, RAT, BO), 1, 0) == FIGHT
    second = advance(FIGHT)
    assert (second.at, second.round) == (1, 1)
    last = advance(second)
    assert advance(last) == Initiative((MIRA, RAT, BO), 2, 0)


def test_a_fighter_who_delays_acts_after_the_next_one() -> None:
    late = delay(FIGHT)
    assert [fighter.name for fighter in late.order] == ["Rat", "Mira", "Bo"]
    assert (late.at, late.order[1].score) == (0, 12)
    last = advance(advance(FIGHT))
    assert delay(last) == advance(last), "the last one has nobody to wait for"


def test_joining_and_leaving_do_not_change_whose_turn_it_is() -> None:
    second = advance(FIGHT)
    more = add(second, [Fighter("Zoe", 15), Fighter("Owl", 12)])
    assert [fighter.name for fighter in more.order] == ["Mira", "Zoe", "Rat", "Owl", "Bo"]
    assert more.order[more.at] == RAT
    again = add(more, [Fighter("rat", 30)])
    assert again.order[again.at].score == 30
    assert len(again.order) == 5
    assert remove(second, "mira").at == 0
    assert remove(second, "Rat") == Initiative((MIRA, BO), 1, 1)
    assert remove(advance(second), "Bo") == Initiative((MIRA, RAT), 2, 0)
    assert remove(first_round([BO]), "Bo").order == ()
    with pytest.raises(UserError):
        remove(FIGHT, "Zoe")


def test_names_are_read_with_initiative_numbers_and_modifiers() -> None:
    story = Tale().story
    rolled, fixed, two = fighters(story, "Giant Rat +2, Bo 15; Old Crow −1")
    assert rolled.name == "Giant Rat"
    assert 3 <= rolled.score <= 22
    assert fixed == Fighter("Bo", 15)
    assert two.name == "Old Crow"
    assert 0 <= two.score <= 19
    with pytest.raises(UserError):
        fighters(story, "x" * 90)


async def fight(talk: Talk) -> None:
    """A table of three: Ana leads, Bia plays Mira and Cai plays Bo, who fight a rat."""
    await begin(talk, mode="free")
    await told(talk, "play", "Mira", who="bia")
    await told(talk, "play", "Bo", who="cai")
    shown = await told(talk, "initiative", "begin Bo 7, Rat 12, Mira 18")
    assert "▶ **Mira (Bia)** 18\n- Rat 12\n- Bo (Cai) 7" in shown


async def test_in_a_fight_its_order_replaces_that_of_the_table(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk, mode="round-robin")
        await told(talk, "play", "Mira", who="bia")
        await told(talk, "play", "Bo", who="cai")
        await told(talk, "initiative", "begin Bo 18, Mira 12")
        assert await asks(talk, "act", "I hit it.", who="cai") == "done"
        assert await asks(talk, "act", "I hit it, too.", who="bia") == "done"
        await told(talk, "initiative", "end")
        assert "It is Cai's turn" in await told(talk, "act", "I run.", who="bia")
        assert "It is Cai's turn" in await told(talk, "end", "We go home.", who="bia")
        assert await asks(talk, "end", "They go home.", who="ana") == "done", "the game master may end it"


async def test_a_fight_decides_who_may_take_a_turn(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await fight(talk)
        assert "It is Mira's turn" in await told(talk, "act", "I hit it.", who="cai")
        assert await asks(talk, "say", "Come here!", who="bia") == "done", "words take no turn"
        shown = await told(talk, "act", "I hit the rat.", who="bia")
        assert "Next in the fight: Rat (round 1)" in shown
        assert "order: Mira, Rat, Bo; the turn after this scene: Rat" in str(writer.scenes[-1])
        assert "It is Rat's turn" in await told(talk, "act", "Once more.", who="bia")
        assert "Next in the fight: Bo" in await told(talk, "act", "The rat bites.", who="ana")
        assert await asks(talk, "act", "It rains.", who="ana") == "done", "the game master may always tell"
        assert "▶ **Bo (Cai)** 7" in await told(talk, "initiative", who="bia")
        assert "Next in the fight: Mira (round 2)" in await told(talk, "act", "I hit it, too.", who="cai")
        await told(talk, "undo")
        assert "▶ **Bo (Cai)** 7" in await told(talk, "initiative"), "an undone turn was not taken"
        await told(talk, "redo")
        assert "▶ **Mira (Bia)** 18" in await told(talk, "initiative")
    async with playing(tmp_path, writer) as talk:
        await talk.say("/help")
        shown = await told(talk, "initiative")
        assert "▶ **Mira (Bia)** 18" in shown, "it is kept through a restart"
        assert "The fight is over" in await told(talk, "initiative", "end")
        assert await asks(talk, "act", "I rest.", who="cai") == "done"
        assert "<initiative>" not in str(writer.scenes[-1])


async def test_players_end_and_delay_only_their_own_turn(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await fight(talk)
        assert "Only the game master, Ana" in await told(talk, "initiative", "next", who="cai")
        for step in ("end", "remove Rat", "begin", "add Rat 3"):
            assert "Only the game master, Ana" in await told(talk, "initiative", step, who="bia")
        assert "▶ **Rat** 12\n- Mira (Bia) 12" in await told(talk, "initiative", "delay", who="bia")
        await told(talk, "initiative", "next 1.1")
        assert "has moved on" in await told(talk, "initiative", "next 1.1"), "pressed twice, it goes on once"
        assert "▶ **Mira (Bia)** 12" in await told(talk, "initiative")
        assert "next` for the next turn" in await told(talk, "pass", who="bia")
        assert "▶ **Bo (Cai)** 7" in await told(talk, "initiative", "next", who="bia")
        assert "**Bo (Cai)** 30" in await told(talk, "initiative", "add Bo 30", who="cai")
        assert "In the fight: Bo, Rat, Mira" in await told(talk, "initiative", "remove Zoe")
        assert "Say `begin`" in await told(talk, "initiative", "dance")


async def test_a_condition_ends_after_its_rounds(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await fight(talk)
        await told(talk, "sheet", "Mira +poisoned 2; +wet")
        await told(talk, "act", "I hit the rat.", who="bia")
        assert "poisoned (rounds left: 1), wet" in await told(talk, "sheet", "Mira")
        await told(talk, "initiative", "next")
        assert "poisoned (rounds left: 1)" in await told(talk, "sheet", "Mira"), "others' turns do not count"
        await told(talk, "initiative", "next")
        await told(talk, "act", "I hit it again.", who="bia")
        shown = await told(talk, "sheet", "Mira")
        assert "poisoned" not in shown
        assert "wet" in shown
        await told(talk, "undo")
        assert "poisoned (rounds left: 1)" in await told(talk, "sheet", "Mira")


async def test_a_fight_has_buttons_and_is_exported_with_its_story(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await talk.say(START)
        await talk.say("/story cast Mira: a diver")
        await talk.say("/story sheet --template 5e")
        await talk.say("/story sheet Mira dex 20; initiative +30")
        shown = await talk.say("/story initiative começar Mira, Rat 3")
        assert [choice["label"] for choice in choices(shown)] == ["Next turn", "Delay", "End the fight"]
        (line,) = [line for line in texts(shown).splitlines() if "Mira" in line]
        assert 31 <= int(line.split()[-1]) <= 50, "the sheet says what is added to the dice"
        following = await talk.say(choices(shown)[0]["command"])
        assert "▶ **Rat** 3" in texts(following)
        _, file = await out(talk, "/story export --as json")
        again = read_story(file, "f.json", "local")
        assert '"round": 1, "at": 1' in file.decode()
        assert export_json(again.story, again.branches, again.nodes).encode() == file
        await talk.say("/story fork elsewhere --scene 1")
        await talk.say("/story initiative end")
        await talk.say("/story switch main")
        assert "▶ **Rat** 3" in texts(await talk.say("/story initiative"))


async def test_a_fighter_outside_the_cast_does_not_change_another_sheet(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        for line in (
            START,
            "/story cast Mira: a diver",
            "/story play Mira",
            "/story initiative begin Mira, Goblin 12",
        ):
            await talk.say(line)
        refused = str(await talk.say("/story sheet Goblin hp 7/7"))
        assert "There is no Goblin in the cast" in refused
        assert "/story cast Goblin: …" in refused
        assert "Goblin hp" not in str(await talk.say("/story sheet Mira"))
