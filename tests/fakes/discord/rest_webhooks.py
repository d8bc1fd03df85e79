"""Webhooks of channels: made, listed, executed, and their messages changed. The same paths with an interaction's
token belong to rest_interactions.

https://docs.discord.com/developers/resources/webhook
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.discord import access, limits, rest_interactions, rules
from tests.fakes.discord.channels import FORUM, NEWS, TEXT, VOICE, Channel, Thread
from tests.fakes.discord.messages import Message
from tests.fakes.discord.refusal import bad, no, text
from tests.fakes.discord.rest import Answer, Ask, Handler, Route
from tests.fakes.discord.world import User

MOST = 15
"""Of a channel (code 30007)."""
NAME = 80
KINDS = (TEXT, VOICE, NEWS, FORUM)


@dataclass(eq=False)
class Hook:
    """A channel's incoming webhook; `application` owns it, None if a person created it."""

    id: int
    channel: Channel
    name: str
    user: User
    application: int | None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(51))

    def payload(self, reader: int) -> dict[str, Any]:
        """The webhook as an application sees it: without the token, if it belongs to another application."""
        payload: dict[str, Any] = {
            "id": str(self.id),
            "type": 1,
            "guild_id": str(self.channel.guild.id) if self.channel.guild else None,
            "channel_id": str(self.channel.id),
            "user": self.user.payload(),
            "name": self.name,
            "avatar": None,
            "application_id": str(self.application) if self.application else None,
        }
        return payload | ({"token": self.token} if self.application in (None, reader) else {})


def named(name: Any, path: str) -> str:
    """The name, if Discord allows it for a webhook or its message."""
    hook_name = text(name, path, 1, NAME)
    if not hook_name.strip():
        raise bad(path, "BASE_TYPE_BAD_LENGTH", f"Must be between 1 and {NAME} in length.")
    if match := re.search("discord|clyde", hook_name, re.IGNORECASE):
        raise bad(path, "USERNAME_INVALID_CONTAINS", f'Username cannot contain "{match[0].lower()}"')
    if hook_name.strip().casefold() in ("everyone", "here"):
        raise bad(path, "USERNAME_INVALID", f'Username cannot be "{hook_name}"')
    return hook_name


def _place(ask: Ask) -> Channel:
    channel = access.channel(ask)
    if channel.type not in KINDS:
        raise no(50024)
    access.need(channel, "MANAGE_WEBHOOKS")
    return channel


async def list_webhooks(ask: Ask) -> Answer:
    channel = _place(ask)
    hooks = ask.discord.hooks.values()
    return [hook.payload(ask.discord.application_id) for hook in hooks if hook.channel is channel]


async def create_webhook(ask: Ask) -> Answer:
    channel = _place(ask)
    name = named(ask.body.get("name"), "name")
    if sum(hook.channel is channel for hook in ask.discord.hooks.values()) >= MOST:
        raise no(30007)
    hook = ask.discord.webhook(channel, name, ask.discord.world.bot, ask.discord.application_id)
    return hook.payload(ask.discord.application_id)


def _hook(ask: Ask) -> Hook:
    hook = ask.discord.hooks.get(ask.id("webhook"))
    if hook is None:
        raise no(10015)
    if hook.token != ask.args["token"]:
        raise no(50027)
    return hook


def _where(ask: Ask, hook: Hook) -> Channel:
    """The webhook's channel, or the named thread in it."""
    thread = ask.query.get("thread_id")
    if thread is None:
        if hook.channel.type == FORUM:
            raise no(220001)
        return hook.channel
    thread_channel = ask.discord.world.channels.get(int(thread)) if thread.isdecimal() else None
    if not isinstance(thread_channel, Thread) or thread_channel.parent is not hook.channel:
        raise no(10003)
    return thread_channel


async def execute(ask: Ask) -> Answer:
    hook = _hook(ask)
    place = _where(ask, hook)
    name = named(ask.body["username"], "username") if "username" in ask.body else hook.name
    avatar = text(ask.body.get("avatar_url"), "avatar_url", 0, 2048)
    if avatar and not re.fullmatch(r"https?://[^\s/]+\S*", avatar):
        raise bad("avatar_url", "URL_TYPE_INVALID_URL", "Not a well formed URL.")
    if hook.application is None and ask.query.get("with_components") not in ("1", "true"):
        ask.body.pop("components", None)
    form = rules.form(ask.body, ask.uploads)
    if isinstance(place, Thread) and place.archived:
        place.set_archived(False)
    message = ask.discord.post.write(
        place,
        User(hook.id, name, bot=True),
        form,
        ask.body,
        webhook=hook.id,
        application=hook.application,
        avatar=avatar,
    )
    return message.payload() if ask.query.get("wait") in ("1", "true") else None


def _message(ask: Ask) -> Message:
    hook = _hook(ask)
    message = _where(ask, hook).posts.get(ask.id("message"))
    if message is None or message.deleted or message.webhook != hook.id:
        raise no(10008)
    return message


async def get_message(ask: Ask) -> Answer:
    return _message(ask).payload()


async def patch_message(ask: Ask) -> Answer:
    message = _message(ask)
    if isinstance(message.channel, Thread) and message.channel.archived:
        raise no(50083)
    form = rules.form(ask.body, ask.uploads, message)
    return ask.discord.post.rewrite(message, form, ask.body).payload()


async def delete_message(ask: Ask) -> Answer:
    ask.discord.post.remove(_message(ask))
    return None


def _either(webhooks: Handler, interactions: Handler) -> Handler:
    """A handler that chooses by the token: a webhook's own, or an interaction's."""

    async def route(ask: Ask) -> Answer:
        interaction = ask.args["webhook"] == str(ask.discord.application_id)
        return await (interactions if interaction else webhooks)(ask)

    return route


_ONE = "/webhooks/{webhook}/{token}/messages/{message}"
ROUTES = (
    Route("GET", "/channels/{channel}/webhooks", list_webhooks, limits.WEBHOOKS),
    Route("POST", "/channels/{channel}/webhooks", create_webhook, limits.WEBHOOKS),
    Route(
        "POST",
        "/webhooks/{webhook}/{token}",
        _either(execute, rest_interactions.follow_up),
        limits.FOLLOW_UP,
        "token",
        token=False,
    ),
    Route(
        "GET",
        _ONE,
        _either(get_message, rest_interactions.get_message),
        limits.READ_ANSWER,
        "token",
        token=False,
    ),
    Route(
        "PATCH",
        _ONE,
        _either(patch_message, rest_interactions.patch_message),
        limits.EDIT_ANSWER,
        "token",
        token=False,
    ),
    Route(
        "DELETE",
        _ONE,
        _either(delete_message, rest_interactions.delete_message),
        limits.DELETE_ANSWER,
        "token",
        token=False,
    ),
)
