"""The Home tab with a person's conversations and usage, the workspace's settings and buttons; and suggested prompts.

The action ids of its buttons begin with "home:", unlike those under answers.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from bot import budget, commands
from bot.adapters.slack import placing
from bot.adapters.slack.installed.workspaces import Workspace
from bot.adapters.slack.placing import (
    PLATFORM,
    Body,
    Location,
    action_of,
    location_of_event,
    location_of_interaction,
)
from bot.adapters.slack.received.commands import open_ask
from bot.adapters.slack.received.intake import unattended
from bot.adapters.slack.text.escaping import literal
from bot.adapters.slack.text.page import LABEL, SMALL, Block, plain_text, section, small
from bot.config import DEMO
from bot.events import UserError
from bot.words import Words

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltContext

    from bot.accounts import Report
    from bot.adapters.slack.received.intake import Intake
    from bot.app import App
    from bot.config import Config, RolesConfig
    from storage.sessions import SessionRow

MOST = 8_192
"""The most people with suggested prompts, and the most links, that are kept in memory."""
ASK, REFRESH = "home:ask", "home:refresh"
OPEN, RESUME, ARCHIVE = "home:open:", "home:resume:", "home:archive:"
"""The prefixes of action ids; the session's id follows."""
SHOWN = 10
"""Conversations shown; each takes two of the 100 blocks of a Home tab (Slack's documentation, "Views")."""
TITLE_CHARS = 100
ROLES = ("answerer", "writer", "extractor", "researcher", "chair", "transcriber")
_TS = re.compile(r"\d+\.\d+")


class HomeTab:
    """The Home tab; one per process."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._links: OrderedDict[tuple[str, str, str], str] = OrderedDict()
        self._suggested: OrderedDict[tuple[str, str, str], None] = OrderedDict()

    async def publish(self, location: Location) -> None:
        """Publish the present Home tab of `location.user`."""
        intake, say = self._intake, await self._intake.words(location)
        person = await intake.people.person(location)
        if person.outside_of(location):
            return
        me = await intake.workspaces.installed(location.team, location.enterprise)
        app, admin = intake.app, person.admin
        mine = await app.records.own_sessions.all(location.space, location.user)
        rows = [row for row in mine if row.platform == PLATFORM]
        conversations = [(row, await self._link(location, row)) for row in rows[:SHOWN]]
        usage = await _usage(app, location, say, admin=admin)
        settings = [line async for line in _settings(app, location.space, say, admin=admin)]
        tab = view(me.name, conversations, len(rows[SHOWN:]), usage, settings, say)
        client = await intake.workspaces.client(location.team, location.enterprise)
        await client.views_publish(user_id=location.user, view=tab)

    async def _link(self, location: Location, row: SessionRow) -> str:
        """The link to the conversation's thread; "" if there is none.

        A message's address never changes, so a link is asked for once; "" is asked for again.
        """
        real = await self._intake.app.records.threads.real_thread(row.space, row.channel, row.thread)
        if real is None and _TS.fullmatch(row.thread):
            real = f"{row.channel}:{row.thread}"
        if real is None:
            return ""
        channel, ts = placing.parted(real)
        key = location.space, channel, ts
        if key not in self._links:
            link = await Workspace(self._intake.workspaces, location.team, location.enterprise).permalink(
                channel, ts
            )
            if not link:
                return ""
            self._links[key] = link
            if len(self._links) > MOST:
                self._links.popitem(last=False)
        return self._links[key]

    async def suggest(self, location: Location) -> None:
        """Set the suggested prompts, once."""
        say = await self._intake.words(location)
        key = location.space, location.user, say.locale
        if key in self._suggested:
            return
        prompts = [
            {"title": say(f"{key}_title"), "message": say(key)}
            for kind in commands.KINDS.values()
            for key in kind.suggests
        ]
        client = await self._intake.workspaces.client(location.team, location.enterprise)
        await client.assistant_threads_setSuggestedPrompts(
            channel_id=location.channel, title=say("slack_home.prompts_title"), prompts=prompts
        )
        self._suggested[key] = None
        if len(self._suggested) > MOST:
            self._suggested.popitem(last=False)

    async def pressed(self, body: Body, location: Location) -> None:
        """Handle a press and publish the tab again. Only the presser's own sessions are found."""
        action = str(action_of(body).get("action_id", ""))
        async with self._intake.reporting_faults(location):
            if action == ASK:
                await open_ask(self._intake, location, str(body.get("trigger_id") or ""))
                return
            if action.startswith(OPEN):
                return  # Slack itself opens the link
            try:
                await self._change(location, action)
            finally:
                await unattended("a Home tab could not be updated", self.publish(location))

    async def _change(self, location: Location, action: str) -> None:
        owned = self._intake.app.records.own_sessions
        for name in (RESUME, ARCHIVE):
            if action.startswith(name):
                id = action.removeprefix(name)
                mine = await owned.all(location.space, location.user)
                row = next(
                    (own for own in mine if own.id == id and own.platform == PLATFORM),
                    None,
                )
                if row is None:
                    raise UserError("edge.gone")
                if name == ARCHIVE:
                    await owned.archive(location.space, location.user, id)
                else:
                    await owned.resume(location.space, location.user, id, row.channel, row.thread)
                return
        if action != REFRESH:
            raise UserError("buttons.stale")


async def _usage(app: App, location: Location, say: Words, *, admin: bool) -> list[str]:
    """The person's own usage; for an admin also everybody's, and the ratings of answers."""
    own = await app.accounts.report(location.space, location.user)
    lines = [_spent("slack_home.own", own, say)]
    if admin:
        report = await app.accounts.report(location.space, location.user, everybody=True)
        lines.append(_spent("slack_home.everybody", report, say))
        judged = report.up + report.down > 0
        lines.append(
            say("slack_home.judged", up=report.up, down=report.down) if judged else say("usage.not_judged")
        )
    return [*lines, say("slack_home.usage_more")]


def _spent(key: str, report: Report, say: Words) -> str:
    total = report.whole
    usd = total.cost_usd + total.reserved_usd
    sign = "≥ " if total.unpriced else ""
    return say(
        key,
        days=report.days,
        calls=total.calls,
        read=total.input_tokens + total.cache_read_tokens + total.cache_write_tokens,
        written=total.output_tokens,
        cost=sign + say("council.usd", n=budget.dollars(usd)),
    )


async def _settings(app: App, space: str, say: Words, *, admin: bool) -> AsyncIterator[str]:
    roles = await app.settings.roles_of_space(space)
    yield _answerer(app.config, roles, say)
    for role in ROLES if admin else ():
        chain = roles.chain(role)
        if role == "transcriber" and app.config.speech.transcriber:  # speech is transcribed first
            chain = (say("slack_home.ears", model=app.config.speech.transcriber), *chain)
        if chain:  # with the models that step in
            yield say("slack_home.role", role=role, models=literal(" → ".join(chain)))
    async for line in app.overview(space, say, lambda name: literal(name, TITLE_CHARS)):
        yield line
    if admin:
        yield say("slack_home.admin")


def _answerer(config: Config, roles: RolesConfig, say: Words) -> str:
    answers = roles.chain("answerer")
    if not answers:
        return say("slack_home.model_none")
    if answers[0] == DEMO:
        return say("slack_home.model_demo")
    key = "slack_home.model_key" if config.key_missing(answers[0]) else "slack_home.model"
    return say(key, model=literal(answers[0]))


def view(
    bot: str,
    conversations: Sequence[tuple[SessionRow, str]],
    more: int,
    usage: Sequence[str],
    settings: Sequence[str],
    say: Words,
) -> Block:
    """The view for views.publish. Each conversation comes with the link to its thread, "" for none; `more` counts those
    that are not shown. `usage` and `settings` are lines of mrkdwn that mention nobody.
    """
    listed = [block for row, link in conversations[:SHOWN] for block in _conversation(row, link, say)]
    if more := more + len(conversations[SHOWN:]):
        listed.append(small(say("slack_home.more", n=more)))
    begin = [
        _button(ASK, say("slack_home.ask")) | {"style": "primary"},
        _button(REFRESH, say("slack_home.refresh")),
    ]
    blocks = [
        _header(say("slack_home.title")),
        section(say("slack_home.begin", bot=literal(bot))),
        {"type": "actions", "elements": begin},
        {"type": "divider"},
        _header(say("slack_home.conversations")),
        *(listed or [section(say("slack_home.none"))]),
        {"type": "divider"},
        _header(say("slack_home.usage")),
        *_lines(usage),
        {"type": "divider"},
        _header(say("slack_home.settings")),
        *_lines(settings),
    ]
    return {"type": "home", "blocks": blocks}


def _conversation(row: SessionRow, link: str, say: Words) -> list[Block]:
    title = literal(row.title, TITLE_CHARS) or say("sessions.untitled")
    # Slack shows a time in the reader's own time zone ("Formatting message text", dates).
    at = int(row.updated_at.timestamp())
    date = f"<!date^{at}^{{date_short_pretty}} {{time}}|{say('slack_home.no_date')}>"
    line = f"*{title}* · {row.work} · {say(f'sessions.state_{row.state}')} · {date} · `{row.alias}`"
    buttons = [_button(OPEN + row.id, say("slack_home.open")) | {"url": link}] if link else []
    if row.state == "active":
        buttons.append(_button(ARCHIVE + row.id, say("slack_home.archive")))
    else:
        buttons.append(_button(RESUME + row.id, say("slack_home.resume")))
    return [section(line), {"type": "actions", "elements": buttons}]


def _lines(lines: Sequence[str]) -> list[Block]:
    """The lines in as few sections as possible; a line that is too long is cut."""
    sections: list[str] = []
    for line in lines:
        line = line if len(line) <= SMALL else line[: SMALL - 1] + "…"
        if sections and len(sections[-1]) + 1 + len(line) <= SMALL:
            sections[-1] += f"\n{line}"
        else:
            sections.append(line)
    return [section(section_text) for section_text in sections]


def _header(text: str) -> Block:
    return {"type": "header", "text": plain_text(text, 150)}


def _button(action_id: str, label: str) -> Block:
    return {"type": "button", "action_id": action_id, "text": plain_text(label, LABEL)}


def listen(bolt: AsyncApp, intake: Intake) -> None:
    tab = HomeTab(intake)

    async def opened(event: dict[str, Any], body: dict[str, Any], context: AsyncBoltContext) -> None:
        location = location_of_event(body, context.team_id, context.enterprise_id)
        doing = tab.publish(location) if event.get("tab") == "home" else tab.suggest(location)
        intake.later(unattended("the app's home could not be shown", doing))

    async def pressed(body: dict[str, Any], ack: AsyncAck, context: AsyncBoltContext) -> None:
        await ack()
        intake.later(tab.pressed(body, location_of_interaction(body, context.team_id, context.enterprise_id)))

    bolt.event("app_home_opened")(opened)
    bolt.action(re.compile(r"\Ahome:"))(pressed)
