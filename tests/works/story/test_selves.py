"""A person with several characters: which are theirs, which one a turn is by, and what a fork keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bot.events import Author, OptionValue
from bot.works.story.exchange.json_export import FIELDS
from bot.works.story.log.logs import logs_of
from bot.works.story.world.selves import own_character, selves, speaker_and_words
from bot.works.story.world.state import turns_unknown_to
from tests.promises.talk import Talk
from tests.works.story.tale import Tale
from tests.works.story.test_party import begin, told
from tests.works.story.test_safety import asks, log, whole
from tests.works.story.writer import Writer, choices, playing

ANA, BIA = Author("ana", "Ana"), Author("bia", "Bia")


def at_a_table() -> Tale:
    tale = Tale()
    for name in ("Mira", "Bo", "Zoe: the younger", "Kit"):
        tale.add("cast", {"name": name, "sheet": {"about": ""}})
    body = {"person": "ana", "name": "Ana", "here": True, "plays": "Bo", "selves": ["Mira", "Bo"]}
    tale.add("party", body)
    return tale


def test_a_name_before_the_words_chooses_the_character_only_if_it_is_ones_own() -> None:
    story = at_a_table().story
    assert (selves(story, ANA), own_character(story, ANA)) == (["Bo", "Mira"], "Bo")
    assert speaker_and_words(story, ANA, "mira: I open the door:\nslowly.") == (
        "Mira",
        "I open the door:\nslowly.",
    )
    assert speaker_and_words(story, ANA, "**Mira:** I open it.") == ("Mira", "I open it.")
    for text in ("Kit: I open it.", "Remember: the lamp.", "Mira:", "I ask Mira: who?", "Mira\n: yes"):
        assert speaker_and_words(story, ANA, text) == ("Bo", text)
    assert speaker_and_words(story, BIA, "Mira: I open it.") == ("", "Mira: I open it.")


def test_a_character_named_like_a_person_is_theirs_until_somebody_has_chosen_it() -> None:
    tale = at_a_table()
    tale.add("cast", {"name": "Kit", "sheet": {"about": "", "player": "bia"}})
    assert selves(tale.story, BIA) == ["Kit"]
    assert selves(tale.story, Author("bia-2", "")) == [], "nobody is called by no name"
    tale.add("party", {"person": "kim", "name": "Bia", "here": True, "plays": "Kit", "selves": ["Kit"]})
    assert selves(tale.story, BIA) == [], "of two people with one name the one who chose it has it"
    assert selves(tale.story, Author("kim", "Another name")) == ["Kit"]


def test_a_log_of_an_earlier_release_has_one_character_per_player() -> None:
    tale = at_a_table()
    tale.add("party", {"person": "bia", "name": "Bia", "here": True, "plays": "Kit"})
    assert selves(tale.story, BIA) == ["Kit"]
    assert FIELDS["party"]["selves"] == "texts?"


async def act_bodies(talk: Talk) -> list[dict[str, Any]]:
    return [json.loads(node.body) for node in await log(talk, "act")]


async def test_a_player_has_several_characters_and_speaks_as_one(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk, mode="free", cast="Mira: a diver; Bo; Kit")
        assert "no character yet" in await told(talk, "as", who="bia")
        await asks(talk, "play", "Mira", who="bia")
        assert "Bia plays Bo" in await told(talk, "play", "Bo", who="bia")
        start = len(talk.events)
        assert "Your characters: Bo, Mira. You speak as Bo" in await told(talk, "as", who="bia")
        assert [choice["command"] for choice in choices(talk.events[start:])] == ["/story as Mira"]
        await asks(talk, "act", "I dive.", who="bia")
        assert 'by="Bia" plays="Bo"' in whole(writer.scenes[-1])
        await asks(talk, "say", "mira: Who is there?", who="bia")
        assert 'by="Bia" plays="Mira" how="say">\nWho is there?' in whole(writer.scenes[-1])
        await asks(talk, "act", "I wait.", who="bia")
        assert 'plays="Bo"' in whole(writer.scenes[-1]).rpartition("<turn")[2], "the name was for one turn"
        assert "Bia now speaks as Mira" in await told(talk, "as", "MIRA", who="bia")
        await asks(talk, "act", "I rise.", who="bia")
        assert 'plays="Mira"' in whole(writer.scenes[-1]).rpartition("<turn")[2]
        await asks(talk, "act", "Mira: I sink.", who="ana")
        last = whole(writer.scenes[-1]).rpartition("<turn")[2]
        assert "plays=" not in last
        assert "Mira: I sink." in last, "it is ordinary text of another's"
        assert "Kit is not your character. Yours: Mira, Bo" in await told(talk, "as", "Kit", who="bia")
        assert "Mira is played by Bia" in await told(talk, "play", "Mira", who="ana")
        whom = [body.get("character") for body in await act_bodies(talk)]
        assert whom == [None, "Bo", "Mira", "Bo", "Mira", None]
        assert talk.app is not None
        (row,) = await talk.app.resources.stories.all("local")
        story = await logs_of(talk.app.resources.stories).story("local", row.id, row.id)
        known = [
            turn.act.text for turn in story.current_turns if turn.id not in turns_unknown_to(story, "Mira")
        ]
        assert known == ["Who is there?", "I rise."], "she knows what she did, and not what Bo did"


async def test_people_take_turns_and_not_their_characters(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk, cast="Mira; Bo; Kit")
        for who, name in (("bia", "Mira"), ("bia", "Bo"), ("cai", "Kit")):
            await asks(talk, "play", name, who=who)
        assert await asks(talk, "act", "Mira: I dive.", who="bia") == "done"
        assert "It is Cai's turn" in await told(talk, "act", "Bo: I dive, too.", who="bia")
        assert await asks(talk, "act", "I stay.", who="cai") == "done"
        assert await asks(talk, "act", "Bo: I dive now.", who="bia") == "done"


async def test_a_game_master_sees_who_wants_what(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk, mode="gm", cast="Mira; Bo")
        for name in ("Mira", "Bo"):
            await asks(talk, "play", name, who="bia")
        await asks(talk, "act", "Mira: I dive.", who="bia")
        await asks(talk, "act", "I stay.", who="bia")
        await asks(talk, "act", "It is so.", who="ana")
        prompt = whole(writer.scenes[-1])
        assert '<intent by="Mira">I dive.</intent>' in prompt
        assert '<intent by="Bo">I stay.</intent>' in prompt


async def test_a_character_given_away_is_no_longer_ones_own(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk, mode="free")
        for name in ("Mira", "Bo"):
            await asks(talk, "play", name, who="bia")
        await asks(talk, "cast", "Bo", options={"player": "Cai"})
        assert "Your characters: Mira. You speak as Mira" in await told(talk, "as", who="bia")
        assert "Your characters: Bo" in await told(talk, "as", who="cai")
        await asks(talk, "leave", who="bia")
        assert "Dan plays Mira" in await told(talk, "play", "Mira", who="dan"), "both were set free"
        assert "no character yet" in await told(talk, "as", who="bia")


async def test_an_edited_message_can_become_another_characters(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk, mode="free")
        for name in ("Mira", "Bo"):
            await asks(talk, "play", name, who="bia")
        await asks(talk, "act", "Mira: I dive.", who="bia", id="turn-1")
        first = await act_bodies(talk)
        await asks(talk, "edited", "Mira: I dive.", who="bia", answers="turn-1")
        assert await act_bodies(talk) == first, "it says the same"
        await asks(talk, "edited", "Mira: I dive deep.", who="bia", answers="turn-1")
        await asks(talk, "edited", "I dive deeper.", who="bia", answers="turn-1")
        await asks(talk, "edited", "Bo: I dive deepest.", who="bia", answers="turn-1")
        said = [(body.get("character"), body["text"]) for body in await act_bodies(talk)]
        assert said[2:] == [("Mira", "I dive deep."), ("Mira", "I dive deeper."), ("Bo", "I dive deepest.")]


async def test_a_proxied_name_is_bound_once_and_by_the_player_alone(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk, mode="free", cast="Mira; Bo")
        for name in ("Mira", "Bo"):
            await asks(talk, "play", name, who="bia")
        assert "no proxied names" in await told(talk, "proxy", who="bia")
        start = len(talk.events)
        asked = await told(talk, "proxy", "Mira  Vale", options={"player": "Bia"})
        assert "Bia, are messages that a proxy posts as “Mira Vale” your turns?" in asked
        assert [choice["command"] for choice in choices(talk.events[start:])] == ["/story proxied Mira Vale"]
        assert "Only the player" in await told(talk, "proxied", "Mira Vale", who="ana", answers="x")
        assert "no proxied names" in await told(talk, "proxy", who="bia"), "nobody has confirmed it"
        await told(talk, "proxy", "mira vale", who="cai")
        assert "are now turns of Bia" in await told(talk, "proxied", "Mira Vale", who="bia", answers="x")
        for verb in ("proxied", "proxy"):
            taken = await told(talk, verb, "MIRA VALE", who="cai", answers="x")
            assert "is already the proxied name of Bia" in taken, "once"
        assert "Mira Vale" in await told(talk, "proxy", who="bia")
        removes: dict[str, OptionValue] = {"remove": True}
        assert "not one of your proxied names" in await told(
            talk, "proxy", "Mira Vale", who="dan", options=removes
        )
        assert "no longer your turns" in await told(talk, "proxy", "Mira Vale", who="bia", options=removes)
        assert "are now turns of Cai" in await told(talk, "proxied", "Mira Vale", who="cai", answers="x")


async def test_proxied_words_are_the_characters_of_that_name(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk, mode="free", cast="Mira; Bo; Kit")
        for name in ("Mira", "Bo"):
            await asks(talk, "play", name, who="bia")
        for name in ("mira", "Kit", "Another Name"):
            await asks(talk, "act", "Wait: I dive.", who="bia", proxied=name)
        whom = [(body.get("character"), body["text"]) for body in await act_bodies(talk)][1:]
        assert whom == [("Mira", "Wait: I dive."), *[("Bo", "Wait: I dive.")] * 2]
