"""Interactions: the first response, and what their token allows for fifteen minutes.

https://docs.discord.com/developers/interactions/receiving-and-responding
"""

from __future__ import annotations

from typing import Any

from tests.fakes.discord import access, messages, rules
from tests.fakes.discord.asked import AUTOCOMPLETE, COMMAND, COMPONENT, GUEST_FOLLOWUPS, MODAL, Asked
from tests.fakes.discord.channels import Channel, Thread
from tests.fakes.discord.messages import EPHEMERAL, LOADING, Message
from tests.fakes.discord.modal_rules import check_modal
from tests.fakes.discord.refusal import Refusal, bad, items, locked, no, number, table, text
from tests.fakes.discord.rest import Answer, Ask, Route

MESSAGE, DEFER, DEFER_UPDATE, UPDATE, CHOICES, OPEN_MODAL = 4, 5, 6, 7, 8, 9


async def callback(ask: Ask) -> Answer:
    asked = ask.discord.asked.get(ask.args["id"])
    if asked is None or asked.token != ask.args["token"] or asked.expired:
        raise no(10062)
    if asked.acked is not None:
        raise no(40060)
    if asked.late(ask.at):
        raise no(10062)
    kind = ask.body.get("type")
    data = table(ask.body.get("data") or {}, "data")
    _fits(asked, kind)
    if kind in (MESSAGE, UPDATE):
        _answer(ask, asked, kind, data)
    elif kind == DEFER:
        asked.ephemeral = bool(number(data.get("flags") or 0, "data.flags", 0, 2**31 - 1) & EPHEMERAL)
        asked.original = _blank(ask, asked)
        asked.ephemeral = asked.original.ephemeral
    elif kind == DEFER_UPDATE:
        asked.original = asked.source
    elif kind == CHOICES:
        asked.choices = _choices(asked, data)
    elif kind == OPEN_MODAL:
        asked.modal = check_modal(data)
    asked.kind = kind
    asked.acked = max(0.0, ask.at - asked.sent)
    asked.answered.set()
    if ask.query.get("with_response", "").lower() not in ("1", "true"):
        return None
    return _resource(asked)


def _fits(asked: Asked, kind: Any) -> None:
    """Check that the type of response is allowed for the interaction."""
    fitting = {
        COMMAND: (MESSAGE, DEFER, OPEN_MODAL),
        COMPONENT: (MESSAGE, DEFER, DEFER_UPDATE, UPDATE, OPEN_MODAL),
        AUTOCOMPLETE: (CHOICES,),
        MODAL: (MESSAGE, DEFER),
    }[asked.type]
    if asked.type == MODAL and asked.source is not None:
        fitting += (DEFER_UPDATE, UPDATE)
    if isinstance(kind, bool) or kind not in fitting:
        raise bad("type", "BASE_TYPE_CHOICES", f"Value must be one of {fitting}.")


def _answer(ask: Ask, asked: Asked, kind: int, data: dict[str, Any]) -> None:
    if kind == UPDATE:
        assert asked.source is not None
        form = _form(data, ask, asked.source)
        asked.original = ask.discord.post.rewrite(asked.source, form, data)
        asked.ephemeral = asked.source.ephemeral
        return
    form = _form(data, ask)
    asked.original = _write(ask, asked, form, data, _type(asked))
    asked.ephemeral = asked.original.ephemeral


def _form(data: dict[str, Any], ask: Ask, old: Message | None = None) -> rules.Form:
    try:
        return rules.form(data, ask.uploads, old, ephemeral=True)
    except Refusal as refusal:
        if refusal.errors is not None:
            refusal.errors = {"data": refusal.errors}
        raise


def _blank(ask: Ask, asked: Asked) -> Message:
    """ "Sutradhar is thinking…"""
    flags = LOADING | (EPHEMERAL if asked.ephemeral else 0)
    return _write(ask, asked, rules.Form("", [], [], flags, []), {}, _type(asked))


def _write(ask: Ask, asked: Asked, form: rules.Form, data: dict[str, Any], kind: int, **more: Any) -> Message:
    about = {
        "id": str(asked.id),
        "type": asked.type,
        "user": asked.user.payload(),
        "authorizing_integration_owners": asked.owners,
    }
    thread = asked.channel
    if isinstance(thread, Thread) and thread.locked and not thread.allows("MANAGE_THREADS"):
        raise locked() if thread.reachable else no(50001)
    if isinstance(thread, Thread) and thread.archived:
        thread.set_archived(False)
    guild = asked.channel.guild
    if asked.guest and guild is not None and not guild.external_apps:
        form.flags |= EPHEMERAL
    return ask.discord.post.write(
        asked.channel,
        ask.discord.world.bot,
        form,
        data,
        type=kind,
        webhook=ask.discord.application_id,
        application=ask.discord.application_id,
        interaction=about,
        only_for=asked.user if form.flags & EPHEMERAL else None,
        **more,
    )


def _type(asked: Asked) -> int:
    if asked.type != COMMAND:
        return 0
    return messages.COMMAND if asked.data.get("type", 1) == 1 else messages.MENU_COMMAND


def _choices(asked: Asked, data: dict[str, Any]) -> list[dict[str, Any]]:
    choices = items(data.get("choices"), "data.choices", 0, 25)
    for index, choice in enumerate(choices):
        path = f"data.choices.{index}"
        text(table(choice, path).get("name"), f"{path}.name", 1, 100)
        value = choice.get("value")
        if isinstance(value, str):
            text(value, f"{path}.value", 1, 100)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            raise bad(
                f"{path}.value", "APPLICATION_COMMAND_OPTIONS_VALUE", "Value must be a string or a number."
            )
    return choices


def _resource(asked: Asked) -> dict[str, Any]:
    original = asked.original
    about: dict[str, Any] = {"id": str(asked.id), "type": asked.type}
    resource: dict[str, Any] = {"type": asked.kind}
    if original is not None:
        about |= {
            "response_message_id": str(original.id),
            "response_message_loading": original.loading,
            "response_message_ephemeral": original.ephemeral,
        }
        if asked.kind != DEFER_UPDATE:
            resource["message"] = original.payload()
    return {"interaction": about, "resource": resource}


def _by_token(ask: Ask) -> Asked:
    """The interaction of the token, if the token is still valid."""
    asked = ask.discord.tokens.get(ask.args["token"])
    if asked is None or ask.args["webhook"] != str(ask.discord.application_id):
        raise no(10015)
    if asked.expired:
        raise no(50027)
    if asked.acked is None or asked.kind == CHOICES:
        raise no(10015)
    return asked


def _message(ask: Ask, asked: Asked) -> Message:
    which = ask.args["message"]
    if which == "@original":
        message = asked.original
    else:
        known = [asked.original, *asked.followups]
        message = next(
            (earlier for earlier in known if earlier is not None and str(earlier.id) == which), None
        )
    if message is None or message.deleted:
        raise no(10008)
    return message


async def get_message(ask: Ask) -> Answer:
    return _message(ask, _by_token(ask)).payload()


async def patch_message(ask: Ask) -> Answer:
    asked = _by_token(ask)
    return _edit(ask, asked, _message(ask, asked)).payload()


def _edit(ask: Ask, asked: Asked, message: Message) -> Message:
    access.may_change(message.channel)
    _may_attach(ask, message.channel)
    form = rules.form(ask.body, ask.uploads, message)
    asked.updated = asked.updated or message is asked.original
    return ask.discord.post.rewrite(message, form, ask.body)


def _may_attach(ask: Ask, channel: Channel) -> None:
    """Check the permission for files, which the bot needs where it is a member; private channels of others grant it."""
    if ask.uploads and channel.guild is not None and channel.guild.home:
        access.need(channel, "ATTACH_FILES")


async def delete_message(ask: Ask) -> Answer:
    ask.discord.post.remove(_message(ask, _by_token(ask)))
    return None


async def follow_up(ask: Ask) -> Answer:
    asked = _by_token(ask)
    original = asked.original
    if asked.kind == DEFER and original is not None and original.loading and not original.deleted:
        # The first follow-up replaces "is thinking".
        message = _edit(ask, asked, original)
    else:
        if len(asked.followups) >= (GUEST_FOLLOWUPS if asked.guest else ask.discord.follow_ups):
            raise no(40094)
        _may_attach(ask, asked.channel)
        form = rules.form(ask.body, ask.uploads, ephemeral=True)
        reply_to = asked.original if asked.original and not asked.original.deleted else None
        message = _write(ask, asked, form, ask.body, messages.REPLY if reply_to else 0, reply_to=reply_to)
        asked.followups.append(message)
    return message.payload() if ask.query.get("wait") in ("1", "true", "True") else None


ROUTES = (Route("POST", "/interactions/{id}/{token}/callback", callback, token=False),)
