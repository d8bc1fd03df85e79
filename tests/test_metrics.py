"""The metrics are valid Prometheus text, whatever is in a label."""

from __future__ import annotations

import re
import threading

from bot import metrics
from bot.metrics import Counter, Histogram
from tests.scraped import read


def test_a_label_is_escaped_and_a_number_written_as_the_format_says() -> None:
    counter = Counter("asked_total", "Asked.", "by")
    counter.add('a "b"\\c\nd', by=1.5)
    counter.add("plain")
    counter.add("plain")
    assert list(counter.samples()) == [
        'asked_total{by="a \\"b\\"\\\\c\\nd"} 1.5',
        'asked_total{by="plain"} 2',
    ]
    assert list(Counter("none_total", "None yet.").samples()) == ["none_total 0"]


def test_a_histogram_counts_each_observation_in_every_bucket_that_includes_it() -> None:
    histogram = Histogram("took_seconds", "Took.", (0.5, 1), "work")
    for seconds in (0.1, 0.5, 0.7, 3):
        histogram.observe("rules", seconds=seconds)
    assert list(histogram.samples()) == [
        'took_seconds_bucket{work="rules",le="0.5"} 2',
        'took_seconds_bucket{work="rules",le="1"} 3',
        'took_seconds_bucket{work="rules",le="+Inf"} 4',
        'took_seconds_sum{work="rules"} 4.3',
        'took_seconds_count{work="rules"} 4',
    ]


def test_no_count_of_any_thread_is_lost() -> None:
    counter = Counter("frames_total", "Frames.")

    def send() -> None:
        for _ in range(2_000):
            counter.add()

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.of() == 16_000


def test_each_metric_is_named_once_and_explained_and_process_metrics_exist() -> None:
    text = metrics.text([("sutradhar_runs", "Runs.", ("state",), {("going",): 2, ("waiting",): 0})])
    values = read(text)
    assert values['sutradhar_runs{state="going"}'] == 2
    assert values["process_resident_memory_bytes"] > 1e6
    assert values["process_open_fds"] > 2
    named = re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)
    assert len(named) == len(set(named))
    assert {metric.name for metric in metrics.ALL} < set(named)
