"""/models lists a space's models and those on this machine; admins can try and choose one for good."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.app import App
from bot.config import Config, load
from bot.config.settings import BUILT_IN, KEYED, LOCAL
from bot.events import Author, Place, Stage, Text, UserError
from bot.llm.local_servers import LocalServer, local_servers
from bot.platforms import Platform
from bot.settings import ROLES
from bot.words import words
from tests.fakes import migrated
from tests.fakes.chat_completions import ChatService
from tests.fakes.reply import Reply
from tests.fakes.scripted_app import Recorder, asked

HERE, THERE = Place("terminal", "here", "c", "t"), Place("terminal", "there", "c", "t")
BOSS, ANA = Author("boss", "Boss", admin=True), Author("ana", "Ana")
MODELS = ("qwen3:8b", "nomic-embed-text", "llama3.2")


class Desk:
    """An app with other default ports for local servers."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._runs = 0

    async def open(self) -> None:
        self._recorder = Recorder()
        self.app = await App.open(self.config)
        self.app.attach(Platform("terminal", self._recorder.view))
        await self.app.start()

    async def restart(self) -> None:
        await self.app.close()
        await self.open()

    async def models(
        self, text: str = "", author: Author = BOSS, place: Place = HERE, locale: str = "en"
    ) -> str:
        self._runs += 1
        request = replace(
            asked(f"r{self._runs:03}", text, work="house", verb="models"),
            place=place,
            author=author,
            locale=locale,
        )
        ticket = await self.app.perform(request)
        await ticket.wait()
        events = self._recorder.events[request.id]
        return "".join(event.text for event in events if isinstance(event, Text)) or str(
            [event for event in events if not isinstance(event, Stage)]
        )

    async def roles(self, place: Place = HERE) -> dict[str, list[str]]:
        request = replace(asked("x", ""), place=place, author=ANA)
        return await self.app.resources.settings.roles(request)


@pytest.fixture
async def ollama() -> AsyncIterator[ChatService]:
    async with ChatService(lambda body: Reply("Hello, I am here."), models=MODELS) as service:
        yield service


def settings(folder: Path, **base_urls: str) -> Config:
    """Every local server has a port; servers that are not named get a closed one."""
    file = folder / "config.toml"
    tables = [
        f'[providers.{name}]\nbase_url = "{base_urls.get(name, "http://127.0.0.1:9/v1")}"' for name in LOCAL
    ]
    file.write_text("\n".join([*tables, '[embedding]\nmodel = "none"']), encoding="utf-8")
    migrated.database(folder / "data" / "sutradhar.db")
    environ = {"SUTRADHAR_MODELS": str(folder / "no-models")}
    return load(file, folder / "data", environ=environ)


@pytest.fixture
async def desk(tmp_path: Path, ollama: ChatService) -> AsyncIterator[Desk]:
    made = Desk(settings(tmp_path, ollama=ollama.base_url))
    await made.open()
    yield made
    await made.app.close()


async def test_a_local_server_is_offered_but_used_only_once_it_is_chosen(
    desk: Desk, ollama: ChatService
) -> None:
    assert ollama.listed == 0, "an app that starts asks nobody"
    assert await desk.app.local_server("here") == LocalServer("ollama", "Ollama", ("qwen3:8b", "llama3.2"))
    assert words("en")("models_chat.offer", server="Ollama", model="qwen3:8b", name="ollama") == (
        "I found Ollama with qwen3:8b. To use it: /models use ollama"
    )
    listed = await desk.models()
    assert "I found Ollama on the bot's machine with `ollama:qwen3:8b`, `ollama:llama3.2`." in listed
    assert "embed" not in listed
    assert "| answerer | – | – |" in listed
    assert (await desk.roles(), ollama.calls) == ({}, 0)

    assert "now uses `ollama:qwen3:8b`" in await desk.models("use ollama")
    chosen = {role: ["ollama:qwen3:8b"] for role in ROLES}
    assert await desk.roles() == chosen
    assert await desk.roles(THERE) == {}, "the other space has chosen nothing"
    assert await desk.app.local_server("here") is None, "it is not offered again"
    await desk.restart()
    assert await desk.roles() == chosen
    assert (await desk.app.answering(HERE, ANA.id))[0] == "ollama:qwen3:8b"
    assert (await desk.app.answering(THERE, ANA.id))[0] == ""
    assert "| writer | `ollama:qwen3:8b` | chat |" in await desk.models()
    assert "Todos aqui voltaram a usar" in await desk.models("usar config", locale="pt-BR")
    assert await desk.roles() == {}


async def test_trying_a_model_records_its_call_in_the_ledger(desk: Desk, ollama: ChatService) -> None:
    told = await desk.models("try ollama:llama3.2 effort=low")
    assert "answered in" in told
    assert "Hello, I am here." in told
    (row,) = await desk.app.resources.ledger.entries("here", "r001")
    assert (row.model, row.state) == ("ollama:llama3.2", "settled")
    assert ollama.requests[0]["model"] == "llama3.2"
    assert await desk.roles() == {}


async def test_an_unusable_model_is_refused_with_advice(desk: Desk) -> None:
    for text, sentence in (
        (
            "use lmstudio",
            "I found no LM Studio with a model at http://127.0.0.1:9/v1. The bot's operator can",
        ),
        ("use nobody:x", "nobody"),
        ("use openai:gpt-6-luna", "OPENAI_API_KEY"),
        ("use openai", "use openai:MODEL"),
        ("use foo", "There is no provider “foo”. The providers are anthropic, "),
        ("use", "Type `/models` to list"),
        ("drop all", "Type `/models` to list"),
        ("use ollama:m effort=hardest", "effort"),
        ("try anthropic:m effort=minimal", "Use one of low, medium, high, xhigh, max"),
        ("use openai:m min_p=0.1", "openai-compatible"),
    ):
        assert sentence in await desk.models(text), text
    assert await desk.roles() == {}
    for text in ("", "use ollama", "try ollama"):
        with pytest.raises(UserError) as caught:
            await desk.models(text, ANA)
        assert caught.value.key == "app.admins"


async def test_a_choice_is_written_completely_and_checks_only_its_own_server(
    desk: Desk, ollama: ChatService
) -> None:
    settings, database = desk.app.resources.settings, desk.app.resources.records.database
    before = database.writes
    await settings.set_all(
        HERE, BOSS.id, dict.fromkeys(("model.answerer", "model.writer"), "ollama:m"), "space"
    )
    await settings.set_all(HERE, ANA.id, {"model.writer": "ollama:n"}, "space")
    assert await desk.roles() == {"answerer": ["ollama:m"], "writer": ["ollama:n"]}
    assert await settings.reset_all(HERE, BOSS.id, ["model.answerer", "model.writer"], "space")
    assert database.writes == before + 3
    assert not await settings.reset_all(HERE, BOSS.id, ["model.answerer"], "space")
    await desk.models("use lmstudio")
    assert ollama.listed == 0


async def test_only_servers_on_this_machine_are_searched(tmp_path: Path, ollama: ChatService) -> None:
    elsewhere = {
        "lmstudio": "http://192.0.2.1:1234/v1",
        "llamacpp": ollama.base_url.replace("127.0.0.1", "localhost.example"),
    }
    config = settings(tmp_path, ollama=ollama.base_url, **elsewhere)
    assert [server.name for server in await local_servers(config.providers)] == ["ollama"]
    assert {name: BUILT_IN[name].base_url for name in LOCAL} == {
        "ollama": "http://127.0.0.1:11434/v1",
        "lmstudio": "http://127.0.0.1:1234/v1",
        "llamacpp": "http://127.0.0.1:8080/v1",
    }


async def test_another_program_at_the_port_is_not_taken_for_a_server(
    tmp_path: Path, ollama: ChatService
) -> None:
    """Many programs use port 8080."""
    config = settings(tmp_path, llamacpp=ollama.base_url)
    assert await local_servers(config.providers) == []
    ollama.owner = "llamacpp"
    assert [server.title for server in await local_servers(config.providers)] == ["llama.cpp"]
    ollama.models = ("text embedding", "a,b")
    assert await local_servers(config.providers) == []


async def test_without_a_config_use_config_returns_to_the_default_models(tmp_path: Path) -> None:
    migrated.database(tmp_path / "data" / "sutradhar.db")
    environ = {"OPENAI_API_KEY": "a-key", "SUTRADHAR_MODELS": str(tmp_path / "no-models")}
    made = Desk(load(data=tmp_path / "data", environ=environ))
    await made.open()
    shown = await made.models()
    assert "`/models use config` goes back to the default models." in shown
    assert "voltaram a usar os modelos padrão." in await made.models("use config", locale="pt-BR")
    (row,) = [line for line in shown.splitlines() if line.startswith("| answerer")]
    assert row.startswith("| answerer | `openai:")
    assert row.endswith(" | the default |")
    await made.app.close()


@pytest.mark.parametrize("roles", ["[roles]\n", '[roles]\nanswerer = "openai:m"\n'])
async def test_no_server_is_offered_if_the_config_has_roles(
    tmp_path: Path, ollama: ChatService, roles: str
) -> None:
    config = settings(tmp_path, ollama=ollama.base_url)
    assert config.file is not None
    config.file.write_text(config.file.read_text() + "\n" + roles, encoding="utf-8")
    made = Desk(load(config.file, tmp_path / "data", environ={}))
    await made.open()
    assert await made.app.local_server("here") is None
    assert ollama.listed == 0
    said = await made.models("use config")
    assert said == "Everyone here uses the models that the bot's operator has set again."
    await made.app.close()


def test_each_services_key_alone_is_enough(tmp_path: Path) -> None:
    empty = tmp_path / "config.toml"
    empty.write_text("", encoding="utf-8")
    for name in KEYED:
        variable = f"{name.upper()}_API_KEY"
        config = load(empty, environ={variable: "a-key"})
        assert config.roles_from == "keys"
        specs = config.roles.specs
        assert {spec.partition(":")[0] for spec in specs} == {name}
        for part in ("answerer", "writer", "extractor", "researcher", "chair", "tool_loop", "council"):
            assert getattr(config.roles, part), (name, part)
        assert not any(map(config.key_missing, specs))


def test_a_key_is_sent_only_to_its_own_service(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"

    def provider(settings: str) -> Any:
        file.write_text(f"[providers.groq]\n{settings}", encoding="utf-8")
        return load(file, environ={"GROQ_API_KEY": "a-key"}).providers["groq"]

    assert provider("cites = false").api_key_env == "GROQ_API_KEY"
    assert provider("cites = false").base_url == "https://api.groq.com/openai/v1"
    assert provider('base_url = "http://127.0.0.1:9/v1"').api_key_env is None
    assert provider('kind = "openai"\nbase_url = "http://127.0.0.1:9/v1"').kind == "openai"
