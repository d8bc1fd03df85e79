"""What the buttons under an answer do, for everybody who presses one, however long ago it was posted.

All that a press needs stands in the button's action_id and in the storage. A press that comes too late, or from
where it does not belong, gets a sentence that only the presser sees.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from bot.adapters import buttons_row, offered
from bot.adapters.buttons_row import counted
from bot.adapters.intake import lacking
from bot.adapters.offered import Offered, labels
from bot.adapters.slack.placing import (
    Body,
    Spot,
    action_of,
    alone,
    event_of_press,
    message_of,
    response_url,
    spot_of_interaction,
)
from bot.adapters.slack.received import sharing, sources, windows
from bot.adapters.slack.text.inline import size
from bot.adapters.slack.text.mrkdwn import literal
from bot.adapters.slack.text.page import LABEL, Block, relabelled, without_button
from bot.adapters.surface import SurfaceFault
from storage.faults import StorageFault

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltContext

    from bot.adapters.slack.received.intake import Ack, Intake
    from bot.words import Words

ACK_SECONDS = 2.0
"""How long a press may take before it is acknowledged all the same; Slack waits 3 s (its documentation, "Handling user
interaction").
"""
FEEDBACK = rf"feedback:{buttons_row.RUN}"
"""Both thumbs are one element: the value tells which."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Press:
    """One press of a button. `response_url` is a secret; "" in a view."""

    intake: Intake
    body: Body = field(repr=False)
    here: Spot
    ack: Ack

    @property
    def space(self) -> str:
        """The presser's own: an action_id that was copied from elsewhere finds nothing there."""
        return self.here.space

    @property
    def event(self) -> str:
        return event_of_press(self.body, self.here)

    @property
    def response_url(self) -> str:
        return response_url(self.body)

    async def words(self) -> Words:
        return await self.intake.words(self.here)

    async def tell(self, key: str, **values: object) -> None:
        """To the presser alone."""
        text = (await self.words())(key, **values)
        await self.intake.tell(self.here, text, self.response_url)


async def stop(press: Press, run: str) -> None:
    """Anyone who sees the answer may stop it, as with "stop"."""
    await press.ack()
    app = press.intake.app
    if await press.intake.hidden(press.here, run):
        await _stale(press)
    elif await app.stop_run(press.space, run):
        await _say_who(press)
    elif app.live(press.space, run):
        await press.tell("buttons.stopping")
    else:
        await press.tell("buttons.ended")
        await _take_off(press)


async def retry(press: Press, run: str) -> None:
    """The same again, of the words as they stand now, if their writer has edited them."""
    await press.intake.again(press.here, press.event, run, press.ack, response_url=press.response_url)


async def choose(press: Press, run: str, n: str) -> None:
    """As if the presser had typed the choice's line; nothing where it has none."""
    kept = await press.intake.app.records.offers.get(press.space, run, offered.KIND, int(n))
    if kept is None or await press.intake.hidden(press.here, run):
        await _stale(press)
        return
    chosen = offered.offered(kept)
    if chosen.over:
        await press.ack()
        await press.tell("buttons.taken")
        return
    if chosen.votes:
        await _vote(press, run, int(n), chosen)
    if chosen.asks and chosen.command:
        await _ask(press, chosen, run)
    elif chosen.command:
        await press.intake.choose(
            press.here,
            press.event,
            chosen.command,
            press.ack,
            response_url=press.response_url,
            private=alone(press.body),
            answers=run,
        )
    elif not chosen.votes:  # the buttons stay: somebody else may think otherwise
        await press.ack()
        await press.tell("buttons.dismissed")


async def _vote(press: Press, run: str, n: int, chosen: Offered) -> None:
    """Keep the presser's vote. With a command the run that it begins is the answer, else a sentence is."""
    if not chosen.command:
        await press.ack()
    await press.intake.app.records.votes.give(press.space, run, chosen.group, press.here.user, n)
    channel, ts = (press.space, press.here.channel), message_of(press.body)
    press.intake.counts.changed(channel, ts, partial(_count, press, run))
    if not chosen.command:
        await press.tell("buttons.voted", label=chosen.label)


async def _count(press: Press, run: str) -> None:
    """Have the pressed message show the votes. Raises Unavailable, and the faults of a surface."""
    records = press.intake.app.records
    found = await labels(records.offers, records.votes, press.space, run)
    shown = {id: counted(text, votes, LABEL, size) for id, (text, votes) in found.items()}
    await _rewrite(press, lambda blocks: relabelled(blocks, shown))


async def _ask(press: Press, chosen: Offered, run: str) -> None:
    """Open a window for the words that the choice asks for."""
    asked = lacking(chosen.command, run, private=alone(press.body))
    trigger = str(press.body.get("trigger_id", ""))
    title, label, form = chosen.label, chosen.asks, chosen.form
    await windows.ask(
        press.intake, trigger, press.here, press.event, asked, title=title, label=label, form=form
    )
    await press.ack()


async def show_sources(press: Press, run: str) -> None:
    """Every source in full, for the presser alone."""
    await press.ack()
    found = await _source_pages(press, run)
    if found:
        await sources.open(press.intake, press.here, press.body, run, found)
    else:
        await _stale(press)


async def turn(press: Press, run: str, page: str) -> None:
    """Another page of the opened sources, in their place."""
    await press.ack()
    found = await _source_pages(press, run)
    if int(page) < len(found):
        await sources.turn(press.intake, press.here, press.body, run, found, int(page))
    else:
        await _stale(press)


async def share(press: Press, run: str) -> None:
    """The private answer, for everybody in the channel where it was asked for."""
    await press.ack()
    past = await press.intake.app.past(press.space, run)
    if (
        past is None
        or not past.origin  # taken back since
        or past.author.id != press.here.user
        or await press.intake.hidden(press.here, run)
    ):
        await _stale(press)
        return
    shared = await sharing.share(press.intake, press.here, press.body, past)
    await press.tell(shared.key, **shared.values)
    if shared.done:
        await _take_off(press)


async def judge(press: Press, run: str) -> None:
    """A thumb; the last one of a person counts."""
    await press.ack()
    verdict = action_of(press.body).get("value")
    known = await press.intake.app.past(press.space, run) is not None
    if verdict not in ("up", "down") or not known or await press.intake.hidden(press.here, run):
        await _stale(press)
        return
    verdict = cast("Literal['up', 'down']", verdict)
    await press.intake.app.records.feedback.give(press.space, run, press.here.user, verdict)
    await press.tell(f"buttons.thanks_{verdict}")


async def unknown(press: Press) -> None:
    """A button of another release, or an action_id that somebody has meddled with."""
    await _stale(press)


async def _stale(press: Press) -> None:
    await press.ack()
    await press.tell("buttons.stale")


async def _say_who(press: Press) -> None:
    """To everybody who sees the answer, or to the presser where the bot may not write."""
    here = press.here
    who = (await press.intake.people.of(here)).name or here.user
    if not alone(press.body):
        text = (await press.words())("buttons.stopped", who=literal(who))
        try:
            async with press.intake.workspaces.calling(here.team, here.enterprise) as client:
                await client.chat_postMessage(channel=here.channel, thread_ts=here.thread or None, text=text)
        except SurfaceFault:
            pass
        else:
            return
    await press.tell("buttons.stopped", who=who)


async def _source_pages(press: Press, run: str) -> list[sources.Page]:
    if await press.intake.hidden(press.here, run):
        return []
    kept = await press.intake.app.records.offers.all(press.space, run, "source")
    return sources.pages(kept, await press.words())


async def _take_off(press: Press) -> None:
    """Take the button off the message."""
    action_id = str(action_of(press.body).get("action_id", ""))
    try:
        await _rewrite(press, lambda blocks: without_button(blocks, action_id))
    except (SurfaceFault, StorageFault) as fault:  # it is only tidiness
        _log.info("a button stays that does nothing: %s", fault)


async def _rewrite(press: Press, change: Callable[[list[Block]], list[Block]]) -> None:
    """Change the pressed message as it stands now: it may have changed since the press. Raises a surface's faults."""
    here, ts = press.here, message_of(press.body)
    if alone(press.body) or not ts:  # Slack shows us nothing that is whispered
        return
    async with press.intake.workspaces.calling(here.team, here.enterprise) as client:
        found: Any = await client.conversations_replies(
            channel=here.channel,
            ts=here.thread or ts,
            oldest=ts,
            latest=ts,
            inclusive=True,
            include_all_metadata=True,
        )
        now: Any = next((one for one in found["messages"] if one["ts"] == ts), {})
        before = now.get("blocks") or []
        blocks = change(before)
        if blocks and blocks != before:
            same = {"text": now.get("text") or "…", "metadata": now.get("metadata")}
            await client.chat_update(channel=here.channel, ts=ts, blocks=blocks, **same)


_ACTS: dict[str, Callable[..., Awaitable[None]]] = {
    buttons_row.STOP: stop,
    buttons_row.RETRY: retry,
    buttons_row.CHOICE: choose,
    buttons_row.SOURCES: show_sources,
    buttons_row.SOURCES_PAGE: turn,
    buttons_row.SHARE: share,
    FEEDBACK: judge,
}


async def take(intake: Intake, body: Body, here: Spot, ack: Ack) -> None:
    """Take a press in: returns when it has been acknowledged, or its time is up. What is left to do goes on."""
    acknowledged = asyncio.Event()

    async def acknowledge(*args: Any, **values: Any) -> None:
        if not acknowledged.is_set():
            await ack(*args, **values)
            acknowledged.set()

    intake.later(_answered(Press(intake, body, here, acknowledge)))
    with suppress(TimeoutError):
        async with asyncio.timeout(ACK_SECONDS):
            await acknowledged.wait()
    await acknowledge()


async def _answered(press: Press) -> None:
    """Nobody presses in vain: what goes wrong is told."""
    act, found = _act(str(action_of(press.body).get("action_id", "")))
    async with press.intake.told(press.here, response_url=press.response_url):
        await act(press, **found)
    await press.ack()


def _act(action_id: str) -> tuple[Callable[..., Awaitable[None]], dict[str, str]]:
    for template, act in _ACTS.items():
        if match := re.fullmatch(template, action_id):
            return act, match.groupdict()
    return unknown, {}


def listen(bolt: AsyncApp, intake: Intake) -> None:
    """For every press but those in the Home tab, also of buttons that are no longer known."""

    async def press(body: dict[str, Any], ack: AsyncAck, context: AsyncBoltContext) -> None:
        await take(intake, body, spot_of_interaction(body, context.team_id, context.enterprise_id), ack)

    bolt.action(re.compile(r"\A(?!home:)", re.DOTALL))(press)
