"""EPUB books: chapters in order, under the parts of the table of contents, with the print edition's pages."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from bot.events import UserError
from bot.readers.document import Document, Link
from bot.readers.web.epub import read

FILES = Path(__file__).parent / "files"
CONTAINER = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
NCX = (
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>Part I</text></navLabel>'
    '<content src="one.xhtml"/><navPoint><navLabel><text>Loomings</text></navLabel><content src="two.xhtml#x"/>'
    "</navPoint></navPoint></navMap>{}</ncx>"
)


def packed(files: dict[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


def chapter(body: str) -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html [<!ENTITY x "y">]>'
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title/></head>'
        f"<body>{body}</body></html>"
    )


def book(
    chapters: dict[str, str], *, nav: str = "", ncx: str = "", metadata: str = "", **files: str
) -> dict[str, str]:
    """The files of a book; a chapter whose name begins with "aside" is not linear."""
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>' for name in chapters
    )
    spine = "".join(
        f'<itemref idref="{name}"{" linear=" + chr(34) + "no" + chr(34) if name.startswith("aside") else ""}/>'
        for name in chapters
    )
    items += (
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>' if nav else ""
    )
    items += '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>' if ncx else ""
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"{metadata}</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    made = {"META-INF/container.xml": CONTAINER, "OPS/book.opf": opf}
    made |= {f"OPS/{name}.xhtml": chapter(body) for name, body in chapters.items()}
    made |= {"OPS/nav.xhtml": chapter(nav)} if nav else {}
    made |= {"OPS/toc.ncx": ncx} if ncx else {}
    return made | files


def opened(files: dict[str, str], name: str = "my book.epub") -> Document:
    return read(name, packed(files), lambda done, total: None)


def paths(document: Document) -> list[tuple[str, ...]]:
    return [section.path for section in document.sections]


def toc(lines: str, *more: str) -> str:
    return f'<nav epub:type="toc"><h1>Contents</h1><ol>{lines}</ol></nav>{"".join(more)}'


def test_chapters_follow_the_spine_and_asides_come_last() -> None:
    said: list[tuple[int, int]] = []
    files = book({"b": "<p>First.</p>", "aside": "<p>Last.</p>", "a": "<p>Second.<![CDATA[ <x> ]]></p>"})
    document = read("my book.epub", packed(files), lambda done, total: said.append((done, total)))
    assert document.text == "First.\n\nSecond. <x>\n\nLast."
    assert document.title == "my book"
    assert said[-1] == (3, 3)
    assert said == sorted(said)


def test_title_and_language_are_the_books_own() -> None:
    one = book(
        {"a": "<h1>One</h1>"}, metadata="<dc:title> The \n Whale</dc:title><dc:language>pt-BR</dc:language>"
    )
    assert (opened(one).title, opened(one).language) == ("The Whale", "pt")
    untold = book({"a": "<h1>One</h1>"}, metadata="<dc:title/><dc:language>en-US</dc:language>")
    assert (opened(untold).title, opened(untold).language) == ("One", "")


def test_headings_nest_under_the_parts_of_the_contents() -> None:
    nav = toc(
        '<li><span>Part I</span><ol><li><a href="a.xhtml">Loomings</a></li>'
        '<li><a href="b.xhtml#top">2. The Bag</a></li></ol>'
        '<li><a href="p.xhtml">Part II</a><ol><li><a href="c.xhtml">Nightgown</a></li></ol></li>'
    )
    chapters = {
        "a": "<h1>Loomings</h1><p>Call me.</p><h2>Sea</h2>",
        "b": "<p id='top'>II.</p><h1>The Bag</h1><h2>Inn</h2>",
        "more": "<h2>Night</h2>",
        "p": "<h1>Part II</h1>",
        "c": "<p>No heading.</p>",
    }
    assert paths(opened(book(chapters, nav=nav))) == [
        ("Part I",),
        ("Part I", "Loomings"),
        ("Part I", "Loomings", "Sea"),
        ("Part I", "The Bag"),
        ("Part I", "The Bag", "Inn"),
        ("Part I", "The Bag", "Night"),
        ("Part II",),
        ("Part II", "Nightgown"),
    ]


def test_the_contents_name_chapters_inside_one_file() -> None:
    nav = toc(
        '<li><a href="a.xhtml#one">One</a><li><a href="a.xhtml#two">Two</a><li><a href="a.xhtml#three">Three</a>'
    )
    body = '<p id="one">ONE</p><p>First.</p><p><a id="two"/>Second.</p><h1 id="three">Three</h1><p>Third.</p>'
    document = opened(book({"a": body}, nav=nav))
    assert paths(document) == [("One",), ("Two",), ("Three",)]
    assert document.text == "# One\n\nFirst.\n\n# Two\n\nSecond.\n\n# Three\n\nThird."


def test_an_ncx_reads_the_same_as_a_navigation_document() -> None:
    files = book({"one": "<p>Of part one.</p>", "two": "<p id='x'>Call me.</p>"}, ncx=NCX.format(""))
    assert opened(files).text == "# Part I\n\nOf part one.\n\n## Loomings\n\nCall me."


def test_a_contents_page_is_left_out() -> None:
    nav = toc('<li><a href="a.xhtml">One</a></li>')
    files = book({"nav": nav, "a": "<h1>One</h1><p>Text.</p>"}, nav=nav)
    assert opened(files).text == "# One\n\nText."


def test_links_lead_to_headings_of_other_chapters() -> None:
    chapters = {
        "a": "<h1>One</h1><p>See <a href='b.xhtml#x'>there</a>, <a href='b.xhtml'>here</a>, "
        "<a href='../up.html'>up</a>.</p>",
        "b": "<h1>Two</h1><section id='x'><h2>Deep</h2></section>",
    }
    assert opened(book(chapters)).links == (Link(0, "Deep"), Link(0, "Two"))


BREAKS = '<p>a<span epub:type="pagebreak" title="{}"/>b {}</p>'


def test_printed_page_numbers_are_used_if_they_count_from_one() -> None:
    pages = '<span epub:type="pagebreak" title="1"/><p>One</p>' + BREAKS.format(2, "two")
    last = '<div role="doc-pagebreak" aria-label="3">3</div><p>Three</p>'
    document = opened(book({"a": pages, "b": last}))
    assert document.text == "One\n\nab two\n\nThree"
    assert [document.text[start:].split()[0] for start in document.pages] == ["One", "b", "Three"]
    for other in ("i", "1", "4", ""):
        assert opened(book({"a": BREAKS.format(1, "x") + BREAKS.format(other, "y")})).pages == ()


def test_a_list_of_pages_says_where_they_begin() -> None:
    listed = (
        '<nav epub:type="page-list"><ol><li><a href="a.xhtml">1</a></li>'
        '<li><a href="a.xhtml#p">2</a></li></ol></nav>'
    )
    nav = toc('<li><a href="a.xhtml">One</a></li>', listed)
    document = opened(book({"a": "<h1>One</h1><p>x</p><p id='p'>y</p>"}, nav=nav))
    assert [document.text[start:].split("\n")[0] for start in document.pages] == ["# One", "y"]
    targets = (
        '<pageList><pageTarget value="1"><navLabel><text>1</text></navLabel>'
        '<content src="two.xhtml#x"/></pageTarget></pageList>'
    )
    old = opened(book({"one": "<p>z</p>", "two": "<p>w</p><p id='x'>q</p>"}, ncx=NCX.format(targets)))
    assert [old.text[start:] for start in old.pages] == ["## Loomings\n\nq"]


def test_page_marks_survive_wherever_they_stand() -> None:
    mark = '<span epub:type="pagebreak" title="{}"/>'
    body = (
        "<h1>{}T</h1><ul><li>{}i</li></ul><pre>{}c\nd{}</pre><table><tr><th>h</th><th>k</th></tr><tr><td>{}</td></tr>"
        "<tr><td>x{}</td><td>y</td></tr><tr><td>{}</td></tr></table><dl><dt>t{}</dt><dd>d</dd></dl><ruby>b<rt>{}r</rt></ruby>"
        '<a href="#q">{}</a><nav>{}</nav><p hidden="">{}</p>{}'
    )
    marks = body.count("{}") - 2
    numbers = list(range(1, marks + 1))
    shown = [*numbers[:10], 0, 0, *numbers[10:]]
    document = opened(book({"a": body.format(*(mark.format(number) for number in shown))}))
    assert len(document.pages) == marks
    assert list(document.pages) == sorted(document.pages)


def test_fonts_may_be_obfuscated_and_chapters_may_not_be_encrypted() -> None:
    said = (
        '<encryption xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData>'
        '<enc:EncryptionMethod Algorithm="{}"/></enc:EncryptedData></encryption>'
    )
    files = book({"a": "<p>Words.</p>"})
    fonts = files | {"META-INF/encryption.xml": said.format("http://www.idpf.org/2008/embedding")}
    assert opened(fonts).text == "Words."
    locked = files | {"META-INF/encryption.xml": said.format("http://www.w3.org/2001/04/xmlenc#aes256-cbc")}
    assert failed(locked) == "library.file_locked"


def failed(files: dict[str, str]) -> str:
    with pytest.raises(UserError) as caught:
        opened(files)
    return caught.value.key


def test_a_missing_file_loses_only_itself() -> None:
    whole = book({"a": "<p>One.</p>", "b": "<p>Two.</p>"})
    whole["OPS/book.opf"] = whole["OPS/book.opf"].replace("<spine>", '<spine><itemref idref="ghost"/>')
    without = {name: text for name, text in whole.items() if name != "OPS/a.xhtml"}
    assert opened(without).text == "Two."
    for lost in ("META-INF/container.xml", "OPS/book.opf"):
        assert opened({name: text for name, text in whole.items() if name != lost}).text == "One.\n\nTwo."
        assert opened(whole | {lost: "<broken"}).text == "One.\n\nTwo."
    assert failed({"META-INF/container.xml": CONTAINER}) == "library.file_damaged"


def test_a_book_of_pictures_is_refused_unless_they_are_described() -> None:
    assert failed(book({"a": '<img src="1.jpg"/>'}) | {"OPS/1.jpg": "x"}) == "library.file_scanned"
    assert failed(book({"a": "<p/>"})) == "library.file_empty"
    assert opened(book({"a": '<img src="1.jpg" alt="A whale"/>'}) | {"OPS/1.jpg": "x"}).text == "A whale"


def test_a_chapter_that_is_listed_repeatedly_is_read_once() -> None:
    files = book({"a": "<p>Words.</p>"})
    files["OPS/book.opf"] = files["OPS/book.opf"].replace(
        '<itemref idref="a"/>', '<itemref idref="a"/>' * 1000
    )
    assert opened(files).text == "Words."


def test_no_file_outside_the_book_is_read() -> None:
    files = book({"a": "<p>Words.</p>"})
    for href in (
        "../../../etc/passwd.xhtml",
        "/etc/passwd.xhtml",
        "file:///etc/passwd.xhtml",
        "http://x/y.xhtml",
    ):
        stray = f'<item id="a" href="{href}" media-type="text/html"/></manifest>'
        opf = files["OPS/book.opf"].replace("</manifest>", stray)
        assert failed(files | {"OPS/book.opf": opf}) == "library.file_damaged"
    entity = '<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]><p>Words&x;.</p>'
    assert "root:" not in opened(files | {"OPS/a.xhtml": entity}).text


@pytest.mark.parametrize("name", ["pandoc.epub2.epub", "pandoc.epub3.epub"])
def test_books_of_real_programs_are_read_alike(name: str) -> None:
    document = read(name, (FILES / name).read_bytes(), lambda done, total: None)
    assert document.title == "The Lamplighter’s Almanac"
    assert ("The roads", "The northern road", "Toll houses") in paths(document)
    assert ("The people", "The coração trade", "Measures") in paths(document)
    assert len(document.sections) == 13
    assert "| Half | third bell | two | 5 shillings |" in document.text
    assert "- Whose flame: The keeper" in document.text
    assert {link.target for link in document.links} == {"What the wardens ask"}


def test_a_real_book_with_paragraphs_as_headings_is_read() -> None:
    document = read("x.epub", (FILES / "libreoffice.epub").read_bytes(), lambda done, total: None)
    assert paths(document)[1:] == [("The roads",), ("The people",), ("Leaving the road",)]
    assert document.text.count("Leaving the road") == 1
