"""Describes a kind of work to the rest of the bot: its verbs, its settings, and how it is created.

Each folder of `bot.works` has one, called KIND. It imports nothing that its verbs do not need.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias

from bot.events import UserError
from bot.verb import NAME_CHARS
from bot.words import name_in, named

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence

    from bot.check import Check
    from bot.config import Config
    from bot.events import Ended, Place, Request
    from bot.resources import Resources
    from bot.retrieval.intake import Shape
    from bot.verb import Verb
    from bot.words import Words
    from bot.work import Work
    from storage.settings import Scope


@dataclass(frozen=True, slots=True)
class Typed:
    """The beginning of a name that a person is typing in a space, and the shelf named before it, if any.

    `place` is where they are, None if unknown.
    """

    space: str
    prefix: str
    shelf: str | None = None
    author: str = ""
    place: Place | None = None


class Runs(Protocol):
    """What a work may do with other runs; implemented by App."""

    async def stop(self, place: Place, author: str = "") -> int: ...

    async def stop_run(self, space: str, run: str) -> int: ...

    async def forget(self, space: str, *runs: str) -> bool: ...

    async def forget_steps(self, space: str, *runs: str) -> None: ...

    async def reword(self, space: str, run: str, text: str) -> bool: ...

    async def request_of(self, space: str, run: str) -> Request | None: ...

    async def perform(self, request: Request) -> object: ...

    async def plain(self, place: Place, author: str, text: str) -> tuple[str, str]:
        """The work and the verb of a person's plain text in this place."""

    @property
    def platforms(self) -> Collection[str]:
        """The platforms whose runs this process shows."""

    def origin(self, place: Place) -> str | None: ...

    async def adults(self, place: Place) -> bool | None: ...

    async def goes_on(self, space: str, run: str) -> bool: ...

    async def going(self, space: str) -> Sequence[Request]:
        """The requests of the space that wait or run in any process and are not answered yet."""

    async def ended(self, run_id: str) -> Ended: ...

    async def settled(self, place: Place, work: str, verbs: Collection[str]) -> None:
        """Wait for the answer of the current run in this place, if it is of one of these verbs."""


class Service(Protocol):
    """What a work does besides its runs, in the process that executes them."""

    async def start(self, taken_up: Iterable[Request]) -> list[Request]:
        """Begin. `taken_up` are the runs that an earlier process left unfinished. Returns the requests made at once."""

    async def close(self) -> None: ...


Complete: TypeAlias = "Callable[[Resources, Typed], Awaitable[list[str]]]"
"""Returns the names that may complete what was typed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that people may change from chat, over the config's value.

    `scopes` are where it may be set, the nearest first. `check` gives the value to store; it raises UserError, which
    names the possible values. `check_own` does so for what a person sets for themselves, where they may choose less.
    `default` is the value if it is not set; None if the platform decides. `values` are offered while a person types;
    `shown` is a stored value as people write it. `platforms` are those that use it; empty means all. `worded`: its
    values are words that have a name in each language.
    """

    name: str
    summary: str
    scopes: tuple[Scope, ...]
    check: Callable[[Resources, str], str]
    default: Callable[[Resources], str] | None
    values: Callable[[Resources], Sequence[str]] = lambda resources: ()
    shown: Callable[[str], str] = str
    platforms: tuple[str, ...] = ()
    worded: bool = False
    check_own: Callable[[Resources, str], str] | None = None

    def checked(self, resources: Resources, value: str, scope: Scope) -> str:
        """The value to store for this scope. Raises UserError."""
        check = self.check_own if scope == "person" and self.check_own is not None else self.check
        return check(resources, value)

    def in_words(self, shown: str, say: Callable[[str], str]) -> str:
        """The value as `shown` gives it, in the language of the catalogue `say`."""
        return ", ".join(value_in(say, part) for part in shown.split(", ")) if self.worded else shown


def value_in(say: Callable[[str], str], value: str) -> str:
    """A setting's value, or a part of it, in the language of the catalogue `say`: "regras" for "rules", also after a
    minus.
    """
    word = value.removeprefix("-")
    work = name_in(say, word, "group")
    return value[: len(value) - len(word)] + (name_in(say, word, "value") if work == word else work)


def values_in(choices: Sequence[str], say: Callable[[str], str]) -> str:
    """A list of values in the language of the catalogue `say`."""
    return ", ".join(value_in(say, choice) for choice in choices)


OF_CHANNEL: tuple[Scope, ...] = ("channel", "category", "space")


def of_channel(
    name: str,
    check: Callable[[Resources, str], str],
    default: str = "",
    values: Callable[[Resources], Sequence[str]] = lambda resources: (),
    shown: Callable[[str], str] = str,
    *,
    worded: bool = False,
) -> Setting:
    """A setting that admins set for a channel, a category of channels, or everyone."""
    return Setting(
        name,
        f"settings.is_{name}",
        OF_CHANNEL,
        check,
        lambda resources: default,
        values=values,
        shown=shown,
        worded=worded,
    )


def choice(name: str, typed_value: str, choices: Sequence[str]) -> str:
    """One of the choices, ignoring case; an unambiguous beginning is enough, and so is its name in another language."""
    typed = typed_value.strip().casefold()
    candidates = [option for option in choices if option.casefold().startswith(typed)]
    matches = [option for option in candidates if option.casefold() == typed] or candidates
    if len(matches) != 1:
        if named_choice := named(choices, "group", typed) or named(choices, "value", typed):
            return named_choice
        listed = partial(values_in, choices)
        raise UserError("settings.choices", name=name, value=typed_value[:80], choices=listed)
    return matches[0]


def one_of(
    name: str,
    summary: str,
    scopes: tuple[Scope, ...],
    choices: tuple[str, ...],
    default: str,
    platforms: tuple[str, ...] = (),
) -> Setting:
    """A setting whose value is one of these choices."""
    return Setting(
        name,
        summary,
        scopes,
        lambda _, typed: choice(name, typed, choices),
        lambda _: default,
        lambda _: choices,
        platforms=platforms,
        worded=True,
    )


def one_line(resources: Resources, typed: str) -> str:
    """A check for a name: any words, in one line. Raises UserError."""
    name = " ".join(typed.split())
    if len(name) > NAME_CHARS:
        raise UserError("settings.long", length=len(name), limit=NAME_CHARS)
    return name


Overview: TypeAlias = "Callable[[Resources, str, Words, Callable[[str], str]], AsyncIterator[str]]"
"""Lines about a space, in these words. The function escapes a person's name for the page."""

Examine: TypeAlias = "Callable[[Config, Words], Iterator[Check]]"
"""A work's checks for the doctor: (whether it is well, a sentence) each; None is neither good nor bad."""


Checks: TypeAlias = "Callable[[Resources, Request], Awaitable[None]]"
"""Raises UserError if the run of this request would refuse what was typed. Changes nothing."""


Pressed: TypeAlias = "Callable[[Work, Request, Sequence[Request]], Awaitable[Request]]"
"""Checks the press of a button before it is stored: what `UNDER` names must still exist, and no earlier press may still
be working on it. Gets the work, the request and the requests that run or wait. Returns the request, or what it means
now. Raises PressedLate.
"""


Knows: TypeAlias = "Callable[[Resources, Request], Awaitable[bool]]"
"""Whether the work finds anything that answers the request. Raises UserError."""


StandsFor: TypeAlias = "Callable[[Resources, Runs, Request], Awaitable[tuple[Request, Request | None]]]"
"""The request that a request of the work stands for (itself or another), and the one to begin after it. Raises
UserError.
"""


@dataclass(frozen=True, slots=True)
class InView:
    """The subject of a question, from the place where it is asked: its `name` for people, and `text` for a prompt,
    fenced as data; both "" for none. `names` are names used in the place, which no book has to know.
    """

    name: str
    text: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of work."""

    name: str
    verbs: tuple[Verb, ...]
    make: Callable[[Resources, Runs], Work]
    """Creates the work."""
    completes: Mapping[str, Complete] = field(default_factory=dict)
    """The functions that return names for arguments and options, by their `Option.completes`."""
    for_admins: bool = False
    """Whether its commands are shown to admins only, if the platform can do that."""
    tidy: Callable[[Resources], Awaitable[None]] | None = None
    """Called after the end of each of its runs."""
    settings: tuple[Setting, ...] = ()
    """The settings that it reads."""
    overview: Overview | None = None
    """Its part of a platform's page about the bot."""
    suggests: tuple[str, ...] = ()
    """The keys of the catalogue (and `…_title`) for suggested first questions."""
    reworded: str = ""
    """The inner verb for an edited request of one of its runs: its text is the new words, and it `answers` that run."""
    sections: Mapping[str, type] = field(default_factory=dict)
    """Its tables in config.toml, by their names, each a frozen dataclass: see `bot.config.settings`."""
    examine: Examine | None = None
    """Checks its sections for the doctor."""
    service: Callable[[Resources, Runs, Work | None], Service] | None = None
    """Makes what it does besides its runs, from its work, or None if the bot runs without it."""
    shapes: Callable[[Config], Mapping[str, Shape]] = lambda config: {}
    """How a document of each kind that the work adds to the library is divided; {} if it adds none."""
    plain: Callable[[Resources, Place, str, str], Awaitable[str]] | None = None
    """Returns the verb for a person's plain text in a place (by the person's id); "" for the verb that is `plain`."""
    claims: Callable[[str], Awaitable[str]] | None = None
    """Returns the verb for plain text that belongs to this work wherever plain text is a question; "" for none."""
    stands_for: StandsFor | None = None
    """Replaces a request before it is stored."""
    checks: Checks | None = None
    """Checks a request before it is sent, while a window can still show what is wrong."""
    pressed: Pressed | None = None
    """Checks the request of a button."""
    stays: tuple[str, ...] = ()
    """The prefixes of the keys of stages that stay visible when their request is taken back."""
    knows: Knows | None = None
    """Whether there is an answer to plain text, without asking a model; None if that cannot be known."""
    in_view: Callable[[Resources, Request], Awaitable[InView | None]] | None = None
    """What another work's question is about, such as the character whom the asker plays; None for nothing."""
    shared: bool = False
    """Whether its state belongs to the place, so that a private answer concerns that state and begins no separate
    conversation.
    """
    headings: Mapping[str, str] = field(default_factory=dict)
    """The groups in which the help lists its verbs, by the key of each heading: the names of its verbs between spaces,
    the most used first. A work of few verbs has none.
    """
