"""The next sentences to be heard, as frames of 20 ms for a player's thread.

Independent of the player and of what the sentences belong to.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

from bot.speech.sound import FRAME_BYTES, FRAME_MS
from bot.speech.speech import SpokenSentence

SILENCE: Final = bytes(FRAME_BYTES)
AHEAD: Final = 2
"""The number of sentences that wait after the present one."""
LULL_S: Final = 5.0
"""Seconds of silence that are played while the next sentence is made; after that playing ends until it is ready."""
SAID_S: Final = 1.0
"""Seconds before its end from which a sentence counts as heard; after a crash it is then not repeated."""
AGAIN_S: Final = 0.5
"""Seconds that are repeated after a break in the connection."""

Of = TypeVar("Of")
Progress = Literal["begins", "said", "ends"]


@dataclass(eq=False, slots=True)
class Sentence(Generic[Of]):
    """A sentence to play; `of` is what it belongs to."""

    of: Of
    heard: SpokenSentence
    said: bool = False


class Frames(Generic[Of]):
    """Frames of sentences. The player's thread calls `read`, which never waits; the event loop calls everything else.

    `progress` is called in the thread when a sentence begins, when it counts as heard, and after its pause.
    """

    def __init__(self, progress: Callable[[Progress, Sentence[Of]], None]) -> None:
        self._progress = progress
        self._lock = threading.Lock()
        self._next: deque[Sentence[Of]] = deque()
        self._now: Sentence[Of] | None = None
        self._frames: Iterator[bytes] = iter(())
        self._last: deque[bytes] = deque(maxlen=round(AGAIN_S * 1000 / FRAME_MS))
        """The last frames that were played."""
        self._again: deque[bytes] = deque()
        """The frames that are played again."""
        self._left = 0
        """The number of frames until the present sentence counts as heard."""
        self._lull = 0
        self.awaited = False
        """Whether another sentence is being made."""
        self.over = True
        """Whether playing has ended by itself."""

    def put(self, sentence: Sentence[Of]) -> None:
        with self._lock:
            self._next.append(sentence)

    @property
    def full(self) -> bool:
        return len(self._next) >= AHEAD

    @property
    def empty(self) -> bool:
        return self._now is None and not self._next

    @property
    def first(self) -> Sentence[Of] | None:
        """The present sentence, or the next one."""
        with self._lock:
            return self._now or (self._next[0] if self._next else None)

    def drop(self, of: Of | None = None) -> None:
        """Drop all sentences, or those of `of`."""
        with self._lock:
            if of is None or (self._now is not None and self._now.of is of):
                self._now, self._frames = None, iter(())
                self._last.clear()
                self._again.clear()
            remaining = [] if of is None else [sentence for sentence in self._next if sentence.of is not of]
            self._next = deque(remaining)

    def rewind(self) -> None:
        """Play the present sentence again from its beginning; if it counts as heard, only its last half second."""
        with self._lock:
            self._lull = 0
            if (now := self._now) is None:
                self._last.clear()
            elif now.said:
                self._repeat()
            else:
                self._now, self._frames = None, iter(())
                self._next.appendleft(now)
                self._last.clear()
                self._again.clear()

    def again(self) -> None:
        """Play the last half second again."""
        with self._lock:
            self._repeat()

    def _repeat(self) -> None:
        self._again.extendleft(reversed(self._last))
        self._last.clear()

    def read(self) -> bytes:
        """The next frame; b"" ends the playing."""
        with self._lock:
            frame = self._again.popleft() if self._again else self._read()
            if frame:
                self._last.append(frame)
            return frame

    def _read(self) -> bytes:
        while (frame := next(self._frames, None)) is None:
            if self._now is not None:
                self._end(self._now)
            if not self._next:
                break
            self._begin(self._next.popleft())
        if frame is None:
            self._lull += 1
            self.over = not self.awaited or self._lull * FRAME_MS > LULL_S * 1000
            return b"" if self.over else SILENCE
        self._lull, self.over = 0, False
        self._left -= 1
        if self._left <= 0 and self._now is not None:
            self._say(self._now)
        return frame

    def _begin(self, sentence: Sentence[Of]) -> None:
        self._now, self._frames = sentence, sentence.heard.frames()
        self._left = max(0, round((sentence.heard.seconds - SAID_S) * 1000 / FRAME_MS))
        self._progress("begins", sentence)

    def _say(self, sentence: Sentence[Of]) -> None:
        if not sentence.said:
            sentence.said = True
            self._progress("said", sentence)

    def _end(self, sentence: Sentence[Of]) -> None:
        self._now = None
        self._say(sentence)
        self._progress("ends", sentence)
