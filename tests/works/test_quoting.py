"""Quotes without a model: wrapped lines are joined, and rows have their table's heading."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.citing.quoting import excerpt
from bot.readers.lines import flowing
from bot.retrieval.results import Passage

KEPT = """# A heading
under which this stands

- one item
- another
  1. a third
2) a fourth

| Item | Cost |
|------|------|
| Rope | 1 gp |

Item   Cost
------ ----
Rope   1 gp

```
let it
be
```

    indented code
    stays so

Roses are red,
Violets are blue

a line that its author broke on purpose\x20\x20
is followed by another,\\
and by a third

**Armor Class** 17
**Hit Points** 135

> a boxed aside
> of two lines

Setext
======

Ada: What is that noise behind the door?
Ben: A mimic."""
PIECES = st.sampled_from([*KEPT.split("\n"), "a line that", "Goes on, and", "", "  and on"])


def test_wrapped_lines_are_joined() -> None:
    for wrapped, joined in (
        (
            "A lit lantern shows\neverything within\nten paces.",
            "A lit lantern shows everything within ten paces.",
        ),
        ("Ela mostra tudo a\ndez passos.\n\nE mais\nnada.", "Ela mostra tudo a dez passos.\n\nE mais nada."),
        (
            "The keeper of the great lighthouse by the sea is old\nMarten, who keeps the oil.",
            "The keeper of the great lighthouse by the sea is old Marten, who keeps the oil.",
        ),
        ("- an item that\n  goes on\n- another\nthat does", "- an item that goes on\n- another that does"),
    ):
        assert flowing(wrapped) == joined


def test_deliberate_line_breaks_stay() -> None:
    assert flowing(KEPT) == KEPT


@given(st.lists(PIECES, max_size=12).map("\n".join))
def test_nothing_but_white_space_changes(text: str) -> None:
    assert flowing(text).split() == text.split()


def test_a_matching_row_is_quoted_under_its_tables_heading() -> None:
    lead, head = "Prices. They are high.", "| Item | Cost |\n|---|---|\n"
    names = [f"tool{n}" for n in range(14)] + ["brass"]
    rows = [
        f"| {name} {kind} | {n} gp, 1 lb. at least |"
        for n, name in enumerate(names)
        for kind in ("rope", "lamp")
    ]
    text = f"{lead}\n\n{head}" + "\n".join(rows)
    assert len(text) > 800
    part = excerpt(text, {"cost", "brass", "lamp"}, "en")
    assert part.startswith(head)
    assert rows[-1] in part.split("\n")
    assert set(part.split("\n")) <= set(text.split("\n"))
    assert len(part) <= 600


def test_a_quote_is_found_on_its_page_whatever_its_white_space() -> None:
    text = "On page three.\nHere page four\nbegins, and goes on."
    passage = Passage("d:1", "d", "book.pdf", "Book", "", 3, text, 1.0, ((15, 4),))
    assert passage.page_of("Here page four begins, and") == 4
    assert passage.page_of("On page three.") == 3
    assert passage.page_of("nowhere") == 3
