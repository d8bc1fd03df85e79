"""Settings, access and usage in Portuguese: every value that is shown can be typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.commands import SETTINGS
from bot.words import LOCALES, words
from tests.promises.talk import Events, settings, talking


def said(events: Events) -> str:
    return "".join(str(event["text"]) for event in events if event["event"] in ("text", "failed"))


async def test_values_are_typed_and_shown_in_the_readers_language(tmp_path: Path) -> None:
    async with talking(settings(tmp_path / "data")) as talk:
        await talk.say("/settings set language pt-BR --for me")

        async def told(line: str) -> str:
            return said(await talk.say(line))

        works = await told("/ajustes definir works regras,história --para canal")
        assert works.startswith("Neste canal, `works` agora é `regras, história`.")
        assert "`listens` agora é `tudo`" in await told("/ajustes definir listens tudo --para canal")
        assert "`unanswered` agora é `silêncio`" in await told(
            "/ajustes definir unanswered silent --para todos"
        )
        assert "agora é `ligado`" in await told("/ajustes definir admin_notes ligado --para canal")
        shown = await told("/ajustes mostrar")
        assert "| `admin_notes` | ligado |" in shown
        assert "| `admins_exempt` | desligado |" in shown
        one = await told("/ajustes mostrar listens")
        assert "Possíveis: `tudo`, `tópicos`, `menções`." in one
        assert "Você pode definir para: `canal`, `categoria`, `todos`." in one
        channels = await told("/ajustes canais")
        assert "| `works` | regras, história |" in channels
        assert "| todos | `unanswered` | silêncio |" in channels
        assert "| `works` | `regras, história` |" in await told("/ajustes histórico")
        refused = await told("/conselho perguntar Qual?")
        assert "`conselho` está desativado neste canal. Você pode usar: regras, história." in refused
        assert "vale o valor da configuração: `todos`" in await told("/ajustes desfazer works --para canal")
        assert "agora é `todos`" in await told("/ajustes definir works todos --para canal")
        assert "Possíveis: tudo, tópicos, menções." in await told("/ajustes definir listens xyz")
        assert "pode ser definido para: `canal`." in await told("/ajustes definir admin_notes on --para mim")


async def test_access_and_usage_name_works_in_portuguese(tmp_path: Path) -> None:
    async with talking(settings(tmp_path / "data")) as talk:
        await talk.say("/settings set language pt-BR --for me")

        async def told(line: str) -> str:
            return said(await talk.say(line))

        assert await told("/ajustes proibir livros") == (
            "`livros` agora está proibido para todos. Os administradores continuam podendo usar."
        )
        assert "| `livros` | todos | não |" in await told("/ajustes acesso")
        assert "Possíveis: regras, conselho, história, curso, roteiro, voz, modelos, livros." in (
            await told("/ajustes permitir abc")
        )
        assert "agora é `ligado`" in await told("/voz narrar sim")
        assert "“talvez” não é ligado nem desligado." in await told("/voz narrar talvez")


@pytest.mark.parametrize("locale", LOCALES)
async def test_every_word_of_a_setting_that_is_shown_can_be_typed(tmp_path: Path, locale: str) -> None:
    async with talking(settings(tmp_path / "data", toml="[discord]\nfree_chat = true\n")) as talk:
        await talk.say("/rules books")
        assert talk.app is not None
        resources, say = talk.app.resources, words(locale)
        for setting in (setting for setting in SETTINGS.values() if setting.worded):
            for value in setting.values(resources):
                typed = setting.in_words(value, say)
                assert setting.check(resources, typed) == setting.check(resources, value), setting.name
