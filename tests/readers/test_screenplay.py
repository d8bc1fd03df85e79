"""Every dialect of Final Draft and Fountain gives the same elements, and no file hangs the reader."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events import UserError
from bot.readers.sandbox import Sandbox
from bot.readers.screenplay.elements import Element, literal, plain
from bot.readers.screenplay.final_draft import eighths, read
from bot.readers.screenplay.fountain import fountain

SCRIPTS = Path(__file__).parents[1] / "data" / "scripts"


def told(text: str) -> list[tuple[str, str]]:
    return [(element.kind, element.text) for element in fountain(text).elements]


def final_draft(content: str, attributes: str = 'DocumentType="Script"') -> list[Element]:
    data = f"<FinalDraft {attributes}><Content>{content}</Content></FinalDraft>".encode()
    screenplay = read("a.fdx", data, lambda done, total: None).screenplay
    assert screenplay is not None
    return list(screenplay.elements)


async def test_a_fountain_script_has_its_scenes_as_sections() -> None:
    document = await Sandbox().read("ferry.fountain", (SCRIPTS / "ferry.fountain").read_bytes())
    assert document.title == "The Last Ferry"
    assert [section.path for section in document.sections if section.path] == [
        ("Act One",),
        ("Act One", "1. EXT. HARBOUR – DAWN"),
        ("Act One", "1A. INT. TICKET OFFICE - CONTINUOUS"),
        ("Act One", "3. LATER ON THE PIER"),
    ]
    assert "Or fog?" not in document.text
    assert "CUT SCENE" not in document.text
    assert document.screenplay is not None
    assert [(element.text, element.dual) for element in document.screenplay.elements if element.kind == "cue"] == [
        ("ÉLODIE (V.O.)", 0), ("ANNA", 1), ("ÉLODIE", 2), ("McCoy", 0),
    ]  # fmt: skip
    assert ("action", "CLOSED\nOn the shutter.") in [
        (element.kind, element.text) for element in document.screenplay.elements
    ]


async def test_final_drafts_script_comes_out_of_the_parsers_process_whole() -> None:
    document = await Sandbox().read("ferry.fdx", (SCRIPTS / "ferry.fdx").read_bytes())
    assert document.screenplay is not None
    assert document.screenplay.elements == (
        Element("action", "FADE IN:"),
        Element("heading", "Ext. Harbour – Dawn", number="1", eighths=13),
        Element("synopsis", "She misses the boat."),
        Element("action", "Gulls over a _**grey**_ sea.", revision=2),
        Element("note", "Or fog?"),
        Element("heading", "INT. OFFICE--DAY", number="12A", eighths=2),
        Element("cue", "ANNA", dual=1),
        Element("dialogue", "One?"),
        Element("cue", "ÉLODIE (V.O.)", dual=2),
        Element("parenthetical", "(beat)"),
        Element("dialogue", "One."),
        Element("general", r"5 \* 3 = fifteen\_ish"),
        Element("heading", "INT. OFFICE – NIGHT", eighths=16),
    )
    assert document.screenplay.title_page == (
        ("Title", "THE LAST FERRY"),
        ("Credit", "written by"),
        ("Author", "The Sutradhar authors"),
        ("Notes", "3 March"),
    )
    assert [section.title for section in document.sections][1:] == [
        "1. Ext. Harbour – Dawn", "12A. INT. OFFICE--DAY", "3. INT. OFFICE – NIGHT",
    ]  # fmt: skip


@given(
    st.lists(
        st.sampled_from(["INT. HALL", "MARA", "Hello.", "", " ", "\f", "\x85", "\xa0", "\u3000", "[[a]]"])
    )
)
def test_a_line_of_any_blanks_is_empty(rows: list[str]) -> None:
    blanks = [row if row.strip() else "" for row in rows]
    assert fountain("\n".join(rows)).elements == fountain("\n".join(blanks)).elements


@pytest.mark.parametrize(
    ("stated", "length"),
    [("2/8", 2), ("1 5/8", 13), ("2", 16), (" 1/4 ", 2), ("0/8", 0), ("", None), ("1.5", None),
     ("-1/8", None), ("3/7", None)],
)  # fmt: skip
def test_a_scenes_length_is_read_as_the_file_states_it(stated: str, length: int | None) -> None:
    assert eighths(stated) == length


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("\ufeffINT. A - DAY", [("heading", "INT. A - DAY")]),
        ("ext. house - day", [("heading", "ext. house - day")]),
        ("I/E HOUSE DAY", [("heading", "I/E HOUSE DAY")]),
        ("ESTABLISHING", [("action", "ESTABLISHING")]),
        ("... not a heading", [("action", "... not a heading")]),
        ("Est tard, dit-il.", [("action", "Est tard, dit-il.")]),
        ("HANS (on the radio)\nWhat?", [("cue", "HANS (on the radio)"), ("dialogue", "What?")]),
        ("Han (O.S.)\nNo.", [("action", "Han (O.S.)\nNo.")]),
        ("23 (O.S.)\nNo.", [("action", "23 (O.S.)\nNo.")]),
        ("R2D2\nBleep.", [("cue", "R2D2"), ("dialogue", "Bleep.")]),
        ("ジョン\n（失われた）\n何？", [("cue", "ジョン"), ("parenthetical", "（失われた）"), ("dialogue", "何？")]),
        ("BOB\n\nAlone.", [("action", "BOB"), ("action", "Alone.")]),
        ("DEALER\nSeven.\n  \nHit?", [("cue", "DEALER"), ("dialogue", "Seven.\nHit?")]),
        ("SMASH CUT TO:", [("transition", "SMASH CUT TO:")]),
        ("!BANG\nBANG", [("action", "BANG\nBANG")]),
        ("!CUT TO:", [("action", "CUT TO:")]),
        ("CUT TO: ", [("action", "CUT TO:")]),
        ("> Burn to White.", [("transition", "Burn to White.")]),
        (">centred<", [("centered", "centred")]),
        ("====", [("page_break", "")]),
        ("!!CLOSE ON\n", [("shot", "CLOSE ON")]),
        ("a [[x\n\ny]] b", [("action", "a [[x"), ("action", "y]] b")]),
        ("a [[x\n  \ny]] b", [("action", "a  b"), ("note", "x\ny")]),
        ("a /* open", [("action", "a /* open")]),
        ("FADE IN:\n\nINT. A\n", [("action", "FADE IN:"), ("heading", "INT. A")]),
        ("A ^\nHi.\n\nRun.\n\nB ^\nHi.", [("cue", "A"), ("dialogue", "Hi."), ("action", "Run."), ("cue", "B"),
          ("dialogue", "Hi.")]),
    ],
)  # fmt: skip
def test_fountain_is_read_as_specified(text: str, wanted: list[tuple[str, str]]) -> None:
    assert told(text) == wanted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("**bold *both***", "**bold *both***"), ("_**BRICK & STEEL**_", "BRICK & STEEL"),
        ("dialed *69 and then *23, and", "dialed *69 and then *23, and"), (r"enters **\*9765\***", "enters *9765*"),
        ("share *a look.\n\nBAD.*", "share *a look.\n\nBAD.*"),
    ],
)  # fmt: skip
def test_emphasis_marks_are_removed(text: str, words: str) -> None:
    assert plain(text) == words


@given(st.text(alphabet="ab *_\\\n"))
def test_words_without_emphasis_are_unchanged(text: str) -> None:
    assert plain(literal(text)) == text


@pytest.mark.parametrize(
    "piece", ["[[", "/*", "[[\n", "[[\n\n", "[[]]", "A ^\nx\n\n", " (x", "*a ", " a:\n", "~\n", "#"]
)
def test_ten_times_the_text_takes_ten_times_as_long(piece: str) -> None:
    def seconds(size: int) -> float:
        text = "Title: x\n" + piece * (size // len(piece)) + "\n\n]]"
        started = time.thread_time()  # no other thread's, which an earlier test may have left behind
        for element in fountain(text).elements:
            plain(element.text)
        return time.thread_time() - started

    # A quadratic reader takes a hundred times as long, each time; a busy neighbour of the processor makes it slow once.
    assert any(seconds(200_000) < 30 * max(seconds(20_000), 0.005) for _ in range(3))


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (
            b'<!DOCTYPE FinalDraft [<!ENTITY a "b">]><FinalDraft><Content/></FinalDraft>',
            "library.file_declares",
        ),
        (b'<!DOCTYPE FinalDraft SYSTEM "http://127.0.0.1/x"><FinalDraft/>', "library.file_declares"),
        (
            b'<!DOCTYPE F [<!ENTITY a "' + b"x" * 50_000 + b'"><!ENTITY b "' + b"&a;" * 9000 + b'">]>'
            b'<FinalDraft a="&b;"/>',
            "library.file_bomb",
        ),
        (b"<FinalDraft>" + b"<Paragraph>" * 200_000, "library.file_bomb"),
        (b"<FinalDraft><Content><Paragraph", "library.file_damaged"),
        (b"<Other/>", "library.file_damaged"),
        (
            b'<FinalDraft DocumentType="Script" Template="Yes"><Content/></FinalDraft>',
            "library.file_template",
        ),
    ],
)
def test_a_hostile_file_is_refused(data: bytes, key: str) -> None:
    with pytest.raises(UserError) as raised:
        read("a.fdx", data, lambda done, total: None)
    assert raised.value.key == key


@pytest.mark.parametrize(
    ("name", "data", "key"),
    [
        ("a.fdx", b"", "library.file_empty"),
        ("a.fountain", b" \n", "library.file_empty"),
        ("a.fountain", b"<FinalDraft><Content/></FinalDraft>", "library.file_wrong_kind"),
        ("a.pdf", b'<?xml version="1.0"?><FinalDraft/>', "library.file_wrong_kind"),
        ("a.fdx", b"INT. HOUSE - DAY\n", "library.file_wrong_kind"),
        ("a.fdx", b"<FinalDraft><Content/></FinalDraft>", "library.file_wordless"),
    ],
)
async def test_a_file_that_is_no_script_gets_a_sentence(name: str, data: bytes, key: str) -> None:
    with pytest.raises(UserError) as raised:
        await Sandbox().read(name, data)
    assert raised.value.key == key


def test_dual_dialogue_stands_in_wrappers_without_a_type_and_omitted_scenes_are_left_out() -> None:
    cue = '<Paragraph Type="Character"><Text>{}</Text></Paragraph>'
    made = final_draft(
        f"<Paragraph><Paragraph><DualDialogue>{cue.format('A')}{cue.format('B')}</DualDialogue></Paragraph></Paragraph>"
        '<Paragraph Type="Scene Heading"><Text>OMITTED</Text><OmittedScene>'
        f"{cue.format('C')}</OmittedScene></Paragraph>"
    )
    assert [(one.text, one.dual) for one in made] == [("A", 1), ("B", 2), ("OMITTED", 0)]


def test_what_a_file_shows_in_capitals_is_read_in_capitals() -> None:
    data = (
        '<FinalDraft DocumentType="Script"><Content>'
        '<Paragraph Type="Scene Heading"><Text>Int. Hall</Text></Paragraph>'
        '<Paragraph Type="Action"><Text Style="Bold+AllCaps">A crash</Text><Text> below.</Text></Paragraph>'
        "</Content>"
        '<ElementSettings Type="Scene Heading"><FontSpec Style="AllCaps"/></ElementSettings>'
        '<ElementSettings Type="Action"><FontSpec Style="Bold"/></ElementSettings></FinalDraft>'
    )
    screenplay = read("a.fdx", data.encode(), lambda *_: None).screenplay
    assert screenplay is not None
    assert [element.text for element in screenplay.elements] == ["INT. HALL", "**A CRASH** below."]
