"""The first line of a conversation: who is there to answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bot.adapters.terminal import welcome
from bot.adapters.terminal.conversation import Conversation
from bot.config import DEMO, Config, RolesConfig, load


def first_line(config: Config) -> str:
    return welcome(config, Conversation("en", None), colour=False)[0]


def test_the_welcome_says_who_answers(tmp_path: Path) -> None:
    config = load(data=tmp_path, environ={"SUTRADHAR_MODELS": str(tmp_path)})
    assert "no language model, so answers are quoted" in first_line(config)
    demo = first_line(replace(config, roles=RolesConfig(answerer=(DEMO,))))
    assert "small demo model: answers are quoted word for word" in demo
    assert "smollm2" not in demo
    assert "some:model · embedding" in first_line(
        replace(config, roles=RolesConfig(answerer=("some:model",)))
    )
