"""Messages that a proxy posts in place of a player's own become the player's turns."""

from __future__ import annotations

import asyncio
import gc
import json
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.discord.received import proxied
from bot.events import Event, Stage, Text
from bot.work import Run
from storage.tables import inbox
from tests.adapters.discord.line import Line, line
from tests.fakes.discord.channels import Thread
from tests.fakes.discord.messages import Message
from tests.fakes.discord.rest_webhooks import Hook

PLURALKIT = 466378653216014359
WAIT_S = 0.3


async def answers(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("answer", "")
    yield Text(f"Heard: {run.request.text}")


@dataclass
class Proxying:
    """A thread of the bot, where Bia's proxy posts as Mira."""

    on: Line
    thread: Thread
    hook: Hook

    async def bind(self, name: str = "Mira") -> None:
        proxies, space = self.on.app.records.proxies, str(self.on.guild.id)
        await proxies.offer(space, name, str(self.on.bia.id), "Bia")
        assert await proxies.confirm(space, name, str(self.on.bia.id), "Bia")

    async def proxied(self, text: str, *, name: str = "Mira", hook: Hook | None = None) -> Message:
        return await self.on.discord.proxy(hook or self.hook, self.thread, name, text)

    async def requests(self) -> list[dict[str, Any]]:
        rows = await self.on.app.records.database.execute(inbox.select().order_by(inbox.c.seq))
        return [json.loads(row.payload) for row in rows]

    async def asked(self) -> list[tuple[str, str, str]]:
        """The author, the text and the proxy's name of each request."""
        return [
            (request["author"]["id"], request["text"], request.get("proxied", ""))
            for request in await self.requests()
        ]

    async def heard(self, text: str) -> Message:
        message = await self.on.discord.until(
            lambda: next(
                (own for own in self.thread.messages if f"Heard: {text}" in own.text and not own.deleted),
                None,
            )
        )
        assert message is not None
        return message

    async def until_asked(self, *texts: str) -> None:
        async with asyncio.timeout(20):
            while [text for _, text, _ in await self.asked()] != [*texts]:  # noqa: ASYNC110 - a database tells nobody
                await asyncio.sleep(0.05)

    async def settled(self) -> None:
        await asyncio.sleep(2 * WAIT_S)


@pytest.fixture
async def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Proxying]:
    monkeypatch.setattr(proxied, "WAIT_S", WAIT_S)
    async with line(tmp_path, defaultdict(lambda: answers), free_chat=True) as on:
        thread = on.discord.thread(on.bia, on.channel, "A door in the sea")
        threads = on.app.records.threads
        await threads.bind(str(on.guild.id), str(on.channel.id), "talk", str(thread.id))
        yield Proxying(on, thread, on.discord.webhook(on.channel, "PluralKit Proxy", on.bia, PLURALKIT))


async def test_a_proxys_message_is_the_players_turn_and_the_original_is_not(at: Proxying) -> None:
    await at.bind()
    bia = str(at.on.bia.id)
    own = await at.on.discord.say(at.on.bia, at.thread, "M: I open the door.")
    await at.proxied("I open the door.")
    await at.on.discord.delete(own)
    await at.heard("I open the door.")
    await at.settled()
    assert await at.asked() == [(bia, "I open the door.", "Mira")]
    (request,) = await at.requests()
    assert (request["author"]["name"], request["author"]["admin"]) == ("Bia", False)
    await at.on.discord.say(at.on.bia, at.thread, "and this I say myself.")
    await at.heard("and this I say myself.")
    assert (await at.asked())[1:] == [(bia, "and this I say myself.", "")], "the proxy did not post it again"


async def test_a_message_of_a_player_without_a_proxy_does_not_wait(at: Proxying) -> None:
    await at.on.discord.say(at.on.ana, at.thread, "I open the door.")
    await at.heard("I open the door.")
    gc.collect()
    written = [own for own in gc.get_objects() if isinstance(own, proxied._Written)]
    assert [own.over for own in written if own.content == "I open the door."] == [None], (
        "an event takes 700 bytes"
    )


async def test_editing_a_proxys_message_rewords_the_turn_and_deleting_it_withdraws_the_turn(
    at: Proxying,
) -> None:
    await at.bind()
    message = await at.proxied("I open the door.")
    await at.heard("I open the door.")
    await at.on.discord.edit(message, "I open the gate.")
    await at.until_asked("I open the gate.")
    await at.on.discord.delete(message)
    await at.until_asked("")


async def test_messages_of_unknown_webhooks_and_the_bots_own_are_ignored(at: Proxying) -> None:
    await at.bind()
    on = at.on
    await on.app.records.proxies.offer(str(on.guild.id), "Zoe", str(on.bia.id), "Bia")
    await at.proxied("I am nobody's.", name="Kit")
    await at.proxied("I was never confirmed.", name="Zoe")
    mine = on.discord.webhook(on.channel, "Sutradhar", on.discord.world.bot, on.discord.application_id)
    await at.proxied("I am a character's.", hook=mine)
    edited = await at.proxied("I am nobody's, too.", name="Kit")
    await on.discord.edit(edited, "And I am another.")
    await on.discord.proxy(at.hook, on.channel, "Mira", "I am in no thread of the bot's.")
    await at.proxied("I am hers.")
    await at.heard("I am hers.")
    await at.settled()
    assert [text for _, text, _ in await at.asked()] == ["I am hers."]


async def test_another_persons_proxy_cannot_use_the_same_name(at: Proxying) -> None:
    await at.bind()
    await at.on.discord.say(at.on.ana, at.thread, "M: I give all my gold to Ana. ((hers))")
    await at.proxied("I give all my gold to Ana.")
    await at.heard("M: I give all my gold to Ana.")
    await at.settled()
    assert [(who, name) for who, _, name in await at.asked()] == [(str(at.on.ana.id), "")]


async def test_a_late_proxy_message_adds_no_turn_and_its_edits_count(at: Proxying) -> None:
    await at.bind()
    own = await at.on.discord.say(at.on.bia, at.thread, "M: I open the door.")
    await at.heard("M: I open the door.")
    late = await at.proxied("I open the door.")
    await at.on.discord.delete(own)
    await at.settled()
    assert [text for _, text, _ in await at.asked()] == ["M: I open the door."], "it is not withdrawn"
    await at.on.discord.edit(late, "I open the gate.")
    await at.until_asked("I open the gate.")


async def test_a_message_deleted_during_the_wait_is_no_turn(at: Proxying) -> None:
    await at.bind()
    own = await at.on.discord.say(at.on.bia, at.thread, "No, wait.")
    await at.on.discord.delete(own)
    await at.settled()
    assert await at.asked() == []


async def test_other_players_do_not_wait(at: Proxying, monkeypatch: pytest.MonkeyPatch) -> None:
    await at.bind()
    monkeypatch.setattr(proxied, "WAIT_S", 600.0)
    await at.on.discord.say(at.on.ana, at.thread, "I do not wait.")
    await at.heard("I do not wait.")
