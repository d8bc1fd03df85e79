"""The fake as a process of its own: its log of calls outlives the client."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from bot.llm.base import Completion, Message, Prompt
from bot.llm.openai_chat import ChatCompletions


async def test_the_process_answers_by_rule_and_counts_calls(tmp_path: Path) -> None:
    script, log = tmp_path / "script.json", tmp_path / "calls.jsonl"
    script.write_text(
        json.dumps(
            {"rules": [{"contains": "fire", "answer": {"text": "150 feet."}}], "default": {"text": "No."}}
        )
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.fakes.chat_completions", "--script", str(script), "--log", str(log)),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        port = int(await process.stdout.readline())
        provider = ChatCompletions(f"http://127.0.0.1:{port}/v1")
        answers = [
            piece.text
            for question in ("fireball?", "water?", "fireball?")
            async for piece in provider.stream("small", Prompt("", (Message("user", question),)))
            if isinstance(piece, Completion)
        ]
        await provider.close()
    finally:
        process.kill()
        await process.wait()
    assert answers == ["150 feet. ", "No. ", "150 feet. "]
    assert [json.loads(line)["call"] for line in log.read_text().splitlines()] == [1, 1, 2]
