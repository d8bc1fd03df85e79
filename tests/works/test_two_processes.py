"""A change in one process is known to the other within a second: every verb of the table, on a real Postgres."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bot.commands import ROWS
from tests.fakes.postgres import created
from tests.fakes.reply import Reply
from tests.wire.council_model import QUESTION, CouncilModel
from tests.works.two_processes import ANA, House, Table, found, opened

ROOT = Path(__file__).resolve().parents[2]
LANTERNS = ROOT / "examples" / "lanterns.md"
COURSES = ROOT / "tests" / "works" / "course" / "courses"
SCRIPTS = ROOT / "tests" / "data" / "scripts"

Play = Callable[[Table], Awaitable[None]]
PLAYS: dict[Play, tuple[str, ...]] = {}


def plays(*verbs: str) -> Callable[[Play], Play]:
    def kept(play: Play) -> Play:
        PLAYS[play] = verbs
        return play

    return kept


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with opened(tmp_path_factory.mktemp("processes"), created(postgres)) as house:
        yield house


@plays("settings set", "settings reset")
async def a_setting(t: Table) -> None:
    await t.changes("/settings set timezone America/Recife", "/settings show", "Recife")
    await t.changes("/settings reset timezone", "/settings show", no_more="Recife")
    await t.changes("/settings set language pt-BR --for everyone", "/settings show", "Ajustes")


@plays("settings set", "settings reset")
async def what_a_channel_may_do(t: Table) -> None:
    roll = "refused /rules roll 1d1"
    await t.changes("/settings set works story --for channel", roll, "story", reader=ANA)
    await t.changes("/settings reset works --for channel", roll, no_more="story", reader=ANA)
    await t.changes("/settings set default_work story --for channel", "plain", "story")
    await t.changes("/settings set answers private --for channel", "/settings channels", "private")


@plays("settings allow", "settings deny")
async def who_may_do_what(t: Table) -> None:
    roll = "refused /rules roll 1d1"
    await t.changes("/settings deny rules", roll, "rules", reader=ANA)
    await t.changes("/settings allow rules --remove", roll, no_more="rules", reader=ANA)


@plays("settings budget")
async def a_budget(t: Table) -> None:
    await t.changes("/settings budget 3 usd --per day --whose space", "/settings budget", "3.00")
    await t.changes("/settings budget off --per day --whose space", "/settings budget", no_more="3.00")


@plays("models")
async def the_models(t: Table) -> None:
    await t.changes("/models use local:large", "/models", "local:large")


@plays("voice narrate", "voice voice", "voice speed")
async def how_it_is_read(t: Table) -> None:
    await t.changes("/voice narrate on", "/voice narrate", "I read aloud what is written here.")
    await t.changes("/voice voice hibari:low --for me", "/voice voice", "hibari:low")
    await t.changes("/voice speed 1.5 --for me", "/voice speed", "1.5")


@plays("prompts edit", "prompts reset")
async def a_prompt(t: Table) -> None:
    edited = "Obey the ruler"
    await t.changes(f"/prompts edit channel {edited}: {{instruction}}", "/prompts show channel", edited)
    await t.changes("/prompts reset channel", "/prompts show channel", no_more=edited)


@plays("rules house")
async def a_house_rule(t: Table) -> None:
    await t.changes("/rules house Wings give two.", "/rules house", "Wings")
    await t.changes("/rules house --change 1 Wings give three.", "/rules house", "three")
    await t.changes("/rules house --remove 1", "/rules house", no_more="three")


@plays("library add", "library remove")
async def a_book(t: Table) -> None:
    await t.changes(f"/library add {LANTERNS}", "/library list", "lanterns.md")
    await t.changes(f"/library add {LANTERNS} --shelf dark", "names shelf d", "dark")
    await t.sees(1, "/rules lookup Candle --shelf dark", lambda text: "candle" in text.lower())
    await t.changes(
        "/library remove lanterns.md --shelf dark", "/rules books --shelf dark", no_more="anterns"
    )


@plays("rules ask", "sessions rename", "sessions archive", "sessions resume", "sessions delete", "new")
async def a_conversation(t: Table) -> None:
    of_ana: dict[str, Any] = {"by": ANA, "reader": ANA}
    await t.play(f"/library add {LANTERNS}")
    await t.changes("/rules ask How long does a candle burn?", "/sessions list", "candle", **of_ana)
    code = found(r"\((\w{6})\)", await t.read(0, "/sessions list", ANA))
    await t.changes("/sessions rename The wax", "/sessions list", "The wax", **of_ana)
    await t.changes("/new", "/sessions list", no_more="active here", **of_ana)
    await t.changes(f"/sessions resume {code}", "/sessions list", "active here", **of_ana)
    await t.changes(f"/sessions archive {code}", "/sessions list", no_more="active here", **of_ana)
    await t.changes(f"/sessions delete {code}", "/sessions list", no_more="The wax", **of_ana)


@plays("course add", "course replace", "course remove", "course quiz", "course answer", "course finish")
async def a_course(t: Table) -> None:
    await t.changes(f"/course add {COURSES / 'sourdough.txt'}", "/course list", "Sourdough")
    await t.sees(1, "names course Sour", lambda text: "Sourdough" in text)
    await t.play(f"/course replace {COURSES / 'sourdough.txt'}")
    await t.sees(1, "/course outline sourdough", lambda text: "The Starter" in text)
    await t.play("/course quiz sourdough --questions 1", ANA)
    await t.changes("/course answer 1 A", "/course score", "1", by=ANA, reader=ANA)
    await t.play("/course finish")
    assert "has ended" in await t.read(1, "/course finish")
    await t.changes("/course remove sourdough", "/course list", no_more="Sourdough")


@plays("script add", "script replace", "script share", "script drop", "script brainstorm", "script remove")
async def a_screenplay(t: Table) -> None:
    await t.changes(f"/script add {SCRIPTS / 'ferry.fountain'} --visible me", "/script list", "Ferry")
    await t.changes("/script share ferry --visible space", "/script list", "Ferry", reader=ANA)
    await t.read(1, "/script scenes ferry", ANA)
    await t.play(f"/script replace {SCRIPTS / 'ferry.fdx'} --script ferry --yes")
    await t.sees(1, "/script drafts", lambda text: "2" in text)
    t.model.queue.append(Reply("1. The storm takes the bell.\n2. The ferry is late."))
    await t.changes("/script brainstorm What of the storm?", "/script ideas", "bell")
    await t.changes("/script drop 1", "/script ideas", no_more="bell")
    await t.changes("/script remove ferry", "/script list", no_more="FERRY")


@plays(
    "schedule reminder",
    "schedule follow",
    "schedule unfollow",
    "schedule remove",
    "schedule lesson",
)
async def a_reminder(t: Table) -> None:
    coming = '--when "in 20 hours"'
    await t.changes(f"/schedule reminder Bring dice {coming}", "/schedule list", "Bring dice")
    code = found(r"\((\w{6})\)", await t.read(1, "/schedule list"))
    followed = '"schedule_followers"'
    await t.changes(f"/schedule follow {code}", "/privacy export", followed, by=ANA, reader=ANA)
    await t.changes(f"/schedule unfollow {code}", "/privacy export", no_more=followed, by=ANA, reader=ANA)
    await t.changes(f"/schedule remove {code}", "/schedule list", no_more="Bring dice")
    await t.play(f"/course add {COURSES / 'sourdough.txt'}")
    await t.changes(f"/schedule lesson sourdough {coming}", "/schedule list", "sourdough")


@plays("council ask", "council members", "council chair", "council criteria")
async def a_council(t: Table) -> None:
    await t.changes("/council members local:one, local:two", "/council members", "local:two")
    await t.changes("/council chair local:three", "/council chair", "local:three")
    await t.changes("/council criteria Is it short?", "/council criteria", "Is it short?")
    await t.play("/council members local:m1, local:m2, local:m3")
    t.model.script = t.model.written = CouncilModel()
    await t.changes(f"/council ask {QUESTION} --yes", "/council show answers", "ferry")


BOOK = "/story export --as markdown"


async def scene(t: Table, line: str, words: str, **more: Any) -> None:
    """Play a turn from which these words come."""
    t.model.queue.append(Reply(words))
    await t.changes(line, BOOK, words, **more)


@plays(
    "story start",
    "story act",
    "story say",
    "story continue",
    "story more",
    "story hide",
    "story unhide",
    "story end",
    "story undo",
    "story redo",
    "story retry",
    "story flip",
    "story edit",
    "story stopcard",
    "schedule recap",
    "schedule nudge",
)
async def turns_of_a_story(t: Table) -> None:
    await t.changes("/story start A door in the sea --title Door", "/story show", "Door")
    await scene(t, "/story act I open it.", "The hinges cry.")
    await scene(t, "/story say Hello?", "An echo returns.")
    await scene(t, "/story continue", "A gull lands.")
    await t.changes("/story undo", BOOK, no_more="A gull lands.")
    await t.changes("/story redo", BOOK, "A gull lands.")
    await scene(t, "/story retry", "A heron lands.", no_more="A gull lands.")
    await t.changes("/story flip back", BOOK, "A gull lands.", no_more="A heron lands.")
    await t.changes("/story edit A crow lands.", BOOK, "A crow lands.")
    await scene(t, "/story more", "It caws.")
    await t.changes("/story hide 2", "/story show", "hidden from the writer")
    await t.changes("/story unhide 2", "/story show", no_more="hidden from the writer")
    await scene(t, "/story end", "All sleep.")
    await t.changes("/story undo", BOOK, no_more="All sleep.")
    await t.changes("/story stopcard", BOOK, no_more="A crow lands.")
    await t.changes('/schedule recap --when "in 20 hours"', "/schedule list", "Recap")
    await t.changes('/schedule nudge --when "19:00" --idle 3', "/schedule list", "Nudge")


@plays("story start", "story fork", "story switch", "story open")
async def branches_of_a_story(t: Table) -> None:
    await t.play("/story start A door in the sea --title Door")
    await scene(t, "/story act I open it.", "The hinges cry.")
    await scene(t, "/story act I go in.", "It is dark.")
    await t.changes("/story fork elsewhere --scene 2", "/story branches", "elsewhere")
    await t.sees(1, BOOK, lambda text: "hinges" in text and "dark" not in text)
    await t.changes("/story switch main", BOOK, "It is dark.")
    await t.play("/story start A well in the desert --title Well")
    await t.changes("/story open Door", "/story show", "Door")


@plays(
    "story cast",
    "story direct",
    "story remember",
    "story lore",
    "story relation",
    "story prose",
    "story mode",
    "story pass",
    "story safety",
    "story join",
    "story leave",
    "story play",
    "story as",
    "story keep",
    "story bring",
    "story gm",
    "story deadline",
    "story whisper",
    "story screen",
    "story plan",
    "story roll",
    "story reveal",
    "story state",
    "story plot",
    "story threads",
    "story arc",
    "story chapter",
    "story sheet",
    "story initiative",
)
async def what_a_story_keeps(t: Table) -> None:
    await t.play("/story start A door in the sea --title Door")
    await scene(t, "/story act I open it.", "The hinges cry.")
    await t.changes("/story cast Olga: a smith", "/story cast", "Olga")
    await t.changes("/story initiative begin Olga 12, Rat 3", "/story initiative", "Rat 3")
    await t.changes("/story initiative end", "/story initiative", no_more="Rat 3")
    await t.changes("/story sheet Olga ropes 4", "/story sheet Olga", "ropes 4")
    await t.changes("/story cast Bo: a cook", "/story characters", "Bo")
    await t.changes("/story direct Slower.", "/story direct", "Slower.")
    await t.changes("/story prose sparse", "/story prose", "**Prose style:** sparse")
    await t.changes("/story remember The lamp burns.", "/story remember", "The lamp burns.")
    await t.changes("/story lore lamp: It burns oil.", "/story lore", "It burns oil.")
    await t.changes("/story relation Olga, Bo: rivals", "/story relation", "Olga")
    await t.changes("/story safety --lines wasps", "/story safety", "wasps")
    await t.changes("/story state Olga holding: a torch", "/story state", "a torch")
    await t.changes("/story chapter Stairs --events 'a bell rings'", "/story chapter", "Stairs")
    await t.changes("/story plot a bell rings: yes", "/story plot", "☑")
    await t.changes("/story arc The door opens", "/story arc", "The door opens")
    await t.changes("/story threads open Who rang?", "/story threads", "Who rang?")
    await t.changes("/story join", "/story export --as json", "Ana", by=ANA)
    await t.changes("/story gm Ana", "/story gm", "Ana")
    await t.changes("/story play Bo", "/story cast", "Ana", by=ANA)
    await t.changes("/story play Olga", "/story as", "You speak as Olga", by=ANA, reader=ANA)
    await t.changes("/story as Bo", "/story as", "You speak as Bo", by=ANA, reader=ANA)
    await t.changes("/story keep Olga", "/story keep", "**Olga**: a character", by=ANA, reader=ANA)
    await t.changes("/story keep Harbour --world", "/story bring", "**Harbour**: a world", by=ANA, reader=ANA)
    await t.changes("/story lore --remove 1", "/story lore", no_more="It burns oil.")
    await t.changes("/story bring Harbour", "/story lore", "It burns oil.", by=ANA)
    await t.changes("/story deadline 3 days", "/story deadline", "3 days", by=ANA)
    await t.changes("/story mode round-robin", "/story mode", "Turns: round-robin", by=ANA)
    await t.play("/story pass", ANA)
    await t.play("/story gm Bia", ANA)
    await t.changes("/story plan The lamp is a trap.", "/story plan", "a trap")
    await t.changes("/story plan --remove 1", "/story screen", no_more="a trap")
    await t.changes("/story roll 1d1 --for luck", "/story screen", "luck")
    await t.changes("/story reveal 2", "/story screen", "shown to the table")
    await t.play("/story screen")
    await t.play("/story gm Ana")
    await t.changes("/story whisper Bia: a trap", "/story whisper", "a trap", by=ANA)
    await t.changes("/story leave", "/story cast", no_more="Ana", by=ANA)


@plays("story zero")
async def a_session_zero(t: Table) -> None:
    await t.play("/story zero A door in the sea")
    await t.changes("/story zero eerie", "/story show", "eerie")


@plays("story import")
async def a_file_for_a_story(t: Table) -> None:
    await t.play("/story start A door in the sea --title Door")
    book = t.house.folder / "lore.json"
    book.write_text(json.dumps({"entries": {"0": {"key": ["bell"], "content": "It never rings."}}}))
    await t.changes(f"/story import {book}", "/story lore", "It never rings.")


@plays("stop")
async def a_stop(t: Table) -> None:
    await t.play(f"/library add {LANTERNS}")
    for running in (1, 0):
        gate = t.model.hold()
        run = await t.begin("/rules ask How long does a candle burn?", process=running)
        async with asyncio.timeout(60):
            await gate.reached.wait()
        await t.play("/stop")
        await t.sees(1, f"ended {run}", lambda text: text == "stopped")
        gate.set()


@plays("library cancel")
async def a_job(t: Table) -> None:
    book = t.house.folder / "long.md"
    book.write_text("".join(f"# Chapter {n}\n\nThe word is {n * 7919}.\n\n" for n in range(60_000)))
    for process in (1, 0):
        run = await t.begin(f"/library add {book}", process=process)
        await t.sees(1, "/library jobs", lambda text: run[-6:] in text)  # noqa: B023
        await t.play("/library cancel")
        await t.sees(1, f"ended {run}", lambda text: text == "stopped")


@plays("privacy delete")
async def everything_of_a_person(t: Table) -> None:
    await t.play(f"/library add {LANTERNS}")
    await t.play("/settings set timezone America/Recife", ANA)
    await t.play("/rules ask How long does a candle burn?", ANA)
    await t.changes("/privacy delete --yes", "/settings show", no_more="Recife", by=ANA, reader=ANA)
    assert "candle" not in await t.read(1, "/sessions list", ANA)


BEGUN = "another verb begins it, and is played"
ASKS = "asks a model; what it keeps is kept as that of a verb that is played"
ROOM = "for the process that is connected to the voice channel, which executes all runs of its platform"
READS = "keeps nothing but its answer"
NOT_PLAYED = {
    **{row.path: BEGUN for row in ROWS.values() if row.inner},
    **dict.fromkeys(("course ask", "script ask", "script analysis"), ASKS),
    **dict.fromkeys(
        ("story ask", "story ideas", "story recap", "story missed", "story suggest", "story interview"), ASKS
    ),
    **dict.fromkeys(("story try",), ASKS),
    **dict.fromkeys(("voice join", "voice leave", "voice pause", "voice resume"), ROOM),
    "voice say": "is heard where it was asked for",
    **dict.fromkeys(("voice stop", "voice skip"), "of what is being read aloud"),
    "voice hear": "begins a turn or a question, which are played",
    "library reindex": "needs the book's file, which only the process has that added it",
    "story proxy": "asks the player, and only their press keeps something",
    "story history": "keeps a thread as `story import` keeps a file",
    **{f"council {name}": READS for name in ("export", "show", "stats")},
    **{f"course {name}": READS for name in ("list", "outline", "score")},
    **{f"library {name}": READS for name in ("jobs", "list", "show")},
    **{f"prompts {name}": READS for name in ("list", "show")},
    **{f"rules {name}": READS for name in ("books", "lookup", "roll", "see")},
    **{
        f"script {name}": READS
        for name in ("compare", "drafts", "export", "ideas", "list", "report", "scene", "scenes")
    },
    **{f"settings {name}": READS for name in ("access", "channels", "export", "history", "show")},
    "settings import": "sets what `settings set`, `allow` and `budget` set, which are played",
    **{
        f"story {name}": READS
        for name in ("branches", "characters", "context", "export", "ooc", "prompt", "recall")
    },
    **dict.fromkeys(("story share", "story show", "sessions list", "schedule list"), READS),
    **dict.fromkeys(("privacy export", "privacy policy"), READS),
    **dict.fromkeys(("help", "tour", "usage", "voice doctor"), READS),
}
"""The verbs that are not played, and why."""


def test_every_verb_is_played_or_says_why_not() -> None:
    every = {row.path for row in ROWS.values()}
    played = {path for verbs in PLAYS.values() for path in verbs}
    assert played.isdisjoint(NOT_PLAYED)
    assert played | set(NOT_PLAYED) == every


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("play", [pytest.param(play, id=play.__name__) for play in PLAYS])
async def test_another_process_shows_what_a_verb_changed(play: Play, house: House) -> None:
    table = house.table()
    table.model.script = table.model.written = None
    table.model.queue.clear()
    await play(table)
    assert set(PLAYS[play]) <= table.played


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("line", ["/story act I open the door.", "/story retry"])
async def test_a_stop_card_stops_the_scene_that_another_process_writes(line: str, house: House) -> None:
    t = house.table()
    await t.play("/story start A door in the sea")
    await t.play("/story act I wait.")
    gate = t.model.hold("Spiders come out of the wall, and of the floor, and of everything at all.", at=6)
    run = await t.begin(line)
    async with asyncio.timeout(60):
        await gate.reached.wait()
    writes = await t.executing(run)
    await house.processes[writes].order("last", seconds=1.5)
    await t.play("/story stopcard", process=1 - writes)
    try:
        await t.sees(1 - writes, f"shown {run}", lambda text: "taken out of the story" in text, within_s=30)
    finally:
        await house.processes[writes].order("last", seconds=0)
    gate.set()
    shown = await t.shown(run)
    assert 0 < shown.find("[stopped]") < shown.index("taken out of the story"), shown
    assert "Spiders" not in await t.read(1, BOOK)
    t.model.queue.append(Reply("The door stays shut."))
    await t.play("/story act I leave it shut.")
    assert "Spiders" not in t.model.prompts[-1]


WORD = "zebrawood"
ASKED = f"/rules ask How long does a {WORD} candle burn?"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("line", [ASKED, f"/story act I knock on the {WORD}."])
async def test_a_person_is_deleted_while_another_process_answers_them(line: str, house: House) -> None:
    t = house.table()
    await t.play(f"/library add {LANTERNS}")
    await t.play("/story start A door in the sea")
    if line.startswith("/story"):
        await t.play(f"/story remember The {WORD} burns.", ANA)
        for number in (0, 1):
            assert WORD in await t.read(number, "/story remember")
    gate = t.model.hold("It burns for a long time, and it burns, and it burns, and it burns.", at=6)
    run = await t.begin(line, ANA)
    async with asyncio.timeout(60):
        await gate.reached.wait()
    answers = await t.executing(run)
    await house.processes[answers].order("last", seconds=1.5)
    try:
        await t.play("/privacy delete --yes", ANA, process=1 - answers)
        assert run not in (await house.processes[answers].order("live"))["text"]
    finally:
        await house.processes[answers].order("last", seconds=0)
        gate.set()
    assert house.tables_with(WORD) == []
    for process in house.processes:
        remembered = await process.order("remembers", word=WORD)
        assert remembered["text"] == ""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.asyncio(loop_scope="module")
async def test_an_answer_that_another_process_is_showing_is_withdrawn(house: House) -> None:
    t = house.table()
    await t.play(f"/library add {LANTERNS}")
    gate = t.model.hold(f"The {WORD} burns for a long time, and it burns, and it burns, and it burns.", at=6)
    run = await t.begin(ASKED, ANA)
    async with asyncio.timeout(60):
        await gate.reached.wait()
    answers = await t.executing(run)
    shows, other = house.processes[answers], house.processes[1 - answers]
    await shows.order("last", seconds=30)
    try:
        gate.set()
        assert (await other.order("ended", run=run))["ended"] == "done"
        assert (await shows.order("showing", run=run))["text"] == "True"
        assert (await other.order("forget", space=t.space, run=run))["text"] == "True"
        await t.sees(answers, f"showing {run}", lambda text: text == "False")
    finally:
        await shows.order("last", seconds=0)
    assert "[done]" not in await t.shown(run)
    assert house.tables_with(WORD) == []
