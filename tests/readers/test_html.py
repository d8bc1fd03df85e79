"""Web pages: what a browser shows is read in order; the site's menus and frames are left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.events import UserError
from bot.readers.document import Document, Link
from bot.readers.grid import Grid
from bot.readers.web.html import read

FILES = Path(__file__).parent / "files"


def page(markup: str | bytes, name: str = "page.html") -> Document:
    data = markup.encode() if isinstance(markup, str) else markup
    return read(name, data, lambda done, total: None)


def text(markup: str | bytes) -> str:
    return page(markup).text


def test_headings_make_a_breadcrumb_and_spans() -> None:
    document = page("<h1>Spells</h1><p>All.</p><h2>Fire</h2><div role=heading aria-level=3>Ball</div>Bright.")
    assert [section.path for section in document.sections] == [
        ("Spells",),
        ("Spells", "Fire"),
        ("Spells", "Fire", "Ball"),
    ]
    last = document.sections[-1]
    assert document.text[last.start : last.end] == "### Ball\n\nBright."


def test_hidden_elements_are_left_out() -> None:
    hidden = (
        "<script>s1</script><style>s2</style><template>s3</template><nav>s4</nav><p hidden>s5</p>"
        "<p style='color: red; DISPLAY : none'>s6</p><select><option>s7</select><noscript>s8</noscript>"
        "<span aria-hidden=true>s9</span><dialog>s10</dialog><!-- s11 --><iframe>s12</iframe>"
    )
    assert text(f"<p>Survey.</p>{hidden}<dialog open>Also.</dialog>") == "Survey.\n\nAlso."


def test_navigation_is_left_out_if_the_page_has_a_main_element() -> None:
    around = "<header>Site</header><aside>Advert</aside>{}<footer>Imprint</footer>"
    inner = "<header><h1>Title</h1></header><p>Body.</p><aside>A note.</aside>"
    assert text(around.format(f"<main>{inner}</main>")) == "# Title\n\nBody.\n\n> A note."
    assert text(around.format(f"<div role=main>{inner}</div>")) == "# Title\n\nBody.\n\n> A note."
    assert "Imprint" in text(around.format(inner)), "without a main, who knows"


def test_lists_keep_their_depth_and_numbers() -> None:
    lists = "<ol start=3><li>a<li value=7>b<ul><li><p>c</p><p>d</p><li>e</ul><li>f</ol><ul><li>g</ul>"
    assert text(lists) == "3. a\n7. b\n  - c\n\nd\n\n  - e\n8. f\n- g"
    assert text("<ol reversed start=2><li>x<li>y</ol><ol reversed><li>z</ol>") == "2. x\n1. y\n- z"
    assert text("<ul><li>x<li></ul>after") == "- x\n\nafter"


def test_terms_are_read_with_their_definitions() -> None:
    terms = "<dl><dt>One</dt>\n<dd>first</dd><dt>Two<dt>Deux</dt><dd><p>second</p></dd><dd>also</dl>"
    assert text(terms) == "- One: first\n- Two, Deux: second\n- also"


def test_quotes_code_and_line_ends() -> None:
    assert text("<blockquote><p>One<br>two</p><p>three</blockquote>four") == "> One\n> two\n\n> three\n\nfour"
    assert text("<pre><code>if x:\n    y</code></pre>") == "```\nif x:\n    y\n```"
    assert text("a <br><br> b") == "a\n\nb"
    assert text("<h:p>One<o:p></o:p>, two</h:p><h:p>Three</h:p>") == "One, two\n\nThree", (
        "Word's mark of a paragraph"
    )


def test_a_table_keeps_its_columns() -> None:
    rows = (
        "<table><caption>Prices</caption><thead><tr><th rowspan=2>Item<th colspan=2>Cost<tr><th>gp<th>sp</thead>"
        "<tr><td rowspan=2>Rope|cord<td>1<td>2<tr><td><p>3</p><ul><li>4</ul><td>5<tr><td colspan=3>End</table>"
    )
    assert text(rows) == (
        "Prices\n\n| Item | Cost gp | Cost sp |\n| --- | --- | --- |\n| Rope\\|cord | 1 | 2 |\n"
        "| Rope\\|cord | 3 4 | 5 |\n| End |  |  |"
    )


def test_a_page_laid_out_in_a_table_is_no_table() -> None:
    assert text("<table><tr><td><p>One.</p><p>Two.</p></table>") == "One.\n\nTwo."
    assert (
        text("<table><caption>Box</caption><tr><th><p>One.</p><p>Two.</p></table>") == "Box\n\nOne.\n\nTwo."
    )
    laid = "<table><tr><td>Menu<td><h2>Title</h2><table><tr><th>A<th>B<tr><td>1<td>2</table></table>"
    assert text(laid) == "Menu\n\n## Title\n\n| A | B |\n| --- | --- |\n| 1 | 2 |"
    assert (
        text("<table><tr><th>A<td>1 <table><tr><td>x<td>y</table></table>") == "| A | 1 x y |\n| --- | --- |"
    )


def test_words_outside_of_cells_are_put_before_their_table() -> None:
    loose = "<table>Loose<tr><td>1<td>2</tr>More<tr><td>3</table>"
    assert text(loose) == "Loose\n\nMore\n\n| 1 | 2 |\n| --- | --- |\n| 3 |  |"


def test_huge_cell_spans_cost_little() -> None:
    wide = "<tr>" + "<td rowspan=65534 colspan=1000>" + "word " * 30
    assert len(text("<table>" + wide * 60 + "</table>")) < 4 * 60 * 150 + 10_000
    long = "<table><tr><td rowspan=9>" + "word " * 50 + "<td>a" + "<tr><td>b" * 8 + "</table>"
    assert text(long).count("word") == 50
    grid = Grid()
    for _ in range(100):
        grid.row(head=False)
        grid.cell("x", columns=1000, rows=0, head=False)
    assert sum(map(len, grid.lines())) < 10_000 + 4 * 100 + 2 * 1000
    ragged = "<tr>" + "<td>x" * 1000 + "<tr><td>y" * 200
    assert len(text(f"<table>{ragged}</table>")) < 50_000


def test_superscripts_notes_and_ruby_text_are_read() -> None:
    assert text("10<sup>6</sup> m<sup>−1</sup>, H<sub>2</sub>O, 1<sup>st</sup>") == "10^6 m^−1, H2O, 1st"
    notes = "word<sup><a href='#n'>1</a></sup> a<a href='#n'><sup>2</sup></a> b<a role=doc-noteref href='#n'>*</a>"
    assert text(f"{notes} <a href='#n'>3</a>") == "word[1] a[2] b[*] 3"
    assert (
        text("<p>said<sup><a href='#n'>[12]</a></sup>. So <sup><a href='#n'>7</a></sup>")
        == "said[12]. So [7]"
    )
    assert text("<p><a href='#r'>1</a>The note. <a href='#r'>↩︎</a>") == "[1] The note."
    assert text("<ruby>漢<rp>(</rp><rt>かん</rt>字<rt>じ</rt></ruby>") == "漢字(かんじ)"


def test_alternative_texts_of_pictures_and_formulas_are_read() -> None:
    assert text("<img alt='T'>he <img alt='a lamp'><img alt='IMG_1.jpg'>burns") == "The a lamp burns"
    assert (
        text("<figure><img alt='A lamp'><figcaption aria-hidden=true>A lamp</figcaption></figure>")
        == "A lamp"
    )
    assert text("<svg><title>Plan</title><text>North</text><g>no</g></svg>") == "Plan North"
    assert text("a <math alttext='x^2'><mi>x</mi></math> b") == "a x^2 b"
    assert text("<math><mi>x</mi><mo>=</mo><mn>1</mn><annotation>TeX</annotation></math>") == "x = 1"


def test_blanks_are_merged_and_zero_width_characters_removed() -> None:
    assert text("un&shy;break&#8203;able&nbsp;&nbsp; &thinsp;blank&#65279;") == "unbreakable blank"
    assert text("x\x0cy\x0bz&#0;") == "x y z�"


def test_a_link_to_a_heading_is_a_reference() -> None:
    markup = (
        "<h1 id=top>Spells</h1><p>See <a href='#ice%20storm'>that</a>, <a href='#b'>this</a> or <a href='#no'>no</a>."
        "<section id='ice storm'><h2>Ice storm <a href='#ice%20storm'>¶</a></h2>Cold.</section>"
        "<a name=b></a><h2><a href='#top'>Ball</a></h2><p id=no>Fire.</p>"
    )
    document = page(markup)
    assert document.links == (Link(0, "Ice storm"), Link(0, "Ball"))
    assert [section.title for section in document.sections] == ["Spells", "Ice storm", "Ball"]


def test_a_heading_of_several_lines_or_of_a_picture_is_one_title() -> None:
    document = page(
        "<p><a href='#a'>x</a> <a href='#b'>y</a>"
        "<h1 id=a>Part I<br>Sea<div>and Land</div></h1><h2><img id=b alt='Ahab'></h2>"
    )
    assert [section.title for section in document.sections[1:]] == ["Part I Sea and Land", "Ahab"]
    assert [link.target for link in document.links] == ["Part I Sea and Land", "Ahab"]


def test_a_heading_in_a_box_is_no_section_of_the_page() -> None:
    boxed = page("<h1>Rules</h1><p>Before.</p><aside><h2>Aside</h2><p>Inside.</p></aside><p>After.</p>")
    assert [section.title for section in boxed.sections] == ["Rules"]
    assert "> **Aside**" in boxed.text
    indented = page("<blockquote><h1>All</h1><p>Set in.</p><h2>Of it</h2></blockquote>")
    assert [section.title for section in indented.sections] == ["All", "Of it"]


def test_an_unclosed_heading_swallows_no_text() -> None:
    document = page(f"<h1>Title<div>{'word ' * 60}</div><ul><li>item</ul>")
    assert [section.title for section in document.sections] == ["Title"]
    assert document.text.endswith("word\n\n- item")


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<title>The book</title><h1>One</h1>", "The book"),
        ("<title>Fire – Rules of Magic</title><h1>Fire</h1>", "Fire"),
        (
            "<title>Rules | Fire</title><header><h1>Rules of all</h1></header><main><h1>Fire</h1></main>",
            "Fire",
        ),
        ("<title>Fire - Rules</title><div><h1>Rules</h1></div><main><h1>Fire</h1></main>", "Fire"),
        (
            "<title>Fire | Rules</title><header><h1>Rules</h1></header><div><h1>Fire</h1></div><main>x</main>",
            "Fire",
        ),
        ("<title> </title><h2>Small</h2><h1>Great</h1>", "Great"),
        ("<svg><title>Drawing</title></svg>Words", "my page"),
    ],
)
def test_a_page_has_its_title_or_its_files_name(head: str, title: str) -> None:
    assert page(head, "my_page.html").title == title


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("<p>São".encode("utf-16"), "São"),
        (b"\xef\xbb\xbf<meta charset=latin1>S\xc3\xa3o", "São"),
        (b"<meta charset=iso-8859-1>S\xe3o \x96 10\x80", "São – 10€"),
        ("<meta http-equiv=x content='text/html; charset=windows-1251'>Привет".encode("cp1251"), "Привет"),
        ("<?xml version='1.0' encoding='Shift_JIS'?><p>漢字</p>".encode("shift_jis"), "漢字"),
        ("<meta charset=iso-2022-jp>漢字".encode("iso-2022-jp"), "漢字"),
        (b"<meta charset=iso-8859-1>S\xc3\xa3o", "São"),
        (b"<meta charset=utf-8>S\xe3o Paulo", "São Paulo"),
        (b"<meta charset=rot13>S\xe3o", "São"),
    ],
)
def test_a_page_is_decoded_even_if_it_declares_a_wrong_encoding(data: bytes, said: str) -> None:
    assert text(data) == said


def test_ten_thousand_nested_elements_are_read() -> None:
    assert text("<div>" * 10_000 + "deep" + "</div>" * 10_000 + "after") == "deep\n\nafter"


def test_a_file_cut_in_the_middle_keeps_its_beginning() -> None:
    assert (
        text("<p>One.<table><tr><td>a<td>b<tr><td>c</td><td cla")
        == "One.\n\n| a | b |\n| --- | --- |\n| c |  |"
    )


@pytest.mark.parametrize("data", [b"", b"<html></html>", b"<!-- only -->", b"<script>x</script>", b" \n"])
def test_a_page_without_words_is_refused(data: bytes) -> None:
    with pytest.raises(UserError) as caught:
        page(data)
    assert caught.value.key == "library.file_empty"


@pytest.mark.parametrize("name", ["pandoc.html", "libreoffice.html", "libreoffice-xhtml.html"])
def test_pages_of_real_programs_are_read_alike(name: str) -> None:
    document = page((FILES / name).read_bytes(), name)
    assert document.title == "The Lamplighter’s Almanac"
    paths = [section.path for section in document.sections]
    assert ("The roads", "The northern road", "Toll houses") in paths
    assert ("The people", "The coração trade", "Colours") in paths
    assert len([path for path in paths if path]) - (name == "pandoc.html") == 12
    assert "| Half | third bell | two | 5 shillings |" in document.text
    assert "  - of a birth" in document.text or "  1. of a birth" in document.text
    assert "Köhlerberg.[1] Count" in document.text
    assert {link.target for link in document.links} == {"What the wardens ask"}


BLOCKS = ("p", "div", "blockquote", "aside", "section", "h1", "h3", "pre", "details", "figure", "header")
INLINE = ("b", "span", "a href=#x", "sup", "sub", "em", "code", "q", "my-own", "ruby")
LISTS = ("ul", "ol", "ol reversed")


def wrapped(tag: str, inner: str) -> str:
    return f"<{tag}>{inner}</{tag.split(' ')[0]}>"


def cells(rows: list[list[str]]) -> str:
    return wrapped(
        "table", "".join(wrapped("tr", "".join(wrapped("td", cell) for cell in row)) for row in rows)
    )


LEAVES = st.sampled_from(
    ("@", " @ ", "@<br>@", "<hr>", "\n", "<!-- x -->", "<i hidden>zz</i>", "<p>@", "<li>@", "</div>")
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(wrapped, st.sampled_from(BLOCKS + INLINE), inner),
        st.builds("".join, st.lists(inner, max_size=4)),
        st.builds(
            lambda tag, items: wrapped(tag, "".join(wrapped("li", item) for item in items)),
            st.sampled_from(LISTS),
            st.lists(inner, max_size=3),
        ),
        st.builds(lambda term, meaning: f"<dl><dt>{term}<dd>{meaning}</dl>", inner, inner),
        st.builds(cells, st.lists(st.lists(inner, min_size=1, max_size=3), min_size=1, max_size=3)),
    ),
    max_leaves=15,
)


@settings(max_examples=40, deadline=None)
@given(TREES)
def test_no_word_is_lost_or_moved(tree: str) -> None:
    pieces = tree.split("@")
    markup = pieces[0] + "".join(f"w{at}x{piece}" for at, piece in enumerate(pieces[1:]))
    wanted = re.findall(r"w\d+x", re.sub(r"<!--.*?-->", "", markup))
    document = page(f"<p>start</p>{markup}")
    assert re.findall(r"w\d+x", document.text) == wanted
    assert "zz" not in document.text
    assert [s.start for s in document.sections[1:]] == [s.end for s in document.sections[:-1]]
