"""OpenAI's speech, and any service with the same interface.

The answer is requested as WAV, which is read here rather than by a library for many formats.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from bot.events import UserError
from bot.speech.engines.base import Sound, Unspoken
from bot.speech.sound import sound_of

if TYPE_CHECKING:
    from bot.config import Config, ProviderConfig

VOICES: Final = ("alloy", "ash", "coral", "nova", "onyx", "sage", "shimmer")
TIMEOUT_S: Final = 30.0
MOST_BYTES: Final = 20_000_000
"""The bytes of two minutes of 48 kHz, 16 bits, two channels; a sentence is shorter."""
DEFAULT_MODEL: Final = "gpt-4o-mini-tts"


class Service:
    """A speech service. A voice is "MODEL/VOICE", or a voice of `DEFAULT_MODEL`. Without a key none is sent."""

    def __init__(self, provider: ProviderConfig, config: Config, timeout_s: float = TIMEOUT_S) -> None:
        self.name = provider.name
        self.voices = VOICES if provider.base_url is None else ()
        self._provider = provider
        self._config = config
        self._missing = config.key_missing(f"{provider.name}:")
        self._timeout_s = timeout_s
        self._client: Any = None
        self._headers: dict[str, Any] = {}
        self._sdk: Any = None
        self._connecting = asyncio.Lock()
        self._room = asyncio.Semaphore(2)

    def reads(self, language: str, voice: str) -> bool:
        """Always True: services read any language."""
        return True

    def absent(self) -> UserError | None:
        return UserError("voice.lacks_key", name=self._missing) if self._missing else None

    def model(self, voice: str) -> str:
        return voice.rpartition("/")[0] or DEFAULT_MODEL

    async def say(self, text: str, voice: str, speed: float, language: str) -> Sound:
        if self._missing:
            raise Unspoken("absent", self.name)
        async with self._room:
            data = await self._request(text, self.model(voice), voice.rpartition("/")[2] or VOICES[0], speed)
        return sound_of(data, self.name)

    async def _request(self, text: str, model: str, voice: str, speed: float) -> bytes:
        async with self._connecting:
            if self._client is None:
                await asyncio.to_thread(self._connect)
        sdk, data = self._sdk, bytearray()
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._client.audio.speech.with_streaming_response.create(
                    model=model,
                    voice=voice,
                    input=text,
                    response_format="wav",
                    speed=speed,
                    extra_headers=self._headers,
                ) as answer,
            ):
                async for some in answer.iter_bytes():
                    data += some
                    if len(data) > MOST_BYTES:
                        reason = "it does not stop"
                        break
                else:
                    return bytes(data)
        except TimeoutError:
            reason = "timeout"
        except sdk.APIStatusError as error:
            reason = f"HTTP {error.status_code}" + (f" {error.code}" if error.code else "")
        except sdk.APITimeoutError:
            reason = "timeout"
        except sdk.APIConnectionError:
            reason = "connection"
        except sdk.OpenAIError as error:
            reason = type(error).__name__
        # Raised outside the handlers, because the SDK's exceptions hold the request, which holds the key.
        raise Unspoken("hangs" if reason == "timeout" else "refused", self.name, reason[:80])

    def _connect(self) -> None:
        import openai

        from bot.llm.openai_client import connected

        self._sdk = openai
        self._client, self._headers = connected(self._config, self._provider, self._timeout_s)
        _ = self._client.audio.speech  # imported on first use, therefore here in the thread

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
