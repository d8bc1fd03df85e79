"""Windows (Slack's modals) that ask for a text that a command was sent without: a long question, a prompt's new text.

The pending form is stored under the id in the window's callback_id, so that a window opened hours ago or before a
restart still works. Independent of works. Limits: Slack's documentation, "Views" and "Block elements".
"""

from __future__ import annotations

import logging
import re
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bot.adapters.footer import label as cut
from bot.adapters.intake import MODAL
from bot.adapters.invocation import FIELD, Field, Invocation, PendingForm
from bot.adapters.slack.placing import PLATFORM, Body, Location, location_of_interaction
from bot.adapters.slack.text.page import Block
from bot.adapters.surface import SurfaceFault
from bot.command_line import parse
from bot.events import UserError
from bot.runs.requests import event_id
from bot.verb import Verb, shown_name
from bot.words import Words

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltContext

    from bot.adapters.slack.received.intake import Intake

TITLE_CHARS = 24
"""The most characters of a view's title and of its buttons (Slack's documentation, "Views")."""
FIELD_CHARS = 3_000
"""The most characters that can be typed into a field (Slack's documentation, "Plain-text input element")."""
PART_CHARS = 2_000
"""The characters of an edited text in each of its fields, which leaves room for more."""
HINT_CHARS = 150
OPTION_CHARS = 75
"""The most characters of an option's text in a menu (Slack's documentation, "Option object")."""
SHOWN_CHARS = 3_000
"""The most characters of a section's text (Slack's documentation, "Section block")."""
TYPED = "text"
"""The action_id of the text fields."""

_log = logging.getLogger(__name__)


async def ask(
    intake: Intake,
    trigger: str,
    location: Location,
    event: str,
    asked: PendingForm,
    *,
    filled: str = "",
    title: str = "",
    label: str = "",
    shown: str = "",
    required: bool = True,
    form: bool = False,
) -> None:
    """Open a window for the text of a pending form; with `form`, also for its verb's form. Raises UserError.

    It opens for the person of `location`. `filled` is the field's initial value, `shown` a text above it. `trigger` is
    valid for three seconds; `event` is what triggered it.
    """
    if not intake.first(location, event):
        return
    say, row = await intake.words(location), asked.row
    admin = row.admin and (await intake.people.person(location, fresh=True)).admin
    asked = replace(asked, channel=location.channel, thread=location.thread)
    window = await intake.store_form(location, event, asked, admin=admin)
    if not label:
        label = say(row.argument.summary) if row.argument is not None else row.path
    fields = [
        field(
            n,
            label[:1].upper() + label[1:],
            part,
            hint="" if filled else _hint(row, say),
            required=required and n == 0,
            most=FIELD_CHARS
            if filled or asked.before or row.argument is None
            else row.argument.most or FIELD_CHARS,
        )
        for n, part in enumerate(parts(filled) if row.argument is not None else ())
    ]
    blocks_above: list[Block] = [section(shown)] if shown else []
    view = modal(
        f"modal:{window}",
        title or f"/{row.path}",
        [*blocks_above, *fields, *map(option_field, asked.form(say) if form else ())],
        submit=say("slack_window.send"),
        close=say("slack_window.close"),
    )
    await opened(intake, location, trigger, view)


async def reword(intake: Intake, trigger: str, location: Location, event: str, row: Verb, name: str) -> None:
    """Open a window to edit the present text of a prompt. Raises UserError."""
    name = name.strip()
    say, filled = await intake.words(location), await intake.wording(location, name)
    title, label = say("edge.edit", name=name), say("edge.edit_label")
    form = PendingForm(row.work, row.name, before=f"{name} ")
    await ask(intake, trigger, location, event, form, filled=filled, title=title, label=label)


async def opened(intake: Intake, location: Location, trigger: str, view: Block) -> None:
    """Open a view. Raises UserError if the trigger is too old, or Slack cannot be reached."""
    client = await intake.workspaces.client(location.team, location.enterprise)
    try:
        await client.views_open(trigger_id=trigger, view=view)
    except SurfaceFault as fault:
        _log.info("a window could not be opened: %s", fault)
        raise UserError("slack_window.late") from None


async def perform(
    intake: Intake, body: Body, location: Location, invocation: Invocation, ack: AsyncAck
) -> bool:
    """Perform a window's invocation. Returns False if it was refused; the person sees why while the
    window stays open.
    """
    if await intake.perform(location, _event(body), invocation, ack):
        return True
    await wrong(ack, body, (await intake.words(location))("slack_window.refused"))
    return False


async def finish(intake: Intake, body: Body, ack: AsyncAck, location: Location) -> None:
    """Perform the pending form of a submitted window. After a fault the window stays open with its texts."""
    match = re.fullmatch(MODAL, str(body["view"].get("callback_id", "")))
    say = await intake.words(location)
    pending = await intake.stored_form(location, match["run"]) if match else None
    if pending is None or match is None:
        if (
            await intake.app.request_of(location.space, event_id(PLATFORM, location.space, _event(body)))
            is not None
        ):
            await ack()  # sent twice, and accepted the first time
        else:
            await wrong(ack, body, say("slack_window.gone"))
        return
    row = pending.row
    try:
        invocation = pending.asked(typed(body), _filled(body))
    except UserError as error:
        await wrong(ack, body, say(error.key, **error.values), _blamed(body, error, row, say))
        return
    if not invocation.text and row.argument is not None and row.argument.required:
        await wrong(ack, body, say("slack_window.empty"))
        return
    answer_location = await intake.located(replace(location, channel=pending.channel, thread=pending.thread))
    try:
        await intake.check(answer_location, invocation)
    except UserError as error:
        await wrong(ack, body, say(error.key, **error.values), _blamed(body, error, row, say))
        return
    if await perform(intake, body, answer_location, invocation, ack):
        await intake.app.records.offers.forget(location.space, match["run"])


async def taken(
    intake: Intake, body: Body, location: Location, ack: AsyncAck, doing: Coroutine[Any, Any, None]
) -> None:
    """Handle a submitted window. After any fault it stays open with its texts."""
    async with intake.reporting_faults(location):
        await doing
    if ack.response is None:
        await wrong(ack, body, (await intake.words(location))("slack_window.refused"))


async def wrong(ack: AsyncAck, body: Body, sentence: str, block: str = "") -> None:
    """Show a sentence under a field, else under the window's first one, and leave the window open."""
    fields = [*body["view"]["state"]["values"], block_id(0)]
    await ack(response_action="errors", errors={block or fields[0]: sentence})


def _blamed(body: Body, error: UserError, row: Verb, say: Words) -> str:
    """The block_id of the field that the fault names, perhaps in the reader's language; "" for none."""
    fields, name = body["view"]["state"]["values"], error.values.get("name")
    label = name(say) if callable(name) else name
    named = (
        f"{FIELD}{option.name}"
        for option in row.options
        if option.name in error.values or label in (option.name, shown_name(option, say))
    )
    return next((field for field in named if field in fields), "")


def _event(body: Body) -> str:
    return f"view:{body['view']['id']}"


def _hint(row: Verb, say: Words) -> str:
    """An example of the text."""
    return say(f"slack_window.hint_{row.work}") if row.plain else parse(row.example_in(say)).text


def parts(text: str) -> list[str]:
    """The text in pieces of whole lines that fit into a field; at least one piece."""
    pieces = [""]
    for line in text.splitlines(keepends=True):
        while len(line) > PART_CHARS:
            pieces, line = [*pieces, line[:PART_CHARS]], line[PART_CHARS:]
        if len(pieces[-1]) + len(line) > PART_CHARS:
            pieces.append("")
        pieces[-1] += line
    return [piece for piece in pieces if piece] or [""]


def modal(callback: str, title: str, blocks: Sequence[Block], *, submit: str = "", close: str = "") -> Block:
    """A view for views.open. `callback` identifies its submission."""
    view: Block = {
        "type": "modal",
        "callback_id": callback,
        "title": plain(title, TITLE_CHARS),
        "blocks": list(blocks),
    }
    if submit:
        view["submit"] = plain(submit, TITLE_CHARS)
    if close:
        view["close"] = plain(close, TITLE_CHARS)
    return view


def field(
    n: int, label: str, filled: str = "", *, hint: str = "", required: bool = True, most: int = FIELD_CHARS
) -> Block:
    """The `n`th text field, counted from 0. Slack prevents typing more than `most` characters."""
    typed: Block = {
        "type": "plain_text_input",
        "action_id": TYPED,
        "multiline": True,
        "max_length": min(most, FIELD_CHARS),
        "focus_on_load": n == 0,
    }
    if filled:
        typed["initial_value"] = filled
    if hint:
        typed["placeholder"] = plain(hint, HINT_CHARS)
    return asking(block_id(n), label if n == 0 else f"{label} ({n + 1})", typed, required=required)


def block_id(n: int) -> str:
    return f"{TYPED}:{n}"


def plain(text: str, most: int) -> Block:
    """A text object without formatting, one line."""
    return {"type": "plain_text", "text": cut(text, min(most, 2_000)), "emoji": True}


def typed(body: Body) -> str:
    """The texts of the window's fields, joined.

    If a field's initial value ended with a line end, its text does too, even if Slack has removed that.
    """
    view = body["view"]
    cut_off = {
        block.get("block_id"): not str((block.get("element") or {}).get("initial_value") or "").endswith("\n")
        for block in view.get("blocks") or []
    }
    texts: list[str] = []
    while (state := view["state"]["values"].get(block_id(len(texts)))) is not None:
        texts.append(str(state.get(TYPED, {}).get("value") or ""))
    for n, text in enumerate(texts[:-1]):
        if not text.endswith("\n") and not cut_off.get(block_id(n)):
            texts[n] += "\n"
    return "".join(texts)


def option_field(field: Field) -> Block:
    """The field of an option: a text, or a menu of its values."""
    if field.values:
        element = menu(TYPED, field.values)
    else:
        limit = {"max_length": min(field.most, FIELD_CHARS), "multiline": field.long}
        element = {"type": "plain_text_input", "action_id": TYPED, **limit}
    return asking(field.id, field.label, element, required=field.required) | {
        "hint": plain(field.hint, FIELD_CHARS)
    }


def menu(action_id: str, options: Sequence[tuple[str, str]]) -> Block:
    """A menu of these (values, names)."""
    options_shown = [{"text": plain(name, OPTION_CHARS), "value": value} for value, name in options]
    return {"type": "static_select", "action_id": action_id, "options": options_shown}


def asking(block_id: str, label: str, element: Block, *, required: bool = False) -> Block:
    """An input block: an element with its label."""
    return {
        "type": "input",
        "block_id": block_id,
        "label": plain(label, FIELD_CHARS),
        "optional": not required,
        "element": element,
    }


def _filled(body: Body) -> dict[str, str]:
    """The values of the options' fields."""
    values = body["view"]["state"]["values"]
    entered = {
        id.removeprefix(FIELD): state.get(TYPED) or {} for id, state in values.items() if id.startswith(FIELD)
    }
    return {
        name: str(state.get("value") or (state.get("selected_option") or {}).get("value") or "")
        for name, state in entered.items()
    }


def section(text: str) -> Block:
    excerpt = text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
    return {"type": "section", "text": {"type": "plain_text", "text": excerpt, "emoji": False}}


def listen(bolt: AsyncApp, intake: Intake) -> None:
    async def submitted(body: dict[str, Any], ack: AsyncAck, context: AsyncBoltContext) -> None:
        location = location_of_interaction(body, context.team_id, context.enterprise_id)
        await taken(intake, body, location, ack, finish(intake, body, ack, location))

    bolt.view(re.compile(rf"\A{MODAL}\Z"))(submitted)
