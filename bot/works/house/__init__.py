"""The verbs that steer the conversation itself; they are typed without a work's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.config import MOST_DAYS
from bot.kind import Kind, Runs
from bot.verb import Argument, Option, Verb

if TYPE_CHECKING:
    from bot.events import Work
    from bot.resources import Resources

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
    Verb(
        "house",
        "usage",
        "--days 7",
        options=(Option("days", "verbs.option_days", "number", most=MOST_DAYS),),
        bare=True,
        personal=True,
    ),
)


def make(resources: Resources, runs: Runs) -> Work:
    from bot.accounts import Accounts
    from bot.works.house.work import ConversationWork

    accounts = Accounts(
        resources.ledger, resources.records.feedback, resources.config.budget, resources.models.cache_times
    )
    return ConversationWork(resources.records.sessions, runs.stop, accounts)


KIND = Kind("house", VERBS, make, suggests=("slack_home.prompt_help",))
