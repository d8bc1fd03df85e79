"""A model service in a separate process: `python -m tests.fakes.<wire> --port 0 --script FILE [--log FILE]`.

It prints its port, and logs each paid call as a JSON line {"prompt": hash, "model", "call"} before it answers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.fakes.model_service import ModelService
from tests.fakes.reply import Body, Reply


def scripted(kind: type[ModelService], script: Mapping[str, Any], **more: Any) -> ModelService:
    """A service by {"service": {…}, "answers": [Reply…], "rules": [{"contains", "answer"}], "default"}.

    The first rule whose words are in the last message answers; then the queue; then the default.
    """
    queue = [Reply(**values) for values in script.get("answers", [])]
    settings: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in script.get("service", {}).items()
    }
    service = kind(**settings, **more)

    def answer(body: Body) -> Reply:
        last = service.last(body)
        for rule in script.get("rules", []):
            if rule["contains"] in last:
                return Reply(**rule["answer"])
        return queue.pop(0) if queue else Reply(**script.get("default", {"status": 500}))

    service.script = answer
    return service


def serve(kind: type[ModelService]) -> None:
    """Serve until the process is killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--log", type=Path)
    arguments = parser.parse_args()
    script = json.loads(arguments.script.read_text(encoding="utf-8"))

    async def forever() -> None:
        async with scripted(kind, script, port=arguments.port, log=arguments.log) as service:
            print(service.port, flush=True)
            await asyncio.Event().wait()

    asyncio.run(forever())
