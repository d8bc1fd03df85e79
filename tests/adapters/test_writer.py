"""The pace of a channel: when messages are written, and in which order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from bot.adapters.surface import NotSent, Unavailable
from bot.adapters.writer import HOLD_S, Pace, Rank, Writers
from tests.adapters.paper import Clock

PACE = Pace(edit_every_s=1.2, posts=4, posts_in_s=5.0)


@dataclass(eq=False)
class Note:
    """A message that logs when it was written, and with which text."""

    name: str
    clock: Clock
    log: list[tuple[float, str]]
    text: str = ""
    exists: bool = False
    written: str | None = None
    faults: int = 0
    fault: Exception = field(default_factory=lambda: Unavailable("down"))
    gate: asyncio.Event | None = None
    recalled: bool = False
    times: list[float] = field(default_factory=list)

    async def write(self) -> bool | None:
        text = self.text
        if self.recalled and not self.exists:
            self.exists = True
            return None
        if text == self.written:
            return False
        if self.gate is not None:
            await self.gate.wait()
        self.times.append(self.clock.now)
        if self.faults:
            self.faults -= 1
            raise self.fault
        self.exists, self.written = True, text
        self.log.append((round(self.clock.now - 1000, 2), f"{self.name}:{text}"))
        return True


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log() -> list[tuple[float, str]]:
    return []


async def test_changes_during_a_wait_are_written_together(clock: Clock, log: list[tuple[float, str]]) -> None:
    writer, note = Writers(PACE, clock).at("c"), Note("a", clock, log, "0")
    writer.put(note)
    await clock.advance(0)
    for n in range(1, 40):
        note.text = str(n)
        writer.put(note)
        await clock.advance(0.1)
    await clock.advance(5)
    assert log == [(0, "a:0"), (0, "a:1"), (1.2, "a:12"), (2.4, "a:24"), (3.6, "a:36"), (4.8, "a:39")]


async def test_nothing_is_written_before_the_lease_is_certain(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    confirmed = asyncio.Event()

    async def sure() -> None:
        await confirmed.wait()

    writer, note = Writers(PACE, clock, sure=sure).at("c"), Note("a", clock, log, "0")
    writer.put(note)
    await clock.advance(5)
    assert log == []
    confirmed.set()
    await clock.advance(0)
    assert [what for _, what in log] == ["a:0"]


async def test_queueing_a_waiting_message_again_costs_nothing(log: list[tuple[float, str]]) -> None:
    class Counting(Clock):
        waits = 0

        async def wait(self, event: asyncio.Event, seconds: float) -> None:
            self.waits += 1
            await super().wait(event, seconds)

    clock = Counting()
    writer, note = Writers(PACE, clock).at("c"), Note("a", clock, log, "0", exists=True)
    writer.put(note)
    await clock.advance(0.1)
    clock.waits = 0
    for n in range(1, 40):
        note.text = str(n)
        writer.put(note)
        await clock.advance(0)
    assert clock.waits <= 1, "the pieces of a growing text do not each wake the writer"
    writer.put(note, Rank.FINAL)
    await clock.advance(2)
    assert log == [(0, "a:0"), (1.2, "a:39")]


async def test_an_unchanged_state_is_not_sent(clock: Clock, log: list[tuple[float, str]]) -> None:
    writer, note = Writers(PACE, clock).at("c"), Note("a", clock, log, "0")
    for _ in range(3):
        writer.put(note)
        await clock.advance(2)
    assert log == [(0, "a:0")]


async def test_a_channels_edits_share_one_pace_across_messages(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writers = Writers(PACE, clock)
    notes = [Note(name, clock, log, "0", exists=True) for name in "abc"]
    for n in range(100):
        for note in notes:
            note.text = str(n)
            writers.at("c").put(note)
        await clock.advance(0.1)
    edits = [at for at, _ in log]
    assert all(b - a >= PACE.edit_every_s - 0.001 for a, b in pairwise(edits))
    assert [text[0] for _, text in log[:6]] == ["a", "b", "c", "a", "b", "c"]


async def test_messages_from_before_a_crash_are_edited_at_the_pace_of_edits(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    """The writer learns that they exist only when it writes them."""
    writer = Writers(PACE, clock).at("c")
    for name in "abc":
        writer.put(Note(name, clock, log, "0", recalled=True), Rank.FINAL)
    await clock.advance(5)
    assert log == [(0, "a:0"), (1.2, "b:0"), (2.4, "c:0")]


async def test_channels_do_not_delay_each_other(clock: Clock, log: list[tuple[float, str]]) -> None:
    writers = Writers(PACE, clock)
    for name in "abcde":
        writers.at(name).put(Note(name, clock, log, "0", exists=True))
    await clock.advance(0)
    assert len(log) == 5


async def test_new_messages_are_posted_at_once_and_in_order_up_to_the_limit(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writer = Writers(PACE, clock).at("c")
    for n in range(8):
        writer.put(Note(str(n), clock, log, "x"), group="run")
    await clock.advance(12)
    assert [text for _, text in log] == [f"{n}:x" for n in range(8)]
    assert [at for at, _ in log] == [0] * 4 + [5.25] * 4


async def test_a_message_without_words_briefly_waits_for_its_end(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writer, note = Writers(PACE, clock).at("c"), Note("search", clock, log, "…")
    writer.put(note, empty=True)
    await clock.advance(0.1)
    note.text = "found 3"
    writer.put(note, Rank.FINAL)
    await clock.advance(3)
    assert log == [(0.1, "search:found 3")]


async def test_a_message_without_words_is_posted_after_all(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writer, note = Writers(PACE, clock).at("c"), Note("search", clock, log, "…")
    writer.put(note, empty=True)
    await clock.advance(1)
    assert log == [(HOLD_S, "search:…")]


async def test_a_later_runs_notice_does_not_overtake_an_answers_first_words(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writer = Writers(PACE, clock).at("c")
    answer, later = Note("answer", clock, log, "…"), Note("number 2 in line", clock, log, "…")
    writer.put(answer, group="run", empty=True)
    await clock.advance(0.015)
    writer.put(later, group="later", empty=True)
    await clock.advance(0.125)
    answer.text = "A"
    writer.put(answer, Rank.FIRST, group="run")
    await clock.advance(1)
    assert [text for _, text in log] == ["answer:A", "number 2 in line:…"]


async def test_first_words_do_not_wait_for_an_edit_made_just_before(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    """The search's last edit comes at the same time as the answer's stage; the words follow half a second later."""
    writer = Writers(PACE, clock).at("c")
    search, answer = Note("search", clock, log, "…", exists=True), Note("answer", clock, log, "…")
    search.text = "found 3"
    writer.put(search, Rank.FINAL, group="run")
    writer.put(answer, group="run", empty=True)
    await clock.advance(0.5)
    answer.text = "A"
    writer.put(answer, Rank.FIRST, group="run")
    await clock.advance(1)
    assert log == [(0, "search:found 3"), (0.54, "answer:A")]


async def test_first_words_do_not_wait_for_an_edit_that_brought_none(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    """The message exists already, and gets its title a moment before its words."""
    writer = Writers(PACE, clock).at("c")
    answer = Note("answer", clock, log, "…", exists=True)
    writer.put(answer, group="run", empty=True)
    await clock.advance(0.4)
    answer.text = "Scene 7"
    writer.put(answer, group="run", empty=True)
    await clock.advance(0.4)
    answer.text = "A"
    writer.put(answer, Rank.FIRST, group="run")
    await clock.advance(0.1)
    assert log == [(0.84, "answer:A")]


async def test_a_stage_that_ends_with_its_first_words_is_written_once(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writer, search = Writers(PACE, clock).at("c"), Note("search", clock, log, "…", exists=True)
    search.text = "found 3"
    writer.put(search, Rank.FIRST)
    await clock.advance(0.02)
    search.text = "found 3 passages"
    writer.put(search, Rank.FINAL)
    await clock.advance(3)
    assert log == [(0.02, "search:found 3 passages")]


async def test_a_held_message_delays_only_its_own_run(clock: Clock, log: list[tuple[float, str]]) -> None:
    writer = Writers(PACE, clock).at("c")
    writer.put(Note("a1", clock, log, "…"), group="a", empty=True)
    writer.put(Note("a2", clock, log, "x"), group="a")
    writer.put(Note("b1", clock, log, "x"), group="b")
    await clock.advance(1)
    assert [text for _, text in log] == ["b1:x", "a1:…", "a2:x"]


async def test_a_waiting_run_does_not_overtake_an_earlier_one_without_room(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writer = Writers(PACE, clock).at("c")
    held = Note("a", clock, log, "…", faults=5, fault=NotSent("no room"))
    writer.put(held, group="a", empty=True)
    await clock.advance(2.5)  # the post of a was tried
    writer.put(Note("b", clock, log, "…"), group="b", empty=True)
    writer.put(Note("c", clock, log, "the answer"), Rank.FINAL, group="c")
    await clock.advance(20)
    order = [text for _, text in log]
    assert order.index("b:…") > order.index("a:…")
    assert order.index("c:the answer") < order.index("b:…"), "an answer does not wait until others have room"


async def test_final_states_are_written_before_passing_ones(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writer = Writers(PACE, clock).at("c")
    passing, first, final = (
        Note(name, clock, log, "x", exists=True) for name in ("passing", "first", "final")
    )
    writer.put(Note("before", clock, log, "x", exists=True))
    await clock.advance(0)
    writer.put(passing)
    writer.put(first, Rank.FIRST)
    writer.put(final, Rank.FINAL)
    await clock.advance(5)
    assert [text for _, text in log] == ["before:x", "final:x", "first:x", "passing:x"]


async def test_a_hanging_edit_delays_no_new_message(clock: Clock, log: list[tuple[float, str]]) -> None:
    writer, gate = Writers(PACE, clock).at("c"), asyncio.Event()
    writer.put(Note("hangs", clock, log, "x", exists=True, gate=gate))
    await clock.advance(0)
    writer.put(Note("new", clock, log, "x"))
    await clock.advance(0)
    assert log == [(0, "new:x")]
    gate.set()
    await clock.advance(0)


async def test_a_refused_write_is_retried_with_growing_pauses(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writer, note = Writers(PACE, clock).at("c"), Note("a", clock, log, "x", faults=4)
    writer.put(note, Rank.FINAL)
    await clock.advance(60)
    assert [at - 1000 for at in note.times] == [0, 1, 3, 7, 15]
    assert log == [(15, "a:x")]


async def test_a_write_that_was_never_sent_is_retried_soon(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writer = Writers(PACE, clock).at("c")
    writer.put(Note("a", clock, log, "x", faults=4, fault=NotSent("no room")))
    await clock.advance(60)
    assert log == [(4, "a:x")]


async def test_a_final_state_does_not_wait_for_a_postponed_passing_one(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writer, gate = Writers(PACE, clock).at("c"), asyncio.Event()
    note = Note("a", clock, log, "on", exists=True, faults=1, fault=NotSent("no room"), gate=gate)
    writer.put(note)
    await clock.advance(0.1)
    note.text = "end"
    writer.put(note, Rank.FINAL)
    gate.set()
    await clock.advance(5)
    assert log == [(0.1, "a:end")]


async def test_a_passing_state_is_dropped_soon_and_a_final_one_only_after_a_day_of_other_writes(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writers = Writers(PACE, clock)
    passing = Note("passing", clock, log, "x", faults=10**6)
    final = Note("final", clock, log, "x", faults=10**6)
    writers.at("c").put(passing)
    writers.at("d").put(final, Rank.FINAL)
    await clock.advance(1000)
    assert passing.times[-1] - 1000 < 200
    clock.now += 2 * 86_400
    await clock.advance(60)
    assert final.times[-1] > clock.now - 60
    broken = Note("broken", clock, log, "x", faults=10**6)
    writers.at("c").put(broken, Rank.FINAL)
    final.faults = 0
    await clock.advance(60)
    assert [note for _, note in log] == ["final:x"]
    clock.now += 2 * 86_400
    await clock.advance(60)
    assert broken.times[-1] <= clock.now - 60
    await asyncio.wait_for(writers.at("c").settled(broken), 1)


async def test_after_an_outage_everything_is_written_at_once_and_in_order(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writers = Writers(PACE, clock)
    first, second, elsewhere = (Note(name, clock, log, "x", faults=10**6) for name in ("1", "2", "3"))
    writers.at("c").put(first, Rank.FINAL, group="one")
    await clock.advance(60)
    writers.at("c").put(second, Rank.FINAL, group="two")
    writers.at("d").put(elsewhere, Rank.FINAL)
    await clock.advance(23)
    assert second.times == [], "it waits for the retry of the one before it, which failed"
    for note in (first, second, elsewhere):
        note.faults = 0
    await clock.advance(10)
    assert sorted(name for _, name in log) == ["1:x", "2:x", "3:x"]
    assert [name for _, name in log if name != "3:x"] == ["1:x", "2:x"]
    assert log[-1][0] - log[0][0] < 1


async def test_writes_elsewhere_do_not_speed_up_retries_in_failing_places(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writers = Writers(PACE, clock)
    broken = [Note(f"broken {n}", clock, log, "x", faults=10**6) for n in range(6)]
    for note in broken:
        writers.at(note.name).put(note, Rank.FINAL)
    for n in range(60):
        writers.at(f"c{n}").put(Note(str(n), clock, log, "x"), Rank.FINAL)
        await clock.advance(1)
    assert len(log) == 60
    assert max(len(note.times) for note in broken) < 15


async def test_a_message_that_is_always_refused_delays_others_only_for_a_while(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writers = Writers(PACE, clock)
    broken, note = Note("broken", clock, log, "x", faults=10**6), Note("note", clock, log, "x")
    writers.at("c").put(broken, Rank.FINAL, group="one")
    await clock.advance(5)
    writers.at("c").put(note, Rank.FINAL, group="two")
    await clock.advance(100)
    assert log == []
    await clock.advance(100)
    assert [name for _, name in log] == ["note:x"]
    later = Note("later", clock, log, "x")
    writers.at("c").put(later, Rank.FINAL, group="three")
    await clock.advance(1)
    assert [name for _, name in log] == ["note:x", "later:x"], (
        "others are accepted, so the fault is in this message"
    )


async def test_a_programming_error_is_logged_with_its_place_and_stops_nothing(
    clock: Clock, log: list[tuple[float, str]], caplog: pytest.LogCaptureFixture
) -> None:
    writer = Writers(PACE, clock).at("c")
    writer.put(Note("a", clock, log, "x", faults=1, fault=ZeroDivisionError("xoxb-secret")))
    writer.put(Note("b", clock, log, "x"))
    await clock.advance(1)
    assert log == [(0, "b:x")]
    assert "ZeroDivisionError" in caplog.text
    assert f'File "{__file__}"' in caplog.text
    assert "xoxb-secret" not in caplog.text


async def test_settled_waits_for_changes_made_meanwhile(clock: Clock, log: list[tuple[float, str]]) -> None:
    writer, gate = Writers(PACE, clock).at("c"), asyncio.Event()
    note = Note("a", clock, log, "1", gate=gate)
    writer.put(note)
    await clock.advance(0)
    note.text = "2"
    writer.put(note, Rank.FINAL)
    waiting = asyncio.create_task(writer.settled(note))
    gate.set()
    await clock.advance(5)
    assert waiting.done()
    assert [text for _, text in log] == ["a:1", "a:2"]


async def test_an_idle_writer_leaves_nothing_in_memory(clock: Clock, log: list[tuple[float, str]]) -> None:
    writers = Writers(PACE, clock)
    before = len(asyncio.all_tasks())
    for n in range(200):
        writers.at(n).put(Note(str(n), clock, log, "x"))
        await clock.advance(1)
    assert len(asyncio.all_tasks()) == before
    assert len(writers) < 10


async def test_a_writer_is_kept_for_as_long_as_the_platforms_limit_counts(
    clock: Clock, log: list[tuple[float, str]]
) -> None:
    writers = Writers(PACE, clock)
    writers.at("c").put(Note("a", clock, log, "x", exists=True))
    await clock.advance(0)
    for n in range(50):
        writers.at(n)
    writers.at("c").put(Note("b", clock, log, "x", exists=True))
    await clock.advance(5)
    assert log == [(0, "a:x"), (1.2, "b:x")]
