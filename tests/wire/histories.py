"""Checks the history of a run under faults, event by event, for violations. Knows no platform.

Each event has a key that its answer repeats. Times are seconds of one monotonic clock.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeVar

ACK_S = 3.0
TAKEN_OVER_S = 5.0
"""The most seconds from the end of a process's lease until another continues its runs."""
ENDED = ("done", "failed", "stopped")


class Event(NamedTuple):
    """A person's action at `at`. `acked`: seconds until a process acknowledged it. `reachable`: a process could be
    reached all that time. `stopped`: a Stop was acknowledged while the answer was being written. `told`: what the
    person saw instead of an answer.
    """

    key: str
    place: str
    at: float
    acked: float | None
    reachable: bool = True
    stopped: bool = False
    ordered: bool = True
    told: str = ""


class Answer(NamedTuple):
    """A message that exists at the end, first posted at `at`. `live`: it still has a Stop button."""

    key: str
    place: str
    at: float
    whole: bool = True
    live: bool = False


class Run(NamedTuple):
    """A request in the inbox; a history has them in its order."""

    key: str
    state: str


class Paid(NamedTuple):
    """A call of the model that the ledger has settled at `at`, and which step of which run it was for."""

    key: str
    step: str
    at: float = 0.0


class Call(NamedTuple):
    """What the model was asked at `at`; `task` tells one kind of prompt from another."""

    key: str
    task: str
    at: float


class Write(NamedTuple):
    """A call of a process that changes something on a platform."""

    process: str
    at: float
    what: str = ""


class TakeOver(NamedTuple):
    """How long after the end of a process's lease another process continued one of its runs, and when."""

    run: str
    fault: str
    seconds: float
    at: float = 0.0


class Violation(NamedTuple):
    kind: str
    what: str


@dataclass
class History:
    events: list[Event] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    paid: list[Paid] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    taken_over: list[TakeOver] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Messages that still say at the end that something waits."""
    lost: dict[str, float] = field(default_factory=dict)
    """When each process had lost its lease."""
    cut: list[tuple[float, float]] = field(default_factory=list)
    """When a process died or hung, or a connection was cut: a message posted at that moment may exist twice, and a call
    that ended then may be repeated.
    """
    down: list[tuple[float, float]] = field(default_factory=list)
    """When the model was out of order: it may be asked again."""


def violations(history: History) -> list[Violation]:
    """All violations in the history."""
    return [
        *_of_runs(history),
        *_of_answers(history),
        *_of_order(history),
        *_of_payments(history),
        *(
            Violation("written after the lease", f"{write}")
            for write in history.writes
            if write.at > history.lost.get(write.process, float("inf"))
        ),
        *(Violation("left behind", message) for message in history.left),
        *(
            Violation("taken over late", f"{taken}")
            for taken in history.taken_over
            if taken.seconds > TAKEN_OVER_S and not struck_meanwhile(history, taken)
        ),
    ]


def unavoidable(history: History) -> list[str]:
    """The keys of answers that were posted twice because the first post was cut off before its id was stored."""
    return [key for key, answers in _by_key(history).items() if len(answers) > 1 and _cut(history, answers)]


def paid_again(history: History) -> list[Paid]:
    """Calls that were repeated because the first one ended during a cut, before its result could be stored."""
    return [
        earlier
        for paid in _same(history.paid, lambda paid: (paid.key, paid.step))
        for earlier, _ in pairwise(paid)
        if _within(history.cut, earlier.at)
    ]


def struck_meanwhile(history: History, taken: TakeOver) -> bool:
    """Whether another fault began during the takeover: it may have hit the process that took over."""
    return any(taken.at - taken.seconds + 0.5 < began + 1 < taken.at for began, _ in history.cut)


def told(history: History) -> list[Event]:
    """Events whose answer is an error message that the person saw."""
    return [event for event in history.events if event.told]


def _heard(event: Event) -> bool:
    return event.acked is not None


def _of_runs(history: History) -> list[Violation]:
    found = []
    runs: dict[str, list[Run]] = defaultdict(list)
    for run in history.runs:
        runs[run.key].append(run)
    for event in history.events:
        own = runs[event.key]
        if event.reachable and (event.acked is None or event.acked > ACK_S):
            found.append(Violation("acknowledged late", f"{event}"))
        if not own and _heard(event) and not event.told:
            found.append(Violation("lost", f"{event}"))
        if len(own) > 1:
            found.append(Violation("run twice", f"{own}"))
        found += [Violation("not ended", f"{run}") for run in own if run.state not in ENDED]
        if not event.told and any(run.state == "failed" for run in own):
            found.append(Violation("failed in silence", f"{event}"))
    return found


def _of_answers(history: History) -> list[Violation]:
    found = [Violation("live at the end", f"{answer}") for answer in history.answers if answer.live]
    states = {run.key: run.state for run in history.runs}
    answers = _by_key(history)
    for event in history.events:
        own = answers.get(event.key, [])
        whole = any(answer.whole for answer in own)
        if states.get(event.key) == "done" and event.stopped and whole:
            found.append(Violation("went on after Stop", f"{event}"))
        if states.get(event.key) == "done" and not (event.stopped or event.told):
            if not own:
                found.append(Violation("no answer", f"{event}"))
            elif not whole:
                found.append(Violation("not whole", f"{own}"))
        if any(answer.place != event.place for answer in own):
            found.append(Violation("wrong place", f"{event} {own}"))
        if len(own) > 1 and not _cut(history, own):
            found.append(Violation("doubled", f"{own}"))
    return found


def _of_payments(history: History) -> list[Violation]:
    found = [
        Violation("paid again", f"{earlier} {later}")
        for paid in _same(history.paid, lambda paid: (paid.key, paid.step))
        for earlier, later in pairwise(paid)
        if not _within(history.cut, earlier.at)
    ]
    windows = history.cut + history.down
    return found + [
        Violation("asked again", f"{earlier} {later}")
        for calls in _same(history.calls, lambda call: (call.key, call.task))
        for earlier, later in pairwise(calls)
        if not any(began <= later.at and earlier.at <= ended for began, ended in windows)
    ]


def heard_out_of_order(history: History) -> list[tuple[str, str]]:
    """Keys of neighbouring events of a place that reached the inbox in the wrong order: the platform gave the earlier
    one to a process that could not acknowledge it, and delivered it again after the later one.
    """
    arrived = {run.key: n for n, run in enumerate(history.runs)}
    return [
        (earlier.key, later.key)
        for events in _places(history, arrived, lambda event: event.at)
        for earlier, later in pairwise(events)
        if arrived[earlier.key] > arrived[later.key]
    ]


def _of_order(history: History) -> list[Violation]:
    """Violations of order: the first posts in one place, compared with the order in which the inbox received the
    requests.
    """
    first = {key: min(answer.at for answer in answers) for key, answers in _by_key(history).items()}
    arrived = {run.key: n for n, run in enumerate(history.runs)}
    return [
        Violation("out of order", f"{earlier.key} after {later.key} in {earlier.place}")
        for events in _places(history, first.keys() & arrived.keys(), lambda event: arrived[event.key])
        for earlier, later in pairwise(events)
        if first[earlier.key] > first[later.key]
    ]


def _places(
    history: History, known: Container[str], order: Callable[[Event], float]
) -> Iterable[list[Event]]:
    """The ordered events of each place whose keys are known, sorted."""
    places: dict[str, list[Event]] = defaultdict(list)
    for event in sorted((event for event in history.events if event.key in known), key=order):
        if event.ordered:
            places[event.place].append(event)
    return places.values()


def _by_key(history: History) -> dict[str, list[Answer]]:
    answers: dict[str, list[Answer]] = defaultdict(list)
    for answer in history.answers:
        answers[answer.key].append(answer)
    return answers


Moment = TypeVar("Moment", Paid, Call)


def _same(moments: Sequence[Moment], of: Callable[[Moment], tuple[str, str]]) -> Iterable[list[Moment]]:
    """Group the moments by key, each group sorted by time."""
    same: dict[tuple[str, str], list[Moment]] = defaultdict(list)
    for moment in sorted(moments, key=lambda moment: moment.at):
        same[of(moment)].append(moment)
    return same.values()


def _within(windows: Sequence[tuple[float, float]], at: float) -> bool:
    return any(began <= at <= ended for began, ended in windows)


def _cut(history: History, answers: list[Answer]) -> bool:
    """Whether every post of the answer except the last was made during a cut."""
    return all(_within(history.cut, at) for at in sorted(answer.at for answer in answers)[:-1])


def counts(violations: Iterable[Violation]) -> dict[str, int]:
    """The number of violations of each kind."""
    return dict(Counter(violation.kind for violation in violations))
