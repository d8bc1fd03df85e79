"""Reports every byte of a response as activity: a service that sends only comments is still at work.

OpenRouter sends ": OPENROUTER PROCESSING" while it waits for a model; SSE's readers drop such lines, as they should.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from httpx2 import AsyncByteStream


class ActivityStream(AsyncByteStream):
    """Stands in for a response's `stream`."""

    def __init__(self, stream: AsyncByteStream, on_activity: Callable[[], None]) -> None:
        self._stream = stream
        self._on_activity = on_activity

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._on_activity()
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
