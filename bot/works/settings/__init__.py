"""What people, channels, categories and spaces set instead of the config; declares the settings that belong to no other
work.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from bot.kind import OF_CHANNEL, Kind, Runs, Setting, Typed, of_channel, one_of
from bot.settings import (
    ADMIN_NOTES,
    ADMINS_EXEMPT,
    ANSWERING,
    ANSWERS,
    DEFAULT_WORK,
    FOR_OUTSIDERS,
    FREE_CHAT,
    IN_THREAD,
    INSTRUCTION,
    LANGUAGE,
    LISTENING,
    LISTENS,
    MODEL,
    OFF,
    ON,
    OUTSIDERS,
    QUESTIONS,
    ROLES,
    SILENT,
    TELL,
    THREADS,
    TIMEZONE,
    UNANSWERED,
    UTC,
    WORKS,
    choosable,
    zones,
)
from bot.verb import FOR, NAME_CHARS, Argument, Option, Verb
from bot.words import LOCALES
from bot.works.settings import checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.events import Request
    from bot.resources import Resources
    from bot.work import Work

OFFERED = 25
"""The maximum number of names or values in one autocomplete: Discord's limit."""

RIGHT = Argument("right", "verbs.arg_right", completes="right")
PERSON = Option("person", "verbs.option_whose_person", "person", most=NAME_CHARS)
GROUP = Option("group", "verbs.option_whose_group", "group", most=NAME_CHARS)
REMOVE = Option("remove", "verbs.option_unrule", "flag")

PER = Option("per", "verbs.option_budget_per", choices=("day", "month"))
WHOSE = Option("whose", "verbs.option_budget_whose", choices=("space", "channel", "each"))

_verb = partial(Verb, "settings", personal=True)

VERBS: tuple[Verb, ...] = (
    _verb("show", argument=Argument("setting", "verbs.arg_setting", required=False, completes="setting")),
    _verb(
        "set",
        "language pt-BR --for me",
        Argument("setting value", "verbs.arg_setting_value", completes="setting", most=2_000),
        (FOR,),
        sets=True,
        form=("for",),
    ),
    _verb(
        "reset",
        "language --for me",
        Argument("setting", "verbs.arg_setting", completes="setting"),
        (FOR,),
        sets=True,
    ),
    _verb("channels"),
    _verb("access"),
    _verb("allow", "story --group Players", RIGHT, (PERSON, GROUP, REMOVE), admin=True),
    _verb("deny", "models", RIGHT, (PERSON, GROUP, REMOVE), admin=True),
    _verb(
        "budget",
        "5 usd --per day --whose each",
        Argument("amount", "verbs.arg_amount", required=False, most=60),
        (PER, WHOSE, PERSON, GROUP),
        sets=True,
    ),
    _verb("history", admin=True),
    _verb("export", admin=True),
    _verb(
        "import",
        "sutradhar-settings.toml",
        Argument("paths", "verbs.arg_settings_file", required=False, many=True, completes="path"),
        (Option("yes", "verbs.option_yes_import", "flag"),),
        admin=True,
    ),
    Verb("settings", "used", inner=True, tells_admins=True),
)

HEADINGS: Final = {
    "verbs.heading_settings": "show set reset",
    "verbs.heading_settings_access": "access allow deny channels budget",
    "verbs.heading_settings_history": "history export import",
}


def make(resources: Resources, runs: Runs) -> Work:
    from bot.works.settings.work import SettingsWork

    return SettingsWork(resources)


async def _setting(resources: Resources, typed: Typed) -> list[str]:
    """Names of settings; after a name its values, each with the name before it."""
    from bot.commands import SETTINGS

    name, typing, value_prefix = typed.prefix.lstrip().partition(" ")
    if not typing:
        return [setting_name for setting_name in SETTINGS if name.casefold() in setting_name][:OFFERED]
    setting = SETTINGS.get(name.casefold())
    values = (
        [listed_value for listed_value in setting.values(resources) if _fits(listed_value, value_prefix)]
        if setting is not None
        else []
    )
    return [f"{name} {value}" for value in values[:OFFERED]]


async def _right(resources: Resources, typed: Typed) -> list[str]:
    from bot.access import RULED

    return [what for what in RULED if what.startswith(typed.prefix.strip().casefold())]


def _fits(value: str, value_prefix: str) -> bool:
    """Whether the value, or the part of a zone's name after a slash, begins with this prefix."""
    prefix = "_".join(value_prefix.split()).casefold()
    return any(part.startswith(prefix) for part in (value.casefold(), *value.casefold().split("/")))


def _of_role(role: str) -> Setting:
    return Setting(
        MODEL + role,
        f"settings.is_{role}",
        ("person", "channel", "category", "space"),
        check=checks.models,
        default=lambda resources: ", ".join(resources.config.roles.chain(role)),
        values=lambda resources: choosable(resources.config),
        check_own=checks.own_models,
    )


def _works(resources: Resources) -> Sequence[str]:
    from bot.channel_rules import ALL, EXCEPT, GOVERNED

    return [ALL, *GOVERNED, *(EXCEPT + work for work in GOVERNED)]


def _plain_works(resources: Resources) -> Sequence[str]:
    from bot.channel_rules import PLAIN

    return PLAIN


CHANNEL_SETTINGS: tuple[Setting, ...] = (
    of_channel(WORKS, checks.works, "all", _works, lambda value: ", ".join(value.split()), worded=True),
    of_channel(DEFAULT_WORK, checks.default_work, values=_plain_works, worded=True),
    of_channel(INSTRUCTION, checks.instruction),
    one_of(ANSWERS, "settings.is_answers", OF_CHANNEL, ANSWERING, IN_THREAD),
    one_of(LISTENS, "settings.is_listens", OF_CHANNEL, LISTENING, THREADS),
    one_of(UNANSWERED, "settings.is_unanswered", OF_CHANNEL, (TELL, SILENT), TELL),
)
"""Settings that admins set for a channel, a category of channels, or everyone."""

SETTINGS: tuple[Setting, ...] = (
    Setting(
        LANGUAGE,
        "settings.is_language",
        ("person", "channel", "category", "space"),
        check=checks.language,
        default=None,
        values=lambda resources: LOCALES,
    ),
    Setting(
        TIMEZONE,
        "settings.is_timezone",
        ("person", "channel", "category", "space"),
        check=checks.zone,
        default=lambda resources: UTC,
        values=lambda _: list(zones().values()),
    ),
    *map(_of_role, ROLES),
    Setting(
        FREE_CHAT,
        "settings.is_free_chat",
        ("channel", "category", "space"),
        check=checks.free_chat,
        default=lambda resources: ON if resources.config.discord.free_chat else OFF,
        values=lambda resources: (ON, OFF),
        platforms=("discord",),
        worded=True,
    ),
    *CHANNEL_SETTINGS,
    one_of(ADMIN_NOTES, "settings.is_admin_notes", ("channel",), (ON, OFF), OFF),
    one_of(OUTSIDERS, "settings.is_outsiders", ("channel", "space"), FOR_OUTSIDERS, QUESTIONS, ("slack",)),
    one_of(ADMINS_EXEMPT, "settings.is_admins_exempt", ("space",), (ON, OFF), OFF),
)


async def _checks(resources: Resources, request: Request) -> None:
    from bot.works.settings.work import checked

    if request.verb == "set":
        await checked(resources, request)


KIND = Kind(
    "settings",
    VERBS,
    make,
    completes={"setting": _setting, "right": _right},
    settings=SETTINGS,
    checks=_checks,
    headings=HEADINGS,
)
