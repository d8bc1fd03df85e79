"""The sources under an answer on Slack: all that fit, each once, quoted unless the answer quotes them."""

from __future__ import annotations

import re
from dataclasses import replace

from bot.adapters.slack.text import render
from bot.adapters.slack.text.escaping import size
from bot.adapters.slack.text.page import SMALL, small
from bot.adapters.slack.text.render import FOOTER
from bot.adapters.stage_content import StageContent
from bot.events import Citation
from tests.adapters.slack.looks import FACTS, RUN, SAY, called, fits
from tests.fakes.slack import block_rules, texts

GRAPPLED = Citation(1, "srd.md", "Conditions › Grappled", "- A grappled creature’s **speed** becomes 0.", 358)


def test_sources_are_numbered_and_quoted_unless_the_answer_quotes_them() -> None:
    other = Citation(2, "spells_and_more.md", "Components", "Yes, it can cast.")
    sources = FOOTER.sources({2: other, 1: GRAPPLED}, "Yes, it can cast [2][1].", SAY)
    assert [whole for _, whole in sources] == [
        "*[1]* srd.md › Conditions › Grappled, p. 358\n“A grappled creature’s speed becomes 0.”",
        "*[2]* spells_and_more.md › Components",
    ]


def test_in_little_room_quotations_are_left_out_before_sources() -> None:
    sources = FOOTER.sources({n: replace(GRAPPLED, n=n) for n in range(1, 10)}, "", SAY)
    whole, hidden = FOOTER.fitting(sources, 2_000, SAY, quotes=True)
    assert (whole.count("“"), hidden) == (9, 0)
    short, hidden = FOOTER.fitting(sources, 500, SAY, quotes=True)
    assert hidden > 0
    assert short.endswith(f"\n{SAY('page.more', n=hidden)}")
    assert [
        size(FOOTER.fitting(sources, room, SAY, quotes=True)[0]) <= room for room in range(0, 900, 7)
    ] == [True] * 129


def test_the_list_is_one_valid_block_that_pings_nobody() -> None:
    wild = {
        n: Citation(n, "<!here>" * 30, "@channel & <@U1>" * 20, "> # <!subteam^S1> *x* " * 40, n)
        for n in range(40)
    }
    listed, hidden = FOOTER.fitting(FOOTER.sources(wild, "", SAY), SMALL, SAY, quotes=True)
    blocks = [small(listed)]
    assert block_rules.accept(blocks, lambda kind: kind)
    (shown,) = texts.words(blocks)
    assert size(shown) <= SMALL
    assert hidden > 0
    assert texts.block_pings(blocks) == texts.pings(shown, parsed=True) == []
    assert FOOTER.fitting([], 1_000, SAY, quotes=True) == ("", 0)


def test_sources_that_do_not_fit_are_behind_a_button() -> None:
    many = {n: replace(GRAPPLED, n=n, quote="A sentence that says much. " * 12) for n in range(1, 60)}
    sheet = StageContent("answer", "Answer", "Yes.", citations=many, growing=False)
    for context in (replace(FACTS, last=False), replace(FACTS, ended="done")):
        (page,) = render.pages(sheet, context)
        assert fits(page)
        assert called(page) == []
        assert re.search(r"\+ \d+ more", texts.shown(page.blocks))
        (row,) = [block for block in page.blocks if block["type"] == "actions"]
        assert [element["action_id"] for element in row["elements"]] == [f"sources:{RUN}"]
