"""A reader that reads many files in one sandboxed process, so that a broken file does not need a process of
its own.

Its file is "%PDF-" and JSON that names a maker of files, or a file to mutate; its document has the result for each.
"""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

from bot.events import UserError
from bot.readers import kinds
from bot.readers.child import fault_location
from bot.readers.document import Document, Progress, sectioned
from bot.readers.kinds import PARSED, suffix_of
from tests.readers import hostile


def read(name: str, data: bytes, progress: Progress) -> Document:
    asked = json.loads(data.removeprefix(b"%PDF-"))
    said = {}
    for n, (title, file, content) in enumerate(_files(**asked)):
        progress(n, n)
        began = time.monotonic()
        said[title] = [*_outcome(file, content, progress), time.monotonic() - began]
    text = json.dumps(said)
    return Document(name, text, "en", sectioned(text, ()))


def _files(
    maker: str = "", suffix: str = "", path: str = "", count: int = 0, seed: int = 0, cut: bool = False
) -> Iterator[tuple[str, str, bytes]]:
    if maker:
        module, _, function = maker.partition(":")
        for title, content in getattr(importlib.import_module(module), function)().items():
            yield title, f"a{suffix}", content
    elif path:
        whole = Path(path).read_bytes()
        made = hostile.cuts(whole, count, seed) if cut else hostile.mutations(whole, count, seed)
        for n, content in enumerate(made):
            yield f"{seed}/{n}", path, content
        yield "whole", path, whole


def _outcome(name: str, data: bytes, progress: Progress) -> list[str]:
    """ "read" and the text, or the reason; an exception by its place in the code."""
    try:
        kinds.check(name, data)
        document = importlib.import_module(PARSED[suffix_of(name)]).read(name, data, progress)
    except UserError as error:
        return [error.key.removeprefix("library."), str(error)]
    except MemoryError:
        return ["file_memory", ""]
    except Exception as fault:
        return ["mistake", f"{fault_location(fault)} {fault}"[:300]]
    return ["read", document.text[:2_000]]
