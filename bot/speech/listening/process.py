"""The listening process: `python -m bot.speech.listening.process FOLDER`, with a Whisper model in that folder.

JSON lines in: {"id", "suffix", "seconds", "language", "bytes"}, each followed by that many bytes, the recording;
"language" is the likely one, "" for any. JSON lines out: {"ready": 1} once; for each id {"done"} in percent repeatedly,
and finally {"text", "finish"} or {"fault", "detail"}. It transcribes one recording at a time. The end of input ends the
process at once, whatever it is doing. Its memory is limited by the model's size.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bot import process_limits
from bot.speech.listening.samples import RATE, NoProgram, Unreadable, pieces
from bot.speech.listening.whisper import Whisper

if TYPE_CHECKING:
    from collections.abc import Callable

_MEMORY_BYTES: Final = 1_500_000_000
_OF_MODEL: Final = 4
"""The memory limit, enforced by the kernel, is _MEMORY_BYTES plus this multiple of the size of the model file. The base
model uses 0.3 GB.
"""
_FILE_BYTES: Final = 64_000_000
"""The most bytes of a file that the process writes: a recording for ffmpeg."""
_ENCODED: Final = 0.4
"""The share of a piece's work that is done once it is encoded."""


def main(folder: str) -> None:
    """Load the model, then transcribe until the input ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keeps the output of libraries out of the answers
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is the parent's business
    requests: queue.SimpleQueue[tuple[dict[str, Any], bytes]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()

    def tell(**reply: object) -> None:
        try:
            out.write(json.dumps(reply).encode() + b"\n")
            out.flush()
        except OSError:
            os._exit(0)  # the bot's process has ended

    try:
        _limit(Path(folder) / "model.bin")
        model = Whisper(Path(folder))
    except Exception as fault:  # CTranslate2 raises whatever its C++ code threw
        tell(fault="load", detail=f"{type(fault).__name__}: {fault}"[:300])
        return
    tell(ready=1)
    while True:
        request, data = requests.get()
        id: int = request["id"]

        def at(percent: int, id: int = id) -> None:
            tell(id=id, done=percent)

        try:
            text = transcribed(model, request, data, at)
        except Unreadable:
            tell(id=id, fault="unread", detail="")
        except NoProgram:
            tell(id=id, fault="program", detail="")
        except Exception as fault:  # concerns this recording; the next one may succeed
            tell(id=id, fault="failed", detail=type(fault).__name__)
        else:
            tell(id=id, text=text, finish="end")


def transcribed(model: Whisper, request: dict[str, Any], data: bytes, tell: Callable[[int], None]) -> str:
    """The words of a recording; `tell` is called with the percentage that was transcribed."""
    seconds, language = float(request["seconds"]), ""
    texts: list[str] = []
    past = 0.0

    def at(second: float) -> None:
        tell(min(99, int(100 * second / seconds)) if seconds else 0)

    at(0.0)
    for samples in pieces(data, request["suffix"], seconds):
        piece_s = samples.size / RATE
        if (encoded := model.encoded(samples)) is not None:
            at(past + _ENCODED * piece_s)
            # The first words determine the language, because a later piece may be too short for that.
            language = language or model.language(encoded, request["language"])
            texts.append(model.text(encoded, language))
        past += piece_s
        at(past)
    return " ".join(filter(None, texts))


def _listen(requests: queue.SimpleQueue[tuple[dict[str, Any], bytes]]) -> None:
    for line in iter(sys.stdin.buffer.readline, b""):
        request = json.loads(line)
        data = sys.stdin.buffer.read(request["bytes"])
        if len(data) < request["bytes"]:
            break
        requests.put((request, data))
    os._exit(0)


def _limit(model: Path) -> None:
    """Limit the memory and the files, and give the bot priority for the processor."""
    memory = _MEMORY_BYTES + _OF_MODEL * model.stat().st_size
    process_limits.limit(RLIMIT_DATA=memory, RLIMIT_FSIZE=_FILE_BYTES, RLIMIT_CORE=0)
    if os.name == "posix":
        os.nice(5)


if __name__ == "__main__":
    main(*sys.argv[1:])
