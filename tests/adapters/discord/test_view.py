"""What a run's events look like, on paper; the outbox and the offers are the real ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.composer import Composer
from bot.adapters.discord.received.placing import Origin
from bot.adapters.discord.shown.home import dialect
from bot.adapters.discord.text.page import Page
from bot.adapters.stored_choices import from_json
from bot.adapters.surface import MessageStyle, NotEditable, PlaceClosed, Refused, Unavailable
from bot.adapters.writer import WORDS_S, Clock, Pace, Writers
from bot.events import (
    Attachment,
    Author,
    Changed,
    Choice,
    Choices,
    Citation,
    Ended,
    Failed,
    Notice,
    Place,
    Request,
    Shown,
    Stage,
    Status,
    Text,
)
from storage.buttons import Offers
from storage.db import Database
from storage.outbox import Outbox
from tests.adapters.paper import Paper, PaperHome, Written
from tests.fakes import migrated

RUN = "c0ffee" + "0" * 26
PLACE = Place("discord", "1", "2", "3")
ASKED = Request(RUN, PLACE, Author("7", "Ana"), "rules", "ask", {}, "Who?")
HERE = Origin("here", 2, 9)
PACE = Pace(edit_every_s=0.02, posts=4, posts_in_s=5.0)


class Still:
    """A clock that stands: what comes at once comes within one moment, also where the machine is slow."""

    def time(self) -> float:
        return 0.0

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        await event.wait()


SEARCH = (Stage("search", "Searching"), Status("Looking"), Text("Found 3 passages."))


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database, None]:
    database = await Database.open(migrated.database(tmp_path / "test.db"))
    yield database
    await database.close()


def read(page: Page, style: MessageStyle) -> str:
    return page.text if style is MessageStyle.LAYOUT else page.plain


def custom_ids(message: Written[Page]) -> list[str]:
    return [button.custom_id for row in message.page.rows for button in row]


Home = PaperHome[Page]


class Desk:
    """Views of one run, one after another as after crashes, on the same paper."""

    def __init__(self, database: Database) -> None:
        self.paper = Paper(read)
        self.outbox = Outbox(database)
        self.offers = Offers(database)
        self.home = Home(self.paper)

    def view(
        self,
        home: Home | None = None,
        *,
        origin: Origin = HERE,
        asked: Request = ASKED,
        clock: Clock | None = None,
    ) -> Composer[Page]:
        self.home = home or Home(self.paper)
        self.home.private = origin.private
        spoken = dialect(origin, asked.locale)
        return Composer(asked, self.outbox, self.offers, self.home, Writers(PACE, clock), spoken)

    async def noted(self, message: Written[Page]) -> None:
        """Wait until the outbox knows of the message: what is posted is noted beside."""
        async with asyncio.timeout(90):
            while message.id not in await self.outbox.cut_off(PLACE.space, RUN):
                pass

    async def run(self, *events: Shown, status: Ended = "done", view: Composer[Page] | None = None) -> None:
        """Show a whole run."""
        view = view or self.view()
        await show(view, *events)
        await view.flush(status)
        await view.close(status)


async def show(view: Composer[Page], *events: Shown) -> None:
    for event in events:
        await view.show(event)


@pytest.fixture
def desk(database: Database) -> Desk:
    return Desk(database)


async def test_each_stage_is_a_message_and_the_last_loses_its_stop_button(desk: Desk) -> None:
    view = desk.view()
    await show(view, *SEARCH, Stage("answer", "Answer"), Text("It is "))
    await desk.paper.until(lambda: len(desk.paper.messages) == 2 and "It is" in desk.paper.texts[1])
    search, answer = desk.paper.messages
    assert search.text == "### Searching\nFound 3 passages."
    assert f"stop:{RUN}" in custom_ids(answer)
    await show(view, Text("Ana."))
    await view.flush("done")
    assert answer.text == "### Answer\nIt is Ana."
    assert f"stop:{RUN}" not in custom_ids(answer)
    assert len(desk.paper.messages) == 2


async def test_commands_in_its_sentences_have_the_names_that_the_reader_sees(desk: Desk) -> None:
    view = desk.view(asked=replace(ASKED, locale="pt-BR"))
    await desk.run(Stage("a", ""), Text("Veja `/rules books`."), Notice("Use `/library add`."), view=view)
    assert "`/regras livros`" in desk.paper.texts[0]
    assert "`/biblioteca adicionar`" in desk.paper.texts[0]


async def test_a_quick_stage_is_posted_once(desk: Desk) -> None:
    await desk.run(*SEARCH, Stage("answer", "Answer"), Text("Ana."), view=desk.view(clock=Still()))
    assert [len(message.edits) for message in desk.paper.messages] == [0, 0]


class Fleeting(Still):
    """A clock by which the wait for first words is over at once, and every longer one never."""

    now = 0.0

    def time(self) -> float:
        return self.now

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        if seconds > WORDS_S:
            await event.wait()
        self.now += min(seconds, WORDS_S)


@pytest.mark.parametrize(("verb", "edits"), [(("rules", "ask"), 1), (("schedule", "remind"), 0)])
async def test_what_nobody_waits_for_is_posted_once_however_long_its_end_takes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, str], edits: int
) -> None:
    keep = desk.offers.keep

    async def slowly(*values: Any) -> None:
        for _ in range(20):  # time enough for a post
            await desk.outbox.get(PLACE.space, RUN, "a")
        while edits and not desk.paper.messages:
            await desk.outbox.get(PLACE.space, RUN, "a")
        await keep(*values)

    monkeypatch.setattr(desk.offers, "keep", slowly)
    asked = replace(ASKED, work=verb[0], verb=verb[1])
    events = Stage("a", ""), Text("x"), Choices("More?", (Choice("A", "/help"),))
    await desk.run(*events, view=desk.view(asked=asked, clock=Fleeting()))
    assert [len(message.edits) for message in desk.paper.messages] == [edits]
    assert f"choice:{RUN}:0" in custom_ids(desk.paper.messages[0])


async def test_a_long_stage_goes_on_in_more_messages_before_the_next_stage(desk: Desk) -> None:
    long = "\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(12))
    await desk.run(Stage("a", "One"), Text(long), Stage("b", "Two"), Text("End."))
    assert len(desk.paper.messages) > 3
    assert desk.paper.texts[-1] == "### Two\nEnd."
    joined = "".join(desk.paper.texts)
    assert [joined.index(f"Paragraph {n}.") for n in range(12)] == sorted(
        joined.index(f"Paragraph {n}.") for n in range(12)
    )


async def test_a_run_that_waits_for_its_turn_says_so_in_the_message_of_its_first_stage(
    desk: Desk,
) -> None:
    view = desk.view()
    await show(view, Status("2nd in line"))
    await desk.paper.until(lambda: bool(desk.paper.messages))
    assert "2nd in line" in desk.paper.texts[0]
    await desk.run(*SEARCH, view=view)
    assert desk.paper.texts == ["### Searching\nFound 3 passages."]


async def test_after_a_crash_the_same_messages_are_edited(desk: Desk) -> None:
    await show(desk.view(), *SEARCH, Stage("answer", "Answer"), Text("It i"))
    await desk.paper.until(lambda: len(desk.paper.messages) == 2 and "It i" in desk.paper.texts[1])
    await desk.run(*SEARCH, Stage("answer", "Answer"), Text("It is Bia."))
    assert desk.paper.texts == ["### Searching\nFound 3 passages.", "### Answer\nIt is Bia."]


async def test_after_a_crash_what_was_shown_for_good_is_left_alone(desk: Desk) -> None:
    events = (*SEARCH, Stage("answer", "Answer"), Text("It is Ana."))
    await desk.run(*events, view=desk.view(clock=Still()))
    states = [list(message.states) for message in desk.paper.messages]
    await desk.run(*events, view=desk.view(clock=Still()))
    assert [message.states for message in desk.paper.messages] == states


async def test_after_a_crash_edits_keep_apart_too(desk: Desk) -> None:
    await show(desk.view(), *(Stage(key, key) for key in "abcd"))
    await desk.paper.until(lambda: len(desk.paper.messages) == 4)
    before = len(desk.paper.edits)
    await desk.run(*(event for key in "abcd" for event in (Stage(key, key), Text("Anew."))))
    edits = desk.paper.edits[before:]
    assert desk.paper.texts == [f"### {key}\nAnew." for key in "abcd"]
    assert all(b - a >= 0.019 for a, b in pairwise(edits))


async def test_an_answer_made_anew_says_so_while_it_grows(desk: Desk) -> None:
    await show(desk.view(), Stage("answer", "Answer"), Text("It i"))
    await desk.paper.until(lambda: bool(desk.paper.messages))
    again = desk.view()
    await show(again, Stage("answer", "Answer"), Text("It is"))
    await desk.paper.until(lambda: "↻" in desk.paper.texts[0])
    await again.flush("done")
    assert desk.paper.texts == ["### Answer\nIt is"]


async def test_a_message_that_was_sent_and_not_noted_is_found_again(desk: Desk) -> None:
    """The process dies between Discord's taking the message and our writing down its id."""
    desk.paper.after.append(asyncio.CancelledError())
    await show(desk.view(), *SEARCH, Stage("answer", "Answer"))
    await desk.paper.until(lambda: bool(desk.paper.messages))
    await desk.run(*SEARCH)
    assert desk.paper.texts == ["### Searching\nFound 3 passages."]


async def test_a_regenerated_answer_that_is_shorter_leaves_no_messages_over(desk: Desk) -> None:
    long = "\n\n".join("word " * 60 for _ in range(20))
    await show(desk.view(), Stage("answer", "Answer"), Text(long))
    await desk.paper.until(lambda: len(desk.paper.messages) >= 4)
    await desk.run(Stage("answer", "Answer"), Text("Short."))
    assert desk.paper.texts == ["### Answer\nShort."]


async def test_a_message_taken_over_from_the_waiting_is_found_again(desk: Desk) -> None:
    view = desk.view()
    await show(view, Status("2nd in line"))
    await desk.paper.until(lambda: bool(desk.paper.messages))
    await desk.noted(desk.paper.messages[0])
    await desk.run(*SEARCH)
    assert desk.paper.texts == ["### Searching\nFound 3 passages."]


async def test_what_buttons_offer_is_kept_before_they_are_there(desk: Desk) -> None:
    cited = Citation(1, "Book", "Heading", "words")
    first = Choices("More?", (Choice("A", "/rules see 1"), Choice("B", "/rules see 2")))
    second = Choices("Else?", (Choice("C", "/help"),))
    await desk.run(Stage("a", ""), Text("x [1]"), cited, first, Stage("b", ""), Text("y"), second)
    kept = [json.loads(offer) for offer in await desk.offers.all("1", RUN, "choice")]
    assert [offer["command"] for offer in kept] == ["/rules see 1", "/rules see 2", "/help"]
    assert f"choice:{RUN}:2" in custom_ids(desk.paper.messages[1])
    assert [json.loads(offer)["heading"] for offer in await desk.offers.all("1", RUN, "source")] == [
        "Heading"
    ]


async def test_what_is_shown_while_offers_are_being_kept_has_no_buttons_for_them(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, keep = asyncio.Event(), asyncio.Event(), desk.offers.keep

    async def slowly(*values: Any) -> None:
        begun.set()
        await go_on.wait()
        await keep(*values)

    monkeypatch.setattr(desk.offers, "keep", slowly)
    view = desk.view()
    await show(view, Stage("a", ""), Text("x"), Choices("More?", (Choice("A", "/help"),)))
    flushing = asyncio.create_task(view.flush("done"))
    await begun.wait()
    desk.home.tell("Told meanwhile.")
    async with asyncio.timeout(90):
        while "Told meanwhile." not in str(desk.paper.texts):  # noqa: ASYNC110 - paper tells nobody
            await asyncio.sleep(0.01)
    assert f"choice:{RUN}:0" not in custom_ids(desk.paper.messages[0])
    go_on.set()
    await flushing
    assert f"choice:{RUN}:0" in custom_ids(desk.paper.messages[0])


async def test_what_asks_whether_to_begin_at_all_is_not_rated(desk: Desk) -> None:
    go_on = Choice("Go on", "/council ask --yes -- Who?")
    await desk.run(Stage("estimate", "Cost"), Choices("Go on?", (go_on, Choice("Leave it", ""))))
    assert custom_ids(desk.paper.messages[0]) == [f"choice:{RUN}:0", f"choice:{RUN}:1"]


async def test_a_failure_names_the_run_beside_what_was_shown(desk: Desk) -> None:
    await desk.run(Stage("answer", "Answer"), Text("It i"), Failed("The model broke off."), status="failed")
    assert "It i" in desk.paper.texts[0]
    assert "The model broke off." in desk.paper.texts[0]
    assert RUN[:8] in desk.paper.texts[0]
    assert f"retry:{RUN}" in custom_ids(desk.paper.messages[0])


async def test_an_answer_that_is_not_whole_has_a_button_that_asks_again(desk: Desk) -> None:
    await desk.run(
        Stage("answer", "Answer", answer=True), Text("It i"), Notice("The answer broke off.", retry=True)
    )
    assert f"retry:{RUN}" in custom_ids(desk.paper.messages[0])
    assert f"feedback:{RUN}:up" in custom_ids(desk.paper.messages[0])


async def test_a_file_is_uploaded_once(desk: Desk) -> None:
    await desk.run(Stage("a", "A"), Attachment("a.txt", "text/plain", b"x"), Stage("b", "B"), Text("y"))
    assert [message.files for message in desk.paper.messages] == [["a.txt"], []]


async def test_where_layouts_are_refused_the_rest_of_the_run_is_plain(desk: Desk) -> None:
    desk.paper.refuses = lambda style: Refused("50035") if style is MessageStyle.LAYOUT else None
    await desk.run(*SEARCH, Stage("answer", "Answer"), Text("Ana."))
    assert [message.style for message in desk.paper.messages] == [MessageStyle.PLAIN, MessageStyle.PLAIN]


async def test_a_layout_that_is_refused_later_is_replaced_by_a_plain_message(desk: Desk) -> None:
    view = desk.view()
    await show(view, Stage("answer", "Answer"), Text("It i"))
    await desk.paper.until(lambda: bool(desk.paper.messages))
    desk.paper.refuses = lambda style: Refused("50035") if style is MessageStyle.LAYOUT else None
    await desk.run(Text("s Ana."), view=view)
    old, new = desk.paper.messages
    assert (old.deleted, new.style, "It is Ana." in new.text) == (True, MessageStyle.PLAIN, True)


async def test_a_message_that_somebody_deleted_is_not_posted_again(desk: Desk) -> None:
    view = desk.view()
    await show(view, Stage("answer", "Answer"), Text("It i"))
    await desk.paper.until(lambda: bool(desk.paper.messages))
    desk.paper.messages[0].deleted = True
    await desk.run(Text("s Ana."), Stage("more", "More"), Text("And more."), view=view)
    assert desk.paper.texts == ["### More\nAnd more."]


async def test_a_message_that_takes_no_more_edits_goes_on_in_a_new_one(desk: Desk) -> None:
    view = desk.view()
    await show(view, Stage("answer", "Answer"), Text("It i"))
    await desk.paper.until(lambda: bool(desk.paper.messages))
    desk.paper.faults.append(NotEditable())
    await desk.run(Text("s Ana."), view=view)
    assert desk.paper.texts == ["### Answer\nIt is Ana."]


async def test_a_place_that_closes_is_left_for_the_next_with_a_sentence(desk: Desk) -> None:
    other = Paper(read, "other")
    view = desk.view(Home(desk.paper, other, why="The thread is locked."))
    await show(view, Stage("answer", "Answer"), Text("It i"))
    await desk.paper.until(lambda: bool(desk.paper.messages))
    desk.paper.faults += [PlaceClosed(50013)]
    await desk.run(Text("s Ana."), view=view)
    assert "It is Ana." in other.texts[0]
    assert "The thread is locked." in other.texts[0]


async def test_a_run_outlives_a_place_that_takes_nothing(desk: Desk) -> None:
    desk.paper.faults += [PlaceClosed(50013) for _ in range(9)]
    await desk.run(*SEARCH, Stage("answer", "Answer"), Text("Ana."))
    assert desk.paper.messages == []


async def test_a_post_whose_outcome_is_unknown_is_not_repeated(desk: Desk) -> None:
    desk.paper.after.append(Unavailable("cut off"))
    await desk.run(*SEARCH)
    assert desk.paper.texts == ["### Searching\nFound 3 passages."]


async def test_show_waits_for_no_place_to_be_opened(desk: Desk) -> None:
    view = desk.view()
    desk.home.opened.clear()
    await show(view, *SEARCH, Stage("answer", "Answer"), Text("Ana."))
    assert desk.paper.messages == []
    desk.home.opened.set()
    await view.flush("done")
    assert len(desk.paper.messages) == 2


async def test_where_opening_a_place_goes_wrong_the_one_that_it_has_must_do(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "a-token"

    class Broken(Home):
        async def open(self) -> None:
            raise ZeroDivisionError(secret)

    await desk.run(*SEARCH, view=desk.view(Broken(desk.paper)))
    assert desk.paper.texts == ["### Searching\nFound 3 passages."]
    assert "ZeroDivisionError" in caplog.text
    assert "in open\n" in caplog.text
    assert "a-token" not in caplog.text


async def test_an_end_is_over_once_it_is_on_the_screen(desk: Desk) -> None:
    view = desk.view()
    desk.home.opened.clear()
    await show(view, *SEARCH)
    flushing = asyncio.create_task(view.flush("done"))
    assert await asyncio.wait({flushing}, timeout=0.05) == (set(), {flushing})
    desk.home.opened.set()
    await flushing
    assert desk.paper.texts == ["### Searching\nFound 3 passages."]


async def test_an_end_that_is_broken_off_shows_nothing_more(desk: Desk) -> None:
    view = desk.view()
    await show(view, *SEARCH)
    await desk.paper.until(lambda: desk.paper.messages != [])
    before = desk.paper.texts
    desk.paper.faults = [Unavailable("down")] * 2
    await view.show(Text(" And more."))
    flushing = asyncio.create_task(view.flush("done"))
    assert await asyncio.wait({flushing}, timeout=0.3) == (set(), {flushing})
    flushing.cancel()
    await asyncio.wait({flushing})
    for message in view._messages.stages[-1].messages:
        await view._messages.writers.at(desk.paper.key).settled(message)
    assert desk.paper.texts == before


async def test_a_second_stage_of_the_same_name_has_a_message_of_its_own(desk: Desk) -> None:
    events = (Stage("roll", "One"), Text("1"), *SEARCH, Stage("roll", "Two"), Text("2"))
    await desk.run(*events)
    assert desk.paper.texts == ["### One\n1", "### Searching\nFound 3 passages.", "### Two\n2"]
    await desk.run(*events)
    assert desk.paper.texts == ["### One\n1", "### Searching\nFound 3 passages.", "### Two\n2"]


WRITES, SYNTHESIS = Stage("synthesis", "The chair writes"), Stage("synthesis", "Synthesis")


async def test_a_stage_that_is_given_another_title_stays_one_message(desk: Desk) -> None:
    view = desk.view()
    await show(view, WRITES, Text("Both."))
    await desk.paper.until(lambda: "### The chair writes\nBoth." in "".join(desk.paper.texts))
    await show(view, SYNTHESIS)
    await desk.paper.until(lambda: desk.paper.texts[0].startswith("### Synthesis\nBoth."))
    await desk.run(Notice("3 of 3"), view=view)
    assert desk.paper.texts == ["### Synthesis\nBoth.\n-# ⓘ 3 of 3"]


async def test_another_title_is_put_over_a_long_text_while_that_still_grows(desk: Desk) -> None:
    long = "\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(20))
    view = desk.view()
    await show(view, WRITES, Text(long))
    await desk.paper.until(lambda: len(desk.paper.messages) > 3)
    await show(view, SYNTHESIS)
    await desk.paper.until(lambda: desk.paper.texts[0].startswith("### Synthesis\n"))
    await view.flush("done")
    assert "The chair writes" not in "".join(desk.paper.texts)


async def test_a_stage_with_another_title_is_not_doubled_by_a_crash(desk: Desk) -> None:
    await show(desk.view(), *SEARCH, WRITES, Text("Bo"))
    await desk.paper.until(lambda: "The chair writes\nBo" in "".join(desk.paper.texts))
    events = (*SEARCH, WRITES, Text("Both."), SYNTHESIS)
    await show(desk.view(), *events)  # the process dies once more, before the run has ended
    await desk.paper.until(lambda: "### Synthesis\nBoth." in desk.paper.texts[-1])
    await desk.run(*events)
    assert desk.paper.texts == ["### Searching\nFound 3 passages.", "### Synthesis\nBoth."]


async def test_a_run_that_ends_before_its_stage_was_whole_keeps_the_first_title(
    desk: Desk,
) -> None:
    await desk.run(WRITES, Text("Bo"), status="stopped")
    assert desk.paper.texts[0].startswith("### The chair writes\nBo")


@pytest.mark.parametrize("key", ["asked", "thread"])
async def test_a_stage_may_be_called_like_something_of_the_adapters_own(desk: Desk, key: str) -> None:
    await desk.outbox.claim("1", RUN, key)
    await desk.outbox.sent("1", RUN, key, "77")
    await desk.run(Stage("search", "Searching"), Text("x"), Stage(key, "Other"), Text("y"))
    assert desk.paper.texts == ["### Searching\nx", "### Other\ny"]


async def test_an_older_form_goes_away_also_where_the_new_one_took_two_tries(desk: Desk) -> None:
    view = desk.view()
    await show(view, Stage("answer", "Answer"), Text("It i"))
    await desk.paper.until(lambda: bool(desk.paper.messages))
    desk.paper.faults += [NotEditable(), Unavailable("down")]
    await desk.run(Text("s Ana."), view=view)
    assert desk.paper.texts == ["### Answer\nIt is Ana."]


async def test_a_message_that_is_refused_in_every_form_leaves_the_others_theirs(
    desk: Desk,
) -> None:
    desk.paper.faults += [Refused("50035")] * 3
    await desk.run(*SEARCH, Stage("answer", "Answer"), Text("Ana."))
    assert [(message.text, message.style) for message in desk.paper.messages] == [
        ("### Answer\nAna.", MessageStyle.LAYOUT)
    ]


async def test_a_message_that_was_replaced_goes_once_the_platform_is_back(desk: Desk) -> None:
    view = desk.view()
    await show(view, Stage("answer", "Answer"), Text("It i"))
    await desk.paper.until(lambda: bool(desk.paper.messages))
    desk.paper.faults, desk.paper.keeps = [NotEditable()], [Unavailable("down"), Unavailable("down")]
    await view.show(Text("s Ana."))
    await view.flush("done")
    assert desk.paper.texts == ["### Answer\nIt is Ana."]
    old, new = desk.paper.messages
    assert (old.deleted, new.deleted) == (True, False)


async def test_a_layout_from_before_a_crash_that_is_refused_is_replaced_by_a_plain_message(
    desk: Desk,
) -> None:
    await show(desk.view(), Stage("answer", "Answer"), Text("It i"))
    await desk.paper.until(lambda: bool(desk.paper.messages))
    desk.paper.refuses = lambda style: Refused("50035") if style is MessageStyle.LAYOUT else None
    await desk.run(Stage("answer", "Answer"), Text("It is Ana."))
    old, new = desk.paper.messages
    assert (old.deleted, new.style, "It is Ana." in new.text) == (True, MessageStyle.PLAIN, True)


async def test_a_guest_stages_in_one_message(desk: Desk) -> None:
    guest = Origin("response", 2, 9, member=False)
    view = desk.view(origin=guest)
    await desk.run(*SEARCH, Stage("answer", "Answer"), Text("It is Ana."), view=view)
    assert len(desk.paper.messages) == 1
    assert "-# ✓ Searching" in desk.paper.texts[0]
    assert "It is Ana." in desk.paper.texts[0]


async def test_a_guest_sees_another_title_in_the_same_message(desk: Desk) -> None:
    view = desk.view(origin=Origin("response", 2, 9, member=False))
    await desk.run(*SEARCH, WRITES, Text("Both."), SYNTHESIS, Stage("export", "Export"), view=view)
    (text,) = desk.paper.texts
    assert "-# ✓ Synthesis" in text
    assert "The chair writes" not in text


async def test_a_guests_long_answer_ends_in_a_file(desk: Desk) -> None:
    view = desk.view(origin=Origin("response", 2, 9, member=False))
    long = "\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(20))
    await desk.run(*SEARCH, Stage("answer", "Answer"), Text(long), view=view)
    assert len(desk.paper.messages) == 1
    assert desk.paper.messages[0].files == [f"{RUN[:8]}.md"]
    assert "Paragraph 0." in desk.paper.texts[0]
    assert "in the file" in desk.paper.texts[0]


async def test_a_guests_many_files_leave_room_for_the_answers(desk: Desk) -> None:
    view = desk.view(origin=Origin("response", 2, 9, member=False))
    files = [Attachment(f"{n}.txt", "text/plain", b"x") for n in range(14)]
    await desk.run(Stage("answer", "Answer"), Text("word " * 1000), *files, view=view)
    (message,) = desk.paper.messages
    assert message.files == [f"{RUN[:8]}.md", *(f"{n}.txt" for n in range(9))]
    assert "+ 5 more" in message.text


async def test_a_hint_on_how_to_go_on_stands_under_the_last_stage(desk: Desk) -> None:
    view = desk.view(Home(desk.paper, hint="Reply to me."))
    await desk.run(*SEARCH, Stage("answer", "Answer"), Text("Ana."), view=view)
    assert ["Reply to me." in text for text in desk.paper.texts] == [False, True]


async def test_a_stopped_run_keeps_its_text_and_says_that_it_was_stopped(desk: Desk) -> None:
    await desk.run(Stage("answer", "Answer"), Text("It i"), status="stopped")
    assert "It i" in desk.paper.texts[0]
    assert "⏹" in desk.paper.texts[0]


async def test_nothing_is_shown_after_the_end(desk: Desk) -> None:
    view = desk.view()
    await desk.run(*SEARCH, view=view)
    states = list(desk.paper.messages[0].states)
    await show(view, Notice("late"))
    assert desk.paper.messages[0].states == states


def test_an_interactions_token_is_not_to_be_seen_in_its_origin() -> None:
    assert "secret" not in repr(Origin("response", 2, 9, token="secret"))


SEARCHED, ANSWERED = "### Searching\nFound 3 passages.", "### Answer\nIt is Ana."
WHOLE = (*SEARCH, Stage("answer", "Answer"), Text("It is Ana."))


def changed(*contents: Text | Choices | Citation, stage: str = "answer") -> Changed:
    return Changed(RUN, stage, "Answer", contents)


async def test_an_earlier_stage_is_changed_in_its_own_message_and_the_others_stay(
    desk: Desk,
) -> None:
    await desk.run(*WHOLE)
    assert desk.paper.texts == [SEARCHED, ANSWERED]
    for _ in range(2):  # a replay changes nothing more
        await desk.view().change(changed(Text("It is Bia.")))
        assert desk.paper.texts == [SEARCHED, "### Answer\nIt is Bia."]
    assert len(desk.paper.messages[1].states) == len({text for _, text in desk.paper.messages[1].states})
    await desk.view().change(replace(changed(Text("It is Bia.")), answer=True))
    assert f"feedback:{RUN}:up" in custom_ids(desk.paper.messages[1]), "it is still the last"
    await desk.view().change(changed(Text("Nobody was found."), stage="search"))
    assert desk.paper.texts == ["### Answer\nNobody was found.", "### Answer\nIt is Bia."]
    assert custom_ids(desk.paper.messages[0]) == []


async def test_a_stage_that_gets_shorter_needs_fewer_messages(desk: Desk) -> None:
    long = "\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(20))
    await desk.run(Stage("answer", "Answer"), Text(long))
    assert len(desk.paper.texts) > 1
    await desk.view().change(changed(Text("Short.")))
    assert desk.paper.texts == ["### Answer\nShort."]


async def test_a_stage_that_is_taken_back_says_so_and_offers_nothing(desk: Desk) -> None:
    await desk.run(*WHOLE, Choices("And now?", (Choice("Go", "/rules ask go"),)))
    assert f"choice:{RUN}:0" in custom_ids(desk.paper.messages[1])
    await desk.view().change(changed())
    assert "taken back" in desk.paper.texts[1]
    assert "Ana" not in desk.paper.texts[1]
    assert f"choice:{RUN}:0" not in custom_ids(desk.paper.messages[1])


async def test_what_was_never_shown_is_not_shown_by_a_change(desk: Desk) -> None:
    await desk.view().change(changed(Text("It is Bia.")))
    await desk.run(*SEARCH)
    await desk.view().change(changed(Text("It is Bia.")))
    assert desk.paper.texts == [SEARCHED]


async def test_new_choices_have_numbers_of_their_own_and_old_ones_still_mean_the_same(
    desk: Desk,
) -> None:
    def choices(*labels: str) -> Choices:
        return Choices("And now?", tuple(Choice(label, f"/rules ask {label}") for label in labels))

    await desk.run(*WHOLE, choices("go", "stay"))
    for _ in range(2):
        await desk.view().change(changed(Text("It is Bia."), choices("run")))
    assert f"choice:{RUN}:2" in custom_ids(desk.paper.messages[1])
    offered = await desk.offers.all(PLACE.space, RUN, "choice")
    assert ["go" in offered[0], "stay" in offered[1], "run" in offered[2], len(offered)] == [True] * 3 + [3]


async def test_what_has_been_taken_stands_there_and_can_be_pressed_no_more(desk: Desk) -> None:
    choices = Choices("And now?", (Choice("Go", "/rules ask go"), Choice("Stay", "")))
    await desk.run(*WHOLE, choices)
    for _ in range(2):
        await desk.view().change(changed(Text("It is Ana."), replace(choices, taken=0)))
    shown = [
        (one.label, one.disabled) for row in desk.paper.messages[1].page.rows for one in row if one.label
    ]
    assert shown == [("✓ Go", True), ("Stay", True)]
    kept = [from_json(offer) for offer in await desk.offers.all(PLACE.space, RUN, "choice")]
    assert [(offer.label, offer.over) for offer in kept] == [("Go", True), ("Stay", True)]


@pytest.mark.parametrize("fault", [NotEditable(), PlaceClosed(50013)])
async def test_what_can_no_longer_be_edited_comes_anew_and_says_so(desk: Desk, fault: Exception) -> None:
    await desk.run(*WHOLE)
    elsewhere = Paper(read, "elsewhere")
    desk.paper.faults.append(fault)
    await desk.view(Home(desk.paper, elsewhere)).change(changed(Text("It is Bia.")))
    (anew,) = [text for text in (*desk.paper.texts, *elsewhere.texts) if "Bia" in text]
    assert "can no longer be edited" in anew


@pytest.mark.parametrize("fault", [NotEditable(), PlaceClosed(50013)])
async def test_what_matters_only_in_its_place_does_not_come_anew(desk: Desk, fault: Exception) -> None:
    await desk.run(*WHOLE)
    elsewhere = Paper(read, "elsewhere")
    desk.paper.faults.append(fault)
    long = Text("\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(20)))
    await desk.view(Home(desk.paper, elsewhere)).change(replace(changed(long), in_place=True))
    assert desk.paper.texts == [SEARCHED, ANSWERED]
    assert elsewhere.texts == []
    await desk.view().change(replace(changed(Text("It is Bia.")), in_place=True))
    assert desk.paper.texts == [SEARCHED, "### Answer\nIt is Bia."]


async def test_what_somebody_has_deleted_stays_so(desk: Desk) -> None:
    await desk.run(*WHOLE)
    desk.paper.messages[1].deleted = True
    await desk.view().change(changed(Text("It is Bia.")))
    assert desk.paper.texts == [SEARCHED]


async def test_of_an_answer_that_was_shared_the_last_stage_is_still_the_last(desk: Desk) -> None:
    await desk.run(*WHOLE)
    await desk.outbox.claim(PLACE.space, RUN, "share:1")
    await desk.outbox.sent(PLACE.space, RUN, "share:1", "1718.9", "shared")
    await desk.view().change(replace(changed(Text("It is Bia.")), answer=True))
    assert f"feedback:{RUN}:up" in custom_ids(desk.paper.messages[1])


async def test_a_place_may_have_something_to_say_before_there_is_a_stage(desk: Desk) -> None:
    """As where a run was stopped before a crash, and its thread could not be opened."""
    desk.view()
    desk.home.tell("I may not open a thread here.")
    assert desk.paper.messages == []
