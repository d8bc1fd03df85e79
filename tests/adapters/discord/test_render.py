"""A stage as messages on Discord: any text fits, is complete, pings nobody, and grows without flicker."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.adapters.discord.received.placing import Origin
from bot.adapters.discord.text import render
from bot.adapters.discord.text.markdown import size
from bot.adapters.discord.text.page import ANSWER, FAILED, STOPPED, WORKING, Page
from bot.adapters.stage_content import PageContext, StageContent
from bot.events import Attachment, Choice, Choices, Citation, Picture, Status
from bot.words import words
from tests.fakes.discord.component_rules import check_message

RUN = "1a2b3c4d" * 4
SAY = words("en")
FACTS = PageContext(run=RUN, say=SAY)
DONE = replace(FACTS, ended="done")

GRAPPLED = Citation(1, "srd.md", "Conditions › Grappled", "- A grappled creature’s **speed** becomes 0.", 358)

SAFE = [
    *("@everyone", "@here", "<@123456789>", "<@&9>", "<#5>", "</roll:7>", "```", "```py", "~~~", "````"),
    *("||", "> ", ">>> ", "- ", "1. ", "  - ", "# ", "#### ", "| a | b |", "|---|--:|", "| long cell " * 9),
    *(
        "[1]",
        "[1][22]",
        "[x](http://e.com/a)",
        "[e.com](http://f.com)",
        "![i](http://x.y/z)",
        "(https://a.b/c)",
    ),
    *(
        "`",
        "``",
        "\\",
        "*",
        "**",
        "_",
        "~~",
        "😀",
        "é",
        "\u202e",
        "\u200b",
        "\u2028",
        "\t",
        " ",
        "word",
        "two words ",
    ),
    *("verylongword" * 30, "日本語" * 40, "a sentence that goes on. " * 12),
]
HIDES = ["<b>", "</b>", "<br>", "<!--", "-->", "&amp;", "&#39;", "<img src=x>"]


def markdown(tokens: list[str]) -> st.SearchStrategy[str]:
    line = st.lists(st.sampled_from(tokens), max_size=8).map("".join)
    block = st.lists(line, min_size=1, max_size=8).map("\n".join)
    repeated = st.tuples(block, st.sampled_from([1, 1, 1, 40, 400])).map(
        lambda repeated: "\n\n".join([repeated[0]] * repeated[1])
    )
    return st.lists(repeated, max_size=6).map(lambda paragraphs: "\n\n".join(paragraphs)[:60_000])


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def in_order(needle: str, hay: str) -> bool:
    rest = iter(hay)
    return all(letter in rest for letter in needle)


def fits(page: Page) -> bool:
    """Whether Discord accepts the page in both its forms; the fake raises Discord's refusal otherwise."""
    names = {name for name, _ in page.files}
    check_message(page.layout().to_components(), True, names)  # type: ignore[no-untyped-call]
    plain = page.plain_buttons()
    check_message(plain.to_components() if plain else [], False, names)
    return 0 < size(page.plain) <= 2_000 and size(page.text) <= 4_000


def test_growing_and_stopped_answers_have_a_button() -> None:
    stage = StageContent("scene", "Scene 1", "The sea is", meanwhile=(f"meanwhile:{RUN}:0", "Stop card"))
    ended = replace(stage, growing=False)
    shown = {
        ended_as: f"meanwhile:{RUN}:0" in str(render.pages(content, replace(FACTS, ended=ended_as))[-1].rows)
        for content, ended_as in ((stage, ""), (ended, "done"), (ended, "stopped"))
    }
    assert shown == {"": True, "done": False, "stopped": True}


def calls_nobody(text: str) -> bool:
    return not re.search(r"@everyone|@here\b|<[@#]", text, re.IGNORECASE)


def balanced(text: str) -> bool:
    marks = [line for line in text.split("\n") if line.startswith("```")]
    return len(marks) % 2 == 0 and text.count("```") == len(marks)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(markdown([*SAFE, *HIDES]), st.booleans())
def test_any_text_fits_is_balanced_and_pings_nobody(text: str, growing: bool) -> None:
    made = render.pages(
        StageContent("answer", "Answer", text, growing=growing, status=Status("Asking…")), FACTS
    )
    for page in made:
        assert fits(page)
        assert balanced(page.text)
        assert balanced(page.plain)
        assert calls_nobody(page.text + page.plain)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(markdown(SAFE))
def test_every_word_of_any_text_is_shown_in_order(text: str) -> None:
    made = render.pages(StageContent("answer", "", text, growing=False), DONE)
    for whole in ("".join(page.text for page in made), "".join(page.plain for page in made)):
        assert in_order(letters(text), letters(whole))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(
    markdown(["word ", "a sentence. ", "- ", "```", "# ", "| a | b |", "|---|---|", "x" * 90, "[1]"]),
    st.data(),
)
def test_growth_does_not_change_full_pages(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    finished = text[: text.rfind("\n\n", 0, at) + 1]
    after = [page.shown for page in render.pages(StageContent("answer", "Answer", text), FACTS)]
    # An unfinished block may still become a table, or too long for its page.
    for grown, touched in ((finished, 1), (text[:at], 2)):
        before = render.pages(StageContent("answer", "Answer", grown), FACTS)
        full = max(len(before) - touched, 0)
        assert [page.shown for page in before[:full]] == after[:full]


@settings(max_examples=60, deadline=None)
@given(
    st.text(max_size=300),
    st.lists(st.text(max_size=900), max_size=6),
    st.lists(st.tuples(st.integers(1, 30), st.text(max_size=300), st.text(max_size=900)), max_size=30),
    st.lists(st.tuples(st.text(max_size=200), st.lists(st.text(max_size=120), max_size=30)), max_size=8),
    st.sampled_from(["", "done", "stopped", "failed"]),
    st.sampled_from(["", "It failed. " * 120]),
    st.integers(0, 4_000),
)
def test_any_footer_fits_too(
    title: str,
    notices: list[str],
    cited: list[tuple[int, str, str]],
    choices: list[tuple[str, list[str]]],
    ended: str,
    failed: str,
    length: int,
) -> None:
    sheet = StageContent(
        "answer",
        title,
        "word " * (length // 5),
        status=Status(title, 3, 7),
        notices=[f"note {n}: {notice * 9}" for n, notice in enumerate(notices)],
        citations={n: Citation(n, where, where, quote, n) for n, where, quote in cited},
        choices=[
            Choices(prompt, tuple(Choice(label, "/help") for label in labels)) for prompt, labels in choices
        ],
        failed=failed,
        growing=not ended,
        replaces=True,
    )
    context = replace(FACTS, ended=ended, retry=True, feedback=True, private=True, hint=title)
    made = render.pages(sheet, context)
    assert all(fits(page) for page in made)
    assert all(f"note {n}:" in "".join(page.plain for page in made) for n in range(len(notices)))


def test_a_long_answer_is_rendered_in_less_than_a_frame() -> None:
    block = (
        "## Heading\n\n" + "The creature is *grappled* by https://a.example, see [1]. " * 8 + "\n\n"
        "```py\n"
        + "x = 1  # @everyone\n" * 20
        + "```\n\n| a | b |\n|---|---|\n"
        + "| one | **2** |\n" * 20
        + "\n"
    )
    text = "".join(block.replace("Heading", f"Part {n}") for n in range(60))[:40_000]
    sheet = StageContent("answer", "Answer", text)
    took = []
    for _ in range(5):
        start = time.process_time()
        render.pages(sheet, FACTS)
        took.append(time.process_time() - start)
    assert sorted(took)[2] < 0.05


def test_long_paragraphs_take_no_more_messages_than_short_ones() -> None:
    """Discord accepts about four messages in five seconds: twelve half-empty ones would be sixteen seconds late."""
    for block in ("A candle burns for four hours of walking, as it is said there. " * 16, "- A line\n" * 110):
        text = f"{block.rstrip()}\n\n" * (12_000 // len(block))
        made = render.pages(StageContent("answer", "", text, growing=False), DONE)
        assert len(made) <= 7
        said = " ".join(page.plain for page in made)
        assert said.split()[: len(text.split())] == text.split()


def test_a_growing_answer_has_a_mark_of_progress() -> None:
    sheet = StageContent("answer", "Answer", "Yes, it can [1].", status=Status("Reading", 3, 12))
    (page,) = render.pages(sheet, FACTS)
    assert page.text == "### Answer\nYes, it can `[1]`. ▍\n-# Reading  ▰▰▱▱▱▱▱▱▱▱ 3/12"
    assert page.plain == page.text
    assert page.cards[0].colour == WORKING
    assert [button.label for row in page.rows for button in row] == ["Stop"]


def test_a_stage_without_content_says_so() -> None:
    assert [page.plain for page in render.pages(StageContent("answer", ""), FACTS)] == ["-# One moment…"]
    assert render.pages(StageContent("answer", "", growing=False), DONE)[0].plain


def test_a_finished_answer_has_its_sources_and_buttons() -> None:
    other = Citation(2, "spells_and_more.md", "Components", "Yes, it can cast.")
    sheet = StageContent(
        "answer", "Answer", "Yes, it can cast [2][1].", citations={2: other, 1: GRAPPLED}, growing=False
    )
    sheet.answer = True
    context = replace(DONE, retry=True, feedback=True, private=True, hint="Reply to ask on.")
    (page,) = render.pages(sheet, context)
    assert page.text.split("\n") == [
        "### Answer",
        "Yes, it can cast `[2][1]`.",
        "-# `[1]` srd.md › Conditions › Grappled, p. 358",
        "> -# “A grappled creature’s speed becomes 0.”",
        r"-# `[2]` spells\_and\_more.md › Components",  # words that the answer quotes are not quoted again
        "-# Reply to ask on.",
    ]
    assert page.cards[0].colour == ANSWER
    assert [button.label or button.emoji for button in page.rows[0]] == [
        "Try again",
        "Sources",
        "👍",
        "👎",
        "Share here",
    ]


def test_sources_that_do_not_fit_are_behind_a_button() -> None:
    many = {n: replace(GRAPPLED, n=n, quote="A sentence that says much. " * 12) for n in range(1, 60)}
    sheet = StageContent("answer", "Answer", "Yes.", citations=many, growing=False)
    early, last = (render.pages(sheet, context)[-1] for context in (replace(FACTS, last=False), DONE))
    for page in (early, last):
        assert fits(page)
        assert re.search(r"-# \+ \d+ more", page.text)
        assert [button.custom_id for button in page.rows[0]] == [f"sources:{RUN}"]


def test_the_choices_of_a_run_are_numbered_buttons() -> None:
    groups = [
        Choices("See also", tuple(Choice(f"Heading {n}", "/x") for n in range(7))),
        Choices("Close by", (Choice("w" * 100, "/x"), *(Choice(f"More {n}", "/x") for n in range(9)))),
    ]
    (page,) = render.pages(
        StageContent("answer", "", "Yes.", choices=groups, first_choice=3, growing=False), DONE
    )
    assert [len(row) for row in page.rows] == [5, 2, 3]
    assert [button.custom_id for row in page.rows for button in row] == [
        f"choice:{RUN}:{n}" for n in range(3, 13)
    ]
    assert [button.label for button in page.rows[2]] == ["1. " + "w" * 20 + "…", "2. More 0", "3. More 1"]
    assert f"1. {'w' * 100}\n2. More 0\n3. More 1" in page.plain
    assert "-# See also" in page.plain
    assert "-# Close by" in page.plain


def test_a_failure_has_a_separate_card_that_names_the_run() -> None:
    sheet = StageContent(
        "answer", "Answer", "It be", failed="`model` did not answer. @everyone", growing=False
    )
    (page,) = render.pages(sheet, replace(FACTS, ended="failed", retry=True))
    assert page.cards[1].colour == FAILED
    assert page.cards[1].parts == ("`model` did not answer. @\u200beveryone\n-# `run 1a2b3c4d`",)
    (silent,) = render.pages(replace(sheet, failed=""), replace(FACTS, ended="failed"))
    assert SAY("page.failed") in silent.plain


def test_a_long_failure_below_a_full_page_is_a_separate_message() -> None:
    sheet = StageContent("answer", "", "word " * 360, failed="It failed. " * 100, growing=False)
    text, failure = render.pages(sheet, replace(FACTS, ended="failed", retry=True))
    assert fits(text)
    assert fits(failure)
    assert [card.colour for card in failure.cards] == [FAILED, None]


def test_a_stopped_run_and_a_restarted_stage_say_so() -> None:
    sheet = StageContent("answer", "Answer", "It can", growing=False, replaces=True)
    assert SAY("page.replaces") in render.pages(replace(sheet, growing=True), FACTS)[0].plain
    (page,) = render.pages(sheet, replace(FACTS, ended="stopped"))
    assert SAY("page.stopped") in page.plain
    assert SAY("page.replaces") not in page.plain
    assert page.cards[0].colour == STOPPED
    assert render.pages(replace(sheet, growing=True), replace(FACTS, ended="stopped")) == [page]


def test_only_the_last_stage_and_its_last_page_have_buttons() -> None:
    sheet = StageContent("answer", "Answer", "A sentence. \n\n" * 400, growing=False)
    made = render.pages(sheet, replace(DONE, retry=True))
    assert [bool(page.rows) for page in made] == [False] * (len(made) - 1) + [True]
    assert not any(page.rows for page in render.pages(sheet, replace(FACTS, last=False)))


def test_a_closed_stage_has_its_files_under_distinct_names() -> None:
    files: list[Picture | Attachment] = [
        Picture("pacing chart.png", b"png", "Scenes by length"),
        Attachment("açúcar.txt", "text/plain", b"1"),
        Attachment("pacing_chart.png", "image/png", b"2"),
    ]
    sheet = StageContent("chart", "Chart", "Here.", files=files)
    assert not any(page.files for page in render.pages(sheet, FACTS))
    (page,) = render.pages(replace(sheet, growing=False), DONE)
    assert page.files == (("pacing_chart.png", b"png"), ("a_car.txt", b"1"), ("pacing_chart-2.png", b"2"))
    assert "-# Scenes by length" in page.plain


def test_an_invalid_file_is_named_and_many_files_take_another_message() -> None:
    small = [Attachment(f"{n}.txt", "text/plain", b"x") for n in range(12)]
    large = Attachment("book.bin", "application/octet-stream", bytes(11 * 1024 * 1024))
    made = render.pages(StageContent("files", "Files", "Here.", files=[*small, large], growing=False), DONE)
    assert [len(page.files) for page in made] == [10, 2]
    assert SAY("page.too_large", name="book.bin", size=11) in made[-1].plain


@pytest.mark.parametrize("text", ["", "\u200b", "Here."])
def test_many_notes_are_split_into_several_messages(text: str) -> None:
    notices = [f"Note {n}: " + "word " * 110 for n in range(6)]
    made = render.pages(
        StageContent("first", "", text, notices=notices, failed="Why. " * 200, growing=False), DONE
    )
    assert all(map(fits, made))
    assert all(part for page in made for card in page.cards for part in card.parts)
    assert [f"Note {n}:" in "".join(page.plain for page in made) for n in range(6)] == [True] * 6


def asked(words: str) -> Origin:
    return Origin("thread", 2, 9, user=5, asked=words)


def test_the_asker_is_named_and_the_question_is_quoted_harmlessly() -> None:
    page = render.root_page(asked("Can it?\n# @everyone [x](https://a.example)"), SAY, 77)
    assert page.plain.split("\n") == [
        "<@5> asked:",
        "> Can it?",
        "> \\# @\u200beveryone \\[x\\](<https://a.example>)",
        "-# It continues in <#77>.",
    ]
    assert render.root_page(asked(""), words("pt-BR")).text == "<@5> perguntou:"
    assert "> /party play Mira" in render.root_page(asked("/story play Mira"), SAY).text
    assert "> /mesa entrar" in render.root_page(asked("/story join"), words("pt-BR")).text
    assert "> /library add" in render.root_page(asked("/library add"), SAY).text
    assert size(render.root_page(asked("a_b " * 2_000), SAY, 77).plain) < 2_000


def test_texts_of_three_byte_letters_keep_below_discords_limit_of_bytes() -> None:
    cited = {n: Citation(n, "規則.md", "章", "別の引用文。" * 60, n) for n in range(1, 13)}
    sheet = StageContent("answer", "答え", text="規則の本文である。" * 200, citations=cited, growing=False)
    assert all(map(fits, render.pages(sheet, DONE)))


def test_a_source_on_the_web_has_a_link() -> None:
    cited = {
        1: Citation(1, "bees.txt", "Bees › 5. Swarming", "", link="https://x.org/a_(b)"),
        2: Citation(2, "bees.txt", "Bees", "", link="javascript:alert(1)"),
        3: Citation(3, "bees.txt", "Bees", "", link="https://x.org/" + "a" * 900),
    }
    (page,) = render.pages(StageContent("answer", "", "Yes [1].", citations=cited, growing=False), DONE)
    assert page.text.split("\n")[1:4] == [
        "-# `[1]` bees.txt › Bees › 5. Swarming · [open](<https://x.org/a_%28b%29>)",
        "-# `[2]` bees.txt › Bees",
        "-# `[3]` bees.txt › Bees",
    ]
