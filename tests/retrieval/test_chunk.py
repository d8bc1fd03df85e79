"""Chunks lose no text, exceed no cap, and have anchors that point at their text."""

from __future__ import annotations

import time

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
            assert covered[at] or not document.text[at].isalnum()


def test_a_table_is_cut_between_rows_under_its_heading() -> None:
    for head, row in (
        ("| Item | Cost |\n|------|------|\n", "| Vial | 1 gp |\n"),
        ("Item   Cost\n------ ----\n", "Vial   1 gp\n"),
    ):
        made = chunks(book("# Gear\n\n" + head + row * 60), child_chars=300, parent_chars=2000)
        assert len(made) > 2
        assert all(chunk.text.startswith(head.strip()) for chunk in made)
        assert all(chunk.text.endswith(row.strip()) for chunk in made)


def test_a_breadcrumb_is_separate_from_the_text() -> None:
    made = chunks(book("# Spells\n\n## Fireball\n\nA bright streak.\n"), child_chars=800, parent_chars=2000)
    assert [(chunk.breadcrumb, chunk.text) for chunk in made] == [("Spells › Fireball", "A bright streak.")]


def test_a_chunk_expands_only_within_its_section() -> None:
    spans = [(0, 0, 90), (1, 100, 190), (1, 192, 280), (1, 282, 390), (2, 400, 500)]
    assert parents(spans, 2, 200) == (192, 390)
    assert parents(spans, 2, 1000) == (100, 390)
    assert parents(spans, 0, 1000) == (0, 90)


def test_the_lead_in_to_a_table_precedes_each_group_of_its_rows() -> None:
    lead, head, row = "Prices are in table 5.4.", "| Animal | Cost |\n|---|---|", "| Pony | 30 gp |"
    text = f"# Horses\n\n{'A horse eats hay. ' * 15}\n\n{lead}\n\n{head}\n" + f"{row}\n" * 30
    first, *rest = chunks(book(text), child_chars=300, parent_chars=2000)
    assert first.text.endswith("hay.")
    assert len(rest) > 1
    assert all(chunk.text.startswith(f"{lead}\n\n{head}\n{row}") for chunk in rest)
    assert [row for chunk in rest for row in chunk.rows] == [f"{head}\n\n{row}"] * 30


def test_the_lead_in_to_a_list_begins_the_lists_chunk() -> None:
    items = "\n".join(f"- group {n}: {'word ' * 12}" for n in range(8))
    for before in ("", f"{'Classes differ. ' * 40}\n\n"):
        text = f"# Classes\n\n{before}They are divided into eight groups:\n\n{items}\n"
        made = [chunk.text for chunk in chunks(book(text), child_chars=700, parent_chars=2000)]
        assert [text for text in made if text.startswith("They are divided into eight groups:\n\n- group 0")]
        assert not [text for text in made if text.endswith(":")]


def test_a_lead_in_line_is_not_a_chunk_of_its_own() -> None:
    made = chunks(
        read("ada.txt", f"Ada Holm\n\n{'She painted. ' * 70}".encode()), child_chars=800, parent_chars=2000
    )
    assert made[0].text.startswith("Ada Holm\n\nShe painted.")


def test_a_rule_across_the_page_is_no_passage() -> None:
    made = chunks(book("# One\n\n---\n\n# Two\n\nWords.\n"), child_chars=800, parent_chars=2000)
    assert [chunk.text for chunk in made] == ["Words."]


def test_a_tables_heading_is_not_cut_off_from_a_row_that_is_too_long() -> None:
    head = "| d100 | Effect |\n|---|---|\n"
    made = chunks(
        book(f"# Beans\n\n{head}| 01 | {'toads ' * 60}|\n| 02 | ash |\n"), child_chars=300, parent_chars=2000
    )
    assert all(chunk.text.startswith(head) and len(chunk.text) > len(head) for chunk in made)


def test_a_row_is_found_by_its_tables_heading_and_the_row_that_names_its_group() -> None:
    for table in (
        "| Item | Cost |\n|---|---|\n| *Saddle* | |\n|   Exotic | 60 gp |\n|   Pack | 5 gp |\n| Sled | 20 gp |\n",
        "  Item      Cost\n  --------- ------\n  Saddle\n    Exotic  60 gp\n    Pack    5 gp\n  Sled      20 gp\n",
    ):
        (chunk,) = chunks(book("# Gear\n\n" + table), child_chars=800, parent_chars=2000)
        words = [
            " ".join(row.replace("|", " ").replace("*", "").split("\n", 2)[2].split()) for row in chunk.rows
        ]
        assert words == ["Saddle", "Saddle Exotic 60 gp", "Saddle Pack 5 gp", "Sled 20 gp"]


def test_a_row_of_several_lines_is_kept_together() -> None:
    rule = "-" * 16
    lines = [
        rule,
        "Item     Cost",
        "-------- -------",
        "Two      10 gp",
        "ropes",
        "",
        "Lamp     2 gp",
        rule,
        "",
    ]
    table = "\n".join(lines)
    (chunk,) = chunks(book("# Gear\n\n" + table), child_chars=800, parent_chars=2000)
    assert len(chunk.rows) == 2
    assert "ropes" in chunk.rows[0]


def test_the_time_to_cut_a_table_grows_linearly_with_its_rows() -> None:
    table = "| weapon | cost |\n|---|---|\n" + "| dagger | 2 gp |\n" * 40_000
    document = book(table)
    began = time.process_time()
    assert chunks(document, child_chars=800, parent_chars=2000)
    assert time.process_time() - began < 10, "processor: 18 s, when each row was compared with all others"
