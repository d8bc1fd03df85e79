"""The calls of one stage: all begun at once, each a durable step, handed on as they come.

Knows neither prompts nor what is done with a reply.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from bot.config.members import model_of
from bot.events import Run, Sorry
from bot.llm.base import ModelError, Prompt
from bot.works.council.values import Reply

if TYPE_CHECKING:
    from bot.llm.registry import Models

TOGETHER_S = 0.05
"""Replies that were kept before a crash come back within this of each other, and are sorted as they first came."""


async def each(run: Run, calls: Mapping[str, Callable[[], Awaitable[Reply]]]) -> AsyncGenerator[Reply, None]:
    """Make all calls, each as the step it is keyed by; yield each reply as soon as it is there."""
    began = time.time()
    # The engine numbers steps as they begin, and tasks begin in the order they were made.
    tasks = [asyncio.ensure_future(run.step(name, call, Reply)) for name, call in calls.items()]
    waiting = set(tasks)
    try:
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if waiting and any(task.result().at < began for task in done):
                more, waiting = await asyncio.wait(waiting, timeout=TOGETHER_S)
                done |= more
            for reply in sorted((task.result() for task in done), key=lambda one: (one.at, one.seat)):
                yield reply
    finally:
        for task in tasks:
            task.cancel()
        # None outlives the stage, or fails with nobody listening.
        await asyncio.gather(*tasks, return_exceptions=True)


async def reply(
    models: Models,
    run: Run,
    role: str,
    step: str,
    prompt: Prompt,
    *,
    chain: tuple[str, ...],
    within: float,
    seat: int,
) -> Reply:
    """Ask, and say how it went; a call that fails is a reply, too. `within` are seconds."""
    began = time.monotonic()
    try:
        answer = await models.ask(run, role, step, prompt, chain=chain, within=within)
    except Sorry as sorry:
        partial = sorry.partial if isinstance(sorry, ModelError) else None
        return Reply(
            seat,
            text=partial.text if partial else "",
            finish="cut",
            model=model_of(chain[0]),
            seconds=time.monotonic() - began,
            at=time.time(),
            fault=sorry.key,
            values={name: str(value) for name, value in sorry.values.items()},
        )
    return Reply(
        seat,
        answer.text,
        answer.finish,
        answer.model,
        time.monotonic() - began,
        time.time(),
        answer.reasoning,
    )
