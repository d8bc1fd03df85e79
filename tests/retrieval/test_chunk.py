"""Chunks: nothing lost, no cap broken, every anchor points at its text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.readers import read
from bot.readers.document import Document
from bot.retrieval.chunk import body_start, chunks, parents

LINES = st.one_of(
    st.text(alphabet="abc é-.|\t", max_size=120),
    st.sampled_from(
        [
            "",
            "# One",
            "## Two",
            "Three\n-----",
            "Item    Cost\n------- ----",
            "| a | b |\n|---|---|",
            "```",
            "> ### Q",
        ]
    ),
    st.integers(1, 900).map(lambda n: "x" * n),
    st.integers(1, 60).map(lambda n: "| row | 1 |\n" * n),
)
BOOKS = st.lists(LINES, min_size=1, max_size=40).map(lambda lines: "word\n\n" + "\n".join(lines))


def book(text: str) -> Document:
    return read("book.md", text.encode())


@settings(max_examples=150, deadline=None)
@given(text=BOOKS, cap=st.integers(20, 400))
def test_nothing_is_lost_caps_hold_and_anchors_point_at_the_text(text: str, cap: int) -> None:
    document = book(text)
    made = chunks(document, child_chars=cap, parent_chars=2000)
    covered = bytearray(len(document.text))
    for number, chunk in enumerate(made):
        section = document.sections[chunk.section]
        assert chunk.ordinal == number
        assert chunk.text.strip()
        assert len(chunk.text) <= cap
        assert section.start <= chunk.start < chunk.end <= section.end
        assert chunk.text.endswith(document.text[chunk.start : chunk.end])
        covered[chunk.start : chunk.end] = b"\x01" * (chunk.end - chunk.start)
    for section in document.sections:
        for at in range(body_start(document.text, section), section.end):
            assert covered[at] or document.text[at].isspace() or document.text[at] == ">"


def test_a_table_is_cut_between_rows_under_its_heading() -> None:
    for head, row in (
        ("| Item | Cost |\n|------|------|\n", "| Vial | 1 gp |\n"),
        ("Item   Cost\n------ ----\n", "Vial   1 gp\n"),
    ):
        made = chunks(book("# Gear\n\n" + head + row * 60), child_chars=300, parent_chars=2000)
        assert len(made) > 2
        assert all(chunk.text.startswith(head.strip()) for chunk in made)
        assert all(chunk.text.endswith(row.strip()) for chunk in made)


def test_a_breadcrumb_stands_apart_from_the_text() -> None:
    made = chunks(book("# Spells\n\n## Fireball\n\nA bright streak.\n"), child_chars=800, parent_chars=2000)
    assert [(chunk.breadcrumb, chunk.text) for chunk in made] == [("Spells › Fireball", "A bright streak.")]


def test_a_chunk_grows_within_its_section_only() -> None:
    spans = [(0, 0, 90), (1, 100, 190), (1, 192, 280), (1, 282, 390), (2, 400, 500)]
    assert parents(spans, 2, 200) == (192, 390)
    assert parents(spans, 2, 1000) == (100, 390)
    assert parents(spans, 0, 1000) == (0, 90)
