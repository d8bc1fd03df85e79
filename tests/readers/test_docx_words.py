"""The visible words of a Word document are read once and in order; hidden ones are left out."""

from __future__ import annotations

import random
import re

import pytest

from tests.readers.wordml import STYLES, book, code, inside, p, r, said, table, tc, tr, turn

UP = '<w:vertAlign w:val="superscript"/>'


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        ("<w:hyperlink>" + r("a link") + "</w:hyperlink>", "a link"),
        ("<w:smartTag><w:smartTag>" + r("tagged") + "</w:smartTag></w:smartTag>", "tagged"),
        ("<w:sdt><w:sdtPr/><w:sdtContent>" + r("controlled") + "</w:sdtContent></w:sdt>", "controlled"),
        ("<w:ins>" + r("new") + "</w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>", "new"),
        ("<w:moveFrom>" + r("from") + "</w:moveFrom><w:moveTo>" + r("to") + "</w:moveTo>", "to"),
        (r("seen") + r("hidden", "<w:vanish/>") + r(" too", '<w:vanish w:val="0"/>'), "seen too"),
        ('<w:fldSimple w:instr="AUTHOR">' + r("Ana") + "</w:fldSimple>", "Ana"),
        (turn("begin") + code("PAGE") + turn("separate") + r("7") + turn("end"), "7"),
        (turn("begin") + code("XE") + r("inner") + turn("end") + r("after"), "after"),
        (r("soft\u00adly") + r("a\u00a0b"), "softlya b"),
        (r("e") + "<w:r><w:noBreakHyphen/></w:r>" + r("mail \u200bnow"), "e-mail now"),
        (r("one") + "<w:r><w:tab/></w:r>" + r(" two") + "<w:r><w:br/></w:r>" + r("three"), "one\ttwo\nthree"),
        ('<w:r><w:sym w:font="Symbol" w:char="03B1"/><w:sym w:font="Wingdings" w:char="F0FC"/></w:r>', "α"),
        (
            "<w:r><w:ruby><w:rt>"
            + r("とう")
            + "</w:rt><w:rubyBase>"
            + r("東")
            + "</w:rubyBase></w:ruby></w:r>",
            "東",
        ),
        (
            "<m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f></m:oMath>",
            "a/b",
        ),
        (
            "<w:r><mc:AlternateContent><mc:Choice Requires='x'/><mc:Fallback><w:t>☺</w:t></mc:Fallback>"
            "</mc:AlternateContent></w:r>",
            "☺",
        ),
        (r("10") + r("2", UP) + r(" on the 1") + r("st", UP) + r(" m") + r(" 3", UP), "10^2 on the 1st m 3"),
        ("<w:commentRangeStart w:id='1'/>" + r("said") + "<w:r><w:commentReference w:id='1'/></w:r>", "said"),
        (
            "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>"
            + r("Click")
            + "</w:sdtContent></w:sdt>",
            "",
        ),
    ],
)
def test_only_visible_words_are_read(content: str, seen: str) -> None:
    assert said(inside(content)) == seen


def test_a_hidden_character_style_hides_its_text() -> None:
    styles = '<w:style w:type="character" w:styleId="Gone"><w:name w:val="Gone"/><w:rPr><w:vanish/></w:rPr></w:style>'
    assert said(inside(r("seen") + r("not", '<w:rStyle w:val="Gone"/>')), styles=styles) == "seen"


BOX = f"<w:txbxContent>{p('Beware')}{p('of the dog.')}</w:txbxContent>"
SHAPE = f"<w:drawing><wp:inline><wps:wsp><wps:txbx>{BOX}</wps:txbx></wps:wsp></wp:inline></w:drawing>"
OLD_SHAPE = f"<w:pict><v:shape><v:textbox>{BOX}</v:textbox></v:shape></w:pict>"


@pytest.mark.parametrize(
    "drawn",
    [
        SHAPE,
        OLD_SHAPE,
        f"<mc:AlternateContent><mc:Choice Requires='wps'>{SHAPE}</mc:Choice>"
        f"<mc:Fallback>{OLD_SHAPE}</mc:Fallback></mc:AlternateContent>",
    ],
)
def test_a_text_box_becomes_one_quote_after_its_paragraph(drawn: str) -> None:
    body = inside(f"{r('Before ')}<w:r>{drawn}</w:r>{r('and after.')}") + p("Next.")
    assert said(body) == "Before and after.\n\n> Beware\n> of the dog.\n\nNext."


ORNAMENT = '<d:decorative xmlns:d="http://schemas.microsoft.com/office/drawing/2017/decorative" val="1"/>'


def test_an_unclosed_field_in_a_note_hides_no_text() -> None:
    body = inside(r("One") + '<w:r><w:footnoteReference w:id="2"/></w:r>') + p("Two")
    open_field = inside(turn("begin") + TOC + turn("separate") + r("Note"))
    notes = f'<w:footnote w:id="2">{open_field}</w:footnote>'
    assert said(body, footnotes=notes) == "One\n\n> Note\n\nTwo"


def test_a_pictures_alternative_text_is_read() -> None:
    body = "".join(
        inside(f"<w:r><w:drawing><wp:docPr {about}>{more}</wp:docPr></w:drawing></w:r>")
        for about, more in [
            ('descr="A map of the coast"', ""),
            ('descr="scan01.png"', ""),
            ('descr="A line" hidden="1"', ""),
            ('descr="A leaf"', ORNAMENT),
            ("", ""),
        ]
    )
    assert said(body) == "A map of the coast"
    assert said(body + p("A map of the coast")) == "A map of the coast"


def test_notes_follow_the_paragraph_that_refers_to_them_each_once() -> None:
    body = (
        inside(r("One") + '<w:r><w:footnoteReference w:id="2"/></w:r>' + r(" and more."))
        + table(tr("a", tc(inside(r("b") + '<w:r><w:endnoteReference w:id="2"/></w:r>'))), tr("c", "d"))
        + inside(r("Two") + '<w:r><w:footnoteReference w:id="2"/><w:footnoteReference w:id="99"/></w:r>')
    )
    notes = f'<w:footnote w:id="2">{inside("<w:r><w:footnoteRef/></w:r>" + r(" Says who?"))}</w:footnote>'
    notes += f'<w:footnote w:id="3">{p("Nobody refers to it.")}</w:footnote>'
    ends = f'<w:endnote w:id="2">{p("The end.")}</w:endnote>'
    assert said(body, footnotes=notes, endnotes=ends) == (
        "One and more.\n\n> Says who?\n\n| a | b |\n| --- | --- |\n| c | d |\n\n> The end.\n\nTwo"
    )


TOC = code(r' TOC \o "1-3" ')


def test_a_table_of_contents_is_left_out_however_it_was_made() -> None:
    listed = p("Roads 3") + p("People 9")
    field = inside(turn("begin") + TOC + turn("separate") + r("First 1"))
    field += listed + inside(turn("end")) + p("Body.")
    control = (
        '<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj></w:sdtPr>'
        f"<w:sdtContent>{listed}</w:sdtContent></w:sdt>" + p("Body.")
    )
    styles = '<w:style w:type="paragraph" w:styleId="Verzeichnis1"><w:name w:val="toc 1"/></w:style>'
    styled = p("Roads 3", "Verzeichnis1") + p("Body.")
    assert [said(field), said(control), said(styled, styles=styles)] == ["Body."] * 3


def test_an_unclosed_field_hides_no_text() -> None:
    begun = inside(turn("begin") + TOC + turn("separate") + r("First"))
    assert said(begun + p("Body.")) == "First\n\nBody."
    assert said(inside(turn("end") + turn("begin") + code("IF")) + p("Body.")) == "Body."


def test_a_dropped_capital_belongs_to_its_paragraph() -> None:
    dropped = p("O", properties='<w:framePr w:dropCap="drop" w:lines="3"/>')
    assert said(dropped + p("nce upon a time.") + dropped) == "Once upon a time.\n\nO"


def test_a_paragraph_with_a_deleted_end_continues_in_the_next_one() -> None:
    assert said(p("half a ", properties="<w:rPr><w:del/></w:rPr>") + p("sentence.")) == "half a sentence."


def test_links_into_the_document_lead_to_the_heading_around_their_bookmark() -> None:
    body = (
        p("Roads", "H1")
        + inside(f'<w:hyperlink w:anchor="below">{r("down")}</w:hyperlink>')
        + inside(turn("begin") + code(r" REF _Ref7 \h ") + turn("separate") + r("there") + turn("end"))
        + inside(turn("begin") + code(r' HYPERLINK \l "far" ') + turn("separate") + r("far") + turn("end"))
        + inside(
            turn("begin") + TOC + turn("separate") + f'<w:hyperlink w:anchor="listed">{r("x")}</w:hyperlink>'
        )
        + inside(turn("end"))
        + inside(f'<w:hyperlink w:anchor="nowhere">{r("lost")}</w:hyperlink>')
        + inside('<w:bookmarkStart w:name="_Ref7"/>' + r("People"), "H1")
        + p("Text.")
        + inside('<w:bookmarkStart w:name="below"/>')
        + p("Wardens", "H2")
        + inside('<w:bookmarkStart w:name="far"/>' + r("Far"), "H2")
        + inside('<w:bookmarkStart w:name="listed"/>' + r("Listed"), "H2")
    )
    links = book(body, styles=STYLES).links
    assert [(link.section, link.target) for link in links] == [(0, "Wardens"), (0, "People"), (0, "Far")]


UNSEEN = (
    "<w:del><w:r><w:delText>X</w:delText></w:r>" + r("X") + "</w:del>",
    r("X", "<w:vanish/>"),
    turn("begin") + code("X") + turn("separate") + turn("end"),
    "<w:bookmarkStart w:name='X'/><!-- X --><?X X?>",
    "<w:r><w:lastRenderedPageBreak/><w:annotationRef/></w:r><w:proofErr/>",
)
AROUND = (
    "<w:ins>{}</w:ins>",
    "<w:hyperlink w:anchor='X'>{}</w:hyperlink>",
    "<w:smartTag>{}</w:smartTag>",
    "<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>",
    "<w:fldSimple w:instr='X'>{}</w:fldSimple>",
    "<mc:AlternateContent><mc:Choice>{} </mc:Choice><mc:Fallback>"
    + r("X")
    + "</mc:Fallback></mc:AlternateContent>",
)


class Tree:
    """A document body with arbitrary contents; each visible word is between blanks."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)

    def blocks(self, depth: int = 2) -> str:
        return "".join(self._block(depth) for _ in range(self._dice.randint(1, 3)))

    def _block(self, depth: int) -> str:
        if depth and self._dice.random() < 0.3:
            rows = (
                "".join(tc(self.blocks(depth - 1)) for _ in range(self._dice.randint(1, 3))) for _ in "ab"
            )
            return table(*(f"<w:tr>{row}</w:tr>" for row in rows))
        return inside(self._inline(3), self._dice.choice(["", "H1", "H3", "unknown"]))

    def _inline(self, depth: int) -> str:
        return "".join(self._piece(depth) for _ in range(self._dice.randint(1, 3)))

    def _piece(self, depth: int) -> str:
        if depth and self._dice.random() < 0.4:
            return self._dice.choice(AROUND).format(self._inline(depth - 1) + self._word())
        return self._dice.choice(UNSEEN) if self._dice.random() < 0.3 else self._word()

    def _word(self) -> str:
        return r(f" {''.join(self._dice.choices('abcdefgäß', k=6))} ")


def test_no_word_is_lost_and_none_is_added() -> None:
    words = 0
    for seed in range(15):
        body = Tree(seed).blocks()
        expected = re.findall(r"(?<=> )[a-zäß]+(?= </w:t>)", body)
        assert re.findall(r"[^\W\d_]+", said(body, styles=STYLES)) == expected, seed
        words += len(expected)
    assert words > 200
