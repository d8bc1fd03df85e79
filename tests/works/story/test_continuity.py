"""Code finds contradictions: the dead act, two people hold one thing, somebody is suddenly elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from bot.words import words
from bot.works.story.extraction import attribution, continuity
from bot.works.story.world.state import Character
from tests.works.story.tale import Tale

BEFORE = {
    "mira": Character("Mira", {"where": "the lower stairs", "holding": "the lamp, a rope"}),
    "bo": Character("Bo", {"where": "the boat", "holding": "a knife"}),
    "ines": Character("Inês", {"where": "o farol"}, dead=True),
}


def standing(name: str, **fields: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("where", "holding", "wearing", "mood"), "")
    return {"name": name, **empty, "dead": False, "present": False, "relations": []} | fields


def flags(scene: str, *seen: dict[str, Any], turn: str = "", places: tuple[str, str] = ("", "")) -> str:
    return "\n".join(continuity.flags(list(seen), BEFORE, *places, scene, turn, words("en")))


@pytest.mark.parametrize(
    ("scene", "flagged"),
    [
        ("“We are late,” Inês said.", True),
        ("Inês whispers to them: “Go.”", True),
        ("— Chegou tarde — disse Inês.", True),
        ("The door gives way, and Inês steps out of it.", True),
        ("Então Inês abriu a porta.", True),
        ("They speak of Inês, who once said nothing.", False),
        ("“Inês said so,” Bo answers.", False),
        ("The grave of Inês opened long ago.", False),
    ],
)
def test_a_dead_character_who_acts_is_flagged(scene: str, flagged: bool) -> None:
    assert ("Inês is dead" in flags(scene)) == flagged


@pytest.mark.parametrize(
    ("scene", "turn", "flagged"),
    [
        ("Bo lifts the lamp over the water.", "", True),
        ("Mira gives the lamp to Bo.", "", False),
        ("Bo lifts the lamp over the water.", "I hand Bo the lamp.", False),
        ("Mira and Bo hold the lamp between them.", "", False),
    ],
)
def test_one_thing_held_by_two_people_is_flagged(scene: str, turn: str, flagged: bool) -> None:
    assert (
        "Bo holds the lamp, but Mira held it" in flags(scene, standing("Bo", holding="the lamp"), turn=turn)
    ) == (flagged)


def test_a_thing_given_away_is_no_longer_held() -> None:
    seen = [standing("Bo", holding="the lamp")]
    assert continuity.flags(seen, BEFORE, "", "", "Mira gives the lamp to Bo.", "", words("en")) == []
    assert {one["name"]: one["holding"] for one in seen} == {"Bo": "the lamp", "Mira": "a rope"}


def test_two_things_of_a_kind_are_no_contradiction() -> None:
    assert not flags("Mira has a knife, too.", standing("Mira", holding="a knife"))
    own = {"mira": Character("Mira", {"holding": "her notebook"})}
    bo = [standing("Bo", holding="his notebook")]
    assert not continuity.flags(bo, own, "", "", "Bo reads his notebook.", "", words("en"))


@pytest.mark.parametrize(
    ("scene", "turn", "places", "flagged"),
    [
        ("Mira hums, and the planks creak under her.", "", ("", ""), True),
        ("Mira climbs up, and the planks creak under her.", "", ("", ""), False),
        ("The planks creak under Mira.", "I go back to the boat.", ("", ""), False),
        ("An hour later Mira sits among the nets.", "", ("", ""), False),
        ("Bo walked to the bow. Mira hums.", "", ("", ""), True),
        ("Bo walked to the bow. They all came after him.", "", ("", ""), False),
        ("Mira e Bo conversam baixinho.", "", ("", ""), True),
        ("Mira desceu até ali.", "", ("", ""), False),
    ],
)
def test_a_sudden_change_of_place_is_flagged(
    scene: str, turn: str, places: tuple[str, str], flagged: bool
) -> None:
    seen = standing("Mira", where="the boat")
    assert ("suddenly here: the boat" in flags(scene, seen, turn=turn, places=places)) == flagged


def test_a_more_precise_place_is_not_another_place() -> None:
    assert not flags("Mira hums.", standing("Mira", where="the third step of the stairs"))
    assert not flags("Mira hums.", standing("Mira", where="a damp corner")), (
        "it may be a part of where she was"
    )
    jumped = ("the market", "the lower stairs")
    assert "the market" in flags("Mira hums.", standing("Mira", where="the market"), places=jumped)


def test_long_texts_are_read_in_linear_time() -> None:
    for text in ('"' * 50_000, "Bo " * 50_000, "— " * 50_000, "a, " * 50_000 + "Bo said"):
        assert not list(attribution.speeches(text, "Bo"))
        list(attribution.deeds(text, "Bo", decided=False))
        attribution.moved(text, "Bo", ["Mira"])


def test_the_dead_are_recognised_by_a_part_of_their_name() -> None:
    dead = {"bo larsen": Character("Bo Larsen", dead=True), "mira": Character("Mira")}
    found = continuity.flags([], dead, "", "", "Bo laughed.", "", words("en"))
    assert found == ["Bo Larsen is dead, and acts here"]


@pytest.mark.parametrize(
    ("turn", "lives"),
    [
        ("I bring Bo back to life with the last of the oil.", True),
        ("Bo is not dead: he rises from the dead, and coughs.", True),
        ("Bo está vivo.", True),
        ("I try to revive Bo.", False),
        ("Is Bo alive?", False),
        ("I wish that Bo is alive.", False),
        ("Nobody is alive who knew Bo.", False),
        ("I revive the fire. Then I mourn Bo.", False),
        ("I talk to Bo.", False),
        ("“Bo is alive, I swear!” I shout.", False),
        ("I lie to the widow that Bo is still alive.", False),
        ("Digo à viúva que Bo está vivo.", False),
    ],
)
def test_a_player_can_bring_somebody_back_to_life(turn: str, lives: bool) -> None:
    tale = Tale()
    drowned = tale.turn("I row.", "The sea takes Bo.")
    dead = {"scene": tale.nodes[-1].id, "state": [{"name": "Bo", "dead": True}, {"name": "Mira"}]}
    tale.add("extracted", dead, drowned)
    assert continuity.revived(turn, tale.story) == (["Bo"] if lives else [])
