"""The start of a recap, as people type it in their time zone; other texts are refused."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.works.story.exchange.json_import import read_story
from bot.works.story.turn.recap import point_in_time
from tests.fakes.reply import Reply
from tests.works.story.small_story import SMALL
from tests.works.story.test_recall import failed
from tests.works.story.writer import Writer, last, playing, texts

NOW = datetime(2026, 3, 11, 9, 30, tzinfo=ZoneInfo("America/Sao_Paulo"))
"""A Wednesday."""


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("today", "2026-03-11 00:00"),
        ("yesterday", "2026-03-10 00:00"),
        ("desde ontem", "2026-03-10 00:00"),
        ("yesterday 20:00", "2026-03-10 20:00"),
        ("3 days", "2026-03-08 00:00"),
        ("há 3 dias", "2026-03-08 00:00"),
        ("the last 2 weeks", "2026-02-25 00:00"),
        ("a week ago", "2026-03-04 00:00"),
        ("a semana passada", "2026-03-04 00:00"),
        ("um mês", "2026-02-11 00:00"),
        ("5 hours", "2026-03-11 04:30"),
        ("90 minutes ago", "2026-03-11 08:00"),
        ("since Monday", "2026-03-09 00:00"),
        ("terça-feira", "2026-03-10 00:00"),
        ("Wednesday", "2026-03-04 00:00"),
        ("2026-03-04", "2026-03-04 00:00"),
        ("2026-03-04T21:15", "2026-03-04 21:15"),
        ("March 4th, 2025", "2025-03-04 00:00"),
        ("4 March", "2026-03-04 00:00"),
        ("Mar 4 at 8:05", "2026-03-04 08:05"),
        ("12 de março", "2025-03-12 00:00"),
        ("29 February", "2024-02-29 00:00"),
        ("march", "2026-03-01 00:00"),
        ("4.3.2024", "2024-03-04 00:00"),
        ("4/3/2024", "2024-03-04 00:00"),
        ("20:00", "2026-03-10 20:00"),
        ("8:00", "2026-03-11 08:00"),
    ],
)
def test_points_in_time_are_read_as_people_type_them(given: str, wanted: str) -> None:
    moment = point_in_time(given, NOW, "pt-BR")
    assert moment is not None
    assert f"{moment:%Y-%m-%d %H:%M}" == wanted
    assert moment.tzinfo is NOW.tzinfo


@pytest.mark.parametrize(
    "given",
    ["", "the", "soon", "3", "days 3", "2026-02-30", "31 April", "30.2.", "25:00", "tomorrow", "2030-01-01",
     "2-3", "-1", "8:00 9:00", "monday tuesday", "x" * 300],
)  # fmt: skip
def test_other_texts_are_no_point_in_time(given: str) -> None:
    assert point_in_time(given, NOW, "en") is None


async def test_a_recap_uses_the_askers_time_zone(tmp_path: Path) -> None:
    """One scene on the fourth at 20:00 UTC, one on the fifth at 02:00."""
    writer = Writer()
    times = {3: "2026-03-04T20:00:00+00:00", 6: "2026-03-05T02:00:00+00:00"}
    nodes = [
        node | {"time": times.get(node["id"], node["time"]), "branch": 1}
        for node in SMALL["nodes"]
        if node["id"] in (1, 2, 3, 4, 6)
    ]
    nodes = [one | {"id": number} for number, one in enumerate(nodes, 1)]
    nodes.append({"id": 6, "branch": 1, "kind": "scene", "turn": 5, "body": {"text": "A door opens."}})
    tree = SMALL | {"branches": SMALL["branches"][:1], "nodes": nodes}
    tale = read_story(json.dumps(tree).encode(), "story.json", "local")
    async with playing(tmp_path, writer) as talk:
        assert "No story" in failed(await talk.say("/story recap"))
        assert talk.app is not None
        await talk.app.resources.stories.import_story(tale.story, tale.branches, tale.nodes, tale.bodies)
        await talk.say("/story open The door in the sea")
        for zone, day, told in (
            ("UTC", "2026-03-05", False),
            ("Asia/Tokyo", "2026-03-05", True),
            ("America/Sao_Paulo", "March 4, 2026", True),
        ):
            await talk.say(f"/settings set timezone {zone}")
            writer.next.append(Reply("A recap."))
            assert "A recap." in texts(await talk.say(f"/story recap {day}"))
            asked = last(writer.asked[-1])
            assert "A door opens." in asked
            assert ("The sea is flat." in asked) == told, zone
        assert "last scene began on 2026-03-04 23:00" in failed(await talk.say("/story recap 5 March 2026"))
        assert "that time" in failed(await talk.say("/story recap soon"))
        assert "no scene 9" in failed(await talk.say("/story recap since scene 9"))
