"""The bytes of a response, each of which is heard: a service that only sends comments is still at work.

OpenRouter sends ": OPENROUTER PROCESSING" while it waits for a model; SSE's readers drop such lines, as they should.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from httpx2 import AsyncByteStream


class Audible(AsyncByteStream):
    """Stands in for a response's `stream`."""

    def __init__(self, stream: AsyncByteStream, heard: Callable[[], None]) -> None:
        self._stream = stream
        self._heard = heard

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._heard()
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
