"""Slash commands and shortcuts of Slack.

/sutradhar works for any verb, and each work has its own command. Slack has no options and no completions for commands:
the text is a line as in the terminal. There are two shortcuts: "Ask about this message" makes the message's text and
files part of the question, and a global one asks from anywhere and is answered in the asker's direct conversation with
the bot.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bot import commands
from bot.adapters.invocation import QUESTION_FILES, Invocation, PendingForm, quotation
from bot.adapters.slack.installed.workspaces import Workspace
from bot.adapters.slack.manifest import ASK, ASK_ABOUT, COMMAND, COMMANDS, MENU, SETUP
from bot.adapters.slack.placing import (
    Body,
    Location,
    location_of_interaction,
    text_of,
)
from bot.adapters.slack.received import setup, windows
from bot.adapters.slack.received.brought import attached_to, source_of
from bot.adapters.slack.received.intake import Ack
from bot.adapters.slack.received.line import text_without_mention, without_files, words_of
from bot.adapters.surface import OWN, SurfaceFault, Unavailable
from bot.command_line import Parsed, parse
from bot.commands import DEFAULT_WORK, TABLE
from bot.events import OptionValue, UserError
from bot.verb import Verb
from bot.words import Words

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltContext

    from bot.adapters.slack.received.intake import Intake
    from bot.adapters.slack.text.page import Block

ACK_S: Final = 2.5
"""Seconds until the acknowledgement. Slack waits half a second longer, and then shows the person that the command has
failed.
"""
_HELP: Final = "help"

WORK, SHELF = "work", "shelf"
"""The block_id and action_id of the two menus of the window."""
OPTIONS, VALUE_CHARS = 100, 150
"""The most options of a menu, and the most characters of an option's value (Slack's documentation, "Select menu
element").
"""
WAIT_S = 1.5
"""Seconds to wait for Slack, which itself waits three for an acknowledgement."""
MOST = 8_192
"""The most direct conversations in memory."""

_log = logging.getLogger(__name__)


def listen(bolt: AsyncApp, intake: Intake) -> None:
    # One listener for all, because Bolt tries listeners one after another, which takes most of the time.
    bolt.command(re.compile(rf"\A({'|'.join(COMMANDS)})\Z"))(Invoked(intake).on_command)
    doing = Shortcuts(intake)

    def location_in(body: Body, context: AsyncBoltContext) -> Location:
        return location_of_interaction(body, context.team_id, context.enterprise_id)

    async def about(body: dict[str, Any], ack: AsyncAck, context: AsyncBoltContext) -> None:
        await ack()
        intake.later(doing.about(body, location_in(body, context)))

    async def ask(body: dict[str, Any], ack: AsyncAck, context: AsyncBoltContext) -> None:
        await ack()
        intake.later(doing.ask(body, location_in(body, context)))

    def on_message(row: Verb) -> Callable[..., Awaitable[None]]:
        async def called(body: dict[str, Any], ack: AsyncAck, context: AsyncBoltContext) -> None:
            await doing.on_message(row, body, location_in(body, context), ack)

        return called

    async def asked(body: dict[str, Any], ack: AsyncAck, context: AsyncBoltContext) -> None:
        location = location_in(body, context)
        await windows.taken(intake, body, location, ack, doing.asked(body, location, ack))

    bolt.shortcut({"type": "message_action", "callback_id": ASK_ABOUT})(about)
    bolt.shortcut({"type": "shortcut", "callback_id": ASK})(ask)
    for callback_id, row in MENU.items():
        bolt.shortcut({"type": "message_action", "callback_id": callback_id})(on_message(row))
    bolt.view(ASK)(asked)


class Invoked:
    """Handles commands; one per process. Slack sends a command only once, so it is acknowledged in time,
    stored or not.
    """

    def __init__(self, intake: Intake, *, ack_s: float = ACK_S) -> None:
        self._intake = intake
        self._ack_s = ack_s

    async def on_command(self, body: dict[str, Any], context: AsyncBoltContext, ack: AsyncAck) -> None:
        # A command is never in a thread.
        team, enterprise = context.team_id or "", context.enterprise_id or ""
        location = Location(text_of(body, "user_id"), team, text_of(body, "channel_id"), enterprise)
        taking = self._intake.later(self.take(location, body, ack))
        await asyncio.wait({taking}, timeout=self._ack_s)
        await ack()

    async def take(self, location: Location, body: Body, ack: Ack) -> None:
        """Handle a command. Returns when its request is stored or refused."""
        intake, url = self._intake, text_of(body, "response_url")
        trigger = text_of(body, "trigger_id")
        event = f"command:{trigger}"
        async with intake.reporting_faults(location, response_url=url):
            location = await intake.located(location)
            line = line_of(text_of(body, "command"), text_of(body, "text"))
            if line.lower() == f"/{SETUP}":
                intake.count(location)
                intake.later(setup.tell_checklist(self._intake, location, url))
                return
            parsed = _parsed(line)
            row = parsed.verb
            assert row is not None, "the line has a slash"
            if row.rewords:
                lacking = len(parsed.text.split()) == 1  # the text is only the name
            else:
                textless = row.argument is not None and row.argument.required and not parsed.text
                lacking = textless or row.missing(parsed.options) != []
            if lacking:
                intake.later(self._ask(location, event, trigger, row, parsed, url))
            else:
                invocation = Invocation(row, parsed.text, parsed.options)
                await intake.perform(location, event, invocation, ack, response_url=url)

    async def _ask(
        self, location: Location, event: str, trigger: str, row: Verb, parsed: Parsed, url: str
    ) -> None:
        """Open a window for the missing text, within three seconds."""
        intake = self._intake
        async with intake.reporting_faults(location, response_url=url):
            if row.rewords:
                await windows.reword(intake, trigger, location, event, row, parsed.text)
            else:
                lacking = PendingForm(row.work, row.name, options=parsed.options)
                await windows.ask(intake, trigger, location, event, lacking, form=True)


def line_of(command: str, text: str) -> str:
    """The terminal's line that a command and its text correspond to."""
    text = text.strip()
    if command == COMMAND:
        return f"/{text.removeprefix('/').lstrip()}" if text else f"/{_HELP}"
    first, _, rest = text.partition(" ")
    if not text or first.lower() == _HELP:
        return f"/{_HELP} {command.removeprefix('/')} {rest}".strip()
    return f"{command} {text}"


def _parsed(line: str) -> Parsed:
    """The parsed line, even if only the text is missing. Raises UserError."""
    try:
        parsed = parse(line)
    except UserError as error:
        if error.key != "commands.missing":
            raise
        try:
            parsed = parse(line, asks=True)
        except UserError:
            try:
                parsed = parse(f"{line} …")  # files are missing, which no window asks for
            except UserError:
                raise error from None
        if parsed.verb is None or parsed.verb.rewords:
            raise
    row = parsed.verb
    if row is not None and row.argument is not None and row.argument.many:  # no file can come with a command
        raise without_files(row)
    return parsed


class Shortcuts:
    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._known: OrderedDict[tuple[str, str], str] = OrderedDict()

    async def about(self, body: Body, location: Location) -> None:
        """Open a window for a question about the message, to be answered in that message's thread."""
        intake, message = self._intake, body.get("message") or {}
        async with intake.reporting_faults(location, response_url=text_of(body, "response_url")):
            say = await intake.words(location)
            name = partial(intake.people.name, location)
            quoted = quotation(await text_without_mention(words_of(message), "", name))
            place = await self._answered_at(body, location)
            # In other channels the bot may not read files.
            within = place.channel == location.channel
            files = await attached_to(intake.people, location, message) if within else []
            if not (quoted or files):
                await intake.tell(location, say("edge.no_text"), text_of(body, "response_url"))
                return
            asked_at = text_of(body, "action_ts")
            source = await source_of(intake.people, place, location.channel, message, asked_at)
            await windows.ask(
                intake,
                str(body.get("trigger_id") or ""),
                place,
                f"shortcut:{body.get('action_ts')}:{location.user}",
                PendingForm(
                    *commands.plain_verb(DEFAULT_WORK),
                    after=f"\n\n{quoted}" if quoted else "",
                    files=tuple(files[:QUESTION_FILES]),
                    quoted=(source,),
                ),
                title=say("slack_window.about"),
                label=say("edge.about_label"),
                shown="\n".join(filter(None, [quoted, *(f"📎 {file.name}" for file in files)])),
                required=not quoted,
            )

    async def _answered_at(self, body: Body, location: Location) -> Location:
        """The message's thread, or the asker's direct conversation if the bot cannot write there."""
        message = body.get("message") or {}
        if await self._within(location):
            ts = str(message.get("thread_ts") or message.get("ts") or body.get("message_ts") or "")
            return replace(location, thread=ts)
        return replace(location, channel=await self._direct(location), thread="")

    async def on_message(self, row: Verb, body: Body, location: Location, ack: Ack) -> None:
        """Perform a verb from a message's shortcuts on that message's run, in its thread."""
        intake, ts = self._intake, text_of(body, "message", "ts") or text_of(body, "message_ts")
        location = replace(location, thread=location.thread or ts)

        async def asked() -> Invocation:
            thread_row = await intake.app.records.threads.get(location.space, location.real)
            channel = thread_row.channel if thread_row is not None else location.channel
            return await intake.called_on_message(location, row, (ts, OWN + ts), channel)

        event = f"shortcut:{body.get('action_ts')}:{location.user}"
        await intake.perform(location, event, asked, ack, response_url=text_of(body, "response_url"))

    async def ask(self, body: Body, location: Location) -> None:
        """Open the window for a question from anywhere."""
        intake = self._intake
        async with intake.reporting_faults(location):
            await open_ask(intake, location, str(body.get("trigger_id") or ""))
            await self._direct(location)  # cached before it is needed

    async def asked(self, body: Body, location: Location, ack: AsyncAck) -> None:
        """Handle the submitted window; if something is wrong, the window stays open and shows it."""
        say = await self._intake.words(location)
        values = body["view"]["state"]["values"]
        work, shelf = _chosen(values, WORK) or DEFAULT_WORK, _chosen(values, SHELF)
        text = windows.typed(body).strip()
        row = commands.ROWS[commands.plain_verb(work if work in asking_works() else DEFAULT_WORK)]
        if not text:
            await windows.wrong(ack, body, say("slack_window.empty"))
            return
        if shelf and row.option(SHELF) is None:
            await windows.wrong(ack, body, say("slack_window.no_shelf", work=_named(say, work)), SHELF)
            return
        channel = await self._direct(location)
        if not channel:
            await windows.wrong(ack, body, say("slack_window.no_direct"))
            return
        options: dict[str, OptionValue] = {SHELF: shelf} if shelf else {}
        answer_location, invocation = replace(location, channel=channel), Invocation(row, text, options)
        await windows.perform(self._intake, body, answer_location, invocation, ack)

    async def _direct(self, location: Location) -> str:
        """The direct conversation of `location.user` with the bot; "" if Slack does not answer in time."""
        key = location.space, location.user
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        try:
            async with asyncio.timeout(WAIT_S):
                workspace = Workspace(self._intake.workspaces, location.team, location.enterprise)
                channel = self._known[key] = await workspace.direct(location.user)
        except (SurfaceFault, TimeoutError) as fault:
            _log.info("a direct conversation could not be opened: %s", type(fault).__name__)
            return ""
        if len(self._known) > MOST:
            self._known.popitem(last=False)
        return channel

    async def _within(self, location: Location) -> bool:
        """Whether the bot is in the channel of `location`; True if Slack does not answer in time."""
        try:
            async with asyncio.timeout(WAIT_S):
                client = await self._intake.workspaces.client(location.team, location.enterprise)
                answer: Any = await client.conversations_info(channel=location.channel)
        except (Unavailable, TimeoutError) as fault:
            _log.info("a channel could not be looked up: %s", type(fault).__name__)
            return True
        except SurfaceFault:
            return False
        return bool(answer["channel"].get("is_member") or answer["channel"].get("is_im"))


async def open_ask(intake: Intake, location: Location, trigger: str) -> None:
    """Open the window with a work, a shelf and a question. Raises UserError."""
    say = await intake.words(location)
    books = await intake.app.records.documents.list(location.space)
    await windows.opened(
        intake, location, trigger, ask_window(say, list(dict.fromkeys(book.shelf for book in books)))
    )


def ask_window(say: Words, shelves: list[str]) -> Block:
    works = windows.menu(WORK, [(work, _named(say, work)) for work in asking_works()])
    works["initial_option"] = next(item for item in works["options"] if item["value"] == DEFAULT_WORK)
    blocks = [
        windows.field(0, say("slack_window.question"), hint=say("slack_window.hint_rules")),
        windows.asking(WORK, say("slack_window.work"), works, required=True),
    ]
    if options := [(shelf, shelf) for shelf in shelves if len(shelf) <= VALUE_CHARS][:OPTIONS]:
        menu = windows.menu(SHELF, options)
        menu["placeholder"] = windows.plain(say("slack_window.shelf_all"), windows.HINT_CHARS)
        blocks.append(windows.asking(SHELF, say("slack_window.shelf"), menu))
    blocks.append({"type": "context", "elements": [windows.plain(say("slack_window.answered_direct"), 300)]})
    return windows.modal(
        ASK,
        say("slack_window.ask"),
        blocks,
        submit=say("slack_window.send"),
        close=say("slack_window.close"),
    )


def asking_works() -> list[str]:
    """The works that the window for a question from anywhere offers."""
    return [
        row.work
        for row in TABLE
        if row.plain and row.argument is not None and row.argument.name == "question"
    ]


def _named(say: Words, work: str) -> str:
    return say(f"slack_window.work_{work}")


def _chosen(values: Mapping[str, Any], name: str) -> str:
    option = ((values.get(name) or {}).get(name) or {}).get("selected_option") or {}
    return str(option.get("value") or "")
