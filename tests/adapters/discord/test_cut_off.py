"""Which messages are finished when the bot gets its permissions back."""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace
from typing import Any

import discord
import pytest

from bot.adapters.discord.shown import cut_off
from bot.events import Author, Place, Request
from bot.runs.requests import request_to_json


def stored(run: str, thread: str) -> str:
    place = Place("discord", "1", "2", thread)
    return request_to_json(Request(run, place, Author("3", "Ana"), "rules", "ask", text="?"))


async def test_a_private_answer_does_not_keep_other_messages_from_being_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edited: list[tuple[int, str]] = []
    finished: list[str] = []

    class Channel:
        def __init__(self, _client: object, channel: int, *_more: object, **_named: object) -> None:
            self.channel = channel

        async def amend(self, message: str, _amended: object) -> bool:
            edited.append((self.channel, message))
            return True

    async def left(_space: str, _since: datetime) -> list[tuple[str, str, str]]:
        return [("s", "10", stored("a", "private:3")), ("s", "11", stored("b", "4"))]

    async def real_thread(*_place: str) -> None:
        return None

    async def mark_sent(_space: str, run: str, *_more: str) -> None:
        finished.append(run)

    monkeypatch.setattr(cut_off, "Channel", Channel)
    records = SimpleNamespace(
        outbox=SimpleNamespace(left=left, mark_sent=mark_sent),
        threads=SimpleNamespace(real_thread=real_thread),
    )
    client: Any = SimpleNamespace(app=SimpleNamespace(records=records), webhooks=None)
    guild: Any = SimpleNamespace(id=1)
    await cut_off.after_change(client, guild, discord.Permissions.none(), discord.Permissions.all())
    assert (edited, finished) == ([(4, "11")], ["b"])
