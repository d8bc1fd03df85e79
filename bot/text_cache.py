"""A cache for results computed from texts, limited by the texts' characters or the results' size."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def cached(most: int, size: Callable[[Any], int] | None = None) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Cache a function's results up to a total of `most`; the oldest are dropped first.

    The total is the sum of each result's `size` or, without one, of the characters of its positional arguments.
    """

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        results: dict[tuple[object, ...], tuple[T, int]] = {}
        lock = Lock()
        held = 0

        @wraps(function)
        def looked_up(*arguments: P.args, **named: P.kwargs) -> T:
            nonlocal held
            if (known := results.get(arguments)) is not None:
                return known[0]
            result = function(*arguments, **named)
            length = len(repr(arguments)) if size is None else size(result)
            with lock:
                if length <= most and arguments not in results:
                    results[arguments] = result, length
                    held += length
                while held > most:
                    held -= results.pop(next(iter(results)))[1]
            return result

        return looked_up

    return decorated
