"""Modals and Home tabs: Slack's rules for them, and people's input.

https://docs.slack.dev/reference/views.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.slack import block_rules, texts
from tests.fakes.slack.element_rules import Check
from tests.fakes.slack.refusal import Refusal, bad

if TYPE_CHECKING:
    from tests.fakes.slack.people import User
    from tests.fakes.slack.service import FakeSlack

TITLE, PRIVATE, CALLBACK, EXTERNAL, BYTES = 24, 3000, 255, 255, 250_000
# https://docs.slack.dev/surfaces/modals: no more than three, one on the other.
DEEP = 3
KEYS = (
    "blocks title submit close private_metadata callback_id external_id clear_on_close notify_on_close "
    "submit_disabled"
)


def accept(body: dict[str, Any], kind: str, new_id: Any) -> dict[str, Any]:
    """A view as Slack stores it. Refuses an invalid view."""
    if body.get("type") != kind:
        raise bad(f"must provide a view of type {kind} [json-pointer:/view/type]")
    if len(json.dumps(body)) > BYTES:
        raise Refusal("view_too_large")
    check = Check()
    check.known(body, KEYS, "/view")
    blocks = body.get("blocks")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise bad("must provide an array of blocks [json-pointer:/view/blocks]")
    for name in ("title", "submit", "close"):
        required = kind == "modal" and name == "title"
        check.text(body, name, "/view", TITLE, plain=True, required=required)
    check.string(body, "private_metadata", "/view", PRIVATE, required=False)
    check.string(body, "callback_id", "/view", CALLBACK, required=False)
    check.string(body, "external_id", "/view", EXTERNAL, required=False)
    if kind == "modal" and "submit" not in body and any(block.get("type") == "input" for block in blocks):
        check.no("submit is required with an input block", "/view")
    problems = [*check.problems, *block_rules.wrong(blocks, kind)]
    if problems:
        raise bad(*problems)
    view = copy.deepcopy(body)
    view["blocks"] = block_rules.named(blocks, new_id)
    return view


@dataclass(eq=False)
class View:
    """`values` has the input by block and action."""

    id: str
    user: User
    content: dict[str, Any]
    hash: str
    below: View | None = None
    open: bool = True
    values: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    # The bot's error messages by block.
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return str(self.content["type"])

    @property
    def callback_id(self) -> str:
        return str(self.content.get("callback_id", ""))

    @property
    def blocks(self) -> list[dict[str, Any]]:
        return list(self.content["blocks"])

    @property
    def title(self) -> str:
        return str((self.content.get("title") or {}).get("text", ""))

    @property
    def shown(self) -> str:
        return "\n".join(text for text in (self.title, texts.shown(self.blocks)) if text)

    @property
    def mentions(self) -> list[str]:
        return texts.block_pings(self.blocks)

    @property
    def root(self) -> View:
        return self if self.below is None else self.below.root

    @property
    def depth(self) -> int:
        return 1 if self.below is None else self.below.depth + 1

    def payload(self) -> dict[str, Any]:
        team = self.user.team
        payload: dict[str, Any] = {
            "private_metadata": "",
            "callback_id": "",
            "external_id": "",
            "title": None,
            "submit": None,
            "close": None,
            "clear_on_close": False,
            "notify_on_close": False,
        }
        return (
            payload
            | copy.deepcopy(self.content)
            | {
                "id": self.id,
                "team_id": team.id,
                "state": {"values": self.values},
                "hash": self.hash,
                "previous_view_id": self.below.id if self.below else None,
                "root_view_id": self.root.id,
                "app_id": team.app_id,
                "app_installed_team_id": team.id,
                "bot_id": team.bot_id,
            }
        )

    def __repr__(self) -> str:
        return (
            f"<View {self.kind} {self.callback_id} {'open' if self.open else 'closed'}: {self.shown[:200]!r}>"
        )


class Views:
    """`opened` has all modals, including closed ones; `homes` the Home tabs by user."""

    def __init__(self, slack: FakeSlack) -> None:
        self.slack = slack
        self.opened: list[View] = []
        self.homes: dict[str, View] = {}

    def accept(self, body: dict[str, Any], kind: str, itself: View | None = None) -> dict[str, Any]:
        content = accept(body, kind, self.slack.world.ids.next)
        external = content.get("external_id")
        others = [view for view in self.opened if view is not itself and view.open]
        if external and any(view.content.get("external_id") == external for view in others):
            raise Refusal("duplicate_external_id")
        return content

    def open(self, user: User, content: dict[str, Any], below: View | None = None) -> View:
        if below is not None and below.depth >= DEEP:
            raise Refusal("push_limit_reached")
        ids = self.slack.world.ids
        view = View(ids.next("V"), user, content, ids.ts(), below)
        self.opened.append(view)
        return view

    def update(self, view: View, content: dict[str, Any]) -> None:
        """Replace the view's content; input stays if its block stays."""
        view.content, view.hash, view.errors = content, self.slack.world.ids.ts(), {}
        block_ids = {block["block_id"] for block in content["blocks"]}
        view.values = {block: value for block, value in view.values.items() if block in block_ids}

    def publish(self, user: User, content: dict[str, Any]) -> View:
        ids = self.slack.world.ids
        before = self.homes.get(user.id)
        self.homes[user.id] = View(before.id if before else ids.next("V"), user, content, ids.ts())
        return self.homes[user.id]

    def close(self, view: View, all: bool = False) -> None:
        """Close the view, and with `all` those below it."""
        view.open = False
        if all and view.below is not None:
            self.close(view.below, all)
