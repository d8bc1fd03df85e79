"""The process that an embedded engine runs in: `python -m bot.speech.engines.child hibari` or `… piper FILE`.

JSON lines in: {"id", "text", "speed"}. Out: first {"ready": true}; then for each line a JSON line {"id", "rate",
"bytes"} and that many bytes of float32 samples, or {"id", "fault"}. It speaks one sentence at a time. It exits at once
when the input ends, whatever it is doing, and uses at most MEMORY_BYTES of memory.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from bot import process_limits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Say = Callable[[str, float], tuple[NDArray[np.float32], float]]

MEMORY_BYTES: Final = 1_500_000_000
"""The most data memory, limited by the kernel; hibari uses 0.2 GB, including threads' stacks."""


def hibari() -> Say:
    from hibari import Hibari

    voice = Hibari(threads=1)
    voice("Ready.", seed=0)  # the pronunciation tables load with the first word

    def say(text: str, speed: float) -> tuple[NDArray[np.float32], float]:
        return voice(text, speed=speed, seed=0), float(voice.sample_rate)

    return say


def piper(file: str) -> Say:
    import numpy as np
    from piper import PiperVoice, SynthesisConfig

    voice = PiperVoice.load(file)

    def say(text: str, speed: float) -> tuple[NDArray[np.float32], float]:
        chunks = list(voice.synthesize(text, SynthesisConfig(length_scale=1 / speed)))
        samples = [chunk.audio_float_array for chunk in chunks]
        rate = float(voice.config.sample_rate)
        return (np.concatenate(samples) if samples else np.zeros(0, np.float32)).astype(np.float32), rate

    return say


ENGINES: Final[dict[str, Callable[..., Any]]] = {"hibari": hibari, "piper": piper}


def main(engine: str, *arguments: str) -> None:
    """Load the engine, then speak sentences until the input ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keeps the output of libraries out of the answers
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is the parent's business
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    process_limits.limit(RLIMIT_DATA=MEMORY_BYTES, RLIMIT_FSIZE=0, RLIMIT_CORE=0)

    def tell(reply: dict[str, object], samples: bytes = b"") -> None:
        out.write(json.dumps(reply).encode() + b"\n" + samples)
        out.flush()

    try:
        say = ENGINES[engine](*arguments)
    except Exception as fault:
        tell({"fault": f"{type(fault).__name__}: {fault}"[:300]})
        return
    tell({"ready": True})
    while True:
        request = requests.get()
        try:
            samples, rate = say(request["text"], request["speed"])
            data = samples.astype("<f4").tobytes()
        except Exception as fault:  # concerns this sentence; the next one may succeed
            tell({"id": request["id"], "fault": type(fault).__name__})
        else:
            tell({"id": request["id"], "rate": rate, "bytes": len(data)}, data)


def _listen(requests: queue.SimpleQueue[dict[str, Any]]) -> None:
    for line in sys.stdin.buffer:
        requests.put(json.loads(line))
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
