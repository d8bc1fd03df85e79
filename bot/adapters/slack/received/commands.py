"""Slash commands: /sutradhar with any verb after it, and one command for each work.

Slack shows a command no options and completes no names: what follows it is a line as in the terminal. Knows no work.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, Final

from bot.adapters.intake import Unfinished
from bot.adapters.slack.installed.manifest import COMMANDS
from bot.adapters.slack.placing import Body, Spot, event_of, spot_of_command, text_of
from bot.adapters.slack.received import setup, windows
from bot.adapters.slack.received.intake import Ack
from bot.adapters.slack.text.help import COMMAND, SETUP
from bot.command_line import Parsed, parse
from bot.events import Sorry
from bot.verb import Verb

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltContext

    from bot.adapters.slack.received.intake import Intake

ACK_S: Final = 2.5
"""Slack waits half a second longer for us, and then tells the person that the command has failed."""
_HELP: Final = "help"


def listen(bolt: AsyncApp, intake: Intake) -> None:
    # One listener: Bolt asks them one after another, and that is most of what it takes.
    bolt.command(re.compile(rf"\A({'|'.join(COMMANDS)})\Z"))(Invoked(intake).on_command)


class Invoked:
    """One per process. A command comes once only, so it is acknowledged in time even if it is not kept by then."""

    def __init__(self, intake: Intake, *, ack_s: float = ACK_S) -> None:
        self._intake = intake
        self._ack_s = ack_s

    async def on_command(self, body: dict[str, Any], context: AsyncBoltContext, ack: AsyncAck) -> None:
        here = spot_of_command(body, context.team_id, context.enterprise_id)
        taking = self._intake.later(self.take(here, body, ack))
        await asyncio.wait({taking}, timeout=self._ack_s)
        await ack()

    async def take(self, here: Spot, body: Body, ack: Ack) -> None:
        """Returns when what the command asks for is kept, or refused."""
        intake, response_url = self._intake, text_of(body, "response_url")
        trigger = text_of(body, "trigger_id")
        event = event_of("command", trigger)
        async with intake.told(here, response_url=response_url):
            line = line_of(text_of(body, "command"), text_of(body, "text"))
            if line.lower() == f"/{SETUP}":
                intake.count(here)
                intake.later(setup.tell_checklist(self._intake, here, response_url))
                return
            asked = _parsed(line)
            row, options = asked.verb, asked.options
            assert row is not None, "the line has a slash"
            if _lacks_text(row, asked):
                intake.later(self._ask(here, event, trigger, row, asked, response_url))
            else:
                await intake.perform(here, event, row, asked.text, options, ack, response_url=response_url)

    async def _ask(
        self, here: Spot, event: str, trigger: str, row: Verb, asked: Parsed, response_url: str
    ) -> None:
        """Open a window for what is missing; Slack waits three seconds for it, too."""
        intake = self._intake
        async with intake.told(here, response_url=response_url):
            if row.rewords:
                await windows.reword(intake, trigger, here, event, row, asked.text)
            else:
                lacking = Unfinished(row.work, row.name, options=asked.options)
                await windows.ask(intake, trigger, here, event, lacking)


def line_of(command: str, text: str) -> str:
    """The line of the terminal that a command and what follows it are the same as."""
    text = text.strip()
    if command == COMMAND:
        return f"/{text.removeprefix('/').lstrip()}" if text else f"/{_HELP}"
    first, _, rest = text.partition(" ")
    if not text or first.lower() == _HELP:
        return f"/{_HELP} {command.removeprefix('/')} {rest}".strip()
    return f"{command} {text}"


def _parsed(line: str) -> Parsed:
    """What the line asks for, also where nothing but the text is missing. Raises Sorry."""
    try:
        asked = parse(line)
    except Sorry as sorry:
        if sorry.key != "commands.missing":
            raise
        try:
            filled = parse(f"{line} …")
        except Sorry:
            raise sorry from None
        row = filled.verb
        if row is None or row.argument is None or " " in row.argument.name:
            raise
        asked = Parsed(row, filled.options)
    row = asked.verb
    if row is not None and row.argument is not None and row.argument.many:  # no file can come with a command
        raise Sorry("slack.attach", verb=row.path)
    return asked


def _lacks_text(row: Verb, asked: Parsed) -> bool:
    argument = row.argument
    if row.rewords:
        return len(asked.text.split()) == 1
    return argument is not None and argument.required and not argument.many and not asked.text
