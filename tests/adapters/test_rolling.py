"""A long answer continues in a new message when its message is too old to edit; and answers for one person only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.adapters.composer import Composer
from bot.adapters.markdown import roll_offset
from bot.adapters.stage_content import PageContext, StageContent
from bot.adapters.stage_messages import OVERDUE_S, Dialect
from bot.adapters.surface import MessageRef, MessageStyle, PlaceClosed, Unavailable
from bot.adapters.writer import Pace, Writers
from bot.events import Attachment, Author, Failed, Place, Request, Shown, Stage, Status, Text
from storage.buttons import Offers
from storage.db import Database
from storage.faults import StorageFault
from storage.outbox import Outbox
from tests.adapters.paper import Paper, PaperHome
from tests.fakes import migrated

RUN = "c0ffee" + "0" * 26
ASKED = Request(RUN, Place("paper", "1", "2", "3"), Author("7", "Ana"), "rules", "ask", {}, "Who?")
QUICK = Pace(edit_every_s=0.01, posts=50, posts_in_s=4.0)


@pytest.mark.parametrize(
    ("text", "new", "ends"),
    [
        ("One ", "and two.\nThree", "One and two.\n"),
        ("One.", "\n\nTwo", "One.\n\n"),
        ("", "One.\n", "One.\n"),
        ("One", " and", None),
        ("", "\n \n", None),
        ("One.\n```\ncode", "\nmore\n", None),
        ("One.\n```\ncode", "\n```\nTwo", "One.\n```\ncode\n```\n"),
        ("~~~~\n~~~\n", "code\n", None),
        ("a | b\n", "--- | ---\n", None),
        ("| a |\n| --- |\n", "| 1 |\nAfter.\n", "| a |\n| --- |\n| 1 |\nAfter.\n"),
        ("One.\n", "Two.\nThree.\n", "One.\nTwo.\n"),
    ],
)
def test_a_text_is_cut_after_a_complete_line(text: str, new: str, ends: str | None) -> None:
    at = roll_offset(text, new, overdue=False)
    assert (text + new)[:at] == ends if ends is not None else at is None


@pytest.mark.parametrize(
    ("text", "new", "ends"),
    [
        ("One ", "and two", "One and "),
        ("One", "two", None),
        ("It is **very", " big** indeed", "It is **very big** "),
        ("It burns for four hours [1]. A", " candle does", "It burns for four hours [1]. A "),
        ("2 ** 3, and then " + "on and on " * 20, "and on", "2 ** 3, and then " + "on and on " * 20 + "and "),
        ("```\nsome", " code", "```\nsome "),
        ("```\nsome", "\ncode", "```\nsome\n"),
        ("| a", " | b", "| a "),
    ],
)
def test_an_overdue_text_is_cut_between_two_words(text: str, new: str, ends: str | None) -> None:
    at = roll_offset(text, new, overdue=True)
    assert (text + new)[:at] == ends if ends is not None else at is None


@dataclass(frozen=True)
class Sheeted:
    text: str
    files: tuple[tuple[str, bytes], ...] = ()
    wordless = False

    @property
    def shown(self) -> str:
        return self.text


def pages(sheet: StageContent, context: PageContext) -> list[Sheeted]:
    ends = [*sheet.cuts, len(sheet.text)]
    texts = [sheet.text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    files = tuple((file.name, b"") for file in sheet.files)
    shown = [text for n, text in enumerate(texts) if text or n == 0]
    notes = [*sheet.notices, sheet.failed, sheet.status.text if sheet.status else ""]
    return [Sheeted(one + "".join(notes), files) for one in shown]


class Whispers:
    """Shows ephemeral messages to one person, at most `most` of them."""

    def __init__(self, most: int = 9, *, files: bool = False) -> None:
        self.files = files
        self.told: list[str] = []
        self._most = most

    async def post_ephemeral(self, page: Sheeted, mark: MessageRef, style: MessageStyle) -> str:
        if len(self.told) == self._most:
            raise PlaceClosed("nobody_there")
        self.told.append(page.text)
        return f"whispered-{len(self.told)}"


class Desk:
    def __init__(self, database: Database) -> None:
        self.paper = Paper[Sheeted](lambda page, style: page.text)
        self.home = PaperHome[Sheeted](self.paper)
        self.outbox, self.offers = Outbox(database), Offers(database)

    def view(
        self, whispers: Whispers | None = None, *, alone: bool = False, roll: float | None = None
    ) -> Composer[Sheeted]:
        self.home = PaperHome[Sheeted](self.paper)
        self.home.response = whispers  # type: ignore[assignment]
        self.home.private = self.home.ephemeral = alone
        dialect = Dialect(pages, roll_after_s=roll)
        return Composer(ASKED, self.outbox, self.offers, self.home, Writers(QUICK), dialect)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncGenerator[Desk, None]:
    database = await Database.open(migrated.database(tmp_path / "test.db"))
    yield Desk(database)
    await database.close()


async def show(view: Composer[Sheeted], *events: Shown) -> None:
    for event in events:
        await view.show(event)


async def shows(desk: Desk, texts: Sequence[str]) -> None:
    await desk.paper.until(lambda: desk.paper.texts == list(texts))


async def test_a_recent_message_takes_the_whole_text(desk: Desk) -> None:
    view = desk.view(roll=60.0)
    await show(view, Stage("answer", ""), Text("One.\n"))
    await shows(desk, ["One.\n"])
    await show(view, Text("Two.\nThree."))
    await view.flush("done")
    assert desk.paper.texts == ["One.\nTwo.\nThree."]


async def test_a_text_leaves_an_old_message_at_the_end_of_a_line(desk: Desk) -> None:
    view = desk.view(roll=0.0)
    await show(view, Stage("answer", ""), Text("One"))
    await shows(desk, ["One"])
    await show(view, Text(" and"), Text(" two.\nThree.\nFour."))
    await shows(desk, ["One and two.\n", "Three.\nFour."])
    await show(view, Text("\nFive."), Text("\nSix."))
    await view.flush("done")
    assert "".join(desk.paper.texts) == "One and two.\nThree.\nFour.\nFive.\nSix."
    assert desk.paper.texts[0] == "One and two.\n"


async def test_a_text_leaves_a_long_overdue_message_between_two_words(desk: Desk) -> None:
    view = desk.view(roll=-OVERDUE_S)
    await show(view, Stage("answer", ""), Text("One"))
    await shows(desk, ["One"])
    await show(view, Text(" and two"))
    await view.flush("done")
    assert desk.paper.texts == ["One and", " two"] or desk.paper.texts == ["One ", "and two"]


async def test_each_cut_adds_one_message(desk: Desk) -> None:
    view = desk.view(roll=0.0)
    await show(view, Stage("answer", ""), Text("One.\n"))
    await shows(desk, ["One.\n"])
    await show(view, Text("Two.\n"), Text("\n"), Text("Three.\n"), Text("Four.\n"))
    await view.flush("done")
    assert desk.paper.texts == ["One.\nTwo.\n", "\nThree.\nFour.\n"]


async def test_the_time_that_a_run_waited_does_not_count(desk: Desk) -> None:
    view = desk.view(roll=0.0)
    await show(view, Status("Waiting"))
    await shows(desk, ["Waiting"])
    await show(view, Stage("answer", ""), Text("One.\n"), Text("Two.\n"))
    await shows(desk, ["One.\nTwo.\n"])
    await view.flush("done")
    assert desk.paper.texts == ["One.\nTwo.\n"]


async def test_a_run_reuses_the_waiting_message_of_another_process(
    desk: Desk,
) -> None:
    waiting = desk.view()
    desk.paper.after.append(Unavailable("its answer is lost"))
    await waiting.show_waiting(Status("Waiting"), 0.3)
    assert desk.paper.texts == ["Waiting"]
    view = desk.view()
    await show(view, Stage("answer", ""), Text("One."))
    await view.flush("done")
    assert desk.paper.texts == ["One."]


async def test_the_waiting_message_is_deleted_where_another_message_shows_the_run(
    desk: Desk,
) -> None:
    waiting = desk.view()
    await waiting.show_waiting(Status("Waiting"), 5.0)
    await desk.outbox.claim("1", RUN, "answer")
    await desk.outbox.mark_sent("1", RUN, "answer", desk.paper.messages[0].id)
    await waiting.unless_shown(5.0)
    assert desk.paper.texts == ["Waiting"], "the other process's message is used"
    await desk.outbox.mark_sent("1", RUN, "answer", "another message")
    await waiting.unless_shown(5.0)
    assert desk.paper.texts == []


async def test_a_waiting_message_that_was_not_recorded_is_deleted_too(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        raise StorageFault("other", away=True)

    waiting = desk.view()
    with monkeypatch.context() as patched:
        patched.setattr(desk.outbox, "mark_sent", away)
        await waiting.show_waiting(Status("Waiting"), 5.0)
    assert desk.paper.texts == ["Waiting"]
    await desk.outbox.claim("1", RUN, "answer")
    await desk.outbox.mark_sent("1", RUN, "answer", "another message")
    await waiting.unless_shown(5.0)
    assert desk.paper.texts == []


async def test_no_waiting_message_is_posted_once_the_run_has_begun_elsewhere(desk: Desk) -> None:
    waiting = desk.view()
    desk.paper.faults += [Unavailable("down")]
    await waiting.show_waiting(Status("Waiting"), 0.3)
    await asyncio.sleep(1.2)  # a writer's first pause
    assert desk.paper.texts == []


async def test_a_text_in_several_messages_is_shown_once_after_a_crash(desk: Desk) -> None:
    view = desk.view(roll=0.0)
    await show(view, Stage("answer", ""), Text("One.\n"))
    await shows(desk, ["One.\n"])
    await show(view, Text("Two.\n"), Text("Three."))
    await shows(desk, ["One.\nTwo.\n", "Three."])
    for message in desk.paper.messages:
        await desk.outbox.mark_sent("1", RUN, message.mark.key, message.id)
    again = desk.view(roll=60.0)
    await show(again, Stage("answer", ""), Text("One.\nTwo.\nThree."))
    await again.flush("done")
    assert desk.paper.texts == ["One.\nTwo.\nThree."]


TWO = (Stage("one", ""), Text("One."), Stage("two", ""), Text("Two."))


async def test_a_private_answer_is_shown_complete_at_the_end(desk: Desk) -> None:
    whispers = Whispers()
    view = desk.view(whispers, alone=True)
    await show(view, *TWO)
    assert whispers.told == []
    await view.flush("done")
    assert whispers.told == ["One.", "Two."]
    assert desk.paper.messages == []


async def test_a_private_answer_is_not_repeated_after_a_crash(desk: Desk) -> None:
    first = desk.view(Whispers(most=1), alone=True)
    await show(first, *TWO[:2])
    await first.flush("done")
    whispers = Whispers()
    again = desk.view(whispers, alone=True)
    await show(again, *TWO)
    await again.flush("done")
    assert whispers.told == ["Two."]


async def test_a_private_answer_with_too_many_pages_goes_to_the_overflow_place(desk: Desk) -> None:
    whispers = Whispers(most=1)
    view = desk.view(whispers, alone=True)
    await show(view, *TWO)
    await view.flush("done")
    assert whispers.told == ["One."]
    assert desk.paper.texts == ["One.", "Two."]


async def test_a_private_answer_with_files_goes_to_the_overflow_place_where_none_can_be_sent(
    desk: Desk,
) -> None:
    whispers = Whispers()
    view = desk.view(whispers, alone=True)
    await show(view, *TWO, Attachment("notes.md", "text/markdown", b""))
    await view.flush("done")
    assert whispers.told == []
    assert desk.paper.texts == ["One.", "Two."]


async def test_a_private_answer_with_files_stays_private_where_they_can_be_sent(desk: Desk) -> None:
    whispers = Whispers(files=True)
    view = desk.view(whispers, alone=True)
    await show(view, *TWO, Attachment("notes.md", "text/markdown", b""))
    await view.flush("done")
    assert whispers.told == ["One.", "Two."]


async def test_the_asker_alone_sees_why_a_private_answer_failed(desk: Desk) -> None:
    whispers = Whispers()
    view = desk.view(whispers)
    await show(view, Failed("No model."))
    await view.flush("failed")
    assert whispers.told == ["No model."]
    other = Whispers()
    view = desk.view(other)
    await show(view, *TWO, Failed("No model."))
    await view.flush("failed")
    assert other.told == []
