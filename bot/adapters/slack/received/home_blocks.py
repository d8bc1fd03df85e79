"""The Home tab as blocks, in the reader's words. Pure: knows neither storage nor client.

A button here is called home:<what>, so that it is told from those under answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bot.adapters.slack.text.elements import SMALL, section, small
from bot.adapters.slack.text.mrkdwn import literal, plain
from bot.adapters.slack.text.page import Block
from bot.words import Words

ASK, REFRESH = "home:ask", "home:refresh"
OPEN, RESUME, ARCHIVE = "home:open:", "home:resume:", "home:archive:"
"""Followed by the session's id."""
SHOWN = 10
"""Conversations; each takes two of the 100 blocks of a Home tab (Slack's documentation, "Views")."""
TITLE_CHARS = 100


@dataclass(frozen=True, slots=True)
class Conversation:
    """`link` leads to its thread, "" where there is none to go to. `at` is when it grew, seconds since the epoch."""

    id: str
    code: str
    title: str
    work: str
    state: Literal["active", "closed", "archived"]
    at: int
    link: str = ""


@dataclass(frozen=True, slots=True)
class Home:
    """`usage` and `settings` are lines of mrkdwn that calls nobody. `bot` is what the bot is called."""

    bot: str
    conversations: Sequence[Conversation] = ()
    more: int = 0
    usage: Sequence[str] = ()
    settings: Sequence[str] = ()


def view(home: Home, say: Words) -> Block:
    """As views.publish takes it."""
    blocks = [
        _header(say("slack_home.title")),
        section(say("slack_home.begin", bot=literal(home.bot))),
        {
            "type": "actions",
            "elements": [
                _button(ASK, say("slack_home.ask")) | {"style": "primary"},
                _button(REFRESH, say("slack_home.refresh")),
            ],
        },
        {"type": "divider"},
        _header(say("slack_home.conversations")),
        *_conversations(home, say),
        {"type": "divider"},
        _header(say("slack_home.usage")),
        *_lines(home.usage),
        {"type": "divider"},
        _header(say("slack_home.settings")),
        *_lines(home.settings),
    ]
    return {"type": "home", "blocks": blocks}


def _conversations(home: Home, say: Words) -> list[Block]:
    if not home.conversations:
        return [section(say("slack_home.none"))]
    found = [block for one in home.conversations[:SHOWN] for block in _conversation(one, say)]
    more = home.more + len(home.conversations[SHOWN:])
    return [*found, small(say("slack_home.more", n=more))] if more else found


def _conversation(one: Conversation, say: Words) -> list[Block]:
    title = literal(one.title, TITLE_CHARS) or say("sessions.untitled")
    # Slack shows a time in the reader's own time zone ("Formatting message text", dates).
    when = f"<!date^{one.at}^{{date_short_pretty}} {{time}}|{say('slack_home.no_date')}>"
    state = say(f"sessions.state_{one.state}")
    line = f"*{title}* · {one.work} · {state} · {when} · `{one.code}`"
    buttons = []
    if one.link:
        buttons.append(_button(OPEN + one.id, say("slack_home.open")) | {"url": one.link})
    if one.state == "active":
        buttons.append(_button(ARCHIVE + one.id, say("slack_home.archive")))
    else:
        buttons.append(_button(RESUME + one.id, say("slack_home.resume")))
    return [section(line), {"type": "actions", "elements": buttons}]


def _lines(lines: Sequence[str]) -> list[Block]:
    """As few sections as they fit in; a line that is too long is cut."""
    found: list[str] = []
    for line in lines:
        line = line if len(line) <= SMALL else line[: SMALL - 1] + "…"
        if found and len(found[-1]) + 1 + len(line) <= SMALL:
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return [section(one) for one in found]


def _header(text: str) -> Block:
    return {"type": "header", "text": {"type": "plain_text", "text": plain(text, 150), "emoji": True}}


def _button(action_id: str, label: str) -> Block:
    text = {"type": "plain_text", "text": plain(label, 75), "emoji": True}
    return {"type": "button", "action_id": action_id, "text": text}
