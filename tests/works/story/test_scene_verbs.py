"""A story is played line by line through the real application, with a scripted writer."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bot.budget import text_tokens
from bot.events import Author, File, Place, Request
from bot.words import words
from bot.works.story.config import StoryConfig
from bot.works.story.log.logs import node
from tests.fakes.reply import Reply
from tests.fakes.wires import WIRES
from tests.kill.instants import ALL
from tests.promises.talk import settings, talking
from tests.works.story.tale import prose
from tests.works.story.writer import START, Writer, choices, ended, last, playing, request, texts


async def test_a_scene_offers_choices_and_the_next_turn_follows_it(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        opening = await talk.say(START)
        assert "number 1" in texts(opening)
        assert [choice["label"] for choice in choices(opening)][:3] == [
            "Open the door.",
            "Call into the dark.",
            "Walk away.",
        ]
        second = await talk.say("I open the door.")
        assert "number 2" in texts(second)
        (spoken,) = (event for event in second if event["event"] == "speak")
        heard = ("This is what was written as number 2.", "scene", "narrator")
        assert (spoken["text"], spoken["key"], spoken["speaker"]) == heard
        assert "number 3" in texts(await talk.say("/story say Hello?"))
        assert "number 4" in texts(await talk.say("/story continue"))
        sent = [message["content"] for message in writer.scenes[-1]["messages"]]
        assert any("A lighthouse keeper" in text for text in sent)
        assert 'how="act">\nI open the door.' in "\n".join(sent)
        assert 'how="say">\nHello?' in "\n".join(sent)
        assert "This is what was written as number 3." in sent
        shown = texts(await talk.say("/story show"))
        assert "4 scenes" in shown


async def test_another_version_is_written_from_the_same_prompt(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say("I open the door.")
        again = await talk.say("/story retry")
        assert "number 3" in texts(again)
        assert writer.scenes[-1]["messages"] == writer.scenes[-2]["messages"]
        assert "◀ 2/2" in [choice["label"] for choice in choices(again)]
        await talk.say("/story direct Slower.")
        await talk.say("/story retry")
        assert writer.scenes[-1]["messages"] == writer.scenes[-2]["messages"], "not what was set since"
        assert "Version 2 of 3" in texts(await talk.say("/story flip back"))
        await talk.say("I go in.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert "number 3" in sent
        assert "number 2" not in sent
        assert "number 4" not in sent
        assert "Slower." in sent


@pytest.mark.parametrize(
    ("locale", "only"), [("en", "Scene 1 has only one"), ("pt-BR", "A cena 1 tem só uma")]
)
async def test_a_scene_of_one_version_cannot_be_flipped(
    tmp_path: Path, writer: Writer, locale: str, only: str
) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(f"/settings set language {locale} --for me")
        await talk.say(START)
        for to in ("prev", "next", "2"):
            (refused,) = [
                event for event in await talk.say(f"/story flip {to}") if event["event"] == "failed"
            ]
            assert only in refused["text"]
            assert "`/story retry`" in refused["text"]
            assert not refused["retry"]
        for _ in range(2):
            await talk.say("/story retry")
        assert " 2 " in texts(await talk.say("/story flip prev")), "back from 3, not forward to 1"
        (refused,) = [event for event in await talk.say("/story flip sideways") if event["event"] == "failed"]
        assert "sideways" in refused["text"]


async def test_a_story_takes_over_a_thread_of_another_work(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say("How long does a candle burn?")
        await talk.say(START)
        await talk.say("I wait.")
        assert "I wait." in last(writer.scenes[-1])


async def test_undo_redo_and_edits_change_the_writers_prompt(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say("I open the door.")
        await talk.say("/story undo")
        await talk.say("I walk away.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert "I open the door." not in sent
        assert "nothing to bring back" in str(await talk.say("/story redo"))
        await talk.say("/story undo")
        assert "number 4" in texts(await talk.say("/story continue"))
        await talk.say("/story undo")
        await talk.say("I walk away.")
        await talk.say("/story edit The gulls are silent.")
        await talk.say("I listen.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert "The gulls are silent." in sent
        assert "number 5" not in sent


async def test_a_branch_shares_its_past_and_nothing_else(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say("I open the door.")
        await talk.say("/story remember The lamp is out.")
        await talk.say("/story fork shut --scene 1")
        await talk.say("I leave it shut.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert "number 1" in sent
        assert "I open the door." not in sent
        assert "The lamp is out." not in sent
        await talk.say("/story switch main")
        await talk.say("I go in.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert "I open the door." in sent
        assert "I leave it shut." not in sent
        tree = await talk.say("/story branches")
        assert re.search(r"- \*\*main\*\* ← you are here.*\n  - \*\*shut\*\*", texts(tree))
        assert any(event["event"] == "picture" for event in tree)


async def test_talk_and_questions_stay_out_of_the_story(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say("((back in five minutes))")
        await talk.say("/story ooc And me, too.")
        writer.next.append(Reply("It is a door in the sea."))
        assert "It is a door in the sea." in texts(await talk.say("/story ask What is it?"))
        writer.next.append(Reply("", finish="refusal"))
        assert "declined to answer" in str(await talk.say("/story ask Who drowned there?"))
        await talk.say("I wait.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        for talked in ("five minutes", "me, too", "What is it?", "It is a door"):
            assert talked not in sent


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("/story start 🗝️🌊", "needs a premise"),
        ("/story start " + "a b " * 25_000, "has 100012 characters"),
        ("/story act I wait.", "No story is played here"),
        ("/story undo", "No story is played here"),
    ],
)
async def test_bad_input_gets_a_sentence(
    tmp_path: Path, writer: Writer, line: str, sentence: str | None
) -> None:
    async with playing(tmp_path, writer) as talk:
        events = await talk.say(line)
        failed = [event for event in events if event["event"] == "failed"]
        assert len(failed) == 1
        assert sentence is None or sentence in failed[0]["text"]
        assert not writer.asked


async def test_a_writer_that_fails_loses_no_turn(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        for reply, said in (
            (Reply(pieces=["  "]), "wrote nothing"),
            (Reply("A scene that stops in the", finish="length"), "cut off here"),
            (Reply("I would rather", finish="refusal"), "nobody's fault"),
            (Reply(status=500, times=9), "Your turn is kept"),
            (Reply("Half of a scene", fault="drop"), "cut off in the middle"),
            (Reply("This is what was written as number 1."), "repeated the last scene"),
        ):
            writer.numbers = count(1)
            await talk.say(START)
            writer.next += [reply] * reply.times
            assert said in str(await talk.say("I open the door."))
            writer.next.clear()
            await talk.say("/story retry")
            assert "I open the door." in str(writer.scenes[-1]["messages"]), said


async def test_after_unreadable_choices_players_can_still_type(tmp_path: Path, writer: Writer) -> None:
    writer.choices = "…\n***\n" + "x" * 500
    async with playing(tmp_path, writer) as talk:
        opening = await talk.say(START)
        assert choices(opening)[0]["label"] == "Something else…"


async def test_a_mode_is_set_by_its_name_and_an_unknown_one_is_refused(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        assert "one after the other" in texts(await talk.say("/story mode round-robin"))
        assert "There is no mode" in str(await talk.say("/story mode chaos"))
        await talk.say("I knock.")
        assert "Nobody's turn is pending" in str(await talk.say("/story pass"))


async def test_dice_are_rolled_by_code_and_seen_by_the_writer(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        played = await talk.say("I climb down the wet rope. check Athletics +2 dc 1")
        assert "**Athletics**, DC 1:" in texts(played)
        assert re.search(
            r"<dice>check Athletics: 1d20 \+ 2, total \d+, DC 1, success by \d+", last(writer.scenes[-1])
        )
        dice = texts(played).partition("🎲 ")[2].splitlines()[0]
        assert f"🎲 {dice}" in texts(await talk.say("/story retry")), "another version is of the same dice"
        assert "more than 100 dice" in str(await talk.say("I throw [[999d6]]."))


async def test_the_lorebook_is_activated_by_its_keywords(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say("/story lore lamp, lantern: The lamp burns whale oil.")
        await talk.say("/story lore gull: Gulls know the way.")
        await talk.say("/story lore --always -- : The sea has no bottom.")
        await talk.say("I lift the LANTERN.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert "whale oil" in sent
        assert "Gulls know" not in sent
        assert sent.index("no bottom") < sent.index("whale oil")
        assert "3. **always**" in texts(await talk.say("/story lore"))
        assert "removed from the lorebook" in texts(await talk.say("/story lore --remove 1"))


async def test_two_characters_treat_each_other_by_a_preset(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START + " --cast 'Mira: a diver; Bo'")
        await talk.say("/story relation Mira, Bo: rivals")
        assert "There is no preset" in str(await talk.say("/story relation Mira, Bo: dancers"))
        assert "Mira and Bo" in texts(await talk.say("/story relation Mira, Bo: velhos amigos"))
        await talk.say("/story relation Mira, Bo: RIVAIS")
        await talk.say("/story cast Mira --style 'short, dry sentences' --player you")
        await talk.say("I wait.")
        sent = "\n".join(message["content"] for message in writer.scenes[-1]["messages"])
        assert "<relations>" in sent
        assert '<style of="Mira">short, dry sentences</style>' in sent
        assert "**Mira, Bo**: Rivals" in texts(await talk.say("/story relation"))


async def test_ideas_are_stored_and_one_can_become_a_story(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        writer.next.append(Reply(pieces=["- A heist in a library.\n- A choir of bees."]))
        thought = await talk.say("/story ideas something odd")
        assert [choice["command"] for choice in choices(thought)] == [
            "/story start -- A heist in a library.",
            "/story start -- A choir of bees.",
            "/story ideas --further",
        ]


async def test_an_admin_gets_the_last_prompts_as_files(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        await talk.say("I open the door.")
        files = [event for event in await talk.say("/story prompt") if event["event"] == "attachment"]
        assert [file["name"] for file in files] == ["prompt_sent.json", "prompt_sent_choices.json"]


async def test_a_turn_repeated_after_a_crash_is_taken_once(tmp_path: Path, writer: Writer) -> None:
    """As if the process had been killed between the turn's node and the end of the step."""
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        assert talk.app is not None
        place = Place("terminal", "local", "terminal", "t")
        work: Any = talk.app.works["story"]
        act = Request("twice", place, Author("a", "A"), "story", "act", text="I knock.")
        first = await work.scene_verbs._act(act)
        again = await work.scene_verbs._act(act)
        assert again == first
        assert first.n == 2
        undo = Request("back", place, Author("a", "A"), "story", "undo")
        done = await work.table._versions.undo(undo, words("en"))
        assert await work.table._versions.undo(undo, words("en")) == done
        assert "1 scenes" not in texts(await talk.say("/story show"))
        assert "1 scene on" in texts(await talk.say("/story show"))


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_many_turns_by_three_players_come_in_order_and_once(tmp_path: Path, writer: Writer) -> None:
    """Two hundred turns in `make test-kill`: the cost of a turn grows with the earlier ones."""
    turns = 200 if ALL else 60
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        assert talk.app is not None
        tickets = []
        for n in range(turns):
            asked = request(f"turn{n}", f"This is turn {n}.", who=("Ana", "Bia", "Cai")[n % 3])
            tickets.append(await talk.app.perform(asked))
            if n % 7 == 0:
                assert not (await talk.app.perform(asked)).fresh, "a redelivery"
        assert {await ticket.wait() for ticket in tickets} == {"done"}
        taken = [re.findall(r"This is turn (\d+)\.", last(asked))[-1] for asked in writer.scenes[1:]]
        assert taken == [str(n) for n in range(turns)]
        terminal = Place("terminal", "local", "terminal", "t")
        played = await talk.app.works["story"].table._logs.played_in(terminal)  # type: ignore[attr-defined]
        assert [turn.act.text for turn in played.story.current_turns[1:]] == [
            f"This is turn {n}." for n in range(turns)
        ]
        assert all(len(turn.scenes) == 1 for turn in played.story.current_turns)


async def test_stored_ideas_can_be_read_again(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        writer.next = [Reply(pieces=["- A storm of moths.\n- The sea freezes."])]
        await talk.say("/story ideas weather")
        assert "- A storm of moths." in texts(await talk.say("/story show"))


async def test_without_a_premise_a_terminal_asks_for_it_on_the_next_line(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        asked = await talk.say("/story start --tone eerie")
        assert "What the story is about:" in asked[0]["text"]
        assert "number 1" in texts(await talk.say("A door in the sea --title is no option here"))
        shown = texts(await talk.say("/story show"))
        assert "A door in the sea --title is no option here" in shown
        assert "eerie" in shown


async def test_a_character_is_made_by_a_form(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        (new,) = choices(await talk.say("/story cast"))
        assert (new["command"], new["form"]) == ("/story cast", True)
        assert "is in the cast" in texts(
            await talk.say(
                "/story cast Mira --about a diver --player Ana --picture https://example.org/mira.png"
            )
        )
        assert "**Mira** (played by Ana): a diver" in texts(await talk.say("/story cast"))
        refused = await talk.say("/story cast Mira --picture mira.png")
        assert "must be a web address" in refused[0]["text"]


async def test_people_cannot_type_internal_verbs(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        (refused,) = [event for event in await talk.say("/story opened") if event["event"] == "failed"]
        assert "opened" in refused["text"]


async def test_text_that_is_too_long_is_refused_and_the_story_unchanged(
    tmp_path: Path, writer: Writer
) -> None:
    """A hundred thousand characters, as a platform's form or a paste may send them, and typed in a terminal."""
    async with playing(tmp_path, writer) as talk:
        long = "I go on " * 12_500
        await talk.say("/story show")
        begun = await ended(talk, request("begins", long, verb="start"))
        assert "That premise has 99999 characters; the limit is 8000." in str(begun)
        assert choices(await ended(talk, request("empty", "", verb="start")))[0]["form"]
        assert not writer.asked
        await talk.say(START)
        for verb in ("act", "say"):
            told = await ended(talk, request(f"long-{verb}", long, verb=verb))
            assert "That turn has 99999 characters; the limit is 4000." in str(told)
        assert "has 100010 characters" in str(await talk.say(f"/story act {long}"))
        assert len(writer.scenes) == 1
        assert "number 2" in texts(await talk.say("I go on."))


async def test_a_file_does_not_count_as_a_turn(tmp_path: Path, writer: Writer) -> None:
    async with playing(tmp_path, writer) as talk:
        await talk.say(START)
        (tmp_path / "turn.txt").write_text("I go on. " * 11_112)
        file = File("turn.txt", str(tmp_path / "turn.txt"), 100_008)
        alone = await ended(talk, replace(request("alone", ""), files=(file,)))
        assert "I don't read files as turns" in str(alone)
        assert len(writer.scenes) == 1
        beside = await ended(talk, replace(request("beside", "I wait."), files=(file,)))
        assert "only your own text counts" in str(beside)
        assert "number 2" in texts(beside)
        assert "I go on." not in str(writer.scenes[-1])


@pytest.mark.slow
async def test_a_lorebook_of_ten_thousand_entries_stays_within_its_share(
    tmp_path: Path, writer: Writer
) -> None:
    async with playing(tmp_path, writer) as talk:
        run = (await talk.say(START))[-1]["run"]
        assert talk.app is not None
        entries = [
            {"keys": ["lamp" if n < 3_000 else f"key{n}"], "content": f"Entry {n}: {prose(n, 30)}"}
            for n in range(10_000)
        ]
        nodes = [
            node("lore", f"{n}", "lore", {"id": str(n), "entry": entry}, author="ana")
            for n, entry in enumerate(entries)
        ]
        await talk.app.resources.stories.append("local", run, run, nodes)
        await talk.say("I wait.")
        began = time.process_time()
        assert "number 3" in texts(await talk.say("I lift the lamp."))
        assert time.process_time() - began < 5
        contents = [message["content"] for message in writer.scenes[-1]["messages"]]
        numbers = [int(number) for number in re.findall(r"Entry (\d+):", contents[-1])]
        assert 50 < len(numbers) < 3_000
        assert max(numbers) < 3_000
        config = talk.app.config.section(StoryConfig)
        assert text_tokens(contents[-1]) < config.window * config.lore_share + 500
        assert sum(map(text_tokens, contents)) < config.window * config.share


async def test_a_place_and_a_person_have_their_own_settings_in_a_story(tmp_path: Path) -> None:
    first, second = Writer(), Writer()
    async with (
        WIRES["chat"].service(first) as one,
        WIRES["chat"].service(second) as other,
        talking(settings(tmp_path / "data", one, other)) as talk,
    ):
        await talk.say(START)
        assert (len(first.scenes), len(second.scenes)) == (1, 0)
        await talk.say("/settings set model.writer second:small --for channel")
        await talk.say("/settings set language pt-BR")
        played = await talk.say("I open the door.")
        assert (len(first.scenes), len(second.scenes)) == (1, 1)
        assert "Cena 2" in str(played)
        assert "Continue" in str(choices(played))
        await talk.say("/settings reset model.writer --for channel")
        await talk.say("/story retry")
        assert (len(first.scenes), len(second.scenes)) == (2, 1)


async def test_reading_aloud_stops_before_another_version_and_once_a_scene_no_longer_counts(
    tmp_path: Path, writer: Writer
) -> None:
    hushed: asyncio.Queue[tuple[str, str, int]] = asyncio.Queue()

    async def hush(request: Request, stage: str) -> None:
        hushed.put_nowait((request.id, stage, len(writer.scenes)))

    async with playing(tmp_path, writer) as talk:
        first = await talk.say(START)
        assert talk.app is not None
        talk.app.attach(replace(talk.app.platforms["terminal"], hush=hush))
        second = await talk.say("/story retry")
        assert hushed.get_nowait() == (first[0]["run"], "scene", 1), "before the other one is asked for"
        for command in ("/story flip back", "/story edit It rains.", "/story undo"):
            await talk.say(command)
            assert hushed.get_nowait()[:2] == (second[0]["run"], "scene"), command
        await talk.say("/story redo")
        assert hushed.empty()
        await talk.say("/story stopcard")
        async with asyncio.timeout(60):
            while (await hushed.get())[0] != second[0]["run"]:
                pass  # the version before, once more
