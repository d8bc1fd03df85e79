"""A model that answers at a fixed pace in a separate process: `python -m benchmarks.paced_model --log FILE`.

It prints its port, and logs when it sent the first and the last token of each answer, as JSON lines
{"question", "first", "last"}: seconds of the monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fakes.chat_completions import ChatService, Reply
from tests.fakes.reply import Frame, Turn

TOKENS = 300
TOKENS_A_SECOND = 40
FIRST_AFTER_S = 0.4
FIRST_WORD = "Emberlight:"
"""A word that occurs in no book: where it appears, the model's answer has begun."""
SENTENCE = "a candle burns for four hours of walking [1]. "
LAST_WORD = "Gloaming."
CHOICES = "- Trim the wick.\n- Walk on in the dark.\n- Call for the keeper."
CHOICES_ASKED = "offer the players"
"""Stands in the task of prompts.yml for a story's choices."""
NUMBERED = re.compile(r"question (\d+)")


class PacedModel(ChatService):
    """Answers every question with TOKENS words, and offers a story's choices at once. Words arrive `words` at
    a time; larger groups arrive less often.
    """

    def __init__(self, times: Path, words: int = 1) -> None:
        super().__init__(self._reply)
        self._times = times
        every = [FIRST_WORD, *(SENTENCE * TOKENS).split()[: TOKENS - 2], LAST_WORD]
        self._pieces = [f"{' '.join(every[at : at + words])} " for at in range(0, TOKENS, words)]
        self._delay_s = words / TOKENS_A_SECOND

    def _reply(self, body: dict[str, Any]) -> Reply:
        if CHOICES_ASKED in self.last(body):
            return Reply(pieces=[CHOICES])
        begin = asyncio.Event()
        asyncio.get_running_loop().call_later(FIRST_AFTER_S, begin.set)
        return Reply(pieces=self._pieces, gates={0: begin}, delay_s=self._delay_s)

    def frames(self, turn: Turn) -> Iterator[Frame]:
        first = last = 0.0
        for frame in super().frames(turn):
            if turn.sent and not first:  # asked for the second piece: the first one has been written
                first = time.monotonic()
            if turn.sent == len(self._pieces) and not last:
                last = time.monotonic()
                self._note(turn, first, last)
            yield frame

    def _note(self, turn: Turn, first: float, last: float) -> None:
        numbers = NUMBERED.findall(self.last(turn.body))
        line = {"question": int(numbers[-1]) if numbers else -1, "first": first, "last": last}
        with self._times.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


async def _serve(times: Path, words: int) -> None:
    async with PacedModel(times, words) as service:
        print(service.port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--words", type=int, default=1)
    arguments = parser.parse_args()
    asyncio.run(_serve(arguments.log, arguments.words))
