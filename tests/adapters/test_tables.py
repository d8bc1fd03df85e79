"""Markdown tables laid out for platforms that cannot draw them."""

from __future__ import annotations

import pytest

from bot.adapters.discord.text.markdown import coded
from bot.adapters.slack.text.escaping import cell_text
from bot.adapters.tables import Cell, cells, tables, width_of


def laid(source: str, limit: int = 1_000) -> list[str]:
    return tables(source, limit, len, code=lambda cell: cell.strip("*"), prose=str)


def test_rows_are_read_as_in_gfm() -> None:
    assert cells("| a | b |") == ["a", "b"]
    assert cells("a | b") == ["a", "b"]
    assert cells(r"| a \| b || c |") == ["a | b", "", "c"]
    assert cells(r"a | b \|") == ["a", "b |"]


@pytest.mark.parametrize("code", [coded, cell_text])
def test_in_code_a_cell_shows_its_words_without_markdown(code: Cell) -> None:
    assert [code(cell) for cell in (r"Fool\*", "***Bônus*** ~~2~~ _3_", "`a*b` a_b 2 * 3")] == [
        "Fool*", "Bônus 2 3", "a*b a_b 2 * 3",
    ]  # fmt: skip
    assert (
        code("[SRD](http://x.example/a_b) <http://y.example>")
        == "SRD (http://x.example/a_b) http://y.example"
    )
    assert code("<b>d6</b><br>or <name> &lt; 3") == "d6 or <name> < 3"


@pytest.mark.parametrize("code", [coded, cell_text])
def test_a_cell_does_not_close_its_code_block(code: Cell) -> None:
    assert "```" not in code("`` ``` `` begins code, ~~~~ and ```` do too")


def test_columns_are_aligned_with_numbers_on_the_right() -> None:
    assert laid("| Name | No. |\n|---|--:|\n| **日本** | 7 |\n| x | 1000 | more |\n| y |") == [
        "```\nName   No.\n────  ────  ────\n日本     7\nx     1000  more\ny\n```"
    ]


def test_a_table_too_wide_for_columns_is_a_list_of_records() -> None:
    long = "a cell that is longer than any column can be, and then a little more"
    assert laid(f"| Key | Means |\n|---|---|\n| a | {long} |\n| | {long} |\n| |") == [
        f"-# Key · Means\n- **a**: {long}\n- **{long}**\n-"
    ]


def test_a_column_name_with_a_question_mark_gets_no_colon() -> None:
    long = "a cell that is longer than any column can be, and then more"
    (made,) = laid(f"| Key | Ready? | Price |\n|---|---|---|\n| {long} | yes | free |")
    assert made.endswith("** · Ready? yes · Price: free")


def test_rows_beyond_the_limit_go_to_a_separate_part() -> None:
    source = "| a | b |\n|---|---|\n" + "\n".join(f"| {n:03} | x |" for n in range(40))
    made = laid(source, 100)
    assert len(made) > 3
    assert all(len(part) <= 100 and part.startswith("```\na    b\n") for part in made)
    rows = [line for part in made for line in part.split("\n") if line[:1].isdigit()]
    assert rows == [f"{n:03}  x" for n in range(40)]


def test_widths_are_counted_in_terminal_columns() -> None:
    assert [width_of(one) for one in ("ab", "日本", "é", "e\u0301")] == [2, 4, 1, 1]
