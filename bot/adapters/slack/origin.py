"""Where a request came from on Slack, and so where its answer goes: kept with the request, as JSON.

Deliberately plain values, so that a run which a crash cut off finds its messages again after a restart.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Literal

RESPONSE_SECONDS = 30 * 60
"""How long a response_url lives, for five messages (Slack's documentation, "Handling user interaction")."""

Home = Literal["thread", "here", "channel", "alone", "direct"]
"""Where a run's messages stand.

"thread": in the thread under a message that is posted for it, and says who asked what. "here": in the thread
`thread`. "channel": in the channel itself, below everything. "alone": shown to the asker alone, once it has
ended. "direct": in the asker's direct conversation with the bot, under a message that is posted for it there.
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """`channel` is where the person was, `message` the ts of what they wrote, "" for a command or a press.

    `team` is the workspace whose installation was used, "" for one of a whole `enterprise`. `response_url` can
    only answer this one action; it dies at `until` (seconds since the epoch). `earlier`: the thread was there
    before the bot was called into it. `title` is what the conversation is called; `asked` is what the person
    asked, to be shown.
    """

    home: Home
    channel: str
    user: str
    team: str
    enterprise: str = ""
    thread: str = ""
    message: str = ""
    response_url: str = field(default="", repr=False)
    until: float = 0.0
    earlier: bool = False
    title: str = ""
    asked: str = ""

    @property
    def private(self) -> bool:
        return self.home in ("alone", "direct")

    def kept(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))


def origin_of(kept: str) -> Origin:
    """The origin that `kept` wrote. Raises ValueError, KeyError or TypeError for anything else."""
    return Origin(**json.loads(kept))
