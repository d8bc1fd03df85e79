"""Council: several models answer one question; who its members are, and a record of every council."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING

from bot.kind import Kind, Runs, Setting, Typed
from bot.settings import choosable
from bot.verb import LAST, PRIVATE, Argument, Option, Verb
from bot.works.council.config import CouncilConfig

if TYPE_CHECKING:
    from bot.resources import Resources
    from bot.words import Words
    from bot.work import Work
    from bot.works.council.settings import Settings

LEVELS = ("single", "mini", "full")
"""How many members answer, as in `[council] level`: one, a few, all."""

_RUN = Option("run", "verbs.option_run", most=64)

_verb = partial(Verb, "council")

VERBS: tuple[Verb, ...] = (
    _verb(
        "ask",
        "Which ending serves the story better? --level full",
        Argument("question", "verbs.arg_question", most=6_000),
        (
            Option("level", "verbs.option_level", choices=LEVELS),
            Option("research", "verbs.option_research", completes="research"),
            Option("debate", "verbs.option_debate", "flag"),
            Option("follow", "verbs.option_follow", "flag"),
            Option("yes", "verbs.option_yes", "flag"),
            LAST,
            PRIVATE,
        ),
        ordered=True,
        plain=True,
        planned=True,
        asks=True,
    ),
    _verb(
        "members",
        'openai:model-a effort=high, ollama:model-b persona="a sceptic"',
        Argument("list", "verbs.arg_members", required=False, completes="model", most=4_000),
        sets=True,
    ),
    _verb(
        "chair",
        "openai:model-a, ollama:model-b",
        Argument("models", "verbs.arg_chair", required=False, completes="model", most=4_000),
        sets=True,
    ),
    _verb(
        "criteria",
        "Is it true, and does it give its reasons?",
        Argument("text", "verbs.arg_criteria", required=False, most=1_000, kept=True),
        sets=True,
    ),
    _verb(
        "show",
        "ballots 2",
        Argument("what", "verbs.arg_what", completes="council"),
        (_RUN, PRIVATE),
    ),
    _verb(
        "export",
        options=(_RUN, Option("as", "verbs.option_council_as", choices=("markdown", "html")), PRIVATE),
    ),
    _verb("stats", options=(PRIVATE,)),
)


def make(resources: Resources, runs: Runs) -> Work:
    from bot.works.council.display import Display
    from bot.works.council.records import CouncilRecords
    from bot.works.council.snapshot import Snapshots
    from bot.works.council.stats import Stats
    from bot.works.council.work import Asking, Council

    settings = _settings(resources)
    snapshots = Snapshots(
        resources.config,
        resources.models,
        resources.prompts,
        resources.conversations,
        settings,
        resources.settings.roles,
    )
    zone = resources.settings.zone
    records = CouncilRecords(resources.councils, resources.ledger)
    asking = Asking(
        resources.models,
        resources.records.sessions,
        snapshots,
        records,
        resources.records.offers,
        resources.config.section(CouncilConfig).mini,
    )
    display = Display(resources.councils, resources.records.sessions, zone)
    return Council(asking, settings, display, Stats(resources.councils, zone))


def _settings(resources: Resources) -> Settings:
    from bot.works.council.settings import Settings

    return Settings(resources.settings, resources.models, resources.config)


async def _research(resources: Resources, typed: Typed) -> list[str]:
    from bot.works.council import display, snapshot

    return display.research(await snapshot.categories(resources.prompts, typed.space), typed.prefix)


async def _listed_models(resources: Resources, typed: Typed) -> list[str]:
    """Completions of the last model in a typed list, each with the list before it."""
    before, comma, last = typed.prefix.rpartition(",")
    start = f"{before}{comma} " if comma else ""
    prefix = last.strip().casefold()
    return [f"{start}{model}" for model in choosable(resources.config) if prefix in model.casefold()]


async def _to_show(resources: Resources, typed: Typed) -> list[str]:
    from bot.works.council import display

    seats = await _settings(resources).seats(typed.space)
    return display.what_to_show(len(seats.members), typed.prefix)


async def _overview(
    resources: Resources, space: str, say: Words, name: Callable[[str], str]
) -> AsyncIterator[str]:
    seats = await _settings(resources).seats(space)
    if seats.members:
        names = ", ".join(name(member.short) for member in seats.members)
        yield say("slack_home.council", n=len(seats.members), names=names)


def _listed(value: str) -> str:
    """Members, or models, in the form in which people write them."""
    return ", ".join(json.loads(value))


def _models(resources: Resources) -> list[str]:
    return choosable(resources.config)


def _checked(name: str) -> Callable[[Resources, str], str]:
    """A check for one of the council's settings."""

    def check(resources: Resources, value: str) -> str:
        from bot.works.council.settings import Checks

        return Checks(resources.config).checked(name, value)

    return check


SETTINGS = (
    Setting(
        "council.members",
        "verbs.council_members",
        ("space",),
        check=_checked("members"),
        default=lambda resources: ", ".join(resources.config.roles.council),
        values=_models,
        shown=_listed,
    ),
    Setting(
        "council.chair",
        "verbs.council_chair",
        ("space",),
        check=_checked("chair"),
        default=lambda resources: ", ".join(resources.config.roles.chain("chair")),
        values=_models,
        shown=_listed,
    ),
    Setting(
        "council.criteria",
        "verbs.council_criteria",
        ("space",),
        check=_checked("criteria"),
        default=lambda resources: resources.config.section(CouncilConfig).criteria,
    ),
)
KIND = Kind(
    "council",
    VERBS,
    make,
    completes={"research": _research, "council": _to_show, "model": _listed_models},
    settings=SETTINGS,
    overview=_overview,
    suggests=("slack_home.prompt_council",),
    sections={"council": CouncilConfig},
)
