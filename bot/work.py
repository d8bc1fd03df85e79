"""What a kind of work is, and the run in which it does a request."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

from bot.events import Event, OptionValue, Place, Request
from bot.llm.completion import Completion

T = TypeVar("T")


class Run(Protocol):
    """The durable execution of a request: a finished step is not repeated after a crash."""

    @property
    def id(self) -> str: ...

    @property
    def request(self) -> Request: ...

    @property
    def alone(self) -> bool:
        """Whether only the asker reads its answer."""

    @property
    def hides(self) -> bool:
        """Whether its answer can hide text until a reader opens it."""

    async def step(self, name: str, call: Callable[[], Awaitable[T]], of: type[T]) -> T:
        """Run `call` once and store its value; a replay returns the stored value.

        `name` is unique within the run. `of` is the value's type, which is how it comes back
        from storage (anything pydantic can round-trip through JSON: dataclasses, lists, dicts).
        """

    def stream(
        self, name: str, call: Callable[[], AsyncGenerator[str | Completion, None]]
    ) -> AsyncGenerator[str | Completion, None]:
        """Pass on pieces of text while `call` yields them, then the Completion that ends it.

        A replay yields the stored text in one piece, then the same Completion.
        """

    async def begin(
        self,
        key: str,
        verb: str,
        *,
        text: str = "",
        options: Mapping[str, OptionValue] | None = None,
        line: str = "",
        thread_title: str = "",
        for_all: bool = False,
        there: Place | None = None,
    ) -> str:
        """Begin a child run of an `inner` verb of this work; returns its id, made from this run's and `key`.

        It is as durable as this run, and begins only once even if this run is replayed. It shows nothing before it
        opens a stage, and nothing waits for it. Children of one `line` run one after another; a child without a line
        does not wait, unless its verb is ordered. With a `thread_title` it begins a new conversation, in the place that
        `new_thread` returns. `for_all`: it has no author, and everybody sees it, even if only one person sees this run:
        in the place `there`, or in this run's.
        """

    def new_thread(self, key: str, title: str) -> Place:
        """The place of the new conversation, in this run's channel, that `begin` begins with this key and title.

        Raises UserError if there can be none.
        """


class Work(Protocol):
    """A kind of work: it knows what to do, and no platform."""

    def run(self, run: Run) -> AsyncGenerator[Event, None]: ...
