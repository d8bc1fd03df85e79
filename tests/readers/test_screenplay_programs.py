"""Scripts by Fade In, Celtx, Highland and Trelby give the elements that the program shows."""

from __future__ import annotations

import io
import zipfile

import pytest

from bot.events import UserError
from bot.readers import kinds
from bot.readers.document import Document
from bot.readers.sandbox import Sandbox
from bot.readers.screenplay import celtx, highland, open_screenplay, trelby
from bot.readers.screenplay.elements import Element, Screenplay


def packed(**members: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("_dot_", "."), text)
    return made.getvalue()


def of(document: Document) -> Screenplay:
    assert document.screenplay is not None
    return document.screenplay


def quiet(done: int, total: int) -> None:
    pass


def osf(paragraphs: str, rest: str = "", version: int = 40) -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<document type="Open Screenplay Format document" version="{version}">{rest}
<styles><style name="Scene Heading" basestyle="Normal Text" allcaps="1"/>
<style name="Character" basestyle="Normal Text" allcaps="1"/>
<style name="Montage line" basestyle="Action"/><style name="Round" basestyle="Round"/></styles>
<paragraphs>{paragraphs}</paragraphs></document>"""


def para(style: str, words: str, look: str = "", of_para: str = "") -> str:
    return f'<para {of_para}><style basestyle="{style}" {look}/>{words}</para>'


FADE_IN = osf(
    para("Scene Heading", "<text>Int. kitchen - day</text>", of_para='number="4A" synopsis="They meet."')
    + para(
        "Montage line", '<text>She </text><text bold="1" revision="2">runs</text><text> 5 * 3 times.</text>'
    )
    + para("Character", "<text>Ana</text>", 'dualdialogue="1"')
    + para("Parenthetical", "<text>low</text>")
    + para("Dialogue", "<text>Wait.\nHere.</text>")
    + para("Character", "<text>Bo</text>", of_para='note="Too loud?"')
    + para("Dialogue", "<text>No.</text>")
    + para("Character", "<text>Ana</text>")
    + para("Action", "<text>THE END</text>", 'align="center"')
    + para("Scene Heading", "<text>Ext. pier</text>", 'pagebreakbefore="1"')
    + para("Round", "<text>A style of its own.</text>")
    + para("Action", "<text></text>"),
    '<titlepage><para bookmark="Title"><text>The Pier</text></para><para><text>Written by</text></para>'
    '<para bookmark="Author"><text>Ana_Bo</text></para></titlepage>',
)
FADE_IN_ELEMENTS = (
    Element("heading", "INT. KITCHEN - DAY", number="4A"),
    Element("synopsis", "They meet."),
    Element("action", r"She **runs** 5 \* 3 times.", revision=2),
    Element("cue", "ANA", dual=1),
    Element("parenthetical", "(low)"),
    Element("dialogue", "Wait.\nHere."),
    Element("cue", "BO", dual=2),
    Element("note", "Too loud?"),
    Element("dialogue", "No."),
    Element("cue", "ANA"),
    Element("centered", "THE END"),
    Element("page_break", ""),
    Element("heading", "EXT. PIER"),
    Element("general", "A style of its own."),
)


async def test_fade_ins_script_comes_out_of_the_parsers_process_whole() -> None:
    document = await Sandbox().read("pier.fadein", packed(document_dot_xml=FADE_IN))
    assert of(document).elements == FADE_IN_ELEMENTS
    assert of(document).title_page == (
        ("Title", "The Pier"),
        ("Credit", "Written by"),
        ("Author", r"Ana\_Bo"),
    )
    assert document.title == "The Pier"
    assert of(open_screenplay.read("pier.osf", FADE_IN.encode(), quiet)).elements == FADE_IN_ELEMENTS


def test_the_formats_first_version_with_styles_in_the_text_is_read() -> None:
    text = (
        '<para scene_number="2"><style basestylename="Scene Heading"/><text>&lt;u&gt;Ext. sea&lt;/u&gt;</text></para>'
        '<para><style basestylename="Shot"/><text>&lt;b&gt;Bold &lt;/b&gt;&lt;size="18"&gt;big&lt;/size&gt; 1 &lt; 2'
        "</text></para>"
    )
    data = osf(text, '<info title="Sea" written_by="Bo" copyright=""/>', 12).encode()
    screenplay = of(open_screenplay.read("sea.osf", data, quiet))
    assert screenplay.elements == (
        Element("heading", "_EXT. SEA_", number="2"),
        Element("shot", "**Bold** big 1 < 2"),
    )
    assert screenplay.title_page == (("Title", "Sea"), ("Author", "Bo"))


def page(paragraphs: str, title: str = "Screenplay", numbering: str = "none") -> str:
    return f"""<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">
<html><head><title>{title}</title><meta content="{numbering}" name="CX.sceneNumbering">
<meta content="Bo" name="Author"><meta content="By" name="CX.byline"></head><body>{paragraphs}</body></html>"""


CELTX = """<p scenenumber="7" class="sceneheading">ext. sea - night<br>
</p><p class="action">A blizzard
rages.<br>Snow <b>falls <i>fast</i></b>.</p><p class="character">jason</p>
<p class="parenthetical">(low)</p><p class="dialog">5 * 3?</p><p>An action without a class.</p>
<p class="transition">cut to:</p><p class="action"><br></p>"""
CELTX_ELEMENTS = (
    Element("heading", "EXT. SEA - NIGHT"),
    Element("action", "A blizzard rages.\nSnow **falls** ***fast***."),
    Element("cue", "JASON"),
    Element("parenthetical", "(low)"),
    Element("dialogue", r"5 \* 3?"),
    Element("action", "An action without a class."),
    Element("transition", "CUT TO:"),
)


async def test_celtxs_project_and_its_page_are_the_same_script() -> None:
    zipped = packed(
        project_dot_rdf="<x/>", scratch_dot_html="<p>No script.</p>", **{"script-a.html": page(CELTX)}
    )
    document = await Sandbox().read("sea.celtx", zipped)
    assert of(document).elements == CELTX_ELEMENTS
    assert of(document).title_page == (("Credit", "By"), ("Author", "Bo"))
    assert document.title == "sea"  # "Screenplay" is what Celtx calls all of them
    assert of(await Sandbox().read("sea.celtx", page(CELTX).encode())).elements == CELTX_ELEMENTS


def test_all_scripts_of_a_celtx_project_are_read_each_under_its_title() -> None:
    two = {"script-a.html": page(CELTX, "One", "left"), "script-b.html": page(CELTX, "Two")}
    elements = of(celtx.read("a.celtx", packed(project_dot_rdf="", **two), quiet)).elements
    assert [element.text for element in elements if element.kind == "section"] == ["One", "Two"]
    assert [element.number for element in elements if element.kind == "heading"] == ["7", ""]
    with pytest.raises(UserError, match=r"cli\.no_script"):
        celtx.read("a.celtx", packed(project_dot_rdf=""), quiet)


def test_deeply_nested_styles_are_read() -> None:
    deep = f'<p class="action">{"<b>" * 1500}deep{"</b>" * 1500}</p>'
    assert of(celtx.read("a.celtx", page(deep).encode(), quiet)).elements == (Element("action", "**deep**"),)


TRELBY = """\ufeff#Version 3
#Begin-Config
Element/Transition/Export/AllCaps:False
Cursor/Line:3
#End-Config
#Title-String 0.0,80.0,32,cb,Times,,The Sea
#Title-String 0.0,99.0,12,c,Courier,,by
#Title-String 0.0,108.0,12,c,Courier,,Bo, of the sea
#Header-String 1,0,r,,${PAGE}.
#Start-Script
.\\Ext. sea
>.A blizzard rages. Snow
|.is everywhere.
&.Nobody would be
..out.
._jason
.((low)
>:5 * 3
.:is it?
.:And more.
./Cut to:
.%Too *long*?
.?Something new.
..
"""


async def test_trelbys_lines_are_joined_by_their_line_break_marks() -> None:
    document = await Sandbox().read("sea.trelby", TRELBY.encode())
    assert of(document).elements == (
        Element("heading", "EXT. SEA"),
        Element("action", "A blizzard rages. Snow is everywhere.\nNobody would beout."),
        Element("cue", "JASON"),
        Element("parenthetical", "(low)"),
        Element("dialogue", r"5 \* 3 is it?"),
        Element("dialogue", "And more."),
        Element("transition", "Cut to:"),
        Element("note", "Too *long*?"),
        Element("action", "Something new."),
    )
    assert of(document).title_page == (("Title", "The Sea"), ("Credit", "by"), ("Author", "Bo, of the sea"))
    with pytest.raises(UserError, match=r"library\.file_damaged"):
        trelby.read("sea.trelby", b"EXT. SEA\n", quiet)


async def test_highlands_bundle_is_read_as_its_fountain_text() -> None:
    text = "Title: The Sea\n\nEXT. SEA - DAY\n\nANA\nWait.\n"
    bundle = {
        "__MACOSX/sea.textbundle/text.md": "x",
        "sea.textbundle/text.md": text,
        "sea.textbundle/info.json": "{}",
    }
    document = await Sandbox().read("sea.highland", packed(**bundle))
    assert of(document).title == "The Sea"
    assert [element.kind for element in of(document).elements] == ["heading", "cue", "dialogue"]
    with pytest.raises(UserError, match=r"cli\.no_script"):
        highland.read("sea.highland", packed(info_dot_json="{}"), quiet)


def test_a_script_with_another_programs_suffix_is_recognised_by_its_contents() -> None:
    files = {
        ".osf": FADE_IN.encode(),
        ".fadein": packed(document_dot_xml=FADE_IN),
        ".celtx": packed(project_dot_rdf="", **{"script-a.html": ""}),
        ".highland": packed(**{"a.textbundle/text.md": "x"}),
        ".trelby": TRELBY.encode(),
    }
    for suffix, data in files.items():
        kind = kinds.kind_of(data)
        assert kind is not None
        assert (kind.suffix, kind.read) == (suffix, True)
        kinds.check(f"a{suffix}", data)
        for other in set(files) - {suffix}:
            with pytest.raises(UserError, match=r"library\.file_wrong_kind"):
                kinds.check(f"a{other}", data)


def test_a_document_with_a_declaration_or_of_another_kind_is_refused() -> None:
    declared = FADE_IN.replace("<document", '<!DOCTYPE document [<!ENTITY a "b">]><document', 1).encode()
    for name, data, key in (
        ("a.osf", declared, "file_declares"),
        ("a.osf", b"<document type='another'/>", "file_damaged"),
        ("a.fadein", packed(other_dot_xml="<x/>"), "file_damaged"),
        ("a.fadein", b"PK\x03\x04", "file_damaged"),
    ):
        with pytest.raises(UserError, match=key):
            open_screenplay.read(name, data, quiet)
