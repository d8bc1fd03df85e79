"""What is a span within a run: searches, and calls of models, by the conventions for generative AI.

Source: OpenTelemetry's "Semantic conventions for generative client AI spans". Neither questions nor answers are sent,
which the conventions would have as `gen_ai.input.messages` and the like.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias

from bot import tracing
from bot.events import Completion

if TYPE_CHECKING:
    from bot.config import ProviderConfig
    from bot.llm.base import Meter, Prompt
    from bot.retrieval.results import SearchResult

P = ParamSpec("P")
Pieces: TypeAlias = AsyncGenerator[str | Completion, None]

_KINDS = ("openai", "anthropic")  # what the conventions call these services, too


def retrieval(
    search: Callable[P, Coroutine[Any, Any, SearchResult]],
) -> Callable[P, Coroutine[Any, Any, SearchResult]]:
    """Make each search a span: how much it found, and how surely; neither what for nor what."""

    @functools.wraps(search)
    async def traced(*args: P.args, **kwargs: P.kwargs) -> SearchResult:
        with tracing.opened("retrieval", {"gen_ai.operation.name": "retrieval"}) as span:
            result = await search(*args, **kwargs)
            about: dict[str, tracing.Value] = {
                "sutradhar.retrieval.passages": len(result.passages),
                "sutradhar.retrieval.documents": len({passage.document for passage in result.passages}),
                "sutradhar.retrieval.confident": result.confident,
                "sutradhar.retrieval.titled": result.titled,
                "sutradhar.retrieval.notices": result.notices,
            }
            if strategy := tracing.current.get().run.notes.get("strategy"):
                about["sutradhar.strategy"] = strategy
            span.set_attributes(about)
            return result

    return traced


@contextmanager
def embeddings(model: str) -> Iterator[None]:
    """One call of a service for vectors, OpenAI's or one that speaks like it; its texts stay here."""
    about = {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": model,
    }
    with tracing.opened(f"embeddings {model}", about, client=True):
        yield


async def called(
    pieces: Pieces, role: str, service: ProviderConfig, model: str, prompt: Prompt, meter: Meter
) -> Pieces:
    """A model's answer as it comes, as a span."""
    about: dict[str, tracing.Value] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": service.kind if service.kind in _KINDS else service.name,
        "gen_ai.request.model": model,
        "gen_ai.request.max_tokens": prompt.max_tokens,
        "gen_ai.output.type": "text" if prompt.schema is None else "json",
        "sutradhar.role": role,
    }
    if prompt.temperature is not None:
        about["gen_ai.request.temperature"] = prompt.temperature
    if host := tracing.host_of(service.base_url or ""):
        about["server.address"] = host
    span = tracing.current.get().begin(f"chat {model}", about, client=True)
    began, finish, learnt = time.monotonic(), "", dict[str, tracing.Value]()
    try:
        async with aclosing(pieces) as source:
            async for piece in source:
                if isinstance(piece, Completion):
                    finish = piece.finish
                elif "gen_ai.response.time_to_first_chunk" not in learnt:
                    learnt["gen_ai.response.time_to_first_chunk"] = time.monotonic() - began
                yield piece
    except (GeneratorExit, asyncio.CancelledError):
        if not finish:
            learnt["sutradhar.outcome"] = "stopped"
        raise
    except Exception as error:
        tracing.fail(span, tracing.error_type(error))
        raise
    finally:
        if finish:
            learnt["gen_ai.response.finish_reasons"] = [finish]
        span.set_attributes(learnt | _usage(meter))
        span.end()


def _usage(meter: Meter) -> dict[str, tracing.Value]:
    """Tokens, of which those read from and written to a cache are input, by the conventions."""
    usage = meter.usage
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
    }
