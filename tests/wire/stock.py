"""The product itself puts books on the shelves of chosen spaces before the bot starts.

A separate story covers what a person does for that on a platform (`library add` with an attachment).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from slack_sdk.oauth.installation_store import Bot

from bot.adapters.slack.installed.workspaces import Store
from bot.config import load
from bot.resources import Resources
from bot.retrieval.intake import Item
from storage.db import Database
from tests.fakes.slack import Team
from tests.wire.inbox import DATABASE

LANTERNS = Path(__file__).resolve().parents[2] / "examples" / "lanterns.md"


async def stock(data: Path, config: Path, books: Mapping[str, list[Path]], shelf: str = "rules") -> None:
    """Put each space's books on its shelf of that name, without vectors, in a data folder that no process uses."""
    resources = await Resources.open(load(config, data, {}))
    try:
        for space, paths in books.items():
            items = [Item(path.name, str(path)) for path in paths]
            key_rows = [
                await resources.intake.take(space, shelf, item, f"{space} {item.name}", replace=False)
                for item in items
            ]
            assert not [row for row in key_rows if row.key]
            assert not await resources.intake.do_without_vectors(space, key_rows)
    finally:
        await resources.close()


async def install(data: Path, client_id: str, teams: Iterable[Team]) -> None:
    """Store installations of the app for Slack's workspaces, as if each had used the bot's install page."""
    server = data / DATABASE
    url = server.read_text(encoding="utf-8") if server.exists() else ""
    database = await Database.open(
        url.replace("postgresql:", "postgresql+psycopg:") or f"sqlite+aiosqlite:///{data / 'sutradhar.db'}"
    )
    try:
        store = Store(database, client_id).installations
        for team in teams:
            bot = Bot(
                app_id=team.app_id,
                team_id=team.id,
                team_name=team.name,
                bot_token=team.bot_token,
                bot_id=team.bot_id,
                bot_user_id=team.bot.id,
                bot_scopes=sorted(team.scopes),
                installed_at=time.time(),
            )
            await store.async_save_bot(bot)
    finally:
        await database.close()


def second(folder: Path) -> Path:
    """The other table's edition of the same book."""
    file = folder / "second" / LANTERNS.name
    file.parent.mkdir(exist_ok=True)
    text = LANTERNS.read_text(encoding="utf-8")
    file.write_text(text.replace("four hours of walking", "six hours of walking"), encoding="utf-8")
    return file
