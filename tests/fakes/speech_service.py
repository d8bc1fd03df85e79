"""A strict loopback service that speaks /v1/audio/speech, refusing what the real one refuses.

It knows nothing of the bot. `sound` turns a text into samples, by default a tone of 50 ms for each character:

    async with SpeechService(key="sk-1") as service:
        service.base_url, service.requests
        service.answers.append(web.Response(status=429))   the next answers, in this order; None never answers
"""

from __future__ import annotations

import asyncio
import io
import wave
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from aiohttp import web

VOICES = {"alloy", "ash", "coral", "nova", "onyx", "sage", "shimmer"}
FORMATS = {"mp3", "opus", "aac", "flac", "wav", "pcm"}
MODELS = {"tts-1", "tts-1-hd", "gpt-4o-mini-tts"}
KNOWN = {"model", "input", "voice", "response_format", "speed", "instructions", "stream_format"}
MOST_CHARACTERS = 4096


def tone(seconds: float, rate: int = 24_000, hertz: float = 440.0) -> bytes:
    """A WAV file of one channel, 16 bits."""
    return wav(12_000 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate), rate)


def wav(samples: np.ndarray[Any, Any], rate: int = 24_000) -> bytes:
    """Samples of -32,768 to 32,767, one channel."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())
    return out.getvalue()


@dataclass
class SpeechService:
    """With `key` None no key is needed."""

    key: str | None = None
    answers: list[web.Response | None] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    sound: Callable[[str], bytes] = lambda text: tone(0.05 * len(text))
    """The WAV file of what is said."""

    async def __aenter__(self) -> SpeechService:
        app = web.Application()
        app.add_routes([web.post("/v1/audio/speech", self._answer)])
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        sent = request.headers.get("Authorization")
        if sent != (f"Bearer {self.key}" if self.key else None):
            return _refused(401, "Incorrect API key provided.", "invalid_api_key")
        body = await request.json()
        if (wrong := _wrong(body)) is not None:
            return _refused(400, wrong, "invalid_request_error")
        self.requests.append(body)
        if self.answers:
            answer = self.answers.pop(0)
            if answer is None:
                await asyncio.Event().wait()
            assert answer is not None
            return answer
        return web.Response(body=self.sound(body["input"]), content_type="audio/wav")


def _wrong(body: dict[str, Any]) -> str | None:
    if unknown := body.keys() - KNOWN:
        return f"Unrecognized request argument supplied: {', '.join(unknown)}"
    if body.get("model") not in MODELS:
        return "The model does not exist"
    if body.get("voice") not in VOICES:
        return "Input should be one of the voices"
    text = body.get("input")
    if not isinstance(text, str) or not 1 <= len(text) <= MOST_CHARACTERS:
        return "String should have at least 1 and at most 4096 characters"
    if body.get("response_format", "mp3") not in FORMATS:
        return "Input should be 'mp3', 'opus', 'aac', 'flac', 'wav' or 'pcm'"
    if not 0.25 <= body.get("speed", 1.0) <= 4.0:
        return "Input should be between 0.25 and 4"
    return None


def _refused(status: int, message: str, code: str) -> web.Response:
    return web.json_response(
        {"error": {"message": message, "type": code, "code": code, "param": None}}, status=status
    )
