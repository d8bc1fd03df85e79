"""A bot that a test starts uses nothing of the environment of the person who runs the tests."""

from __future__ import annotations

import pytest

from tests.kill.process import SECRETS, environment


def test_no_key_or_token_of_the_user_reaches_the_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*SECRETS, "GROQ_API_KEY"):
        monkeypatch.setenv(name, "a-real-one")
    monkeypatch.setenv("SUTRADHAR_CONFIG", "/theirs.toml")
    variables = environment()
    assert "a-real-one" not in variables.values()
    assert {variables[name] for name in SECRETS} == {""}, (
        "empty rather than unset, or those in .env would count"
    )
    assert "SUTRADHAR_CONFIG" not in variables
