"""The metrics of this process, in Prometheus' text format: runs, first words, model calls, platform events.

Counted in memory and never stored: a restart begins at 0, as Prometheus expects. Labels name works, providers, roles
and platforms, never a space or a person. Source: Prometheus' documentation, "Exposition formats", version 0.0.4.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

Labels: TypeAlias = tuple[str, ...]

TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The Content-Type of `text`."""

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Counter:
    """A sum for each combination of labels; any thread may add to it."""

    kind: Final = "counter"

    def __init__(self, name: str, about: str, *labels: str) -> None:
        self.name, self.about, self._labels = name, about, labels
        self._sums: dict[Labels, float] = {} if labels else {(): 0.0}
        self._lock = threading.Lock()

    def add(self, *values: str, by: float = 1) -> None:
        with self._lock:
            self._sums[values] = self._sums.get(values, 0.0) + by

    def of(self, *values: str) -> float:
        """The sum for these values of the labels."""
        return self._sums.get(values, 0.0)

    def samples(self) -> Iterator[str]:
        for values, total in sorted(self._sums.copy().items()):
            yield sample(self.name, total, zip(self._labels, values, strict=True))


class Histogram:
    """Counts the observations up to each of several bounds. Use it only on the event loop."""

    kind: Final = "histogram"

    def __init__(self, name: str, about: str, bounds: tuple[float, ...], *labels: str) -> None:
        self.name, self.about, self._labels, self._bounds = name, about, labels, bounds
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, *values: str, seconds: float) -> None:
        counts = self._counts.setdefault(values, [0] * (len(self._bounds) + 1))
        counts[bisect_left(self._bounds, seconds)] += 1
        self._sums[values] = self._sums.get(values, 0.0) + seconds

    def count(self, *values: str) -> int:
        """The number of observations for these values of the labels."""
        return sum(self._counts.get(values, ()))

    def samples(self) -> Iterator[str]:
        for values, counts in sorted(self._counts.items()):
            labels = list(zip(self._labels, values, strict=True))
            cumulative = 0
            for bound, count in zip((*self._bounds, float("inf")), counts, strict=True):
                cumulative += count
                yield sample(f"{self.name}_bucket", cumulative, [*labels, ("le", _number(bound))])
            yield sample(f"{self.name}_sum", self._sums[values], labels)
            yield sample(f"{self.name}_count", cumulative, labels)


RUNS = Counter("sutradhar_runs_total", "Runs that have ended.", "work", "end")
FIRST_WORDS = Histogram(
    "sutradhar_first_words_seconds",
    "From a request to the first words of its answer, waiting in line included.",
    (0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120),
    "work",
)
MODEL_ERRORS = Counter(
    "sutradhar_model_errors_total", "Calls of models that failed.", "role", "provider", "kind"
)
TOKENS = Counter("sutradhar_tokens_total", "Tokens that models have read and written.", "provider", "kind")
DOLLARS = Counter("sutradhar_cost_dollars_total", "What calls of models have cost.", "provider")
FRAMES = Counter("sutradhar_voice_frames_total", "Frames of 20 ms sent to voice channels.")
EVENTS = Counter("sutradhar_events_total", "Events received from platforms.", "platform")
ACKNOWLEDGED = Histogram(
    "sutradhar_acknowledge_seconds",
    "From the arrival of an event to its acknowledgement; platforms wait 3 seconds.",
    (0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 5),
    "platform",
)

ALL: Final[tuple[Counter | Histogram, ...]] = (
    RUNS,
    FIRST_WORDS,
    MODEL_ERRORS,
    TOKENS,
    DOLLARS,
    FRAMES,
    EVENTS,
    ACKNOWLEDGED,
)


def text(gauges: Iterable[Gauge] = ()) -> str:
    """All metrics as text, with the caller's gauges and the operating system's figures for this process."""
    lines: list[str] = []
    for metric in ALL:
        lines += _head(metric.name, metric.about, metric.kind)
        lines += metric.samples()
    for name, about, labels, values in (*gauges, *_process_gauges()):
        lines += _head(name, about, "counter" if name.endswith("_total") else "gauge")
        lines += (
            sample(name, value, zip(labels, label_values, strict=True))
            for label_values, value in values.items()
        )
    return "\n".join((*lines, ""))


Gauge: TypeAlias = tuple[str, str, Labels, dict[Labels, float]]
"""A gauge: its name, its description, the names of its labels, and a value for each combination of labels."""


def sample(name: str, value: float, labels: Iterable[tuple[str, str]]) -> str:
    """A line such as `name{label="value"} 1`."""
    label_text = ",".join(f'{label}="{label_value.translate(_ESCAPES)}"' for label, label_value in labels)
    return f"{name}{{{label_text}}} {_number(value)}" if label_text else f"{name} {_number(value)}"


def _head(name: str, about: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(float(value))


_STARTED: Final = time.time()


def _process_gauges() -> Iterator[Gauge]:
    """Memory, processor and file figures under the names that Prometheus' own clients use; memory and files only if
    /proc exists.
    """
    times = os.times()
    yield _unlabelled("process_cpu_seconds_total", "Processor time.", times.user + times.system)
    yield _unlabelled("process_start_time_seconds", "When it began, since 1970.", _STARTED)
    yield _unlabelled("process_threads", "Threads.", threading.active_count())
    if sys.platform != "linux":
        return
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        resident = pages * os.sysconf("SC_PAGE_SIZE")
        yield _unlabelled("process_resident_memory_bytes", "Resident memory.", resident)
    with suppress(OSError):
        yield _unlabelled("process_open_fds", "Open file descriptors.", len(os.listdir("/proc/self/fd")))  # noqa: PTH208


def _unlabelled(name: str, about: str, value: float) -> Gauge:
    return name, about, (), {(): value}
