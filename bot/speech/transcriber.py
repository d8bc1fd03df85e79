"""Transcribes speech, with this machine's own model, else with the role `transcriber`, a service's model.

Each call is in the ledger, by the seconds of audio; this machine's own model costs nothing.
"""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from bot.config import model_spec
from bot.events import Request, TransientError, UserError
from bot.llm.base import ModelError, ModelFault
from bot.llm.completion import Usage
from bot.llm.error_report import error_report

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from bot.budget import Budget
    from bot.config import Config, ProviderConfig
    from bot.speech.listening.ears import Ears, Tell
    from bot.speech.recording import Recording

ROLE: Final = "transcriber"
TIMEOUT_S: Final = 120.0
TOKENS_A_SECOND: Final = 10
"""Tokens per second of audio, as OpenAI counts them; the ledger shows them."""
_DOLLARS_A_MINUTE: Final = {
    "whisper-1": "0.006",
    "gpt-4o-transcribe": "0.006",
    "gpt-4o-transcribe-diarize": "0.006",
    "gpt-4o-mini-transcribe": "0.003",
}
"""OpenAI's prices (its pricing page, "Transcription"); the table of prices has them by token, and not all of them."""

_log = logging.getLogger(__name__)


class Transcriber:
    def __init__(self, config: Config, budget: Budget, ears: Ears) -> None:
        self._config = config
        self._budget = budget
        self._ears = ears

    @property
    def listens(self) -> bool:
        """Whether anything is configured that turns speech into text."""
        return bool(self._ears or self.models)

    @property
    def models(self) -> tuple[str, ...]:
        """The models of the role, in the order in which they are asked."""
        return self._config.roles.transcriber

    async def text(
        self, request: Request, recording: Recording, data: bytes, tell: Tell = lambda percent: None
    ) -> str:
        """The recording's words, "" for none. This machine's own model is asked first, then the models of the role.

        `tell` is called with the percentage that the own model has transcribed. Raises UserError: the first model's if
        all fail, or a spending cap.
        """
        failed: list[UserError] = []
        if self._ears:
            try:
                return await self._transcribe(request, recording, data, tell)
            except UserError as error:
                _log.warning("run %s was not heard on this machine: %s", request.id, error)
                failed.append(error)
        for model in self.models:
            try:
                return await self._ask(request, model, recording, data)
            except UserError as error:
                if not error.key.startswith(("model.", "config.")):
                    raise
                _log.warning("run %s was not heard by %s: %s", request.id, model, error)
                failed.append(error)
        raise failed[0] if failed else TransientError("config.role_empty", role=ROLE)

    async def _transcribe(self, request: Request, recording: Recording, data: bytes, tell: Tell) -> str:
        usage = replace(_tokens(recording.seconds), cost_usd=0.0)
        async with self._budget.spending(request, ROLE, self._ears.model, usage, _price) as meter:
            text = await self._ears.text(recording, data, request.locale[:2].lower(), tell)
            meter.usage = usage
        return text

    async def _ask(self, request: Request, named: str, recording: Recording, data: bytes) -> str:
        spec = model_spec.parse(named)
        provider, _, model = spec.model.partition(":")
        settings = self._config.providers.get(provider)
        if settings is None or settings.kind not in ("openai", "openai-compatible"):
            names = ", ".join(
                sorted(
                    name
                    for name, provider in self._config.providers.items()
                    if provider.kind in ("openai", "openai-compatible")
                )
            )
            raise TransientError("config.role_provider", role=ROLE, provider=provider, known=names)
        client, headers = await asyncio.to_thread(self._connected, settings)
        try:
            usage = _usage(settings, model, recording.seconds)
            async with self._budget.spending(request, ROLE, spec.model, usage, _price) as meter:
                text = await _transcribed(client, headers, spec.model, recording, data)
                meter.usage = usage
        finally:
            await client.close()
        return text

    def _connected(self, settings: ProviderConfig) -> tuple[AsyncOpenAI, dict[str, Any]]:
        from bot.llm.openai_client import connected

        client, headers = connected(self._config, settings, TIMEOUT_S)
        _ = client.audio.transcriptions  # imported on first use, therefore here in the thread
        return client, headers


async def _transcribed(
    client: AsyncOpenAI, headers: dict[str, Any], named: str, recording: Recording, data: bytes
) -> str:
    import openai

    fault: ModelFault
    try:
        async with asyncio.timeout(TIMEOUT_S):
            answer = await client.audio.transcriptions.create(
                model=named.partition(":")[2],
                file=(recording.name, data),
                response_format="json",
                extra_headers=headers,
            )
        if isinstance(text := getattr(answer, "text", None), str):
            return text.strip()
        fault, detail = "format", "no text"
    except TimeoutError:
        fault, detail = "timeout", "no answer in time"
    except openai.APIStatusError as error:
        report = error_report(error.status_code, error.body, error.response.headers)
        fault, detail = report.fault, f"HTTP {error.status_code} {report.code}".strip()
    except openai.APIConnectionError as error:
        fault = "timeout" if isinstance(error, openai.APITimeoutError) else "connection"
        detail = fault
    except (openai.OpenAIError, ValueError) as error:
        fault, detail = "format", type(error).__name__
    # Raised outside the handlers, because the SDK's exceptions hold the request, which holds the key.
    raise ModelError(fault, named, detail)


def _usage(settings: ProviderConfig, model: str, seconds: float) -> Usage:
    """The usage for so many seconds. The cost is known only for OpenAI's own models at its own address."""
    a_minute = _DOLLARS_A_MINUTE.get(model) if settings.kind == "openai" else None
    cost = float(a_minute) * seconds / 60 if a_minute is not None else None
    return replace(_tokens(seconds), cost_usd=cost)


def _tokens(seconds: float) -> Usage:
    return Usage(input_tokens=math.ceil(seconds * TOKENS_A_SECOND), estimated=True)


async def _price(usage: Usage) -> Decimal | None:
    return None if usage.cost_usd is None else Decimal(str(usage.cost_usd))
