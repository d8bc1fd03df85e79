"""Short tasks leave room for models that think first: their answers come whole."""

from __future__ import annotations

import pytest

from bot.config.model_spec import Effort, ModelSpec
from bot.llm.base import ModelError, Prompt, Provider
from bot.llm.completion import Completion
from tests.fakes.reply import Reply
from tests.fakes.wires import WIRES
from tests.llm.desk import provider
from tests.works.council.test_caching import prompts

THINKS: dict[Effort | None, int] = {"low": 1_500, "medium": 5_000, None: 5_000, "high": 15_000}


async def written(asking: Provider, prompt: Prompt) -> int:
    """Words of the answer."""
    try:
        *_, last = [piece async for piece in asking.stream("small", prompt)]
    except ModelError:
        return 0
    assert isinstance(last, Completion)
    return len(last.text.split())


@pytest.mark.parametrize("effort", THINKS)
async def test_a_tasks_token_limit_leaves_room_for_the_thoughts_of_its_effort(effort: Effort | None) -> None:
    wire, of, member = WIRES["chat"], prompts(debate=True), ModelSpec("here:small", effort=effort)
    tasks = [
        (150, of.attack(member, ["one", "two"])),
        (600, of.ballot(member, ["text"] * 6, "accuracy")),
        *([(250, of.research("philosophical_themes"))] if effort is None else []),
    ]
    for words, prompt in tasks:
        async with wire.service([Reply("word " * words)], thinks=THINKS[effort]) as service:
            asking = provider(wire, service.base_url)
            assert await written(asking, prompt) == words
            await asking.close()
