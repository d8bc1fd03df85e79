"""Styles of messages that share a home: a refused message becomes simpler, and the others keep their style."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.adapters.message import Message
from bot.adapters.surface import MessageRef, MessageStyle, Refused
from storage.db import Database
from storage.outbox import Outbox
from tests.adapters.paper import Paper, PaperHome
from tests.fakes import migrated

RUN = "c0ffee" + "0" * 26


@dataclass(frozen=True)
class Sheet:
    text: str
    files: tuple[tuple[str, bytes], ...] = ()
    wordless = False

    @property
    def shown(self) -> str:
        return self.text


@pytest.fixture
async def outbox(tmp_path: Path) -> AsyncGenerator[Outbox, None]:
    database = await Database.open(migrated.database(tmp_path / "test.db"))
    yield Outbox(database)
    await database.close()


def at_most(simplest: MessageStyle) -> Callable[[MessageStyle], Exception | None]:
    """A platform that accepts no style richer than this."""
    return lambda style: Refused("no") if style < simplest else None


def message(home: PaperHome[Sheet], outbox: Outbox, key: str, text: list[str]) -> Message[Sheet]:
    ref = MessageRef(RUN, key)
    return Message(home, outbox, "g1", ref, lambda: (Sheet(text[-1]), True))


async def test_two_messages_refused_at_once_both_become_bare(outbox: Outbox) -> None:
    paper = Paper[Sheet](lambda page, style: page.text, refuses=at_most(MessageStyle.BARE))
    home = PaperHome[Sheet](paper)
    first, second = (message(home, outbox, key, [key]) for key in ("a", "b"))
    both = asyncio.Barrier(2)
    post = paper.post

    async def at_once(page: Sheet, mark: MessageRef, style: MessageStyle) -> str:
        await both.wait()
        return await post(page, mark, style)

    paper.post = at_once  # type: ignore[method-assign]
    async with asyncio.timeout(10):
        assert all(await asyncio.gather(first.write(), second.write()))
    assert sorted(paper.texts) == ["a", "b"]
    assert {written.style for written in paper.messages} == {MessageStyle.BARE}


async def test_a_bare_message_stays_bare_when_others_may_be_layouts_again(outbox: Outbox) -> None:
    paper = Paper[Sheet](lambda page, style: page.text, refuses=at_most(MessageStyle.BARE))
    home, texts = PaperHome[Sheet](paper), ["One"]
    bare = message(home, outbox, "a", texts)
    await bare.write()
    home.style = MessageStyle.LAYOUT  # for example, another message was refused for another reason
    texts.append("One, and two")
    await bare.write()
    assert paper.texts == ["One, and two"]
    assert not bare.unshown
