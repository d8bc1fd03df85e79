"""A stage as messages on Slack: any text fits, is complete, pings nobody, and grows by its new part only."""

from __future__ import annotations

import html
import re
import time
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.adapters.footer import Button
from bot.adapters.slack.text import render
from bot.adapters.slack.text.escaping import cost
from bot.adapters.slack.text.page import TEXT, Page, Task, actions_of
from bot.adapters.slack.text.render import BODY
from bot.adapters.stage_content import StageContent
from bot.commands import WORKS
from bot.events import Attachment, Choice, Choices, Citation, Picture, Status
from bot.words import LOCALES, words
from tests.adapters.slack.looks import CALLS, FACTS, MARKS, RUN, SAY, buttons, called, fits, markdown
from tests.fakes.slack import texts

DONE = replace(FACTS, ended="done")
GRAPPLED = Citation(1, "srd.md", "Conditions › Grappled", "- A grappled creature’s **speed** becomes 0.", 358)
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
PROSE = [
    *(
        "word ",
        "a sentence that says something. " * 9,
        "- ",
        "# ",
        "> ",
        "**",
        "`",
        "1. ",
        "\n",
        "\n\n",
        "日本語 ",
    ),
    *("[1]", "[x](https://a.example)", "```\n", "x" * 90, "é", "&", "<", "https://a.example/b "),
]


def letters(text: str) -> str:
    return "".join(letter for letter in html.unescape(text).replace("ˋ", "") if letter.isalnum())


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(markdown([*CALLS, *MARKS]), st.booleans())
def test_any_text_fits_and_pings_nobody(text: str, growing: bool) -> None:
    sheet = StageContent(
        "answer",
        text[:90],
        text,
        status=Status(text[:400]),
        notices=[text[:300]],
        failed=text[300:600],
        growing=growing,
    )
    sheet.citations = {1: Citation(1, text[:80], text[80:160], text[200:500])}
    sheet.choices = [Choices(text[:50], (Choice(text[50:150], "/help"),))]
    sheet.files = [Picture(text[:40], b"", text[:200]), Attachment(text[40:80], "text/plain", b"")]
    for page in render.pages(sheet, replace(FACTS, ended="" if growing else "failed", hint=text[:100])):
        assert fits(page)
        assert called(page) == []
        assert cost(page.body) <= BODY
        assert not any(texts.pings(name, parsed=True) for name, _ in page.files)
    asked = render.root_page(text, text[:60], SAY, tasks=[Task("a", text[:400], "complete")], title=text)
    assert fits(asked)
    assert called(asked) == []


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(markdown(PROSE), st.data())
def test_a_text_in_pieces_only_grows_without_losses_or_repeats(text: str, data: st.DataObject) -> None:
    text = text[:12_000]
    ends = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    cuts = [match.end() for match in re.finditer("\n", text) if "```" not in text][
        :: data.draw(st.integers(1, 40))
    ]
    before: list[Page] = []
    for end in [*ends, len(text), None]:
        sheet = StageContent("answer", "", text[:end], growing=end is not None)
        sheet.cuts = [at for at in cuts if at <= len(sheet.text)]
        made = render.pages(sheet, FACTS if sheet.growing else DONE)
        assert len(made) >= len(before)
        for was, now in zip(before, made, strict=False):
            assert now.body.startswith(was.body)
            if now is not made[-1] and not was.growing:
                assert now.shown == was.shown
        assert [page.growing for page in made] == [False] * (len(made) - 1) + [sheet.growing]
        before = made
    assert letters("".join(page.body for page in before)) == letters(text)
    plain = "".join(page.plain for page in before)
    assert letters(plain.replace("https://a.example|x", "xhttps://a.example")) == letters(
        text
    ) or not letters(text)


def test_a_cut_text_continues_in_another_message() -> None:
    text = "One.\n\nTwo is *longer*.\nThree."
    sheet = StageContent("answer", "Answer", text, cuts=[6, text.index("Three")])
    assert [page.body for page in render.pages(sheet, FACTS)] == ["### Answer\nOne.", "Two is *longer*."]
    sheet.growing = False
    assert [page.body for page in render.pages(sheet, DONE)] == [
        "### Answer\nOne.",
        "Two is *longer*.",
        "Three.",
    ]


def test_messages_end_between_blocks_and_split_code_is_reopened() -> None:
    sheet = StageContent("answer", "", "A paragraph of some length.\n\n" * 150, growing=False)
    made = render.pages(sheet, DONE)
    assert all(page.body.endswith("length.") for page in made)
    assert {page.body.startswith("A paragraph") for page in made} == {True}
    code = "```py\n" + "".join(f"x = {n}\n" for n in range(900)) + "```"
    made = render.pages(replace(sheet, text=code), DONE)
    assert len(made) > 2
    for page in made:
        assert page.body.startswith("```py\nx = ")
        assert page.body.endswith("\n```")
        assert page.plain.count("```") == 2
    growing = render.pages(replace(sheet, text=code[:500], growing=True), FACTS)[0]
    assert growing.body.count("```") == 1
    # A plain text is never extended, so it may close the open code block.
    assert growing.plain.count("```") == 2


def test_a_heading_stays_with_its_text() -> None:
    for length in range(2_300, 3_300, 60):
        text = "word " * (length // 5) + "\n\n# Heading\n\n" + "Under it. " * 30
        made = render.pages(StageContent("answer", "", text, growing=False), DONE)
        assert not any(page.body.endswith("# Heading") for page in made)


def test_a_long_answer_is_rendered_quickly() -> None:
    block = (
        "## Heading\n\n" + "The creature is *grappled* by https://a.example, see [1]. " * 8 + "\n\n"
        "```py\n"
        + "x = 1  # @everyone\n" * 20
        + "```\n\n| a | b |\n|---|---|\n"
        + "| one | **2** |\n" * 20
        + "\n"
    )
    text = "".join(block.replace("Heading", f"Part {n}") for n in range(60))[:40_000]
    took = []
    for _ in range(5):
        start = time.process_time()
        render.pages(StageContent("answer", "Answer", text), FACTS)
        took.append(time.process_time() - start)
    assert min(took) < 0.15


def test_one_more_row_of_a_long_table_costs_little() -> None:
    """The whole table is laid out again with each row, but its cells are not."""
    rows = [f"| word {n} | **other** {n * 7} | third {n} |" for n in range(400)]
    took = []
    for more in range(8):
        text = "\n".join(["| a | b | c |", "|---|---|---|", *rows[: 392 + more], ""])
        start = time.process_time()
        render.pages(StageContent("answer", "", text), FACTS)
        took.append(time.process_time() - start)
    assert min(took[1:]) < 0.8 * took[0]


def test_a_growing_answer_has_a_mark_of_progress() -> None:
    sheet = StageContent("answer", "Answer", "Yes, it can [1].\n", status=Status("Reading", 3, 12))
    (page,) = render.pages(sheet, FACTS)
    assert page.body == "### Answer\nYes, it can [1]."
    assert page.passing == "Reading  ▰▰▱▱▱▱▱▱▱▱ 3/12"
    (line,) = (
        page.blocks[-1]["elements"] if page.blocks[-1]["type"] == "context" else page.blocks[1]["elements"]
    )
    assert line["verbatim"], "otherwise Slack looks for names in the text itself"
    assert page.plain == f"*Answer*\nYes, it can [1].\n{page.passing}"
    assert buttons(page) == ["⏹️ Stop"]
    assert page.closing == page.buttons_plain == (actions_of([Button(f"stop:{RUN}", "Stop", "⏹️")]),)
    assert page.growing


def test_a_stage_without_content_says_so() -> None:
    (page,) = render.pages(StageContent("answer", ""), FACTS)
    assert (page.body, page.passing, page.plain) == ("", SAY("page.working"), SAY("page.working"))
    for text in ("", "Hal", "| a |"):  # held back
        assert render.pages(StageContent("answer", "Answer", text), FACTS)[0].passing == SAY("page.working")
    (nothing,) = render.pages(StageContent("answer", "", growing=False), DONE)
    assert texts.shown(nothing.blocks) == nothing.plain == SAY("page.nothing")


def test_the_asker_is_named_and_the_question_is_quoted_harmlessly() -> None:
    page = render.root_page("Can *it*?\n\n# @everyone [x](https://a.example)", "Ana_*B <@U1>", SAY)
    assert page.body.split("\n") == [
        "**Ana\\_\\*B <\u200b@U1>** asked:",
        "> Can \\*it\\*?",
        "> \\# @\u200beveryone [x]\u200b(https://a.example)",
    ]
    assert page.plain.replace("\u200b", "").startswith("*Ana_*B &lt;@U1&gt;* asked:\n> Can *it*?\n> # @every")
    assert render.root_page("", "Bia", words("pt-BR")).body == "**Bia** perguntou:"
    assert fits(render.root_page("a_b &" * 2_000, "Ana", SAY))


def test_a_question_to_a_council_has_its_plan_below() -> None:
    tasks = [Task(f"stage-{n}", f"Stage {n}", "complete") for n in range(60)] + [
        Task("last", "", "in_progress")
    ]
    page = render.root_page("Which?", "Ana", SAY, tasks=tasks)
    assert fits(page)
    (plan,) = page.closing
    assert (plan["title"], len(plan["tasks"])) == (SAY("slack_page.plan"), 50)
    assert plan["tasks"][-1] == {
        "type": "task_card",
        "task_id": "last",
        "title": "…",
        "status": "in_progress",
    }


def test_an_example_has_slacks_command_and_portuguese_words() -> None:
    say = words("pt-BR")
    shown = render.help_page(say, "story start", "sutradhar").body
    assert "`/story começar Um faroleiro encontra uma porta no mar --tom sinistro`" in shown
    assert "`@sutradhar library add`" in render.help_page(say, "library add", "sutradhar").body


@pytest.mark.parametrize("locale", LOCALES)
def test_the_help_of_each_work_fits_a_message_in_whole_lines(locale: str) -> None:
    say = words(locale)
    for topic in ("", *WORKS):
        page = render.help_page(say, topic, "sutradhar")
        assert len(page.body) < 12_000, "one markdown block"
        assert len(page.plain) <= TEXT
        assert not [line for line in page.plain.splitlines() if line.count("`") % 2], topic
    assert "`@sutradhar course add`" in render.help_page(say, "course", "sutradhar").body
    shown = render.help_page(say, "story", "sutradhar")
    assert shown.body.startswith(f"### {say('verbs.heading_play')}\n")
    assert shown.plain.startswith(f"*{say('verbs.heading_play')}*\n")
