"""Books on the shelves of chosen spaces before the bot starts, put there by the product itself.

What a person does for that on a platform (`library add` with an attachment) is a story of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bot.app import App
from bot.config import load
from bot.events import Author, OptionValue, Place, Request
from tests.fakes.house import Recorder

LANTERNS = Path(__file__).resolve().parents[2] / "examples" / "lanterns.md"


async def stock(data: Path, config: Path, books: Mapping[str, list[Path]], shelf: str = "rules") -> None:
    """Put each space's books on its shelf of that name, in a data folder that no process uses."""
    app = await App.open(load(config, data, {}))
    try:
        app.attach("terminal", Recorder().view)
        await app.start()
        for space, paths in books.items():
            place = Place("terminal", space, "stock", "stock")
            options: dict[str, OptionValue] = {"paths": [str(path) for path in paths], "shelf": shelf}
            request = Request(
                f"stock-{space}", place, Author("stock", "Stock", admin=True), "library", "add", options
            )
            assert await (await app.perform(request)).wait() == "done"
    finally:
        await app.close()
