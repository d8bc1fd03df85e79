"""docs/slack.md is true about the bot's log, scopes, settings and addresses."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from bot.adapters.slack import manifest
from bot.adapters.slack.installed import http
from bot.config import SlackConfig

ROOT = Path(__file__).resolve().parents[1]
GUIDE = (ROOT / "docs" / "slack.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return GUIDE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_the_quoted_log_lines_are_written_by_the_bot() -> None:
    rows = [
        line.split(" | ")[0]
        for line in section("When something is wrong").splitlines()
        if " in the log" in line
    ]
    quoted = [line.strip("… ") for row in rows for line in re.findall(r"`([^`]+)`", row)]
    sources = "\n".join(
        file.read_text(encoding="utf-8") for file in Path(manifest.__file__).parent.rglob("*.py")
    )
    assert quoted
    assert not [line for line in quoted if line not in sources]


def test_exactly_the_used_scopes_are_explained() -> None:
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
