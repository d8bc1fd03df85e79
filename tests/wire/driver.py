"""What a story may do, and what a person then sees: the same words for every platform.

A platform has one driver, over its fake and the bot's process. Stories know no more than this.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from bot import commands
from tests.wire.model import Answerer
from tests.wire.process import BotProcess


class Post(NamedTuple):
    """A message as somebody sees it now. `actions` are its buttons: "stop", "retry", "share", "sources" …"""

    by: str
    text: str
    actions: tuple[str, ...] = ()


class Talk(Protocol):
    """One conversation: a thread, a direct one, or an answer that one person sees."""

    def posts(self) -> list[Post]:
        """What stands there, oldest first, without what was deleted."""
        ...

    def said(self) -> list[str]:
        """The texts of what the bot has said there."""
        ...


class Driver(Protocol):
    """A platform with a table in it, at which Ana plays and Bia is in charge; the bot has come along.

    `talk` is always one of this driver's own.
    """

    process: BotProcess
    model: Answerer

    async def ask(
        self, person: str, question: str, *, table: int = 0, verb: str = "rules ask", **options: Any
    ) -> Talk:
        """Ask by the platform's own command, at the root of a channel; `private=True` for nobody else to see."""
        ...

    async def command(self, person: str, line: str, *, talk: Any = None, **options: Any) -> Talk:
        """Give any command: "rules roll", with its options by name. In a conversation, or in the channel."""
        ...

    async def mention(self, person: str, talk: Any, text: str) -> None:
        """Write to the bot in a conversation."""
        ...

    async def say(self, person: str, talk: Any, text: str) -> None:
        """Write in a conversation, to nobody in particular."""
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
        """Press the newest button of that kind; what is said to this person alone for it."""
        ...

    async def choose(self, person: str, talk: Any, label: str) -> Talk:
        """Press the newest button with this label; what is said to this person alone for it, or the window it opens."""
        ...

    async def fill(self, person: str, talk: Any, opened: Any, text: str, **options: str) -> Talk:
        """Send the window that a command or a press has opened in the conversation: where it is answered."""
        ...

    async def menu(self, person: str, talk: Any, text: str, name: str) -> Talk:
        """Choose from the menu of the message with that text; what is said to this person alone for it."""
        ...

    async def edit(self, person: str, talk: Any, text: str, to: str) -> None:
        """Put one's message with that text in other words."""
        ...

    def open_buttons(self, talk: Any) -> list[str]:
        """What can be pressed in the conversation."""
        ...

    def thread(self, which: Callable[[Talk], bool]) -> Talk:
        """The only thread under the channel of which this is true, once there is one."""
        ...

    async def delete(self, talk: Any, text: str) -> None:
        """Take back the message with that text."""
        ...

    async def attach(self, person: str, name: str, data: bytes, *, shelf: str) -> Talk:
        """Give the library a file."""
        ...

    async def redeliver(self) -> None:
        """Have the platform deliver what it has delivered once more."""
        ...

    async def restart(self, *, kill: bool = True) -> None:
        """kill -9 (or a polite end) and another start, until it is connected again."""
        ...

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until something is to be seen."""
        ...

    async def rest(self, runs: int) -> None:
        """Wait until this many requests have been received at this table in all, and each has ended."""
        ...

    def states(self) -> list[str]:
        """How each of these requests has ended, "" while it has not."""
        ...

    def runs(self) -> list[str]:
        """The ids of all requests that have been received, oldest first."""
        ...

    def channel(self, table: int = 0) -> Talk:
        """What stands at the root of a table's channel."""
        ...

    def check(self) -> None:
        """What holds at the end of every story: nobody was pinged, nothing refused, no limit hit, no traceback."""
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
