"""Dice in a player's turn are found only where they are meant, rolled, and shown to people and to the writer."""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events import Text, UserError
from bot.words import LOCALES, Words
from bot.works.story.scene.choices import PreviousMessage, scene_changed
from bot.works.story.turn.dice import (
    MOST_DICE,
    MOST_ROLLS,
    DiceRequest,
    Roll,
    find,
    for_people,
    for_writer,
    roll_dice,
)
from tests.works.story.tale import Tale

SAY = {
    locale: Words(locale, Path(f"bot/works/story/{locale}.toml").read_text(encoding="utf-8"))
    for locale in LOCALES
}
CHECK = Roll("1d20 + 4", "1d20 (12) + 4 = `16`", 16, 0, "Stealth", 15)

ASKED = {
    "[[2d6+3]]": DiceRequest("2d6+3"),
    "I hit it [2d6+3] and run.": DiceRequest("2d6+3"),
    "I hit it (roll 2d6+3 adv) and run.": DiceRequest("2d6+3", 1),
    "Golpeio (rola 2d6+3 com vantagem) e corro.": DiceRequest("2d6+3", 1),
    "roll 2d6+3": DiceRequest("2d6+3"),
    "/roll 2d20kh1": DiceRequest("2d20kh1"),
    "I roll 1d20 + 5 to climb the wall.": DiceRequest("1d20+5"),
    "roll a d20": DiceRequest("d20"),
    "I swing the axe, roll 1d20+5 with disadvantage.": DiceRequest("1d20+5", -1),
    "> *roll 2d6+3*": DiceRequest("2d6+3"),
    "rola 2d6+3": DiceRequest("2d6+3"),
    "Eu rolo 1d20 − 1 para escalar.": DiceRequest("1d20-1"),
    "Empurro a porta, rola 1d20+5 desvantagem!": DiceRequest("1d20+5", -1),
    "Role: 4D6KH3": DiceRequest("4d6kh3"),
    "1d20+5 adv": DiceRequest("1d20+5", 1),
    "2d20kh1": DiceRequest("2d20kh1"),
    "[1d20+5, dis]": DiceRequest("1d20+5", -1),
    "[[(2d6+3)*2]]": DiceRequest("(2d6+3)*2"),
    "[ (1d8,2d4)kh1 / 2 ]": DiceRequest("(1d8,2d4)kh1/2"),
    "[1d%]": DiceRequest("1d%"),
    "check Stealth dc 15": DiceRequest("1d20", 0, "Stealth", 15),
    "check Stealth +4 dc 15 adv": DiceRequest("1d20+4", 1, "Stealth", 15),
    "I crawl under the table. Check Sleight of Hand + 2 + 1d4, DC: 12.": DiceRequest(
        "1d20+2+1d4", 0, "Sleight of Hand", 12
    ),
    "check Stealth +4 dc 15 to get past him": DiceRequest("1d20+4", 0, "Stealth", 15),
    "(check Ana's Stealth dc 15)": DiceRequest("1d20", 0, "Ana's Stealth", 15),
    "I listen [check Perception -1 dc 10 dis] at the door.": DiceRequest("1d20-1", -1, "Perception", 10),
    "teste Furtividade +4 cd 15 vantagem": DiceRequest("1d20+4", 1, "Furtividade", 15),
    "Escuto à porta, teste de Percepção CD 12": DiceRequest("1d20", 0, "Percepção", 12),
    "teste Prestidigitação +2 cd 15 com desvantagem para abrir o cofre": DiceRequest(
        "1d20+2", -1, "Prestidigitação", 15
    ),
}

PROSE = """\
I check the door for traps.
Check it out, he says, and hands me the 15 coins.
I check Stealth Street for the dc office.
Check Washington DC 15 times if you like.
Please check the adapter dc 12 volts before you plug it in.
She looks up (the check came to 20 dollars) and laughs.
Let me check 2 or 3 of the rooms.
We roll up our sleeves.
I roll 3 barrels down the hill.
He has to roll 2d6 twice a night, he says, and he hates it.
They roll out of bed at 6.
Should I roll 2d6+3?
Is it too late to check Stealth dc 15?
I stroll 2d6 miles.
Dice of every kind (2d6, 3d8) lie on the table.
I point at [the door].
The sign reads [12] and [note 3].
See [1d20](https://example.org) for the rules.
[x] pick the lock
The dragon [red, 3d printed] glares.
[[The Lantern]] is where we meet.
Room [[3 doors, 2 windows]] is empty.
I take the d20 bus to the harbour.
At 2d past noon the bell rings.
The 3rd check bounced, +4 days late.
Roll call is at dawn, [all 20 of us] stand still.
My role 2 years ago was to guard him.
She has an advantage of 20 paces, roll or no roll.
It is a check on his power: +4 guards, 15 dogs.
The password is a2d6b, I whisper.
"""

PROSA = """\
Eu testo a porta e espero.
Faço um teste da fechadura com 15 chaves.
O teste durou 20 minutos.
Teste a porta, diz ela, e me dá 15 moedas.
Teste Furtividade comigo amanhã.
O cd 15 da coleção sumiu do meu teste.
Teste o CD 15 vezes, por favor.
Já passou no teste (nota 20)?
A bola rola 3 metros e para.
Rola de tudo nesta taverna.
Vamos dar um role pela cidade às 8.
O rolo 2 do pergaminho está vazio.
Ele manda que eu role 2d6 toda noite, e eu odeio.
Devo rolar 2d6+3?
Será que faço o teste Furtividade cd 15?
Na mesa há dados (2d6, 3d8) de toda cor.
Aponto para [a porta].
A placa diz [12] e [nota 3].
Veja [1d20](https://example.org) para as regras.
[x] abrir a fechadura
O dragão [vermelho, 3d impresso] me encara.
Nos vemos na [[A Lanterna]].
A sala [[3 portas, 2 janelas]] está vazia.
Pego o ônibus d20 até o porto.
O 3º teste falhou, +4 dias de atraso.
Ela tem vantagem de 20 passos, com ou sem dado.
A senha é a2d6b, sussurro.
Enrola 2d6 fios na vara.
Rolou 2 dados e perdeu.
Um teste de paciência: +4 guardas, 15 cães.
"""


@pytest.mark.parametrize("turn", ASKED)
def test_requested_dice_are_found(turn: str) -> None:
    assert find(turn) == [ASKED[turn]]


@pytest.mark.parametrize("prose", (PROSE + PROSA).splitlines())
def test_prose_stays_prose(prose: str) -> None:
    assert find(prose) == []


def test_all_dice_of_a_turn_are_rolled_in_order_and_once() -> None:
    turn = "roll 1d20+5 and then [1d6], and once more (roll 1d8)\nI run.\ncheck Stealth dc 12; roll 1d4\n[[d6]] [d10]"
    assert [wanted.expression for wanted in find(turn)] == [
        *("1d20+5", "1d6", "1d8", "1d20", "1d4", "d6", "d10"),
    ]


def test_a_turn_has_ten_rolls_at_most() -> None:
    assert len(find("[1d6] " * MOST_ROLLS)) == MOST_ROLLS
    with pytest.raises(UserError, match=r"story\.dice_many"):
        find("[1d6]\n" * (MOST_ROLLS + 1))


@pytest.mark.parametrize(
    ("turn", "key"),
    [
        ("[[2d6+banana]]", "bad"),
        ("[2d6 2d6]", "bad"),
        ("roll 2d6+1.5", "bad"),
        ("roll 1d0", "bad"),
        ("[1d6//0]", "bad"),
        ("[1d6%0]", "bad"),
        ("[[((1d6]]", "bad"),
        ("roll 1d20k", "none"),
        (f"roll {MOST_DICE + 1}d6", "crowd"),
        ("roll 99999999999d6", "crowd"),
        ("roll 1d1e1", "crowd"),
        ("roll 1d6rr<7", "crowd"),
        ("roll 1d6" + "+1d6" * 60, "long"),
    ],
)
def test_impossible_dice_are_refused_with_a_sentence(turn: str, key: str) -> None:
    wanted = find(turn)
    if key == "none":
        assert wanted == []
        return
    with pytest.raises(UserError) as refused:
        roll_dice(wanted[0])
    assert refused.value.key == f"story.dice_{key}"
    for say in SAY.values():
        sentence = say(refused.value.key, **refused.value.values)
        assert "{" not in sentence
        assert "story." not in sentence


def test_a_roll_is_its_dice_its_total_and_nothing_but_whole_numbers() -> None:
    for _ in range(100):
        roll = roll_dice(DiceRequest("2d6+7/2"))
        dice = re.fullmatch(r"2d6 \(\**(\d)\**, \**(\d)\**\) \+ 7 // 2 = `(\d+)`", roll.shown)
        assert dice
        assert type(roll.total) is int
        assert roll.total == int(dice[1]) + int(dice[2]) + 3 == int(dice[3])
        assert (roll.success, roll.margin, roll.natural) == (None, None, 0)


@pytest.mark.parametrize("expression", ["1d20+5", "2d6+3", "(1d20+5)*2", "1d8+1d20"])
@pytest.mark.parametrize("advantage", [1, -1])
def test_advantage_uses_the_higher_of_two_rolls_and_disadvantage_the_lower(
    expression: str, advantage: int
) -> None:
    for _ in range(50):
        roll = roll_dice(DiceRequest(expression, advantage))
        assert roll.expression.count("kh1" if advantage > 0 else "kl1") == 1
        if expression == "1d20+5":
            dice = [int(die) for die in re.findall(r"\d+", roll.shown.partition("(")[2].partition(")")[0])]
            assert len(dice) == 2
            assert roll.total == (max(dice) if advantage > 0 else min(dice)) + 5


def test_a_natural_twenty_or_one_is_mentioned_but_decides_nothing() -> None:
    seen = {}
    for _ in range(500):
        roll = roll_dice(DiceRequest("1d20-5", 0, "Stealth", 16))
        seen[roll.natural] = roll
    assert set(seen) == {0, 1, 20}
    assert (seen[20].total, seen[20].success, seen[20].margin) == (15, False, -1)
    assert (seen[1].total, seen[1].success, seen[1].margin) == (-4, False, -20)
    assert roll_dice(DiceRequest("3d6")).natural == 0
    assert roll_dice(DiceRequest("1d20mi20")).natural == 20
    assert {roll_dice(DiceRequest("2d20kh1", 1)).natural for _ in range(50)} == {0}


def test_a_check_succeeds_from_its_dc_on() -> None:
    at = {total: Roll("1d20", "", total, check="Stealth", dc=15) for total in (14, 15, 18)}
    assert {total: (roll.success, roll.margin) for total, roll in at.items()} == {
        14: (False, -1),
        15: (True, 0),
        18: (True, 3),
    }


def test_people_see_one_line_for_each_roll() -> None:
    rolls = [
        CHECK,
        Roll("1d20 + 4", "1d20 (**1**) + 4 = `5`", 5, 1, "Stealth", 15),
        Roll("2d6", "2d6 (2, 3) = `5`", 5),
        Roll("1d20", "1d20 (**20**) = `20`", 20, 20),
    ]
    assert [for_people(roll, SAY["en"]) for roll in rolls] == [
        "**Stealth**, DC 15: 1d20 (12) + 4 = `16`, success (+1)",
        "**Stealth**, DC 15: 1d20 (**1**) + 4 = `5`, failure (-10), natural 1",
        "Rolled: 2d6 (2, 3) = `5`",
        "Rolled: 1d20 (**20**) = `20`, natural 20",
    ]
    assert [for_people(roll, SAY["pt-BR"]) for roll in rolls] == [
        "**Stealth**, CD 15: 1d20 (12) + 4 = `16`, sucesso (+1)",
        "**Stealth**, CD 15: 1d20 (**1**) + 4 = `5`, falha (-10), 1 natural",
        "Rolagem: 2d6 (2, 3) = `5`",
        "Rolagem: 1d20 (**20**) = `20`, 20 natural",
    ]


def test_the_writer_gets_plain_data() -> None:
    rolls = [CHECK, Roll("1d20 - 5", "1d20 (**20**) - 5 = `15`", 15, 20, "Luck", 16), Roll("2d6", "", 5)]
    assert [for_writer(roll) for roll in rolls] == [
        "check Stealth: 1d20 + 4, total 16, DC 15, success by 1",
        "check Luck: 1d20 - 5, total 15, DC 16, failure by 1, natural 20",
        "roll: 2d6, total 5",
    ]


@given(st.text(alphabet="[]()0123d%+-*/. khlea<,", max_size=40))
def test_anything_in_brackets_is_rolled_or_refused(inside: str) -> None:
    for wanted in find(f"[[{inside}]] [{inside}] (roll {inside})\n{inside}"):
        with contextlib.suppress(UserError):
            roll = roll_dice(wanted)
            assert type(roll.total) is int
            assert roll.shown


@given(st.text())
def test_dice_are_searched_in_any_odd_turn_without_an_error(turn: str) -> None:
    assert all(isinstance(wanted, DiceRequest) for wanted in find(turn))


SEEDS = (
    *(
        "[",
        "[[",
        "(",
        "[1d6] ",
        "[a]",
        "[[a",
        "((a",
        "1d6+",
        "1d6 + ",
        "1",
        "d",
        "1d6 ",
        "roll 1d6 ",
        "roll ",
        "roll:",
    ),
    *(
        "/roll /",
        "check a ",
        "check a-",
        "check ",
        "check a dc 1 ",
        "a-",
        "a'",
        "teste de ",
        "> ",
        "I ",
        "- ",
        "dc 1",
    ),
    *(
        "roll 1d6? ",
        "check a +1",
        "[1d6+",
        "[[1d6",
        "1d6kh1",
        " ",
        "*",
        "界",
        "roll 1d6 adv ",
        "(roll 1d6) ",
        "1d6rr",
    ),
)


def test_dice_are_searched_in_any_turn_quickly() -> None:
    took = {}
    for seed in SEEDS:
        for before in ("", "check a ", "roll 1d6+", "[["):
            turn = before + (seed * 30_000)[:30_000]
            began = time.process_time()
            with contextlib.suppress(UserError):
                find(turn)
            took[before + seed] = time.process_time() - began
    worst = max(took, key=took.__getitem__)
    assert took[worst] < 0.5, f"{worst!r} took {took[worst]:.2f} s of processor"


def test_a_turns_dice_stay_above_its_scene_whatever_happens_to_its_message() -> None:
    tale = Tale()
    turn = tale.add("act", {"mode": "act", "text": "I climb.", "name": "Ana", "dice": ["**Athletics**: 14"]})
    tale.add("scene", {"text": "You are up."}, turn)
    story, say = tale.story, SAY["en"]
    changed = scene_changed(story, story.turns[turn], say)
    assert changed.contents[0] == Text("🎲 **Athletics**: 14\n\nYou are up.")
    assert PreviousMessage("run", "You are up.", turn=turn).changed(story, say) == changed
    replaced = PreviousMessage("run", "You are up.", turn=turn, n=1, again=True).changed(story, say)
    assert replaced is not None
    assert replaced.contents[0] == Text("~~🎲 **Athletics**: 14~~\n\n~~You are up.~~")
