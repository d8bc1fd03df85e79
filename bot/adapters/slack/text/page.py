"""One message of the bot's on Slack, with blocks and without; and what stands in blocks: buttons, thumbs, plans, small
print, as Block Kit has them, within Slack's limits. Pure; knows no run and no stage.

Limits: Slack's documentation, "Block elements" and "Blocks".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal

from bot.adapters.buttons_row import Button
from bot.adapters.markdown import without_line
from bot.adapters.slack.text.mrkdwn import plain
from bot.events import Speaker
from bot.words import Words

Block = dict[str, Any]

BLOCKS = 50
"""Of a message (Slack's documentation, "Blocks")."""
TEXT = 3_900
"""Of a message's fallback, which chat.update holds to 4,000 (its documentation, "msg_too_long")."""
LABEL = 75
"""Characters of a button's text."""
PER_ROW = 25
"""Elements of an actions block."""
SMALL = 2_900
"""Characters of a context element; the documentation gives 3,000 for a text object."""
TASKS = 50
"""Task cards of a plan."""
TASK = 300
_FEEDBACK = "feedback:"
"""What the custom_id of a thumb begins with: here both thumbs are one element."""

State = Literal["pending", "in_progress", "complete", "error"]


@dataclass(frozen=True, slots=True)
class Page:
    """`body` is the message's Markdown, which a stream shows as it grows; `passing` the line below it that does not
    stay ("Searching…", a bar). `closing` are the blocks that stand below both: notes, sources, buttons.

    `growing`: more of `body` may follow. `plain` says all of it without blocks, in mrkdwn, at most TEXT characters
    where that is possible at all. `buttons_plain` are the rows of buttons that stand under the plain text.
    `file`: the message is this file, called (name, content), and `body` is what is said of it.
    `speaker` says it all; `names` are the lines of `body` and of `plain` that tell so, "" where a page before does.
    """

    body: str
    passing: str = ""
    closing: tuple[Block, ...] = ()
    plain: str = ""
    buttons_plain: tuple[Block, ...] = ()
    growing: bool = False
    file: tuple[str, bytes] | None = None
    speaker: Speaker | None = None
    names: tuple[str, str] = ("", "")

    @property
    def wordless(self) -> bool:
        """Whether there is nothing of its text yet, but for its title and its speaker's name."""
        body = self.nameless.body
        return body.strip() in ("", self.names[0]) or (body.startswith("### ") and "\n" not in body)

    @property
    def nameless(self) -> Page:
        """The same for where the name stands above it anyway."""
        in_body, in_plain = self.names
        if not in_body:
            return self
        body, said = without_line(self.body, in_body), without_line(self.plain, in_plain)
        return replace(self, body=body, plain=said, names=("", ""))

    @property
    def blocks(self) -> list[Block]:
        """All of it, for chat.postMessage and chat.update."""
        body: list[Block] = [{"type": "markdown", "text": self.body}] if self.body.strip() else []
        return [*body, *([small(self.passing)] if self.passing else []), *self.closing]

    @property
    def files(self) -> tuple[tuple[str, bytes], ...]:
        return (self.file,) if self.file else ()

    @property
    def shown(self) -> str:
        """16 hexadecimal digits that are the same as long as the page is."""
        made = blake2b(digest_size=8)
        said = [self.body, self.passing, self.closing, self.plain, self.buttons_plain]
        if self.speaker is not None:
            said.append(repr(self.speaker))
        made.update(json.dumps(said, sort_keys=True).encode("utf-8", "surrogatepass"))
        if self.file:
            made.update(self.file[0].encode() + blake2b(self.file[1]).digest())
        return made.hexdigest()


@dataclass(frozen=True, slots=True)
class Task:
    """A stage as a plan shows it; `id` is unique within its plan."""

    id: str
    title: str
    status: State


def actions_of(buttons: Sequence[Button]) -> Block:
    """A row of one to 25 buttons; a press tells the custom_id, as the action's id and as its value."""
    return {"type": "actions", "elements": list(map(_button, buttons[:PER_ROW]))}


def feedback_of(run: str, say: Words) -> Block:
    """A thumb up and one down: action_id "feedback:<run>", value "up" or "down"."""
    element = {
        "type": "feedback_buttons",
        "action_id": f"{_FEEDBACK}{run}",
        "positive_button": {"text": _text(say("slack_page.up"), LABEL), "value": "up"},
        "negative_button": {"text": _text(say("slack_page.down"), LABEL), "value": "down"},
    }
    return {"type": "context_actions", "elements": [element]}


def rows_of(buttons: Sequence[Button], run: str, say: Words) -> Iterator[Block]:
    """What `buttons_row.controls` offers: its thumbs become one element, in a block of their own."""
    others = [one for one in buttons if not one.custom_id.startswith(_FEEDBACK)]
    if others:
        yield actions_of(others)
    if len(others) < len(buttons):
        yield feedback_of(run, say)


def plan_of(tasks: Sequence[Task], title: str) -> Block:
    """The stages of a run so far; the last fifty, should there be more."""
    cards = [
        {
            "type": "task_card",
            "task_id": one.id[:255],
            "title": plain(one.title, TASK) or "…",
            "status": one.status,
        }
        for one in tasks[-TASKS:]
    ]
    return {"type": "plan", "title": plain(title, TASK) or "…", "tasks": cards}


def small(mrkdwn: str) -> Block:
    """A line or more of small print; `mrkdwn` calls nobody and is at most SMALL characters."""
    # verbatim: names and addresses in it stay words, and only what is marked up is a link.
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": mrkdwn, "verbatim": True}]}


def section(mrkdwn: str) -> Block:
    """Text at most SMALL characters; it calls nobody."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": mrkdwn, "verbatim": True}}


def without_button(blocks: Sequence[Block], action_id: str) -> list[Block]:
    """The blocks of a message but for this button, and for a row in which nothing else stands."""
    found: list[Block] = []
    for block in blocks:
        if block.get("type") not in ("actions", "context_actions"):
            found.append(block)
        elif left := [one for one in block.get("elements", ()) if one.get("action_id") != action_id]:
            found.append({**block, "elements": left})
    return found


def relabelled(blocks: Sequence[Block], labels: Mapping[str, str]) -> list[Block]:
    """The blocks of a message, with other labels on their buttons, by action_ids."""
    found: list[Block] = []
    for block in blocks:
        if block.get("type") == "actions":
            elements = [
                {**one, "text": _text(labels[one["action_id"]], LABEL)}
                if one.get("action_id") in labels
                else one
                for one in block["elements"]
            ]
            block = {**block, "elements": elements}
        found.append(block)
    return found


def _button(one: Button) -> Block:
    made: Block = {
        "type": "button",
        "action_id": one.custom_id,
        "text": _text(f"{one.emoji} {one.label}".strip() or "…", LABEL),
        "value": one.custom_id,
    }
    return {**made, "style": "primary"} if one.loud else made


def _text(words: str, most: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": plain(words, most) or "…", "emoji": True}
