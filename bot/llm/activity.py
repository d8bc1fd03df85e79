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
_SAYS = re.compile(rb"(?:\A|[\r\n])data:[^\r\n]*[^\s]")
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
            elif said := events.feed(chunk):
                yield said
        if rest := events.rest():
            yield rest

    async def aclose(self) -> None:
        await self.stream.aclose()


@dataclass(slots=True)
class Events:
    """The events with data in a stream of bytes, unchanged; all others are dropped."""

    _held: bytearray = field(default_factory=bytearray)

    def feed(self, chunk: bytes) -> bytes:
        """The complete events with data that end in this chunk."""
        searched = max(0, len(self._held) - _LONGEST_END)
        self._held += chunk
        start, said = 0, []
        while end := _END.search(self._held, searched):
            event = bytes(self._held[start : end.end()]).lstrip(b"\r\n")
            if _SAYS.search(event):
                said.append(event)
            start = searched = end.end()
        del self._held[:start]
        return b"".join(said)

    def rest(self) -> bytes:
        """What remains at the end of the stream: an unfinished event, or plain JSON, which some gateways send for an
        error, as an event."""
        held = bytes(self._held).lstrip(b"\r\n")
        return b"data: " + b" ".join(held.splitlines()) + b"\n\n" if held.startswith(b"{") else held
