"""The messages of a thread before the bot was first called into it, as context of an answer.

Knows no platform: adapters read the threads. A run's snapshot decides whether to read, and stores the result, so that
a replay does not read again.
"""

from __future__ import annotations

from bot.events import Request
from bot.platforms import ReadThread
from bot.waiting import wait_at_most

MOST_CHARS = 6_000
"""Of longer threads the newest part is used: about 1,500 tokens, as much as a few passages."""

READ_S = 5.0
"""A question waits no longer than this for its thread; it is then answered without."""


class ThreadHistory:
    """Reads threads by the function that each platform has attached; "" where it has none."""

    def __init__(self, *, seconds: float = READ_S) -> None:
        self._seconds = seconds
        self._reads: dict[str, ReadThread] = {}

    def attach(self, platform: str, read: ReadThread) -> None:
        """Read threads of `platform` with `read`."""
        self._reads[platform] = read

    async def of(self, request: Request) -> str:
        """The words of the request's thread before it; "" also where it could not be read."""
        read = self._reads.get(request.place.platform)
        if read is None:
            return ""
        texts: list[str] = []

        async def reading() -> None:
            texts.append(await read(request))

        failed = f"what was said in the thread before run {request.id} was not read"
        return newest(texts[0]) if await wait_at_most(reading(), self._seconds, failed) else ""


def newest(text: str, most: int = MOST_CHARS) -> str:
    """The last whole lines of `text`, at most `most` characters; of one longer line its end."""
    text = text.encode(errors="ignore").decode().strip()  # half an emoji cannot be stored
    if len(text) <= most:
        return text
    cut = text[-most:]
    begun = text[-most - 1] == "\n"
    _, parted, whole = cut.partition("\n")
    return cut if begun or not parted else whole
