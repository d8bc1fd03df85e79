"""Scripts are added, changed, shown and exported, and only people who may read one can."""

from __future__ import annotations

import csv
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from bot.events import Attachment, Author, Choices, Event, OptionValue, Picture, Place, Request
from bot.kind import Typed
from bot.readers.screenplay.elements import Element, Screenplay
from bot.readers.screenplay.final_draft import read
from bot.readers.screenplay.fountain import fountain as parsed
from bot.words import words
from bot.works.script import picture
from bot.works.script.catalogue import body_of
from bot.works.script.export import fountain, markdown, page, scenes_csv
from bot.works.script.length import in_pages, pages
from bot.works.script.model import Script, script
from storage.scripts import Reader, ScriptRow, Visibility
from tests.works.course.desk import Desk, opened, words_of

SCRIPTS = Path(__file__).parents[2] / "data" / "scripts"
PIER = """Title: The Pier

INT. HUT - DAY

Ada mends a net.

ADA
Three hundred knots.

EXT. PIER - NIGHT #12A#

BO (O.S.) (CONT'D)
Whose boat is that?

ADA
Not ours.

EXT. PIER - DAWN #12A#

Nobody is there.
"""
ADA, BO = Author("ada", "Ada"), Author("bo", "Bo")


class Room:
    """A desk where several people ask in several threads."""

    def __init__(self, desk: Desk, runs: int = 0) -> None:
        self.desk = desk
        self.runs = runs

    async def events(
        self,
        who: Author,
        line: str,
        text: str = "",
        *,
        space: str = "local",
        thread: str = "t",
        **options: OptionValue,
    ) -> list[Event]:
        self.runs += 1
        id = f"{self.runs:032x}"
        place = Place("terminal", space, "c", thread)
        work, verb = line.split()
        await self.desk.app.perform(Request(id, place, who, work, verb, options, text))
        await self.desk.app.ended(id)
        return self.desk.recorder.events[id]

    async def said(self, who: Author, verb: str, text: str = "", **given: Any) -> str:
        line = verb if " " in verb else f"script {verb}"
        return words_of(await self.events(who, line, text, **given))

    async def has(self, who: Author, text: str = PIER, visible: Visibility = "thread", run: str = "") -> None:
        """Store the script as if it had been added in the thread "t", without the process that parses files."""
        made, now = parsed(text), datetime(2026, 2, 3, tzinfo=UTC)
        row = ScriptRow(
            f"{who.id}:{made.title}", "local", made.title, "a.fountain", who.id, visible, "terminal", "c", "t",
            run or who.id, 1, len(script(made).scenes), now, now,
        )  # fmt: skip
        await self.desk.app.resources.scripts.put(row, body_of(made))

    async def add(self, who: Author, text: str = PIER, verb: str = "add", **given: str) -> str:
        path = self.desk.file("pier.fountain", text)
        return await self.said(who, verb, paths=[path], **given)


@asynccontextmanager
async def room(folder: Path) -> AsyncIterator[Room]:
    async with opened(folder) as desk:
        yield Room(desk)


@pytest.mark.slow
async def test_a_script_is_added_listed_and_shown_as_a_page(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        assert "no screenplay here that you may read" in await here.said(ADA, "scenes")
        assert "Added “The Pier”: 3 scenes, 3/8 of a page, 2 characters who speak." in await here.add(ADA)
        assert "“The Pier” is already here" in await here.add(ADA)
        assert "already have a screenplay “The Pier”" in await here.add(ADA, PIER.replace("knots", "nets"))
        assert "visible in its thread" in await here.said(ADA, "list")
        scenes = await here.said(ADA, "scenes", "pier")
        assert "- **2** #12A · EXT. PIER - NIGHT · p. 1 · 1/8 · BO, ADA" in scenes
        shown = await here.said(ADA, "scene", "2")
        assert "Scene 2 (in the screenplay: 12A) · EXT. PIER - NIGHT" in shown
        assert "                      BO (O.S.) (CONT'D)\n           Whose boat is that?\n" in shown
        events = await here.events(ADA, "script scene", "1")
        (choices,) = [event for event in events if isinstance(event, Choices)]
        (after,) = choices.choices
        assert after.command.startswith("/script scene 2 --script ")


async def test_a_scene_is_named_by_its_place_or_by_the_script(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.has(ADA, PIER.replace("DAWN #12A#", "DAWN #A12#"))
        assert "EXT. PIER - DAWN" in await here.said(ADA, "scene", "a12")
        assert "EXT. PIER - NIGHT" in await here.said(ADA, "scene", "12A")
        for nothing in ("0", "4", "9,999", "9999", "-1", "12", "²", "scene"):
            assert "has scenes 1 to 3" in await here.said(ADA, "scene", nothing)
        await here.add(ADA, PIER, "replace")
        assert "more than one scene 12A. Use a number: 2, 3" in await here.said(ADA, "scene", "12A")


@pytest.mark.slow
async def test_a_new_draft_says_what_changed(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        assert "no screenplay “The Pier”" in await here.add(ADA, verb="replace")
        await here.add(ADA)
        draft = (
            PIER.replace("knots", "knots, and one").replace("Nobody is there.", "")
            + "\nINT. BOAT - DAY\n\nRain.\n"
        )
        answer = await here.add(ADA, draft.replace("EXT. PIER - DAWN #12A#\n", ""), "replace")
        assert "draft 2: 3 scenes" in answer
        assert "1 scene changed, 1 cut, 1 new." in answer
        assert "Changed: 1" in answer
        assert "Cut (by their numbers in the previous draft): 3" in answer
        assert "New: 3" in answer
        assert "Three hundred knots, and one." in await here.said(ADA, "scene", "1")
        # With another title, it is a draft of the named script.
        other = await here.add(ADA, PIER.replace("The Pier", "The Long Pier"), "replace", script="The Pier")
        assert "“The Long Pier”, draft 3" in other
        assert "1 screenplay" in await here.said(ADA, "list")
        # Another person's script of this title is no draft of it, and cannot replace it.
        assert "Added “The Pier”" in await here.add(BO)
        (row,) = await here.desk.app.resources.scripts.all(Reader("local", "ada"))
        assert "somebody else's" in await here.add(BO, verb="replace", script=row.id)
        await here.said(ADA, "share", row.id, visible="me")
        assert f"no screenplay “{row.id}”" in await here.add(BO, verb="replace", script=row.id)


@pytest.mark.slow
async def test_two_scripts_with_the_same_title_are_both_kept(tmp_path: Path) -> None:
    """Many files still have the title of the template that they were made from."""
    pier = PIER.replace("The Pier", "Script Title")
    barn = "Title: Script Title\n\nINT. BARN - DAY\n\nHay.\n\nEXT. FIELD - NIGHT\n\nA fox.\n"
    async with room(tmp_path) as here:

        async def gives(name: str, text: str, verb: str = "add", **options: Any) -> str:
            return await here.said(ADA, verb, paths=[here.desk.file(name, text)], **options)

        assert "Added “Script Title”" in await gives("pier.fountain", pier)
        assert "Added “barn”: 2 scenes" in await gives("barn.txt", barn)
        assert "“barn” is already here" in await gives("barn.txt", barn)
        # A new draft of each is known by its file's name.
        assert "“barn”, draft 2: 2 scenes" in await gives("barn.txt", barn.replace("fox", "cat"), "replace")
        assert "“Script Title”, draft 2" in await gives(
            "pier.fountain", pier.replace("net", "sail"), "replace"
        )
        # A script without common scenes replaces another only after a confirmation.
        refused = await gives("new.fountain", barn, "replace", script="Script Title")
        assert "only 0 of 3 scenes in common with “Script Title”" in refused
        assert "mends a sail" in await here.said(ADA, "scene", "1", script="Script Title")
        replaced = await gives("new.fountain", barn, "replace", script="Script Title", yes=True)
        assert "“Script Title”, draft 3: 2 scenes" in replaced
        assert "Added “The Barn”" in await gives("barn.txt", barn, title="The Barn")
        assert "already have a screenplay “The Barn”" in await gives("pier.fountain", pier, title="The Barn")
        # A draft whose title page has another script's title leaves the name as it is.
        assert "Added “hut”" in await gives("hut.fountain", "INT. HUT - DAY\n\nAda mends a net.\n")
        titled = "Title: The Barn\n\nINT. HUT - DAY\n\nAda mends a sail.\n"
        assert "“hut”, draft 2" in await gives("hut.fountain", titled, "replace")
        assert "4 screenplays" in await here.said(ADA, "list")


async def test_access_to_a_script_is_checked_on_every_path(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.has(ADA, visible="me")
        scripts = here.desk.app.resources.scripts
        (row,) = await scripts.all(Reader("local", "ada"))
        asked = (("scenes", name) for name in (row.id, row.alias, "The Pier", ""))
        others = [*asked, ("export", row.id), ("report", row.id), ("remove", row.id), ("share", row.id)]
        for verb, name in others:
            assert "no screenplay" in (await here.said(BO, verb, name)).lower(), (verb, name)
        assert "no screenplay" in await here.said(BO, "scene", "1", script=row.id)
        assert "no screenplay" in await here.said(
            BO, "replace", paths=[here.desk.file("a.fountain", PIER)], script=row.id
        )
        complete = here.desk.app.complete
        assert await complete("script", Typed("local", "", author="bo")) == []
        assert await complete("script", Typed("local", "pi", author="ada")) == ["The Pier"]
        assert await complete("script", Typed("other", "", author="ada")) == []
        assert "no screenplay" in await here.said(ADA, "scenes", row.id, space="other")
        # Where others may read along, a private script must be named.
        assert "Name the screenplay that you mean" in await here.said(ADA, "scenes", thread="u")
        assert "visible only to you" in await here.said(ADA, "list", thread="u")

        await here.said(ADA, "share", row.id, visible="thread", thread="u")
        assert "HUT" in await here.said(BO, "scenes", thread="u")
        assert "no screenplay" in await here.said(BO, "scenes", row.id, thread="t")
        assert "somebody else's" in await here.said(BO, "share", row.id, visible="space", thread="u")
        assert "somebody else's" in await here.said(BO, "remove", row.id, thread="u")
        await here.said(ADA, "share", row.id, visible="space")
        assert "HUT" in await here.said(BO, "scenes", thread="v")
        assert await complete("script", Typed("local", "", author="bo")) == ["The Pier"]
        await here.has(BO)
        assert "more than one screenplay" in await here.said(BO, "scenes", "The Pier")
        boss = Author("boss", "Boss", admin=True)
        assert "Removed" in await here.said(boss, "remove", row.id)


async def test_a_persons_scripts_are_exported_and_deleted_with_them(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.has(ADA)
        await here.has(BO, visible="me")
        await here.said(ADA, "scene", "2")
        events = await here.events(ADA, "privacy export")
        (file,) = [json.loads(event.data) for event in events if isinstance(event, Attachment)]
        assert [row["author_id"] for row in file["scripts"]] == ["ada"]
        assert "Three hundred knots." in json.dumps(file["scripts"])
        assert "1 screenplay of yours" in await here.said(ADA, "privacy delete", yes="yes")
        scripts = here.desk.app.resources.scripts
        assert await scripts.all(Reader("local", "ada", "terminal", "c", "t")) == []
        assert len(await scripts.all(Reader("local", "bo"))) == 1
        assert await scripts.focus(Reader("local", "ada", "terminal", "c", "t")) is None


@pytest.mark.slow
async def test_a_report_has_tables_and_pictures_with_words_for_them(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.said(ADA, "add", paths=[str(SCRIPTS / "ferry.fdx")])
        events = await here.events(ADA, "script report")
        answer = words_of(events)
        assert "**3 scenes, 3 7/8 pages**" in answer
        assert "| INT | 2 2/8 | 58 % |" in answer
        pictures = {event.name: event for event in events if isinstance(event, Picture)}
        assert list(pictures) == ["pace.png", "presence.png", "together.png"]
        assert all(picture.png.startswith(b"\x89PNG") for picture in pictures.values())
        assert pictures["together.png"].alt.endswith("Most often: ANNA + ÉLODIE: 1.")
        one = words_of(await here.events(ADA, "script report", character="anna"))
        assert "**ANNA** speaks in 1 of 3 scenes." in one
        assert "These speak: ANNA, ÉLODIE." in await here.said(ADA, "report", character="Zoe")


async def test_a_script_is_exported_in_three_formats(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.has(ADA)
        made = {}
        for form in ("fountain", "markdown", "csv"):
            (made[form],) = [
                event
                for event in await here.events(ADA, "script export", **{"as": form})
                if isinstance(event, Attachment)
            ]
        assert parsed(made["fountain"].data.decode()) == parsed(PIER)
        assert (
            "## 12A. EXT. PIER - NIGHT\n\n**BO (O.S.) (CONT'D)**\n\n> Whose boat is that?"
            in made["markdown"].data.decode()
        )
        rows = list(csv.DictReader(StringIO(made["csv"].data.decode("utf-8-sig"))))
        assert [row["characters"] for row in rows] == ["ADA", "BO, ADA", ""]
        assert (rows[1]["number"], rows[1]["label"], rows[1]["counted"]) == ("2", "12A", "yes")


@pytest.mark.parametrize(
    ("eighths", "en", "pt"),
    [
        (3, "3/8 of a page", "3/8 de página"),
        (8, "1 page", "1 página"),
        (13, "1 5/8 pages", "1 5/8 páginas"),
        (16, "2 pages", "2 páginas"),
    ],
)
def test_a_length_is_given_in_pages(eighths: int, en: str, pt: str) -> None:
    assert (in_pages(eighths, words("en")), in_pages(eighths, words("pt"))) == (en, pt)


def test_a_chart_counts_scenes_in_whole_numbers_and_pages_in_eighths(monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Figure] = []

    def kept(figure: Figure) -> bytes:
        figure.canvas.draw()
        figures.append(figure)
        return b""

    monkeypatch.setattr(picture, "png", kept)
    picture.pace(script(parsed(PIER)), "Pace", "pages", "% dialogue")
    axes = figures[0].axes[0]
    scenes = [label.get_text() for label in axes.get_xticklabels()]
    assert {"1", "2", "3"} <= set(scenes)
    assert not any("." in label for label in scenes)
    assert {"0", "1/8", "2/8"} <= {label.get_text() for label in axes.get_yticklabels()}


def test_a_cell_is_never_a_formula() -> None:
    made = script(Screenplay((Element("heading", "=cmd|' /C calc'!A0"),)))
    assert "'=cmd" in scenes_csv(made)


def test_fountain_exported_from_final_draft_reads_back_as_the_same_scenes() -> None:
    document = read("ferry.fdx", (SCRIPTS / "ferry.fdx").read_bytes(), lambda done, total: None)
    assert document.screenplay is not None
    _same(script(document.screenplay))


def _same(before: Script) -> None:
    after = script(parsed(fountain(before)))
    assert [scene.content for scene in after.scenes] == [scene.content for scene in before.scenes]
    assert [scene.label for scene in after.scenes] == [scene.label for scene in before.scenes]
    assert [scene.characters for scene in after.scenes] == [scene.characters for scene in before.scenes]
    assert [scene.dual for scene in after.scenes] == [scene.dual for scene in before.scenes]


_LETTERS = st.text(alphabet="aB.!@#=~>< ():^-É1[]\\/*", min_size=1, max_size=24)
_WORDS = _LETTERS.map(lambda text: " ".join(text.split())).filter(bool)
_NAMES = st.sampled_from(["ANNA", "Anna", "R2", "INT. BO", "O'NEIL (V.O.)", "élodie", "#1", "TO:"])
_SAID = st.sampled_from(["Yes.", "no TO:", "EXT. here", "#5", "> a", "CUT TO:"])
_SPEECHES = st.tuples(_NAMES, st.lists(_SAID, min_size=1)).map(
    lambda speech: [Element("cue", speech[0]), *(Element("dialogue", line) for line in speech[1])]
)
_ACTIONS = _WORDS.map(lambda words: [Element("action", words)])
_OTHERS = st.sampled_from(["FADE OUT.", "CUT TO:", "DISSOLVE TO"]).map(
    lambda words: [Element("transition", words)]
)
_SCENES = st.tuples(
    st.sampled_from(["INT. A - DAY", "Flashback", "EXT. B", "A ROOM", "12 HOURS LATER"]),
    st.sampled_from(["", "1", "12A"]),
    st.lists(st.one_of(_SPEECHES, _ACTIONS, _OTHERS), max_size=5),
).map(
    lambda scene: [
        Element("heading", scene[0], number=scene[1]),
        *(each for block in scene[2] for each in block),
    ]
)


@example([[Element("heading", "INT. A - DAY"), Element("action", "*/*")]])
@given(st.lists(_SCENES, min_size=1, max_size=4))
def test_any_text_in_a_script_is_exported_so_that_it_reads_back(scenes: list[list[Element]]) -> None:
    _same(script(Screenplay(tuple(element for scene in scenes for element in scene))))


def test_a_cue_without_case_keeps_its_mark_in_fountain() -> None:
    """Other programs recognise a cue by its capitals, which these letters do not have."""
    text = "INT. വീട് - DAY\n\n@മീന (V.O.)\nഹലോ.\n\n@രാമു ^\nശരി.\n\nANA\nYes.\n"
    before = script(parsed(text))
    assert before.scenes[0].characters == ("മീന", "രാമു", "ANA")
    assert "@" not in page(before.scenes[0].elements) + markdown(before)
    assert fountain(before) == text
    _same(before)


def test_dual_dialogue_is_printed_side_by_side() -> None:
    made = page(parsed("INT. A\n\nANNA\nOne two three.\n\nBO ^\n(beat)\nFour.\n\n> END <\n").elements)
    lines = made.split("\n")
    assert lines[2].split() == ["ANNA", "BO"]
    assert lines[3].split("  ")[0] == "One two three."
    assert lines[4].strip() == "Four."
    assert lines[-1].strip() == "END"


@pytest.mark.parametrize(("eighths", "written"), [(0, "0"), (3, "3/8"), (8, "1"), (13, "1 5/8")])
def test_lengths_are_written_in_eighths_of_a_page(eighths: int, written: str) -> None:
    assert pages(eighths) == written


def test_markdown_exports_leave_out_notes() -> None:
    made = script(parsed("INT. A\n\n[[a secret]]\n\n= what it is for\n\n# One\n\nA net.\n\n~la\n"))
    assert markdown(made) == "## 1. INT. A\n\n# One\n\nA net.\n\n> la\n"
