"""What the Home tab says: a person's conversations, what was used, how the workspace is set.

Looks into the storage and at the settings; of Slack it only wants links to threads. Changes nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

from bot import budget
from bot.adapters.slack import placing
from bot.adapters.slack.home_blocks import SHOWN, Conversation, Home
from bot.adapters.slack.neutral import literal
from bot.adapters.slack.placing import PLATFORM, Spot
from bot.config import DEMO
from bot.words import Words

if TYPE_CHECKING:
    from bot.accounts import Report
    from bot.config import Config, RolesConfig
    from bot.house import House
    from storage.sessions import SessionRow

SHELVES = 12
ROLES = ("answerer", "writer", "extractor", "researcher", "chair", "transcriber")
_TS = re.compile(r"\d+\.\d+")

Link = Callable[[str, str], Awaitable[str]]
"""The address of the message that has this ts in this channel, "" if Slack does not say."""


async def gather(house: House, here: Spot, bot: str, say: Words, *, admin: bool, link: Link) -> Home:
    rows = [one for one in await house.owned.all(here.space, here.user) if one.platform == PLATFORM]
    shown = [await _conversation(house, one, link) for one in rows[:SHOWN]]
    return Home(
        bot,
        shown,
        len(rows) - len(shown),
        await _usage(house, here, say, admin=admin),
        [line async for line in _settings(house, here.space, say, admin=admin)],
    )


async def _conversation(house: House, row: SessionRow, link: Link) -> Conversation:
    real = await house.threads.real(row.space, row.channel, row.thread)
    if real is None and _TS.fullmatch(row.thread):
        real = placing.real(row.channel, row.thread)
    return Conversation(
        row.id,
        row.alias,
        row.title,
        row.work,
        row.state,
        int(row.updated_at.timestamp()),
        await link(*placing.parted(real)) if real else "",
    )


async def _usage(house: House, here: Spot, say: Words, *, admin: bool) -> list[str]:
    """The person's own part; to an admin everybody's, too, and how answers were judged."""
    from bot.accounts import Accounts

    accounts = Accounts(house.ledger, house.feedback, house.config.budget)
    own = await accounts.report(here.space, here.user)
    lines = [_spent("slack_home.own", own, say)]
    if admin:
        whole = await accounts.report(here.space, here.user, everybody=True)
        lines.append(_spent("slack_home.everybody", whole, say))
        judged = whole.up + whole.down > 0
        lines.append(
            say("slack_home.judged", up=whole.up, down=whole.down) if judged else say("usage.not_judged")
        )
    return [*lines, say("slack_home.usage_more")]


def _spent(key: str, report: Report, say: Words) -> str:
    whole = report.whole
    usd = whole.cost_usd + whole.reserved_usd
    sign = "≥ " if whole.unpriced else ""
    return say(
        key,
        days=report.days,
        calls=whole.calls,
        read=whole.input_tokens + whole.cache_read_tokens + whole.cache_write_tokens,
        written=whole.output_tokens,
        cost=sign + say("council.usd", n=budget.dollars(usd)),
    )


async def _settings(house: House, space: str, say: Words, *, admin: bool) -> AsyncIterator[str]:
    from bot.works.council.settings import Settings

    yield _answerer(house.config, say)
    if admin:
        for line in _roles(house.config.roles, say):
            yield line
    seats = await Settings(house.settings.kept, house.models, house.config).seats(space)
    if seats.members:
        names = ", ".join(literal(one.short) for one in seats.members)
        yield say("slack_home.council", n=len(seats.members), names=names)
    counted = Counter(one.shelf for one in await house.documents.list(space))
    yield say("slack_home.books" if counted else "slack_home.no_books")
    for shelf, n in sorted(counted.items())[:SHELVES]:
        yield say("slack_home.shelf", shelf=literal(shelf, 100), n=n)
    if rest := sorted(counted)[SHELVES:]:
        yield say("slack_home.more_shelves", n=len(rest))
    own = [one.text.name for one in await house.prompts.all(space) if one.own is not None]
    names = ", ".join(f"`{one}`" for one in own)
    yield say("slack_home.prompts_own", n=len(own), names=names) if own else say("slack_home.prompts")
    if admin:
        yield say("slack_home.admin")


def _answerer(config: Config, say: Words) -> str:
    answers = config.roles.chain("answerer")
    if not answers:
        return say("slack_home.model_none")
    if answers[0] == DEMO:
        return say("slack_home.model_demo")
    key = "slack_home.model_key" if config.key_missing(answers[0]) else "slack_home.model"
    return say(key, model=literal(answers[0]))


def _roles(roles: RolesConfig, say: Words) -> Iterator[str]:
    """Who plays each part, with who steps in."""
    for role in ROLES:
        if chain := roles.chain(role):
            yield say("slack_home.role", role=role, models=literal(" → ".join(chain)))
