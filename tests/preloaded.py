"""Imports what a bot imports until it is ready and has answered, on each platform: see tests.forked.

No import starts a thread, which a fork would lose.
"""

import gc
import importlib
import pkgutil

import bot.works
from bot import cli, commands, markdown
from bot.retrieval import language
from bot.words import words

_NAMES = (
    *(
        "aiosqlite",
        "alembic.command",
        "chromadb.api.rust",
        "apscheduler.executors.asyncio",
        "apscheduler.schedulers.asyncio",
    ),
    *("apscheduler.triggers.interval", "d20", "dbos", "filelock", "psycopg", "pydantic", "uuid_utils"),
    *("anyio._backends._asyncio", "genai_prices.data", "h11", "httpcore2", "httpx", "jiter"),
    *("Stemmer", "dbos._sys_db_sqlite", "encodings.ascii", "encodings.cp437", "numpy.ma"),
    *("openai.resources.chat.chat", "rapidfuzz.fuzz", "rapidfuzz.process"),
    "slack_bolt.listener_matcher.async_builtins",
    *("openai.resources.chat.completions.completions", "openai.resources.responses.responses"),
    *("bot.accounts", "bot.llm.activity", "bot.llm.openai_chat"),
    *("bot.adapters.discord.service", "bot.adapters.serving", "bot.adapters.slack.service"),
    *("bot.adapters.operating", "bot.adapters.terminal.feed", "bot.adapters.terminal.one_shot"),
    *("bot.app", "bot.cli", "bot.heap", "bot.resources", "bot.strategies"),
    *("storage.migrations.migrate", "storage.processes", "storage.sqlite_connection", "storage.tables"),
    *(module.name for module in pkgutil.walk_packages(bot.works.__path__, "bot.works.")),
)
for _name in _NAMES:
    importlib.import_module(_name)
# These are made at their first use, which takes a bot up to half a second.
commands.KINDS  # noqa: B018
markdown.plain("")
cli.parser(words("en"))
language._of_all()
gc.collect()
gc.freeze()  # no bot frees these objects; each bot's collector would scan them, and so copy them
