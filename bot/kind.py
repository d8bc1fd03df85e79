"""A kind of work as the rest of the bot knows it: what can be asked of it, what can be set, and how it is made.

Each folder of `bot.works` has one, called KIND. It imports nothing that its verbs do not need.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence

    from bot.config import Config
    from bot.events import Place, Request, Work
    from bot.house import House
    from bot.retrieval.intake import Shape
    from bot.verb import Verb
    from bot.words import Words
    from storage.settings import Scope


@dataclass(frozen=True, slots=True)
class Typed:
    """What somebody is typing where: the beginning of a name, and the shelf that they have named, if any."""

    space: str
    prefix: str
    shelf: str | None = None
    author: str = ""


class Runs(Protocol):
    """What a work may do with other runs; App does it."""

    async def stop(self, place: Place, author: str = "") -> int: ...

    async def stop_run(self, space: str, run: str) -> int: ...

    async def forget(self, space: str, *runs: str) -> bool: ...

    async def forget_steps(self, space: str, *runs: str) -> None: ...

    async def reword(self, space: str, run: str, text: str) -> bool: ...

    async def past(self, space: str, run: str) -> Request | None: ...

    async def perform(self, request: Request) -> object: ...

    @property
    def platforms(self) -> Collection[str]:
        """Those whose runs this process shows."""
        ...

    def origin(self, place: Place) -> str | None: ...

    def live(self, space: str, run: str) -> bool: ...

    async def settled(self, place: Place, work: str, verbs: Collection[str]) -> None:
        """Wait for the end of the run that goes on in this place, if it is one of these verbs; for none behind it."""
        ...


class Service(Protocol):
    """What a work does beside its runs, as long as the process is the one that does the work."""

    async def start(self, taken_up: Iterable[Request]) -> list[Request]:
        """Begin, after an earlier process left the runs `taken_up`; what was asked for at once."""
        ...

    async def close(self) -> None: ...


Complete: TypeAlias = "Callable[[House, Typed], Awaitable[list[str]]]"
"""Gives the names that may be meant."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that may be set from chat, over what the config says.

    `scopes` are where, the nearest first. `check` gives a value as it is kept, and raises Sorry, which says what is
    possible. `default` is what holds where nobody has set it; None where that is the platform's affair. `values` are
    those that are offered while somebody types; `shown` is a kept value as people write it. `platforms` are where
    anything reads it, all of them where none is named.
    """

    name: str
    summary: str
    scopes: tuple[Scope, ...]
    check: Callable[[House, str], str]
    default: Callable[[House], str] | None
    values: Callable[[House], Sequence[str]] = lambda house: ()
    shown: Callable[[str], str] = str
    platforms: tuple[str, ...] = ()


Overview: TypeAlias = "Callable[[House, str, Words, Callable[[str], str]], AsyncIterator[str]]"
"""Lines about a space, in the words given. The function makes somebody's name harmless where it is shown."""

Examine: TypeAlias = "Callable[[Config, Words], Iterator[tuple[bool | None, str]]]"
"""What the doctor finds of a work: a sentence each, and whether that is well (None: neither good nor bad)."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of work.

    `completes` says what names an argument or an option that `completes` so may have. `for_admins`: its commands are
    shown to admins only, where a platform can tell. `tidy` is done after each of its runs has ended. `settings` are
    those that it reads. `overview` is what it has to say of a space on a platform's page about the bot; `suggests` are
    keys of the catalogue (and `…_title`), each with something to begin with. `reworded` is the
    inner verb that is done when a person has put the request of one of its runs in other words: its text is those
    words, and it `answers` that run. `sections` are its tables in config.toml, by their names, each a frozen dataclass:
    see `bot.config.settings`. `examine` looks into them for the doctor. `service` is what it does beside its runs.
    `plain` gives the verb that a person's (by id) plain text in a place means, "" for the one that is `plain` anyway.
    """

    name: str
    verbs: tuple[Verb, ...]
    make: Callable[[House, Runs], Work]
    completes: Mapping[str, Complete] = field(default_factory=dict)
    for_admins: bool = False
    tidy: Callable[[House], Awaitable[None]] | None = None
    settings: tuple[Setting, ...] = ()
    overview: Overview | None = None
    suggests: tuple[str, ...] = ()
    reworded: str = ""
    sections: Mapping[str, type] = field(default_factory=dict)
    examine: Examine | None = None
    service: Callable[[House, Runs], Service] | None = None
    shapes: Callable[[Config], Mapping[str, Shape]] = lambda config: {}
    plain: Callable[[House, Place, str, str], Awaitable[str]] | None = None
