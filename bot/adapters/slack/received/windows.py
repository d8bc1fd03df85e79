"""Windows (Slack's modals) that ask for what a command was sent without: a long question, a prompt's new text.

What a window will complete is kept in the storage under the id in its callback_id, so that one which was opened
before a restart, or hours ago, is still answered. Knows no work. Limits: Slack's documentation, "Views" and "Block
elements".
"""

from __future__ import annotations

import logging
import re
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bot import commands
from bot.adapters import buttons_row
from bot.adapters.buttons_row import custom_id
from bot.adapters.buttons_row import label as cut
from bot.adapters.intake import FIELD, Field, Invocation, PendingForm
from bot.adapters.slack.installed.faults import as_surface_faults
from bot.adapters.slack.placing import PLATFORM, Body, Location, event_of, spot_of_interaction
from bot.adapters.slack.text.page import Block
from bot.adapters.surface import SurfaceFault
from bot.command_line import parse
from bot.events import Sorry
from bot.runs.requests import event_id
from bot.verb import Verb
from bot.words import Words

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltContext

    from bot.adapters.slack.received.intake import Intake

TITLE_CHARS = 24
"""Of a view's title, and of its buttons (Slack's documentation, "Views")."""
FIELD_CHARS = 3_000
"""The most that can be typed into a field (Slack's documentation, "Plain-text input element")."""
PART_CHARS = 2_000
"""Of a text that is to be changed, in each of its fields: there is room for more."""
HINT_CHARS = 150
OPTION_CHARS = 75
"""Of an option's text in a menu (Slack's documentation, "Option object")."""
SHOWN_CHARS = 3_000
"""Of a section's text (Slack's documentation, "Section block")."""
TYPED = "text"
"""The action_id of what is typed into."""

_log = logging.getLogger(__name__)


async def ask(
    intake: Intake,
    trigger: str,
    here: Location,
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
    """Open a window for the text that a request lacks, and with `form` for its verb's form. Raises Sorry.

    It opens for the person who is `here`.

    `filled` stands there already, `shown` is read above it. `trigger` is good for three seconds; `event` is what
    triggered it.
    """
    if not intake.first(here, event):
        return
    say, row = await intake.words(here), asked.row
    admin = row.admin and (await intake.people.of(here, fresh=True)).admin
    asked = replace(asked, channel=here.channel, thread=here.thread)
    window = await intake.store_form(here, event, asked, admin=admin)
    if not label:
        label = say(row.argument.summary) if row.argument is not None else row.path
    fields = [
        field(
            n,
            label[:1].upper() + label[1:],
            part,
            hint="" if filled else _hint(row, say),
            required=required and n == 0,
        )
        for n, part in enumerate(parts(filled))
    ]
    above: list[Block] = [section(shown)] if shown else []
    view = modal(
        custom_id("modal", window),
        title or f"/{row.path}",
        [*above, *fields, *map(option_field, asked.form(say) if form else ())],
        submit=say("slack_window.send"),
        close=say("slack_window.close"),
    )
    await opened(intake, here, trigger, view)


async def reword(intake: Intake, trigger: str, here: Location, event: str, row: Verb, name: str) -> None:
    """Open a window with today's text of a prompt, to be changed. Raises Sorry."""
    name = name.strip()
    say, filled = await intake.words(here), await intake.wording(here, name)
    title, label = say("edge.edit", name=name), say("edge.edit_label")
    asked = PendingForm(row.work, row.name, before=f"{name} ")
    await ask(intake, trigger, here, event, asked, filled=filled, title=title, label=label)


async def opened(intake: Intake, here: Location, trigger: str, view: Block) -> str:
    """Open a view: its id. Raises Sorry where the trigger is too old, or Slack cannot be reached."""
    client = await intake.workspaces.client(here.team, here.enterprise)
    try:
        with as_surface_faults():
            answer = await client.views_open(trigger_id=trigger, view=view)
    except SurfaceFault as fault:
        _log.info("a window could not be opened: %s", fault)
        raise Sorry("slack_window.late") from None
    return str(answer["view"]["id"])


async def perform(intake: Intake, body: Body, here: Location, asked: Invocation, ack: AsyncAck) -> bool:
    """Whether it was taken in; if not, the person has been told why, and the window stays open for another try."""
    if await intake.perform(here, _event(body), asked, ack):
        return True
    await wrong(ack, (await intake.words(here))("slack_window.refused"))
    return False


async def finish(intake: Intake, body: Body, ack: AsyncAck, here: Location) -> None:
    """Perform what a window of ours was opened for. Where it cannot be, what was typed stays in the window."""
    found = re.fullmatch(buttons_row.MODAL, str(body["view"].get("callback_id", "")))
    say = await intake.words(here)
    lacking = await intake.stored_form(here, found["run"]) if found else None
    if lacking is None or found is None:
        if await intake.app.request_of(here.space, event_id(PLATFORM, here.space, _event(body))) is not None:
            await ack()  # sent twice, and taken in the first time
        else:
            await wrong(ack, say("slack_window.gone"))
        return
    row = lacking.row
    try:
        asked = lacking.asked(typed(body), _filled(body))
    except Sorry as sorry:
        await wrong(ack, say(sorry.key, **sorry.values), f"{FIELD}{sorry.values.get('name', '')}")
        return
    if not asked.text and row.argument is not None and row.argument.required:
        await wrong(ack, say("slack_window.empty"))
        return
    there = replace(here, channel=lacking.channel, thread=lacking.thread)
    if await perform(intake, body, there, asked, ack):
        await intake.app.records.offers.forget(here.space, found["run"])


async def taken(intake: Intake, here: Location, ack: AsyncAck, doing: Coroutine[Any, Any, None]) -> None:
    """Take in a window that was sent. Whatever goes wrong, it stays open with what was typed."""
    async with intake.reporting_faults(here):
        await doing
    if ack.response is None:
        await wrong(ack, (await intake.words(here))("slack_window.refused"))


async def wrong(ack: AsyncAck, sentence: str, block: str = "") -> None:
    """Say it under a field, and leave the window open."""
    await ack(response_action="errors", errors={block or block_id(0): sentence})


def _event(body: Body) -> str:
    return event_of("view", str(body["view"]["id"]))


def _hint(row: Verb, say: Words) -> str:
    """What could be typed; what is not a question reads the same in each language."""
    if not row.plain:
        return parse(row.example).text
    other = "" if row.work == commands.DEFAULT_WORK else f"_{row.work}"
    return say(f"slack_window.question_hint{other}")


def parts(text: str) -> list[str]:
    """The text in pieces of whole lines that a field has room for, one piece of nothing."""
    found = [""]
    for line in text.splitlines(keepends=True):
        while len(line) > PART_CHARS:
            found, line = [*found, line[:PART_CHARS]], line[PART_CHARS:]
        if len(found[-1]) + len(line) > PART_CHARS:
            found.append("")
        found[-1] += line
    return [one for one in found if one] or [""]


def modal(callback: str, title: str, blocks: Sequence[Block], *, submit: str = "", close: str = "") -> Block:
    """A view as views.open takes it. `callback` is by what its submission is known."""
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
    n: int, label: str, filled: str = "", *, hint: str = "", required: bool = True, long: bool = True
) -> Block:
    """The `n`th field to type into, from 0."""
    typed: Block = {
        "type": "plain_text_input",
        "action_id": TYPED,
        "multiline": long,
        "max_length": FIELD_CHARS,
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
    """What was typed into the window's fields, one after another.

    A field that ended with a whole line does so still, whatever Slack or the writer has cut off there.
    """
    view = body["view"]
    cut_off = {
        one.get("block_id"): not str((one.get("element") or {}).get("initial_value") or "").endswith("\n")
        for one in view.get("blocks") or []
    }
    found: list[str] = []
    while (one := view["state"]["values"].get(block_id(len(found)))) is not None:
        found.append(str(one.get(TYPED, {}).get("value") or ""))
    for n, text in enumerate(found[:-1]):
        if not text.endswith("\n") and not cut_off.get(block_id(n)):
            found[n] += "\n"
    return "".join(found)


def option_field(field: Field) -> Block:
    """What is typed or chosen for an option."""
    if field.values:
        element = menu(TYPED, field.values)
    else:
        limit = {"max_length": FIELD_CHARS, "multiline": field.long}
        element = {"type": "plain_text_input", "action_id": TYPED, **limit}
    return asking(field.id, field.label, element) | {"hint": plain(field.hint, FIELD_CHARS)}


def menu(action_id: str, options: Sequence[tuple[str, str]]) -> Block:
    """From which one of the (values, names) is chosen."""
    shown = [{"text": plain(name, OPTION_CHARS), "value": value} for value, name in options]
    return {"type": "static_select", "action_id": action_id, "options": shown}


def asking(block_id: str, label: str, element: Block, *, required: bool = False) -> Block:
    """What is typed or chosen, under what it is asked by."""
    return {
        "type": "input",
        "block_id": block_id,
        "label": plain(label, FIELD_CHARS),
        "optional": not required,
        "element": element,
    }


def _filled(body: Body) -> dict[str, str]:
    """What was typed or chosen for options."""
    values = body["view"]["state"]["values"]
    given = {
        id.removeprefix(FIELD): one.get(TYPED) or {} for id, one in values.items() if id.startswith(FIELD)
    }
    return {
        name: str(one.get("value") or (one.get("selected_option") or {}).get("value") or "")
        for name, one in given.items()
    }


def section(text: str) -> Block:
    shown = text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
    return {"type": "section", "text": {"type": "plain_text", "text": shown, "emoji": False}}


def listen(bolt: AsyncApp, intake: Intake) -> None:
    async def submitted(body: dict[str, Any], ack: AsyncAck, context: AsyncBoltContext) -> None:
        here = spot_of_interaction(body, context.team_id, context.enterprise_id)
        await taken(intake, here, ack, finish(intake, body, ack, here))

    bolt.view(re.compile(rf"\A{buttons_row.MODAL}\Z"))(submitted)
