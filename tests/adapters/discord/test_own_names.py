"""Speakers under their own names on Discord: posted, edited, found after a crash, and in bold as a fallback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.discord.text.page import username
from bot.adapters.surface import OWN
from bot.events import Changed, Request, Speaker, Stage, Status, Text
from tests.adapters.discord.wire import Bench, bench
from tests.fakes.discord import Channel, Guild, Message

MIRA = Speaker("Mira", "https://example.org/mira.png", own=True)


class Room:
    """A channel in which Ana asks, and the bot may manage webhooks."""

    def __init__(self, made: Bench) -> None:
        self.bench = made
        self.guild: Guild = made.fake.guild("Table")
        self.channel: Channel = self.guild.text("general")
        self.ana = made.fake.user("Ana")
        self.guild.join(self.ana)
        self.guild.permit("MANAGE_WEBHOOKS")

    async def request(self) -> Request:
        _, request = await self.bench.ask(self.ana, self.channel, "thread")
        return request

    def told(self, text: str = "") -> list[Message]:
        """The messages in the threads that contain this text, by any author."""
        return [
            message for thread in self.channel.threads for message in thread.messages if text in message.text
        ]


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    async with bench(tmp_path) as made:
        made.fake.limits.stop_clock()
        yield Room(made)


def reply(text: str, speaker: Speaker = MIRA) -> tuple[Any, ...]:
    return Stage("scene", "Scene 2", speaker), Text(text)


async def test_a_stage_is_posted_and_edited_under_its_speakers_name(room: Room) -> None:
    request = await room.request()
    await room.bench.run(request, *reply("“Put it down.”"), Stage("more", "More"), Text("And so on."))
    (spoken,) = room.told("“Put it down.”")
    assert (spoken.author.name, spoken.avatar) == ("Mira", MIRA.picture)
    assert "**Mira**" not in spoken.text
    (other,) = room.told("And so on.")
    assert other.author.name == "Sutradhar"
    row = await room.bench.outbox.get(request.place.space, request.id, "scene")
    assert row is not None
    assert str(row.message_id).startswith(OWN)
    changed = Changed(request.id, "scene", "Scene 2", (Text("“Leave it.”"),), speaker=MIRA)
    await room.bench.view(request).change(changed)
    assert "“Leave it.”" in spoken.text
    assert len(room.told("“")) == 1


async def test_the_waiting_message_under_the_bots_name_is_deleted(room: Room) -> None:
    request = await room.request()
    view = room.bench.view(request)
    await view.show(Status("You are 2nd in line."))
    await room.bench.fake.until(lambda: room.told("2nd in line"))
    for event in reply("“Put it down.”"):
        await view.show(event)
    await view.flush("done")
    (message,) = room.told()
    assert message.author.name == "Mira"


async def test_an_unrecorded_message_is_found_without_its_contents(room: Room) -> None:
    """The bot lacks the Message Content intent, and Discord's response to its post is lost."""
    room.bench.fake.portal.clear()
    room.bench.fake.fail("POST", "/webhooks/*", lost=True)
    await room.bench.run(await room.request(), *reply("“Put it down.”"))
    assert [message.author.name for message in room.told("“Put it down.”")] == ["Mira"]


async def test_after_a_crash_a_new_view_edits_the_posted_messages(room: Room) -> None:
    request = await room.request()
    first = room.bench.view(request)
    for event in reply("“Put it"):
        await first.show(event)
    await room.bench.fake.until(lambda: room.told("“Put it"))
    await room.bench.run(request, *reply("“Put it down.”"))
    assert [message.text.count("“Put it down.”") for message in room.told("“Put it")] == [1]


async def test_after_the_webhook_is_deleted_the_bot_posts_the_message_itself(room: Room) -> None:
    request = await room.request()
    await room.bench.run(request, *reply("“Put it down.”"))
    for hook in list(room.bench.fake.hooks.values()):
        room.bench.fake.delete_webhook(hook)
    contents = (Text("“Leave it.”"),)
    greyed = Changed(request.id, "scene", "Scene 2", contents, in_place=True, speaker=MIRA)
    await room.bench.view(request).change(greyed)
    assert not room.told("“Leave it.”"), "the change mattered only in place"
    await room.bench.view(request).change(Changed(request.id, "scene", "Scene 2", contents, speaker=MIRA))
    (reposted,) = room.told("“Leave it.”")
    assert reposted.author.name == "Sutradhar"
    assert "**Mira**" in reposted.text


async def test_a_refused_name_or_picture_loses_no_words(room: Room) -> None:
    odd = Speaker("Mira", "https://example.org/" + "a" * 2_100, own=True)
    await room.bench.run(await room.request(), *reply("“Put it down.”", odd))
    (message,) = room.told("“Put it down.”")
    assert message.author.name == "Sutradhar"
    assert "**Mira**" in message.text


async def test_the_name_is_bold_if_own_names_are_off(room: Room) -> None:
    await room.bench.run(await room.request(), *reply("“Put it down.”", Speaker("*Mira* @everyone")))
    (message,) = room.told("“Put it down.”")
    assert message.author.name == "Sutradhar"
    assert message.text.split("\n")[1].startswith("**\\*Mira\\*")
    assert not message.mentions
    assert not room.bench.fake.hooks


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Mira", "Mira"),
        ("  Mira\n the \t Diver ", "Mira the Diver"),
        ("Discord Dan", "Disc-ord Dan"),
        ("bonniandCLYDE", "bonniandCLY-DE"),
        ("everyone", "everyone."),
        ("@here", "here."),
        ("a" * 200, "a" * 80),
        ("@", ""),
        ("", ""),
    ],
)
def test_names_are_adapted_to_discords_rules(name: str, said: str) -> None:
    assert username(name) == said
