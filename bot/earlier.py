"""What was said in a thread before the bot was first called into it, for an answer that must know of it.

Knows no platform: adapters bring the way to read it. Whether it is read at all is decided by a run's snapshot,
which keeps it, so that a replay does not read again.
"""

from __future__ import annotations

from bot.events import Request
from bot.patience import wait_a_while
from bot.platforms import Earlier

MOST_CHARS = 6_000
"""The newest of longer ones are kept: about 1,500 tokens, as much as a few passages."""

READ_S = 5.0
"""A question waits no longer than this for what was said before it; it is then answered without."""


class EarlierWords:
    """How each platform's threads are read; nothing is read where a platform has no way to."""

    def __init__(self, *, patience_s: float = READ_S) -> None:
        self._patience_s = patience_s
        self._reads: dict[str, Earlier] = {}

    def attach(self, platform: str, read: Earlier) -> None:
        """How threads of `platform` are read."""
        self._reads[platform] = read

    async def of(self, request: Request) -> str:
        """What stands in the request's thread before it; "" also where it could not be read."""
        read = self._reads.get(request.place.platform)
        if read is None:
            return ""
        found: list[str] = []

        async def reading() -> None:
            found.append(await read(request))

        failed = f"what was said in the thread before run {request.id} was not read"
        return newest(found[0]) if await wait_a_while(reading(), self._patience_s, failed) else ""


def newest(said: str, most: int = MOST_CHARS) -> str:
    """The last whole lines of `said` that come to at most `most` characters; of one longer line its end."""
    said = said.encode(errors="ignore").decode().strip()  # half an emoji cannot be kept
    if len(said) <= most:
        return said
    cut = said[-most:]
    begun = said[-most - 1] == "\n"
    _, parted, whole = cut.partition("\n")
    return cut if begun or not parted else whole
