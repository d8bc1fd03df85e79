"""Where a request came from on Discord, and so where its answer goes: kept with the request, as JSON.

Deliberately plain values, so that a run which a crash cut off finds its messages again after a restart.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Literal

TOKEN_SECONDS = 15 * 60
"""How long an interaction's token lives (Discord's documentation, "Receiving and Responding")."""

Home = Literal["thread", "here", "response"]
"""Where a run's messages stand.

"thread": in a thread (or forum post) that is opened for it. "here": in `channel`, as the bot's own messages.
"response": as the answer to the interaction itself, which `private` ones and the bot's guests have to be.
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """`channel` is where the person was, `message` what they wrote (a mention, a reply, a DM), if they wrote.

    `token` is the interaction's, "" for a message; it dies at `until` (seconds since the epoch).
    `member` is False where the bot is only a guest (user install): nothing but the token works there.
    `title` is what a thread that is opened gets as its name; `asked` is what the person asked, to be shown.
    """

    home: Home
    channel: int
    application: int
    guild: int | None = None
    user: int = 0
    message: int | None = None
    token: str = field(default="", repr=False)
    until: float = 0.0
    member: bool = True
    private: bool = False
    title: str = ""
    asked: str = ""

    def kept(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))


def origin_of(kept: str) -> Origin:
    """The origin that `kept` wrote. Raises ValueError, KeyError or TypeError for anything else."""
    return Origin(**json.loads(kept))
