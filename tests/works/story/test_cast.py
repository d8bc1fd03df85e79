"""The cast: who replies alone, who stays silent, who is made up by the writer, and how their words are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.events import UserError
from bot.works.story.turn.context import prompt
from bot.works.story.turn.scene_verbs import parse_cast
from bot.works.story.world import cast
from bot.works.story.world.cast import Character, NameRemover, parse_typed, read_characters
from tests.fakes.reply import Body, Reply
from tests.works.story.tale import Tale
from tests.works.story.test_context import FRAME
from tests.works.story.writer import START, Writer, choices, last, playing, texts


def replies(writer: Writer) -> list[Body]:
    return [asked for asked in writer.asked if "only the reply" in last(asked)]


def speakers(events: list[dict[str, object]]) -> list[object]:
    """The names of the speakers, one for each stage."""
    return [
        event["speaker"]["name"] if isinstance(event.get("speaker"), dict) else None  # type: ignore[index]
        for event in events
        if event["event"] == "stage"
    ]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("Mira: a diver, who fears the dark; Bo", {"Mira": "a diver, who fears the dark", "Bo": ""}),
        ("Mira, Bo", {"Mira": "", "Bo": ""}),
        (" Mira ,Bo: a sailor;; ", {"Mira": "", "Bo": "a sailor"}),
        (",;:", {}),
    ],
)
def test_a_cast_is_listed_with_and_without_sheets(given: str, names: dict[str, str]) -> None:
    assert {name: sheet["about"] for name, sheet in parse_cast(given)} == names


@pytest.mark.parametrize(
    ("line", "options", "meant"),
    [
        ("speak Mira", {}, ("speak", "Mira")),
        ("  SPEAK   the old  man ", {}, ("speak", "the old man")),
        ("fala Mira", {}, ("speak", "Mira")),
        ("mute Mira", {}, ("mute", "Mira")),
        ("unmute Mira", {}, ("unmute", "Mira")),
        ("reativa Mira", {}, ("unmute", "Mira")),
        ("descala Mira", {}, ("unmute", "Mira")),
        ("all", {}, ("all", "")),
        ("todos", {}, ("all", "")),
        ("speak", {}, ("speak", "")),
        ("Speak: a parrot", {}, ("", "Speak: a parrot")),
        ("Speak Easy: a bar", {}, ("", "Speak Easy: a bar")),
        ("all", {"remove": True}, ("", "all")),
        ("Speak", {"style": "loud"}, ("", "Speak")),
        ("All Hallows", {}, ("", "All Hallows")),
        ("Mira", {}, ("", "Mira")),
        ("", {}, ("", "")),
    ],
)
def test_words_after_the_verb_cast_do_not_hide_characters_of_that_name(
    line: str, options: dict[str, str | bool], meant: tuple[str, str]
) -> None:
    assert parse_typed(line, options) == meant


@pytest.mark.parametrize(
    "address",
    [
        "http://example.org/mira.png",
        "https://",
        "https:///mira.png",
        "https://ana:secret@example.org/mira.png",
        "https://example.org/mi ra.png",
        "https://example.org/\x07.png",
        "https://exämple.org/mira.png",
        'https://example.org/">.png',
        "https://[::1/mira.png",
        "javascript:alert(1)",
        "mira.png",
        "https://example.org/" + "a" * 2_000,
    ],
)
def test_only_https_addresses_are_accepted_as_pictures(address: str) -> None:
    with pytest.raises(UserError):
        cast.picture(address)


def test_blanks_around_a_pictures_address_are_ignored() -> None:
    assert cast.picture(" https://example.org/mira.png?size=64 ") == "https://example.org/mira.png?size=64"


MIRA, BO = Character("Mira", "a diver who fears the dark", "dry"), Character("Bo", "keeps the lamp", "loud")


@pytest.mark.parametrize(
    "told",
    [
        "Mira | a diver who fears the dark | dry\nBo | keeps the lamp | loud",
        "Here they are:\n\n- **Mira** | a diver who fears the dark | Style: dry\n2. Bo | keeps the lamp | loud\n",
        "| Name | Who | Talks |\n|---|---|---|\n| Mira | a diver who fears the dark | dry |\n"
        "| Bo | keeps the lamp | loud |",
        "**Mira**: a diver who fears the dark. Style: dry\n**Bo** – keeps the lamp. Voice: loud",
        '```json\n[{"name": "Mira", "description": "a diver who fears the dark", "style": "dry"},'
        ' {"Name": "Bo", "about": "keeps the lamp", "voice": "loud"}]\n```',
        'Sure! {"characters": [{"name": "Mira", "sheet": "a diver who fears the dark", "dialogue_style": "dry"},'
        ' {"name": "Bo", "who": "keeps the lamp", "talks": "loud"}]} Enjoy!',
        "Mira | a diver who fears the dark | dry\nBo | keeps the lamp | loud\nMIRA | again | loud\nCy | x | y",
    ],
)
def test_characters_are_parsed_from_any_form_of_model_text(told: str) -> None:
    read = [
        Character(character.name, character.about.rstrip("."), character.style.rstrip("."))
        for character in read_characters(told, 2)
    ]
    assert read == [MIRA, BO]


@pytest.mark.parametrize(
    "told",
    [
        "",
        "   ",
        "I would rather not.",
        "{",
        "[[[[",
        "[1, 2]",
        "|||",
        "a|",
        '[{"name": "Mira"}]',
        "x" * 50_000,
    ],
)
def test_no_character_is_parsed_from_garbage(told: str) -> None:
    assert read_characters(told, 3) == []


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        (["Mi", "ra", ": “Put", " it down.”"], "“Put it down.”"),
        (["**Mira:** “Put it down.”"], "“Put it down.”"),
        (["Mira looks up."], "Mira looks up."),
        (["“No”"], "“No”"),
        (["Mira"], "Mira"),
    ],
)
def test_the_name_before_a_reply_is_removed(pieces: list[str], said: str) -> None:
    reply = NameRemover("Mira")
    assert "".join([*map(reply.feed, pieces), reply.feed("", last=True)]) == said


def test_a_reply_is_recorded_as_its_speakers_and_uses_no_plan_of_a_player() -> None:
    tale = Tale()
    tale.add("cast", {"name": "Mira", "sheet": {"about": "a diver"}})
    tale.turn("I knock.", "Nobody answers.")
    tale.add("intent", {"name": "Bo", "text": "run"})
    reply = tale.add("act", {"mode": "continue", "text": "", "name": "", "speaker": "Mira"})
    tale.add("scene", {"text": "“Leave it.”", "at": 5}, reply)
    player = tale.turn("I knock again.", "A bell.")
    story = tale.story
    assert story.turns[reply].intents == ()
    assert story.turns[player].intents == (("Bo", "run"),)
    said = [message.text for message in prompt(story, FRAME).messages]
    at = next(n for n, text in enumerate(said) if 'speaker="Mira"' in text)
    assert "Mira replies." in said[at]
    assert said[at + 1] == "“Leave it.”"


def test_silent_characters_are_named_after_the_cache_break_and_not_in_the_sheets() -> None:
    tale = Tale()
    tale.add("cast", {"name": "Mira", "sheet": {"about": "a diver", "picture": "https://example.org/m.png"}})
    tale.turn("I knock.", "Nobody answers.")
    before = prompt(tale.story, FRAME)
    tale.add("cast", {"name": "Mira", "sheet": {"about": "a diver", "muted": "yes"}})
    after = prompt(tale.story, FRAME)
    assert after.messages[0] == before.messages[0], "the foundation stays the same byte for byte"
    assert after.system == before.system
    assert "<silent>Mira</silent>" in "\n".join(message.text for message in after.messages)


async def test_a_character_replies_alone_with_the_same_prompt_prefix(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START + " --cast 'Mira: a diver; Bo: keeps the lamp'")
        await talk.say("I open the door.")
        scene = writer.scenes[-1]["messages"]
        writer.next.append(Reply(pieces=["Mira: ", "“Put it down.”"]))
        events = await talk.say("/story cast speak mira")
        assert texts(events) == "“Put it down.”"
        assert speakers(events) == ["Mira"]
        assert choices(events)[0]["label"] == "Open the door."
        asked = replies(writer)[-1]["messages"]
        # The scene's prompt without its last turn, followed by the scene itself.
        assert [one["content"] for one in asked[: len(scene) - 1]] == [one["content"] for one in scene[:-1]]
        assert asked[0] == scene[0]
        assert 'speaker="Mira"' in last(replies(writer)[-1])
        await talk.say("I put it down.")
        prompt_text = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert "“Put it down.”" in prompt_text


async def test_a_reply_has_versions_and_can_be_undone_like_any_scene(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START + " --cast 'Mira: a diver'")
        writer.next += [Reply(pieces=["“One.”"]), Reply(pieces=["“Two.”"])]
        await talk.say("/story cast speak Mira")
        again = await talk.say("/story retry")
        assert texts(again) == "“Two.”"
        assert speakers(again) == ["Mira"]
        first, second = replies(writer)
        assert first["messages"] == second["messages"]
        flipped = await talk.say("/story flip back")
        changed = [event for event in flipped if event["event"] == "changed"]
        assert [event["speaker"]["name"] for event in changed] == ["Mira"]
        assert "“One.”" in str(changed)
        edited = await talk.say("/story edit “Three.”")
        assert [event["speaker"]["name"] for event in edited if event["event"] == "changed"] == ["Mira"]
        await talk.say("/story undo")
        await talk.say("I wait.")
        assert "“" not in "\n".join(message["content"] for message in writer.scenes[-1]["messages"])


async def test_all_characters_who_may_reply_do_so_in_separate_turns(tmp_path: Path, writer: Writer) -> None:
    people = "Mira: a diver; Bo: keeps the lamp; Cy: a gull; Dee: a smuggler"
    async with playing(tmp_path, writer) as talk:
        await talk.say(f"{START} --cast '{people}'")
        await talk.say("/story cast Dee --player Ana")
        await talk.say("/story cast mute Cy")
        writer.next += [Reply(pieces=["“I am Mira.”"]), Reply(pieces=["“I am Bo.”"])]
        events = await talk.say("/story cast all")
        assert speakers(events) == ["Mira", "Bo"]
        assert [event["title"] for event in events if event["event"] == "stage"] == ["Scene 2", "Scene 3"]
        assert texts(events) == "“I am Mira.”“I am Bo.”"
        offered = [len(event["choices"]) for event in events if event["event"] == "choices"]
        assert offered[0] == 1, "under the first reply the stop card alone"
        assert len(offered) == 3
        heard = "\n".join(message["content"] for message in replies(writer)[1]["messages"])
        assert "“I am Mira.”" in heard
        assert "<silent>Cy</silent>" in heard
        undone = await talk.say("/story undo")
        assert "Scene 3 and its turn are taken back" in texts(undone)
        back = await talk.say("/story redo")
        assert "“I am Bo.”" in str([event for event in back if event["event"] == "changed"])
        assert texts(await talk.say("/story retry")).startswith("This is what")
        await talk.say("/story flip back")
        assert "4 scenes" not in texts(await talk.say("/story show"))
        assert "3 scenes" in texts(await talk.say("/story show"))


async def test_after_a_failed_reply_no_further_reply_is_requested(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START + " --cast 'Mira: a diver; Bo: keeps the lamp'")
        writer.next += [Reply(pieces=["  "]), Reply(pieces=["“Bo.”"])]
        events = await talk.say("/story cast all")
        assert "wrote nothing" in str(events)
        assert speakers(events) == ["Mira"]
        assert len(replies(writer)) == 1


NOBODY_SPEAKS = (
    ("/story cast speak Nobody", "There is no Nobody in the cast"),
    ("/story cast speak", "Say who"),
    ("/story cast mute", "Say who"),
    ("/story cast mute Nobody", "There is no Nobody"),
    ("/story cast speak Dee", "Dee is played by Ana"),
    ("/story cast mute Dee", "Dee is played by Ana"),
    ("/story cast speak Mira", "Mira stays silent"),
    ("/story cast all", "No character in the cast can reply"),
    ("/story cast Bo --picture http://example.org/bo.png", "begins with https://"),
)


async def test_a_sentence_says_which_characters_cannot_speak(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(f"{START} --cast 'Mira: a diver; Dee'")
        await talk.say("/story cast Dee --player Ana")
        await talk.say("/story cast mute Mira")
        crowd = "; ".join(f"N{n}" for n in range(38))
        for begins, lines in (
            ("", NOBODY_SPEAKS),
            (f"{START} --cast 'Mira: a diver; Dee; {crowd}'", [("/story cast --write 10", "at most 40")]),
        ):
            if begins:
                await talk.say(begins)
            before = len(writer.asked)
            for line, sentence in lines:
                (failed,) = [event for event in await talk.say(line) if event["event"] == "failed"]
                assert sentence in failed["text"]
            assert len(writer.asked) == before


async def test_characters_named_like_words_are_listed_with_what_can_be_done(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say("/story cast Speak: a parrot")
        await talk.say("/story cast All: a god --picture https://example.org/all.png")
        assert speakers(await talk.say("/story cast speak all")) == ["All"]
        assert speakers(await talk.say("/story cast all")) == ["Speak", "All"]
        await talk.say("/story cast mute Speak")
        listed = texts(await talk.say("/story cast"))
        assert "**Speak** (stays silent): a parrot" in listed
        assert "/story cast speak Mira" in listed
        await talk.say("/story cast unmute Speak")
        assert "keeps quiet)" not in texts(await talk.say("/story cast"))
        assert "has left" in texts(await talk.say("/story cast All --remove"))


async def test_a_reply_uses_up_nobodys_turn(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START + " --cast 'Mira: a diver'")
        await talk.say("/story mode round-robin")
        await talk.say("I wait.")
        await talk.say("/story cast speak Mira")
        assert not [event for event in await talk.say("I wait on.") if event["event"] == "failed"]


async def test_the_writer_makes_up_a_cast(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START + " --cast 'Mira: a diver'")
        people = "mira | another one | loud\nBo | keeps the lamp | loud\nCy | a gull |"
        writer.next.append(Reply(pieces=[people]))
        made = await talk.say("/story cast --write 3 two keepers and a bird")
        assert "- **Bo**: keeps the lamp _loud_" in texts(made)
        assert "Mira" not in texts(made)
        assert "because they were already in the cast: mira" in str(made)
        asked = last(writer.asked[-1])
        assert "invent 3 different characters" in asked
        assert "two keepers and a bird" in asked
        listed = texts(await talk.say("/story cast"))
        assert "**Mira**: a diver" in listed
        assert "**Cy**: a gull" in listed
        await talk.say("/story retry")
        assert "Cy" not in texts(await talk.say("/story cast")), (
            "with the version that they were thought up behind"
        )
        await talk.say("/story flip back")
        await talk.say("I wait.")
        foundation = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert '<style of="Bo">loud</style>' in foundation


async def test_a_writer_that_makes_up_nobody_changes_nothing(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        writer.next.append(Reply("I would rather not."))
        assert "made up no characters" in texts(await talk.say("/story cast --write 3"))
        assert "Nobody is in the cast yet" in texts(await talk.say("/story cast"))
