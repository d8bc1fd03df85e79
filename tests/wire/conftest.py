"""What the tests over the wire share: a fake Discord, a model, a stocked data folder and the bot's process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.fakes.discord import FakeDiscord
from tests.wire import council_model
from tests.wire.council_model import CouncilService
from tests.wire.model import Answerer, service, settings
from tests.wire.on_discord import OnDiscord
from tests.wire.process import BotProcess
from tests.wire.stock import LANTERNS, stock

Opened = Callable[..., Awaitable[OnDiscord]]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    """Opens a table with books and starts the bot, once the test has prepared what it has to."""
    told: list[OnDiscord] = []
    async with AsyncExitStack() as stack:

        async def open_(
            toml: str = "",
            *,
            prepare: Callable[[OnDiscord], dict[str, list[Path]]] | None = None,
            council: CouncilService | None = None,
        ) -> OnDiscord:
            """With a council nobody has books, and its models are all that there are."""
            discord = await stack.enter_async_context(FakeDiscord())
            answerer = Answerer()
            model = await stack.enter_async_context(service(answerer))
            driver = OnDiscord(discord, answerer)
            config = tmp_path / "config.toml"
            models = council_model.settings(council.base_url) if council else settings(model.base_url)
            config.write_text(models + driver.settings() + toml, encoding="utf-8")
            books = {str(driver.guilds[0].id): [LANTERNS], str(driver.guilds[1].id): [second(tmp_path)]}
            # A person's own space, which direct messages and the bot's guests have.
            books[f"user:{driver.people['Ana'].id}"] = [LANTERNS]
            books |= prepare(driver) if prepare else {}
            if not council:
                await stock(tmp_path / "data", config, books)
            told.append(driver)
            process = BotProcess(tmp_path / "data", config, driver.environ())
            driver.process = process
            stack.push_async_callback(process.kill)
            await driver.begin(process)
            return driver

        yield open_
        for driver in told:  # pytest shows it where the test has failed
            print(driver.story())


def second(folder: Path) -> Path:
    """The other table's edition of the same book."""
    file = folder / "second" / LANTERNS.name
    file.parent.mkdir(exist_ok=True)
    text = LANTERNS.read_text(encoding="utf-8")
    file.write_text(text.replace("four hours of walking", "six hours of walking"), encoding="utf-8")
    return file


@pytest.fixture
async def driver(opened: Opened) -> OnDiscord:
    """The table as it is everywhere."""
    return await opened()
