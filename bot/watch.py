"""`[library] watch`: folders whose new and changed files are taken in when the bot starts.

Looks at names, sizes and times only; taking in is an ordinary `library add`, on a shelf named like the folder.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bot.events import Author, Place, Request
from bot.retrieval.files import gather
from bot.words import locale_from

if TYPE_CHECKING:
    from storage.document_rows import DocumentRow
    from storage.documents import Documents

SPACE = "local"


async def requests(folders: Iterable[Path], documents: Documents, max_bytes: int) -> list[Request]:
    """One request for each folder that holds something the library does not have as it is now."""
    due = []
    for folder in folders:
        rows = await documents.list(SPACE, folder.name)
        if await asyncio.to_thread(_has_news, folder, rows, max_bytes):
            due.append(_request(folder))
    return due


def _has_news(folder: Path, rows: Sequence[DocumentRow], max_bytes: int) -> bool:
    known = {row.source: row for row in rows}
    for file in gather([str(folder)], max_bytes)[0]:
        row = known.get(file.name)
        if row is None or row.size != file.size:
            return True
        if Path(file.path).stat().st_mtime > row.created_at.timestamp():
            return True
    return False


def _request(folder: Path) -> Request:
    from uuid_utils import uuid7

    return Request(
        id=str(uuid7()),
        place=Place("terminal", SPACE, "library", "watch"),
        author=Author("watch", "watch", admin=True),
        work="library",
        verb="add",
        options={"paths": [str(folder)], "shelf": folder.name, "replace": True},
        locale=locale_from(os.environ),
    )
