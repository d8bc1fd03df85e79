"""How Discord shows the events of a run."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from bot.adapters.discord.received.placing import Origin
from bot.adapters.surface import MessageStyle, NotEditable, PlaceClosed, Refused, Unavailable
from bot.adapters.writer import WORDS_S
from bot.events import Attachment, Choice, Choices, Citation, Failed, Notice, Stage, Status, Text
from storage.faults import StorageFault
from storage.patience import patient_in_a_run
from tests.adapters.discord.views import (
    ASKED,
    PLACE,
    RUN,
    SEARCH,
    SYNTHESIS,
    WRITES,
    Home,
    Still,
    Views,
    custom_ids,
    read,
    show,
)
from tests.adapters.paper import Paper


async def test_each_stage_is_a_message_and_the_last_loses_its_stop_button(views: Views) -> None:
    view = views.view()
    await show(view, *SEARCH, Stage("answer", "Answer"), Text("It is "))
    await views.paper.until(lambda: len(views.paper.messages) == 2 and "It is" in views.paper.texts[1])
    search, answer = views.paper.messages
    assert search.text == "### Searching\nFound 3 passages."
    assert f"stop:{RUN}" in custom_ids(answer)
    await show(view, Text("Ana."))
    await view.flush("done")
    assert answer.text == "### Answer\nIt is Ana."
    assert f"stop:{RUN}" not in custom_ids(answer)
    assert len(views.paper.messages) == 2


async def test_commands_in_sentences_have_the_names_that_the_reader_sees(views: Views) -> None:
    view = views.view(asked=replace(ASKED, locale="pt-BR"))
    await views.run(Stage("a", ""), Text("Veja `/rules books`."), Notice("Use `/library add`."), view=view)
    assert "`/regras livros`" in views.paper.texts[0]
    assert "`/biblioteca adicionar`" in views.paper.texts[0]


async def test_a_quick_stage_is_posted_once(views: Views) -> None:
    await views.run(*SEARCH, Stage("answer", "Answer"), Text("Ana."), view=views.view(clock=Still()))
    assert [len(message.edits) for message in views.paper.messages] == [0, 0]


class Fleeting(Still):
    """A clock that ends the wait for first words at once, and never any longer wait."""

    now = 0.0

    def time(self) -> float:
        return self.now

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        if seconds > WORDS_S:
            await event.wait()
        self.now += min(seconds, WORDS_S)


@pytest.mark.parametrize(("verb", "edits"), [(("rules", "ask"), 1), (("schedule", "remind"), 0)])
async def test_a_run_that_nobody_waits_for_is_posted_once_at_its_end(
    views: Views, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, str], edits: int
) -> None:
    keep = views.offers.keep

    async def slowly(*values: Any) -> None:
        for _ in range(20):  # time enough for a post
            await views.outbox.get(PLACE.space, RUN, "a")
        while edits and not views.paper.messages:
            await views.outbox.get(PLACE.space, RUN, "a")
        await keep(*values)

    monkeypatch.setattr(views.offers, "keep", slowly)
    asked = replace(ASKED, work=verb[0], verb=verb[1])
    events = Stage("a", ""), Text("x"), Choices("More?", (Choice("A", "/help"),))
    await views.run(*events, view=views.view(asked=asked, clock=Fleeting()))
    assert [len(message.edits) for message in views.paper.messages] == [edits]
    assert f"choice:{RUN}:0" in custom_ids(views.paper.messages[0])


async def test_a_long_stage_fills_several_messages_before_the_next_stage(views: Views) -> None:
    long = "\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(12))
    await views.run(Stage("a", "One"), Text(long), Stage("b", "Two"), Text("End."))
    assert len(views.paper.messages) > 3
    assert views.paper.texts[-1] == "### Two\nEnd."
    joined = "".join(views.paper.texts)
    assert [joined.index(f"Paragraph {n}.") for n in range(12)] == sorted(
        joined.index(f"Paragraph {n}.") for n in range(12)
    )


async def test_a_waiting_run_says_so_in_the_message_of_its_first_stage(
    views: Views,
) -> None:
    view = views.view()
    await show(view, Status("2nd in line"))
    await views.paper.until(lambda: bool(views.paper.messages))
    assert "2nd in line" in views.paper.texts[0]
    await views.run(*SEARCH, view=view)
    assert views.paper.texts == ["### Searching\nFound 3 passages."]


async def test_the_offers_of_buttons_are_stored_before_the_buttons_appear(views: Views) -> None:
    cited = Citation(1, "Book", "Heading", "words")
    first = Choices("More?", (Choice("A", "/rules see 1"), Choice("B", "/rules see 2")))
    second = Choices("Else?", (Choice("C", "/help"),))
    await views.run(Stage("a", ""), Text("x [1]"), cited, first, Stage("b", ""), Text("y"), second)
    kept = [json.loads(offer) for offer in await views.offers.all("1", RUN, "choice")]
    assert [offer["command"] for offer in kept] == ["/rules see 1", "/rules see 2", "/help"]
    assert f"choice:{RUN}:2" in custom_ids(views.paper.messages[1])
    assert [json.loads(offer)["heading"] for offer in await views.offers.all("1", RUN, "source")] == [
        "Heading"
    ]


async def test_the_offers_of_buttons_are_stored_after_a_database_outage(
    views: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, away = views.offers.keep, [StorageFault("other", "cut off", away=True)]

    async def cut_off(*arguments: Any) -> None:
        if away:
            raise away.pop()
        await keep(*arguments)

    monkeypatch.setattr(views.offers, "keep", cut_off)
    patient_in_a_run()
    await views.run(Text("Where to?"), Choices("", (Choice("North.", "/story act -- North."),)))
    (kept,) = await views.offers.all("1", RUN, "choice")
    assert json.loads(kept)["command"] == "/story act -- North."


async def test_buttons_appear_only_once_their_offers_are_stored(
    views: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, keep = asyncio.Event(), asyncio.Event(), views.offers.keep

    async def slowly(*values: Any) -> None:
        begun.set()
        await go_on.wait()
        await keep(*values)

    monkeypatch.setattr(views.offers, "keep", slowly)
    view = views.view()
    await show(view, Stage("a", ""), Text("x"), Choices("More?", (Choice("A", "/help"),)))
    flushing = asyncio.create_task(view.flush("done"))
    await begun.wait()
    views.home.tell("Told meanwhile.")
    async with asyncio.timeout(90):
        while "Told meanwhile." not in str(views.paper.texts):  # noqa: ASYNC110 - paper tells nobody
            await asyncio.sleep(0.01)
    assert f"choice:{RUN}:0" not in custom_ids(views.paper.messages[0])
    go_on.set()
    await flushing
    assert f"choice:{RUN}:0" in custom_ids(views.paper.messages[0])


async def test_a_question_before_the_run_has_no_thumbs(views: Views) -> None:
    go_on = Choice("Go on", "/council ask --yes -- Who?")
    await views.run(Stage("estimate", "Cost"), Choices("Go on?", (go_on, Choice("Leave it", ""))))
    assert custom_ids(views.paper.messages[0]) == [f"choice:{RUN}:0", f"choice:{RUN}:1"]


async def test_a_failure_names_the_run_beside_what_was_shown(views: Views) -> None:
    await views.run(Stage("answer", "Answer"), Text("It i"), Failed("The model broke off."), status="failed")
    assert "It i" in views.paper.texts[0]
    assert "The model broke off." in views.paper.texts[0]
    assert RUN[:8] in views.paper.texts[0]
    assert f"retry:{RUN}" in custom_ids(views.paper.messages[0])


async def test_a_refusal_that_would_be_repeated_has_no_retry_button(views: Views) -> None:
    await views.run(Failed("I can't roll “2x6”.", retry=False), status="failed")
    assert "I can't roll" in views.paper.texts[0]
    assert f"retry:{RUN}" not in custom_ids(views.paper.messages[0])


async def test_an_incomplete_answer_has_a_retry_button(views: Views) -> None:
    await views.run(
        Stage("answer", "Answer", answer=True), Text("It i"), Notice("The answer broke off.", retry=True)
    )
    assert f"retry:{RUN}" in custom_ids(views.paper.messages[0])
    assert f"feedback:{RUN}:up" in custom_ids(views.paper.messages[0])


async def test_a_file_is_uploaded_once(views: Views) -> None:
    await views.run(Stage("a", "A"), Attachment("a.txt", "text/plain", b"x"), Stage("b", "B"), Text("y"))
    assert [message.files for message in views.paper.messages] == [["a.txt"], []]


async def test_after_a_refused_layout_the_rest_of_the_run_is_plain(views: Views) -> None:
    views.paper.refuses = lambda style: Refused("50035") if style is MessageStyle.LAYOUT else None
    await views.run(*SEARCH, Stage("answer", "Answer"), Text("Ana."))
    assert [message.style for message in views.paper.messages] == [MessageStyle.PLAIN, MessageStyle.PLAIN]


async def test_a_layout_that_is_refused_later_is_replaced_by_a_plain_message(views: Views) -> None:
    view = views.view()
    await show(view, Stage("answer", "Answer"), Text("It i"))
    await views.paper.until(lambda: bool(views.paper.messages))
    views.paper.refuses = lambda style: Refused("50035") if style is MessageStyle.LAYOUT else None
    await views.run(Text("s Ana."), view=view)
    old, new = views.paper.messages
    assert (old.deleted, new.style, "It is Ana." in new.text) == (True, MessageStyle.PLAIN, True)


async def test_a_deleted_message_is_not_posted_again(views: Views) -> None:
    view = views.view()
    await show(view, Stage("answer", "Answer"), Text("It i"))
    await views.paper.until(lambda: bool(views.paper.messages))
    views.paper.messages[0].deleted = True
    await views.run(Text("s Ana."), Stage("more", "More"), Text("And more."), view=view)
    assert views.paper.texts == ["### More\nAnd more."]


async def test_a_message_that_cannot_be_edited_continues_in_a_new_one(views: Views) -> None:
    view = views.view()
    await show(view, Stage("answer", "Answer"), Text("It i"))
    await views.paper.until(lambda: bool(views.paper.messages))
    views.paper.faults.append(NotEditable())
    await views.run(Text("s Ana."), view=view)
    assert views.paper.texts == ["### Answer\nIt is Ana."]


async def test_an_answer_leaves_a_closing_place_with_a_sentence(views: Views) -> None:
    other = Paper(read, "other")
    view = views.view(Home(views.paper, other, why="The thread is locked."))
    await show(view, Stage("answer", "Answer"), Text("It i"))
    await views.paper.until(lambda: bool(views.paper.messages))
    views.paper.faults += [PlaceClosed(50013)]
    await views.run(Text("s Ana."), view=view)
    assert "It is Ana." in other.texts[0]
    assert "The thread is locked." in other.texts[0]


async def test_a_run_survives_a_place_that_accepts_nothing(views: Views) -> None:
    views.paper.faults += [PlaceClosed(50013) for _ in range(9)]
    await views.run(*SEARCH, Stage("answer", "Answer"), Text("Ana."))
    assert views.paper.messages == []


async def test_a_post_whose_outcome_is_unknown_is_not_repeated(views: Views) -> None:
    views.paper.after.append(Unavailable("cut off"))
    await views.run(*SEARCH)
    assert views.paper.texts == ["### Searching\nFound 3 passages."]


async def test_show_does_not_wait_until_the_place_is_open(views: Views) -> None:
    view = views.view()
    views.home.opened.clear()
    await show(view, *SEARCH, Stage("answer", "Answer"), Text("Ana."))
    assert views.paper.messages == []
    views.home.opened.set()
    await view.flush("done")
    assert len(views.paper.messages) == 2


async def test_a_failed_opening_leaves_the_answer_in_its_present_place(
    views: Views, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "a-token"

    class Broken(Home):
        async def open(self) -> None:
            raise ZeroDivisionError(secret)

    await views.run(*SEARCH, view=views.view(Broken(views.paper)))
    assert views.paper.texts == ["### Searching\nFound 3 passages."]
    assert "ZeroDivisionError" in caplog.text
    assert "in open\n" in caplog.text
    assert "a-token" not in caplog.text


async def test_a_run_has_ended_once_its_end_is_shown(views: Views) -> None:
    view = views.view()
    views.home.opened.clear()
    await show(view, *SEARCH)
    flushing = asyncio.create_task(view.flush("done"))
    assert await asyncio.wait({flushing}, timeout=0.05) == (set(), {flushing})
    views.home.opened.set()
    await flushing
    assert views.paper.texts == ["### Searching\nFound 3 passages."]


async def test_a_cancelled_end_shows_nothing_more(views: Views) -> None:
    view = views.view()
    await show(view, *SEARCH)
    await views.paper.until(lambda: views.paper.messages != [])
    before = views.paper.texts
    views.paper.faults = [Unavailable("down")] * 2
    await view.show(Text(" And more."))
    flushing = asyncio.create_task(view.flush("done"))
    assert await asyncio.wait({flushing}, timeout=0.3) == (set(), {flushing})
    flushing.cancel()
    await asyncio.wait({flushing})
    for message in view._messages.stages[-1].messages:
        await view._messages.writers.at(views.paper.key).settled(message)
    assert views.paper.texts == before


async def test_a_second_stage_of_the_same_name_gets_a_separate_message(views: Views) -> None:
    events = (Stage("roll", "One"), Text("1"), *SEARCH, Stage("roll", "Two"), Text("2"))
    await views.run(*events)
    assert views.paper.texts == ["### One\n1", "### Searching\nFound 3 passages.", "### Two\n2"]
    await views.run(*events)
    assert views.paper.texts == ["### One\n1", "### Searching\nFound 3 passages.", "### Two\n2"]


async def test_a_stage_with_a_new_title_stays_one_message(views: Views) -> None:
    view = views.view()
    await show(view, WRITES, Text("Both."))
    await views.paper.until(lambda: "### The chair writes\nBoth." in "".join(views.paper.texts))
    await show(view, SYNTHESIS)
    await views.paper.until(lambda: views.paper.texts[0].startswith("### Synthesis\nBoth."))
    await views.run(Notice("3 of 3"), view=view)
    assert views.paper.texts == ["### Synthesis\nBoth.\n-# ⓘ 3 of 3"]


async def test_a_growing_long_text_gets_its_new_title(views: Views) -> None:
    long = "\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(20))
    view = views.view()
    await show(view, WRITES, Text(long))
    await views.paper.until(lambda: len(views.paper.messages) > 3)
    await show(view, SYNTHESIS)
    await views.paper.until(lambda: views.paper.texts[0].startswith("### Synthesis\n"))
    await view.flush("done")
    assert "The chair writes" not in "".join(views.paper.texts)


async def test_a_run_that_ends_within_a_stage_keeps_its_first_title(
    views: Views,
) -> None:
    await views.run(WRITES, Text("Bo"), status="stopped")
    assert views.paper.texts[0].startswith("### The chair writes\nBo")


@pytest.mark.parametrize("key", ["asked", "thread"])
async def test_a_stage_may_have_the_name_of_an_adapters_own_key(views: Views, key: str) -> None:
    await views.outbox.claim("1", RUN, key)
    await views.outbox.mark_sent("1", RUN, key, "77")
    await views.run(Stage("search", "Searching"), Text("x"), Stage(key, "Other"), Text("y"))
    assert views.paper.texts == ["### Searching\nx", "### Other\ny"]


async def test_the_older_form_is_deleted_even_if_the_new_one_took_two_tries(views: Views) -> None:
    view = views.view()
    await show(view, Stage("answer", "Answer"), Text("It i"))
    await views.paper.until(lambda: bool(views.paper.messages))
    views.paper.faults += [NotEditable(), Unavailable("down")]
    await views.run(Text("s Ana."), view=view)
    assert views.paper.texts == ["### Answer\nIt is Ana."]


async def test_a_message_refused_in_every_form_does_not_change_the_others(
    views: Views,
) -> None:
    views.paper.faults += [Refused("50035")] * 3
    await views.run(*SEARCH, Stage("answer", "Answer"), Text("Ana."))
    assert [(message.text, message.style) for message in views.paper.messages] == [
        ("### Answer\nAna.", MessageStyle.LAYOUT)
    ]


async def test_a_replaced_message_is_deleted_once_the_platform_is_back(views: Views) -> None:
    view = views.view()
    await show(view, Stage("answer", "Answer"), Text("It i"))
    await views.paper.until(lambda: bool(views.paper.messages))
    views.paper.faults, views.paper.keeps = [NotEditable()], [Unavailable("down"), Unavailable("down")]
    await view.show(Text("s Ana."))
    await view.flush("done")
    assert views.paper.texts == ["### Answer\nIt is Ana."]
    old, new = views.paper.messages
    assert (old.deleted, new.deleted) == (True, False)


async def test_a_guest_bot_shows_all_stages_in_one_message(views: Views) -> None:
    guest = Origin("response", 2, 9, member=False)
    view = views.view(origin=guest)
    await views.run(*SEARCH, Stage("answer", "Answer"), Text("It is Ana."), view=view)
    assert len(views.paper.messages) == 1
    assert "-# ✓ Searching" in views.paper.texts[0]
    assert "It is Ana." in views.paper.texts[0]


async def test_a_guest_bot_shows_a_new_title_in_the_same_message(views: Views) -> None:
    view = views.view(origin=Origin("response", 2, 9, member=False))
    await views.run(*SEARCH, WRITES, Text("Both."), SYNTHESIS, Stage("export", "Export"), view=view)
    (text,) = views.paper.texts
    assert "-# ✓ Synthesis" in text
    assert "The chair writes" not in text


async def test_a_guests_long_answer_ends_in_a_file(views: Views) -> None:
    view = views.view(origin=Origin("response", 2, 9, member=False))
    long = "\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(20))
    await views.run(*SEARCH, Stage("answer", "Answer"), Text(long), view=view)
    assert len(views.paper.messages) == 1
    assert views.paper.messages[0].files == [f"{RUN[:8]}.md"]
    assert "Paragraph 0." in views.paper.texts[0]
    assert "in the file" in views.paper.texts[0]


async def test_a_guests_many_files_leave_room_for_the_answers(views: Views) -> None:
    view = views.view(origin=Origin("response", 2, 9, member=False))
    files = [Attachment(f"{n}.txt", "text/plain", b"x") for n in range(14)]
    await views.run(Stage("answer", "Answer"), Text("word " * 1000), *files, view=view)
    (message,) = views.paper.messages
    assert message.files == [f"{RUN[:8]}.md", *(f"{n}.txt" for n in range(9))]
    assert "+ 5 more" in message.text


async def test_the_hint_on_how_to_continue_is_below_the_last_stage(views: Views) -> None:
    view = views.view(Home(views.paper, hint="Reply to me."))
    await views.run(*SEARCH, Stage("answer", "Answer"), Text("Ana."), view=view)
    assert ["Reply to me." in text for text in views.paper.texts] == [False, True]


async def test_a_stopped_run_keeps_its_text_and_says_that_it_was_stopped(views: Views) -> None:
    await views.run(Stage("answer", "Answer"), Text("It i"), status="stopped")
    assert "It i" in views.paper.texts[0]
    assert "⏹" in views.paper.texts[0]


async def test_nothing_is_shown_after_the_end(views: Views) -> None:
    view = views.view()
    await views.run(*SEARCH, view=view)
    states = list(views.paper.messages[0].states)
    await show(view, Notice("late"))
    assert views.paper.messages[0].states == states


def test_the_repr_of_an_origin_hides_the_interactions_token() -> None:
    assert "secret" not in repr(Origin("response", 2, 9, token="secret"))


async def test_a_place_can_show_a_sentence_before_the_first_stage(views: Views) -> None:
    """For example, a run was stopped before a crash, and its thread could not be opened."""
    views.view()
    views.home.tell("I may not open a thread here.")
    assert views.paper.messages == []
