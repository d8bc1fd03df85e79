"""Texts with their own markup: reStructuredText, AsciiDoc, notebooks, captions, separated values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.events import UserError
from bot.readers import asciidoc, captions, notebook, restructured, separated

FILES = Path(__file__).parent / "files"
ENDS = ("\n", "\r\n", "\r", "\x85", "\u2028", "\u2029")


def nobody(done: int, total: int) -> None:
    return


def test_restructured_text_with_sphinx_directives_is_read() -> None:
    document = restructured.read("a.rst", (FILES / "harbour.rst").read_bytes(), nobody)
    assert document.title == "Keeping a Harbour"
    assert [section.path[1:] for section in document.sections] == [(), ("Tides",), ("Tides", "Heights")]
    for words in (
        "See the heights and other/page, literal, and Aveiro.",
        "> Spring tides\n>\n> are the highest ones.",
        '```\nprint("hello")\n```',
        "tide(hour, *, moon=True)",
        "| Faro | 3.2 m (both) | 1.5 |",
        "1. one\n2. two\n  - inner",
        "| Item | Price |\n| --- | --- |\n| Rope | 3 |",
        "Use apt.",
        "Unknown words here stay. x^2. Link",
    ):
        assert words in document.text
    for words in (
        "root:",
        "<b>",
        "intro",
        "name|",
        "e.org",
    ):  # included, raw, a list of contents, a definition
        assert words not in document.text


def test_asciidoc_is_read_with_its_sections_and_links() -> None:
    document = asciidoc.read("a.adoc", (FILES / "harbour.adoc").read_bytes(), nobody)
    assert document.title == "Keeping a Harbour"
    assert [section.path[1:] for section in document.sections] == [
        (),
        ("Tides",),
        ("Tides", "Heights"),
        ("Two",),
    ]
    assert [link.target for link in document.links] == ["Heights", "the list"]
    for words in (
        "The sea rises twice a day, by the Moon. (Nearly.) See Heights and the list. It is code and italic and a link.",
        "> Do not swim.\n\n- at neap",
        '```\nprint("hello")\n# == not a heading\n```',
        "| Aveiro | 3.2 m | 1.4 m |\n| Faro | 3.4 m | 1.5 m |",
        "- one\n  - inner\n    - deeper\n- two",
        "1. first\n2. second\n  1. sub\n3. third",
        "- Other: on the next line",
        "Last\nline.",
    ):
        assert words in document.text
    for words in ("root:", "comment", "image", "toc"):
        assert words not in document.text


def test_markup_that_expands_or_nests_too_deep_is_refused() -> None:
    swelling = b":a: " + b"x" * 900 + b"\n\n" + b"{a}" * 30_000
    assert len(asciidoc.read("a.adoc", swelling, nobody).text) < 1_000_000
    with pytest.raises(UserError, match="file_damaged"):
        restructured.read("a.rst", b"".join(b" " * at + b"* x\n\n" for at in range(300)), nobody)


def test_a_notebooks_text_and_code_are_read_without_its_outputs() -> None:
    document = notebook.read("a.ipynb", (FILES / "nbformat.ipynb").read_bytes(), nobody)
    assert document.title == "Tides in Python"
    assert [section.title for section in document.sections] == ["Tides in Python", "Amplitude"]
    assert "```python\nimport math\nprint(math.pi)\n```" in document.text
    assert "SECRET" not in document.text
    old = {"worksheets": [{"cells": [{"cell_type": "heading", "level": 2, "source": ["Old\r\n"]},
                                     {"cell_type": "code", "input": "x = '```'"}]}]}  # fmt: skip
    assert (
        notebook.read("a.ipynb", json.dumps(old).encode(), nobody).text == "## Old\n\n````\nx = '```'\n````"
    )


def test_what_only_looks_like_a_notebook_is_damaged() -> None:
    for text in ("{}", "[]", "null", '{"cells": 3}', '{"cells": [3]}', '{"cells": [{}]}', "[" * 100_000, "{"):
        with pytest.raises(UserError, match="file_damaged"):
            notebook.read("a.ipynb", text.encode(), nobody)


def test_captions_are_paragraphs_with_their_times() -> None:
    srt = (
        "1\n00:00:01,000 --> 00:00:03,500\n<i>Welcome</i> to the course.\n\n2\n00:00:03,600 --> 00:00:06,000\n"
        "Today we speak\nabout tides.\n\n3\n00:01:15,000 --> 00:01:18,000\n{\\an8}Spring tides are high.\n"
    )
    expected = "[0:01] Welcome to the course. Today we speak about tides.\n\n[1:15] Spring tides are high."
    for end in ENDS:
        assert captions.read("a.srt", srt.replace("\n", end).encode(), nobody).text == expected
    vtt = (
        "WEBVTT - x\nKind: captions\nLanguage: pt-BR\n\nNOTE a comment\non two lines\n\nSTYLE\n::cue { color: red }\n\n"
        "intro\n00:01.000 --> 00:03.000 align:start\n<v Ana Lind>Welcome &amp; hello.</v>\n\n"
        "00:03.000 --> 00:05.000\n<v Bob>Thanks<00:04.000><c> a lot</c></v>\n\n"
        "01:02:05.000 --> 01:02:07.000\nfirst line\n\n01:02:07.000 --> 01:02:09.000\nfirst line\nsecond line\n"
    )
    document = captions.read("a.vtt", vtt.encode(), nobody)
    assert document.language == "pt"
    assert document.text == (
        "[0:01] Ana Lind: Welcome & hello.\n\n[0:03] Bob: Thanks a lot\n\n[1:02:05] first line second line"
    )
    with pytest.raises(UserError, match="file_damaged"):
        captions.read("a.srt", b"only words", nobody)


def test_a_long_talk_has_a_time_in_every_passage() -> None:
    cues = "\n\n".join(
        f"{n // 60:02}:{n % 60:02}.000 --> {n // 60:02}:{n % 60 + 1:02}.000\nword {n} and some more words"
        for n in range(0, 3_000, 2)
    )
    paragraphs = captions.read("a.vtt", f"WEBVTT\n\n{cues}".encode(), nobody).text.split("\n\n")
    assert len(paragraphs) > 50
    assert all(paragraph.startswith("[") and len(paragraph) < 700 for paragraph in paragraphs)


def test_separated_values_are_a_table_whatever_separates_them() -> None:
    expected = '| Name | Points |\n| --- | --- |\n| Ana | 3,5 |\n| Bruno | a "q" line |'
    written = 'Name;Points\nAna;3,5\nBruno;"a ""q""\nline"\n'
    for end in ENDS[:3]:
        assert separated.read("a.csv", written.replace("\n", end).encode(), nobody).text == expected
    tabs = "Name\tPoints\nAna\t3,5\n"
    assert separated.read("a.tsv", tabs.encode("utf-16"), nobody).text == expected.rpartition("\n")[0]
    assert separated.read("a.csv", f"sep=|\n{tabs}".replace("\t", "|").encode(), nobody).text.startswith(
        "| Name |"
    )
    assert (
        separated.read("a.csv", b"a,b\n\n1,2\n", nobody).text
        == "| a | b |\n| --- | --- |\n\n| 1 | 2 |\n| --- | --- |"
    )
    with pytest.raises(UserError, match="file_damaged"):
        separated.read("a.csv", b'a,"' + b"x" * 2_000_000, nobody)
