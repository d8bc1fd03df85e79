"""A council of eight makes all calls of a stage at once, and takes as long as the slowest call of each stage.

`make bench ARGS=council` measures how much longer it takes.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.kill.process import PATIENCE_S
from tests.wire.council_model import ANSWERS, CATEGORIES, Call, CouncilModel
from tests.wire.council_time import convene, sitting

STAGES = (
    [Call("scout", f"research-{name}") for name in CATEGORIES],
    [Call(name, "answer") for name in ANSWERS],
    [Call(name, "ballot") for name in ANSWERS],
)


async def test_all_members_of_a_stage_are_asked_at_once(tmp_path: Path) -> None:
    council = CouncilModel()
    gates = {call: council.hold(call) for stage in STAGES for call in stage}
    async with asyncio.timeout(PATIENCE_S), sitting(tmp_path, council) as app:
        convened = asyncio.create_task(convene(app, "held"))
        for stage in STAGES:
            while not all(council.asked[call] for call in stage):  # noqa: ASYNC110 - a fake's count tells nobody
                await asyncio.sleep(0.005)
            assert not [call for call in stage if council.done[call]]
            for call in stage:
                gates[call].set()
        await convened
