"""/models on each platform: models are listed, tested, chosen and refused, and a server disappears."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.chat_completions import ChatService
from tests.fakes.reply import Reply
from tests.wire.conftest import Opened
from tests.wire.on_discord import TOKEN_ENV
from tests.wire.story import ANA, BIA

pytestmark = [pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

SERVERS = """
[limits]
commands = 100
questions = 100
[providers.ollama]
base_url = "{ollama}"
[providers.lmstudio]
base_url = "http://127.0.0.1:9/v1"
[providers.llamacpp]
base_url = "http://127.0.0.1:9/v1"
[providers.keyed]
kind = "openai-compatible"
base_url = "{keyed}"
api_key_env = "{variable}"
"""
VARIABLES = {"discord": TOKEN_ENV, "slack": "WIRE_SLACK_APP_TOKEN"}
"""What every bot under test has in its environment: its own token, which stands for a key here."""
GOES_ON = "Everyone here now uses `ollama:qwen3:8b`"
HELLO = "Hello, I am *qwen3* <@U1> @everyone."


async def answer(d: Any, platform: str, person: str, action: str = "") -> str:
    """The texts that the action shows to the person."""
    if platform == "slack":
        talk = await d.command(person, f"sutradhar models {action}".strip())
    else:
        talk = await d.command(person, "models", **({"action": action} if action else {}))
    await d.until(lambda: bool(talk.said()))
    await d.rest(len(d.states()))
    return "\n".join(talk.said())


@pytest.mark.parametrize("platform", ["discord", "slack"])
async def test_models_are_listed_tested_and_chosen_and_a_server_may_disappear(
    opened: Opened, platform: str
) -> None:
    typed = "/sutradhar models" if platform == "slack" else "/models"
    async with (
        ChatService(
            [Reply(HELLO, times=9)], models=("qwen3:8b", "nomic-embed-text", "llama3.2:latest")
        ) as ollama,
        ChatService([Reply("From far away.", times=9)], models=("far",)) as keyed,
    ):
        servers = {"ollama": ollama.base_url, "keyed": keyed.base_url}
        d = await opened(SERVERS.format(**servers, variable=VARIABLES[platform]), platform=platform)
        if platform == "discord":
            await d.settled()  # its commands are registered

        async def says(action: str, *sentences: str, person: str = BIA, without: str = "models_chat") -> None:
            said = await answer(d, platform, person, action)
            for sentence in sentences:
                assert sentence in said, (action, said)
            assert without not in said, (action, said)

        models = "`ollama:qwen3:8b`, `ollama:llama3.2:latest`"
        found = f"I found Ollama on the bot's machine with {models}. To use it: `{typed} use ollama`."
        await says(
            "",
            "local:small",
            "the bot's operator",
            found,
            "operator has set a key for `keyed`",
            without="embed",
        )
        await says("try ollama:llama3.2:latest", "answered in", "Hello, I am", without=" <@U1> @everyone")
        await says("try keyed:far", "`keyed:far` answered in", "From far away.")
        await says("try keyed:nothing", "did not find keyed:nothing", "The model 'nothing' does not exist")
        await says("use ollama", GOES_ON, f"`{typed} use config` goes back")
        await says("", "ollama:qwen3:8b", "chat", without="local:small")
        for action, sentence in (
            ("use nobody:x", "There is no provider “nobody”."),
            ("use lmstudio", "I found no LM Studio with a model at"),
            ("use openai", f"`{typed} use openai:MODEL`"),
            ("use openai:m", "OPENAI_API_KEY"),
            ("use ollama:qwen4", "Ollama has no model “qwen4”. It has: qwen3:8b, llama3.2:latest."),
            ("use ollama:llama3.2 effort=hardest", "effort can't be “hardest”"),
            ("frobnicate", f"Type `{typed}` to list"),
        ):
            await says(action, sentence)
        await says('use ollama:llama3.2 stop="###|User:"', '`ollama:llama3.2 stop="###|User:"`')
        for action in ("", "use config"):
            await says(action, "Only people who manage this place", person=ANA, without="Everyone here")
        await says("", "llama3.2", "chat")
        await ollama.__aexit__(None, None, None)
        await says("try ollama:qwen3:8b", "I could not reach ollama:qwen3:8b.")
        await says("use ollama", "I found no Ollama with a model at")
        await says("", "Ollama does not answer at", f"`{typed} use config`", without="I found")
        runs = len(d.states())
        await d.command(BIA, "settings set", **{"setting": "language", "value": "pt-BR", "for": "me"})
        await d.rest(runs + 1)
        typed = "/modelos" if platform == "discord" else typed
        await says("", "Modelos, na ordem", "Ollama não responde em", f"`{typed} usar config` volta a usar")
        await says("use ollama:", "provedor:modelo")
        await says("usar config", "Todos aqui voltaram a usar os modelos que quem mantém o bot definiu.")
        await says("", "local:small", without="llama3.2")
        d.check()
