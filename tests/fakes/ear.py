"""A strict transcription service at /v1/audio/transcriptions, on loopback or as a route of another fake. It refuses
what the real one refuses.

It knows nothing of the bot, and returns `hears` for every recording.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

MODELS = {"whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"}
KNOWN = {"file", "model", "language", "prompt", "response_format", "temperature"}
BEGINNINGS = {"ogg": b"OggS", "wav": b"RIFF", "m4a": b"ftyp", "webm": b"\x1aE\xdf\xa3", "mp3": b""}
"""The bytes at the beginning of a file with each ending, perhaps after a size."""
MOST_BYTES = 25 * 2**20


@dataclass
class Ear:
    """`heard` are the recordings: their fields, and the file's bytes. `answers` come first; None never answers."""

    hears: str = "I open the door."
    heard: list[dict[str, Any]] = field(default_factory=list)
    answers: list[web.Response | None] = field(default_factory=list)

    async def __aenter__(self) -> Ear:
        app = web.Application(client_max_size=2 * MOST_BYTES)
        app.add_routes([web.post("/v1/audio/transcriptions", self.listen)])
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def listen(self, request: web.Request) -> web.Response:
        fields = await request.post()
        file = fields.get("file")
        if not isinstance(file, web.FileField):
            return _refused("file: field required")
        form: dict[str, Any] = {name: value for name, value in fields.items() if name != "file"}
        with file.file as recording:
            data = recording.read()
        if (wrong := _wrong(form, file.filename, data)) is not None:
            return _refused(wrong)
        self.heard.append({**form, "file": data})
        if self.answers:
            answer = self.answers.pop(0)
            if answer is None:
                await asyncio.Event().wait()
            assert answer is not None
            return answer
        return web.json_response({"text": self.hears})


def _wrong(form: dict[str, Any], name: str, data: bytes) -> str | None:
    if unknown := form.keys() - KNOWN:
        return f"Unrecognized request argument supplied: {', '.join(unknown)}"
    if form.get("model") not in MODELS:
        return "The model does not exist"
    if form.get("response_format", "json") != "json":
        return "response_format is not compatible with the model. Use 'json' instead."
    ending = name.rpartition(".")[2]
    if ending not in BEGINNINGS or BEGINNINGS[ending] not in data[:8]:
        return "Invalid file format."
    if len(data) > MOST_BYTES:
        return "Maximum content size limit exceeded"
    return None


def _refused(message: str) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "code": None, "param": None}
    return web.json_response({"error": error}, status=400)
