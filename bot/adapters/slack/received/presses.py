"""Presses of buttons on Slack: how they are acknowledged and answered, and how their message is changed. Also shows the
full sources of an answer, in a window or a message to the presser alone.

The sources are shown as rich text, which has no markup: no quotation mentions anybody or hides a link.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from bot.adapters import footer, presses
from bot.adapters.footer import Button
from bot.adapters.invocation import Invocation, choice_form, choice_invocation
from bot.adapters.markdown import clean
from bot.adapters.slack.placing import (
    Body,
    Location,
    action_of,
    alone,
    location_of_interaction,
    message_of,
    text_of,
)
from bot.adapters.slack.received import sharing, windows
from bot.adapters.slack.shown.ephemeral import ALONE, answer_action
from bot.adapters.slack.text.escaping import literal, size
from bot.adapters.slack.text.page import LABEL, TEXT, Block, actions_of, relabelled, small, without_button
from bot.adapters.stored_choices import StoredChoice, labels
from bot.adapters.surface import SurfaceFault
from bot.events import Citation, UserError
from storage.faults import StorageFault

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltContext

    from bot.adapters.slack.received.intake import Ack, Intake
    from bot.words import Words

T = TypeVar("T")

ACK_SECONDS = 2.0
"""Seconds after which a press is acknowledged in any case; Slack waits 3 s (its documentation, "Handling user
interaction").
"""
FEEDBACK = rf"feedback:{footer.RUN}"
"""Both thumbs are one element with two values."""

ROOM = 6_000
"""Characters of a page of sources in a window. A message holds some 13,000."""
PIECE = 2_500
"""Characters of one text in rich text. The documentation gives no limit; that of other texts is 3,000."""
WHERE = 800

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Press:
    """One press of a button; see `presses.Press`."""

    intake: Intake
    body: Body = field(repr=False)
    location: Location
    acknowledge: Ack

    @property
    def event(self) -> str:
        """The id of this action on this message, by this person."""
        container = self.location.channel or text_of(self.body, "container", "view_id")
        action_ts = text_of(action_of(self.body), "action_ts")
        return f"action:{container}:{message_of(self.body)}:{action_ts}:{self.location.user}"

    @property
    def response_url(self) -> str:
        """The response_url: a secret, valid for five posts within half an hour; "" in a view."""
        return text_of(self.body, "response_url")

    @property
    def trigger(self) -> str:
        return str(self.body.get("trigger_id") or "")

    async def soon(self, looked_up: Awaitable[T]) -> T:
        await self.acknowledge()
        return await looked_up

    async def tell(self, key: str, **values: object) -> None:
        await self.acknowledge()
        text = (await self.intake.words(self.location))(key, **values)
        await self.intake.tell(self.location, text, self.response_url)

    async def hidden(self, run: str) -> bool:
        return await self.intake.hidden(self.location, run)

    async def perform(self, asked: Invocation | Callable[[], Awaitable[Invocation]]) -> None:
        """See `Intake.perform`."""
        await self.intake.perform(
            self.location, self.event, asked, self.acknowledge, response_url=self.response_url
        )

    async def begin(self, chosen: StoredChoice, run: str) -> None:
        private = alone(self.body)
        if not chosen.asks:
            await self.perform(choice_invocation(chosen, run, private=private))
            return
        form = choice_form(chosen, run, private=private)
        await windows.ask(
            self.intake,
            self.trigger,
            self.location,
            self.event,
            form,
            title=chosen.label,
            label=chosen.asks,
            filled=chosen.filled,
            form=chosen.form,
        )
        await self.acknowledge()

    def recount(self, run: str) -> None:
        channel = (self.location.space, self.location.channel)
        self.intake.counts.changed(channel, message_of(self.body), partial(self._count, run))

    async def _count(self, run: str) -> None:
        """Raises Unavailable, and the faults of a surface."""
        records = self.intake.app.records
        new_labels = await labels(records.offers, records.votes, self.location.space, run, LABEL, size)
        await self._rewrite(lambda blocks: relabelled(blocks, new_labels))

    async def stopped(self) -> None:
        """Tell the channel; or the presser alone if the bot may not write there."""
        location = self.location
        name = (await self.intake.people.person(location)).name or location.user
        if not alone(self.body):
            text = (await self.intake.words(location))("buttons.stopped", who=literal(name))
            try:
                client = await self.intake.workspaces.client(location.team, location.enterprise)
                await client.chat_postMessage(
                    channel=location.channel, thread_ts=location.thread or None, text=text
                )
            except SurfaceFault:
                pass
            else:
                return
        await self.tell("buttons.stopped", who=name)

    async def remove_button(self, custom_id: str) -> None:
        try:
            await self._rewrite(lambda blocks: without_button(blocks, custom_id))
        except (SurfaceFault, StorageFault) as fault:  # at worst the button is useless
            _log.info("a button stays that does nothing: %s", fault)

    async def _rewrite(self, change: Callable[[list[Block]], list[Block]]) -> None:
        """Change the present blocks of the pressed message. Raises a surface's faults."""
        location, ts = self.location, message_of(self.body)
        if alone(self.body) or not ts:  # Slack does not give us messages to one person alone
            return
        client = await self.intake.workspaces.client(location.team, location.enterprise)
        answer: Any = await client.conversations_replies(
            channel=location.channel,
            ts=location.thread or ts,
            oldest=ts,
            latest=ts,
            inclusive=True,
            include_all_metadata=True,
        )
        now: Any = next((message for message in answer["messages"] if message["ts"] == ts), {})
        before = now.get("blocks") or []
        blocks = change(before)
        if blocks and blocks != before:
            unchanged = {"text": now.get("text") or "…", "metadata": now.get("metadata")}
            await client.chat_update(channel=location.channel, ts=ts, blocks=blocks, **unchanged)


async def retry(press: Press, run: str) -> None:
    """Repeat the request, with its present words."""
    await press.perform(partial(press.intake.repetition, press.location, run))


async def rate(press: Press, run: str) -> None:
    match action_of(press.body).get("value"):
        case "up" | "down" as verdict:
            await presses.rate(press, run, verdict)
        case _:
            await press.tell("buttons.stale")


async def share(press: Press, run: str) -> None:
    """Share the private answer with everybody in the channel where it was asked for."""
    await press.acknowledge()
    past = await press.intake.app.request_of(press.location.space, run)
    if (
        past is None
        or not past.origin  # withdrawn
        or past.author.id != press.location.user
        or await press.hidden(run)
    ):
        await press.tell("buttons.stale")
        return
    shared = await sharing.share(press.intake, press.location, press.body, past)
    await press.tell(shared.key, **shared.values)
    if shared.done:
        await press.remove_button(f"share:{run}")


async def show_sources(press: Press, run: str, page: str = "") -> None:
    """Show the full sources to the presser alone: in a window, or under the answer if it is too late for a window.

    `page`, counted from 0, replaces the open page.
    """
    intake, body, location = press.intake, press.body, press.location
    say = await press.soon(intake.words(location))
    pages = source_pages(await presses.citations(press, run), say)
    at = int(page or 0)
    if at >= len(pages):
        await press.tell("buttons.stale")
        return
    blocks = _leaf(run, pages, at, say)
    window = windows.modal(f"sources:{run}", say("page.sources"), blocks, close=say("slack_window.close"))
    # The text is for notifications and for clients without blocks.
    read = [
        part["text"] for block in pages[at] for element in block["elements"] for part in element["elements"]
    ]
    message = {**ALONE, "text": literal(" ".join(read), TEXT), "blocks": blocks}
    if page and isinstance(body.get("view"), dict):
        client = await intake.workspaces.client(location.team, location.enterprise)
        await client.views_update(view_id=str(body["view"]["id"]), view=window)
    elif page:
        await answer_action(press.response_url, {**message, "replace_original": True})
    else:
        try:
            await windows.opened(intake, location, press.trigger, window)
        except UserError:
            await answer_action(press.response_url, message)


def source_pages(sources: Sequence[Citation], say: Words) -> list[list[Block]]:
    """The sources as pages of blocks. A source that fits on one page is not split."""
    pages: list[list[Block]] = []
    used = ROOM
    for source in sources:
        for block, length in _blocks(source, say):
            if used + length > ROOM:
                pages.append([])
                used = 0
            pages[-1].append(block)
            used += length
    return pages[: footer.MOST]


def _leaf(run: str, pages: list[list[Block]], page: int, say: Words) -> list[Block]:
    """The page, with buttons for the previous and the next page."""
    if len(pages) == 1:
        return pages[0]
    ways = [
        Button(f"sources:{run}:{to}", label)
        for label, to in ((say("buttons.back"), page - 1), (say("buttons.on"), page + 1))
        if 0 <= to < len(pages)
    ]
    return [*pages[page], small(say("buttons.page", page=page + 1, pages=len(pages))), actions_of(ways)]


def _blocks(source: Citation, say: Words) -> list[tuple[Block, int]]:
    """One source and its length; a long quotation continues in further blocks."""
    source_line = " ".join(clean(source.source).split())
    if source.heading:
        source_line += f" › {' '.join(clean(source.heading).split())}"
    if source.page is not None:
        source_line += say("buttons.page_of_book", page=source.page)
    title = f"[{source.n}] {source_line[:WHERE]}"
    pieces = _pieces(clean(source.quote).strip())
    head = {
        "type": "rich_text_section",
        "elements": [{"type": "text", "text": title, "style": {"bold": True}}],
    }
    quoted = [{"type": "rich_text_quote", "elements": [{"type": "text", "text": piece}]} for piece in pieces]
    groups = [([head, *quoted[:1]], len(title) + len("".join(pieces[:1])))]
    groups += [([quote], len(piece)) for quote, piece in zip(quoted[1:], pieces[1:], strict=True)]
    return [({"type": "rich_text", "elements": elements}, length) for elements, length in groups]


def _pieces(text: str) -> list[str]:
    """Pieces of at most PIECE characters, each cut after a blank if possible."""
    pieces = []
    while len(text) > PIECE:
        at = text.rfind(" ", PIECE // 2, PIECE) + 1 or PIECE
        pieces.append(text[:at])
        text = text[at:]
    return [*pieces, text] if text else pieces


_ACTS: dict[str, Callable[..., Awaitable[None]]] = {
    footer.STOP: presses.stop,
    footer.RETRY: retry,
    footer.CHOICE: presses.choose,
    footer.MEANWHILE: presses.choose_meanwhile,
    footer.SOURCES: show_sources,
    footer.SOURCES_PAGE: show_sources,
    footer.SHARE: share,
    FEEDBACK: rate,
}


async def take(intake: Intake, body: Body, location: Location, ack: Ack) -> None:
    """Handle a press. Returns when it is acknowledged, at the latest after ACK_SECONDS; the rest
    continues in a task.
    """
    acknowledged = asyncio.Event()

    async def acknowledge(*args: Any, **values: Any) -> None:
        if not acknowledged.is_set():
            await ack(*args, **values)
            acknowledged.set()

    intake.later(_answered(Press(intake, body, location, acknowledge)))
    with suppress(TimeoutError):
        async with asyncio.timeout(ACK_SECONDS):
            await acknowledged.wait()
    await acknowledge()


async def _answered(press: Press) -> None:
    """Do what the button does, and tell the presser about a fault."""
    action_id = str(action_of(press.body).get("action_id", ""))
    async with press.intake.reporting_faults(press.location, response_url=press.response_url):
        press = replace(press, location=await press.intake.located(press.location))
        for template, act in _ACTS.items():
            if match := re.fullmatch(template, action_id):
                await act(press, **match.groupdict())
                break
        else:  # a button of another release, or a forged action_id
            await press.tell("buttons.stale")
    await press.acknowledge()


def listen(bolt: AsyncApp, intake: Intake) -> None:
    """Listen to all presses except those in the Home tab, including those of unknown buttons."""

    async def press(body: dict[str, Any], ack: AsyncAck, context: AsyncBoltContext) -> None:
        await take(intake, body, location_of_interaction(body, context.team_id, context.enterprise_id), ack)

    bolt.action(re.compile(r"\A(?!home:)", re.DOTALL))(press)
