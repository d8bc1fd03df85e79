"""The hostile payloads: the same for the same seed, and harmless to the client itself."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.fakes.discord import fuzz
from tests.wire.small_bot import table


@pytest.mark.parametrize("wild", [False, True])
def test_without_a_world_the_payloads_are_plain_json(wild: bool) -> None:
    events = list(fuzz.payloads(1, 80, wild=wild))
    assert len(json.loads(json.dumps(events))) == 80
    assert {event for event, _ in events} == {"MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE"}


async def test_equal_seeds_give_equal_payloads() -> None:
    async with table() as t:
        around = (t.fake, t.ana, t.channel)

        def texts() -> list[object]:
            return [
                data.get("content", data.get("data", {}).get("custom_id"))
                for _, data in fuzz.payloads(3, 60, around)
            ]

        first = texts()
        assert first == texts()
        assert len(set(map(str, first))) > 10


async def test_the_client_survives_payloads_that_are_not_wild() -> None:
    async with table() as t:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        await t.post(
            t.channel,
            content="a button",
            components=[
                {"type": 1, "components": [{"type": 2, "style": 2, "label": "Stop", "custom_id": "stop:1"}]}
            ],
        )
        for seed in range(3):
            for event, data in fuzz.payloads(seed, 200, (t.fake, t.ana, t.channel)):
                await t.fake.send_raw(event, data)
        asked = await t.fake.slash(t.ana, t.channel, "hello")
        assert asked.kind == 5
        assert len(t.fake.gateway.identified) == 1
        assert t.fake.gateway.resumed == 0
