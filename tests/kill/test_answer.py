"""kill -9 during an answer: the answer is completed once, in its place, and no finished call is paid again."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from tests.kill.conftest import QUESTION, Chat, Reference, Service
from tests.kill.instants import ALL, sequences
from tests.kill.process import Events, Instant
from tests.kill.remains import cut_off, ends, inbox, rows, shown, steps

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

LEDGER = "SELECT state, input_tokens, output_tokens FROM ledger WHERE run_id = ? ORDER BY id"


def ledger(data: Path, run: str) -> list[tuple[str, int, int]]:
    return rows(data / "sutradhar.db", LEDGER, run)


@pytest.mark.parametrize(("seed", "shares"), sequences("answer", kills=3, some=1, every=12))
def test_a_killed_answer_is_completed_once(
    seed: int, shares: tuple[float, ...], data: Path, chat: Chat, answered: Reference, service: Service
) -> None:
    chance = random.Random(seed)
    (reference,) = {event["run"] for event in answered.course.events}
    told: list[Events] = []
    before = service.calls()
    calls_when_kept: int | None = None
    for share in shares:
        asked = inbox(data)[1:]  # the first run added the book
        over = bool(asked) and asked[0][3] == "done"
        when = answered.course.starting(chance.random()) if over else answered.course.instant(share)
        with chat("" if asked else QUESTION) as bot:
            assert bot.strike(when) == -signal.SIGKILL, bot.complaints()
        told.append(bot.events)
        kept = any(name == "answer" for _, name in steps(data))
        if kept and calls_when_kept is None:
            calls_when_kept = service.calls() - before
    with chat("" if inbox(data)[1:] else QUESTION) as bot:
        assert bot.end() == 0, bot.complaints()
    told.append(bot.events)

    ((run, _, thread, state),) = inbox(data)[1:]
    assert (thread, state) == ("t", "done")
    assert ends(told, run) == ["done"]
    assert shown(told, run) == shown([answered.course.events], reference)
    assert (run, "answer") in steps(data)
    calls = service.calls() - before
    assert 1 <= calls <= (calls_when_kept or 1 + len(shares))
    paid = ledger(data, run)
    ((_, *tokens),) = ledger(answered.data, reference)
    assert [row for row in paid if row[0] == "settled"], paid
    assert all(row == ("settled", *tokens) or cut_off(row) for row in paid), paid
    assert calls <= len(paid) <= 1 + len(shares)
    assert len(rows(data / "sutradhar.db", "SELECT 1 FROM exchanges WHERE run_id = ?", run)) == 1


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
@pytest.mark.parametrize(("seed", "shares"), sequences("meaning", kills=3, some=1, every=2))
def test_a_killed_answer_with_the_embedding_model_is_completed_once(
    seed: int, shares: tuple[float, ...], data: Path, chat: Chat, answered: Reference, by_meaning: Path
) -> None:
    told: list[Events] = []
    for share in shares:
        with chat("" if inbox(data)[1:] else QUESTION, config=by_meaning) as bot:
            assert bot.strike(answered.course.instant(share)) == -signal.SIGKILL, bot.complaints()
        told.append(bot.events)
        if "done" in {row[3] for row in inbox(data)[1:]}:
            break
    with chat("" if inbox(data)[1:] else QUESTION, config=by_meaning) as bot:
        assert bot.end() == 0, bot.complaints()
    told.append(bot.events)
    (run,) = [row[0] for row in inbox(data)[1:]]
    (reference,) = {event["run"] for event in answered.course.events}
    assert ends(told, run) == ["done"]
    assert shown(told, run)["answer"] == shown([answered.course.events], reference)["answer"]


def test_a_kill_at_done_does_not_end_the_answer_twice(data: Path, chat: Chat, answered: Reference) -> None:
    """The shortest interval: between the last line and the record that it was written."""
    with chat(QUESTION) as bot:
        assert bot.strike(Instant(len(answered.course.events), 0)) == -signal.SIGKILL
    (run,) = {event["run"] for event in bot.events}
    with chat() as again:
        assert again.end() == 0
    assert ends([bot.events, again.events], run) == ["done"]
    assert again.events == []


@pytest.mark.parametrize("seed", range(3 if ALL else 1))
def test_acknowledged_questions_are_answered_in_order(seed: int, data: Path, chat: Chat) -> None:
    chance = random.Random(f"turns {seed}")
    turns = [f"/rules ask How many hours does a candle burn, {n}?\n" for n in ("one", "two", "three")]
    told: list[Events] = []
    for turn in turns:
        with chat(turn) as bot:
            lines = 5 + chance.randrange(15)
            assert bot.strike(Instant(lines, chance.random() * 0.1)) == -signal.SIGKILL, bot.complaints()
        told.append(bot.events)
    received = [row[0] for row in inbox(data)[1:]]
    assert received
    with chat() as bot:
        assert bot.end() == 0, bot.complaints()
    told.append(bot.events)
    assert [row[0] for row in inbox(data)[1:]] == received
    done = [event["run"] for events in told for event in events if event["event"] == "done"]
    assert done == received
    assert {row[3] for row in inbox(data)} == {"done"}


@pytest.mark.parametrize("seed", range(4 if ALL else 1))
def test_a_stopped_run_stays_stopped(seed: int, data: Path, chat: Chat) -> None:
    chance = random.Random(f"stopped {seed}")
    with chat(QUESTION) as bot:
        bot.until(lambda events: sum(event["event"] == "text" for event in events) > 2)
        bot.type("/stop\n")
        # At some instant between the line's arrival and the end of the run.
        struck = bot.strike(Instant(len(bot.events), chance.random() * 0.06 * seed))
        assert struck == -signal.SIGKILL
    ((run, _, _, state),) = inbox(data)[1:]
    with chat() as again:
        assert again.end() == 0, again.complaints()
    if state == "stopped":
        assert [event for event in again.events if event["run"] == run] == []
        assert inbox(data)[1][3] == "stopped"
    else:
        assert state == "running"
        assert ends([again.events], run) == ["done"]


def test_a_run_with_a_recorded_stop_stays_stopped(
    data: Path, chat: Chat, halting: tuple[Service, Path]
) -> None:
    _, config = halting
    with chat(QUESTION, config=config) as bot:
        bot.until(lambda events: sum(event["event"] == "text" for event in events) > 2)
        bot.type("/stop\n")
        assert bot.strike(Instant(10**6, 0)) == -signal.SIGKILL
    assert ends([bot.events], bot.events[0]["run"]) == ["stopped"]
    with chat(config=config) as again:
        assert again.end() == 0
    assert again.events == []
    ((state, _, tokens),) = ledger(data, bot.events[0]["run"])
    assert state == "stopped"
    assert tokens > 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)][: 2 if ALL else 1])
def test_sigterm_ends_the_process_and_the_answer_continues_at_the_next_start(
    number: int, code: int, data: Path, chat: Chat, answered: Reference, halting: tuple[Service, Path]
) -> None:
    service, config = halting
    with chat(QUESTION, config=config) as bot:
        assert bot.strike(Instant(9, 0), number) == code, bot.complaints()
        assert "Traceback" not in bot.complaints()
    assert not (data / "lock.pid").exists()
    with chat(config=config) as again:
        assert again.end() == 0, again.complaints()
    (run,) = {event["run"] for event in bot.events}
    assert ends([bot.events, again.events], run) == ["done"]
    (reference,) = {event["run"] for event in answered.course.events}
    assert shown([bot.events, again.events], run) == shown([answered.course.events], reference)
    assert service.calls() == 2
    assert [row[0] for row in ledger(data, run)] == ["stopped", "settled"]
