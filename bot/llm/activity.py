"""Reports every byte of a response as activity: a service that sends only comments is still at work.

OpenRouter sends ": OPENROUTER PROCESSING" while it waits for a model; SSE's readers drop such lines, as they should.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from httpx2 import AsyncByteStream


@dataclass(slots=True, eq=False)
class ActivityStream(AsyncByteStream):
    """Stands in for a response's `stream`."""

    stream: AsyncByteStream
    on_activity: Callable[[], None]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self.stream:
            self.on_activity()
            yield chunk

    async def aclose(self) -> None:
        await self.stream.aclose()
