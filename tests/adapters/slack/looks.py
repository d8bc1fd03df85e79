"""Whether Slack would accept a page, and whom it would ping, by the rules of the loopback service."""

from __future__ import annotations

from itertools import count

from hypothesis import strategies as st

from bot.adapters.slack.text.escaping import size
from bot.adapters.slack.text.page import TEXT, Page
from bot.adapters.stage_content import PageContext
from bot.words import words
from tests.fakes.slack import block_rules, texts

RUN = "1a2b3c4d" * 4
SAY = words("en")
FACTS = PageContext(run=RUN, say=SAY)

CALLS = [
    *(
        "<!channel>",
        "<!here>",
        "<!everyone|all>",
        "<!subteam^S1|@team>",
        "<@U123>",
        "<@W1|ana>",
        "<#C1|general>",
    ),
    *(
        "<!date^1392734382^{date}^https://e.com|x>",
        "<mailto:a@e.com|b>",
        "<https://e.com|bank.com>",
        "@here",
        "@",
    ),
    *(
        "@channel",
        "@EVERYONE",
        "&lt;!channel&gt;",
        "&#60;@U1&#62;",
        "&amp;lt;!here&gt;",
        "&#64;here",
        "<",
        ">",
        "!",
    ),
    *("channel", "here", "U123", "&lt;", "&", "lt;", "#60;", "[x](<!here>)", "[<!channel>](https://e.com)"),
]
MARKS = [
    *(
        "```",
        "```py",
        "~~~",
        "````",
        "`",
        "``",
        "\\",
        "*",
        "**",
        "_",
        "~~",
        "> ",
        "- ",
        "1. ",
        "  - ",
        "# ",
        "#### ",
    ),
    *(
        "| a | b |",
        "|---|--:|",
        "| long cell " * 9,
        "|",
        "[1]",
        "[1][22]",
        "[1]: https://e.com",
        "---",
        "===",
    ),
    *(
        "[x](https://e.com/a)",
        "[e.com](https://f.com)",
        "![i](https://x.y/z)",
        "(https://a.b/c)",
        "<https://e.com>",
    ),
    *(
        "[",
        "]",
        "](",
        ")",
        "](https://e.com/b)",
        "<b>",
        "</b>",
        "<br>",
        "<!--",
        "https://",
        "https://e.com/@here",
    ),
    *("😀", "é", "\u202e", "\u200b", "\u2028", "\r\n", "\x1b]0;", "\x07", "\t", " ", "\n", "\n\n"),
    *(
        "word",
        "two words ",
        "verylongword" * 30,
        "日本語" * 40,
        "a sentence that goes on. " * 12,
        "&" * 90,
        "<" * 50,
    ),
]


def markdown(tokens: list[str]) -> st.SearchStrategy[str]:
    """Texts of up to some pages."""
    line = st.lists(st.sampled_from(tokens), max_size=8).map("".join)
    block = st.lists(line, min_size=1, max_size=6).map("\n".join)
    repeated = st.tuples(block, st.sampled_from([1, 1, 1, 1, 30])).map(
        lambda repeated: "\n\n".join([repeated[0]] * repeated[1])
    )
    return st.lists(repeated, max_size=5).map(lambda paragraphs: "\n\n".join(paragraphs)[:20_000])


def fits(page: Page) -> bool:
    """Whether Slack accepts the page in all its forms; raises Slack's refusal otherwise."""
    number = count()

    def new_id(kind: str) -> str:
        return f"{kind}{next(number)}"

    if not page.files:
        assert block_rules.accept(page.blocks, new_id)
    if page.buttons_plain:
        assert block_rules.accept(list(page.buttons_plain), new_id)
    return 0 < size(page.plain) <= TEXT


def called(page: Page) -> list[str]:
    """Whom any form of the page would ping, even if Slack were asked to look for names in its text."""
    pings = texts.pings(page.plain, parsed=True) + texts.pings(page.body, parsed=True)
    pings += texts.block_pings([*page.blocks, *page.buttons_plain])
    return [*pings, *(ping for words in texts.words(page.blocks) for ping in texts.pings(words, parsed=True))]


def buttons(page: Page) -> list[str]:
    """The labels of the page's buttons, in order."""
    return [
        one["text"]["text"]
        for node in texts.walk(page.blocks)
        for one in (
            [node]
            if node.get("type") == "button"
            else [node["positive_button"], node["negative_button"]]
            if node.get("type") == "feedback_buttons"
            else []
        )
    ]
