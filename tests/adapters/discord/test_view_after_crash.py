"""After a crash, a run on Discord continues in the same messages."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from bot.adapters.surface import MessageStyle, Refused
from bot.events import Stage, Status, Text
from tests.adapters.discord.views import SEARCH, SYNTHESIS, WRITES, Still, Views, show


async def test_after_a_crash_the_same_messages_are_edited(views: Views) -> None:
    await show(views.view(), *SEARCH, Stage("answer", "Answer"), Text("It i"))
    await views.paper.until(lambda: len(views.paper.messages) == 2 and "It i" in views.paper.texts[1])
    await views.run(*SEARCH, Stage("answer", "Answer"), Text("It is Bia."))
    assert views.paper.texts == ["### Searching\nFound 3 passages.", "### Answer\nIt is Bia."]


async def test_after_a_crash_finished_messages_are_not_edited(views: Views) -> None:
    events = (*SEARCH, Stage("answer", "Answer"), Text("It is Ana."))
    await views.run(*events, view=views.view(clock=Still()))
    states = [list(message.states) for message in views.paper.messages]
    await views.run(*events, view=views.view(clock=Still()))
    assert [message.states for message in views.paper.messages] == states


async def test_after_a_crash_edits_keep_the_pace(views: Views) -> None:
    await show(views.view(), *(Stage(key, key) for key in "abcd"))
    await views.paper.until(lambda: len(views.paper.messages) == 4)
    before = len(views.paper.edits)
    await views.run(*(event for key in "abcd" for event in (Stage(key, key), Text("Again."))))
    edits = views.paper.edits[before:]
    assert views.paper.texts == [f"### {key}\nAgain." for key in "abcd"]
    assert all(b - a >= 0.019 for a, b in pairwise(edits))


async def test_a_restarted_answer_says_so_while_it_grows(views: Views) -> None:
    await show(views.view(), Stage("answer", "Answer"), Text("It i"))
    await views.paper.until(lambda: bool(views.paper.messages))
    again = views.view()
    await show(again, Stage("answer", "Answer"), Text("It is"))
    await views.paper.until(lambda: "↻" in views.paper.texts[0])
    await again.flush("done")
    assert views.paper.texts == ["### Answer\nIt is"]


async def test_a_message_that_was_sent_but_not_recorded_is_found(views: Views) -> None:
    """The process dies after Discord has accepted the message, before the bot records its id."""
    views.paper.after.append(asyncio.CancelledError())
    await show(views.view(), *SEARCH, Stage("answer", "Answer"))
    await views.paper.until(lambda: bool(views.paper.messages))
    await views.run(*SEARCH)
    assert views.paper.texts == ["### Searching\nFound 3 passages."]


async def test_a_shorter_second_answer_leaves_no_extra_messages(views: Views) -> None:
    long = "\n\n".join("word " * 60 for _ in range(20))
    await show(views.view(), Stage("answer", "Answer"), Text(long))
    await views.paper.until(lambda: len(views.paper.messages) >= 4)
    await views.run(Stage("answer", "Answer"), Text("Short."))
    assert views.paper.texts == ["### Answer\nShort."]


async def test_a_reused_waiting_message_is_found_after_a_crash(views: Views) -> None:
    view = views.view()
    await show(view, Status("2nd in line"))
    await views.paper.until(lambda: bool(views.paper.messages))
    await views.noted(views.paper.messages[0])
    await views.run(*SEARCH)
    assert views.paper.texts == ["### Searching\nFound 3 passages."]


async def test_a_crash_does_not_duplicate_a_stage_with_a_new_title(views: Views) -> None:
    await show(views.view(), *SEARCH, WRITES, Text("Bo"))
    await views.paper.until(lambda: "The chair writes\nBo" in "".join(views.paper.texts))
    events = (*SEARCH, WRITES, Text("Both."), SYNTHESIS)
    await show(views.view(), *events)  # the process dies again, before the run has ended
    await views.paper.until(lambda: "### Synthesis\nBoth." in views.paper.texts[-1])
    await views.run(*events)
    assert views.paper.texts == ["### Searching\nFound 3 passages.", "### Synthesis\nBoth."]


async def test_a_layout_from_before_a_crash_that_is_refused_is_replaced_by_a_plain_message(
    views: Views,
) -> None:
    await show(views.view(), Stage("answer", "Answer"), Text("It i"))
    await views.paper.until(lambda: bool(views.paper.messages))
    views.paper.refuses = lambda style: Refused("50035") if style is MessageStyle.LAYOUT else None
    await views.run(Stage("answer", "Answer"), Text("It is Ana."))
    old, new = views.paper.messages
    assert (old.deleted, new.style, "It is Ana." in new.text) == (True, MessageStyle.PLAIN, True)
