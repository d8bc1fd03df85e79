"""Watched folders are taken in when something in them is new."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot import watch
from bot.app import App
from bot.config import load
from bot.house import House
from tests.fakes.house import Recorder


@pytest.fixture
def books(tmp_path: Path) -> Path:
    folder = tmp_path / "rulebooks"
    folder.mkdir()
    (folder / "a.md").write_text("# Walking\n\nA keeper walks four hours on one candle.\n", encoding="utf-8")
    file = tmp_path / "config.toml"
    file.write_text('[library]\nwatch = ["rulebooks"]\n[embedding]\nmodel = "none"\n', encoding="utf-8")
    return folder


async def started(books: Path) -> list[tuple[str, str]]:
    """Start once, wait for what goes on by itself, and list the library."""
    recorder = Recorder()
    config = load(books.parent / "config.toml", books.parent / "data", environ={})
    house = await House.open(config)
    app = App(house, house.engine_url)
    app.attach("terminal", recorder.view)
    for request in await app.start():
        assert await app.ended(request.id) == "done"
    found = sorted((book.shelf, book.source) for book in await house.library.books("local"))
    await app.close()
    return found


async def test_what_is_new_is_taken_in_on_a_shelf_named_like_the_folder(books: Path) -> None:
    assert await started(books) == [("rulebooks", "a.md")]
    (books / "b.md").write_text("# Cold\n\nRoll Foot.\n", encoding="utf-8")
    assert await started(books) == [("rulebooks", "a.md"), ("rulebooks", "b.md")]


async def test_nothing_is_done_when_nothing_has_changed(books: Path) -> None:
    await started(books)
    house = await House.open(load(books.parent / "config.toml", books.parent / "data", environ={}))
    assert await watch.requests([books], house.documents, 1_000_000) == []
    os.utime(books / "a.md", (2**32, 2**32))
    assert [one.options["paths"] for one in await watch.requests([books], house.documents, 1_000_000)] == [
        [str(books)]
    ]
    await house.close()
