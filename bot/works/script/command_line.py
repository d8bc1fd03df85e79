"""`script report` of the command line: a file's figures, without a data folder. Prints nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.events import UserError
from bot.readers.sandbox import Sandbox
from bot.works.library.config import LibraryConfig
from bot.works.script.model import script
from bot.works.script.report import figures

if TYPE_CHECKING:
    from bot.config import Config


async def report_of(config: Config, file: Path) -> dict[str, Any]:
    """The figures of the script in a file, as `figures` has them. Raises UserError."""
    max_bytes = config.section(LibraryConfig).max_bytes
    try:
        size = (await asyncio.to_thread(file.stat)).st_size
        if size > max_bytes:
            megabytes = f"{size / 1_000_000:.1f}"
            raise UserError("library.file_large", name=file.name, mb=megabytes, limit=max_bytes // 1_000_000)
        data = await asyncio.to_thread(file.read_bytes)
    except FileNotFoundError as fault:
        raise UserError("library.file_missing", name=file.name) from fault
    except OSError as fault:
        raise UserError("library.file_unreadable", name=file.name) from fault
    document = await Sandbox().read(file.name, data)
    if (screenplay := document.screenplay) is None:
        raise UserError("cli.no_script", name=file.name)
    return await asyncio.to_thread(lambda: figures(script(screenplay, document.title)))
