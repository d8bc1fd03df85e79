"""What all stories share: the people, their questions, and the stories' names.

A story is a coroutine over a `Driver` that asserts what people see.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tests.fakes.reply import Reply
from tests.wire.driver import Driver

QUESTION = "How many hours of walking does a candle burn?"
PREMISE = "A lighthouse keeper finds a door in the sea"
CHOICES = Reply(pieces=["- Open the door.\n- Call into the dark."])
ANA, BIA = "Ana", "Bia"

Story = Callable[[Driver], Awaitable[None]]


class Told:
    """The stories of a module by name; the slow ones run only with the slow tests, beside the other kills."""

    def __init__(self) -> None:
        self.usually: dict[str, Story] = {}
        self.slowly: dict[str, Story] = {}

    def usual(self, story: Story) -> Story:
        self.usually[story.__name__.replace("_", " ")] = story
        return story

    def slow(self, story: Story) -> Story:
        self.slowly[story.__name__.replace("_", " ")] = story
        return story


def count(texts: list[str], words: str) -> int:
    """The number of occurrences of the words in the texts."""
    return sum(text.count(words) for text in texts)
