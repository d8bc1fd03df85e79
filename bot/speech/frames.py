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
HEARD_S: Final = 1.0
"""Seconds before its end from which a sentence counts as heard; after a crash it is then not repeated."""
AGAIN_S: Final = 0.5
"""Seconds that are repeated after a break in the connection."""

Owner = TypeVar("Owner")
Progress = Literal["begins", "heard", "ends"]


@dataclass(eq=False, slots=True)
class Sentence(Generic[Owner]):
    """A sentence to play; `owner` is what it belongs to."""

    owner: Owner
    spoken: SpokenSentence
    heard: bool = False


class Frames(Generic[Owner]):
    """Frames of sentences. The player's thread calls `read`, which never waits; the event loop calls everything else.

    `progress` is called in the thread when a sentence begins, when it counts as heard, and after its pause.
    """

    def __init__(self, progress: Callable[[Progress, Sentence[Owner]], None]) -> None:
        self._progress = progress
        self._lock = threading.Lock()
        self._queue: deque[Sentence[Owner]] = deque()
        self._current: Sentence[Owner] | None = None
        self._frames: Iterator[bytes] = iter(())
        self._last: deque[bytes] = deque(maxlen=round(AGAIN_S * 1000 / FRAME_MS))
        """The last frames that were played."""
        self._again: deque[bytes] = deque()
        """The frames that are played again."""
        self._frames_left = 0
        """The number of frames until the present sentence counts as heard."""
        self._lull = 0
        self.awaited = False
        """Whether another sentence is being made."""
        self.ended = True
        """Whether playing has ended by itself."""

    def put(self, sentence: Sentence[Owner]) -> None:
        with self._lock:
            self._queue.append(sentence)

    @property
    def full(self) -> bool:
        return len(self._queue) >= AHEAD

    @property
    def empty(self) -> bool:
        return self._current is None and not self._queue

    @property
    def first(self) -> Sentence[Owner] | None:
        """The present sentence, or the next one."""
        with self._lock:
            return self._current or (self._queue[0] if self._queue else None)

    def drop(self, owner: Owner | None = None) -> None:
        """Drop all sentences, or those of `owner`."""
        with self._lock:
            if owner is None or (self._current is not None and self._current.owner is owner):
                self._current, self._frames = None, iter(())
                self._last.clear()
                self._again.clear()
            remaining = (
                [] if owner is None else [sentence for sentence in self._queue if sentence.owner is not owner]
            )
            self._queue = deque(remaining)

    def rewind(self) -> None:
        """Play the present sentence again from its beginning; if it counts as heard, only its last half second."""
        with self._lock:
            self._lull = 0
            if (now := self._current) is None:
                self._last.clear()
            elif now.heard:
                self._repeat()
            else:
                self._current, self._frames = None, iter(())
                self._queue.appendleft(now)
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
            if self._current is not None:
                self._end(self._current)
            if not self._queue:
                break
            self._begin(self._queue.popleft())
        if frame is None:
            self._lull += 1
            self.ended = not self.awaited or self._lull * FRAME_MS > LULL_S * 1000
            return b"" if self.ended else SILENCE
        self._lull, self.ended = 0, False
        self._frames_left -= 1
        if self._frames_left <= 0 and self._current is not None:
            self._mark_heard(self._current)
        return frame

    def _begin(self, sentence: Sentence[Owner]) -> None:
        self._current, self._frames = sentence, sentence.spoken.frames()
        self._frames_left = max(0, round((sentence.spoken.seconds - HEARD_S) * 1000 / FRAME_MS))
        self._progress("begins", sentence)

    def _mark_heard(self, sentence: Sentence[Owner]) -> None:
        if not sentence.heard:
            sentence.heard = True
            self._progress("heard", sentence)

    def _end(self, sentence: Sentence[Owner]) -> None:
        self._current = None
        self._mark_heard(sentence)
        self._progress("ends", sentence)
