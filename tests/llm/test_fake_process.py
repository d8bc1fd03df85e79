"""The fakes as separate processes: their log of calls outlives the client."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from bot.llm.base import Message, Prompt
from bot.llm.completion import Completion
from tests.fakes.wires import Wire
from tests.llm.desk import provider


async def test_the_process_answers_by_rule_and_counts_calls(wire: Wire, tmp_path: Path) -> None:
    script, log = tmp_path / "script.json", tmp_path / "calls.jsonl"
    rule = {"contains": "fire", "answer": {"text": "150 feet."}}
    script.write_text(json.dumps({"rules": [rule], "default": {"text": "No."}}))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", wire.module, "--script", str(script), "--log", str(log)),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        asks = provider(wire, wire.url(int(await process.stdout.readline())))
        answers = [
            piece.text
            for question in ("fireball?", "water?", "fireball?")
            async for piece in asks.stream("small", Prompt("", (Message("user", question),)))
            if isinstance(piece, Completion)
        ]
        await asks.close()
    finally:
        process.kill()
        await process.communicate()
    assert answers == ["150 feet. ", "No. ", "150 feet. "]
    assert [json.loads(line)["call"] for line in log.read_text().splitlines()] == [1, 1, 2]
