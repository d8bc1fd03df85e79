"""How the terminal shows the events of a run."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.adapters.terminal.conversation import Conversation
from bot.adapters.terminal.markdown import Ink, MarkdownStream, width_of
from bot.adapters.terminal.view import Pace, Stages, TerminalView, citation, progress
from bot.events import (
    Attachment,
    Changed,
    Choice,
    Choices,
    Citation,
    Elsewhere,
    Failed,
    Link,
    Notice,
    Picture,
    Place,
    Request,
    Shown,
    Stage,
    Status,
    Text,
)
from bot.view import Closing
from bot.words import words
from tests.fakes.application import FakeApp, FakeOutbox, nothing

PLAIN = Ink(False, 60)


class Paper:
    """A screen that keeps what was written."""

    def __init__(self) -> None:
        self.ink = PLAIN
        self.lines: list[str] = []
        self.tails: list[str] = []
        self.statuses: list[str] = []

    async def write(self, lines: Sequence[str]) -> None:
        self.lines += "\n".join(lines).split("\n")

    def tail(self, run: str, text: str) -> None:
        self.tails.append(text)

    def status(self, run: str, text: str) -> None:
        self.statuses.append(text)


async def shown(
    tmp_path: Path, *events: Shown, hold: bool = False, outbox: FakeOutbox | None = None
) -> Paper:
    paper = Paper()
    view = TerminalView(
        paper, Stages(outbox or FakeOutbox(), "local", "run-0"), words("en"), tmp_path, hold=hold
    )
    for event in events:
        await view.show(event)
    await view.flush("done")
    await view.close("done")
    return paper


async def test_a_run_becomes_headed_blocks_with_its_sources_before_what_follows(tmp_path: Path) -> None:
    paper = await shown(
        tmp_path,
        Status("searching", 1, 4),
        Stage("answer", "Answer"),
        Text("It may "),
        Text("not [1]."),
        Citation(1, "srd.md", "Grappled", "speed\nbecomes 0", 290),
        Notice("word for word"),
        Choices("See also", (Choice("Prone", "/rules lookup Prone"),)),
    )
    assert paper.lines == [
        "",
        "▍ Answer",
        "It may not [1].",
        "",
        "[1] srd.md › Grappled, p. 290",
        "    “speed becomes 0”",
        "",
        "· word for word",
        "See also",
        "  Prone  /rules lookup Prone",
    ]
    assert "It may" in paper.tails
    assert paper.statuses[0] == "searching ━━━───────── 1/4"
    assert paper.statuses[-1] == ""


async def test_a_choice_without_a_command_says_that_nothing_needs_typing(tmp_path: Path) -> None:
    choices = Choices("Go on?", (Choice("Yes", "/council ask --yes -- Who?"), Choice("Leave it", "")))
    paper = await shown(tmp_path, choices)
    assert paper.lines == ["Go on?", "  Yes  /council ask --yes -- Who?", "  Leave it  nothing to type"]


async def test_a_vote_says_that_a_terminal_has_no_votes(tmp_path: Path) -> None:
    paper = await shown(tmp_path, Choices("Vote.", (Choice("I wait.", ""), Choice("I run.", "")), votes=True))
    assert paper.lines[:3] == ["Vote.", "  I wait.", "  I run."]
    assert " ".join(paper.lines[3:]) == words("en")("terminal.no_votes")


async def test_choices_that_differ_only_in_their_windows_are_not_offered(
    tmp_path: Path,
) -> None:
    windows = [
        Choice(f"Change {n} first…", "/story act", "What do you do?", filled=text) for n, text in TURNS
    ]
    plays = [Choice(f"Play {n}", f"/story act -- {text}") for n, text in TURNS]
    paper = await shown(
        tmp_path, Choices("As it is:", tuple(plays)), Choices("Or change it first:", tuple(windows))
    )
    assert paper.lines == ["As it is:", "  Play 1  /story act -- I wait.", "  Play 2  /story act -- I run."]
    alone = await shown(tmp_path, Choices("", (windows[0],)))
    assert alone.lines == ["", "  Change 1 first…  /story act …"]


TURNS = ((1, "I wait."), (2, "I run."))


async def test_a_new_title_of_the_open_stage_is_a_line_and_not_a_new_stage(tmp_path: Path) -> None:
    outbox = FakeOutbox()
    paper = await shown(
        tmp_path,
        Stage("synthesis", "The chair writes"),
        Text("Both [1]."),
        Citation(1, "srd.md", "", "quoted"),
        Stage("synthesis", "Synthesis"),
        Text("Dissent: none."),
        outbox=outbox,
    )
    assert paper.lines == [
        "",
        "▍ The chair writes",
        "Both [1].",
        "",
        "▍ Synthesis",
        "Dissent: none.",
        "",
        "[1] srd.md",
        "    “quoted”",
        "",
    ]
    assert outbox.sent_stages == [("run-0", "synthesis")]


async def test_text_is_shown_before_it_is_complete(tmp_path: Path) -> None:
    paper = await shown(tmp_path, Text("one two"), Text(" three\nfour"))
    assert [tail for tail in paper.tails if tail] == ["one two", "four"]
    assert paper.lines == ["one two three", "four"]


async def test_a_held_run_is_shown_in_one_block(tmp_path: Path) -> None:
    paper = await shown(tmp_path, Stage("roll", "Ana rolls"), Text("9"), hold=True)
    assert paper.lines == ["", "▍ Ana rolls", "9"]
    assert not any(paper.tails)


async def test_a_replayed_stage_says_that_it_replaces(tmp_path: Path) -> None:
    outbox = FakeOutbox()
    await outbox.claim("local", "run-0", "answer")
    paper = await shown(tmp_path, Stage("answer", "Answer"), Text("x"), outbox=outbox)
    assert "replaces what was shown before" in paper.lines[1]
    assert outbox.sent_stages == [("run-0", "answer")]
    # A new title does not repeat the note.
    paper = await shown(tmp_path, Stage("answer", "A"), Stage("answer", "B"), outbox=outbox)
    assert "\n".join(paper.lines).count("replaces what was shown before") == 1


async def test_files_are_written_only_to_their_folder(tmp_path: Path) -> None:
    paper = await shown(
        tmp_path,
        Picture("map.png", b"\x89PNG", "a map"),
        Attachment("../../x", "text/plain", b"hi"),
        Attachment("A door in the sea.md", "text/markdown", b"hi"),
    )
    assert sorted(os.listdir(tmp_path)) == ["run-0-A-door-in-the-sea.md", "run-0-map.png", "run-0-x"]  # noqa: PTH208
    assert paper.lines[0].startswith("a map")


async def test_control_characters_never_reach_the_terminal(tmp_path: Path) -> None:
    evil = "a\x1b]0;owned\x07b\x1b[2J\u202ec"
    paper = await shown(
        tmp_path,
        Stage("s", evil),
        Text(evil),
        Status(evil),
        Citation(1, evil, evil, evil),
        Choices(evil, (Choice(evil, evil),)),
        Elsewhere(Place(evil, evil, evil, evil), evil),
        Link(evil, evil),
        Notice(evil),
        Failed(evil),
    )
    everything = "\n".join(paper.lines + paper.statuses + paper.tails)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", everything)


def test_a_progress_bar_needs_a_total() -> None:
    assert progress(Status("x")) == "x"
    assert progress(Status("x", 3, 0)) == "x"
    assert progress(Status("x", 9, 4)).endswith("━━━ 9/4")


def test_the_status_names_pages_once_and_the_remaining_time() -> None:
    now = [0.0]
    pace = Pace(words("en"), lambda: now[0])
    page = Status("Reading a.pdf: page 0 of 500", 0, 500)
    assert progress(page, 76, pace.left(page)) == "Reading a.pdf: page 0 of 500 ────────────"
    now[0] = 2.0
    assert pace.left(Status("page 50", 50, 500)) == ""
    now[0] = 10.0
    page = Status("Reading a.pdf: page 100 of 500", 100, 500)
    assert progress(page, 76, pace.left(page)) == "Reading a.pdf: page 100 of 500 ━━────────── 40 s left"
    now[0] = 60.0
    assert pace.left(Status("page 150", 150, 500)) == "2 min left"
    assert pace.left(Status("vectors", 0, 90)) == ""
    assert words("pt-BR")("terminal.minutes_left", n=2) == "faltam 2 min"


def test_a_dropped_die_is_struck_through_whatever_its_value() -> None:
    shown = Ink(True).inline("4d6kh3 (~~**1**~~, **6**, ~~3~~)")
    assert shown == "4d6kh3 (\x1b[2;9m1\x1b[0m, \x1b[1m6\x1b[0m, \x1b[2;9m3\x1b[0m)"


def test_an_escaped_character_is_shown_without_its_backslash() -> None:
    assert Ink(True).inline(r"The Fool\* \[sic\] and *one*") == "The Fool* [sic] and \x1b[3mone\x1b[0m"
    assert Ink(True).inline(r"**a\_b** `c\_d`") == "\x1b[1ma_b\x1b[0m \x1b[36mc\\_d\x1b[0m"
    assert MarkdownStream(Ink(False)).feed("# A\\_b\n") == ["A_b"]
    assert Ink(False).inline(r"synthetic\_tide.fdx **a\_b** `c\_d`") == r"synthetic_tide.fdx **a_b** `c\_d`"


def test_tables_are_aligned_and_lists_have_hanging_indents() -> None:
    stream = MarkdownStream(Ink(False, 30))
    made = [
        *stream.feed("| Die | Hit |\n|---|---|\n| d20 | ação |\n\n- a list item that is long enough\n"),
        *stream.end(),
    ]
    assert made == [
        "Die │ Hit ",
        "────┼─────",
        "d20 │ ação",
        "",
        "• a list item that is long\n  enough",
    ]


def test_a_table_wider_than_the_screen_becomes_a_list_of_rows() -> None:
    table = "| Job | Shelf | State |\n|---|---|---|\n| 1a2b3c | a\\|b | running |\n| 4d5e6f | | done |\n\n"
    assert MarkdownStream(Ink(False, 22)).feed(table)[:3] == [
        "• 1a2b3c · Shelf: a|b\n  · State: running",
        "• 4d5e6f · State: done",
        "",
    ]
    assert MarkdownStream(Ink(False, 24)).feed(table)[2] == "1a2b3c │ a|b   │ running"


@given(st.text(alphabet="ab *_`#>|-\n[1]", max_size=80), st.lists(st.integers(1, 9), max_size=30))
def test_a_text_looks_the_same_in_any_pieces(text: str, cuts: list[int]) -> None:
    whole, parts = MarkdownStream(PLAIN), MarkdownStream(PLAIN)
    made, at = [], 0
    for cut in cuts:
        made += parts.feed(text[at : at + cut])
        at += cut
    made += [*parts.feed(text[at:]), *parts.end()]
    assert made == [*whole.feed(text), *whole.end()]


@given(st.lists(st.text(alphabet="abcé*`", min_size=1, max_size=20), max_size=30), st.integers(25, 60))
def test_wrapped_lines_fit_and_keep_every_word(parts: list[str], width: int) -> None:
    ink = Ink(True, width)
    made = ink.wrap(ink.inline(" ".join(parts)))
    assert all(width_of(line) <= width for line in made.split("\n"))
    plain = Ink(False, width).wrap(" ".join(parts))
    assert plain.split() == parts


async def test_a_changed_stage_is_shown_exactly_once_more(tmp_path: Path) -> None:
    outbox = FakeOutbox()
    await shown(tmp_path, Stage("answer", "Answer"), Text("It may."), outbox=outbox)
    seen = []
    or_not, gone = (Text("Or not."),), (Text("Gone."),)
    for title, contents in (
        ("Answer", or_not),
        ("Answer", or_not),
        ("Answer", ()),
        ("Answer", ()),
        ("", gone),
    ):
        paper = Paper()
        view = TerminalView(paper, Stages(outbox, "local", "run-0"), words("en"), tmp_path, hold=True)
        await view.change(Changed("run-0", "answer", title, contents))
        await view.change(Changed("run-0", "never shown", "Answer", (Text("Nobody."),)))
        seen.append([line for line in paper.lines if line])
    assert seen == [
        ["▍ Answer  (changed: this is the new text)", "Or not."],
        [],
        ["▍ Answer  (taken back)"],
        [],
        ["▍  (changed: this is the new text)", "Gone."],
    ]


@pytest.mark.parametrize("reader", ["person", "asked", "pipe", "program"])
async def test_a_run_continued_after_a_crash_names_its_conversation(tmp_path: Path, reader: str) -> None:
    paper, there = Paper(), Place("terminal", "local", "terminal", "the-door")
    conversation = Conversation("en", None, reader="person" if reader == "asked" else reader)  # type: ignore[arg-type]
    own = conversation.place
    if reader == "asked":
        line = conversation.read("/rules roll 1d6")
        assert not isinstance(line, str)
        await conversation.request("own", line, FakeApp(nothing))
    request = Request("r", there, conversation.author, "story", "act")
    outbox = FakeOutbox()
    await outbox.claim("local", "r", "scene")
    view = TerminalView(paper, Stages(outbox, "local", "r"), words("en"), tmp_path, hold=False)
    watched = conversation.watched(view, request)
    go_on = Choice("Open the door.", "/story act -- Open the door.")
    for event in (Status("It is next."), Stage("scene", "Scene 2"), Text("The sea."), Choices("", (go_on,))):
        await watched.show(event)
    assert bool(paper.lines) == (reader in ("person", "program")), (
        "nothing is shown in the middle of another answer"
    )
    await watched.flush("done")
    assert isinstance(watched, Closing)
    await watched.close("done")
    shown = "\n".join(paper.lines)
    told = {"person": " · interrupted before; the conversation continues here", "program": ""}
    elsewhere = " · from an interrupted conversation: python -m bot chat --thread the-door"
    again = "  (starting again: this replaces what was shown before)"
    assert f"▍ Scene 2{told.get(reader, elsewhere)}{again}" in shown
    assert ("interrupted" in shown) == (reader != "program")
    assert conversation.place == (there if reader == "person" else own)
    line = conversation.read(go_on.command)
    assert not isinstance(line, str)
    assert line.answers == ("r" if reader == "person" else "")


def test_long_runs_of_blanks_take_linear_time() -> None:
    began = time.process_time()
    MarkdownStream(Ink(False, 80)).feed(" " * 200_000 + "a\n")
    assert time.process_time() - began < 3, "processor time; it once took twenty times as much"


def test_a_source_shows_its_address_only_if_it_is_a_web_address() -> None:
    ink = Ink(colour=False, width=80)
    shown = citation(ink, Citation(2, "bees.txt", "Bees › 5. Swarming", "", link="https://x.org/5"))
    assert shown == ["[2] bees.txt › Bees › 5. Swarming", "    https://x.org/5"]
    assert citation(ink, Citation(2, "bees.txt", "", "", link="javascript:alert(1)")) == ["[2] bees.txt"]
