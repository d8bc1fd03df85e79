"""Below a stage's text on Slack: notes, sources, failures, buttons, and the files that follow."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.adapters.footer import Button
from bot.adapters.slack.text import render
from bot.adapters.slack.text.page import rows_of
from bot.adapters.stage_content import StageContent
from bot.events import Attachment, Choice, Choices, Citation, Picture, Status
from bot.words import words
from tests.adapters.slack.looks import FACTS, RUN, SAY, buttons, fits
from tests.fakes.slack import elements, texts

DONE = replace(FACTS, ended="done")
GRAPPLED = Citation(1, "srd.md", "Conditions › Grappled", "- A grappled creature’s **speed** becomes 0.", 358)
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(
    st.text(max_size=300),
    st.lists(st.text(max_size=900), max_size=6),
    st.lists(st.tuples(st.integers(1, 30), st.text(max_size=300), st.text(max_size=900)), max_size=30),
    st.lists(st.tuples(st.text(max_size=200), st.lists(st.text(max_size=120), max_size=30)), max_size=8),
    st.sampled_from(["", "done", "stopped", "failed"]),
    st.sampled_from(["", "It failed. " * 120, "&<" * 600]),
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
    if ended:
        for text in (
            "".join(page.plain for page in made),
            "".join(texts.shown(page.blocks) for page in made),
        ):
            assert all(f"note {n}:" in text for n in range(len(notices)))


def test_a_finished_answer_has_its_sources_and_buttons() -> None:
    sheet = StageContent("answer", "Answer", "Yes, it can cast [1].", citations={1: GRAPPLED}, growing=False)
    sheet.answer = True
    context = replace(DONE, retry=True, feedback=True, private=True, hint="Reply to ask on.")
    (page,) = render.pages(sheet, context)
    assert fits(page)
    assert page.body == "### Answer\nYes, it can cast [1]."
    assert page.plain.split("\n") == [
        "*Answer*",
        "Yes, it can cast [1].",
        "*[1]* srd.md › Conditions › Grappled, p. 358",
        "“A grappled creature’s speed becomes 0.”",
        "Reply to ask on.",
    ]
    assert [block["type"] for block in page.blocks] == [
        "markdown",
        "context",
        "context",
        "actions",
        "context_actions",
    ]
    assert buttons(page) == [
        "🔁 Try again",
        "📖 Sources",
        "📣 Share here",
        "This helped",
        "This did not help",
    ]
    assert (page.passing, page.growing) == ("", False)


def test_a_failure_cannot_be_shared() -> None:
    sheet = StageContent("answer", "Answer", failed="No such book.", growing=False)
    (page,) = render.pages(sheet, replace(DONE, ended="failed", retry=True, private=True))
    assert buttons(page) == ["🔁 Try again"]


def test_both_thumbs_are_one_element_that_reports_the_pressed_one() -> None:
    thumbs = [Button(f"feedback:{RUN}:{verdict}") for verdict in ("up", "down")]
    (block,) = rows_of(thumbs, RUN, words("pt-BR"))
    (element,) = block["elements"]
    assert element["action_id"] == f"feedback:{RUN}"
    assert [element[name]["value"] for name in ("positive_button", "negative_button")] == ["up", "down"]
    button = elements.button([{**block, "block_id": "b"}], "Isto não ajudou")
    assert button[1]["value"] == "down"


def test_the_choices_of_a_run_are_numbered_buttons() -> None:
    groups = [
        Choices("See <!here>", tuple(Choice(f"Heading {n}", "/x") for n in range(7))),
        Choices("Close by", (Choice("w" * 100, "/x"), *(Choice(f"More {n}", "/x") for n in range(9)))),
    ]
    sheet = StageContent("answer", "", "Yes.", choices=groups, first_choice=3, growing=False)
    (page,) = render.pages(sheet, DONE)
    assert fits(page)
    rows = [block["elements"] for block in page.blocks if block["type"] == "actions"]
    assert [len(row) for row in rows] == [5, 2, 3]
    assert [one["action_id"] for row in rows for one in row] == [f"choice:{RUN}:{n}" for n in range(3, 13)]
    assert [button["text"]["text"] for button in rows[2]] == [
        "1. " + "w" * 20 + "…",
        "2. More 0",
        "3. More 1",
    ]
    assert [block["elements"][0]["text"] for block in page.blocks if block["type"] == "context"] == [
        "See &lt;\u200b!here&gt;",
        "\n".join(["Close by", f"1. {'w' * 100}", "2. More 0", "3. More 1"]),
    ]
    assert f"1. {'w' * 100}" in page.plain
    assert not any(
        block["type"] == "actions"
        for block in render.pages(replace(sheet, growing=True), replace(FACTS, last=False))[0].blocks
    )


def test_a_failure_names_its_run() -> None:
    sheet = StageContent(
        "answer", "Answer", "It be", failed="`model` did not answer. @everyone", growing=False
    )
    (page,) = render.pages(sheet, replace(FACTS, ended="failed", retry=True))
    assert page.plain.endswith("`model` did not answer. @\u200beveryone\n`run 1a2b3c4d`")
    assert [block["type"] for block in page.blocks] == ["markdown", "section", "context", "actions"]
    (silent,) = render.pages(replace(sheet, failed=""), replace(FACTS, ended="failed"))
    assert SAY("page.failed") in silent.plain


def test_a_long_failure_below_a_full_page_is_a_separate_message() -> None:
    sheet = StageContent("answer", "", "word " * 600, failed="It failed. " * 100, growing=False)
    text, failure = render.pages(sheet, replace(FACTS, ended="failed", retry=True))
    assert fits(text)
    assert fits(failure)
    assert (text.closing, failure.body) == ((), "")
    assert buttons(failure) == ["🔁 Try again"]


def test_a_stopped_run_and_a_restarted_stage_say_so() -> None:
    sheet = StageContent("answer", "Answer", "It can", growing=False, replaces=True)
    (growing,) = render.pages(replace(sheet, growing=True), FACTS)
    (page,) = render.pages(sheet, replace(FACTS, ended="stopped"))
    for text in (page.plain, texts.shown(page.blocks)):
        assert SAY("page.stopped") in text
        assert SAY("page.replaces") not in text
        assert SAY("page.replaces") in growing.plain
    assert render.pages(replace(sheet, growing=True), replace(FACTS, ended="stopped")) == [page]


def test_only_the_last_stage_and_its_last_page_have_buttons() -> None:
    sheet = StageContent("answer", "Answer", "A sentence. \n\n" * 600, growing=False)
    made = render.pages(sheet, replace(DONE, retry=True))
    assert [bool(buttons(page)) for page in made] == [False] * (len(made) - 1) + [True]
    assert not any(map(buttons, render.pages(sheet, replace(FACTS, last=False))))


def test_a_closed_stage_posts_each_file_under_a_distinct_name() -> None:
    files: list[Picture | Attachment] = [
        Picture("pacing <!here>.png", b"png", "Scenes by *length* <!channel>"),
        Attachment("açúcar.txt", "text/plain", b"1"),
        Attachment("pacing _!here_.png", "image/png", b"2"),
    ]
    sheet = StageContent("chart", "Chart", "Here.", files=files)
    assert not any(page.files for page in render.pages(sheet, FACTS))
    text, *made = render.pages(replace(sheet, growing=False), replace(DONE, retry=True))
    assert buttons(text) == ["🔁 Try again"]
    assert [file for page in made for file in page.files] == [
        ("pacing _here_.png", b"png"),
        ("açúcar.txt", b"1"),
        ("pacing __here_.png", b"2"),
    ]
    assert made[0].body == "Scenes by \\*length\\* <\u200b!channel>"
    assert made[0].plain == "Scenes by *\u200blength*\u200b &lt;\u200b!channel&gt;"
    assert (made[1].body, made[1].plain) == ("", "açúcar.txt")
    alone, file, *_ = render.pages(StageContent("chart", "", files=files[1:], growing=False), DONE)
    assert (
        alone.plain == "📎 açúcar.txt, pacing \\_!here\\_.png".replace("\\", "")
        or "açúcar.txt" in alone.plain
    )
    assert file.files == (("açúcar.txt", b"1"),)


def test_files_that_may_not_be_sent_are_named() -> None:
    sheet = StageContent(
        "chart", "Chart", "Here.", files=[Attachment("a<b.txt", "text/plain", b"")], growing=False
    )
    (page,) = render.pages(sheet, replace(DONE, no_files="files:write"))
    assert SAY("page.no_files", names="a&lt;\u200bb.txt", permission="files:write") in page.plain


@pytest.mark.parametrize("text", ["", "\u200b", "Here."])
def test_many_notes_are_split_into_several_messages(text: str) -> None:
    notices = [f"Note {n}: " + "word " * 110 for n in range(12)]
    made = render.pages(
        StageContent("first", "", text, notices=notices, failed="Why. " * 200, growing=False), DONE
    )
    assert all(map(fits, made))
    for whole in ("".join(page.plain for page in made), "".join(texts.shown(page.blocks) for page in made)):
        assert [whole.count(f"Note {n}:") for n in range(12)] == [1] * 12


def test_links_of_the_adapter_stay_links() -> None:
    link = "→ <#C123> <https://team.slack.com/archives/C1/p1|Answer>"
    (page,) = render.pages(StageContent("answer", "", "Here.", links=[link], growing=False), DONE)
    assert link in page.plain
    assert link in texts.shown(page.blocks)


def test_a_source_on_the_web_has_a_link() -> None:
    cited = Citation(1, "bees.txt", "Bees › 5. Swarming", "", link="https://x.org/5")
    (page,) = render.pages(StageContent("answer", "", "Yes [1].", citations={1: cited}, growing=False), DONE)
    assert fits(page)
    assert "*[1]* bees.txt › Bees › 5. Swarming · <https://x.org/5|open>" in page.plain.split("\n")
