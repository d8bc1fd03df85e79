"""The verbs that control the conversation itself; they are typed without a work's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.config import MOST_DAYS
from bot.config.settings import LOCAL
from bot.kind import Kind, Runs, Typed
from bot.verb import Argument, Option, Verb

if TYPE_CHECKING:
    from bot.resources import Resources
    from bot.work import Work

VERBS: tuple[Verb, ...] = (
    Verb(
        "house",
        "help",
        "rules ask",
        Argument("topic", "verbs.arg_topic", required=False, completes="command"),
        bare=True,
        at_once=True,
    ),
    Verb("house", "stop", bare=True, stops=True),
    Verb("house", "new", bare=True),
    Verb("house", "tour", "2", Argument("step", "verbs.arg_tour", required=False, terse=True), bare=True),
    Verb(
        "house",
        "usage",
        "--days 7",
        options=(
            Option("days", "verbs.option_days", "number", most=MOST_DAYS),
            Option("by", "verbs.option_by", choices=("work", "model", "person", "channel", "day")),
            Option("csv", "verbs.option_csv", "flag"),
            Option("picture", "verbs.option_usage_picture", "flag"),
        ),
        bare=True,
        personal=True,
    ),
    Verb(
        "house",
        "models",
        "use ollama",
        Argument("action", "verbs.arg_models", required=False, completes="models"),
        bare=True,
        personal=True,
        admin=True,
    ),
)


def make(resources: Resources, runs: Runs) -> Work:
    from bot.accounts import Accounts
    from bot.works.house.models import ModelChoice
    from bot.works.house.work import ConversationWork

    sessions, accounts = resources.records.sessions, Accounts.of(resources)
    return ConversationWork(sessions, runs.stop, accounts, ModelChoice(resources))


async def _models(resources: Resources, typed: Typed) -> list[str]:
    """The actions of `models`; no server is asked while somebody types."""
    from bot.settings import choosable

    named = [f"{verb} {model}" for model in choosable(resources.config) for verb in ("use", "try")]
    actions = ["use config", *(f"use {name}" for name in LOCAL), *named]
    return [action for action in actions if typed.prefix.casefold() in action.casefold()][:25]


KIND = Kind("house", VERBS, make, suggests=("slack_home.prompt_help",), completes={"models": _models})
