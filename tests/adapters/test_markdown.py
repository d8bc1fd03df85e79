"""Text prepared for a platform: nothing is lost, limits are kept, nothing dangerous remains."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.adapters.markdown import Piece, blocks, clean, cut, file_name, neutralise, pack, split

LINE = st.text(alphabet="ab |*-#`~1.\té “", max_size=60)
BLOCK = st.one_of(
    st.lists(LINE, min_size=1, max_size=8).map("\n".join),
    st.lists(st.text(alphabet="xy z", max_size=40), max_size=30).map(
        lambda rows: "```py\n" + "\n".join(rows) + "\n```"
    ),
    st.lists(st.text(alphabet="pq ", min_size=1, max_size=30), max_size=20).map(
        lambda rows: "| a | b |\n|---|---|\n" + "\n".join(f"| {row} | 1 |" for row in rows)
    ),
    st.lists(st.text(alphabet="word ", max_size=50), max_size=20).map(
        lambda rows: "\n".join(f"- {row}" for row in rows)
    ),
)
MARKDOWN = st.lists(BLOCK, max_size=8).map("\n\n".join)


def in_order(needle: str, hay: str) -> bool:
    rest = iter(hay)
    return all(letter in rest for letter in needle)


@given(MARKDOWN, st.integers(40, 300))
def test_every_part_keeps_within_the_limit_and_nothing_is_lost(markdown: str, limit: int) -> None:
    parts = split(markdown, limit)
    assert all(0 < len(part) <= limit for part in parts)
    letters = re.sub(r"\s", "", markdown)
    assert in_order(letters, re.sub(r"\s", "", "".join(parts)))


@given(MARKDOWN)
def test_a_text_that_fits_stays_whole(markdown: str) -> None:
    parts = split(markdown, 100_000)
    assert parts == ([markdown.strip("\n")] if markdown.strip() else [])


def test_a_split_code_block_is_closed_and_reopened() -> None:
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


@given(MARKDOWN)
def test_the_blocks_joined_are_the_text(markdown: str) -> None:
    assert "".join(block.source for block in blocks(markdown)) == markdown


@pytest.mark.parametrize(
    ("markdown", "kinds"),
    [
        ("So:\n- a\n\n- b\n\n  more\n\nAfter", ["text", "text"]),
        ("# One\ntext\n## Two", ["heading", "text", "heading"]),
        ("So:\n| a | b |\n|---|---|\n| 1 | 2 |\nafter", ["text", "table", "text"]),
        ("a | b\n\nc | d", ["text", "text"]),
        ("So:\n```\n# no heading\n\n| a |\n|---|\n```\nafter", ["text", "fence", "text"]),
        ("1. a\n\n   ```sh\n   ls\n   ```\n\n2. b", ["text", "fence", "text"]),
        ("````\n```\n````\n\n~~~\n```", ["fence", "fence"]),
        ("> ```\n> a\nafter", ["fence", "text"]),
    ],
)
def test_a_text_is_split_into_its_blocks(markdown: str, kinds: list[str]) -> None:
    assert [block.kind for block in blocks(markdown)] == kinds


@given(MARKDOWN, st.integers(40, 300))
def test_full_parts_do_not_change_when_the_text_grows(markdown: str, limit: int) -> None:
    before, after = split(markdown, limit), split(f"{markdown}\n\n# New\n\nMore.", limit)
    assert after[: len(before) - 1] == before[:-1]


def test_no_part_ends_with_a_heading() -> None:
    text = "word " * 10
    assert split(f"{text}\n\n## Next\n\n{text}", 70) == [text, f"## Next\n\n{text}"]


def test_headings_without_room_for_their_text_are_parts_of_their_own() -> None:
    pieces = [Piece("a" * 30, leads=True), Piece("b" * 30, leads=True), Piece("c" * 40)]
    assert pack(pieces, 50) == ["a" * 30, "b" * 30, "c" * 40]


def test_a_long_line_is_split_after_a_sentence_rather_than_a_word() -> None:
    assert cut("One two three four. Five six seven", 27) == ["One two three four. ", "Five six seven"]
    assert cut("One two three four five six seven", 27) == ["One two three four five ", "six seven"]


def test_the_caller_decides_how_length_is_measured() -> None:
    def units(text: str) -> int:
        return len(text.encode("utf-16-le")) // 2

    parts = split("😀" * 100 + " word" * 20, 50, units)
    assert all(units(part) <= 50 for part in parts)
    assert "".join(parts).count("😀") == 100


def test_a_limit_that_is_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="40"):
        split("text", 10)


@pytest.mark.parametrize(
    "call",
    [
        "@everyone",
        "@Everyone",
        "me@everyones",
        "@here",
        "@heres",
        "<@123>",
        "<@&9>",
        "<!channel>",
        "<!subteam^S1>",
        "<#C1>",
    ],
)
def test_escaped_mentions_ping_nobody(call: str) -> None:
    made = neutralise(f"hello {call}!")
    assert call not in made
    assert made.replace("\u200b", "") == f"hello {call}!"


def test_an_email_address_is_not_a_mention() -> None:
    assert neutralise("me@hereford.org, a < b") == "me@hereford.org, a < b"


@given(st.text())
def test_cleaned_text_has_no_control_characters(text: str) -> None:
    made = clean(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", made)
    assert clean(made) == made
    made.encode()


def test_escape_sequences_are_removed_whole_and_words_stay() -> None:
    text = "a\x1b[31mred\x1b[0m \x1b]0;title\x07b\x1b]8;;http://x\x1b\\link \u202eevil\u202c\r\nend"
    assert clean(text) == "ared blink evil\nend"


def test_meaningless_invisible_characters_are_removed_and_needed_ones_stay() -> None:
    assert clean("pay\u200fpal\u2060 \ufff9x\U000e0041\U000e0042y") == "paypal xy"
    wales = "\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f"
    assert clean(f"{wales} 👩\u200d🚀 می\u200cروم") == f"{wales} 👩\u200d🚀 می\u200cروم"
    assert clean("a\u2028b\r\nc") == "a\nb\nc"


def test_headings_without_text_share_parts() -> None:
    parts = split("# A heading\n" * 300, 400)
    assert len(parts) < 15
    assert "".join(parts).count("# A heading") == 300


def test_a_file_name_of_unsafe_characters_keeps_its_suffix() -> None:
    unsafe, used = re.compile(r"[^\w .()-]+"), set[str]()
    names = [file_name(name, used, unsafe) for name in ("🐉.md", "🐉.md", "🐉 Mira.md", "", "..", "✨")]
    assert names == ["file.md", "file-2.md", "Mira.md", "file", "file-2", "file-3"]
