"""A cache for results computed from texts, limited by the texts' characters or the results' size."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from time import monotonic
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

GROWING_S: Final = 60.0
"""Seconds for which results for parts of a growing text are cached; it is rendered several times a second."""


def cached(
    most: int,
    size: Callable[[Any], int] | None = None,
    *,
    seconds: float = float("inf"),
    clock: Callable[[], float] = monotonic,
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Cache a function's results up to a total of `most`; the oldest are dropped first.

    The total is the sum of each result's `size` or, without one, of the characters of its positional arguments.
    Each new result drops those that are older than `seconds` by the `clock`.
    """

    def decorator(function: Callable[P, T]) -> Callable[P, T]:
        results: dict[tuple[object, ...], tuple[T, int, float]] = {}
        lock = Lock()
        total = 0

        @wraps(function)
        def wrapper(*arguments: P.args, **keywords: P.kwargs) -> T:
            nonlocal total
            if (known := results.get(arguments)) is not None:
                return known[0]
            result = function(*arguments, **keywords)
            length = len(repr(arguments)) if size is None else size(result)
            with lock:
                now = clock()
                if length <= most and arguments not in results:
                    results[arguments] = result, length, now
                    total += length
                while results and (total > most or next(iter(results.values()))[2] < now - seconds):
                    total -= results.pop(next(iter(results)))[1]
            return result

        return wrapper

    return decorator
