"""Reports every byte of a response as activity, and passes on only events with data.

A service may keep a connection alive with lines that carry nothing: OpenRouter's ": OPENROUTER PROCESSING", an empty
`data:`, an `event:`, `id:` or `retry:` alone. All are legal (WHATWG HTML, 9.2.6), and the openai SDK would try to parse
some of them as JSON.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from httpx2 import AsyncByteStream

_END = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
"""A blank line ends an event; a service may use any of the three line endings."""
_DATA = re.compile(rb"(?:\A|[\r\n])data:[^\r\n]*[^\s]")
_LONGEST_END = 4


@dataclass(slots=True, eq=False)
class ActivityStream(AsyncByteStream):
    """Replaces a response's `stream`. `filtered`: it contains uncompressed server-sent events."""

    stream: AsyncByteStream
    on_activity: Callable[[], None]
    filtered: bool = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        events = Events()
        async for chunk in self.stream:
            self.on_activity()
            if not self.filtered:
                yield chunk
            elif data := events.feed(chunk):
                yield data
        if remainder := events.remainder():
            yield remainder

    async def aclose(self) -> None:
        await self.stream.aclose()


@dataclass(slots=True)
class Events:
    """The events with data in a stream of bytes, unchanged; all others are dropped."""

    _buffer: bytearray = field(default_factory=bytearray)

    def feed(self, chunk: bytes) -> bytes:
        """The complete events with data that end in this chunk."""
        searched = max(0, len(self._buffer) - _LONGEST_END)
        self._buffer += chunk
        start, events = 0, []
        while end := _END.search(self._buffer, searched):
            event = bytes(self._buffer[start : end.end()]).lstrip(b"\r\n")
            if _DATA.search(event):
                events.append(event)
            start = searched = end.end()
        del self._buffer[:start]
        return b"".join(events)

    def remainder(self) -> bytes:
        """The bytes left at the end of the stream: an unfinished event; or, as an event, the plain JSON that some
        gateways send for an error.
        """
        remainder = bytes(self._buffer).lstrip(b"\r\n")
        return (
            b"data: " + b" ".join(remainder.splitlines()) + b"\n\n"
            if remainder.startswith(b"{")
            else remainder
        )
