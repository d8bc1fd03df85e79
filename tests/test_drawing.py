"""The pictures of the guides are well-formed for any messages, and as wide as they say."""

from __future__ import annotations

from xml.etree import ElementTree

from scripts.drawing import HIGH, MARGIN, Line, Looks, drawn, wrapped

LOOKS = Looks("#000", "#777", "#000", "#fff", "#eee", "#fff", "#000", border="#bbb", face="#414", indent=44)
NASTY = '<b>&"]]> **bold** `a < b` *slant*'


def texts(picture: str) -> list[str]:
    root = ElementTree.fromstring(picture)
    return ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_words_are_drawn_unchanged_and_marks_become_styles() -> None:
    rows = [Line(NASTY), Line(NASTY, code=True), Line(buttons=(NASTY,)), Line(NASTY, face="<", deep=1)]
    shown = texts(drawn(rows, LOOKS))
    assert shown[0] == '<b>&"]]> bold a < b slant'
    assert shown[1] == shown[2] == NASTY
    assert shown[3] == "<"


def test_each_line_has_its_height() -> None:
    root = ElementTree.fromstring(drawn([Line("one"), Line(), Line("three")], LOOKS))
    assert root.attrib["viewBox"].split()[3] == str(3 * HIGH + 2 * MARGIN)
    assert [float(element.attrib["y"]) for element in root.iter() if element.tag.endswith("text")] == [
        31.0,
        71.0,
    ]


def test_a_paragraph_is_wrapped_and_an_empty_one_is_a_line() -> None:
    like = Line(colour="#777", quoted=True)
    assert [line.text for line in wrapped("one two three", like, 8)] == ["one two", "three"]
    assert list(wrapped("", like)) == [like]
