"""What code finds in a script without a model: scenes, figures, changes of a draft, quoted words."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.readers.screenplay.elements import Element
from bot.readers.screenplay.final_draft import read
from bot.readers.screenplay.fountain import fountain
from bot.works.script.changes import changes
from bot.works.script.length import measured
from bot.works.script.model import Script, heading, script, speaker
from bot.works.script.quotations import Quotations
from bot.works.script.report import figures, report
from tests.forked import completed

ROOT = Path(__file__).parents[3]
SCRIPTS = ROOT / "tests" / "data" / "scripts"
RADIO = """INT. RADIO STUDIO

We are in a TV station listening to the announcer on the other site of the glass.

DJ
(bored)
Hey everyone, this is some music that sounds kinda terrible.

Dave is at the coffee machine.

DAVE
Why do we pay him?

JIM (O.S.)
Because he helps us test this screenplay.

CUT TO:

EXT. OUTSIDE THE FOOD STORE

We are standing outside the food store. Kay is looking at the posters in the window.

KAY
Maybe there's a job for me here.

> FADE TO BLACK
"""
"""A test script by Ian Thomas (screenplay-tools, MIT), to which Final Draft gives 3/8 and 2/8 of a page."""


def of(text: str) -> Script:
    return script(fountain(text), "Untitled")


@pytest.fixture
def ferry() -> Script:
    document = read("ferry.fdx", (SCRIPTS / "ferry.fdx").read_bytes(), lambda done, total: None)
    assert document.screenplay is not None
    return script(document.screenplay)


def test_a_scripts_figures_match_its_file(ferry: Script) -> None:
    made = figures(ferry)
    assert made["title"] == "THE LAST FERRY"
    assert made["totals"] == {"scenes": 3, "eighths": 31, "dual": 1, "characters": 2, "words": 28}
    assert made["scenes"][1] == {
        "number": 2,
        "heading": "INT. OFFICE--DAY",
        "eighths": 2,
        "characters": ["ANNA", "ÉLODIE"],
        "dialogue_words": 2,
        "action_words": 5,
        "dual": 1,
    }
    assert [scene.label for scene in ferry.scenes] == ["1", "12A", "3"]


def test_lengths_are_measured_like_final_draft_if_the_file_has_none() -> None:
    made = of(RADIO)
    assert [(scene.eighths, scene.counted) for scene in made.scenes] == [(3, True), (2, True)]


@given(st.lists(st.text(alphabet="ab ", min_size=1, max_size=90), max_size=60))
def test_a_longer_scene_is_never_shorter(paragraphs: list[str]) -> None:
    elements = [Element("heading", "INT. A"), *(Element("action", paragraph) for paragraph in paragraphs)]
    lengths = [measured(elements[: count + 1]) for count in range(len(elements))]
    assert lengths == sorted(lengths)
    assert lengths[0] == 1


@pytest.mark.parametrize(
    ("text", "setting", "place", "time_", "light"),
    [
        ("Ext. Café Étoile - Moments Later", "EXT", "CAFÉ ÉTOILE", "MOMENTS LATER", "same"),
        ("INT./EXT. LIGHTHOUSE KITCHEN--DAWN", "INT/EXT", "LIGHTHOUSE KITCHEN", "DAWN", "twilight"),
        ("EXT. SCHOOL – MRS. AHN’S OFFICE--DAY", "EXT", "SCHOOL - MRS. AHN’S OFFICE", "DAY", "day"),
        ("I/E CAR - NIGHT - FLASHBACK (1944)", "INT/EXT", "CAR", "NIGHT - FLASHBACK (1944)", "night"),
        ("INT. COZINHA – MADRUGADA", "INT", "COZINHA", "MADRUGADA", "night"),
        ("INT. DAY-CARE CENTRE", "INT", "DAY-CARE CENTRE", "", ""),
    ],
)
def test_a_heading_is_read_as_its_setting_place_and_time(
    text: str, setting: str, place: str, time_: str, light: str
) -> None:
    made = heading(text)
    assert (made.setting, made.place, made.time, made.light) == (setting, place, time_, light)


@pytest.mark.parametrize(
    "words", ["OMITTED", "Omitted.", "SCENES OMITTED", "OMIT", "CENA OMITIDA", "**OMITTED**"]
)
def test_a_scene_that_was_cut_is_no_scene_and_has_no_length(words: str) -> None:
    text = "INT. HALL #1#\n\nA crash.\n\n.{}#2#\n\nEXT. YARD #3#\n\nRain.\n"
    cut, never = of(text.format(f"{words} ")), of(text.replace(".{}#2#\n\n", ""))
    assert [(scene.number, scene.label) for scene in cut.scenes] == [(1, "1"), (2, "3")]
    for scene, other in zip(cut.scenes, never.scenes, strict=True):
        assert (scene.eighths, scene.words, scene.content) == (other.eighths, other.words, other.content)
        assert scene.text == other.text
    assert words in "\n".join(element.text for scene in cut.scenes for element in scene.elements), (
        "exports keep it"
    )
    assert of("INT. OMITTED STREET\n\nRain.\n").scenes, "a place may be called so"


@pytest.mark.parametrize(
    ("cue", "name", "extensions"),
    [
        ("ANNA (V.O.) (CONT'D)", "ANNA", ("V.O.", "CONT'D")),
        ("Jack O’Neil (o.s.)", "JACK O'NEIL", ("O.S.",)),
        ("(OFF)", "(OFF)", ()),
        ("ÉLODIE(INTO PHONE)", "ÉLODIE", ("INTO PHONE",)),
    ],
)
def test_a_cue_is_separated_from_its_extensions(cue: str, name: str, extensions: tuple[str, ...]) -> None:
    assert speaker(cue) == (name, extensions)


def test_a_new_draft_says_which_scenes_it_changed() -> None:
    before = of(
        "INT. A - DAY\n\nThe cat sleeps on the warm stove.\n\n"
        "EXT. B - NIGHT #9#\n\nWaves break over the long pier.\n\n"
        "INT. C - DAY\n\nNobody has ever come in here.\n\n"
        "INT. A - DAY\n\nThe stove is cold and dark.\n"
    )
    now = of(
        "INT. A - DAY\n\nThe   *cat* sleeps on the warm stove.\n\n"
        "INT. D - DAY\n\nA door that nobody opened before.\n\n"
        "EXT. BEACH - NIGHT #12#\n\nWaves break over the long pier again.\n\n"
        "INT. A - DAY\n\nThe stove is cold, and the cat is gone.\n"
    )
    made = changes(before, now)
    assert (made.same, made.changed) == (((1, 1),), ((2, 3), (4, 4)))
    assert (made.cut, made.new) == ((3,), (2,))


@given(st.permutations(["cat", "dog", "ferry", "lamp", "pier", "gull"]), st.sets(st.integers(0, 5)))
def test_each_scene_of_both_drafts_is_reported_once(words: list[str], left_out: set[int]) -> None:
    def draft(some: list[str]) -> Script:
        return of("\n\n".join(f"INT. ROOM - DAY\n\nThe {word} waits for the {word}." for word in some))

    before, now = draft(words), draft([word for at, word in enumerate(sorted(words)) if at not in left_out])
    made = changes(before, now)
    pairs = [*made.same, *made.changed]
    assert sorted([*(old for old, _ in pairs), *made.cut]) == [scene.number for scene in before.scenes]
    assert sorted([*(new for _, new in pairs), *made.new]) == [scene.number for scene in now.scenes]
    assert len(made.same) == len(now.scenes)


def test_a_report_has_places_times_and_characters() -> None:
    made = report(
        of(
            "INT. A - NIGHT\n\nANNA\nOne two.\n\nBOB\nThree.\n\nEXT. B - CONTINUOUS\n\nANNA (V.O.)\nFour.\n\n"
            "INT. A - DAY\n\nTwo words more.\n"
        )
    )
    assert dict(made.settings) == {"INT": 2, "EXT": 1}
    assert dict(made.lights) == {"night": 2, "day": 1}
    assert dict(made.places) == {"A": 2, "B": 1}
    assert [(presence.name, presence.scenes) for presence in made.presences] == [
        ("ANNA", (1, 2)),
        ("BOB", (1,)),
    ]
    assert made.together == ((2, 1), (1, 1))
    assert made.dialogue == pytest.approx(4 / 7)


def test_words_that_are_not_in_the_script_lose_their_quotation_marks() -> None:
    quotations = Quotations(of(RADIO))
    answer = 'Dave asks "why do  WE pay him?", and Kay says “I quit.” «a job for me here» is hers.'
    assert quotations.checked(answer, "(not in the script)") == (
        'Dave asks "why do  WE pay him?", and Kay says I quit. (not in the script) «a job for me here» is hers.'
    )


@given(st.integers(0, 40), st.integers(1, 12), st.booleans(), st.sampled_from([" ", "  ", "\t"]))
def test_a_quotation_stays_exactly_if_it_is_in_the_script(
    start: int, size: int, loud: bool, gap: str
) -> None:
    made = of(RADIO)
    words = " ".join(scene.text for scene in made.scenes).split()
    quoted = gap.join(words[start : start + size])
    quoted = quoted.upper() if loud else quoted
    quotations = Quotations(made)
    assert quotations.checked(f'"{quoted}"', "(no)") == f'"{quoted}"'
    assert '"' not in quotations.checked(f'"{quoted} xyzzy"', "(no)")


def test_a_script_of_two_thousand_scenes_takes_seconds_at_most() -> None:
    text = "\n\n".join(
        f"INT. ROOM {at % 90} - DAY\n\nThe lamp {at} swings over the sea.\n\nANNA\nNumber {at}.\n"
        for at in range(2000)
    )
    started = time.process_time()
    before, now = of(text), of(text.replace("lamp", "light"))
    report(now)
    made = changes(before, now)
    assert time.process_time() - started < 20
    assert len(made.changed) == 2000


def test_the_command_line_needs_no_data_folder(tmp_path: Path) -> None:
    def asked(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        home = {**os.environ, "HOME": str(tmp_path), "SUTRADHAR_LOCALE": "en"}
        return completed(["script", "report", *arguments], home, ROOT, b"", 60)

    done = asked(str(SCRIPTS / "ferry.fdx"), "--json")
    assert json.loads(done.stdout)["totals"]["eighths"] == 31
    assert list(tmp_path.rglob("*.db")) == []
    done = asked(str(ROOT / "README.md"))
    assert done.returncode == 1
    assert "README.md: I can't find a screenplay in it." in done.stderr.decode()
