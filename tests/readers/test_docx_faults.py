"""Broken and hostile Word files: the bot names what it cannot read, runs nothing and fetches nothing."""

from __future__ import annotations

import pytest

from bot.events import UserError
from bot.readers.docx.reader import read
from tests.readers.wordml import (
    SPACES,
    inside,
    lists,
    numbered,
    opened,
    p,
    packed,
    r,
    said,
    table,
    tc,
    tr,
    word,
)


def refused(data: bytes) -> str:
    with pytest.raises(UserError) as caught:
        opened(data)
    return caught.value.key


def test_nothing_runs_and_nothing_is_fetched() -> None:
    away = "word/_rels/document.xml.rels"
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="a" Type="x/styles" Target="../../../../etc/passwd"/>'
        '<Relationship Id="b" Type="x/footnotes" Target="https://example.org/" TargetMode="External"/></Relationships>'
    )
    assert said(p("Words."), word__vbaProject_bin=b"\xd0\xcf\x11\xe0", **{away: relations}) == "Words."


def test_entities_are_not_resolved() -> None:
    declared = '<!DOCTYPE w:document [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY y "yes">]>'
    body = f"{declared}<w:document {SPACES}><w:body>{inside(r('a &x; b'))}</w:body></w:document>"
    assert opened(packed({"word/document.xml": body})).text == "a b"


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (b"PK\x03\x04 no zip", "library.file_damaged"),
        (word(p("words"))[:-40], "library.file_damaged"),
        (packed({"readme.txt": "no document"}), "library.file_damaged"),
        (packed({"word/document.xml": f"<w:document {SPACES}><w:body>"}), "library.file_damaged"),
        (packed({"word/document.xml": "<html><body>words</body></html>"}), "library.file_damaged"),
        (word("<w:p/>", word__media__image1=b"picture"), "library.file_scanned"),
        (word("<w:sdt><w:sdtContent>" * 5000 + "</w:sdtContent></w:sdt>" * 5000), "library.file_bomb"),
    ],
)
def test_unreadable_files_get_a_sentence(data: bytes, key: str) -> None:
    assert refused(data) == key


@pytest.mark.parametrize(
    ("around", "times"),
    [
        ("<w:ins>{}</w:ins>", 240),
        ("<w:tbl><w:tr><w:tc>{}</w:tc></w:tr></w:tbl>", 80),
        ("<w:p><w:r><w:pict><w:txbxContent>{}</w:txbxContent></w:pict></w:r></w:p>", 60),
    ],
)
def test_xml_of_the_greatest_allowed_depth_is_read(around: str, times: int) -> None:
    body = p("Words.")
    for _ in range(times):
        body = around.format(body)
    assert "Words." in said(body)


def test_a_broken_part_loses_only_its_own_content() -> None:
    assert said(p("Words.", "H1", numbered(1)), styles="<", numbering="<w:num w:numId='x'/>") == "Words."


@pytest.mark.parametrize(
    "body",
    [
        table(tr(*(tc(p("x"), '<w:gridSpan w:val="999999"/>') for _ in range(50))), *[tr("y")] * 300),
        table("<w:tr>" + "<w:tc><w:p/></w:tc>" * 3000 + tc(p("x")) + "</w:tr>", *[tr("y")] * 300),
        "".join(p("x", properties=numbered(1)) for _ in range(300)),
    ],
)
def test_a_small_file_stays_small(body: str) -> None:
    huge = (
        '<w:lvl w:ilvl="0"><w:start w:val="999999"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="'
        + "%1" * 9000
    )
    assert len(said(body, numbering=lists(huge + '"/></w:lvl>'))) < 200_000


def test_the_reader_reports_its_progress() -> None:
    told: list[tuple[int, int]] = []
    read("book.docx", word(p("x") * 250), lambda done, total: told.append((done, total)))
    assert told == [(0, 250), (100, 250), (200, 250), (250, 250)]
