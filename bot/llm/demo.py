"""The demo model: small and embedded, in a separate process that may crash or be killed.

`Demo` is the provider; it knows no SDK. It runs one generation at a time; others wait in order. The process starts with
the first question and ends after a while without one, which frees its memory.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bot import models
from bot.events import TransientError, UserError
from bot.llm.base import Capabilities, Meter, ModelError, Prompt
from bot.llm.completion import Completion, Usage
from bot.model_process import ModelProcess, ProcessEnded

MODEL = "smollm2"
"""The only demo model, by its name in `bot.models.MODELS`."""

CONTEXT = 4096
"""Tokens of prompt and answer together: 96 MB of cache. The model supports 8,192, but becomes ever slower."""

CAPABILITIES = Capabilities(tools=False, json_schema=True, cites=False, demo=True, sees=False)

LONGEST_TEXT, LONGEST_LIST, LARGEST = 240, 5, 999_999
"""For an answer whose schema sets no limits: characters of a text, items of a list, absolute value of a number."""


class Demo:
    """The provider "demo" ("demo:smollm2" in a role). Seconds: `idle_s` until its memory is freed, `start_s` to load,
    `silence_s` between two signs of life, `stop_s` until a stop becomes a kill.
    """

    def __init__(
        self,
        models_dir: Path,
        *,
        name: str = "demo",
        context: int = CONTEXT,
        idle_s: float = 300.0,
        start_s: float = 60.0,
        silence_s: float = 45.0,
        stop_s: float = 0.7,
        environ: Mapping[str, str] | None = None,
        command: Sequence[str] | None = None,
    ) -> None:
        """`environ` is the bot's own by default. `command` runs another process instead of the model's, for tests."""
        self.name = name
        self._models_dir = models_dir
        self._context = context
        self._idle_s, self._start_s, self._silence_s, self._stop_s = idle_s, start_s, silence_s, stop_s
        self._environ = os.environ if environ is None else environ
        self._command = command
        self._turn = asyncio.Lock()
        self._child: ModelProcess | None = None
        self._idle_timer: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"Demo({self.name!r})"

    @property
    def pid(self) -> int | None:
        """The id of the process that holds the model in memory; None if there is none."""
        return self._child.pid if self._child is not None and self._child.alive else None

    def capabilities(self, model: str) -> Capabilities:
        """See Provider.capabilities."""
        return CAPABILITIES

    async def stream(
        self, model: str, prompt: Prompt, meter: Meter | None = None, *, whole: bool = False
    ) -> AsyncGenerator[str | Completion, None]:
        """See Provider.stream. Raises UserError if the runtime or the model's files are missing."""
        label = f"{self.name}:{model}"
        meter = meter or Meter()
        before = meter.usage
        counted = dict.fromkeys(("input", "cached", "output"), 0)
        pieces: list[str] = []
        finish = ""

        def completion() -> Completion:
            return Completion("".join(pieces), finish or "cut", label, meter.usage)

        try:
            async with aclosing(self._replies(model, prompt)) as replies:
                async for reply in replies:
                    counted |= {name: reply[name] for name in counted if name in reply}
                    # Cached input tokens are those still known from the last call.
                    fresh = counted["input"] - counted["cached"]
                    meter.usage = before + Usage(fresh, counted["output"], counted["cached"])
                    if reply.get("text"):
                        pieces.append(reply["text"])
                        if not whole:
                            yield reply["text"]
                    finish = reply.get("finish", finish)
        except ModelError as error:
            cut = bool(pieces) and not whole
            used = completion() if meter.usage != before else None
            raise ModelError("cut" if cut else error.fault, label, error.detail, partial=used) from None
        if not pieces:
            raise ModelError("empty", label, finish, partial=completion())
        if whole:
            yield completion().text
        yield completion()

    async def count(self, model: str, prompt: Prompt) -> int | None:
        """See Provider.count; the count is exact. Waits its turn, and starts the process if necessary (half a
        second).
        """
        tokens: int | None = None
        try:
            async with aclosing(self._replies(model, prompt, count=True)) as replies:
                async for reply in replies:
                    tokens = reply.get("input", tokens)
        except UserError:  # also for a prompt that is too long, whose count came first
            pass
        return tokens

    async def settled(self) -> None:
        """Wait until the process runs no generation: at most a second after a stop."""
        if self._child is not None:
            await self._child.settled()

    async def close(self) -> None:
        """End the process."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._child is not None:
            await self._child.end()

    async def _replies(
        self, model: str, prompt: Prompt, *, count: bool = False
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The process's replies to `prompt`, up to the finish. Raises ModelError or UserError. Closing the generator
        stops the generation.
        """
        label = f"{self.name}:{model}"
        if model != MODEL:
            raise ModelError("not_found", label, f"there is {MODEL} alone")
        if prompt.tools or any(message.calls or message.results for message in prompt.messages):
            raise ModelError("bad_request", label, "the demo model cannot call tools")
        async with self._turn:
            try:
                child = await self._ready(label)
                child.ask({**_request(prompt), "count": count})
                try:
                    reply: dict[str, Any] = {}
                    while "finish" not in reply:
                        reply = await child.next_reply(self._silence_s)
                        if "fault" in reply:
                            raise _error(reply, label)
                        yield reply
                finally:
                    child.stop()
            except ProcessEnded as ended:
                raise ModelError(ended.fault, label, str(ended)) from None
            finally:
                self._idle_timer = asyncio.get_running_loop().call_later(self._idle_s, self._free_memory)

    async def _ready(self, label: str) -> ModelProcess:
        """A process that has loaded the model: the running one or a new one."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        await self.settled()
        if self._child is not None and self._child.alive:
            return self._child
        command = self._command
        if command is None:
            command = await asyncio.to_thread(self._command_line)
        child = self._child = await ModelProcess.start(command, self._environ, self._stop_s)
        reply: dict[str, Any] = {}
        try:
            reply = await child.next_reply(self._start_s)
        finally:
            if "ready" not in reply:  # also when cancelled: a half-loaded process is useless
                child.kill()
        if "ready" not in reply:
            raise _error(reply, label)
        return child

    def _command_line(self) -> Sequence[str]:
        """The command that runs the model. Raises UserError if something is missing or damaged."""
        if find_spec("xllamacpp") is None:
            raise TransientError("model.demo_runtime", reason="No module named 'xllamacpp'")
        if fault := models.fault(self._models_dir, MODEL):  # hashing adds a tenth of a second to each start
            raise UserError(f"model.demo_{fault}", name=MODEL)
        file = models.path(self._models_dir, MODEL).resolve() / "model.gguf"
        return (sys.executable, "-m", "bot.llm.demo_process", str(file), str(self._context))

    def _free_memory(self) -> None:
        """End the idle process. This side does it, so that no question reaches a process that is ending."""
        if self._child is not None and not self._turn.locked():
            self._child.kill()


def _request(prompt: Prompt) -> dict[str, object]:
    turns = [("system", prompt.system)] if prompt.system else []
    turns += [(message.role, message.text) for message in prompt.messages]
    return {
        # Keeps text from containing control tokens: it cannot end its turn and begin another one.
        "messages": [{"role": role, "content": text.replace("<|", "< |")} for role, text in turns],
        "max_tokens": prompt.max_tokens,
        "temperature": prompt.temperature,
        "schema": None if prompt.schema is None else _bounded(prompt.schema),
    }


def _bounded(schema: Any) -> Any:
    """`schema` with limits for every text and list: without them so small a model repeats itself up to the
    token limit.
    """
    if isinstance(schema, list):
        return [_bounded(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    bounded = {name: _bounded(part) for name, part in schema.items()}
    if bounded.get("type") == "string" and not bounded.keys() & {"enum", "const"}:
        bounded.setdefault("maxLength", LONGEST_TEXT)
    elif bounded.get("type") == "array":
        bounded.setdefault("maxItems", LONGEST_LIST)
    elif bounded.get("type") in ("integer", "number"):
        bounded.setdefault("minimum", -LARGEST)
        bounded.setdefault("maximum", LARGEST)
    return bounded


def _error(reply: Mapping[str, Any], label: str) -> UserError:
    """The error that the process reports."""
    detail = str(reply.get("detail", ""))[:200]
    match reply.get("fault"):
        case "runtime":
            return TransientError("model.demo_runtime", reason=detail)
        case "context" | "bad_request" as fault:
            return ModelError(fault, label, detail)
        case _:
            return ModelError("server", label, detail)
