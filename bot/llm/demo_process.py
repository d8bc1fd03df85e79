"""The demo model in a process of its own: `python -m bot.llm.demo_process MODEL_FILE CONTEXT`.

CONTEXT is how many tokens prompt and answer may have together.

JSON lines in: {"id", "messages", "max_tokens", "temperature"?, "schema"?}, with "count" true to only count its tokens;
{"stop": id}. One is answered at a time. JSON lines out: {"ready": context tokens} once; then for each id {"input",
"cached"} (repeated while the prompt is read), {"text", "output"}, and last {"finish"} or {"fault", "detail"}. The
process exits at once when its input ends. Knows nothing of the bot.
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

_BATCH = 64
"""Prompt tokens read at once, less than half a second on one core: a stop takes effect no later than that."""

_FINISH = {"stop": "end", "length": "length"}
_SAMPLING = {"temperature": 0.5, "top_p": 0.9, "dry_multiplier": 0.8}
"""Without the last setting (which forbids verbatim repetition) a model this small soon runs in circles."""

_SCHEMA_SAMPLING = {"temperature": 0.2, "top_p": 0.9}
"""Sampling under a schema, where keys repeat rightly."""


class _Lines:
    """Reads and writes the JSON lines. Reads in a separate thread, so that a stop works during an answer."""

    def __init__(self) -> None:
        # The original standard output is for replies only; anything the runtime prints goes to standard error.
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self.requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.stopped = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def write(self, **reply: object) -> None:
        try:
            self._out.write(json.dumps(reply) + "\n")
            self._out.flush()
        except OSError:
            os._exit(0)  # the bot's process has ended

    def _listen(self) -> None:
        for line in sys.stdin.buffer:
            request = json.loads(line)
            if "stop" in request:
                self.stopped = request["stop"]
            else:
                self.requests.put(request)
        # Without the runtime's cleanup, which would wait for the current answer.
        os._exit(0)


def main(model: str, context: int) -> int:
    """Load the model, then answer until the input ends."""
    lines = _Lines()
    try:
        server = _load(model, context)
    except ImportError as fault:
        lines.write(fault="runtime", detail=str(fault))
        return 1
    except Exception as fault:  # the runtime raises whatever its C++ threw
        lines.write(fault="load", detail=str(fault))
        return 1
    # The runtime has installed its own signal handlers. Ctrl-C in the terminal is the parent's business.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    lines.write(ready=context)
    while True:
        request = lines.requests.get()
        try:
            _answer(server, request, lines)
        except Exception as fault:  # a request it cannot handle; the next one may be valid
            lines.write(id=request["id"], fault="bad_request", detail=str(fault))


def _load(model: str, context: int) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = context
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH
    # Two threads that contend for a core are many times slower than one.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    # Answers come 1.4 times as fast without it, after a prompt of 1,500 tokens on one core.
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.n_gpu_layers = 0
    params.cache_ram_mib = params.n_ctx_checkpoints = 0
    params.warmup = params.fit_params = False
    params.verbosity = -1
    return _without_open_port(params, xllamacpp.Server)


def _without_open_port(params: Any, server: Callable[[Any], Any]) -> Any:
    """Let the runtime's unused HTTP server, which it always starts, listen on a Unix socket that is deleted at once.

    If no socket can be made, it listens on a loopback port with a random key.
    """
    params.n_threads_http = 1
    params.api_keys = [secrets.token_hex(16)]
    params.hostnames = ["127.0.0.1"]
    folder = None
    try:
        if os.name == "posix":
            folder = Path(tempfile.mkdtemp(prefix="demo-"))
            if len(str(folder)) < 90:  # some systems allow only 104 bytes for a socket's path
                params.hostnames = [str(folder / "http.sock")]
    except OSError:  # there is no folder for temporary files
        pass
    try:
        return server(params)
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _answer(server: Any, question: dict[str, Any], lines: _Lines) -> None:
    """Answer one request; the last line is its finish or its fault."""
    id: int = question["id"]
    result: dict[str, object] = {}

    def on_event(event: dict[str, Any]) -> bool:
        """Called by the runtime with each event; True ends the generation."""
        if lines.stopped >= id:
            return True
        if (error := event.get("error")) is not None:
            if "n_prompt_tokens" in error:
                lines.write(id=id, input=error["n_prompt_tokens"], cached=0)
            long = error.get("type") == "exceed_context_size_error"
            result.update(fault="context" if long else "bad_request", detail=error.get("message", ""))
            return True
        progress = event.get("prompt_progress")
        if progress is not None:
            lines.write(id=id, input=progress["total"], cached=progress["cache"])
            if question.get("count"):
                return True
        for choice in event["choices"]:
            if text := choice["delta"].get("content"):
                lines.write(id=id, text=text, output=event["timings"]["predicted_n"])
            if reason := choice["finish_reason"]:
                result["finish"] = _FINISH.get(reason, "end")
                lines.write(id=id, text="", output=event["timings"]["predicted_n"])
        return False

    request = {
        "messages": question["messages"],
        "max_tokens": question["max_tokens"],
        "stream": True,
        "return_progress": True,
        "timings_per_token": True,
        **_SAMPLING,
    }
    if question.get("schema") is not None:
        request |= {"json_schema": question["schema"], **_SCHEMA_SAMPLING, "dry_multiplier": 0.0}
    if question.get("temperature") is not None:
        request["temperature"] = question["temperature"]
    server.handle_chat_completions(request, on_event)
    if not result:
        stopped = lines.stopped >= id or question.get("count")
        result = {"finish": "stopped"} if stopped else {"fault": "server", "detail": "the answer broke off"}
    lines.write(id=id, **result)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
