"""The first lines at the prompt name the model that answers, even if it was chosen in chat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from bot.adapters.terminal.conversation import Conversation
from bot.adapters.terminal.markdown import width_of
from bot.adapters.terminal.prompt import Prompt
from bot.config import DEMO
from bot.events import Request, Shown
from tests.fakes.application import FakeApp


async def nothing(request: Request) -> AsyncGenerator[Shown, None]:
    return
    yield


class Written(Prompt):
    written: asyncio.Queue[str]

    async def write(self, lines: Sequence[str]) -> None:
        self.written.put_nowait("\n".join(lines))


async def first_line(tmp_path: Path, model: str, locale: str = "en") -> str:
    async def opened() -> FakeApp:
        return FakeApp(nothing, answers=model)

    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        prompt = Written(Conversation(locale, "t"), tmp_path, [], colour=False)
        prompt.written = asyncio.Queue()
        sitting = asyncio.create_task(prompt.run(opened()))
        async with asyncio.timeout(60):
            line = await prompt.written.get()
        keys.send_text("\x04")
        assert await sitting == 0
    return line


async def test_the_prompt_says_which_model_answers(tmp_path: Path) -> None:
    assert "no language model, so answers are quoted" in await first_line(tmp_path, "")
    demo = await first_line(tmp_path, DEMO)
    assert "small demo model: answers are quoted word for word" in demo
    assert "smollm2" not in demo
    for locale, vectors in (("en", "embedding"), ("pt-BR", "vetores")):
        line = await first_line(tmp_path, "some:model", locale)
        assert line == f"some:model · {vectors} some:vectors"
        assert all(width_of(part) <= 80 for part in (await first_line(tmp_path, "", locale)).split("\n"))
