"""What a bot imports until it is ready and has answered, on each of its platforms: see tests.forked.

None of it starts a thread, which a fork would lose.
"""

import gc
import importlib
import pkgutil

import bot.works
from bot import commands

_NAMES = (
    *("aiosqlite", "apscheduler.executors.asyncio", "apscheduler.schedulers.asyncio"),
    *("apscheduler.triggers.interval", "d20", "dbos", "filelock", "psycopg", "pydantic", "uuid_utils"),
    *("anyio._backends._asyncio", "genai_prices.data", "h11", "httpcore2", "httpx", "jiter"),
    "openai.resources.chat.completions.completions",
    *("bot.accounts", "bot.llm.activity", "bot.llm.openai_chat"),
    *("bot.adapters.discord.service", "bot.adapters.serving", "bot.adapters.slack.service"),
    *("bot.adapters.terminal.feed", "bot.adapters.terminal.one_shot", "bot.app", "bot.cli", "bot.resources"),
    *("bot.strategies", "storage.migrations.migrate", "storage.tables"),
    *(module.name for module in pkgutil.walk_packages(bot.works.__path__, "bot.works.")),
)
for _name in _NAMES:
    importlib.import_module(_name)
commands.KINDS  # noqa: B018  # worked out when it is first asked for
gc.collect()
gc.freeze()  # what no bot will let go of; each would look through it, and so copy it
