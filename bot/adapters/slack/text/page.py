"""One message of the bot's on Slack, with blocks and without, and how long its texts may be. Knows no run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

Block = dict[str, Any]

BLOCKS = 50
"""Of a message (Slack's documentation, "Blocks")."""
TEXT = 3_900
"""Of a message's fallback, which chat.update holds to 4,000 (its documentation, "msg_too_long")."""


def size(text: str) -> int:
    """UTF-16 units: Slack does not say how it counts, and this is the most of what it may."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cost(text: str) -> int:
    """How long a Markdown text can become as mrkdwn, where & < > are escaped; never less than its own size."""
    return size(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


@dataclass(frozen=True, slots=True)
class Page:
    """`body` is the message's Markdown, which a stream shows as it grows; `passing` the line below it that does not
    stay ("Searching…", a bar). `closing` are the blocks that stand below both: notes, sources, buttons.

    `growing`: more of `body` may follow. `plain` says all of it without blocks, in mrkdwn, at most TEXT characters
    where that is possible at all. `buttons_plain` are the rows of buttons that stand under the plain text.
    `file`: the message is this file, called (name, content), and `body` is what is said of it.
    """

    body: str
    passing: str = ""
    closing: tuple[Block, ...] = ()
    plain: str = ""
    buttons_plain: tuple[Block, ...] = ()
    growing: bool = False
    file: tuple[str, bytes] | None = None

    @property
    def wordless(self) -> bool:
        """Whether there is nothing of its text yet, but for its title."""
        return not self.body.strip() or (self.body.startswith("### ") and "\n" not in self.body)

    @property
    def blocks(self) -> list[Block]:
        """All of it, for chat.postMessage and chat.update."""
        body: list[Block] = [{"type": "markdown", "text": self.body}] if self.body.strip() else []
        passing: list[Block] = []
        if self.passing:
            # verbatim: else Slack looks for names and addresses in it by itself.
            line = {"type": "mrkdwn", "text": self.passing, "verbatim": True}
            passing = [{"type": "context", "elements": [line]}]
        return [*body, *passing, *self.closing]

    @property
    def files(self) -> tuple[tuple[str, bytes], ...]:
        return (self.file,) if self.file else ()

    @property
    def shown(self) -> str:
        """16 hexadecimal digits that are the same as long as the page is."""
        made = blake2b(digest_size=8)
        said = [self.body, self.passing, self.closing, self.plain, self.buttons_plain]
        made.update(json.dumps(said, sort_keys=True).encode("utf-8", "surrogatepass"))
        if self.file:
            made.update(self.file[0].encode() + blake2b(self.file[1]).digest())
        return made.hexdigest()
