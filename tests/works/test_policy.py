"""The privacy page is filled in from the configuration, in both languages, and as the guide shows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.config import load
from bot.events import Attachment, Text
from bot.words import words
from bot.works.privacy.policy import FILE, facts_of, page
from scripts.documented_commands import ROOT
from tests.works.test_settings import ANA, BIA, HERE, opened

CONFIG = """
[providers.house]
kind = "openai-compatible"
base_url = "https://models.example.org:8443/hush/v1"
[providers.near]
kind = "openai-compatible"
base_url = "http://127.0.0.1:9/v1"
[roles]
answerer = "house:large"
extractor = "near:small"
[embedding]
model = "openai:text-embedding-3-small"
[storage]
url = "postgresql+psycopg://db.internal/hush"
files = "s3://hush-bucket/files"
keep_days = 30
grace_days = 0
[tracing]
endpoint = "https://traces.example.org/hush"
"""


def test_the_page_is_filled_in_from_the_configuration_without_secrets(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(CONFIG, encoding="utf-8")
    config = load(file, tmp_path / "data", environ={})
    text = page(facts_of(config, "slack", config.roles.models), words("en"))
    for told in (
        "Postgres", "file store of the operator (s3)",
        "house (models.example.org), openai.", "Models on the operator's",
        "go to traces.example.org", "history of settings, for 30 days. Stories", "one of the models below can read",
        "Several processes of the bot", "house rules that it found", "your roles or user groups on Slack",
        "stays until the operator deletes it", "Slack carries",
    ):  # fmt: skip
        assert told in text
    assert "hush" not in text
    assert "internal" not in text
    file.write_text('[storage]\nfiles = "file:///mnt/hush"\n', encoding="utf-8")
    config = load(file, tmp_path / "data", environ={})
    text = page(facts_of(config, "slack", []), words("en"))
    assert "in a folder that the operator's machines share" in text
    assert "hush" not in text
    assert "one of the models below" not in text, "there are none"


@pytest.mark.parametrize(("locale", "where"), [("en", "in the terminal"), ("pt-BR", "no terminal")])
def test_in_the_terminal_the_page_names_no_platform(tmp_path: Path, locale: str, where: str) -> None:
    text = page(facts_of(load(data=tmp_path, environ={}), "terminal", []), words(locale))
    assert f" {where}, " in text
    assert not {"roles", "cargos"} & set(text.split())
    assert "Terminal" not in text


@pytest.mark.parametrize("locale", ["en", "pt-BR"])
def test_the_guide_shows_the_page_for_a_bot_without_settings(tmp_path: Path, locale: str) -> None:
    config = load(data=tmp_path, environ={})
    text = page(facts_of(config, "discord", []), words(locale))
    assert f"```markdown\n{text}\n```" in (ROOT / "docs/privacy.md").read_text(encoding="utf-8")


async def test_everybody_can_read_the_page_and_it_names_a_channels_choices(tmp_path: Path) -> None:
    async with opened(tmp_path) as ask:
        await ask.app.settings.set(HERE, "bia", "model.answerer", "mistral:small", "channel")
        for author, place in (
            (ANA, HERE),
            (replace(BIA, outside=True), HERE),
            (ANA, replace(HERE, space="other")),
        ):
            events = await ask.perform(ask.request("privacy", "policy", "", place, author))
            (file,) = [event for event in events if isinstance(event, Attachment)]
            assert file.name == FILE
            assert file.data.decode().startswith("# Privacy of this bot\n")
            assert ("mistral" in file.data.decode()) == (place == HERE)
            shown = "".join(event.text for event in events if isinstance(event, Text))
            assert "`/privacy delete` deletes it" in shown
