"""A page: one message of the bot on Slack, with blocks and without; and its blocks within Slack's limits: buttons,
thumbs, plans, small print. Pure; independent of runs and stages.

Limits: Slack's documentation, "Block elements" and "Blocks".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal

from bot.adapters.footer import Button
from bot.adapters.markdown import without_line
from bot.adapters.slack.text.escaping import plain
from bot.events import Speaker
from bot.words import Words

Block = dict[str, Any]

BLOCKS = 50
"""The most blocks of a message (Slack's documentation, "Blocks")."""
TEXT = 3_900
"""The most characters of a message's text; chat.update allows 4,000 (Slack's documentation, "msg_too_long")."""
LABEL = 75
"""The most characters of a button's text."""
PER_ROW = 25
"""The most elements of an actions block."""
SMALL = 2_900
"""The most characters of a context element; the documentation gives 3,000 for a text object."""
TASKS = 50
"""The most task cards of a plan."""
TASK = 300
_FEEDBACK = "feedback:"
"""The prefix of a thumb's custom_id; on Slack both thumbs are one element."""

State = Literal["pending", "in_progress", "complete", "error"]


@dataclass(frozen=True, slots=True)
class Page:
    """One message. `body` is its Markdown, which a stream shows while it grows; `passing` the status line below it.
    `closing` are the blocks below both: notes, sources, buttons.

    `growing`: more of `body` may follow. `tabled` is `body` with its table in the form for a `markdown` block, ""
    without one. `plain` is all of it without blocks, in mrkdwn, at most TEXT characters where possible. `buttons_plain`
    are the rows of buttons under the plain text. `files`: the message is this one file (name, content), and `body` is
    its description. `meanwhile` is a row of buttons for a stream, above its text. `speaker` is the page's speaker;
    `names` are the lines of `body` and `plain` with their name, "" if an earlier page has it.
    """

    body: str
    passing: str = ""
    closing: tuple[Block, ...] = ()
    plain: str = ""
    buttons_plain: tuple[Block, ...] = ()
    growing: bool = False
    files: tuple[tuple[str, bytes], ...] = ()
    speaker: Speaker | None = None
    meanwhile: Block | None = None
    names: tuple[str, str] = ("", "")
    tabled: str = ""

    @property
    def wordless(self) -> bool:
        """Whether it has no text yet except its title and its speaker's name."""
        body = without_line(self.body, self.names[0]) if self.names[0] else self.body
        return body.strip() in ("", self.names[0]) or (body.startswith("### ") and "\n" not in body)

    @property
    def nameless(self) -> Page:
        """The same page without the line with the speaker's name."""
        in_body, in_plain = self.names
        if not in_body:
            return self
        body, plain_text = without_line(self.body, in_body), without_line(self.plain, in_plain)
        tabled = without_line(self.tabled, in_body)
        return replace(self, body=body, plain=plain_text, names=("", ""), tabled=tabled)

    @property
    def blocks(self) -> list[Block]:
        """All blocks, for chat.postMessage and chat.update."""
        text = self.tabled or self.body
        body: list[Block] = [{"type": "markdown", "text": text}] if text.strip() else []
        return [*body, *([small(self.passing)] if self.passing else []), *self.closing]

    @property
    def shown(self) -> str:
        """A digest of 16 hexadecimal digits; equal pages have equal digests."""
        digest = blake2b(digest_size=8)
        content = [self.tabled or self.body, self.passing, self.closing, self.plain, self.buttons_plain]
        if self.speaker is not None:
            content.append(repr(self.speaker))
        digest.update(json.dumps(content, sort_keys=True).encode("utf-8", "surrogatepass"))
        for name, data in self.files:
            digest.update(name.encode() + blake2b(data).digest())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Task:
    """A stage as a plan shows it; `id` is unique within its plan."""

    id: str
    title: str
    status: State


def actions_of(buttons: Sequence[Button]) -> Block:
    """A row of one to 25 buttons. The custom_id is both the action's id and its value."""
    elements: list[Block] = []
    for button in buttons[:PER_ROW]:
        element: Block = {
            "type": "button",
            "action_id": button.custom_id,
            "text": plain_text(f"{button.emoji} {button.label}", LABEL),
            "value": button.custom_id,
        }
        elements.append({**element, "style": "primary"} if button.loud else element)
    return {"type": "actions", "elements": elements}


def rows_of(buttons: Sequence[Button], run: str, say: Words) -> list[Block]:
    """The rows of `footer.controls`. The thumbs become one element in a block of their own, with action_id
    "feedback:<run>" and value "up" or "down".
    """
    other_buttons = [button for button in buttons if not button.custom_id.startswith(_FEEDBACK)]
    rows = [actions_of(other_buttons)] if other_buttons else []
    if len(other_buttons) < len(buttons):
        thumbs = {
            "type": "feedback_buttons",
            "action_id": f"{_FEEDBACK}{run}",
            "positive_button": {"text": plain_text(say("slack_page.up"), LABEL), "value": "up"},
            "negative_button": {"text": plain_text(say("slack_page.down"), LABEL), "value": "down"},
        }
        rows.append({"type": "context_actions", "elements": [thumbs]})
    return rows


def plan_of(tasks: Sequence[Task], title: str) -> Block:
    """The plan block for the stages of a run so far; at most the last fifty."""
    cards = [
        {
            "type": "task_card",
            "task_id": task.id[:255],
            "title": plain(task.title, TASK) or "…",
            "status": task.status,
        }
        for task in tasks[-TASKS:]
    ]
    return {"type": "plan", "title": plain(title, TASK) or "…", "tasks": cards}


def small(mrkdwn: str) -> Block:
    """One or more lines of small print. `mrkdwn` is safe and has at most SMALL characters."""
    # verbatim: Slack does not turn names and addresses into links.
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": mrkdwn, "verbatim": True}]}


def section(mrkdwn: str) -> Block:
    """A section with a text that is safe and has at most SMALL characters."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": mrkdwn, "verbatim": True}}


def without_button(blocks: Sequence[Block], action_id: str) -> list[Block]:
    """The blocks of a message without this button; its row is also removed if the button is alone in it."""
    result: list[Block] = []
    for block in blocks:
        if block.get("type") not in ("actions", "context_actions"):
            result.append(block)
        elif elements := [
            element for element in block.get("elements", ()) if element.get("action_id") != action_id
        ]:
            result.append({**block, "elements": elements})
    return result


def relabelled(blocks: Sequence[Block], labels: Mapping[str, str]) -> list[Block]:
    """The blocks of a message with new labels on their buttons, keyed by action_id."""
    result: list[Block] = []
    for block in blocks:
        if block.get("type") == "actions":
            elements = [
                {**element, "text": plain_text(labels[element["action_id"]], LABEL)}
                if element.get("action_id") in labels
                else element
                for element in block["elements"]
            ]
            block = {**block, "elements": elements}
        result.append(block)
    return result


def plain_text(words: str, most: int) -> Block:
    """A text object without formatting: one line of at most `most` characters."""
    return {"type": "plain_text", "text": plain(words, most) or "…", "emoji": True}
