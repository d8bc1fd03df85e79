"""Text made fit for a platform: nothing lost, limits held, nothing dangerous left."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.adapters.draft import clean, neutralise, split

LINE = st.text(alphabet="ab |*-#`~1.\té “", max_size=60)
BLOCK = st.one_of(
    st.lists(LINE, min_size=1, max_size=8).map("\n".join),
    st.lists(st.text(alphabet="xy z", max_size=40), max_size=30).map(
        lambda rows: "```py\n" + "\n".join(rows) + "\n```"
    ),
    st.lists(st.text(alphabet="pq ", min_size=1, max_size=30), max_size=20).map(
        lambda rows: "| a | b |\n|---|---|\n" + "\n".join(f"| {one} | 1 |" for one in rows)
    ),
    st.lists(st.text(alphabet="word ", max_size=50), max_size=20).map(
        lambda rows: "\n".join(f"- {one}" for one in rows)
    ),
)
MARKDOWN = st.lists(BLOCK, max_size=8).map("\n\n".join)


def in_order(needle: str, hay: str) -> bool:
    rest = iter(hay)
    return all(letter in rest for letter in needle)


@given(MARKDOWN, st.integers(40, 300))
def test_every_part_holds_the_limit_and_nothing_is_lost(markdown: str, limit: int) -> None:
    parts = split(markdown, limit)
    assert all(0 < len(part) <= limit for part in parts)
    said = re.sub(r"\s", "", markdown)
    assert in_order(said, re.sub(r"\s", "", "".join(parts)))


@given(MARKDOWN)
def test_what_fits_is_left_whole(markdown: str) -> None:
    parts = split(markdown, 100_000)
    assert parts == ([markdown.strip("\n")] if markdown.strip() else [])


def test_a_fence_that_must_be_cut_is_closed_and_opened_again() -> None:
    code = "```python\n" + "".join(f"line_{n} = {n}\n" for n in range(30)) + "```"
    parts = split(code, 120)
    assert len(parts) > 2
    assert all(part.startswith("```python\n") and part.endswith("\n```") for part in parts)


def test_a_list_and_a_table_stay_whole_while_they_fit() -> None:
    items = "\n".join(f"- item {n}" for n in range(5))
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"
    parts = split(f"{'word ' * 10}\n\n{items}\n\n{table}", 70)
    assert items in parts
    assert table in parts


def test_a_long_table_repeats_its_header() -> None:
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {n} | row |" for n in range(40))
    assert all(part.startswith("| a | b |\n|---|---|\n") for part in split(table, 120))


def test_a_limit_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="40"):
        split("text", 10)


@pytest.mark.parametrize(
    "call", ["@everyone", "@here", "<@123>", "<@&9>", "<!channel>", "<!subteam^S1>", "<#C1>"]
)
def test_mentions_call_nobody(call: str) -> None:
    made = neutralise(f"hello {call}!")
    assert call not in made
    assert made.replace("\u200b", "") == f"hello {call}!"


def test_an_address_is_no_mention() -> None:
    assert neutralise("me@hereford.org, a < b") == "me@hereford.org, a < b"


@given(st.text())
def test_cleaned_text_has_nothing_that_steers_a_terminal(text: str) -> None:
    made = clean(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", made)
    assert clean(made) == made
    made.encode()


def test_sequences_go_whole_and_words_stay() -> None:
    text = "a\x1b[31mred\x1b[0m \x1b]0;title\x07b\x1b]8;;http://x\x1b\\link \u202eevil\u202c\r\nend"
    assert clean(text) == "ared blink evil\nend"
