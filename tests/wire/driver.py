"""What a story may do and what people then see, in the same terms for every platform.

Each platform has one driver for its fake and the bot's process. Stories use nothing else.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from bot import commands
from tests.wire.model import Answerer
from tests.wire.process import BotProcess


class Post(NamedTuple):
    """A message as people see it now. `actions` are its buttons: "stop", "retry", "share", "sources" …"""

    by: str
    text: str
    actions: tuple[str, ...] = ()


class Talk(Protocol):
    """One conversation: a thread, a direct one, or an answer that one person sees."""

    def posts(self) -> list[Post]:
        """Its messages, oldest first, without deleted ones."""
        ...

    def said(self) -> list[str]:
        """The texts of the bot's messages in it."""
        ...


class Driver(Protocol):
    """A platform with a table, where Ana plays and Bia is the admin, and with the bot.

    `talk` is always one of this driver's own.
    """

    process: BotProcess
    model: Answerer

    async def ask(
        self, person: str, question: str, *, table: int = 0, verb: str = "rules ask", **options: Any
    ) -> Talk:
        """Ask with the platform's own command, at the root of a channel; `private=True` for an answer that nobody else
        sees.
        """
        ...

    async def command(self, person: str, line: str, *, talk: Any = None, **options: Any) -> Talk:
        """Give any command: "rules roll", with its options by name. In a conversation, or in the channel."""
        ...

    async def mention(self, person: str, talk: Any, text: str) -> None:
        """Write to the bot in a conversation."""
        ...

    async def say(self, person: str, talk: Any, text: str) -> None:
        """Write in a conversation, without addressing anybody."""
        ...

    async def speak(self, person: str, talk: Any, data: bytes, *, transcript: str = "") -> None:
        """Say something in a conversation, as a recording; `transcript`: what the platform has heard itself, where it
        can.
        """
        ...

    async def direct(self, person: str, text: str) -> Talk:
        """Write to the bot alone."""
        ...

    async def press(self, person: str, talk: Any, action: str) -> Talk:
        """Press the newest button of that kind; returns what only this person is then shown."""
        ...

    async def choose(self, person: str, talk: Any, label: str) -> Talk:
        """Press the newest button with this label; returns what only this person is then shown, or the window that it
        opens.
        """
        ...

    async def fill(self, person: str, talk: Any, opened: Any, text: str, **options: str) -> Talk:
        """Submit the window that a command or a press has opened in the conversation; returns where it is answered."""
        ...

    async def menu(self, person: str, talk: Any, text: str, name: str) -> Talk:
        """Choose from the menu of the message with that text; returns what only this person is then shown."""
        ...

    async def edit(self, person: str, talk: Any, text: str, to: str) -> None:
        """Edit one's own message with that text."""
        ...

    def open_buttons(self, talk: Any) -> list[str]:
        """The buttons that can be pressed in the conversation."""
        ...

    def thread(self, which: Callable[[Talk], bool]) -> Talk:
        """The only thread under the channel of which this is true, once there is one."""
        ...

    async def delete(self, talk: Any, text: str) -> None:
        """Delete one's own message with that text."""
        ...

    async def attach(self, person: str, name: str, data: bytes, *, shelf: str) -> Talk:
        """Add a file to the library."""
        ...

    async def redeliver(self) -> None:
        """Let the platform deliver everything once more."""
        ...

    async def restart(self, *, kill: bool = True) -> None:
        """Kill the bot with -9 (or end it politely) and start it again; returns once it is connected."""
        ...

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until `true` holds."""
        ...

    async def rest(self, runs: int) -> None:
        """Wait until this many requests in total have been received at this table, and each has ended."""
        ...

    def states(self) -> list[str]:
        """How each of these requests has ended; "" if it has not."""
        ...

    def runs(self) -> list[str]:
        """The ids of all requests that have been received, oldest first."""
        ...

    def channel(self, table: int = 0) -> Talk:
        """The messages at the root of a table's channel."""
        ...

    def check(self) -> None:
        """Check what holds at the end of every story: nobody was pinged, nothing was refused, no limit hit, no
        traceback.
        """
        ...


def as_typed(line: str, options: dict[str, Any]) -> str:
    """As it is typed: "rules roll", expression="1d1" is "rules roll 1d1"; what is not the verb's text is an option."""
    row = next((row for row in commands.TABLE if line == row.path), None)
    argument = row.argument.name.split() if row and row.argument else []
    words = [line]
    for name, value in options.items():
        if name in argument:
            words.insert(1 + argument.index(name), str(value))
        elif value is True:
            words.append(f"--{name}")
        elif value is not False:
            words.append(f"--{name} {shlex.quote(str(value))}")
    return " ".join(words)
