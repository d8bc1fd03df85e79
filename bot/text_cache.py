"""A cache for what is computed from texts, bounded by their characters, since they differ in length."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def cached(chars: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep a function's results while their arguments have at most `chars` characters in all; the oldest go first.

    The arguments are positional.
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
            size = len(repr(arguments))
            with lock:
                if size <= chars and arguments not in results:
                    results[arguments] = result, size
                    held += size
                while held > chars:
                    held -= results.pop(next(iter(results)))[1]
            return result

        return looked_up

    return decorated
