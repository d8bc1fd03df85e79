"""docs/slack.md says of the bot what is so: its sentences, its scopes, its settings, its addresses."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from bot.adapters.slack import manifest
from bot.adapters.slack.installed import http
from bot.config import SlackConfig
from bot.words import words

ROOT = Path(__file__).resolve().parents[1]
GUIDE = (ROOT / "docs" / "slack.md").read_text(encoding="utf-8")
SLACKS = (
    '/rules failed with the error "dispatch_failed"',
    "app did not respond",
    "/rules is not supported in threads",
    "/rules is not a valid command",
    "/rules",
    "Your URL didn't respond with the value of the challenge parameter",
    "Sending messages to this app has been turned off",
)
"""What the table of troubles quotes from Slack's own client; everything else there is the bot's."""


def section(title: str) -> str:
    return GUIDE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def troubles() -> list[str]:
    """What people see, as the first column quotes it."""
    rows = [line.split(" | ")[0] for line in section("When something is wrong").splitlines() if " | " in line]
    quoted = [match for row in rows for match in re.findall(r"`([^`]+)`|“([^”]+)”", row)]
    return [(code or said).strip("… ") for code, said in quoted]


def sentences() -> str:
    """All that the bot says in English, and what it writes into its log."""
    said = words("en").sentences().values()
    logged = [
        file.read_text(encoding="utf-8") for file in (ROOT / "bot" / "adapters" / "slack").rglob("*.py")
    ]
    return "\n".join(str(sentence) for sentence in [*said, *logged])


def test_there_are_troubles() -> None:
    assert len(troubles()) > 20


@pytest.mark.parametrize("seen", [trouble for trouble in troubles() if trouble not in SLACKS])
def test_what_is_quoted_from_the_bot_is_what_it_says(seen: str) -> None:
    parts = [part.strip() for part in seen.split("…")]
    pattern = r"[^\n]{0,80}".join(re.escape(part) for part in parts)
    assert re.search(pattern, sentences()), seen


def test_every_scope_is_explained_and_no_other() -> None:
    table = GUIDE.split("| scope | what for |")[1].split("\n\n")[0]
    explained = set(re.findall(r"`([\w.:]+)`", table))
    assert explained == set(manifest.ASKED_SCOPES)
    assert all(f"`{scope}`" in GUIDE for scope in manifest.OPTIONAL_SCOPES)


def test_every_setting_is_explained() -> None:
    explained = set(re.findall(r"`(\w+)`", section("Settings").split("### ")[0]))
    assert {field.name for field in fields(SlackConfig)} <= explained


def test_every_address_is_named() -> None:
    for path in (http.EVENTS, http.INSTALL, http.REDIRECT, http.HEALTH):
        assert path in GUIDE
