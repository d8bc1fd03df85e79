"""A cache of sentences by words and voice: in memory only, so that nothing outlives the process."""

from __future__ import annotations

from collections import OrderedDict


class Cache:
    """At most `most_bytes`; the least recently used sentence is dropped first."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._made: OrderedDict[tuple[object, ...], bytes] = OrderedDict()
        self.bytes = 0

    def get(self, key: tuple[object, ...]) -> bytes | None:
        if (pcm := self._made.get(key)) is not None:
            self._made.move_to_end(key)
        return pcm

    def put(self, key: tuple[object, ...], pcm: bytes) -> None:
        self.bytes += len(pcm) - len(self._made.pop(key, b""))
        self._made[key] = pcm
        while self.bytes > self._most_bytes and self._made:
            _, oldest = self._made.popitem(last=False)
            self.bytes -= len(oldest)
