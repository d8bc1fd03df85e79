"""Percentiles of measured seconds, in milliseconds."""

from __future__ import annotations

import statistics


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[-1]


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"


def spread(values: list[float]) -> str:
    return f"{ms(statistics.median(values))} (p95 {ms(p95(values))}, n {len(values)})"
