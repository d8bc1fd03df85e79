"""What people do with the bot, written once for all platforms."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire import stories_of_answers, stories_of_scenes

STORIES = stories_of_answers.told.usually | stories_of_scenes.told.usually
SLOW_STORIES = stories_of_answers.told.slowly | stories_of_scenes.told.slowly
"""Those that run only with the slow tests."""
ON_BOTH = ("a cited answer", "stop", "kill 9 mid stream", "a table plays a story")
LONG = ("a 40 000 character answer",)
"""For `make test-slow` on both platforms."""


def by_turns(turn: int) -> list[Any]:
    """The stories for one of two platforms (0 or 1): every other one in `make test`; the rest, read aloud, in `make
    test-slow`.
    """
    now = {name for number, name in enumerate(STORIES) if (number + turn) % 2 == 0} | set(ON_BOTH)
    return [
        pytest.param(name, marks=[] if name in now - set(LONG) else [pytest.mark.slow]) for name in STORIES
    ]
