"""A table with several people: who is there, whose turn it is and for how long, and what two of them whisper."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.events import Author, Place, Request, UserError
from bot.mention import person
from bot.platforms import LogView, Platform
from bot.verb import TYPED
from bot.words import words
from bot.works.schedule.calendar import Calendar
from bot.works.story.table.notes import MEMORY_CHARS
from bot.works.story.world.lorebook import LORE_CHARS
from storage.people import People
from storage.schedules import ScheduleRow
from tests.promises.talk import Talk
from tests.works.story.test_safety import HERE, asks, exported_now, log, whole
from tests.works.story.writer import Writer, playing

SECRET = "the lamp is a trapdoor in disguise"


async def begin(talk: Talk, *, mode: str = "round-robin", cast: str = "Mira: a diver; Bo") -> None:
    await talk.say("/help")
    options = {"mode": mode, "cast": cast}
    assert await asks(talk, "start", "A door in the sea.", who="ana", options=options) == "done"


async def told(talk: Talk, verb: str, text: str = "", *, who: str = "ana", **more: Any) -> str:
    """What a person is shown: all events of the request's run."""
    start = len(talk.events)
    await asks(talk, verb, text, who=who, **more)
    return " ".join(str(event.get("text", "")) for event in talk.events[start:])


async def test_a_name_is_shown_as_it_is_spelt_and_links_nowhere(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk)
        joined = await told(talk, "join", who="[Free](Http://X.Example)")
        assert r"\[Free\](Http://X.Example) is at the table" in joined


async def test_people_join_play_a_character_and_leave(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk)
        assert "Bia is at the table" in await told(talk, "join", who="bia")
        assert "Bia plays Mira" in await told(talk, "play", "mira", who="bia")
        assert "Mira is played by Bia" in await told(talk, "play", "Mira", who="cai")
        assert "In the cast: Mira, Bo" in await told(talk, "play", "Zoe", who="cai")
        assert "Cai plays Bo" in await told(talk, "join", "Bo", who="cai")
        await asks(talk, "act", "I dive.", who="bia")
        assert 'plays="Mira"' in whole(writer.scenes[-1])
        assert "It is Cai's turn" in await told(talk, "act", "I dive again.", who="bia")
        assert "Cai has left" in await told(talk, "leave", who="cai")
        assert "not at the table" in await told(talk, "leave", who="cai")
        assert await asks(talk, "act", "I go on alone.", who="bia") == "done"
        assert "Dan plays Bo" in await told(talk, "play", "Bo", who="dan"), "it is free since its player left"
        await asks(talk, "act", "I am back.", who="cai")
        assert "It is Cai's" not in await told(talk, "act", "Me, too.", who="dan")


async def test_the_game_master_skips_the_absent_and_hands_over(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk)
        for who in ("ana", "bia", "cai"):
            await asks(talk, "join", who=who)
        for who in ("ana", "bia", "cai", "ana"):
            assert await asks(talk, "act", "I wait.", who=who) == "done"
        assert "only Bia or the game master" in await told(talk, "pass", who="cai")
        assert "next is Cai" in await told(talk, "pass", who="ana")
        assert "next is Ana" in await told(talk, "pass", who="cai")
        assert "Only the game master" in await told(talk, "leave", "Bia", who="cai")
        assert "Bia has left" in await told(talk, "leave", "Bia", who="ana")
        await asks(talk, "act", "I go on.", who="ana")
        assert await asks(talk, "act", "I follow.", who="cai") == "done", "nobody waits for who is absent"
        assert "Only the game master" in await told(talk, "gm", "Cai", who="cai")
        assert "Nobody called Zoe" in await told(talk, "gm", "Zoe")
        assert "Nobody called Zoe" in await told(talk, "gm", person("zoe", "Zoe"))
        assert "Cai is now the game master" in await told(talk, "gm", person("cai", "Another name"))
        assert "Ana is now the game master" in await told(talk, "gm", person("ana", "Ana"), who="cai")
        assert "Cai is now the game master" in await told(talk, "gm", "Cai")
        assert "The game master is Cai" in await told(talk, "gm", who="ana")
        assert "Only the game master" in await told(talk, "mode", "gm", who="ana")


async def test_a_refused_form_shows_the_runs_sentence_and_changes_nothing(tmp_path: Path) -> None:
    refused = {
        "whisper": ("psst", "Zoe: psst", f"Bia: {'x' * 1_001}"),
        "play": ("Zoe",),
        "leave": ("Zoe",),
        "gm": ("Zoe",),
        "deadline": ("soon",),
        "cast": ("mute Zoe",),
        "remember": ("x" * (MEMORY_CHARS + 1),),
        "lore": ("no colon", f"lamp: {'x' * (LORE_CHARS + 1)}"),
        "relation": ("Mira: rivals", "Mira, Bo: no such thing"),
    }
    taken = {
        "whisper": "Bia: psst",
        "cast": "Ada: a cook",
        "remember": "It rains.",
        "lore": "lamp: It burns.",
    }
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk)
        await asks(talk, "join", who="bia")
        assert talk.app is not None
        before = len(await log(talk))
        for verb, text in [(verb, text) for verb, texts in refused.items() for text in texts]:
            with pytest.raises(UserError) as refusal:
                await talk.app.dispatcher.check(
                    Request("", HERE, Author("ana", "Ana"), "story", verb, text=text)
                )
            sentence = words("en")(refusal.value.key, **refusal.value.values)
            assert sentence in await told(talk, verb, text), (verb, text)
        for verb, text in taken.items():
            await talk.app.dispatcher.check(Request("", HERE, Author("ana", "Ana"), "story", verb, text=text))
        assert len(await log(talk)) == before
        with pytest.raises(UserError, match=r"rules\.bad_dice"):
            await talk.app.dispatcher.check(
                Request("", HERE, Author("ana", "Ana"), "rules", "roll", text="2x")
            )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("90 minutes", "90 minutes"),
        ("12 h", "12 hours"),
        ("2 dias", "2 days"),
        ("off", "any time"),
    ],
)
async def test_the_time_for_a_turn_is_shown_in_words(tmp_path: Path, typed: str, sentence: str) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk)
        assert sentence in await told(talk, "deadline", typed)
        assert sentence in await told(talk, "deadline")
        for wrong in ("soon", "61 days", "-1 h", "0 h"):
            assert "Example" in await told(talk, "deadline", wrong)


async def test_a_turn_that_takes_too_long_is_passed_even_after_a_restart(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk)
        for who in ("ana", "bia"):
            await asks(talk, "act", "I wait.", who=who)
        await asks(talk, "deadline", "2 days")
        await asks(talk, "act", "I wait again.", who="ana")
    async with playing(tmp_path, writer) as talk:
        await talk.say("/help")
        assert talk.app is not None
        schedules = talk.app.resources.records.schedules

        async def waiting() -> list[Any]:
            return list(await schedules.at_place("local", "terminal", "terminal", "t"))

        async def later(days: int) -> None:
            assert talk.app is not None
            now = datetime.now(UTC) + timedelta(days=days)
            await Calendar(schedules, talk.app, lambda: now).round()

        (row,) = await waiting()
        assert row.kind == "deadline"
        await later(1)
        assert "taken too long" not in str(talk.events)
        await later(3)
        await talk.until(lambda events: "Bia has taken too long" in str(events))
        await talk.until(lambda events: "next is Ana" in str(events))
        while len(await waiting()) != 1 or (await waiting())[0].id == row.id:
            await talk.say("/story gm")
        await later(3)  # nobody is left to wait for: it rests
        await talk.until(lambda events: "Ana has taken too long" in str(events))
        while await waiting():
            await talk.say("/story gm")
        assert await asks(talk, "act", "I am here.", who="bia") == "done"
        assert await asks(talk, "act", "And I.", who="ana") == "done"
        await asks(talk, "act", "Me, too.", who="bia", id="late")
        (stale,) = await waiting()
        await asks(talk, "act", "On we go.", who="ana")
        await schedules.add(stale)
        count = len(await log(talk, "set"))
        await Calendar(schedules, talk.app, lambda: stale.next_at).round()
        await talk.say("/story gm")
        assert len(await log(talk, "set")) == count, "what was waited for has come meanwhile"


async def after_days(talk: Talk, days: float) -> None:
    """Let the calendar run as if this many days had passed."""
    assert talk.app is not None
    now = datetime.now(UTC) + timedelta(days=days)
    await Calendar(talk.app.records.schedules, talk.app, lambda: now).round()


async def due(talk: Talk) -> list[ScheduleRow]:
    assert talk.app is not None
    return list(await talk.app.records.schedules.at_place("local", "terminal", "terminal", "t"))


async def rows_become(talk: Talk, meant: Callable[[list[ScheduleRow]], bool]) -> None:
    async with asyncio.timeout(60):
        while not meant(await due(talk)):  # noqa: ASYNC110  (a run of its own)
            await asyncio.sleep(0.01)


async def test_votes_are_counted_when_their_time_is_up_even_after_a_restart(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk, mode="vote")
        assert "count the votes 2 days after" in await told(talk, "deadline", "2 days")
        (first,) = await due(talk)
        await asks(talk, "join", who="bia")
        assert await due(talk) == [first], "who comes and goes holds up no vote"
        await after_days(talk, 3)
        await talk.until(lambda events: "nobody has voted" in str(events))
        await rows_become(talk, lambda rows: not rows)
        await asks(talk, "act", "I go on.", who="bia", id=(run := "bia-goes-on"))
        (row,) = await due(talk)
        assert talk.app is not None
        for n, who in enumerate(("ana", "bia", "cai")):
            await talk.app.records.votes.give("local", run, 0, who, min(n, 1))
    async with playing(tmp_path, writer) as talk:
        await talk.say("/help")
        await after_days(talk, 3)
        await talk.until(lambda events: "2 of 3 votes for: Call into the dark." in str(events))
        await rows_become(talk, lambda rows: rows not in ([], [row]))
        (following,) = await due(talk)
        assert (following.kind, following.author_id) == ("deadline", "")
        assert 'by="the table"' in whole(writer.scenes[-1])
        assert "At the table: Ana, Bia." in await told(talk, "whisper", "Zoe: hello"), "the table is nobody"


async def test_votes_of_a_mature_story_are_not_played_where_minors_may_be_present(
    tmp_path: Path,
) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk, mode="vote")
        await asks(talk, "safety", options={"rating": "mature"}, adults=True)
        await asks(talk, "deadline", "2 days")
        await asks(talk, "act", "I go on.", id="goes-on", adults=True)
        assert talk.app is not None
        await talk.app.records.votes.give("local", "goes-on", 0, "ana", 1)
        before = len(await log(talk, "act")), len(writer.asked)
        talk.app.attach(Platform("terminal", LogView, origin=lambda place: "", adults=refusing))
        await after_days(talk, 3)
        await rows_become(talk, lambda rows: not rows)
        for run in await talk.app.records.inbox.unfinished():
            assert await talk.app.ended(run.id) == "failed"
        assert (len(await log(talk, "act")), len(writer.asked)) == before
        assert await asks(talk, "continue", adults=True) == "done", "the votes stay"


async def refusing(place: Place) -> bool:
    return False


async def test_the_table_does_not_wait_for_ever_for_a_game_master(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk, mode="gm")
        await asks(talk, "deadline", "1 day")
        assert not await due(talk), "nobody wants anything yet"
        await asks(talk, "act", "I dive.", who="bia")
        (row,) = await due(talk)
        await asks(talk, "act", "I hold the rope.", who="cai")
        assert await due(talk) == [row], "it counts from the first"
    async with playing(tmp_path, writer) as talk:
        await talk.say("/help")
        before = len(writer.scenes)
        await after_days(talk, 2)
        await talk.until(lambda events: "Ana has taken too long" in str(events))
        assert len(writer.scenes) == before
        await asks(talk, "act", "We go down.", who="bia")
        asked = whole(writer.scenes[-1])
        assert len(writer.scenes) == before + 1
        for wanted in ("I dive.", "I hold the rope.", "We go down."):
            assert wanted in asked
        await asks(talk, "act", "And on.", who="cai")
        assert len(writer.scenes) == before + 1, "the next turn waits for the game master again"
        assert len(await due(talk)) == 1


async def test_deleting_a_players_data_removes_their_id_and_words_from_the_table(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk)
        await asks(talk, "join", "Mira", who="bia")
        await asks(talk, "act", "I wait.", who="ana")
        await asks(talk, "deadline", "1 day")
        await asks(talk, "act", "I dive.", who="bia")
        await asks(talk, "whisper", f"I know that {SECRET}", who="bia")
        (row,) = await due(talk)
        assert '"bia"' not in row.options
        assert talk.app is not None
        people = People(talk.app.records.database)
        about = str(await people.rows_about("local", "bia", ""))
        for hers in (SECRET, "I dive.", "Mira"):
            assert hers in about, "her file has it"
        await people.delete("local", "bia", "", lambda payload: payload)
        assert await due(talk) == [row], "others are still waited for"
        for kind in ("party", "whisper"):
            assert [node.body for node in await log(talk, kind) if node.body] == []
        assert "Ana." in await told(talk, "whisper", "Bia: are you there?"), "nobody is called so any more"


async def test_a_thread_whose_branch_is_played_elsewhere_waits_for_nobody(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk)
        for who in ("ana", "bia", "ana"):
            await asks(talk, "act", "I wait.", who=who)
        await asks(talk, "deadline", "1 day")
        (row,) = await due(talk)
        await asks(talk, "undo")
        assert [later.id != row.id for later in await due(talk)] == [True], "another turn is waited for"
        title = (await log(talk, "set"))[0].body
        there = Place("terminal", "local", "terminal", "another")
        assert await asks(talk, "open", json.loads(title)["title"], place=there) == "done"
        count = len(await log(talk, "set"))
        await after_days(talk, 2)
        await rows_become(talk, lambda rows: not rows)
        assert talk.app is not None
        for run in await talk.app.records.inbox.unfinished():
            await talk.app.ended(run.id)
        assert len(await log(talk, "set")) == count + 1, "there, and once"


@pytest.mark.slow
async def test_a_recap_of_missed_scenes_starts_at_the_persons_last_turn(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk, mode="free")
        for who, text in (("bia", "I dive."), ("ana", "I hold the rope."), ("ana", "I pull.")):
            await asks(talk, "act", text, who=who)
        await told(talk, "missed", who="bia")
        asked = whole(writer.asked[-1])
        assert "I hold the rope." in asked
        assert "I dive." not in asked
        assert "You have missed nothing" in await told(talk, "missed", who="ana")


async def test_a_new_game_master_is_at_the_table_before_they_have_played(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk, mode="free")
        for verb in ("join", "leave"):
            assert await asks(talk, verb, who="ana") == "done"
        await asks(talk, "mode", "gm", who="bia")
        assert "The game master is Bia." in await told(talk, "gm", who="zoe")
        assert await asks(talk, "gm", "nobody", who="zoe") == "failed"


async def test_a_whisper_finds_its_table_and_is_refused_where_everybody_could_read_it(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk, mode="free")
        await asks(talk, "join", "Mira", who="bia")
        elsewhere = replace(HERE, thread="elsewhere")
        assert "I did not accept this" in await told(talk, "whisper", who="bia", options={TYPED: True})
        assert "Your whisper" in str(talk.events[-3:]), "a button asks for it"
        await asks(talk, "whisper", f"I know that {SECRET}", who="bia", place=elsewhere, id="typed elsewhere")
        assert talk.app is not None
        (notice,) = await talk.app.records.inbox.children("local", "typed elsewhere")
        request = await talk.app.request_of("local", notice.id)
        assert request is not None
        assert request.place == HERE, "where the recipient plays"
        assert SECRET in await told(talk, "whisper", who="ana")
        assert "No story" in await told(talk, "whisper", "hello", who="zoe", place=elsewhere)


@pytest.mark.parametrize(
    ("locale", "sentence"),
    [("en", "A whisper for Bia"), pytest.param("pt-BR", "Um cochicho para Bia", marks=pytest.mark.slow)],
)
async def test_only_two_people_see_a_whisper(tmp_path: Path, locale: str, sentence: str) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        await begin(talk, mode="free")
        await asks(talk, "join", "Mira", who="bia")
        await asks(talk, "act", "I look around.", who="cai")
        before = len(talk.events)
        await asks(talk, "whisper", f"Bia: {SECRET}", who="ana", locale=locale)
        await asks(talk, "whisper", f"I know that {SECRET}", who="bia", locale=locale)
        await talk.until(lambda events: sentence in str(events))
        assert SECRET not in str(talk.events[before:]), "not even the answer to who whispers repeats it"
        for who, count in (("ana", 2), ("bia", 2), ("cai", 0)):
            assert (await told(talk, "whisper", who=who)).count(SECRET) == count, who
        shown = len(talk.events)
        for verb, text in (
            ("act", "I ask about the lamp."), ("retry", ""), ("ask", "What is the lamp?"), ("recap", ""),
            ("recall", f"the lamp, {SECRET[4:9]}"), ("state", ""), ("show", ""), ("ideas", "the lamp"),
            ("missed", ""), ("fork", "aside"), ("act", "I go on."),
        ):  # fmt: skip
            await asks(talk, verb, text, who="cai")
        files = [event for event in await talk.say("/story prompt") if "data" in event]
        assert files
        assert not any(SECRET.encode() in base64.b64decode(file["data"]) for file in files)
        assert SECRET not in str(talk.events[shown:])
        assert SECRET not in str(writer.asked)
        text = await exported_now(talk)
        assert SECRET not in text
        assert '"whisper"' not in text
        assert json.loads((await log(talk, "whisper"))[0].body)["text"] == SECRET


@pytest.mark.slow
async def test_a_whisper_without_a_listener_is_refused_with_a_sentence(tmp_path: Path) -> None:
    async with playing(tmp_path, Writer()) as talk:
        await begin(talk, mode="free")
        await asks(talk, "join", who="bia")
        await asks(talk, "leave", who="bia")
        for who, text, said in (
            ("ana", "Bia: come back", "Bia has left the table and would not read it."),
            ("ana", "come back", "Say who it is for"),
            ("ana", "Zoe: hello", "Nobody called Zoe"),
            ("bia", "I am gone", "not at the table"),
            ("ana", "Bia: " + "x" * 2_000, "the limit is 1000"),
        ):
            assert said in await told(talk, "whisper", text, who=who)
        assert not await log(talk, "whisper")
