"""Each command in docs/administrators.md does what the page says."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.command_line import parse
from bot.events import Attachment, Failed, File, Place, Request, Text
from bot.platforms import Platform, Standing, ThreadMessage
from scripts.documented_commands import ROOT, commands
from tests.works.test_settings import BIA, HERE, opened

PAGE = ROOT / "docs" / "administrators.md"


async def test_the_commands_of_the_page_run_as_they_are_written(tmp_path: Path) -> None:
    place = replace(HERE, platform="slack")
    shown = list(dict.fromkeys(one.text for one in commands(iter([PAGE])) if " " in one.text))
    assert len(shown) > 20
    said, kept = dict[str, str](), tmp_path / "settings.toml"

    async def standing(place: Place, person: str, groups: Collection[str]) -> Standing:
        return Standing(())

    async def find(place: Place, kind: str, typed: str) -> tuple[str, str]:
        return typed.removeprefix("@").lower(), typed

    async def pins(request: Request) -> list[ThreadMessage]:
        return [ThreadMessage("1", "bia", "Bia", "1. No pets.", datetime(2026, 6, 1, tzinfo=UTC))]

    async with opened(tmp_path) as ask:
        recorder: Any = ask._recorder
        ask.app.attach(Platform("slack", recorder.view, standing=standing, find=find, read_pins=pins))
        for line in shown:
            if "…" in line:  # how a command begins
                continue
            parsed = parse(line)
            row = parsed.verb
            assert row is not None
            request = ask.request(row.work, row.name, parsed.text, place, BIA, **parsed.options)
            if row.name == "import":
                request = replace(request, files=(File(kept.name, str(kept), kept.stat().st_size),))
            events = await ask.perform(request)
            assert not [event.text for event in events if isinstance(event, Failed)], line
            said[line] = "".join(event.text for event in events if isinstance(event, Text))
            for event in events:
                if isinstance(event, Attachment) and event.name.endswith(".toml"):
                    kept.write_bytes(event.data)
        assert len(said) > 18
        assert re.search(r"`works` \| rules, course", said["/settings channels"])
        assert "| `story` | everyone | no |" in said["/settings access"]
        assert "$20.00" in said["/settings budget"]
        assert "Flanking gives +2." in said["/rules house"]
        assert "outsiders" in said["/settings history"]
        assert "works" in kept.read_text(encoding="utf-8")
    for picture in re.findall(r"\]\(([\w-]+\.(?:svg|png))\)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / picture).stat().st_size > 1_000, picture
