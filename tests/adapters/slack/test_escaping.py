"""Untrusted text on Slack: it pings nobody, and none of its links misleads."""

from __future__ import annotations

import html
import random
import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.adapters.markdown import is_misleading
from bot.adapters.slack.text.escaping import cost, literal, plain, size
from bot.adapters.slack.text.markdown import line, mrkdwn, safe
from tests.adapters.slack.looks import CALLS, MARKS, markdown
from tests.fakes.slack import texts

COMMONMARK = MarkdownIt("commonmark").enable("table").enable("strikethrough")
EVIL = "https://evil.example"

TRICKS = [
    f"[https://bank.example]({EVIL})",
    f"[x [y] https://bank.example]({EVIL})",
    f"[bank.example][1]\n\n[1]: {EVIL}",
    f"> [1]: {EVIL}\n\n[1] bank.example",
    f"a ` b\n`[bank.example]({EVIL})`",
    f"`a` [bank.example\n]({EVIL})",
    f"\\`[bank.example]({EVIL})\\`",
    f"<{EVIL}|bank.example>",
    f"&lt;{EVIL}|bank.example&gt;",
    f"&#91;bank.example&#93;({EVIL})",
    f"[bank.example&#93;({EVIL})",
    f"~~~a`\n[bank.example]({EVIL})\n~~~",
    f"```\n[bank.example]({EVIL})",
    f"> ```\n> x\n[bank.example]({EVIL})",
    f"| [bank.example]({EVIL}) | `\n|---|---|\n| b | ` |",
    f'<a href="{EVIL}">bank.example</a>',
    f"![bank.example]({EVIL})",
    f"[ba\u200bnk.example]({EVIL})",
    f"[\uff42ank.example]({EVIL})",
    f"[1]({EVIL})",
    f"[[bank.example]\\[x]({EVIL})",
    f"[bank.example \\![x]({EVIL})",
]
PARTS = [
    "[",
    "]",
    "(",
    ")",
    "`",
    "``",
    "\\",
    "!",
    "<",
    ">",
    " ",
    "\n",
    "\n\n",
    "&#96;",
    "&#93;",
    "*",
    "~~~",
    "> ",
    "|",
]


def walk(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from walk(token.children or [])


def links(text: str) -> list[tuple[str, str]]:
    """The links that CommonMark finds, HTML excepted: their texts and targets."""
    found, tokens = [], list(walk(COMMONMARK.parse(text)))
    for at, one in enumerate(tokens):
        assert one.type not in ("html_inline", "html_block"), one.content
        if one.type == "link_open" and one.markup != "autolink":
            end = next(n for n in range(at, len(tokens)) if tokens[n].type == "link_close")
            said = "".join(token.content for token in tokens[at + 1 : end])
            found.append((said, str(one.attrs["href"])))
    return found


def honest(text: str) -> bool:
    """Whether all links of the Markdown, and of the mrkdwn made from it, lead where they seem to lead."""
    shown = mrkdwn(text)
    assert not re.search(r"<(?!https?://[^<>]*>)", shown)
    marked = [
        (html.unescape(label), html.unescape(url)) for url, label in re.findall(r"<([^<>|]+)\|(.*?)>", shown)
    ]
    return not any(is_misleading(label, url) for label, url in [*links(safe(text)), *marked])


@pytest.mark.parametrize("trick", TRICKS)
def test_no_trick_makes_a_link_that_misleads(trick: str) -> None:
    assert honest(trick)
    assert "evil.example" in safe(trick)


def test_no_altered_trick_makes_a_link_that_misleads() -> None:
    dice = random.Random(6)
    for _ in range(400):
        trick = dice.choice(TRICKS)
        for _ in range(dice.randint(1, 4)):
            at = dice.randint(0, len(trick))
            trick = trick[:at] + dice.choice(PARTS) + trick[at:]
        assert honest(trick), trick


def test_an_honest_link_stays_a_link() -> None:
    text = "See [the rules](https://a.example/x?b=1&c=2) and <https://b.example>."
    assert safe(text) == text
    assert mrkdwn(text) == "See <https://a.example/x?b=1&amp;c=2|the rules> and <https://b.example>."


@pytest.mark.parametrize(
    "around",
    ["{}", "`{}`", "```\n{}\n```", "\\{}", "| a |\n|---|\n| {} |", "> # {}", "[{}](https://a.example)"],
)
def test_no_mention_survives_anywhere(around: str) -> None:
    for call in CALLS:
        text = around.format(call)
        for shown in (safe(text), mrkdwn(text), line(text, 200), literal(text), plain(text, 200)):
            assert not texts.pings(shown, parsed=True)
        # A client that reads entities where Slack documents none finds no mention either.
        for shown in (safe(text), plain(text, 200)):
            assert not texts.pings(html.unescape(shown), parsed=True)


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.text(max_size=200), markdown([*CALLS, *MARKS])))
def test_no_generated_text_pings_anybody(text: str) -> None:
    for shown in (safe(text), mrkdwn(text), literal(text), plain(text, 500), line(text, 500)):
        assert not texts.pings(shown, parsed=True)
    assert not re.search(r"<(?!https?://[^<>]*>)|&(?!amp;|lt;|gt;)", literal(text))
    assert size(mrkdwn(text)) <= cost(safe(text))


@given(st.text(max_size=300), st.integers(2, 120))
def test_cut_texts_keep_to_their_length(text: str, most: int) -> None:
    for shown in (
        literal(text + "&<>*" * 90, most),
        plain(text + "x" * 200, most),
        line(text + "&<>*" * 90, most),
    ):
        assert size(shown) <= most


def test_literal_text_loses_its_markup_and_nothing_else() -> None:
    assert literal("**bold** _em_ <b> & `x` [a](https://b.example)").replace("\u200b", "") == (
        "bold _em_ &lt;b&gt; &amp; ˋxˋ [a](https://b.example)"
    )
    assert plain(" two\nlines <@U1>", 75) == "two lines <\u200b@U1>"


def test_html_and_comparisons_are_shown_as_they_are_written() -> None:
    shown = safe("a <b>bold</b> claim, x<y, 1 < 2 &amp; &lt;i&gt;, AT&T, Tom &nbsp;Bombadil")
    assert shown.replace("\u200b", "") == "a <b>bold</b> claim, x<y, 1 < 2 & <i>, AT&T, Tom Bombadil"
    assert mrkdwn("a <b> & c").replace("\u200b", "") == "a &lt;b&gt; &amp; c"
