"""An SDK meets a library that another thread is still importing, or fails with an error of its own.

Each test runs in a new process, because only there the libraries are not imported yet.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

ASK = """
import asyncio, importlib, importlib.abc, json, sys, threading, types
from bot.llm.base import Message, ModelError, Prompt
from bot.llm.completion import Completion
from tests.fakes.reply import Reply
from tests.fakes.wires import WIRES
from tests.llm.desk import KEY, provider

async def ask(wire, before=lambda: None):
    async with WIRES[wire].service([Reply("one two")], key=KEY) as service:
        asked = provider(WIRES[wire], service.base_url, KEY)
        await asyncio.to_thread(before)
        try:
            async for piece in asked.stream("small", Prompt("Answer.", (Message("user", "?"),), max_tokens=50)):
                said = piece
        except ModelError as error:
            return {"fault": error.fault, "detail": error.values["detail"], "context": repr(error.__context__)}
        finally:
            await asked.close()
        return {"text": said.text}
"""

SLOW = """
begun, over = threading.Event(), threading.Event()

class Slow(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):
        begun.set()
        over.wait(1)
        super().exec_module(module)

class Slowly(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "httpx._client":
            spec = importlib.machinery.PathFinder.find_spec(name, path)
            spec.loader = Slow(name, spec.origin)
            return spec

chroma = threading.Thread(target=importlib.import_module, args=["httpx"])

def begin():
    import openai
    assert "httpx" not in sys.modules
    sys.meta_path.insert(0, Slowly())
    chroma.start()
    begun.wait()

said = asyncio.run(ask("chat", begin))
over.set()
chroma.join()
print(json.dumps(said))
"""

WRONG = """
async def main():
    sys.modules["httpx"] = types.ModuleType("httpx")
    return {wire: await ask(wire) for wire in WIRES}

print(json.dumps(asyncio.run(main())))
"""


def answered(code: str) -> Any:
    """The output of a new process that runs `code`."""
    done = subprocess.run(
        [sys.executable, "-c", ASK + code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_call_waits_for_the_library_that_another_thread_imports() -> None:
    assert answered(SLOW) == {"text": "one two "}


def test_a_bug_in_the_sdk_is_reported_with_its_place_only() -> None:
    said = answered(WRONG)
    assert said.pop("messages") == {"text": "one two "}
    for wire, fault in said.items():
        assert fault["fault"] == "server", (wire, fault)
        assert fault["detail"].startswith("openai failed with AttributeError in openai._httpx2:"), (
            wire,
            fault,
        )
        assert fault["context"] in ("None", "FaultError('server')"), (wire, fault)
