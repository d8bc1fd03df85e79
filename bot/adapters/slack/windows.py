"""Windows (Slack's modals) that ask for what a command was sent without: a long question, a prompt's new text.

What a window will complete is kept in the storage under the id in its callback_id, so that one which was opened
before a restart, or hours ago, is still answered. Knows no work.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bot import commands
from bot.adapters import custom_ids
from bot.adapters.slack.interactions import Body, spot_of
from bot.adapters.slack.placing import PLATFORM, Spot, event_of
from bot.adapters.slack.refusals import in_our_words
from bot.adapters.slack.window_blocks import block_id, field, modal, parts, section, typed
from bot.adapters.surface import SurfaceFault
from bot.adapters.unfinished import KIND, Unfinished, unfinished
from bot.command_line import parse
from bot.events import OptionValue, Sorry
from bot.prompts import as_yaml
from bot.requests import event_id
from bot.verb import Verb
from bot.words import Words

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltContext
    from slack_sdk.web.async_client import AsyncWebClient

    from bot.adapters.slack.page import Block
    from bot.adapters.slack.reception import Reception
    from bot.adapters.slack.service import Slack

_log = logging.getLogger(__name__)


async def ask(
    reception: Reception,
    client: AsyncWebClient,
    trigger: str,
    here: Spot,
    event: str,
    row: Verb,
    options: Mapping[str, OptionValue],
    *,
    filled: str = "",
    before: str = "",
    after: str = "",
    title: str = "",
    label: str = "",
    shown: str = "",
    required: bool = True,
) -> None:
    """Open a window for the text that a request lacks, for the person who is `here`. Raises Sorry.

    What is typed stands between `before` and `after`, `filled` stands there already, `shown` is read above it.
    `trigger` is good for three seconds; `event` is what triggered it.
    """
    say = await reception.words(here)
    if row.admin and not (await reception.people.of(here, fresh=True)).admin:
        raise Sorry("app.admins", verb=row.path)
    if seconds := reception.cool(here):
        raise Sorry("edge.slow_down", n=int(seconds) + 1)
    asked = Unfinished(
        row.work, row.name, here.user, before, after, dict(options), channel=here.channel, thread=here.thread
    )
    run = event_id(PLATFORM, here.space, event)
    offers = reception.app.house.offers
    await offers.keep(here.space, run, KIND, [asked.kept()], author_id=here.user)
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
        custom_ids.modal(run),
        title or f"/{row.path}",
        [*above, *fields],
        submit=say("slack_window.send"),
        close=say("slack_window.close"),
    )
    await opened(client, trigger, view)


async def reword(
    reception: Reception, client: AsyncWebClient, trigger: str, here: Spot, event: str, row: Verb, name: str
) -> None:
    """Open a window with today's text of a prompt, to be changed. Raises Sorry."""
    name = name.strip()
    say = await reception.words(here)
    text = as_yaml((await reception.app.house.prompts.wording(here.space, name)).text)
    await ask(
        reception,
        client,
        trigger,
        here,
        event,
        row,
        {},
        filled=text,
        before=f"{name} ",
        title=say("edge.edit", name=name),
        label=say("edge.edit_label"),
    )


async def opened(client: AsyncWebClient, trigger: str, view: Block) -> str:
    """Open a view: its id. Raises Sorry where the trigger is too old, or Slack cannot be reached."""
    try:
        with in_our_words():
            answer = await client.views_open(trigger_id=trigger, view=view)
    except SurfaceFault as fault:
        _log.info("a window could not be opened: %s", fault)
        raise Sorry("slack_window.late") from None
    return str(answer["view"]["id"])


async def perform(
    slack: Slack,
    body: Body,
    here: Spot,
    row: Verb,
    text: str,
    options: Mapping[str, OptionValue],
    ack: AsyncAck,
) -> bool:
    """Whether it was taken in; if not, the person has been told why, and the window stays open for another try."""
    if await slack.reception.perform(here, _event(body), row, text, options, ack):
        return True
    await wrong(ack, (await slack.reception.words(here))("slack_window.refused"))
    return False


async def finish(slack: Slack, body: Body, ack: AsyncAck, here: Spot) -> None:
    """Perform what a window of ours was opened for. Where it cannot be, what was typed stays in the window."""
    found = re.fullmatch(custom_ids.MODAL, str(body["view"].get("callback_id", "")))
    say, house = await slack.reception.words(here), slack.app.house
    kept = await house.offers.get(here.space, found["run"], KIND, 0) if found else None
    asked = unfinished(kept) if kept is not None else None
    if asked is None or asked.author != here.user or found is None:
        if await slack.app.past(here.space, event_id(PLATFORM, here.space, _event(body))) is not None:
            await ack()  # sent twice, and taken in the first time
        else:
            await wrong(ack, say("slack_window.gone"))
        return
    row, text = commands.verb(asked.work, asked.verb), asked.text(typed(body))
    if not text and row.argument is not None and row.argument.required:
        await wrong(ack, say("slack_window.empty"))
        return
    there = replace(here, channel=asked.channel, thread=asked.thread)
    if await perform(slack, body, there, row, text, asked.options, ack):
        await house.offers.forget(here.space, found["run"])


async def taken(slack: Slack, here: Spot, ack: AsyncAck, doing: Coroutine[Any, Any, None]) -> None:
    """Take in a window that was sent. Whatever goes wrong, it stays open with what was typed."""
    async with slack.reception.told(here):
        await doing
    if ack.response is None:
        await wrong(ack, (await slack.reception.words(here))("slack_window.refused"))


async def wrong(ack: AsyncAck, sentence: str, block: str = "") -> None:
    """Say it under a field, and leave the window open."""
    await ack(response_action="errors", errors={block or block_id(0): sentence})


def listen(bolt: AsyncApp, slack: Slack) -> None:
    async def submitted(body: dict[str, Any], ack: AsyncAck, context: AsyncBoltContext) -> None:
        here = spot_of(body, context.team_id, context.enterprise_id)
        await taken(slack, here, ack, finish(slack, body, ack, here))

    bolt.view(re.compile(rf"\A{custom_ids.MODAL}\Z"))(submitted)


def _event(body: Body) -> str:
    return event_of("view", str(body["view"]["id"]))


def _hint(row: Verb, say: Words) -> str:
    """What could be typed; what is not a question reads the same in each language."""
    if not row.plain:
        return parse(row.example).text
    other = "" if row.work == commands.DEFAULT_WORK else f"_{row.work}"
    return say(f"slack_window.question_hint{other}")
