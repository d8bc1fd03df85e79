"""views.*: modals within three seconds of a person's action, and the Home tab at any time."""

from __future__ import annotations

from typing import Any

from tests.fakes.slack.ask import Ask
from tests.fakes.slack.refusal import Refusal, missing
from tests.fakes.slack.views import View
from tests.fakes.slack.web import Method


async def open_(ask: Ask) -> dict[str, Any]:
    content = ask.slack.views_kept.accept(ask.table("view"), "modal")
    trigger = ask.slack.triggers.take(ask.text("trigger_id", required=True))
    view = ask.slack.views_kept.open(trigger.user, content)
    return {"view": view.payload()}


async def push(ask: Ask) -> dict[str, Any]:
    """Open a modal above the one from which the call comes."""
    content = ask.slack.views_kept.accept(ask.table("view"), "modal")
    trigger = ask.slack.triggers.take(ask.text("trigger_id", required=True))
    if trigger.view is None or trigger.view.kind != "modal" or not trigger.view.open:
        raise Refusal("not_found")
    view = ask.slack.views_kept.open(trigger.user, content, below=trigger.view)
    return {"view": view.payload()}


async def update(ask: Ask) -> dict[str, Any]:
    id, external = ask.text("view_id"), ask.text("external_id")
    if not id and not external:
        raise missing("view_id")
    matching = [
        view
        for view in ask.slack.views_kept.opened
        if view.open and (view.id == id if id else view.content.get("external_id") == external)
    ]
    if not matching:
        raise Refusal("not_found")
    view = matching[-1]
    content = ask.slack.views_kept.accept(ask.table("view"), "modal", itself=view)
    _fresh(ask, view)
    ask.slack.views_kept.update(view, content)
    return {"view": view.payload()}


async def publish(ask: Ask) -> dict[str, Any]:
    user = ask.user("user_id")
    content = ask.slack.views_kept.accept(ask.table("view"), "home")
    _fresh(ask, ask.slack.views_kept.homes.get(user.id))
    return {"view": ask.slack.views_kept.publish(user, content).payload()}


def _fresh(ask: Ask, view: View | None) -> None:
    """Check that a given hash is that of the current view."""
    if ask.text("hash") and (view is None or ask.text("hash") != view.hash):
        raise Refusal("hash_conflict")


METHODS = (
    Method("views.open", open_, 4),
    Method("views.push", push, 4),
    Method("views.update", update, 4),
    Method("views.publish", publish, 4),
)
