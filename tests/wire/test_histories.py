"""The checker of histories finds each kind of violation in a made-up history, and none in one that is right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.wire.histories import (
    Answer,
    Call,
    Event,
    History,
    Paid,
    Run,
    TakeOver,
    Write,
    heard_out_of_order,
    paid_again,
    told,
    unavoidable,
    violations,
)


def right() -> History:
    return History(
        events=[Event("q1", "thread", 1.0, 0.1), Event("q2", "thread", 2.0, 0.1)],
        answers=[Answer("q1", "thread", 3.0), Answer("q2", "thread", 4.0)],
        runs=[Run("q1", "done"), Run("q2", "done")],
        paid=[Paid("q1", "answer"), Paid("q2", "answer")],
        calls=[Call("q1", "answer", 1.5), Call("q2", "answer", 2.5)],
        taken_over=[TakeOver("run", "kill -9", 2.0)],
        writes=[Write("first", 3.0), Write("second", 4.0)],
        lost={"first": 3.5},
    )


def test_a_correct_history_has_no_violation() -> None:
    assert not violations(right())


WRONG: dict[str, Callable[[History], object]] = {
    "lost": lambda h: (h.runs.pop(), h.answers.pop()),
    "run twice": lambda h: h.runs.append(Run("q2", "done")),
    "not ended": lambda h: h.runs.__setitem__(1, Run("q2", "running")),
    "no answer": lambda h: h.answers.pop(),
    "not whole": lambda h: h.answers.__setitem__(1, Answer("q2", "thread", 4.0, whole=False)),
    "wrong place": lambda h: h.answers.__setitem__(1, Answer("q2", "elsewhere", 4.0)),
    "doubled": lambda h: h.answers.append(Answer("q2", "thread", 5.0)),
    "out of order": lambda h: h.answers.__setitem__(0, Answer("q1", "thread", 6.0)),
    "paid again": lambda h: h.paid.append(Paid("q1", "answer")),
    "asked again": lambda h: h.calls.append(Call("q1", "answer", 2.8)),
    "taken over late": lambda h: h.taken_over.append(TakeOver("run", "kill -9", 5.1)),
    "failed in silence": lambda h: (h.runs.__setitem__(1, Run("q2", "failed")), h.answers.pop()),
    "went on after Stop": lambda h: h.events.__setitem__(1, Event("q2", "thread", 2.0, 0.1, stopped=True)),
    "left behind": lambda h: h.left.append("thread: Number 2 in line"),
    "written after the lease": lambda h: h.writes.append(Write("first", 3.6)),
    "live at the end": lambda h: h.answers.__setitem__(1, Answer("q2", "thread", 4.0, live=True)),
    "acknowledged late": lambda h: h.events.__setitem__(1, Event("q2", "thread", 2.0, 3.1)),
}


@pytest.mark.parametrize("kind", WRONG)
def test_each_kind_of_violation_is_found(kind: str) -> None:
    history = right()
    WRONG[kind](history)
    assert [found.kind for found in violations(history)] == [kind]


def test_an_event_that_is_never_acknowledged_is_late() -> None:
    history = right()
    history.events[1] = Event("q2", "thread", 2.0, None)
    assert [found.kind for found in violations(history)] == ["acknowledged late"]


def test_an_event_that_no_process_could_receive_needs_no_answer() -> None:
    history = right()
    history.events.append(Event("q3", "thread", 5.0, None, reachable=False))
    assert not violations(history)


def test_an_explained_failure_is_no_lost_answer() -> None:
    history = right()
    history.events[1] = Event("q2", "thread", 2.0, 0.1, told="I could not reach the database.")
    history.answers.pop()
    assert not violations(history), "its model was failing"
    history.runs[1] = Run("q2", "failed")
    assert not violations(history)
    history.runs.pop()
    assert not violations(history), "the request was never stored"
    assert [event.key for event in told(history)] == ["q2"]


def test_a_call_that_was_cut_off_may_be_repeated_and_is_counted() -> None:
    history = right()
    history.paid.append(Paid("q1", "answer", 5.0))
    history.calls.append(Call("q1", "answer", 4.0))
    history.cut.append((-0.1, 0.1))
    assert [found.kind for found in violations(history)] == ["asked again"]
    history.down.append((1.6, 1.7))
    assert not violations(history)
    assert [paid.key for paid in paid_again(history)] == ["q1"]


def test_a_stopped_request_needs_no_answer() -> None:
    history = right()
    history.events[1] = Event("q2", "thread", 2.0, 0.1, stopped=True)
    history.runs[1] = Run("q2", "stopped")
    history.answers.pop()
    assert not violations(history)


def test_a_post_that_was_cut_off_may_be_duplicated_and_is_counted() -> None:
    history = right()
    history.answers.append(Answer("q2", "thread", 5.0))
    history.cut.append((3.9, 4.1))
    assert not violations(history)
    assert unavoidable(history) == ["q2"]


def test_order_is_the_inboxs_and_late_events_are_counted() -> None:
    history = right()
    history.runs.reverse()
    assert [found.kind for found in violations(history)] == ["out of order"]
    history.answers = [Answer("q1", "thread", 5.0), Answer("q2", "thread", 4.0)]
    assert not violations(history)
    assert heard_out_of_order(history) == [("q1", "q2")]
