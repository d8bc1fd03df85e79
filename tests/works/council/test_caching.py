"""What a council writes to a service's cache is read again, by the rules of both services that charge for
writing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.config.model_spec import ModelSpec
from bot.llm.base import Prompt, Provider
from bot.llm.completion import Completion, Usage
from bot.prompts import PromptFile
from bot.works.council.ballot import schema
from bot.works.council.prompts import CouncilPrompts
from bot.works.council.values import Snapshot
from tests.fakes.reply import Reply
from tests.fakes.wires import WIRES
from tests.llm.desk import provider

NAMES = (
    *("council", "council_answer", "council_ballot", "council_attack", "council_revise", "council_chair"),
    "research_philosophical_themes",
)
MEMBER = ModelSpec("here:small")


def prompts(*, debate: bool) -> CouncilPrompts:
    snapshot = Snapshot(
        question="Should the lamp go out?",
        session=None,
        level="full",
        members=[MEMBER] * 3,
        names=["a", "b", "c"],
        judges=[0, 1, 2],
        chair=["here:small"],
        researchers=[],
        criteria="accuracy",
        self_votes="count",
        blind=True,
        timeout=60.0,
        tokens=4_000,
        debate=debate,
        ask_above=1.0,
        most=None,
        began=0.0,
        prompts={name: PromptFile().read()[name] for name in NAMES},
    )
    return CouncilPrompts(snapshot, {"history": " ".join(f"fact{n}" for n in range(3_000))})


def calls(of: CouncilPrompts, *, debate: bool) -> list[Prompt]:
    """One member's calls in order, and the chair's by the same model."""
    texts = ["one", "two", "three"]
    revised = [of.revise(MEMBER, "one", texts[1:], "All wrong.")] if debate else []
    ballot = replace(of.ballot(MEMBER, texts, "accuracy"), schema=schema(3))
    return [of.answer(MEMBER), *revised, ballot, of.chair([0, 1, 2], dict(enumerate(texts)), [], [])]


@pytest.fixture(params=["messages", "responses"])
async def at(request: pytest.FixtureRequest) -> AsyncIterator[Provider]:
    wire = WIRES[request.param]
    async with wire.service([Reply("one", times=9)]) as service:
        made = provider(wire, service.base_url)
        yield made
        await made.close()


async def used(asking: Provider, asked: list[Prompt]) -> list[Usage]:
    found = []
    for prompt in asked:
        *_, last = [piece async for piece in asking.stream("small", prompt)]
        assert isinstance(last, Completion)
        found.append(last.usage)
    return found


async def test_a_debates_cache_writes_are_read_again(at: Provider) -> None:
    first, second, *others = await used(at, calls(prompts(debate=True), debate=True))
    assert first.cache_write_tokens > 3_000
    assert second.cache_read_tokens == first.cache_write_tokens
    assert sum(usage.cache_write_tokens for usage in (second, *others)) == 0


async def test_without_a_debate_nothing_is_written_to_the_cache(at: Provider) -> None:
    for usage in await used(at, calls(prompts(debate=False), debate=False)):
        assert (usage.cache_write_tokens, usage.cache_read_tokens) == (0, 0)


async def test_a_json_task_does_not_read_the_cache_of_a_prose_task(at: Provider) -> None:
    """The marks follow this rule of the services."""
    prose, *_ = calls(prompts(debate=True), debate=True)
    first, other, again = await used(at, [prose, replace(prose, schema=schema(3)), prose])
    assert other.cache_read_tokens == 0
    assert again.cache_read_tokens == first.cache_write_tokens
