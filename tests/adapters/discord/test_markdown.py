"""Untrusted Markdown prepared for Discord: as it was meant, and harmless."""

from __future__ import annotations

import pytest

from bot.adapters.discord.text.markdown import inline, literal, pieces, size
from bot.adapters.markdown import pack, shortened

LIMIT = 1_000


def shown(markdown: str, limit: int = LIMIT) -> str:
    (part,) = pack(pieces(markdown, limit), limit, size)
    return part


def parts(markdown: str, limit: int) -> list[str]:
    return pack(pieces(markdown, limit), limit, size)


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("# One\n## Two\n### Three", "# One\n## Two\n### Three"),
        ("#### Four\n###### **Six** ##", "**Four**\n**Six**"),
        ("+ a\n+ b", "- a\n- b"),
        ("1) a\n2) b", "1. a\n2. b"),
        ("above\n\n* * *\n\nbelow", f"above\n\n{'─' * 24}\n\nbelow"),
        ("> > nested\n>>> swallowing\n\nafter", "> nested\n> swallowing\n\nafter"),
        (">= 5 is no quote", ">= 5 is no quote"),
    ],
)
def test_markup_that_discord_lacks_is_replaced(written: str, seen: str) -> None:
    assert shown(written) == seen


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("~~~py\nx = 1\n~~~", "```py\nx = 1\n```"),
        ("````md\n```\ninside\n```\n````", "```md\n`\u200b``\ninside\n`\u200b``\n```"),
        ("```py\nnot closed", "```py\nnot closed\n```"),
        ('```py title="a b"\nx\n```', '```\npy title="a b"\nx\n```'),
        ("1. ```sh\n   ls\n   ```\n2. next", "1.\n```sh\n   ls\n```\n2. next"),
        ("- a\n\n  ```sh\n  ls\n  ```", "- a\n\n```sh\nls\n```"),
        ("> ```\n> a\nafter", "```\na\n```\nafter"),
        ("one ``` stray", "one `\u200b`` stray"),
        ("```whole```", "`whole`"),
    ],
)
def test_every_kind_of_code_block_becomes_one_that_discord_knows(written: str, seen: str) -> None:
    assert shown(written) == seen


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("see https://a.example/b.", "see <https://a.example/b>."),
        ("(https://a.example/b_(c))", "(<https://a.example/b_(c)>)"),
        ("<https://a.example>", "<https://a.example>"),
        ("[the book](https://a.example/x)", "[the book](<https://a.example/x>)"),
        ('[it](https://a.example/x "tip")', '[it](<https://a.example/x> "tip")'),
        ("![a map](https://a.example/m.png)", "[a map](<https://a.example/m.png>)"),
        ("[a.example](https://www.a.example/x)", "[a.example](<https://www.a.example/x>)"),
        ("[bank.example](https://evil.example)", "bank.example (<https://evil.example>)"),
        ("[b\u200bank.example](https://evil.example)", "b\u200bank.example (<https://evil.example>)"),
        ("[1](https://evil.example)", "1 (<https://evil.example>)"),
        ("[run](javascript:alert(1))", "run (javascript:alert(1))"),
        ("[next](chapter-2.md)", "next (chapter-2.md)"),
        ("`https://a.example`", "`https://a.example`"),
    ],
)
def test_links_show_their_targets_and_no_previews(written: str, seen: str) -> None:
    assert inline(written) == seen


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("gone<!-- ignore all rules -->", "gone"),
        ("H<sub>2</sub>O<br>and <b>bold</b>", "H2O\nand bold"),
        ("2 < 3 and <goblin>", "2 < 3 and <goblin>"),
        ("a&nbsp;b &amp; c", "a b & c"),
        ("||hidden||", "\\|\\|hidden\\|\\|"),
        ("@everyone <@1> <@&2> <#3>", "@\u200beveryone <\u200b@1> <\u200b@&2> <\u200b#3>"),
        ("@<b></b>everyone &lt;@1>", "@\u200beveryone <\u200b@1>"),
        ("holds [1][2], too [3]", "holds `[1][2]`, too `[3]`"),
        ("`list[1]`", "`list[1]`"),
        (r"\*not italic\*", r"\*not italic\*"),
    ],
)
def test_html_spoilers_and_mentions_have_no_effect(written: str, seen: str) -> None:
    assert inline(written) == seen


def test_a_table_becomes_aligned_columns() -> None:
    table = "| Die | Mean |\n|:--|--:|\n| **d6** | 3.5 |\n| `d20` \\| 日本 | 10.5 [1] |"
    assert shown(table) == (
        "```\nDie             Mean\n──────────  ────────\nd6               3.5\nd20 | 日本  10.5 [1]\n```"
    )


def test_a_table_directly_below_a_sentence_is_recognised() -> None:
    assert "a  b\n─  ─\n1  2" in shown("So:\n| a | b |\n|---|---|\n| 1 | 2 |")


def test_a_wide_table_becomes_records() -> None:
    long = "a sentence that no column of sixty characters could hold, however it is put"
    table = f"| Name | Effect | Save |\n|---|---|---|\n| Bane | {long} | Cha |\n| Bless | {long}, {long} | |"
    assert shown(table) == (
        "-# Name · Effect · Save\n"
        f"- **Bane** · Effect: {long} · Save: Cha\n"
        "- **Bless**\n"
        f"  - Effect: {long}, {long}"
    )


def test_a_long_table_repeats_its_header_and_grows_without_changing_full_parts() -> None:
    rows = [f"| creature {n} | {n} |" for n in range(60)]
    grown = [parts("| a | b |\n|---|---|\n" + "\n".join(rows[:n]), 200) for n in (40, 60)]
    assert len(grown[0]) > 3
    assert all(part.startswith("```\na") and part.endswith("\n```") for part in grown[1])
    assert grown[1][: len(grown[0]) - 1] == grown[0][:-1]


def test_a_heading_stays_with_its_text() -> None:
    made = parts("x" * 70 + "\n\n## Next\n\n" + "y" * 40, 100)
    assert made == ["x" * 70, "## Next\n" + "y" * 40]


def test_a_cut_neither_creates_a_heading_nor_ends_a_quotation() -> None:
    made = parts("word " * 20 + "# no heading " + "word " * 20, 102)
    assert not any(part.startswith("#") for part in made)
    quoted = parts("> " + "w" * 300, 100)
    assert len(quoted) > 2
    assert all(part.startswith("> ") and len(part) <= 100 for part in quoted)


def test_untrusted_words_are_escaped() -> None:
    assert literal("**Bold** _x_ # [a](b) `c` ||d||") == r"Bold \_x\_ # \[a\](b) \`c\` \|\|d\|\|"
    assert (
        literal("> @everyone\n# https://a.example/b_c.") == "\\> @\u200beveryone # <https://a.example/b_c>."
    )


def test_words_are_cut_after_a_word_by_utf_16_units() -> None:
    assert size("aé😀") == 4
    assert shortened("one two three", 20, size) == "one two three"
    assert shortened("one two three", 11, size) == "one two …"
    assert size(shortened("😀" * 30, 20, size)) <= 20


def test_indented_columns_and_a_quoted_table_go_out_as_code() -> None:
    columns = "Look:\n\n    Name    HP\n    Goblin   7\n\nEnd."
    assert [piece.text for piece in pieces(columns, 2_000)] == [
        "Look:",
        "```\nName    HP\nGoblin   7\n```",
        "End.",
    ]
    (quoted,) = pieces("> | a | b |\n> |---|---|\n> | 1 | 2 |", 2_000)
    assert quoted.text.startswith("```\na  b\n")
    for text in (
        "    I walk alone.\n    And sing.",
        "> quoted | words\n> and more",
        "```\n    a   b\n    c   d\n```",
    ):
        assert [piece.text.strip() for piece in pieces(text, 2_000)] == [text.strip()]
