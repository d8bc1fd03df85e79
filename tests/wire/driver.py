"""The actions of a story and what people then see, in the same terms for every platform.

Each platform has a driver over its fake and the bot's process. Stories use only the driver.
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
    """A conversation: a thread, direct messages, or an answer that only one person sees."""

    def posts(self) -> list[Post]:
        """The messages, oldest first, without deleted ones."""
        ...

    def said(self) -> list[str]:
        """The texts of the bot's messages."""
        ...


class Driver(Protocol):
    """A platform with the bot and a table, where Ana plays and Bia is the admin. `talk` always comes from the same
    driver.
    """

    process: BotProcess
    model: Answerer

    async def ask(
        self, person: str, question: str, *, table: int = 0, verb: str = "rules ask", **options: Any
    ) -> Talk:
        """Ask with the platform's own command in a channel, outside threads; `private=True` for a private answer."""
        ...

    async def command(self, person: str, line: str, *, talk: Any = None, **options: Any) -> Talk:
        """Give any command, such as "rules roll", with options by name, in a conversation or in the channel."""
        ...

    async def mention(self, person: str, talk: Any, text: str) -> None:
        """Write a message that mentions the bot in a conversation."""
        ...

    async def say(self, person: str, talk: Any, text: str) -> None:
        """Write in a conversation without a mention."""
        ...

    async def speak(self, person: str, talk: Any, data: bytes, *, transcript: str = "") -> None:
        """Send a voice recording in a conversation; `transcript` is the platform's own, where it makes one."""
        ...

    async def direct(self, person: str, text: str) -> Talk:
        """Send the bot a direct message."""
        ...

    async def press(self, person: str, talk: Any, action: str) -> Talk:
        """Press the newest button of that kind; returns what the presser alone sees."""
        ...

    async def choose(self, person: str, talk: Any, label: str) -> Talk:
        """Press the newest button with this label; returns what the presser alone sees, or the window that opens."""
        ...

    async def fill(self, person: str, talk: Any, opened: Any, text: str, **options: str) -> Talk:
        """Submit the window that a command or a press opened; returns the conversation with the answer."""
        ...

    async def menu(self, person: str, talk: Any, text: str, name: str) -> Talk:
        """Choose an entry in the menu of the message with that text; returns what this person alone sees."""
        ...

    async def edit(self, person: str, talk: Any, text: str, to: str) -> None:
        """Edit the person's own message with that text."""
        ...

    def open_buttons(self, talk: Any) -> list[str]:
        """The labels of the buttons that can be pressed in the conversation."""
        ...

    def thread(self, which: Callable[[Talk], bool]) -> Talk:
        """Wait for the only thread of the channel for which `which` is true."""
        ...

    async def delete(self, talk: Any, text: str) -> None:
        """Delete the person's own message with that text."""
        ...

    async def attach(self, person: str, name: str, data: bytes, *, shelf: str) -> Talk:
        """Add a file to the library."""
        ...

    async def redeliver(self) -> None:
        """Let the platform deliver every event again."""
        ...

    async def restart(self, *, kill: bool = True) -> None:
        """Kill the bot with -9 (or stop it with SIGTERM) and start it again; returns once it is connected."""
        ...

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until `true` holds."""
        ...

    async def rest(self, runs: int) -> None:
        """Wait until this table has had this many requests in total, and each has ended."""
        ...

    def states(self) -> list[str]:
        """The final state of each of these requests, "" if it has not ended."""
        ...

    def runs(self) -> list[str]:
        """The ids of all received requests, oldest first."""
        ...

    def channel(self, table: int = 0) -> Talk:
        """The messages of a table's channel outside threads."""
        ...

    def check(self) -> None:
        """Check the end of every story: nobody was pinged, nothing was refused, no rate limit was hit, no traceback."""
        ...


def as_typed(line: str, options: dict[str, Any]) -> str:
    """The typed line: "rules roll", expression="1d1" is "rules roll 1d1"; other values become options."""
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
