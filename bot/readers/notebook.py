"""Jupyter notebooks (.ipynb) into Documents: their Markdown, and their code in fences; outputs are left out.

A notebook is JSON of nbformat 3 or 4; the nbformat library would only check what is read here anyway.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from bot.events import UserError
from bot.readers.decode import decode
from bot.readers.document import Document, Progress
from bot.readers.text import read_markdown

_FENCES: Final = re.compile(r"`{3,}|~{3,}")
_PICTURE: Final = re.compile(r"!\[([^\]\n]{0,300})\]\((?:attachment:|data:)[^)]*\)")
"""Pictures inside the notebook: their names are text, their contents are not."""
_NAME: Final = re.compile(r"[\w+#.-]{1,20}")


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The notebook in `data`; blocking. Raises UserError as `decode` does, and "library.file_damaged"."""
    try:
        notebook = json.loads(decode(name, data))
        cells = notebook.get("cells")
        if cells is None:  # nbformat 3
            cells = [cell for sheet in notebook["worksheets"] for cell in sheet["cells"]]
        language = _language(notebook)
        parts = [_cell(cell, language) for cell in cells]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as fault:
        raise UserError("library.file_damaged", name=name) from fault
    text = "\n\n".join(part for part in parts if part)
    if not text:
        raise UserError("library.file_empty", name=name)
    return read_markdown(name, text, judge=False)


def _cell(cell: Any, language: str) -> str:
    source = cell.get("source", cell.get("input", ""))
    text = source if isinstance(source, str) else "".join(map(str, source))
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").strip("\n")
    kind = cell["cell_type"]
    if not text.strip():
        return ""
    if kind == "heading":
        return f"{'#' * min(max(int(cell.get('level', 1)), 1), 6)} {' '.join(text.split())}"
    if kind in ("markdown", "html"):
        return _PICTURE.sub(r"\1", text)
    fence = "`" * (1 + max((len(run) for run in _FENCES.findall(text)), default=2))
    return f"{fence}{language if kind == 'code' else ''}\n{text}\n{fence}"


def _language(notebook: Any) -> str:
    """The language of the notebook's code, for its fences."""
    metadata = notebook.get("metadata", {})
    named = metadata.get("language_info", {}).get("name") or metadata.get("kernelspec", {}).get("language")
    return named if isinstance(named, str) and _NAME.fullmatch(named) else ""
